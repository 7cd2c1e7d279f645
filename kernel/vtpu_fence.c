// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_fence.c - the fences that the hardware signals.
 *
 * Nobody outside sees one, but each is kept by the scheduler's fence of its
 * job, which may be in a sync file of a process that has long closed our node.
 * Up to 6.12 (and later for unsignalled ones) such a file still calls our code
 * and reads the scheduler's name in our device. So fences keep the module
 * loaded, and all of them together keep one reference of the device.
 */
#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "vtpu_device.h"

static const char *fence_driver_name(struct dma_fence *fence)
{
	return "vtpu";
}

static const char *fence_timeline_name(struct dma_fence *fence)
{
	return "hardware";
}

/* The last one is gone; we may be in a hard interrupt, and freeing the device sleeps. */
static void fences_work(struct work_struct *work)
{
	struct vtpu_device *vdev = container_of(work, struct vtpu_device, fences_work);

	drm_dev_put(&vdev->drm);
	module_put(THIS_MODULE);
}

static void unref(struct vtpu_device *vdev)
{
	if (refcount_dec_and_test(&vdev->fences))
		queue_work(vtpu_wq, &vdev->fences_work);
	else
		module_put(THIS_MODULE);
}

static void fence_release(struct dma_fence *fence)
{
	struct vtpu_device *vdev = container_of(fence, struct vtpu_fence, base)->vdev;

	/* Frees struct vtpu_fence, whose first member it is, after a grace period. */
	BUILD_BUG_ON(offsetof(struct vtpu_fence, base));
	dma_fence_free(fence);
	unref(vdev);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_driver_name,
	.get_timeline_name = fence_timeline_name,
	.release = fence_release,
};

struct vtpu_fence *vtpu_fence_alloc(struct vtpu_device *vdev)
{
	struct vtpu_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	fence->vdev = vdev;
	if (!refcount_inc_not_zero(&vdev->fences)) {
		/* Unbound meanwhile. */
		kfree(fence);
		return NULL;
	}
	/* Our caller runs in this module, by an open file of the device. */
	__module_get(THIS_MODULE);
	return fence;
}

void vtpu_fence_init(struct vtpu_fence *fence, u64 context, u64 seqno)
{
	dma_fence_init(&fence->base, &fence_ops, &fence->lock, context, seqno);
}

/* vtpu_fence_free() - of one that was never initialised */
void vtpu_fence_free(struct vtpu_fence *fence)
{
	struct vtpu_device *vdev = fence->vdev;

	kfree(fence);
	unref(vdev);
}

void vtpu_fences_init(struct vtpu_device *vdev)
{
	INIT_WORK(&vdev->fences_work, fences_work);
	refcount_set(&vdev->fences, 1);
	drm_dev_get(&vdev->drm);
}

/* Unbound: from now on the device stays only for fences that are still about. */
void vtpu_fences_put(struct vtpu_device *vdev)
{
	__module_get(THIS_MODULE);
	unref(vdev);
}
