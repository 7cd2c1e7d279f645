// SPDX-License-Identifier: MIT
/*
 * queue.c - I/O queues: entries in, jobs in order, completions out.
 *
 * vtpu_queue_advance() moves everything of one queue that can move: tail word,
 * entries, arguments, the head job, its completion. Each step is one look at a
 * small state machine, so it does not matter whether the host's DMA is done
 * at once or later.
 */
#include <stdlib.h>
#include <string.h>

#include "chip.h"

#define STEPS 64 /* a pass over one queue; then the others get their turn */

enum vtpu_hw_status vtpu_queue_create(struct vtpu_chip *chip, const struct vtpu_admin_queue *cmd)
{
	struct vtpu_queue *q = calloc(1, sizeof(*q));
	unsigned int i;

	if (!q)
		return VTPU_ST_NO_MEMORY;
	if (!vtpu_ring_init(&q->ring, chip, cmd->queue, VTPU_FETCH_AHEAD)) {
		free(q);
		return VTPU_ST_NO_MEMORY;
	}
	q->chip = chip;
	q->id = cmd->queue;
	q->kind = cmd->kind;
	q->priority = cmd->priority;
	q->context = cmd->context;
	q->core_mask = cmd->core_mask ? cmd->core_mask : chip->all_cores;
	q->max_cycles = cmd->max_cycles;
	q->args_addr = cmd->args;
	q->ring.sq = cmd->sq;
	q->ring.cq = cmd->cq;
	q->ring.tail_addr = cmd->tail;
	q->ring.depth_log2 = cmd->depth_log2;
	for (i = 0; i < VTPU_FETCH_AHEAD; i++)
		vtpu_request_init(&q->job[i].args_req, chip, q->id);
	q->pub.state = VTPU_HWQ_IDLE;
	chip->context[q->context].queues++;

	pthread_mutex_lock(&chip->lock);
	chip->queue[q->id] = q;
	chip->stats.queues++;
	pthread_mutex_unlock(&chip->lock);
	return VTPU_ST_OK;
}

/* Nobody works on it: it is drained, or all work has ended. */
void vtpu_queue_free(struct vtpu_queue *q)
{
	struct vtpu_chip *chip = q->chip;

	pthread_mutex_lock(&chip->lock);
	chip->queue[q->id] = NULL;
	chip->stats.queues--;
	pthread_mutex_unlock(&chip->lock);
	chip->context[q->context].queues--;
	vtpu_program_put(q->run.program);
	vtpu_ring_fini(&q->ring);
	free(q);
}

/* All its completions are written and nothing is in flight. */
bool vtpu_queue_drained(struct vtpu_queue *q)
{
	unsigned int i;

	for (i = 0; i < VTPU_FETCH_AHEAD; i++)
		if (!vtpu_request_idle(&q->job[i].args_req))
			return false;
	return q->ring.completed == q->ring.tail && vtpu_ring_idle(&q->ring);
}

/* Something other than a job's own failure has stopped the queue. */
static void queue_broken(struct vtpu_queue *q)
{
	q->halted = true;
	vtpu_chip_event(q->chip, VTPU_EVENT_QUEUE_HALTED);
}

/* ---- Steps ------------------------------------------------------------------ */

static struct vtpu_job *take_slot(struct vtpu_queue *q)
{
	struct vtpu_job *job = &q->job[q->ring.fetched % VTPU_FETCH_AHEAD];

	job->seq = q->ring.fetched++;
	job->state = VTPU_JOB_FETCHED;
	job->status = VTPU_ST_OK;
	job->sqe = (struct vtpu_sqe){ 0 };
	job->op_id = 0;
	job->where = 0;
	job->cycles = 0;
	job->fault_addr = 0;
	job->lost_irq = false;
	return job;
}

static bool step_tail(struct vtpu_queue *q)
{
	enum vtpu_hw_status st;

	if (!vtpu_ring_poll_tail(&q->ring, &st))
		return false;
	if (st == VTPU_ST_OK)
		return true;
	/*
	 * What the tail word said before is void, and there is no telling how
	 * many jobs there are: one completion says what happened.
	 */
	q->broken = st;
	q->ring.tail = q->ring.fetched + 1;
	queue_broken(q);
	return true;
}

static void fetch_args(struct vtpu_queue *q, struct vtpu_job *job)
{
	uint64_t slot = job->seq & ((1u << q->ring.depth_log2) - 1);

	/* Entries that are wrong are told so when their turn comes. */
	if (!job->sqe.args_bytes || job->sqe.args_bytes > VTPU_ARG_SLOT_BYTES)
		return;
	job->state = VTPU_JOB_ARGS;
	vtpu_request_issue(&job->args_req, q->args_addr + slot * VTPU_ARG_SLOT_BYTES, job->args,
			   job->sqe.args_bytes, false);
}

static bool step_entries(struct vtpu_queue *q)
{
	enum vtpu_hw_status st;
	uint32_t i, n;

	if (q->halted && vtpu_request_idle(&q->ring.entry_req)) {
		/* They will all end the same way; no need to read them. */
		n = q->ring.tail - q->ring.fetched;
		if (n > VTPU_FETCH_AHEAD - (q->ring.fetched - q->ring.completed))
			n = VTPU_FETCH_AHEAD - (q->ring.fetched - q->ring.completed);
		for (i = 0; i < n; i++)
			take_slot(q)->status = q->broken;
		return n;
	}
	n = vtpu_ring_poll_entries(&q->ring, &st);
	for (i = 0; i < n; i++) {
		struct vtpu_job *job = take_slot(q);

		job->status = st;
		if (st != VTPU_ST_OK)
			continue;
		memcpy(&job->sqe, q->ring.entry[i], sizeof(job->sqe));
		vtpu_trace(q->chip, VTPU_TRACE_FETCH, q->id, job->seq, job->sqe.program,
			   job->sqe.args_bytes);
		fetch_args(q, job);
	}
	return n;
}

