// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_sched.c - the DRM scheduler's callbacks: run a job, free it, look after one that takes long.
 *
 * Each hardware queue id has a scheduler with one entity, made at probe and
 * freed with the device: jobs of a queue stay in order, and fences that name
 * their scheduler may live longer than the queue.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include <drm/drm_managed.h>

#include "vtpu_compat.h"
#include "vtpu_device.h"

/* Steps of recovery: how long each may take to help, and how often we look. */
#define STEP_MS 1000
#define LOOK_MS 5

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct vtpu_task *task = to_vtpu_task(base);
	struct vtpu_slot *slot = task->queue->slot;
	unsigned long flags;

	spin_lock_irqsave(&slot->lock, flags);
	vtpu_queue_run(task->queue, task);
	spin_unlock_irqrestore(&slot->lock, flags);
	return dma_fence_get(&task->fence->base);
}

static void free_job(struct drm_sched_job *base)
{
	struct vtpu_task *task = to_vtpu_task(base);
	struct vtpu_queue *queue = task->queue;

	drm_sched_job_cleanup(base);
	atomic_dec(&queue->inflight);
	wake_up_all(&queue->room);
	vtpu_task_free(task);
}

static bool ended(struct vtpu_slot *slot, struct vtpu_task *task)
{
	vtpu_slot_poll(slot);
	return dma_fence_is_signaled(&task->fence->base);
}

static bool ends_soon(struct vtpu_slot *slot, struct vtpu_task *task)
{
	/* By the clock: what is asked to sleep for 5 ms may sleep much longer. */
	unsigned long end = jiffies + msecs_to_jiffies(STEP_MS);

	while (time_before(jiffies, end)) {
		if (ended(slot, task))
			return true;
		msleep(LOOK_MS);
	}
	return ended(slot, task);
}

static bool is_posted(struct vtpu_slot *slot, struct vtpu_task *task)
{
	bool posted;

	spin_lock_irq(&slot->lock);
	posted = task->posted;
	spin_unlock_irq(&slot->lock);
	return posted;
}

/*
 * A job that waits for cores, or that got further since we last looked, is
 * slow and not hung. The device's own watchdog decides about those that do not;
 * this is for the case that it, or an interrupt, is lost.
 */
static bool gets_on(struct vtpu_slot *slot)
{
	struct vtpu_device *vdev = slot->vdev;
	u32 state = vtpu_read(vdev, vtpu_doorbell(slot->id, VTPU_DB_STATE));
	u64 progress = vtpu_read64(vdev, vtpu_doorbell(slot->id, VTPU_DB_PROGRESS));
	u64 before = slot->progress;

	slot->progress = progress;
	return state == VTPU_HWQ_WAITING || (state == VTPU_HWQ_RUNNING && progress != before);
}

static void recover(struct vtpu_slot *slot, struct vtpu_task *task)
{
	struct vtpu_device *vdev = slot->vdev;

	if (vtpu_hw_gone(vdev)) {
		/* No rung helps, and no job is to blame. */
		vtpu_reset_begin(vdev, NULL);
		return;
	}
	drm_warn(&vdev->drm, "queue %u: job %u makes no progress, aborting it\n", slot->id,
		 task->seq);
	vtpu_write64(vdev, VTPU_REG_ABORT_JOB, (u64)slot->id << 32 | task->seq);
	if (ends_soon(slot, task))
		return;
	drm_warn(&vdev->drm, "queue %u: abort has no effect, resetting the queue\n", slot->id);
	vtpu_write(vdev, VTPU_REG_RESET_QUEUE, slot->id);
	if (ends_soon(slot, task))
		return;
	drm_err(&vdev->drm, "queue %u: queue reset has no effect, resetting the device\n",
		slot->id);
	vtpu_reset_begin(vdev, slot);
	vtpu_reset_request(vdev);
}

/* When this returns, the job either gets on or has ended: "not hung" is always right. */
static enum drm_gpu_sched_stat timedout_job(struct drm_sched_job *base)
{
	struct vtpu_task *task = to_vtpu_task(base);
	struct vtpu_slot *slot = task->queue->slot;
	int idx;

	if (is_posted(slot, task) && !ended(slot, task) && drm_dev_enter(&slot->vdev->drm, &idx)) {
		if (!gets_on(slot))
			recover(slot, task);
		drm_dev_exit(idx);
	}
	return vtpu_compat_no_hang(base);
}

static const struct drm_sched_backend_ops sched_ops = {
	.run_job = run_job,
	.timedout_job = timedout_job,
	.free_job = free_job,
};

static void sched_fini(struct drm_device *drm, void *arg)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);
	unsigned int i;

	for (i = 1; i < VTPU_SLOTS; i++)
		if (vdev->slots[i].sched.ops)
			drm_sched_fini(&vdev->slots[i].sched);
	if (vdev->timeout_wq)
		destroy_workqueue(vdev->timeout_wq);
	if (vdev->submit_wq)
		destroy_workqueue(vdev->submit_wq);
}

static int slot_init(struct vtpu_device *vdev, struct vtpu_slot *slot, u32 id)
{
	int ret;

	slot->vdev = vdev;
	slot->id = id;
	snprintf(slot->name, sizeof(slot->name), "vtpu-q%u", id);
	spin_lock_init(&slot->lock);
	/* No queue is deeper than this; vtpu_queue.inflight keeps to the queue's own depth. */
	ret = vtpu_compat_sched_init(&slot->sched, &sched_ops, vdev->submit_wq, vdev->timeout_wq,
				     1u << VTPU_MAX_DEPTH_LOG2, msecs_to_jiffies(vtpu_timeout_ms),
				     slot->name, vdev->drm.dev);
	if (ret)
		slot->sched.ops = NULL;
	return ret;
}

int vtpu_sched_init(struct vtpu_device *vdev)
{
	unsigned int i;
	int ret;

	vdev->slots = drmm_kcalloc(&vdev->drm, VTPU_SLOTS, sizeof(*vdev->slots), GFP_KERNEL);
	if (!vdev->slots)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&vdev->drm, sched_fini, NULL);
	if (ret)
		return ret;
	/* On the submitter's CPU and at once: a wake-up elsewhere costs more than the work. */
	vdev->submit_wq = alloc_workqueue("vtpu-submit", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	vdev->timeout_wq = alloc_ordered_workqueue("vtpu-timeout", WQ_MEM_RECLAIM);
	if (!vdev->submit_wq || !vdev->timeout_wq)
		return -ENOMEM;
	for (i = 1; i < VTPU_SLOTS; i++) {
		ret = slot_init(vdev, &vdev->slots[i], i);
		if (ret)
			return ret;
	}
	return 0;
}
