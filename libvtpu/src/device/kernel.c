// SPDX-License-Identifier: MIT
/*
 * kernel.c - the backend that is the kernel driver: libdrm's ioctl, and mmap.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xf86drm.h>

#include "device/device.h"

struct kernel {
	struct vtpu_backend backend;
	int fd;
};

static int kernel_ioctl(struct vtpu_backend *backend, unsigned long request, void *arg)
{
	struct kernel *kernel = (struct kernel *)backend;

	return drmIoctl(kernel->fd, request, arg) ? -errno : 0;
}

static int kernel_map(struct vtpu_backend *backend, uint32_t handle, uint64_t bytes, void **pointer)
{
	struct kernel *kernel = (struct kernel *)backend;
	struct vtpu_bo_info info = { .handle = handle };
	void *memory;
	int err;

	err = kernel_ioctl(backend, DRM_IOCTL_VTPU_BO_INFO, &info);
	if (err)
		return err;
	if (!info.mmap_offset || bytes > info.size)
		return -EINVAL;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kernel->fd,
		      (off_t)info.mmap_offset);
	if (memory == MAP_FAILED)
		return -errno;
	*pointer = memory;
	return 0;
}

static void kernel_unmap(struct vtpu_backend *backend, void *pointer, uint64_t bytes)
{
	(void)backend;
	munmap(pointer, bytes);
}

static void kernel_close(struct vtpu_backend *backend)
{
	struct kernel *kernel = (struct kernel *)backend;

	close(kernel->fd);
	free(kernel);
}

static const struct vtpu_backend_ops kernel_ops = {
	.ioctl = kernel_ioctl,
	.map = kernel_map,
	.unmap = kernel_unmap,
	.close = kernel_close,
};

/* Is it our driver? Fills in its name and version. */
static enum vtpu_status check_driver(int fd, const char *path, char *text, size_t bytes)
{
	drmVersion *version = drmGetVersion(fd);
	bool ours;

	if (!version)
		return vtpu_fail(VTPU_ERROR_NO_DEVICE, "%s is not a DRM device, so no vTPU either",
				 path);
	ours = !strcmp(version->name, "vtpu");
	if (ours)
		snprintf(text, bytes, "%s %d.%d.%d", version->name, version->version_major,
			 version->version_minor, version->version_patchlevel);
	else
		vtpu_fail(VTPU_ERROR_NO_DEVICE,
			  "%s belongs to driver '%s', not vtpu; vtpu-smi -L lists the vTPU devices",
			  path, version->name);
	drmFreeVersion(version);
	return ours ? VTPU_OK : VTPU_ERROR_NO_DEVICE;
}

enum vtpu_status vtpu_kernel_open(const char *name, struct vtpu_backend **backend)
{
	const char *last = strrchr(name, '/');
	struct kernel *kernel;
	enum vtpu_status status;
	char path[256];

	if (snprintf(path, sizeof(path), "%s%s", last ? "" : "/dev/accel/", name) >=
	    (int)sizeof(path))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "device path of more than %zu characters", sizeof(path) - 1);
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel)
		return vtpu_fail_nomem("a device");
	kernel->fd = open(path, O_RDWR | O_CLOEXEC);
	if (kernel->fd < 0) {
		status = vtpu_fail_open(path, errno);
		free(kernel);
		return status;
	}
	status = check_driver(kernel->fd, path, kernel->backend.driver,
			      sizeof(kernel->backend.driver));
	if (status) {
		kernel_close(&kernel->backend);
		return status;
	}
	kernel->backend.ops = &kernel_ops;
	kernel->backend.numa_node = vtpu_node_numa(last ? last + 1 : name);
	*backend = &kernel->backend;
	return VTPU_OK;
}
