// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_clear.c - freed HBM is filled with zeros by the device itself.
 *
 * A kernel-owned copy queue in a context that maps all of HBM at
 * VTPU_VA_KERNEL_START. One worker fills it, one job at a time; nothing else
 * uses it. A fill that fails gets a new queue; memory that cannot be cleared
 * is never given out again.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "vtpu_device.h"

#define DEPTH_LOG2 1
#define FILL_BYTES ((u64)SZ_1G) /* of one descriptor; row_bytes has 32 bits */
#define ATTEMPTS   3
#define MARK	   1ULL /* in the first word of HBM: not all of it may be zero */

static void complete_fill(struct vtpu_ring *ring, const struct vtpu_cqe *cqe)
{
	struct vtpu_clear *clear = container_of(ring, struct vtpu_clear, ring);

	clear->status = cqe->status & VTPU_CQE_STATUS_MASK;
	complete(&clear->done);
}

static void lost_fill(struct vtpu_ring *ring, int error, bool guilty)
{
	struct vtpu_clear *clear = container_of(ring, struct vtpu_clear, ring);

	clear->status = VTPU_ST_RESET;
	complete(&clear->done);
}

static int queue_up(struct vtpu_device *vdev)
{
	struct vtpu_admin_queue params = {
		.context = vdev->clear.context,
		.kind = VTPU_QUEUE_COPY,
		.priority = VTPU_PRIO_NORMAL,
	};
	int ret = vtpu_ring_create(&vdev->clear.ring, &params);

	if (ret)
		return ret;
	vtpu_ring_attach(&vdev->clear.ring);
	vdev->clear.up = true;
	return 0;
}

static int queue_again(struct vtpu_device *vdev)
{
	if (vdev->clear.up) {
		vdev->clear.up = false;
		vtpu_ring_destroy(&vdev->clear.ring);
		vtpu_ring_detach(&vdev->clear.ring);
	}
	return queue_up(vdev);
}

/* One job that fills as much of @extents as fits into it. Return: 0 or negative errno */
static int fill(struct vtpu_device *vdev, struct list_head *extents)
{
	struct vtpu_clear *clear = &vdev->clear;
	struct vtpu_slot *slot = &vdev->slots[clear->ring.id];
	struct vtpu_copy_desc *descs;
	struct vtpu_extent *extent;
	unsigned int n = 0;
	int ret = 0;

	descs = kcalloc(VTPU_MAX_COPY_DESCS, sizeof(*descs), GFP_KERNEL | __GFP_NOFAIL);
	list_for_each_entry(extent, extents, link) {
		u64 done = extent->cleared;

		for (; n < VTPU_MAX_COPY_DESCS && done < extent->node.size; n++) {
			u64 bytes = min(extent->node.size - done, FILL_BYTES);

			descs[n].op = VTPU_COPY_FILL;
			descs[n].dst = VTPU_VA_KERNEL_START + extent->node.start + done;
			descs[n].rows = 1;
			descs[n].row_bytes = bytes;
			descs[n].dst_stride = bytes;
			done += bytes;
		}
	}
	reinit_completion(&clear->done);
	spin_lock_irq(&slot->lock);
	if (clear->ring.dead)
		ret = -EIO;
	else
		vtpu_ring_post(&clear->ring, 0, 0, descs, n * sizeof(*descs));
	spin_unlock_irq(&slot->lock);
	if (!ret && !wait_for_completion_timeout(&clear->done, msecs_to_jiffies(vtpu_timeout_ms))) {
		vtpu_slot_poll(slot);
		if (!completion_done(&clear->done))
			ret = -ETIME;
	}
	if (!ret)
		ret = vtpu_status_errno(clear->status);
	if (!ret) {
		/* The same walk again: what these descriptors have done. */
		list_for_each_entry(extent, extents, link) {
			while (n && extent->cleared < extent->node.size) {
				extent->cleared +=
					min(extent->node.size - extent->cleared, FILL_BYTES);
				n--;
			}
		}
	}
	kfree(descs);
	return ret;
}

static bool all_cleared(struct list_head *extents)
{
	struct vtpu_extent *extent;

	list_for_each_entry(extent, extents, link)
		if (extent->cleared < extent->node.size)
			return false;
	return true;
}

static int clear_extents(struct vtpu_device *vdev, struct list_head *extents)
{
	unsigned int attempt = 0;
	int ret = vdev->clear.up ? 0 : -EIO;

	while (!all_cleared(extents)) {
		if (ret) {
			if (++attempt > ATTEMPTS)
				return ret;
			ret = queue_again(vdev);
			if (ret)
				continue;
		}
		ret = fill(vdev, extents);
	}
	return 0;
}

