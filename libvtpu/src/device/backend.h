/* SPDX-License-Identifier: MIT */
/*
 * backend.h - what is below the library: the ioctls of /dev/accel/accelN.
 *
 * A backend answers the ioctls of vtpu_accel.h and the sync-object ioctls of
 * drm.h, with their structs and their error codes. One is the kernel driver
 * (kernel.c), the other a driver inside this process (inproc/). Nothing above
 * this line can tell them apart but by asking.
 */
#ifndef VTPU_SRC_DEVICE_BACKEND_H
#define VTPU_SRC_DEVICE_BACKEND_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm.h>

#include <vtpu/core.h>

#include "vtpu_accel.h"

struct vtpu_backend;

struct vtpu_backend_ops {
	/** @ioctl: 0 or a negative errno; @arg is the struct of @request */
	int (*ioctl)(struct vtpu_backend *backend, unsigned long request, void *arg);
	/** @map: the first @bytes of a buffer, for the CPU; 0 or a negative errno */
	int (*map)(struct vtpu_backend *backend, uint32_t handle, uint64_t bytes, void **pointer);
	void (*unmap)(struct vtpu_backend *backend, void *pointer, uint64_t bytes);
	void (*close)(struct vtpu_backend *backend);
};

/** struct vtpu_backend - one open file, or what stands for it */
struct vtpu_backend {
	const struct vtpu_backend_ops *ops;
	bool in_process;
	int numa_node;	 /* where the device is; -1: unknown */
	char driver[64]; /* name and version, for people */
};

/**
 * vtpu_kernel_open() - open a device node
 * @name: "accel0" or a path
 *
 * On failure the thread's error sentence says what to do.
 */
enum vtpu_status vtpu_kernel_open(const char *name, struct vtpu_backend **backend);

/** vtpu_inproc_open() - power on a model, or join one; @options: what follows "model:" */
enum vtpu_status vtpu_inproc_open(const char *options, struct vtpu_backend **backend);

static inline int vtpu_ioctl(struct vtpu_backend *backend, unsigned long request, void *arg)
{
	return backend->ops->ioctl(backend, request, arg);
}

#endif /* VTPU_SRC_DEVICE_BACKEND_H */
