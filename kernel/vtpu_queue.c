// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_queue.c - clients' queues: their life, their state, what a completion means.
 *
 * A queue that has failed, or is destroyed or closed, stays until its last job
 * has been freed: run_job refuses what is left, in order, each after what it
 * depends on. So nothing waits, and nothing is torn out of the scheduler.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "vtpu_device.h"

/* ---- Jobs in the ring; all of this holds the slot's lock ---- */

static struct vtpu_task *first_task(struct vtpu_queue *queue)
{
	return list_first_entry_or_null(&queue->pending, struct vtpu_task, node);
}

/*
 * vtpu_queue_account() - turn the queue's busy time since the last call into core time
 *
 * Called when the width of what runs changes and when somebody wants to know.
 */
void vtpu_queue_account(struct vtpu_queue *queue)
{
	u64 busy;

	lockdep_assert_held(&queue->slot->lock);
	if (queue->ring.dead)
		return;
	busy = vtpu_read64(queue->ring.vdev, vtpu_doorbell(queue->slot->id, VTPU_DB_BUSY_NS));
	if (busy <= queue->busy_seen)
		return;
	queue->busy_ns += (busy - queue->busy_seen) * queue->width;
	queue->busy_seen = busy;
}

static void set_width(struct vtpu_queue *queue)
{
	struct vtpu_task *task = first_task(queue);

	if (!task || task->width == queue->width)
		return;
	vtpu_queue_account(queue);
	queue->width = task->width;
}

static void count_end(struct vtpu_queue *queue, int error)
{
	struct vtpu_device *vdev = queue->ring.vdev;

	queue->state.completed++;
	atomic64_inc(error ? &vdev->jobs_failed : &vdev->jobs_completed);
}

/*
 * vtpu_queue_run() - put a job into the ring, or refuse it
 *
 * A refused job's fence ends at once, with the error. It is a fence all the
 * same: the scheduler's keeps it, and it keeps the device (vtpu_fence.c).
 */
void vtpu_queue_run(struct vtpu_queue *queue, struct vtpu_task *task)
{
	lockdep_assert_held(&queue->slot->lock);
	vtpu_fence_init(task->fence, queue->fence_context, ++queue->fence_seqno);
	task->posted = true;
	if (queue->error) {
		count_end(queue, queue->error);
		dma_fence_set_error(&task->fence->base, queue->error);
		dma_fence_signal(&task->fence->base);
		return;
	}
	list_add_tail(&task->node, &queue->pending);
	set_width(queue);
	task->seq = vtpu_ring_post(&queue->ring, task->program ? task->program->hw_id : 0,
				   task->flags, task->args, task->args_bytes);
}

static void end_task(struct vtpu_queue *queue, struct vtpu_task *task, int error)
{
	struct vtpu_fence *fence = task->fence;

	list_del(&task->node);
	set_width(queue);
	count_end(queue, error);
	if (error)
		dma_fence_set_error(&fence->base, error);
	/* The task may be freed from here on. */
	dma_fence_signal(&fence->base);
}

static void halt_queue(struct vtpu_queue *queue, const struct vtpu_task *task,
		       const struct vtpu_cqe *cqe, u32 status)
{
	queue->error = -ECANCELED;
	queue->state.flags |= status == VTPU_ST_RESET ? VTPU_QUEUE_RESET : VTPU_QUEUE_HALTED;
	queue->state.status = status;
	queue->state.error = vtpu_status_errno(status);
	queue->state.op_id = cqe->op_id;
	queue->state.where = cqe->where;
	queue->state.fault_addr = cqe->fault_addr;
	queue->state.fault_tag = task->tag;
}

static void queue_complete(struct vtpu_ring *ring, const struct vtpu_cqe *cqe)
{
	struct vtpu_queue *queue = container_of(ring, struct vtpu_queue, ring);
	struct vtpu_task *task = first_task(queue);
	u32 status = cqe->status & VTPU_CQE_STATUS_MASK;
	int error = vtpu_status_errno(status);

	if (!task || cqe->seq != task->seq) {
		drm_err_ratelimited(&ring->vdev->drm,
				    "queue %u: completion of job %u, expected %u\n", ring->id,
				    cqe->seq, task ? task->seq : 0);
		if (!task)
			return;
		status = VTPU_ST_INTERNAL;
		error = vtpu_status_errno(status);
	}
	if (status == VTPU_ST_RESET && !queue->killed) {
		/* A step of recovery, and it is this job that hung. */
		status = VTPU_ST_TIMEOUT;
		error = vtpu_status_errno(status);
	}
	if (!status) {
		queue->state.cycles = cqe->cycles;
		queue->state.total_cycles += cqe->cycles;
	} else if (queue->killed) {
		error = -ECANCELED;
	} else if (!queue->error) {
		halt_queue(queue, task, cqe, status);
		drm_dbg(&ring->vdev->drm, "queue %u: job %u: %s, op %u, address 0x%llx\n", ring->id,
			task->seq, vtpu_status_text(status), cqe->op_id, cqe->fault_addr);
	}
	end_task(queue, task, error);
}

