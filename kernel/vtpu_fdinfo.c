// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_fdinfo.c - what a client uses, in the words of the kernel's
 * Documentation/gpu/drm-usage-stats.rst, so that common monitors understand it.
 */
#include <linux/dma-resv.h>
#include <linux/seq_file.h>

#include "vtpu_device.h"

static const char *const engine_name[] = {
	[VTPU_QUEUE_COMPUTE] = "compute",
	[VTPU_QUEUE_COPY] = "copy",
};

static const char *const region_name[] = {
	[VTPU_REGION_HBM] = "hbm",
	[VTPU_REGION_HOST] = "memory",
};

/* Time on cores, the running job included. */
static void sum_engines(struct vtpu_file *vfile, u64 ns[2], u64 cycles[2])
{
	struct vtpu_queue *queue;
	unsigned int i;

	spin_lock_irq(&vfile->stats_lock);
	for (i = 0; i < ARRAY_SIZE(engine_name); i++) {
		ns[i] = vfile->engine_ns[i];
		cycles[i] = vfile->cycles[i];
	}
	list_for_each_entry(queue, &vfile->live, node) {
		spin_lock(&queue->slot->lock);
		vtpu_queue_account(queue);
		ns[queue->kind] += queue->busy_ns;
		cycles[queue->kind] += queue->state.total_cycles;
		spin_unlock(&queue->slot->lock);
	}
	spin_unlock_irq(&vfile->stats_lock);
}

/* @pieces: physically contiguous pieces that all host buffers together consist of */
static void sum_memory(struct drm_file *file, struct drm_memory_stats stats[2], u64 *pieces)
{
	struct drm_gem_object *gem;
	int id;

	*pieces = 0;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, gem, id) {
		struct drm_memory_stats *s = &stats[to_vtpu_bo(gem)->region];

		if (gem->handle_count > 1)
			s->shared += gem->size;
		else
			s->private += gem->size;
		s->resident += gem->size;
		if (!dma_resv_test_signaled(gem->resv, dma_resv_usage_rw(true)))
			s->active += gem->size;
		*pieces += to_vtpu_bo(gem)->host.nchunks;
	}
	spin_unlock(&file->table_lock);
}

void vtpu_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct vtpu_file *vfile = file->driver_priv;
	struct vtpu_device *vdev = vfile->vdev;
	struct drm_memory_stats stats[ARRAY_SIZE(region_name)] = {};
	u64 ns[ARRAY_SIZE(engine_name)], cycles[ARRAY_SIZE(engine_name)], pieces;
	unsigned int i;
	int idx;

	/* Without the device, what was known last: queue rings are dead then. */
	if (drm_dev_enter(&vdev->drm, &idx)) {
		sum_engines(vfile, ns, cycles);
		drm_dev_exit(idx);
	} else {
		sum_engines(vfile, ns, cycles);
	}
	for (i = 0; i < ARRAY_SIZE(engine_name); i++) {
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", engine_name[i], ns[i]);
		drm_printf(p, "drm-cycles-%s:\t%llu\n", engine_name[i], cycles[i]);
	}
	drm_printf(p, "drm-engine-capacity-compute:\t%u\n", vdev->geometry.cores);
	drm_printf(p, "drm-maxfreq-compute:\t%llu Hz\n", vdev->geometry.clock_khz * 1000ULL);
	sum_memory(file, stats, &pieces);
	for (i = 0; i < ARRAY_SIZE(region_name); i++)
		drm_print_memory_stats(p, &stats[i], DRM_GEM_OBJECT_RESIDENT, region_name[i]);
	drm_printf(p, "vtpu-host-pieces:\t%llu\n", pieces);
}
