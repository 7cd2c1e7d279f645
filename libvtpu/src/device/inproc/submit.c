// SPDX-License-Identifier: MIT
/*
 * submit.c - the submit ioctl: all jobs are checked and prepared before the
 * first is accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

/* A newer caller's longer elements are fine as long as what we do not know is zero. */
static int element(const struct vtpu_array *array, uint32_t index, void *out, size_t known)
{
	const uint8_t *from =
		(const uint8_t *)(uintptr_t)array->array + (size_t)index * array->stride;
	size_t i;

	for (i = known; i < array->stride; i++) {
		if (from[i])
			return -E2BIG;
	}
	memcpy(out, from, known);
	return 0;
}

static int prepare_syncs(struct ip_client *client, struct ip_job *job,
			 const struct vtpu_array *syncs)
{
	struct vtpu_sync *signal;
	uint32_t i;

	if (!syncs->count)
		return 0;
	if (!syncs->array)
		return -EFAULT;
	signal = calloc(syncs->count, sizeof(*signal));
	job->signals.array = (uint64_t)(uintptr_t)signal;
	job->wait = calloc(syncs->count, sizeof(*job->wait));
	if (!signal || !job->wait)
		return -ENOMEM;
	for (i = 0; i < syncs->count; i++) {
		struct vtpu_sync sync;
		int err = element(syncs, i, &sync, sizeof(sync));

		if (!err)
			err = vtpu_check_sync(&sync);
		if (err)
			return err;
		if (sync.flags & VTPU_SYNC_SIGNAL) {
			if (!ip_syncobj_find(client, sync.handle))
				return -ENOENT;
			signal[job->signals.count++] = sync;
			continue;
		}
		err = ip_syncobj_fence(client, sync.handle, sync.point, &job->wait[job->nwait]);
		if (err)
			return err;
		job->nwait++;
	}
	return 0;
}

static int prepare_bos(struct ip_client *client, struct ip_job *job, const struct vtpu_array *bos)
{
	uint32_t i;

	if (!bos->count)
		return 0;
	if (!bos->array)
		return -EFAULT;
	job->bo = calloc(bos->count, sizeof(*job->bo));
	job->bo_write = calloc(bos->count, sizeof(*job->bo_write));
	if (!job->bo || !job->bo_write)
		return -ENOMEM;
	for (i = 0; i < bos->count; i++) {
		struct vtpu_bo_ref ref;
		struct ip_bo *bo;
		int err = element(bos, i, &ref, sizeof(ref));

		if (err)
			return err;
		if (ref.flags & ~VTPU_BO_REF_WRITE)
			return -EINVAL;
		bo = ip_table_find(&client->bos, ref.handle);
		if (!bo)
			return -ENOENT;
		job->bo_write[job->nbo] = ref.flags & VTPU_BO_REF_WRITE;
		job->bo[job->nbo++] = ip_bo_get(bo);
	}
	return 0;
}

static int prepare(struct ip_client *client, const struct ip_queue *q, const struct vtpu_job *from,
		   struct ip_job **out)
{
	const void *args = (const void *)(uintptr_t)from->args;
	struct ip_program *program = NULL;
	struct ip_job *job;
	int err = vtpu_check_job(from, q->kind);

	if (err)
		return err;
	if (from->program) {
		program = ip_table_find(&client->programs, from->program);
		if (!program)
			return -ENOENT;
	}
	if (from->args_size && !args)
		return -EFAULT;
	job = ip_job_create(args, from->args_size);
	if (!job)
		return -ENOMEM;
	*out = job;
	job->nop = from->flags & VTPU_JOB_NOP;
	job->tag = from->tag;
	if (program) {
		program->refs++;
		job->program = program;
		err = vtpu_check_args((const void *)job->args, job->args_bytes, program->nbases,
				      program->nscalars);
	}
	if (!err)
		err = prepare_syncs(client, job, &from->syncs);
	return err ? err : prepare_bos(client, job, &from->bos);
}

/*
 * Let the world see the job's fence, then enter it. A halted queue is an error only before a call's first job: those
 * behind one that fails meanwhile are entered, and end as cancelled.
 */
static int accept(struct ip_client *client, struct ip_queue *q, struct ip_job *job, bool first)
{
	const struct vtpu_sync *signal = (const struct vtpu_sync *)(uintptr_t)job->signals.array;
	struct ip_device *dev = client->dev;
	uint32_t i;
	int err = 0;

	while (q->state.submitted - q->state.completed >= q->depth && !q->halted && !q->dying)
		ip_wait(dev, UINT64_MAX);
	if (first && (q->halted || q->dying))
		return -ECANCELED;
	for (i = 0; i < job->signals.count; i++) {
		if (!ip_syncobj_find(client, signal[i].handle))
			return -ENOENT;
	}
	for (i = 0; i < job->nbo && !err; i++)
		err = ip_bo_add_use(job->bo[i], job->fence, job->bo_write[i]);
	for (i = 0; i < job->signals.count && !err; i++) {
		struct ip_syncobj *obj = ip_syncobj_find(client, signal[i].handle);

		if (signal[i].flags & VTPU_SYNC_TIMELINE)
			err = ip_syncobj_add_point(dev, obj, job->fence, signal[i].point);
		else
			ip_syncobj_replace(dev, obj, ip_fence_get(job->fence));
	}
	if (err) {
		/* Whoever waits for what was shown already must not wait for ever. */
		ip_fence_signal(dev, job->fence, err);
		return err;
	}
	ip_queue_enter(dev, q, job);
	ip_queues_kick(dev);
	return 0;
}

int ip_submit(struct ip_client *client, struct vtpu_submit *arg)
{
	struct ip_device *dev = client->dev;
	struct ip_job **job;
	struct ip_queue *q;
	uint32_t i, taken;
	int err = 0;

	if (arg->flags || arg->pad || !arg->jobs.count ||
	    arg->jobs.stride < sizeof(struct vtpu_job))
		return -EINVAL;
	if (arg->jobs.count > VTPU_MAX_SUBMIT_JOBS)
		return -E2BIG;
	q = ip_table_find(&client->queues, arg->queue);
	if (!q)
		return -ENOENT;
	if (!arg->jobs.array)
		return -EFAULT;
	arg->submitted = 0;
	if (q->halted)
		return -ECANCELED;
	err = ip_quota_take(client, VTPU_QUOTA_JOBS, arg->jobs.count);
	if (err)
		return err;
	job = calloc(arg->jobs.count, sizeof(struct ip_job *));
	if (!job)
		err = -ENOMEM;
	ip_queue_get(q);
	for (i = 0; i < arg->jobs.count && !err; i++) {
		struct vtpu_job from;

		err = element(&arg->jobs, i, &from, sizeof(from));
		if (!err)
			err = prepare(client, q, &from, &job[i]);
	}
	for (taken = 0; taken < arg->jobs.count && !err; taken++) {
		err = accept(client, q, job[taken], !taken);
		if (err)
			break;
		job[taken] = NULL;
	}
	arg->submitted = taken;
	for (i = taken; job && i < arg->jobs.count; i++)
		ip_job_free(dev, job[i]);
	free(job);
	ip_quota_give(client, VTPU_QUOTA_JOBS, arg->jobs.count - taken);
	ip_queue_put(dev, q);
	return err;
}
