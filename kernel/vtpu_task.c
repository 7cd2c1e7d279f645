// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_task.c - one job between the ioctl and the scheduler.
 *
 * vtpu_task_create() checks everything and allocates everything; after it,
 * vtpu_task_accept() can only be interrupted. Once the job is armed nothing
 * can fail any more, so its fence always signals.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>

#include <drm/drm_exec.h>
#include <drm/drm_syncobj.h>

#include "vtpu_compat.h"
#include "vtpu_device.h"

/*
 * vtpu_get_element() - copy one element of an array in user memory
 * @bytes: as far as this kernel knows elements; array->stride is at least that
 *
 * Return: 0; -EFAULT; -E2BIG if the caller's longer element says something in what we do not know,
 * or is longer than a page, of which reading all would take too long.
 */
int vtpu_get_element(const struct vtpu_array *array, u32 index, void *to, size_t bytes)
{
	if (array->stride > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to, bytes,
				     u64_to_user_ptr(array->array + (u64)index * array->stride),
				     array->stride);
}

/* ---- Create ---- */

static int take_wait(struct vtpu_task *task, struct drm_file *file, const struct vtpu_sync *sync)
{
	struct dma_fence *fence;
	int ret;

	/* Not the scheduler's own helper: its points have 32 bits. */
	ret = drm_syncobj_find_fence(file, sync->handle, sync->point, 0, &fence);
	return ret ?: drm_sched_job_add_dependency(&task->base, fence);
}

static int take_signal(struct vtpu_task_sync *to, struct drm_file *file,
		       const struct vtpu_sync *sync)
{
	if (sync->flags & VTPU_SYNC_TIMELINE) {
		to->chain = dma_fence_chain_alloc();
		if (!to->chain)
			return -ENOMEM;
	}
	to->syncobj = drm_syncobj_find(file, sync->handle);
	return to->syncobj ? 0 : -ENOENT;
}

static int get_syncs(struct vtpu_task *task, struct drm_file *file, const struct vtpu_array *array)
{
	u32 i;
	int ret;

	if (!array->count)
		return 0;
	task->syncs = kcalloc(array->count, sizeof(*task->syncs), GFP_KERNEL_ACCOUNT);
	if (!task->syncs)
		return -ENOMEM;
	for (i = 0; i < array->count; i++) {
		struct vtpu_task_sync *to = &task->syncs[task->nsyncs];
		struct vtpu_sync sync;

		ret = vtpu_get_element(array, i, &sync, sizeof(sync));
		if (!ret)
			ret = vtpu_check_sync(&sync);
		if (ret)
			return ret;
		if (!(sync.flags & VTPU_SYNC_SIGNAL)) {
			ret = take_wait(task, file, &sync);
		} else {
			to->point = sync.point;
			task->nsyncs++;
			ret = take_signal(to, file, &sync);
		}
		if (ret)
			return ret;
	}
	return 0;
}

static int get_bos(struct vtpu_task *task, struct drm_file *file, const struct vtpu_array *array)
{
	u32 i;
	int ret;

	if (!array->count)
		return 0;
	task->bos = kvcalloc(array->count, sizeof(*task->bos), GFP_KERNEL_ACCOUNT);
	task->bo_refs = kvcalloc(array->count, sizeof(*task->bo_refs), GFP_KERNEL_ACCOUNT);
	if (!task->bos || !task->bo_refs)
		return -ENOMEM;
	for (i = 0; i < array->count; i++) {
		struct vtpu_bo_ref *ref = &task->bo_refs[i];

		ret = vtpu_get_element(array, i, ref, sizeof(*ref));
		if (ret)
			return ret;
		if (ref->flags & ~VTPU_BO_REF_WRITE)
			return -EINVAL;
		task->bos[i] = drm_gem_object_lookup(file, ref->handle);
		if (!task->bos[i])
			return -ENOENT;
		task->nbos++;
	}
	return 0;
}

static int get_args(struct vtpu_task *task, const struct vtpu_job *job)
{
	const struct vtpu_program *program = task->program;

	if (!job->args_size)
		return 0;
	task->args = memdup_user(u64_to_user_ptr(job->args), job->args_size);
	if (IS_ERR(task->args)) {
		int ret = PTR_ERR(task->args);

		task->args = NULL;
		return ret;
	}
	task->args_bytes = job->args_size;
	if (!program)
		return 0;
	return vtpu_check_args(task->args, task->args_bytes, program->nbases, program->nscalars);
}

static int fill_task(struct vtpu_task *task, struct drm_file *file, const struct vtpu_job *job)
{
	struct vtpu_file *vfile = file->driver_priv;
	int ret;

	task->width = 1;
	task->tag = job->tag;
	if (job->flags & VTPU_JOB_NOP)
		task->flags = VTPU_SQE_NOP;
	if (job->program) {
		task->program = vtpu_program_find(vfile, job->program);
		if (!task->program)
			return -ENOENT;
		task->width = task->program->width;
	}
	ret = get_args(task, job);
	if (ret)
		return ret;
	task->fence = vtpu_fence_alloc(vfile->vdev);
	if (!task->fence)
		return -ENOMEM;
	ret = vtpu_compat_sched_job_init(&task->base, &task->queue->entity, vfile, file);
	if (ret)
		return ret;
	ret = get_syncs(task, file, &job->syncs);
	return ret ?: get_bos(task, file, &job->bos);
}

