// SPDX-License-Identifier: MIT
/*
 * event.c - events: points of a stream's timeline that somebody asks about.
 */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

struct vtpu_event *vtpu_event_make(struct vtpu_stream *stream)
{
	struct vtpu_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	atomic_init(&event->refs, 1);
	pthread_mutex_init(&event->lock, NULL);
	event->stream = vtpu_stream_get(stream);
	return event;
}

void vtpu_event_put(struct vtpu_event *event)
{
	if (atomic_fetch_sub(&event->refs, 1) != 1)
		return;
	vtpu_slot_release(event->stream, event->slot);
	vtpu_stream_put(event->stream);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

void vtpu_event_destroy(struct vtpu_event *event)
{
	if (event && !vtpu_device_forked(event->stream->device))
		vtpu_event_put(event);
}

/* The job has ended well: the last step of a read is the caller's, once. */
static enum vtpu_status event_finish(struct vtpu_event *event)
{
	enum vtpu_status status = VTPU_OK;
	void *pointer;

	pthread_mutex_lock(&event->lock);
	if (event->slot) {
		status = vtpu_buffer_map(event->slot->buffer, &pointer);
		if (!status)
			memcpy(event->data, pointer, event->bytes);
		vtpu_slot_release(event->stream, event->slot);
		event->slot = NULL;
	}
	pthread_mutex_unlock(&event->lock);
	return status;
}

/* VTPU_ERROR_TIMEOUT without a sentence: not yet */
static enum vtpu_status event_wait(struct vtpu_event *event, int64_t deadline)
{
	enum vtpu_status status;
	int err;

	err = vtpu_stream_wait_point(event->stream, event->point, deadline);
	if (err == -ETIME)
		return VTPU_ERROR_TIMEOUT;
	if (err)
		return vtpu_fail_errno(err, "waiting for a job");
	status = vtpu_stream_result(event->stream, event->point);
	return status ? status : event_finish(event);
}

enum vtpu_status vtpu_event_wait(struct vtpu_event *event, int64_t timeout_ns)
{
	int64_t deadline = timeout_ns ? vtpu_deadline(timeout_ns) : 0;
	enum vtpu_status status;

	status = vtpu_device_usable(event ? event->stream->device : NULL, "vtpu_event_wait");
	if (status)
		return status;
	status = event_wait(event, deadline);
	if (status == VTPU_ERROR_TIMEOUT)
		vtpu_fail(status, "the job has not ended within %lld ns; it goes on, wait again",
			  (long long)timeout_ns);
	return status;
}

enum vtpu_status vtpu_event_query(struct vtpu_event *event, bool *done)
{
	enum vtpu_status status;

	status = vtpu_device_usable(event && done ? event->stream->device : NULL,
				    "vtpu_event_query");
	if (status)
		return status;
	status = event_wait(event, 0);
	*done = status != VTPU_ERROR_TIMEOUT;
	return status == VTPU_ERROR_TIMEOUT ? VTPU_OK : status;
}
