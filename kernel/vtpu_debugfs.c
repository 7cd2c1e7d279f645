// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_debugfs.c - /sys/kernel/debug/accel/<device>/buffers: every buffer of every client, with
 * its label.
 */
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>

#include "vtpu_device.h"

static void show_file(struct seq_file *m, struct drm_file *file)
{
	struct drm_gem_object *gem;
	int handle;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, gem, handle) {
		struct vtpu_bo *bo = to_vtpu_bo(gem);

		/* The last byte of a label is always zero, also while it changes. */
		seq_printf(m, "%8llu %8d %-6s %14zu %s\n", file->client_id, handle,
			   bo->region == VTPU_REGION_HBM ? "hbm" : "host", gem->size, bo->label);
	}
	spin_unlock(&file->table_lock);
}

static int show_buffers(struct seq_file *m, void *arg)
{
	struct drm_debugfs_entry *entry = m->private;
	struct drm_device *drm = entry->dev;
	struct drm_file *file;
	int ret;

	ret = mutex_lock_interruptible(&drm->filelist_mutex);
	if (ret)
		return ret;
	seq_printf(m, "%8s %8s %-6s %14s %s\n", "client", "handle", "region", "bytes", "label");
	list_for_each_entry(file, &drm->filelist, lhead)
		show_file(m, file);
	mutex_unlock(&drm->filelist_mutex);
	return 0;
}

/* Before drm_dev_register(); the DRM core removes it. */
void vtpu_debugfs_init(struct vtpu_device *vdev)
{
	drm_debugfs_add_file(&vdev->drm, "buffers", show_buffers, NULL);
}
