// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_sysfs.c - a few numbers for monitors that do not open the device.
 *
 * Files of the PCI device; docs/driver.md describes them, and they are not
 * changed any more. The driver core removes them before the device goes.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "vtpu_device.h"

static struct vtpu_device *dev_to_vtpu(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static const char *const state_name[] = {
	[VTPU_DEVICE_OK] = "ok",
	[VTPU_DEVICE_RESETTING] = "resetting",
	[VTPU_DEVICE_WEDGED] = "wedged",
};

static u64 core_busy_us(struct vtpu_device *vdev, u32 core)
{
	struct vtpu_hw_core_stats stats = {};
	int idx;

	if (drm_dev_enter(&vdev->drm, &idx)) {
		vtpu_hw_core_stats(vdev, core, &stats);
		drm_dev_exit(idx);
	}
	return div_u64(stats.busy_ns, NSEC_PER_USEC);
}

static ssize_t busy_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vtpu_device *vdev = dev_to_vtpu(dev);
	u64 sum = 0;
	u32 i;

	for (i = 0; i < vdev->geometry.cores; i++)
		sum += core_busy_us(vdev, i);
	return sysfs_emit(buf, "%llu\n", sum);
}
static DEVICE_ATTR_RO(busy_us);

static ssize_t core_busy_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vtpu_device *vdev = dev_to_vtpu(dev);
	int at = 0;
	u32 i;

	for (i = 0; i < vdev->geometry.cores; i++)
		at += sysfs_emit_at(buf, at, "%llu%c", core_busy_us(vdev, i),
				    i + 1 == vdev->geometry.cores ? '\n' : ' ');
	return at;
}
static DEVICE_ATTR_RO(core_busy_us);

static ssize_t hbm_total_bytes_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", dev_to_vtpu(dev)->hbm_bytes);
}
static DEVICE_ATTR_RO(hbm_total_bytes);

static ssize_t hbm_used_bytes_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vtpu_device *vdev = dev_to_vtpu(dev);

	return sysfs_emit(buf, "%llu\n",
			  (u64)atomic64_read(&vdev->used.used[VTPU_QUOTA_HBM_BYTES]));
}
static DEVICE_ATTR_RO(hbm_used_bytes);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", state_name[READ_ONCE(dev_to_vtpu(dev)->state)]);
}
static DEVICE_ATTR_RO(state);

static ssize_t reset_count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", dev_to_vtpu(dev)->reset_count);
}
static DEVICE_ATTR_RO(reset_count);

static ssize_t serial_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", dev_to_vtpu(dev)->serial);
}
static DEVICE_ATTR_RO(serial);

static ssize_t cores_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", dev_to_vtpu(dev)->geometry.cores);
}
static DEVICE_ATTR_RO(cores);

static struct attribute *vtpu_attrs[] = {
	&dev_attr_busy_us.attr,		&dev_attr_core_busy_us.attr,   &dev_attr_cores.attr,
	&dev_attr_hbm_total_bytes.attr, &dev_attr_hbm_used_bytes.attr, &dev_attr_reset_count.attr,
	&dev_attr_serial.attr,		&dev_attr_state.attr,	       NULL,
};

static const struct attribute_group vtpu_group = {
	.name = "vtpu",
	.attrs = vtpu_attrs,
};

const struct attribute_group *vtpu_sysfs_groups[] = { &vtpu_group, NULL };
