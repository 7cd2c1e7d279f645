// SPDX-License-Identifier: MIT
/*
 * queue.c - hardware queues: rings in system memory, entries in, completions
 * out, halts.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

/* ---- Jobs ------------------------------------------------------------------- */

struct ip_job *ip_job_create(const void *args, uint32_t bytes)
{
	struct ip_job *job = calloc(1, sizeof(*job) + bytes);

	if (!job)
		return NULL;
	job->fence = ip_fence_create();
	if (!job->fence) {
		free(job);
		return NULL;
	}
	job->args_bytes = bytes;
	if (bytes)
		memcpy(job->args, args, bytes);
	return job;
}

static void job_drop_waits(struct ip_job *job)
{
	while (job->nwait)
		ip_fence_put(job->wait[--job->nwait]);
}

void ip_job_free(struct ip_device *dev, struct ip_job *job)
{
	if (!job)
		return;
	job_drop_waits(job);
	free(job->wait);
	while (job->nbo)
		ip_bo_put(dev, job->bo[--job->nbo]);
	free(job->bo);
	free(job->bo_write);
	free((void *)(uintptr_t)job->signals.array);
	ip_program_put(dev, job->program);
	ip_fence_put(job->fence);
	free(job);
}

/* A job has ended, or will never start. */
static void job_end(struct ip_device *dev, struct ip_queue *q, struct ip_job *job, int error)
{
	q->state.completed++;
	if (q->client) {
		ip_quota_give(q->client, VTPU_QUOTA_JOBS, 1);
		if (error)
			dev->jobs_failed++;
		else
			dev->jobs_completed++;
	}
	ip_fence_signal(dev, job->fence, error);
	if (job->done)
		job->done(dev, job, error);
	ip_job_free(dev, job);
}

/* May the job start? Waits that have ended are dropped on the way. */
static bool job_ready(struct ip_job *job)
{
	while (job->nwait && ip_fence_signalled(job->wait[job->nwait - 1]))
		ip_fence_put(job->wait[--job->nwait]);
	return !job->nwait;
}

static struct ip_job *queue_take_first(struct ip_queue *q)
{
	struct ip_job *job = q->first;

	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	return job;
}

static void queue_cancel_waiting(struct ip_device *dev, struct ip_queue *q)
{
	while (q->first)
		job_end(dev, q, queue_take_first(q), -ECANCELED);
}

/* ---- In --------------------------------------------------------------------------- */

static void queue_push(struct ip_queue *q, struct ip_job *job)
{
	uint32_t slot = q->pushed & (q->depth - 1);

	memcpy(q->args + (size_t)slot * VTPU_ARG_SLOT_BYTES, job->args, job->args_bytes);
	vtpu_sqe_fill(&q->sq[slot], job->program ? job->program->id : 0,
		      job->nop ? VTPU_SQE_NOP : 0, q->pushed, job->args_bytes);
	q->ring[slot] = job;
	q->pushed++;
}

static bool queue_kick(struct ip_device *dev, struct ip_queue *q)
{
	uint32_t before = q->pushed;

	if ((q->halted || q->dying) && q->first) {
		queue_cancel_waiting(dev, q);
		return true;
	}
	while (q->first && q->pushed - q->reaped < q->depth && job_ready(q->first))
		queue_push(q, queue_take_first(q));
	if (q->pushed != before) {
		atomic_store_explicit(q->tail, q->pushed, memory_order_release);
		ip_doorbell(dev, q->id);
	}
	return false;
}

void ip_queues_kick(struct ip_device *dev)
{
	bool again;
	uint32_t i;

	/* A cancelled job's fence can make jobs of other queues ready. */
	do {
		again = false;
		for (i = 1; i <= VTPU_MAX_QUEUES; i++) {
			if (dev->queue[i] && dev->queue[i]->first)
				again |= queue_kick(dev, dev->queue[i]);
		}
	} while (again);
}

void ip_queue_enter(struct ip_device *dev, struct ip_queue *q, struct ip_job *job)
{
	job->queue = q;
	*q->last = job;
	q->last = &job->next;
	q->state.submitted++;
	if (q->client)
		dev->jobs_submitted++;
}

/* ---- Out ---------------------------------------------------------------------------- */

