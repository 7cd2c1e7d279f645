// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_hbm.c - who has which HBM: extents for clients, pages for the driver.
 *
 * What is free for clients reads as zero: an extent that is given back goes
 * through vtpu_clear.c before it returns to the allocator. Page tables and
 * program images are in the reserved first part, written through the BAR.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "vtpu_device.h"

static void hbm_fini(struct drm_device *drm, void *arg)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);
	struct vtpu_extent *extent, *next;

	/* The worker holds no reference of the device. */
	cancel_work_sync(&vdev->clear.work);
	/* Clients are gone; what waited for a clearing that never came is forgotten. */
	list_for_each_entry_safe(extent, next, &vdev->hbm.dirty, link) {
		drm_mm_remove_node(&extent->node);
		kfree(extent);
	}
	drm_mm_takedown(&vdev->hbm.mm);
	bitmap_free(vdev->reserved.map);
}

int vtpu_hbm_init(struct vtpu_device *vdev)
{
	struct vtpu_reserved *reserved = &vdev->reserved;
	struct vtpu_hbm *hbm = &vdev->hbm;
	int ret;

	ret = drmm_mutex_init(&vdev->drm, &hbm->lock);
	if (ret)
		return ret;
	spin_lock_init(&reserved->lock);
	reserved->map = bitmap_zalloc(reserved->bytes / VTPU_PAGE_BYTES, GFP_KERNEL);
	if (!reserved->map)
		return -ENOMEM;
	/* Address 0 means "none" to the page-table writer. */
	__set_bit(0, reserved->map);
	INIT_LIST_HEAD(&hbm->dirty);
	init_waitqueue_head(&hbm->clean);
	drm_mm_init(&hbm->mm, reserved->bytes, vdev->hbm_bytes - reserved->bytes);
	ret = drmm_add_action_or_reset(&vdev->drm, hbm_fini, NULL);
	if (ret)
		return ret;

	/* Clients' mappings of the BAR are write-combining too. */
	ret = devm_arch_io_reserve_memtype_wc(vdev->drm.dev, vdev->hbm_start, vdev->hbm_bytes);
	if (ret)
		return ret;
	reserved->mem = devm_ioremap_wc(vdev->drm.dev, vdev->hbm_start, reserved->bytes);
	return reserved->mem ? 0 : -ENOMEM;
}

/* ---- Clients' extents ---- */

static int insert(struct vtpu_hbm *hbm, struct vtpu_extent *extent, u64 bytes)
{
	/* Large buffers from below, aligned for large pages; small ones from above. */
	bool large = bytes >= VTPU_LARGE_BYTES;
	int ret;

	mutex_lock(&hbm->lock);
	ret = drm_mm_insert_node_generic(&hbm->mm, &extent->node, bytes,
					 large ? VTPU_LARGE_BYTES : VTPU_PAGE_BYTES, 0,
					 large ? DRM_MM_INSERT_LOW : DRM_MM_INSERT_HIGH);
	if (!ret)
		hbm->used += bytes;
	mutex_unlock(&hbm->lock);
	return ret;
}

/* Without the lock: also a condition to sleep on. */
static bool is_clean(struct vtpu_hbm *hbm)
{
	return !READ_ONCE(hbm->uncleared);
}

/* Nothing will be cleared any more. */
static bool is_lost(struct vtpu_device *vdev)
{
	return READ_ONCE(vdev->state) == VTPU_DEVICE_WEDGED || drm_dev_is_unplugged(&vdev->drm);
}

/*
 * vtpu_hbm_alloc() - zeroed HBM
 * @bytes: page aligned, not 0
 *
 * Waits for memory that is being cleared when there is not enough without.
 * Return: extent, or -ENOSPC, -ENOMEM, -ERESTARTSYS.
 */
struct vtpu_extent *vtpu_hbm_alloc(struct vtpu_device *vdev, u64 bytes)
{
	struct vtpu_hbm *hbm = &vdev->hbm;
	struct vtpu_extent *extent;
	int ret;

	if (bytes > vdev->hbm_bytes - vdev->reserved.bytes)
		return ERR_PTR(-ENOSPC);
	extent = kzalloc(sizeof(*extent), GFP_KERNEL);
	if (!extent)
		return ERR_PTR(-ENOMEM);
	ret = insert(hbm, extent, bytes);
	if (ret == -ENOSPC && !is_clean(hbm)) {
		ret = wait_event_interruptible(hbm->clean, is_clean(hbm) || is_lost(vdev));
		if (!ret)
			ret = insert(hbm, extent, bytes);
	}
	if (ret) {
		kfree(extent);
		return ERR_PTR(ret);
	}
	return extent;
}

/* vtpu_hbm_free() - give an extent back; it is cleared first, without the caller */
void vtpu_hbm_free(struct vtpu_device *vdev, struct vtpu_extent *extent)
{
	struct vtpu_hbm *hbm = &vdev->hbm;

	mutex_lock(&hbm->lock);
	hbm->used -= extent->node.size;
	hbm->uncleared++;
	list_add_tail(&extent->link, &hbm->dirty);
	mutex_unlock(&hbm->lock);
	vtpu_clear_kick(vdev);
}