/* A reset or unbind took the ring: @error ends its jobs, the guilty one's first as time-out. */
static void queue_lost(struct vtpu_ring *ring, int error, bool guilty)
{
	struct vtpu_queue *queue = container_of(ring, struct vtpu_queue, ring);
	struct vtpu_cqe cqe = {};
	struct vtpu_task *task = first_task(queue);
	u32 status = guilty ? VTPU_ST_TIMEOUT : VTPU_ST_RESET;

	if (task && !queue->error)
		halt_queue(queue, task, &cqe, status);
	else if (!queue->error)
		queue->state.flags |= VTPU_QUEUE_RESET;
	queue->error = error == -ENODEV ? error : -ECANCELED;
	while ((task = first_task(queue))) {
		end_task(queue, task, guilty ? vtpu_status_errno(status) : error);
		guilty = false;
	}
	wake_up_all(&queue->room);
}

/* ---- Life ---- */

/* vtpu_queue_find() - a reference to a queue of this file, or NULL */
struct vtpu_queue *vtpu_queue_find(struct vtpu_file *vfile, u32 id)
{
	struct vtpu_queue *queue;

	xa_lock(&vfile->queues);
	queue = xa_load(&vfile->queues, id);
	if (queue)
		kref_get(&queue->ref);
	xa_unlock(&vfile->queues);
	return queue;
}

static void queue_release_work(struct work_struct *work)
{
	struct vtpu_queue *queue = container_of(work, struct vtpu_queue, release_work);
	struct vtpu_file *vfile = queue->file;
	struct vtpu_device *vdev = vfile->vdev;
	struct vtpu_slot *slot = queue->slot;
	bool known;
	int idx;

	/* No job is left, so this waits for nothing but the end of the last run_job. */
	drm_sched_entity_fini(&queue->entity);

	down_read(&vdev->reset_sem);
	spin_lock_irq(&slot->lock);
	vtpu_queue_account(queue);
	known = !queue->ring.dead;
	spin_unlock_irq(&slot->lock);
	if (known && drm_dev_enter(&vdev->drm, &idx)) {
		vtpu_ring_destroy(&queue->ring);
		drm_dev_exit(idx);
	}
	/* Unbind frees the rings of queues that are still there. */
	mutex_lock(&vdev->list_lock);
	vtpu_ring_detach(&queue->ring);
	vtpu_ring_free(&queue->ring);
	mutex_unlock(&vdev->list_lock);
	ida_free(&vdev->slot_ids, slot->id);
	up_read(&vdev->reset_sem);

	spin_lock_irq(&vfile->stats_lock);
	list_del(&queue->node);
	vfile->engine_ns[queue->kind] += queue->busy_ns;
	vfile->cycles[queue->kind] += queue->state.total_cycles;
	spin_unlock_irq(&vfile->stats_lock);
	vtpu_uncharge(vfile, VTPU_QUOTA_HOST_BYTES, queue->ring.bytes + queue->ring.args_bytes);
	vtpu_uncharge(vfile, VTPU_QUOTA_QUEUES, 1);
	vtpu_vm_put(queue->vm);
	mutex_destroy(&queue->submit_lock);
	kfree(queue);
	vtpu_file_put(vfile);
}

static void queue_release(struct kref *ref)
{
	struct vtpu_queue *queue = container_of(ref, struct vtpu_queue, ref);

	queue_work(vtpu_wq, &queue->release_work);
}

void vtpu_queue_put(struct vtpu_queue *queue)
{
	kref_put(&queue->ref, queue_release);
}

/* vtpu_queue_kill() - end all of a queue's jobs soon, as cancelled; does not wait */
void vtpu_queue_kill(struct vtpu_queue *queue)
{
	struct vtpu_slot *slot = queue->slot;

	spin_lock_irq(&slot->lock);
	queue->killed = true;
	if (!queue->error)
		queue->error = -ECANCELED;
	if (!queue->ring.dead && !list_empty(&queue->pending))
		vtpu_write(slot->vdev, VTPU_REG_RESET_QUEUE, slot->id);
	spin_unlock_irq(&slot->lock);
	wake_up_all(&queue->room);
}

static int queue_start(struct vtpu_queue *queue)
{
	struct vtpu_admin_queue params = {
		.context = queue->vm->context,
		.kind = queue->kind,
		.priority = queue->priority,
		.core_mask = queue->core_mask,
		.max_cycles = queue->max_cycles,
	};
	int ret = vtpu_ring_create(&queue->ring, &params);

	if (!ret)
		vtpu_ring_attach(&queue->ring);
	return ret;
}

static void queue_init(struct vtpu_queue *queue, struct vtpu_file *vfile,
		       const struct vtpu_queue_create *args)
{
	kref_init(&queue->ref);
	INIT_WORK(&queue->release_work, queue_release_work);
	INIT_LIST_HEAD(&queue->pending);
	mutex_init(&queue->submit_lock);
	init_waitqueue_head(&queue->room);
	queue->file = vtpu_file_get(vfile);
	queue->kind = args->kind;
	queue->depth = args->depth;
	queue->priority = args->priority;
	queue->core_mask = args->core_mask;
	queue->max_cycles = args->max_cycles;
	queue->fence_context = dma_fence_context_alloc(1);
	queue->ring.complete = queue_complete;
	queue->ring.lost = queue_lost;
	queue->width = 1;
}

