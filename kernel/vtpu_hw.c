// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_hw.c - the device as registers: who it is, switching on, reset, counters.
 *
 * No policy: who resets and when is in vtpu_reset.c.
 */
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/moduleparam.h>

#include "vtpu_device.h"

#define POLL_US	  200
#define ENABLE_US (1 * USEC_PER_SEC)

static unsigned int reset_ms = 10000;
module_param(reset_ms, uint, 0444);
MODULE_PARM_DESC(reset_ms, "milliseconds that a device reset may take");

/* Has the device left the bus? Reads answer with all ones then. */
bool vtpu_hw_gone(struct vtpu_device *vdev)
{
	return vtpu_read(vdev, VTPU_REG_MAGIC) != VTPU_MAGIC;
}

static void read_words(struct vtpu_device *vdev, u32 reg, void *to, size_t bytes)
{
	u32 *word = to;
	size_t i;

	for (i = 0; i < bytes / sizeof(u32); i++)
		word[i] = vtpu_read(vdev, reg + i * sizeof(u32));
}

/* Counters move while they are read: 64 bits go in one access. */
void vtpu_hw_core_stats(struct vtpu_device *vdev, u32 core, struct vtpu_hw_core_stats *stats)
{
	u64 *word = (u64 *)stats;
	size_t i;

	for (i = 0; i < sizeof(*stats) / sizeof(u64); i++)
		word[i] = vtpu_read64(vdev, VTPU_REG_CORE_STATS + core * sizeof(*stats) +
						    i * sizeof(u64));
}

static int check_geometry(struct vtpu_device *vdev)
{
	const struct vtpu_hw_geometry *g = &vdev->geometry;

	if (g->cores && g->cores <= VTPU_MAX_CORES && g->clock_khz)
		return 0;
	drm_err(&vdev->drm, "device says %u cores at %u kHz: not a vTPU that this driver knows\n",
		g->cores, g->clock_khz);
	return -ENODEV;
}

/*
 * vtpu_hw_identify() - read what never changes
 *
 * Return: 0; -ENODEV, with a message, if this is not a device that we can drive.
 */
int vtpu_hw_identify(struct vtpu_device *vdev)
{
	resource_size_t bar = pci_resource_len(to_pci_dev(vdev->drm.dev), VTPU_BAR_HBM);
	struct drm_device *drm = &vdev->drm;
	u32 magic = vtpu_read(vdev, VTPU_REG_MAGIC);

	if (magic != VTPU_MAGIC) {
		drm_err(drm, "register 0 reads 0x%08x, expected 0x%08x: no vTPU\n", magic,
			VTPU_MAGIC);
		return -ENODEV;
	}
	vdev->hw_version = vtpu_read(vdev, VTPU_REG_VERSION);
	if (vdev->hw_version >> 16 != VTPU_HW_VERSION_MAJOR) {
		drm_err(drm, "hardware version %u.%u, this driver is for %u.x\n",
			vdev->hw_version >> 16, vdev->hw_version & 0xffff, VTPU_HW_VERSION_MAJOR);
		return -ENODEV;
	}
	vdev->caps = vtpu_read64(vdev, VTPU_REG_CAPS);
	vdev->serial = vtpu_read64(vdev, VTPU_REG_SERIAL);
	vdev->hbm_bytes = vtpu_read64(vdev, VTPU_REG_HBM_BYTES);
	vdev->reserved.bytes = vtpu_read64(vdev, VTPU_REG_HBM_RESERVED);
	vdev->nvec = vtpu_read(vdev, VTPU_REG_VECTORS);
	if (vdev->hbm_bytes != bar || vdev->hbm_bytes % VTPU_LARGE_BYTES ||
	    vdev->reserved.bytes % VTPU_LARGE_BYTES || !vdev->reserved.bytes ||
	    vdev->reserved.bytes >= vdev->hbm_bytes) {
		drm_err(drm,
			"device says %llu bytes of HBM, %llu of them reserved; BAR%u has %llu\n",
			vdev->hbm_bytes, vdev->reserved.bytes, VTPU_BAR_HBM, (u64)bar);
		return -ENODEV;
	}
	if (vdev->nvec < 2 || vdev->nvec > VTPU_MAX_VECTORS) {
		drm_err(drm, "device says %u interrupt vectors, expected 2..%u\n", vdev->nvec,
			VTPU_MAX_VECTORS);
		return -ENODEV;
	}
	read_words(vdev, VTPU_REG_GEOMETRY, &vdev->geometry, sizeof(vdev->geometry));
	return check_geometry(vdev);
}

static int poll_status(struct vtpu_device *vdev, u32 bit, unsigned long timeout_us)
{
	u32 status;

	return read_poll_timeout(vtpu_read, status, status != ~0u && (status & bit), POLL_US,
				 timeout_us, false, vdev, VTPU_REG_STATUS);
}

/* vtpu_hw_enable() - start the admin queue; the device has just been reset */
int vtpu_hw_enable(struct vtpu_device *vdev)
{
	struct vtpu_admin *admin = &vdev->admin;
	u64 base = admin->dma;

	vtpu_write64(vdev, VTPU_REG_ADMIN_SQ, base);
	vtpu_write64(vdev, VTPU_REG_ADMIN_CQ, base + ((void *)admin->cq - admin->mem));
	vtpu_write64(vdev, VTPU_REG_ADMIN_TAIL, base + ((void *)admin->tail_word - admin->mem));
	vtpu_write(vdev, VTPU_REG_ADMIN_DEPTH, VTPU_ADMIN_DEPTH_LOG2);
	vtpu_write(vdev, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	return poll_status(vdev, VTPU_STATUS_ENABLED, ENABLE_US) ? -EIO : 0;
}

/*
 * vtpu_hw_reset() - stop everything and forget all queues; HBM contents stay
 *
 * When it returns 0, the device touches guest memory no more. Sleeps.
 */
int vtpu_hw_reset(struct vtpu_device *vdev)
{
	/* No time at all would be taken for no limit. */
	unsigned long limit_us = max(reset_ms, 1u) * (unsigned long)USEC_PER_MSEC;

	vtpu_write(vdev, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	return poll_status(vdev, VTPU_STATUS_READY, limit_us) ? -EIO : 0;
}
