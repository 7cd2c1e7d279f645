// SPDX-License-Identifier: MIT
/*
 * buffer.c - buffers, and the device addresses that the library gives them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <numa.h>

#include "device/device.h"

/* ---- In words ----------------------------------------------------------------- */

const char *vtpu_buffer_describe(const struct vtpu_buffer *buffer, char *text, size_t bytes)
{
	if (*buffer->label)
		snprintf(text, bytes, "buffer '%s'", buffer->label);
	else
		snprintf(text, bytes, "the buffer at 0x%llx", (unsigned long long)buffer->va);
	return text;
}

const char *vtpu_address_describe(struct vtpu_device *device, uint64_t va, char *text, size_t bytes)
{
	struct vtpu_buffer *buffer;
	char name[96];

	pthread_mutex_lock(&device->lock);
	for (buffer = device->buffers; buffer; buffer = buffer->next) {
		if (va >= buffer->va && va - buffer->va < buffer->room)
			break;
	}
	if (buffer)
		snprintf(text, bytes, "byte %llu of %s (%llu bytes)",
			 (unsigned long long)(va - buffer->va),
			 vtpu_buffer_describe(buffer, name, sizeof(name)),
			 (unsigned long long)buffer->bytes);
	else
		snprintf(text, bytes, "no buffer that exists now");
	pthread_mutex_unlock(&device->lock);
	return text;
}

enum vtpu_status vtpu_buffer_check(const struct vtpu_buffer *buffer, uint64_t offset,
				   uint64_t bytes, const char *what)
{
	char name[96];

	if (offset <= buffer->bytes && bytes <= buffer->bytes - offset)
		return VTPU_OK;
	return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
			 "%s: %llu bytes from offset %llu on, but %s has %llu bytes", what,
			 (unsigned long long)bytes, (unsigned long long)offset,
			 vtpu_buffer_describe(buffer, name, sizeof(name)),
			 (unsigned long long)buffer->bytes);
}

/* ---- Addresses ----------------------------------------------------------------- */

static struct vtpu_range *addresses(struct vtpu_device *device, enum vtpu_memory memory)
{
	return memory == VTPU_MEMORY_HBM ? &device->hbm_addresses : &device->host_addresses;
}

static enum vtpu_status address_take(struct vtpu_buffer *buffer)
{
	uint64_t align = buffer->room >= VTPU_LARGE_BYTES ? VTPU_LARGE_BYTES : VTPU_PAGE_BYTES;
	struct vtpu_device *device = buffer->device;
	enum vtpu_range_result result;

	pthread_mutex_lock(&device->lock);
	result = vtpu_range_alloc(addresses(device, buffer->memory), buffer->room, align,
				  &buffer->va);
	pthread_mutex_unlock(&device->lock);
	switch (result) {
	case VTPU_RANGE_OK:
		return VTPU_OK;
	case VTPU_RANGE_NOMEM:
		return vtpu_fail_nomem("a buffer's address");
	case VTPU_RANGE_FULL:
		break;
	}
	buffer->va = 0;
	return vtpu_fail(VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
			 "no device addresses are left for %llu bytes; free some buffers",
			 (unsigned long long)buffer->room);
}

static int bind_buffer(struct vtpu_buffer *buffer, uint32_t type)
{
	struct vtpu_bind_op op = {
		.op = type,
		.va = buffer->va,
		.size = buffer->room,
	};
	struct vtpu_vm_bind bind = {
		.ops = { .stride = sizeof(op), .count = 1, .array = (uint64_t)(uintptr_t)&op },
	};

	if (type == VTPU_BIND_MAP) {
		op.handle = buffer->handle;
		op.flags = buffer->flags & VTPU_BUFFER_READONLY ? VTPU_BIND_READONLY : 0;
	}
	return vtpu_ioctl(buffer->device->backend, DRM_IOCTL_VTPU_VM_BIND, &bind);
}

/* ---- Life -------------------------------------------------------------------------- */

static enum vtpu_status fail_create(struct vtpu_device *device, uint64_t bytes,
				    enum vtpu_memory memory, int err)
{
	struct vtpu_memory_info info = VTPU_INIT(info);