/*
 * A queue whose interrupt comes to the CPU that creates it, which mostly submits
 * its jobs and waits for them, too: no wake-up then crosses CPUs. Else any.
 */
static int alloc_slot(struct vtpu_device *vdev)
{
	unsigned int cpu = raw_smp_processor_id(), id;
	int ret;

	for (id = 1; id <= VTPU_MAX_QUEUES; id++) {
		if (vdev->vectors[VTPU_QUEUE_VECTOR(id, vdev->nvec)].cpu != cpu)
			continue;
		ret = ida_alloc_range(&vdev->slot_ids, id, id, GFP_KERNEL);
		if (ret != -ENOSPC)
			return ret;
	}
	return ida_alloc_range(&vdev->slot_ids, 1, VTPU_MAX_QUEUES, GFP_KERNEL);
}

static int queue_create(struct vtpu_file *vfile, struct vtpu_queue_create *args)
{
	struct vtpu_device *vdev = vfile->vdev;
	struct drm_gpu_scheduler *sched;
	struct vtpu_queue *queue;
	int ret, id;

	ret = vtpu_charge(vfile, VTPU_QUOTA_QUEUES, 1);
	if (ret)
		return ret;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue) {
		ret = -ENOMEM;
		goto err_quota;
	}
	queue_init(queue, vfile, args);
	queue->vm = vtpu_file_vm(vfile);
	if (IS_ERR(queue->vm)) {
		ret = PTR_ERR(queue->vm);
		goto err_free;
	}
	id = alloc_slot(vdev);
	if (id < 0) {
		ret = id == -ENOSPC ? -EBUSY : id;
		goto err_vm;
	}
	queue->slot = &vdev->slots[id];
	ret = vtpu_ring_alloc(&queue->ring, vdev, id, ilog2(args->depth));
	if (ret)
		goto err_id;
	ret = vtpu_charge(vfile, VTPU_QUOTA_HOST_BYTES, queue->ring.bytes + queue->ring.args_bytes);
	if (ret)
		goto err_ring;
	sched = &queue->slot->sched;
	ret = drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_KERNEL, &sched, 1, NULL);
	if (ret)
		goto err_host_quota;
	ret = queue_start(queue);
	if (ret) {
		drm_sched_entity_fini(&queue->entity);
		goto err_host_quota;
	}
	spin_lock_irq(&vfile->stats_lock);
	list_add(&queue->node, &vfile->live);
	spin_unlock_irq(&vfile->stats_lock);
	/* Last: another thread may destroy it at once. */
	ret = xa_alloc(&vfile->queues, &args->queue, queue, XA_LIMIT(1, S32_MAX), GFP_KERNEL);
	if (ret)
		vtpu_queue_put(queue);
	return ret;

err_host_quota:
	vtpu_uncharge(vfile, VTPU_QUOTA_HOST_BYTES, queue->ring.bytes + queue->ring.args_bytes);
err_ring:
	vtpu_ring_free(&queue->ring);
err_id:
	ida_free(&vdev->slot_ids, id);
err_vm:
	vtpu_vm_put(queue->vm);
err_free:
	mutex_destroy(&queue->submit_lock);
	vtpu_file_put(queue->file);
	kfree(queue);
err_quota:
	vtpu_uncharge(vfile, VTPU_QUOTA_QUEUES, 1);
	return ret;
}

/* ---- ioctls ---- */

int vtpu_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);
	struct vtpu_queue_create *args = data;
	int ret, idx;

	ret = vtpu_check_queue(args, vdev->geometry.cores);
	if (ret) {
		drm_dbg(drm, "bad queue: kind %u, priority %u, depth %u, cores 0x%llx\n",
			args->kind, args->priority, args->depth, args->core_mask);
		return ret;
	}
	if (args->priority > VTPU_PRIO_NORMAL && !capable(CAP_SYS_NICE))
		return -EPERM;
	ret = vtpu_begin(vdev, &idx);
	if (ret)
		return ret;
	ret = queue_create(file->driver_priv, args);
	vtpu_end(vdev, idx);
	return ret;
}

int vtpu_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_queue_destroy *args = data;
	struct vtpu_file *vfile = file->driver_priv;
	struct vtpu_queue *queue;

	if (args->pad)
		return -EINVAL;
	queue = xa_erase(&vfile->queues, args->queue);
	if (!queue)
		return -ENOENT;
	vtpu_queue_kill(queue);
	vtpu_queue_put(queue);
	return 0;
}

int vtpu_ioctl_queue_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_queue_state *args = data;
	struct vtpu_queue *queue = vtpu_queue_find(file->driver_priv, args->queue);
	u32 id = args->queue;

	if (!queue)
		return -ENOENT;
	spin_lock_irq(&queue->slot->lock);
	*args = queue->state;
	spin_unlock_irq(&queue->slot->lock);
	args->queue = id;
	vtpu_queue_put(queue);
	return 0;
}
