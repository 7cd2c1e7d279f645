// SPDX-License-Identifier: MIT
/*
 * transfer.c - bytes between buffers and host memory, through staging memory
 * that the device can reach: two pieces in turn, so that CPU and device copy
 * at the same time.
 */
#include <string.h>

#include "device/device.h"

#define PIECE_BYTES (4ULL << 20)

/* ---- Waiting for it ------------------------------------------------------------- */

/* Stream and staging memory; a failed stream is replaced. With the transfer lock held */
static enum vtpu_status transfer_begin(struct vtpu_device *device, uint64_t bytes)
{
	const struct vtpu_stream_options options = { .priority = VTPU_PRIORITY_NORMAL, .depth = 4 };
	enum vtpu_status status = VTPU_OK;
	uint32_t i;

	if (device->transfer && device->transfer->failed) {
		vtpu_stream_put(device->transfer);
		device->transfer = NULL;
	}
	if (!device->transfer)
		status = vtpu_stream_make(device, &options, true, &device->transfer);
	for (i = 0; i < 2 && !status && bytes; i++) {
		if (!device->staging[i])
			status = vtpu_buffer_make(device, PIECE_BYTES, VTPU_MEMORY_HOST, 0,
						  "staging", true, &device->staging[i]);
	}
	return status;
}

static enum vtpu_status piece_wait(struct vtpu_event **event)
{
	enum vtpu_status status = VTPU_OK;

	if (*event)
		status = vtpu_event_wait(*event, VTPU_FOREVER);
	vtpu_event_destroy(*event);
	*event = NULL;
	return status;
}

/* Host bytes: @from is read for a write, @to written for a read; the other is NULL. */
static enum vtpu_status transfer(struct vtpu_buffer *buffer, uint64_t offset, const uint8_t *from,
				 uint8_t *to, uint64_t bytes)
{
	struct vtpu_device *device = buffer->device;
	struct vtpu_event *event[2] = { NULL, NULL };
	uint64_t begun = 0, ended = 0;
	enum vtpu_status status, last;
	void *staging[2];
	uint32_t i;

	status = transfer_begin(device, bytes);
	for (i = 0; i < 2 && !status; i++)
		status = vtpu_buffer_map(device->staging[i], &staging[i]);
	while (ended < bytes && !status) {
		/* Keep both pieces busy, then take the older one. */
		for (; begun < bytes && begun - ended < 2 * PIECE_BYTES && !status;
		     begun += PIECE_BYTES) {
			uint64_t n = bytes - begun < PIECE_BYTES ? bytes - begun : PIECE_BYTES;

			i = begun / PIECE_BYTES & 1;
			if (from)
				memcpy(staging[i], from + begun, n);
			status = from ? vtpu_copy(device->transfer, buffer, offset + begun,
						  device->staging[i], 0, n, &event[i]) :
					vtpu_copy(device->transfer, device->staging[i], 0, buffer,
						  offset + begun, n, &event[i]);
		}
		if (status)
			break;
		i = ended / PIECE_BYTES & 1;
		status = piece_wait(&event[i]);
		if (!status && to)
			memcpy(to + ended, staging[i],
			       bytes - ended < PIECE_BYTES ? bytes - ended : PIECE_BYTES);
		ended += PIECE_BYTES;
	}
	/* Staging memory must be idle before the next transfer. */
	for (i = 0; i < 2; i++) {
		last = piece_wait(&event[i]);
		if (!status)
			status = last;
	}
	return status;
}

static enum vtpu_status check(struct vtpu_buffer *buffer, uint64_t offset, const void *data,
			      uint64_t bytes, const char *what)
{
	enum vtpu_status status = vtpu_device_usable(buffer ? buffer->device : NULL, what);

	if (status)
		return status;
	if (!data && bytes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "%s: data is NULL", what);
	return vtpu_buffer_check(buffer, offset, bytes, what);
}

enum vtpu_status vtpu_buffer_write(struct vtpu_buffer *buffer, uint64_t offset, const void *data,
				   uint64_t bytes)
{
	enum vtpu_status status = check(buffer, offset, data, bytes, "vtpu_buffer_write");
	void *pointer;

	if (status || !bytes)
		return status;
	if (buffer->memory == VTPU_MEMORY_HOST) {
		status = vtpu_buffer_map(buffer, &pointer);
		if (!status)
			memcpy((uint8_t *)pointer + offset, data, bytes);
		return status;
	}
	pthread_mutex_lock(&buffer->device->transfer_lock);
	status = transfer(buffer, offset, data, NULL, bytes);
	pthread_mutex_unlock(&buffer->device->transfer_lock);
	return status;
}

