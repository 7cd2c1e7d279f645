// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_query.c - the query ioctl: what the device is, has and has done.
 */
#include <linux/ktime.h>
#include <linux/nospec.h>

#include "vtpu_device.h"

union answer {
	struct vtpu_query_info info;
	struct vtpu_hw_geometry geometry;
	struct vtpu_query_core core;
	struct vtpu_query_memory memory;
	struct vtpu_query_time time;
	struct vtpu_query_quota quota;
};

static void query_info(struct vtpu_device *vdev, struct vtpu_query_info *info)
{
	struct pci_dev *pdev = to_pci_dev(vdev->drm.dev);

	info->hw_version = vdev->hw_version;
	info->state = READ_ONCE(vdev->state);
	info->caps = vdev->caps;
	info->serial = vdev->serial;
	info->hbm_bytes = vdev->hbm_bytes;
	info->hbm_usable = vdev->hbm_bytes - vdev->reserved.bytes;
	info->cores = vdev->geometry.cores;
	info->max_queues = VTPU_MAX_QUEUES;
	info->max_depth = 1 << VTPU_MAX_DEPTH_LOG2;
	info->reset_count = vdev->reset_count;
	info->pci = pci_domain_nr(pdev->bus) << 16 | pdev->bus->number << 8 | pdev->devfn;
	info->priorities = BIT(VTPU_PRIO_LOW) | BIT(VTPU_PRIO_NORMAL);
	if (capable(CAP_SYS_NICE))
		info->priorities |= BIT(VTPU_PRIO_HIGH);
	info->clients = atomic_read(&vdev->clients);
	info->jobs_submitted = atomic64_read(&vdev->jobs_submitted);
	info->jobs_completed = atomic64_read(&vdev->jobs_completed);
	info->jobs_failed = atomic64_read(&vdev->jobs_failed);
}

static void query_memory(struct vtpu_device *vdev, u32 region, struct vtpu_query_memory *memory)
{
	if (region == VTPU_REGION_HOST) {
		memory->used = atomic64_read(&vdev->used.used[VTPU_QUOTA_HOST_BYTES]);
		return;
	}
	memory->size = vdev->hbm_bytes;
	memory->used = atomic64_read(&vdev->used.used[VTPU_QUOTA_HBM_BYTES]);
	memory->reserved = vdev->reserved.bytes;
	memory->largest_free = vtpu_hbm_largest(vdev);
}

static void query_time(struct vtpu_device *vdev, struct vtpu_query_time *time)
{
	u64 before, after;

	/* Nothing but the read should lie between the two looks at our clock. */
	local_irq_disable();
	before = ktime_get_ns();
	time->device_ns = vtpu_read64(vdev, VTPU_REG_TIME_NS);
	after = ktime_get_ns();
	local_irq_enable();
	time->cpu_ns = before + (after - before) / 2;
	time->uncertainty_ns = (after - before + 1) / 2;
}

/* How many values @index may have, and the size of the answer. Return: 0 or -EINVAL */
static int query_shape(struct vtpu_device *vdev, u32 type, u32 *indices, size_t *bytes)
{
	*indices = 1;
	switch (type) {
	case VTPU_QUERY_INFO:
		*bytes = sizeof(struct vtpu_query_info);
		return 0;
	case VTPU_QUERY_GEOMETRY:
		*bytes = sizeof(struct vtpu_hw_geometry);
		return 0;
	case VTPU_QUERY_CORE:
		*bytes = sizeof(struct vtpu_query_core);
		*indices = vdev->geometry.cores;
		return 0;
	case VTPU_QUERY_MEMORY:
		*bytes = sizeof(struct vtpu_query_memory);
		*indices = VTPU_REGION_HOST + 1;
		return 0;
	case VTPU_QUERY_TIME:
		*bytes = sizeof(struct vtpu_query_time);
		return 0;
	case VTPU_QUERY_QUOTA:
		*bytes = sizeof(struct vtpu_query_quota);
		*indices = VTPU_QUOTAS;
		return 0;
	default:
		return -EINVAL;
	}
}

static void query(struct vtpu_file *vfile, u32 type, u32 index, union answer *answer)
{
	struct vtpu_device *vdev = vfile->vdev;

	switch (type) {
	case VTPU_QUERY_INFO:
		query_info(vdev, &answer->info);
		break;
	case VTPU_QUERY_GEOMETRY:
		answer->geometry = vdev->geometry;
		break;
	case VTPU_QUERY_CORE:
		answer->core.sampled_ns = ktime_get_ns();
		vtpu_hw_core_stats(vdev, index, &answer->core.stats);
		break;
	case VTPU_QUERY_MEMORY:
		query_memory(vdev, index, &answer->memory);
		break;
	case VTPU_QUERY_TIME:
		query_time(vdev, &answer->time);
		break;
	case VTPU_QUERY_QUOTA:
		vtpu_quota_fill(vfile, index, &answer->quota);
		break;
	}
}

/* What fits of the answer; zeros for what the caller knows and we do not. */
static int give_answer(const struct vtpu_dev_query *args, const union answer *answer, size_t bytes)
{
	void __user *to = u64_to_user_ptr(args->ptr);
	size_t part = min_t(size_t, args->size, bytes);

	if (copy_to_user(to, answer, part))
		return -EFAULT;
	if (args->size > part && clear_user(to + part, args->size - part))
		return -EFAULT;
	return 0;
}

int vtpu_ioctl_dev_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);
	struct vtpu_dev_query *args = data;
	union answer answer = {};
	u32 indices;
	size_t bytes;
	int ret, idx;

	ret = query_shape(vdev, args->type, &indices, &bytes);
	if (ret || args->flags || args->index >= indices) {
		drm_dbg(drm, "bad query: type %u, index %u, flags 0x%x\n", args->type, args->index,
			args->flags);
		return -EINVAL;
	}
	if (args->ptr) {
		if (!drm_dev_enter(drm, &idx))
			return -ENODEV;
		query(file->driver_priv, args->type, array_index_nospec(args->index, indices),
		      &answer);
		drm_dev_exit(idx);
		ret = give_answer(args, &answer, bytes);
	}
	args->size = bytes;
	return ret;
}