static void queue_halt(struct ip_queue *q, const struct ip_job *job, const struct vtpu_cqe *cqe,
		       uint32_t status)
{
	q->halted = true;
	q->state.flags |= status == VTPU_ST_RESET ? VTPU_QUEUE_RESET : VTPU_QUEUE_HALTED;
	q->state.status = status;
	q->state.error = vtpu_status_errno(status);
	q->state.op_id = cqe->op_id;
	q->state.where = cqe->where;
	q->state.fault_addr = cqe->fault_addr;
	q->state.fault_tag = job->tag;
}

static bool queue_poll(struct ip_device *dev, struct ip_queue *q)
{
	uint32_t before = q->reaped;

	while (q->reaped != q->pushed) {
		uint32_t slot = q->reaped & (q->depth - 1);
		const struct vtpu_cqe *cqe = &q->cq[slot];
		uint32_t status = __atomic_load_n(&cqe->status, __ATOMIC_ACQUIRE);
		struct ip_job *job = q->ring[slot];
		int error;

		if (!vtpu_cqe_ready(status, q->reaped, q->depth_log2))
			break;
		status &= VTPU_CQE_STATUS_MASK;
		error = vtpu_status_errno(status);
		if (!status) {
			q->state.cycles = cqe->cycles;
			q->state.total_cycles += cqe->cycles;
		} else if (q->dying) {
			error = -ECANCELED;
		} else if (!q->halted) {
			queue_halt(q, job, cqe, status);
		}
		q->ring[slot] = NULL;
		q->reaped++;
		job_end(dev, q, job, error);
	}
	return q->reaped != before;
}

void ip_queues_poll(struct ip_device *dev)
{
	bool any = false;
	uint32_t i;

	for (i = 1; i <= VTPU_MAX_QUEUES; i++) {
		if (dev->queue[i] && dev->queue[i]->pushed != dev->queue[i]->reaped)
			any |= queue_poll(dev, dev->queue[i]);
	}
	if (any)
		ip_queues_kick(dev);
}

/* ---- Life ----------------------------------------------------------------------------- */

void ip_queue_get(struct ip_queue *q)
{
	q->refs++;
}

void ip_queue_put(struct ip_device *dev, struct ip_queue *q)
{
	if (--q->refs)
		return;
	ip_memory_free(dev, q->memory, q->memory_bytes);
	free(q->ring);
	free(q);
}

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + VTPU_PAGE_BYTES - 1) & ~(uint64_t)(VTPU_PAGE_BYTES - 1);
}

static struct ip_queue *queue_alloc(struct ip_device *dev, const struct vtpu_queue_create *arg)
{
	uint64_t sq_bytes = page_up(arg->depth * sizeof(struct vtpu_sqe));
	uint64_t cq_bytes = page_up(arg->depth * sizeof(struct vtpu_cqe));
	struct ip_queue *q = calloc(1, sizeof(*q));
	uint8_t *memory;

	if (!q)
		return NULL;
	q->memory_bytes =
		sq_bytes + cq_bytes + VTPU_PAGE_BYTES + (uint64_t)arg->depth * VTPU_ARG_SLOT_BYTES;
	memory = ip_memory_alloc(dev, q->memory_bytes);
	q->ring = calloc(arg->depth, sizeof(*q->ring));
	if (!memory || !q->ring) {
		ip_memory_free(dev, memory, q->memory_bytes);
		free(q->ring);
		free(q);
		return NULL;
	}
	q->memory = memory;
	q->sq = (void *)memory;
	q->cq = (void *)(memory + sq_bytes);
	q->tail = (void *)(memory + sq_bytes + cq_bytes);
	q->args = memory + sq_bytes + cq_bytes + VTPU_PAGE_BYTES;
	q->refs = 1;
	q->kind = arg->kind;
	q->depth = arg->depth;
	q->depth_log2 = (uint32_t)__builtin_ctz(arg->depth);
	q->last = &q->first;
	return q;
}