static void clear_work(struct work_struct *work)
{
	struct vtpu_device *vdev = container_of(work, struct vtpu_device, clear.work);
	struct vtpu_hbm *hbm = &vdev->hbm;
	LIST_HEAD(extents);
	int ret, idx;

	/* A reset builds the queue anew; it does not meet us half way. */
	down_read(&vdev->reset_sem);
	for (;;) {
		mutex_lock(&hbm->lock);
		list_splice_init(&hbm->dirty, &extents);
		mutex_unlock(&hbm->lock);
		if (list_empty(&extents))
			break;
		ret = -ENODEV;
		if (!vdev->clear.stopped && drm_dev_enter(&vdev->drm, &idx)) {
			ret = clear_extents(vdev, &extents);
			drm_dev_exit(idx);
		}
		if (!ret || drm_dev_is_unplugged(&vdev->drm)) {
			if (ret)
				vdev->clear.clean = false;
			vtpu_hbm_cleared(vdev, &extents);
			continue;
		}
		mutex_lock(&hbm->lock);
		list_splice(&extents, &hbm->dirty);
		mutex_unlock(&hbm->lock);
		if (READ_ONCE(vdev->state) == VTPU_DEVICE_OK) {
			drm_err(&vdev->drm, "freed HBM cannot be cleared (%d), resetting\n", ret);
			vtpu_reset_request(vdev);
		}
		break;
	}
	up_read(&vdev->reset_sem);
}

void vtpu_clear_kick(struct vtpu_device *vdev)
{
	queue_work(vtpu_wq, &vdev->clear.work);
}

static int context_up(struct vtpu_device *vdev)
{
	struct vtpu_admin_cmd cmd = {
		.u.context.h.opcode = VTPU_ADMIN_CONTEXT_CREATE,
		.u.context.context = vdev->clear.context,
		.u.context.root = vdev->clear.root,
	};

	return vtpu_admin_exec(vdev, &cmd);
}

void vtpu_clear_init(struct vtpu_device *vdev)
{
	INIT_WORK(&vdev->clear.work, clear_work);
	init_completion(&vdev->clear.done);
	vdev->clear.ring.complete = complete_fill;
	vdev->clear.ring.lost = lost_fill;
}

/* All of HBM becomes dirty memory, and is waited for. */
static int clear_all(struct vtpu_device *vdev)
{
	struct vtpu_extent *extent = vtpu_hbm_alloc(vdev, vdev->hbm_bytes - vdev->reserved.bytes);

	if (IS_ERR(extent))
		return PTR_ERR(extent);
	vtpu_hbm_free(vdev, extent);
	flush_work(&vdev->clear.work);
	return vdev->hbm.uncleared ? -EIO : 0;
}

/*
 * vtpu_clear_start() - map HBM, make the queue, clear everything if need be
 *
 * HBM is zero after power-on. The first word of it is ours, and not zero while
 * a driver has given memory out: so a driver that finds it set, because the one
 * before left without cleaning up, cleans up.
 */
int vtpu_clear_start(struct vtpu_device *vdev)
{
	struct vtpu_clear *clear = &vdev->clear;
	int ret;

	clear->root = vtpu_pt_new(vdev);
	ret = ida_alloc_range(&vdev->context_ids, 1, VTPU_MAX_CONTEXTS, GFP_KERNEL);
	if (ret < 0)
		return ret;
	clear->context = ret;
	if (!clear->root || vtpu_pt_map(&vtpu_pt_ops, vdev, clear->root, VTPU_VA_KERNEL_START, 0,
					vdev->hbm_bytes, VTPU_PTE_WRITE) != vdev->hbm_bytes)
		return -ENOSPC;
	ret = ida_alloc_range(&vdev->slot_ids, 1, VTPU_MAX_QUEUES, GFP_KERNEL);
	if (ret < 0)
		return ret;
	ret = vtpu_ring_alloc(&clear->ring, vdev, ret, DEPTH_LOG2);
	if (ret)
		return ret;
	ret = vtpu_clear_restart(vdev);
	if (!ret && readq(vdev->reserved.mem))
		ret = clear_all(vdev);
	if (ret)
		return ret;
	clear->clean = true;
	writeq(MARK, vdev->reserved.mem);
	return 0;
}

/* vtpu_clear_restart() - after a reset: context and queue again */
int vtpu_clear_restart(struct vtpu_device *vdev)
{
	int ret = context_up(vdev);

	vdev->clear.up = false;
	vtpu_ring_detach(&vdev->clear.ring);
	return ret ?: queue_up(vdev);
}

/* Is all of HBM zero, now that the worker has ended? */
static bool left_clean(struct vtpu_device *vdev)
{
	struct vtpu_hbm *hbm = &vdev->hbm;
	bool clean;

	mutex_lock(&hbm->lock);
	clean = vdev->clear.clean && !hbm->used && !hbm->uncleared;
	mutex_unlock(&hbm->lock);
	return clean;
}

/* The device has stopped. Extents that are still dirty stay so, and the mark. */
void vtpu_clear_stop(struct vtpu_device *vdev)
{
	vdev->clear.stopped = true;
	flush_work(&vdev->clear.work);
	if (left_clean(vdev))
		writeq(0, vdev->reserved.mem);
	if (vdev->clear.ring.vdev) {
		vtpu_ring_detach(&vdev->clear.ring);
		vtpu_ring_free(&vdev->clear.ring);
	}
}