	if ((err != -ENOSPC && err != -EDQUOT) || vtpu_device_memory(device, memory, &info))
		return vtpu_fail_errno(err, "a buffer of %llu bytes", (unsigned long long)bytes);
	if (err == -EDQUOT)
		return vtpu_fail(
			VTPU_ERROR_QUOTA,
			"a buffer of %llu bytes: this client has %llu bytes already and may have %llu; free some",
			(unsigned long long)bytes, (unsigned long long)info.mine,
			(unsigned long long)info.my_limit);
	return vtpu_fail(VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
			 "a buffer of %llu bytes does not fit HBM: %llu of %llu bytes are in use, the largest free piece has "
			 "%llu",
			 (unsigned long long)bytes, (unsigned long long)info.used,
			 (unsigned long long)(info.size - info.reserved),
			 (unsigned long long)info.largest_free);
}

/* Host memory: put its pages near the device before the first touch decides. */
static void place(struct vtpu_buffer *buffer)
{
	int node = buffer->device->backend->numa_node;
	void *pointer;

	if (node < 0 || numa_available() < 0 || numa_max_node() == 0 ||
	    vtpu_buffer_map(buffer, &pointer))
		return;
	numa_tonode_memory(pointer, buffer->room, node);
}

enum vtpu_status vtpu_buffer_make(struct vtpu_device *device, uint64_t bytes,
				  enum vtpu_memory memory, uint32_t flags, const char *label,
				  bool internal, struct vtpu_buffer **out)
{
	struct vtpu_bo_create create = {
		.size = bytes,
		.region = memory,
		.flags = flags & VTPU_BUFFER_MAPPABLE ? VTPU_BO_MAPPABLE : 0,
	};
	struct vtpu_buffer *buffer = calloc(1, sizeof(*buffer));
	enum vtpu_status status;
	int err;

	if (!buffer)
		return vtpu_fail_nomem("a buffer");
	err = vtpu_ioctl(device->backend, DRM_IOCTL_VTPU_BO_CREATE, &create);
	if (err) {
		free(buffer);
		return fail_create(device, bytes, memory, err);
	}
	buffer->device = device;
	buffer->internal = internal;
	buffer->memory = memory;
	buffer->flags = flags;
	buffer->handle = create.handle;
	buffer->bytes = bytes;
	buffer->room = create.size;
	if (!internal)
		vtpu_device_get(device);
	pthread_mutex_lock(&device->lock);
	buffer->link = &device->buffers;
	buffer->next = device->buffers;
	if (buffer->next)
		buffer->next->link = &buffer->next;
	device->buffers = buffer;
	pthread_mutex_unlock(&device->lock);

	status = address_take(buffer);
	if (!status && memory == VTPU_MEMORY_HOST)
		place(buffer);
	if (!status && label)
		status = vtpu_buffer_set_label(buffer, label);
	if (!status) {
		err = bind_buffer(buffer, VTPU_BIND_MAP);
		if (err)
			status = vtpu_fail_errno(err,
						 "mapping a buffer of %llu bytes for the device",
						 (unsigned long long)bytes);
	}
	if (status) {
		vtpu_buffer_free(buffer);
		return status;
	}
	*out = buffer;
	return VTPU_OK;
}

enum vtpu_status vtpu_buffer_alloc(struct vtpu_device *device, uint64_t bytes,
				   const struct vtpu_buffer_options *user,
				   struct vtpu_buffer **buffer)
{
	struct vtpu_buffer_options options;
	enum vtpu_status status;