int ip_queue_open(struct ip_device *dev, const struct ip_space *space,
		  const struct vtpu_queue_create *arg, struct ip_queue **out)
{
	struct ip_command *cmd;
	struct ip_queue *q;
	uint32_t id = 1, status;

	while (id <= VTPU_MAX_QUEUES && dev->queue[id])
		id++;
	if (id > VTPU_MAX_QUEUES)
		return -EBUSY;
	q = queue_alloc(dev, arg);
	cmd = ip_command_create(VTPU_ADMIN_QUEUE_CREATE);
	if (!q || !cmd) {
		free(cmd);
		if (q)
			ip_queue_put(dev, q);
		return -ENOMEM;
	}
	q->id = id;
	cmd->u.queue.queue = (uint16_t)id;
	cmd->u.queue.context = (uint16_t)space->context;
	cmd->u.queue.kind = (uint8_t)arg->kind;
	cmd->u.queue.depth_log2 = (uint8_t)q->depth_log2;
	cmd->u.queue.priority = (uint8_t)arg->priority;
	cmd->u.queue.core_mask = arg->core_mask;
	cmd->u.queue.max_cycles = arg->max_cycles;
	cmd->u.queue.sq = (uint64_t)(uintptr_t)q->sq;
	cmd->u.queue.cq = (uint64_t)(uintptr_t)q->cq;
	cmd->u.queue.tail = (uint64_t)(uintptr_t)q->tail;
	cmd->u.queue.args = (uint64_t)(uintptr_t)q->args;
	dev->queue[id] = q;
	status = ip_command_run(dev, cmd);
	if (status) {
		dev->queue[id] = NULL;
		ip_queue_put(dev, q);
		return vtpu_status_errno(status);
	}
	*out = q;
	return 0;
}

void ip_queue_close(struct ip_device *dev, struct ip_queue *q)
{
	struct ip_command *cmd;

	q->dying = true;
	queue_cancel_waiting(dev, q);
	if (q->pushed != q->reaped)
		vtpu_chip_write(dev->chip, VTPU_REG_RESET_QUEUE, q->id, 4);
	while (q->pushed != q->reaped)
		ip_wait(dev, UINT64_MAX);
	ip_queues_kick(dev);
	cmd = ip_command_create(VTPU_ADMIN_QUEUE_DESTROY);
	if (!cmd)
		return; /* the queue stays, idle, until the device goes */
	cmd->u.queue.queue = (uint16_t)q->id;
	if (ip_command_run(dev, cmd))
		return;
	dev->queue[q->id] = NULL;
	q->client = NULL;
	pthread_cond_broadcast(&dev->changed);
	ip_queue_put(dev, q);
}

/* ---- The ioctls --------------------------------------------------------------------------- */

int ip_queue_create(struct ip_client *client, struct vtpu_queue_create *arg)
{
	struct ip_device *dev = client->dev;
	struct vtpu_queue_create want = *arg;
	struct ip_queue *q;
	int err;

	err = vtpu_check_queue(&want, vtpu_chip_geometry(dev->chip)->cores);
	if (err)
		return err;
	err = ip_quota_take(client, VTPU_QUOTA_QUEUES, 1);
	if (err)
		return err;
	err = ip_queue_open(dev, &client->space, &want, &q);
	if (err) {
		ip_quota_give(client, VTPU_QUOTA_QUEUES, 1);
		return err;
	}
	q->client = client;
	arg->depth = want.depth;
	arg->queue = ip_table_add(&client->queues, q);
	if (!arg->queue) {
		ip_quota_give(client, VTPU_QUOTA_QUEUES, 1);
		ip_queue_close(dev, q);
		return -ENOMEM;
	}
	return 0;
}

int ip_queue_destroy(struct ip_client *client, struct vtpu_queue_destroy *arg)
{
	struct ip_queue *q;

	if (arg->pad)
		return -EINVAL;
	q = ip_table_remove(&client->queues, arg->queue);
	if (!q)
		return -ENOENT;
	ip_queue_close(client->dev, q);
	ip_quota_give(client, VTPU_QUOTA_QUEUES, 1);
	return 0;
}

int ip_queue_state(struct ip_client *client, struct vtpu_queue_state *arg)
{
	const struct ip_queue *q = ip_table_find(&client->queues, arg->queue);
	uint32_t id = arg->queue;

	if (!q)
		return -ENOENT;
	*arg = q->state;
	arg->queue = id;
	return 0;
}