/* These extents are zero, or never to be given out again because the device has gone. */
void vtpu_hbm_cleared(struct vtpu_device *vdev, struct list_head *extents)
{
	struct vtpu_hbm *hbm = &vdev->hbm;
	struct vtpu_extent *extent, *next;

	mutex_lock(&hbm->lock);
	list_for_each_entry_safe(extent, next, extents, link) {
		list_del(&extent->link);
		drm_mm_remove_node(&extent->node);
		kfree(extent);
		hbm->uncleared--;
	}
	mutex_unlock(&hbm->lock);
	wake_up_all(&hbm->clean);
}

/* vtpu_hbm_largest() - size of the largest buffer that fits now */
u64 vtpu_hbm_largest(struct vtpu_device *vdev)
{
	struct drm_mm_node *node;
	u64 start, end, largest = 0;

	mutex_lock(&vdev->hbm.lock);
	drm_mm_for_each_hole(node, &vdev->hbm.mm, start, end) {
		u64 aligned = ALIGN(start, VTPU_LARGE_BYTES);
		u64 bytes = end - start;

		if (bytes >= VTPU_LARGE_BYTES)
			bytes = end > aligned ? end - aligned : 0;
		/* What is too crooked for a large buffer still takes a small one. */
		if (bytes < VTPU_LARGE_BYTES)
			bytes = min_t(u64, end - start, VTPU_LARGE_BYTES - VTPU_PAGE_BYTES);
		largest = max(largest, bytes);
	}
	mutex_unlock(&vdev->hbm.lock);
	return largest;
}

/* ---- The driver's pages ---- */

/* vtpu_reserved_alloc() - contiguous reserved HBM, not cleared. Return: address or 0 */
u64 vtpu_reserved_alloc(struct vtpu_device *vdev, u64 bytes)
{
	struct vtpu_reserved *reserved = &vdev->reserved;
	unsigned long all = reserved->bytes / VTPU_PAGE_BYTES, first;
	unsigned int pages = DIV_ROUND_UP_ULL(bytes, VTPU_PAGE_BYTES);

	spin_lock(&reserved->lock);
	first = bitmap_find_next_zero_area(reserved->map, all, 0, pages, 0);
	if (first < all)
		bitmap_set(reserved->map, first, pages);
	spin_unlock(&reserved->lock);
	return first < all ? (u64)first * VTPU_PAGE_BYTES : 0;
}

void vtpu_reserved_free(struct vtpu_device *vdev, u64 addr, u64 bytes)
{
	struct vtpu_reserved *reserved = &vdev->reserved;

	spin_lock(&reserved->lock);
	bitmap_clear(reserved->map, addr / VTPU_PAGE_BYTES,
		     DIV_ROUND_UP_ULL(bytes, VTPU_PAGE_BYTES));
	spin_unlock(&reserved->lock);
}

/* ---- Page tables: how vtpu_hwlib.h's writer gets at them ---- */

static void __iomem *pt_entry(struct vtpu_device *vdev, u64 table, u32 index)
{
	return vdev->reserved.mem + table + index * sizeof(u64);
}

/* The tables are ours alone, but they live in the device: what comes back is checked. */
static bool pt_valid(struct vtpu_device *vdev, u64 table)
{
	return table && table <= vdev->reserved.bytes - VTPU_PAGE_BYTES;
}

static u64 pt_read(void *arg, u64 table, u32 index)
{
	struct vtpu_device *vdev = arg;

	return pt_valid(vdev, table) ? readq(pt_entry(vdev, table, index)) : 0;
}

static void pt_write(void *arg, u64 table, u32 index, u64 pte)
{
	struct vtpu_device *vdev = arg;

	if (pt_valid(vdev, table))
		writeq(pte, pt_entry(vdev, table, index));
}

static u64 pt_alloc(void *arg)
{
	return vtpu_pt_new(arg);
}

static void pt_free(void *arg, u64 table)
{
	struct vtpu_device *vdev = arg;

	if (pt_valid(vdev, table))
		vtpu_reserved_free(vdev, table, VTPU_PAGE_BYTES);
}

const struct vtpu_pt_ops vtpu_pt_ops = {
	.read = pt_read,
	.write = pt_write,
	.alloc = pt_alloc,
	.free = pt_free,
};

/* vtpu_pt_new() - an empty table. Return: address, 0 when the reserved HBM is full */
u64 vtpu_pt_new(struct vtpu_device *vdev)
{
	u64 table = vtpu_reserved_alloc(vdev, VTPU_PAGE_BYTES);

	if (table) {
		memset_io(vdev->reserved.mem + table, 0, VTPU_PAGE_BYTES);
		/* Empty before an entry points to it. */
		wmb();
	}
	return table;
}