	status = vtpu_device_usable(buffer ? device : NULL, "vtpu_buffer_alloc");
	if (!status)
		status =
			vtpu_options(&options, user, sizeof(options), "struct vtpu_buffer_options");
	if (status)
		return status;
	if (!bytes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_buffer_alloc: a buffer has at least 1 byte");
	if (options.memory != VTPU_MEMORY_HBM && options.memory != VTPU_MEMORY_HOST)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_buffer_alloc: there is no memory %d", (int)options.memory);
	if (options.flags & ~(VTPU_BUFFER_MAPPABLE | VTPU_BUFFER_READONLY))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_buffer_alloc: unknown flags 0x%x", options.flags);
	return vtpu_buffer_make(device, bytes, options.memory, options.flags, options.label, false,
				buffer);
}

void vtpu_buffer_free(struct vtpu_buffer *buffer)
{
	struct drm_gem_close close = { 0 };
	struct vtpu_device *device;
	void *pointer;

	if (!buffer || vtpu_device_forked(buffer->device))
		return;
	device = buffer->device;
	pointer = atomic_load(&buffer->pointer);
	if (pointer)
		device->backend->ops->unmap(device->backend, pointer, buffer->room);
	if (buffer->va)
		(void)bind_buffer(buffer, VTPU_BIND_UNMAP);
	close.handle = buffer->handle;
	(void)vtpu_ioctl(device->backend, DRM_IOCTL_GEM_CLOSE, &close);
	pthread_mutex_lock(&device->lock);
	*buffer->link = buffer->next;
	if (buffer->next)
		buffer->next->link = buffer->link;
	if (buffer->va)
		vtpu_range_free(addresses(device, buffer->memory), buffer->va, buffer->room);
	pthread_mutex_unlock(&device->lock);
	if (!buffer->internal)
		vtpu_device_put(device);
	free(buffer);
}

/* ---- What it is ----------------------------------------------------------------------- */

uint64_t vtpu_buffer_size(const struct vtpu_buffer *buffer)
{
	return buffer ? buffer->bytes : 0;
}

uint64_t vtpu_buffer_address(const struct vtpu_buffer *buffer)
{
	return buffer ? buffer->va : 0;
}

const char *vtpu_buffer_label(const struct vtpu_buffer *buffer)
{
	return buffer ? buffer->label : "";
}

enum vtpu_status vtpu_buffer_set_label(struct vtpu_buffer *buffer, const char *label)
{
	struct vtpu_bo_set_label arg = { 0 };
	enum vtpu_status status;
	int err;

	status = vtpu_device_usable(buffer ? buffer->device : NULL, "vtpu_buffer_set_label");
	if (status)
		return status;
	if (label && strlen(label) >= VTPU_MAX_LABEL)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "a buffer's label of %zu bytes; the most is %d", strlen(label),
				 VTPU_MAX_LABEL - 1);
	arg.handle = buffer->handle;
	arg.label = (uint64_t)(uintptr_t)label;
	err = vtpu_ioctl(buffer->device->backend, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg);
	if (err)
		return vtpu_fail_errno(err, "the label of a buffer");
	pthread_mutex_lock(&buffer->device->lock);
	memset(buffer->label, 0, sizeof(buffer->label));
	if (label)
		strcpy(buffer->label, label);
	pthread_mutex_unlock(&buffer->device->lock);
	return VTPU_OK;
}

enum vtpu_status vtpu_buffer_map(struct vtpu_buffer *buffer, void **pointer)
{
	enum vtpu_status status;
	void *expected = NULL, *memory;
	char name[96];
	int err;

	status = vtpu_device_usable(buffer && pointer ? buffer->device : NULL, "vtpu_buffer_map");
	if (status)
		return status;
	memory = atomic_load(&buffer->pointer);
	if (memory) {
		*pointer = memory;
		return VTPU_OK;
	}
	if (buffer->memory == VTPU_MEMORY_HBM && !(buffer->flags & VTPU_BUFFER_MAPPABLE))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s is in HBM and was not allocated with VTPU_BUFFER_MAPPABLE; use vtpu_buffer_write() and "
				 "vtpu_buffer_read(), or allocate it so",
				 vtpu_buffer_describe(buffer, name, sizeof(name)));
	err = buffer->device->backend->ops->map(buffer->device->backend, buffer->handle,
						buffer->room, &memory);
	if (err)
		return vtpu_fail_errno(err, "mapping %s for the CPU",
				       vtpu_buffer_describe(buffer, name, sizeof(name)));
	/* Two threads may have done it at once: one mapping stays. */
	if (!atomic_compare_exchange_strong(&buffer->pointer, &expected, memory)) {
		buffer->device->backend->ops->unmap(buffer->device->backend, memory, buffer->room);
		memory = expected;
	}
	*pointer = memory;
	return VTPU_OK;
}