static bool step_args(struct vtpu_queue *q)
{
	uint32_t seq;
	bool any = false;

	for (seq = q->ring.completed; seq != q->ring.fetched; seq++) {
		struct vtpu_job *job = &q->job[seq % VTPU_FETCH_AHEAD];
		bool ok;

		if (job->state != VTPU_JOB_ARGS || !vtpu_request_take(&job->args_req, &ok))
			continue;
		job->state = VTPU_JOB_FETCHED;
		if (!ok && job->status == VTPU_ST_OK)
			job->status = VTPU_ST_DMA_ERROR;
		any = true;
	}
	return any;
}

static bool abort_asked(struct vtpu_queue *q, uint32_t seq)
{
	uint32_t slot = seq & ((1u << q->ring.depth_log2) - 1);
	bool asked;

	pthread_mutex_lock(&q->chip->lock);
	asked = q->abort[slot / 64] >> (slot % 64) & 1;
	pthread_mutex_unlock(&q->chip->lock);
	return asked;
}

static bool step_complete(struct vtpu_queue *q, struct vtpu_job *job)
{
	struct vtpu_cqe cqe = {
		.cycles = job->cycles,
		.fault_addr = job->fault_addr,
		.op_id = job->op_id,
		.seq = job->seq,
		.where = job->where,
		.status = job->status,
	};

	return vtpu_ring_complete(&q->ring, &cqe, job->lost_irq);
}

static bool step_head(struct vtpu_queue *q)
{
	struct vtpu_job *job = vtpu_queue_head(q);
	enum vtpu_job_state was;

	if (!job)
		return false;
	was = job->state;
	switch (job->state) {
	case VTPU_JOB_ARGS:
		return false;
	case VTPU_JOB_FETCHED:
		if (q->halted && job->status == VTPU_ST_OK)
			vtpu_job_end(q, job, VTPU_ST_QUEUE_HALTED);
		else if (abort_asked(q, job->seq))
			vtpu_job_cancel(q, job, VTPU_ST_ABORTED);
		else
			vtpu_job_begin(q, job);
		break;
	case VTPU_JOB_RUNNING:
		vtpu_job_collect(q, job);
		if (job->state == VTPU_JOB_ENDED)
			break;
		/* fall through */
	case VTPU_JOB_WAITING:
		if (q->cancelled == VTPU_ST_OK && abort_asked(q, job->seq)) {
			vtpu_trace(q->chip, VTPU_TRACE_ABORT, q->id, job->seq, 0, 0);
			vtpu_job_cancel(q, job, VTPU_ST_ABORTED);
		}
		break;
	case VTPU_JOB_ENDED:
		return step_complete(q, job);
	}
	return job->state != was;
}

static bool step_cqe(struct vtpu_queue *q)
{
	enum vtpu_hw_status st;

	if (!vtpu_ring_poll_cqe(&q->ring, &st))
		return false;
	if (st != VTPU_ST_OK)
		queue_broken(q);
	return true;
}

/* ---- The whole ---------------------------------------------------------------- */

static enum vtpu_hw_queue_state queue_state(struct vtpu_queue *q)
{
	struct vtpu_job *job = vtpu_queue_head(q);

	if (job && job->state == VTPU_JOB_RUNNING)
		return VTPU_HWQ_RUNNING;
	if (q->halted)
		return VTPU_HWQ_HALTED;
	if (job && job->state == VTPU_JOB_WAITING)
		return VTPU_HWQ_WAITING;
	return VTPU_HWQ_IDLE;
}

/* Show the queue's state to register reads; forget aborts of jobs that have ended. */
static void publish(struct vtpu_queue *q)
{
	uint32_t mask = (1u << q->ring.depth_log2) - 1;

	pthread_mutex_lock(&q->chip->lock);
	for (; q->pub.completed != q->ring.completed; q->pub.completed++) {
		uint32_t slot = q->pub.completed & mask;

		q->abort[slot / 64] &= ~(1ULL << (slot % 64));
	}
	q->pub.tail = q->ring.tail;
	q->pub.fetched = q->ring.fetched;
	q->pub.state = queue_state(q);
	pthread_mutex_unlock(&q->chip->lock);
}

void vtpu_queue_advance(struct vtpu_queue *q)
{
	unsigned int steps = STEPS;
	bool more;

	do {
		more = step_tail(q);
		more |= step_entries(q);
		more |= step_args(q);
		more |= step_head(q);
		more |= step_cqe(q);
	} while (more && --steps);
	publish(q);
	if (more)
		vtpu_attend(q->chip, q->id);
	if (q->destroying)
		q->chip->admin_recheck = true;
}

/* VTPU_REG_RESET_QUEUE, QUEUE_DESTROY: what it does ends as RESET, the rest as QUEUE_HALTED. */
void vtpu_queue_reset(struct vtpu_queue *q)
{
	struct vtpu_job *job = vtpu_queue_head(q);

	if (job)
		vtpu_job_cancel(q, job, VTPU_ST_RESET);
	q->halted = true;
}