/*
 * vtpu_task_create() - check a job and make all that it needs
 * @job: copied from the user
 *
 * Waits see what their sync objects hold now; jobs of one call need no sync
 * between them, since a queue is in order.
 */
int vtpu_task_create(struct vtpu_queue *queue, struct drm_file *file, const struct vtpu_job *job,
		     struct vtpu_task **out)
{
	struct vtpu_task *task;
	int ret;

	ret = vtpu_check_job(job, queue->kind);
	if (ret)
		return ret;
	ret = vtpu_charge(queue->file, VTPU_QUOTA_JOBS, 1);
	if (ret)
		return ret;
	task = kzalloc(sizeof(*task), GFP_KERNEL_ACCOUNT);
	if (!task) {
		vtpu_uncharge(queue->file, VTPU_QUOTA_JOBS, 1);
		return -ENOMEM;
	}
	kref_get(&queue->ref);
	task->queue = queue;
	ret = fill_task(task, file, job);
	if (ret)
		vtpu_task_abandon(task);
	else
		*out = task;
	return ret;
}

/* ---- The end ---- */

/* What only acceptance needs. */
static void drop_submission(struct vtpu_task *task)
{
	u32 i;

	for (i = 0; i < task->nsyncs; i++) {
		if (task->syncs[i].syncobj)
			drm_syncobj_put(task->syncs[i].syncobj);
		dma_fence_chain_free(task->syncs[i].chain);
	}
	for (i = 0; i < task->nbos; i++)
		drm_gem_object_put(task->bos[i]);
	kfree(task->syncs);
	kvfree(task->bos);
	kvfree(task->bo_refs);
	task->syncs = NULL;
	task->bos = NULL;
	task->bo_refs = NULL;
	task->nsyncs = 0;
	task->nbos = 0;
}

/* vtpu_task_free() - of a job that has ended, or was never armed; the scheduler's part is clean */
void vtpu_task_free(struct vtpu_task *task)
{
	struct vtpu_queue *queue = task->queue;

	drop_submission(task);
	if (task->fence && task->posted)
		dma_fence_put(&task->fence->base);
	else if (task->fence)
		vtpu_fence_free(task->fence);
	vtpu_program_put(task->program);
	vtpu_uncharge(queue->file, VTPU_QUOTA_JOBS, 1);
	kfree(task->args);
	kfree(task);
	vtpu_queue_put(queue);
}

/* vtpu_task_abandon() - free a job that was not accepted */
void vtpu_task_abandon(struct vtpu_task *task)
{
	if (task->base.s_fence)
		drm_sched_job_cleanup(&task->base);
	vtpu_task_free(task);
}

/* ---- Accept ---- */

static void count_start(struct vtpu_queue *queue)
{
	atomic_inc(&queue->inflight);
	spin_lock_irq(&queue->slot->lock);
	queue->state.submitted++;
	spin_unlock_irq(&queue->slot->lock);
	atomic64_inc(&queue->file->vdev->jobs_submitted);
}

static void show_fence(struct vtpu_task *task, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < task->nbos; i++)
		dma_resv_add_fence(task->bos[i]->resv, fence,
				   task->bo_refs[i].flags & VTPU_BO_REF_WRITE ?
					   DMA_RESV_USAGE_WRITE :
					   DMA_RESV_USAGE_READ);
	for (i = 0; i < task->nsyncs; i++) {
		struct vtpu_task_sync *sync = &task->syncs[i];

		if (!sync->chain) {
			drm_syncobj_replace_fence(sync->syncobj, fence);
			continue;
		}
		drm_syncobj_add_point(sync->syncobj, sync->chain, fence, sync->point);
		sync->chain = NULL;
	}
}

/*
 * Two fences for each buffer: one that is named for writing and again for
 * reading gets the job's fence under both uses.
 */
static int lock_bos(struct vtpu_task *task, struct drm_exec *exec)
{
	int ret = 0;

	drm_exec_init(exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, task->nbos);
	drm_exec_until_all_locked(exec)
	{
		ret = drm_exec_prepare_array(exec, task->bos, task->nbos, 2);
		drm_exec_retry_on_contention(exec);
		if (ret)
			break;
	}
	/* Was it a signal, the call may be entered again. */
	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/*
 * vtpu_task_accept() - give the job to the scheduler; the caller holds submit_lock
 *
 * On success the task is the scheduler's. Return: 0 or -ERESTARTSYS, -ENOMEM.
 */
int vtpu_task_accept(struct vtpu_task *task)
{
	struct dma_fence *fence;
	struct drm_exec exec;
	int ret = 0;

	lockdep_assert_held(&task->queue->submit_lock);
	if (task->nbos)
		ret = lock_bos(task, &exec);
	if (ret) {
		drm_exec_fini(&exec);
		return ret;
	}
	drm_sched_job_arm(&task->base);
	fence = dma_fence_get(&task->base.s_fence->finished);
	count_start(task->queue);
	show_fence(task, fence);
	if (task->nbos)
		drm_exec_fini(&exec);
	drop_submission(task);
	drm_sched_entity_push_job(&task->base);
	dma_fence_put(fence);
	return 0;
}