enum vtpu_status vtpu_buffer_read(struct vtpu_buffer *buffer, uint64_t offset, void *data,
				  uint64_t bytes)
{
	enum vtpu_status status = check(buffer, offset, data, bytes, "vtpu_buffer_read");
	void *pointer;

	if (status || !bytes)
		return status;
	if (buffer->memory == VTPU_MEMORY_HOST) {
		status = vtpu_buffer_map(buffer, &pointer);
		if (!status)
			memcpy(data, (const uint8_t *)pointer + offset, bytes);
		return status;
	}
	pthread_mutex_lock(&buffer->device->transfer_lock);
	status = transfer(buffer, offset, NULL, data, bytes);
	pthread_mutex_unlock(&buffer->device->transfer_lock);
	return status;
}

enum vtpu_status vtpu_buffer_fill(struct vtpu_buffer *buffer, uint64_t offset, uint64_t bytes,
				  uint32_t pattern)
{
	struct vtpu_event *event = NULL;
	enum vtpu_status status;

	status = vtpu_device_usable(buffer ? buffer->device : NULL, "vtpu_buffer_fill");
	if (status)
		return status;
	pthread_mutex_lock(&buffer->device->transfer_lock);
	status = transfer_begin(buffer->device, 0);
	if (!status)
		status =
			vtpu_fill(buffer->device->transfer, buffer, offset, bytes, pattern, &event);
	if (!status)
		status = piece_wait(&event);
	pthread_mutex_unlock(&buffer->device->transfer_lock);
	return status;
}

/* ---- In a stream ---------------------------------------------------------------------- */

static enum vtpu_status check_async(struct vtpu_stream *stream, struct vtpu_buffer *buffer,
				    uint64_t offset, const void *data, uint64_t bytes,
				    const char *what)
{
	enum vtpu_status status = check(stream ? buffer : NULL, offset, data, bytes, what);

	if (status)
		return status;
	if (!bytes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "%s: at least 1 byte is copied",
				 what);
	if (buffer->device != stream->device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: the buffer is of %s, the stream of %s", what,
				 buffer->device->name, stream->device->name);
	return VTPU_OK;
}

enum vtpu_status vtpu_write(struct vtpu_stream *stream, struct vtpu_buffer *buffer, uint64_t offset,
			    const void *data, uint64_t bytes, struct vtpu_event **out)
{
	enum vtpu_status status = check_async(stream, buffer, offset, data, bytes, "vtpu_write");
	struct vtpu_event *event = NULL;
	struct vtpu_slot *slot;
	void *pointer;

	if (!status)
		status = vtpu_slot_take(stream, bytes, &slot);
	if (status)
		return status;
	status = vtpu_buffer_map(slot->buffer, &pointer);
	if (!status) {
		memcpy(pointer, data, bytes);
		status = vtpu_copy(stream, buffer, offset, slot->buffer, 0, bytes, &event);
	}
	if (!status)
		slot->point = event->point;
	vtpu_slot_release(stream, slot);
	if (!status && out)
		*out = event;
	else
		vtpu_event_destroy(event);
	return status;
}

enum vtpu_status vtpu_read(struct vtpu_stream *stream, struct vtpu_buffer *buffer, uint64_t offset,
			   void *data, uint64_t bytes, struct vtpu_event **out)
{
	enum vtpu_status status = check_async(stream, buffer, offset, data, bytes, "vtpu_read");
	struct vtpu_event *event = NULL;
	struct vtpu_slot *slot;

	if (!status && !out)
		status = vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"vtpu_read: event is NULL, but the bytes arrive when the event is waited for");
	if (!status)
		status = vtpu_slot_take(stream, bytes, &slot);
	if (status)
		return status;
	status = vtpu_copy(stream, slot->buffer, 0, buffer, offset, bytes, &event);
	if (status) {
		vtpu_slot_release(stream, slot);
		return status;
	}
	slot->point = event->point;
	event->data = data;
	event->bytes = bytes;
	event->slot = slot; /* held until the bytes have been taken from it */
	*out = event;
	return VTPU_OK;
}
