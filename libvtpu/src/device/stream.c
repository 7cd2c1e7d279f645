// SPDX-License-Identifier: MIT
/*
 * stream.c - streams: one timeline over a queue for programs and one for
 * copies, in order, until a job fails.
 */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

#define DEFAULT_DEPTH	64
#define SLOT_KEEP_BYTES (64ULL << 20) /* larger staging memory is not kept for reuse */

/* ---- Life ------------------------------------------------------------------------ */

struct vtpu_stream *vtpu_stream_get(struct vtpu_stream *stream)
{
	atomic_fetch_add(&stream->refs, 1);
	return stream;
}

static void stream_free(struct vtpu_stream *stream)
{
	struct vtpu_backend *backend = stream->device->backend;
	struct drm_syncobj_destroy sync = { .handle = stream->syncobj };
	uint32_t i;

	/* Destroying a queue would cancel its jobs. */
	if (stream->last)
		(void)vtpu_stream_wait_point(stream, stream->last, INT64_MAX);
	for (i = 0; i < 2; i++) {
		struct vtpu_queue_destroy destroy = { .queue = stream->queue[i].id };

		if (stream->queue[i].open)
			(void)vtpu_ioctl(backend, DRM_IOCTL_VTPU_QUEUE_DESTROY, &destroy);
	}
	while (stream->slots) {
		struct vtpu_slot *slot = stream->slots;

		stream->slots = slot->next;
		vtpu_buffer_free(slot->buffer);
		free(slot);
	}
	for (i = 0; i < stream->waits; i++)
		vtpu_event_put(stream->wait[i]);
	for (i = 0; stream->record && i < stream->records; i++)
		vtpu_names_put(stream->record[i].names);
	if (stream->syncobj)
		(void)vtpu_ioctl(backend, DRM_IOCTL_SYNCOBJ_DESTROY, &sync);
	if (!stream->internal)
		vtpu_device_put(stream->device);
	pthread_mutex_destroy(&stream->lock);
	free(stream->record);
	free(stream->sentence);
	free(stream);
}

void vtpu_stream_put(struct vtpu_stream *stream)
{
	if (stream && atomic_fetch_sub(&stream->refs, 1) == 1)
		stream_free(stream);
}

void vtpu_stream_destroy(struct vtpu_stream *stream)
{
	if (stream && !vtpu_device_forked(stream->device))
		vtpu_stream_put(stream);
}

enum vtpu_status vtpu_stream_make(struct vtpu_device *device,
				  const struct vtpu_stream_options *options, bool internal,
				  struct vtpu_stream **out)
{
	struct vtpu_stream *stream = calloc(1, sizeof(*stream));
	struct drm_syncobj_create sync = { 0 };
	int err;

	if (!stream)
		return vtpu_fail_nomem("a stream");
	atomic_init(&stream->refs, 1);
	pthread_mutex_init(&stream->lock, NULL);
	stream->device = internal ? device : vtpu_device_get(device);
	stream->internal = internal;
	stream->options = *options;
	if (!stream->options.depth)
		stream->options.depth = DEFAULT_DEPTH;
	/* Both queues full, and one job more on its way in */
	stream->records = 4 * stream->options.depth;
	stream->record = calloc(stream->records, sizeof(*stream->record));
	err = stream->record ? vtpu_ioctl(device->backend, DRM_IOCTL_SYNCOBJ_CREATE, &sync) :
			       -ENOMEM;
	stream->syncobj = sync.handle;
	if (err) {
		vtpu_stream_put(stream);
		return vtpu_fail_errno(err, "a stream");
	}
	*out = stream;
	return VTPU_OK;
}

enum vtpu_status vtpu_stream_create(struct vtpu_device *device,
				    const struct vtpu_stream_options *user,
				    struct vtpu_stream **stream)
{
	struct vtpu_stream_options options;
	enum vtpu_status status;
	uint64_t all;

	status = vtpu_device_usable(stream ? device : NULL, "vtpu_stream_create");
	if (!status)
		status =
			vtpu_options(&options, user, sizeof(options), "struct vtpu_stream_options");
	if (status)
		return status;
	all = device->geometry.cores >= 64 ? ~0ULL : (1ULL << device->geometry.cores) - 1;
	if (options.priority > VTPU_PRIORITY_HIGH)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_stream_create: there is no priority %d",
				 (int)options.priority);
	if (options.depth && (options.depth < 2 || options.depth > device->max_depth ||
			      (options.depth & (options.depth - 1))))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_stream_create: depth %u is no power of two in 2..%u",
				 options.depth, device->max_depth);
	if (options.core_mask & ~all)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_stream_create: core mask 0x%llx, but %s has %u cores",
				 (unsigned long long)options.core_mask, device->name,
				 device->geometry.cores);
	return vtpu_stream_make(device, &options, false, stream);
}

/* ---- Queues ------------------------------------------------------------------------ */

static enum vtpu_status queue_open(struct vtpu_stream *stream, uint32_t kind)
{
	static const uint32_t priority[] = {
		[VTPU_PRIORITY_DEFAULT] = VTPU_PRIO_NORMAL,
		[VTPU_PRIORITY_LOW] = VTPU_PRIO_LOW,
		[VTPU_PRIORITY_NORMAL] = VTPU_PRIO_NORMAL,
		[VTPU_PRIORITY_HIGH] = VTPU_PRIO_HIGH,
	};
	struct vtpu_queue_create create = {
		.kind = kind,
		.priority = priority[stream->options.priority],
		.depth = stream->options.depth,
	};
	int err;

	if (stream->queue[kind].open)
		return VTPU_OK;
	if (kind == VTPU_QUEUE_COMPUTE) {
		create.core_mask = stream->options.core_mask;
		create.max_cycles = stream->options.max_cycles;
	}
	err = vtpu_ioctl(stream->device->backend, DRM_IOCTL_VTPU_QUEUE_CREATE, &create);
	switch (err) {
	case 0:
		stream->queue[kind].id = create.queue;
		stream->queue[kind].open = true;
		return VTPU_OK;
	case -EPERM:
		return vtpu_fail(
			VTPU_ERROR_PERMISSION,
			"a stream of high priority needs CAP_SYS_NICE; run as root, or use normal priority");
	case -EBUSY:
	case -ENOSPC:
		return vtpu_fail(VTPU_ERROR_BUSY,
				 "all hardware queues of %s are taken; destroy some streams",
				 stream->device->name);
	case -EDQUOT:
		return vtpu_fail(VTPU_ERROR_QUOTA,
				 "this client may have no more queues; destroy some streams");
	default:
		return vtpu_fail_errno(err, "a hardware queue");
	}
}

/* ---- Failure --------------------------------------------------------------------------- */

/* Has a job failed? Asks the queues; called with the lock held. */
static void stream_look(struct vtpu_stream *stream)
{
	uint32_t kind;

	for (kind = 0; kind < 2; kind++) {
		struct vtpu_queue_state state = { .queue = stream->queue[kind].id };
		const struct vtpu_record *record;
		char text[2048];

		if (!stream->queue[kind].open ||
		    vtpu_ioctl(stream->device->backend, DRM_IOCTL_VTPU_QUEUE_STATE, &state) ||
		    !(state.flags & (VTPU_QUEUE_HALTED | VTPU_QUEUE_RESET)))
			continue;
		if (stream->failed && stream->failed_point <= state.fault_tag)
			continue;
		record = &stream->record[state.fault_tag & (stream->records - 1)];
		vtpu_fault_describe(stream->device,
				    record->point == state.fault_tag ? record->names : NULL, &state,
				    text, sizeof(text));
		free(stream->sentence);
		stream->sentence = strdup(text);
		stream->failed = true;
		stream->failed_point = state.fault_tag;
		stream->failure = state.status ? vtpu_status_of_hw(state.status) :
						 VTPU_ERROR_DEVICE_LOST;
	}
}

static enum vtpu_status fail_cancelled(const struct vtpu_stream *stream)
{
	return vtpu_fail(VTPU_ERROR_CANCELLED,
			 "an earlier job of the stream failed, make a new stream; it was: %s",
			 stream->sentence ? stream->sentence : vtpu_status_string(stream->failure));
}

enum vtpu_status vtpu_stream_result(struct vtpu_stream *stream, uint64_t point)
{
	enum vtpu_status status = VTPU_OK;

	pthread_mutex_lock(&stream->lock);
	if (point > stream->good) {
		if (!stream->failed || point < stream->failed_point)
			stream_look(stream);
		if (!stream->failed || point < stream->failed_point)
			stream->good = point;
		else if (point == stream->failed_point)
			status = vtpu_fail(stream->failure, "%s",
					   stream->sentence ? stream->sentence :
							      vtpu_status_string(stream->failure));
		else
			status = fail_cancelled(stream);
	}
	pthread_mutex_unlock(&stream->lock);
	return status;
}

enum vtpu_status vtpu_stream_cause(struct vtpu_stream *stream, enum vtpu_status status)
{
	if (status != VTPU_ERROR_CANCELLED || !stream)
		return status;
	pthread_mutex_lock(&stream->lock);
	if (stream->failed)
		status = stream->failure;
	pthread_mutex_unlock(&stream->lock);
	return status;
}

/* ---- Jobs ---------------------------------------------------------------------------------- */

static int submit(struct vtpu_stream *stream, uint32_t kind, struct vtpu_job *job, uint64_t point)
{
	struct vtpu_sync sync[VTPU_MAX_JOB_SYNCS];
	struct vtpu_submit arg = {
		.queue = stream->queue[kind].id,
		.jobs = { .stride = sizeof(*job), .count = 1, .array = (uint64_t)(uintptr_t)job },
	};
	uint32_t n = 0, i;

	sync[n++] = (struct vtpu_sync){
		.flags = VTPU_SYNC_SIGNAL | VTPU_SYNC_TIMELINE,
		.handle = stream->syncobj,
		.point = point,
	};
	if (stream->last && stream->last_kind != kind)
		sync[n++] = (struct vtpu_sync){
			.flags = VTPU_SYNC_TIMELINE,
			.handle = stream->syncobj,
			.point = stream->last,
		};
	for (i = 0; i < stream->waits; i++)
		sync[n++] = (struct vtpu_sync){
			.flags = VTPU_SYNC_TIMELINE,
			.handle = stream->wait[i]->stream->syncobj,
			.point = stream->wait[i]->point,
		};
	job->tag = point;
	job->syncs = (struct vtpu_array){ .stride = sizeof(*sync),
					  .count = n,
					  .array = (uint64_t)(uintptr_t)sync };
	return vtpu_ioctl(stream->device->backend, DRM_IOCTL_VTPU_SUBMIT, &arg);
}

/* With the lock held; the first @gone events of stream->wait are the caller's to put after it */
static enum vtpu_status stream_enter(struct vtpu_stream *stream, uint32_t kind,
				     struct vtpu_job *job, struct vtpu_names *names,
				     struct vtpu_event *event, uint32_t *gone)
{
	uint64_t point = stream->last + 1;
	struct vtpu_record *record = &stream->record[point & (stream->records - 1)];
	enum vtpu_status status;
	int err;

	if (stream->failed)
		return fail_cancelled(stream);
	status = queue_open(stream, kind);
	if (status)
		return status;
	err = submit(stream, kind, job, point);
	if (err == -ECANCELED) {
		stream_look(stream);
		if (stream->failed)
			return fail_cancelled(stream);
	}
	if (err)
		return vtpu_fail_errno(err, "entering a job into a stream");
	vtpu_names_put(record->names);
	record->names = vtpu_names_get(names);
	record->point = point;
	stream->last = point;
	stream->last_kind = kind;
	*gone = stream->waits;
	stream->waits = 0;
	if (event)
		event->point = point;
	return VTPU_OK;
}

enum vtpu_status vtpu_stream_submit(struct vtpu_stream *stream, uint32_t kind, struct vtpu_job *job,
				    struct vtpu_names *names, struct vtpu_event **out)
{
	struct vtpu_event *waited[sizeof(stream->wait) / sizeof(*stream->wait)];
	struct vtpu_event *event = NULL;
	enum vtpu_status status;
	uint32_t gone = 0;

	if (out) {
		event = vtpu_event_make(stream);
		if (!event)
			return vtpu_fail_nomem("an event");
	}
	pthread_mutex_lock(&stream->lock);
	status = stream_enter(stream, kind, job, names, event, &gone);
	memcpy(waited, stream->wait, gone * sizeof(*waited));
	pthread_mutex_unlock(&stream->lock);
	/* Their streams' locks must not be taken inside this one's. */
	while (gone)
		vtpu_event_put(waited[--gone]);
	if (status && event)
		vtpu_event_put(event);
	else if (out)
		*out = event;
	return status;
}

enum vtpu_status vtpu_marker(struct vtpu_stream *stream, struct vtpu_event **event)
{
	struct vtpu_job job = { .flags = VTPU_JOB_NOP };
	enum vtpu_status status;
	uint32_t kind;

	status = vtpu_device_usable(stream ? stream->device : NULL, "vtpu_marker");
	if (status)
		return status;
	pthread_mutex_lock(&stream->lock);
	kind = stream->last_kind;
	pthread_mutex_unlock(&stream->lock);
	return vtpu_stream_submit(stream, kind, &job, NULL, event);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

int vtpu_stream_wait_point(struct vtpu_stream *stream, uint64_t point, int64_t deadline)
{
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uint64_t)(uintptr_t)&stream->syncobj,
		.points = (uint64_t)(uintptr_t)&point,
		.timeout_nsec = deadline,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
	};

	return vtpu_ioctl(stream->device->backend, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

enum vtpu_status vtpu_stream_sync(struct vtpu_stream *stream, int64_t timeout_ns)
{
	enum vtpu_status status;
	uint64_t point;
	int err;

	status = vtpu_device_usable(stream ? stream->device : NULL, "vtpu_stream_sync");
	if (status)
		return status;
	pthread_mutex_lock(&stream->lock);
	point = stream->last;
	pthread_mutex_unlock(&stream->lock);
	if (!point)
		return VTPU_OK;
	err = vtpu_stream_wait_point(stream, point, timeout_ns ? vtpu_deadline(timeout_ns) : 0);
	if (err == -ETIME)
		return vtpu_fail(VTPU_ERROR_TIMEOUT,
				 "the stream's jobs have not ended within %lld ns; they go on",
				 (long long)timeout_ns);
	if (err)
		return vtpu_fail_errno(err, "waiting for a stream");
	return vtpu_stream_result(stream, point);
}

enum vtpu_status vtpu_stream_wait(struct vtpu_stream *stream, struct vtpu_event *event)
{
	enum vtpu_status status;
	bool full;

	status = vtpu_device_usable(stream && event ? stream->device : NULL, "vtpu_stream_wait");
	if (status)
		return status;
	if (event->stream->device != stream->device)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"vtpu_stream_wait: the stream is of %s, the event of %s; wait for the event in the program",
			stream->device->name, event->stream->device->name);
	if (event->stream == stream)
		return VTPU_OK; /* it comes before whatever is entered now */
	pthread_mutex_lock(&stream->lock);
	full = stream->waits == sizeof(stream->wait) / sizeof(*stream->wait);
	pthread_mutex_unlock(&stream->lock);
	if (full) {
		status = vtpu_marker(stream, NULL);
		if (status)
			return status;
	}
	pthread_mutex_lock(&stream->lock);
	if (stream->waits == sizeof(stream->wait) / sizeof(*stream->wait)) {
		status = vtpu_fail(VTPU_ERROR_BUSY,
				   "too many threads add waits to one stream; try again");
	} else {
		atomic_fetch_add(&event->refs, 1);
		stream->wait[stream->waits++] = event;
	}
	pthread_mutex_unlock(&stream->lock);
	return status;
}

/* ---- Staging memory of asynchronous reads and writes --------------------------------------------- */

static uint64_t stream_reached(struct vtpu_stream *stream)
{
	uint64_t point = 0;
	struct drm_syncobj_timeline_array query = {
		.handles = (uint64_t)(uintptr_t)&stream->syncobj,
		.points = (uint64_t)(uintptr_t)&point,
		.count_handles = 1,
	};

	return vtpu_ioctl(stream->device->backend, DRM_IOCTL_SYNCOBJ_QUERY, &query) ? 0 : point;
}

enum vtpu_status vtpu_slot_take(struct vtpu_stream *stream, uint64_t bytes, struct vtpu_slot **out)
{
	uint64_t reached = stream_reached(stream);
	struct vtpu_slot **at, *slot, *gone = NULL;
	enum vtpu_status status;

	pthread_mutex_lock(&stream->lock);
	for (at = &stream->slots; (slot = *at);) {
		if (slot->held || slot->point > reached) {
			at = &slot->next;
		} else if (slot->buffer->bytes >= bytes && slot->buffer->bytes / 4 <= bytes) {
			slot->held = true;
			pthread_mutex_unlock(&stream->lock);
			*out = slot;
			goto out;
		} else if (slot->buffer->bytes > SLOT_KEEP_BYTES) {
			*at = slot->next;
			slot->next = gone;
			gone = slot;
		} else {
			at = &slot->next;
		}
	}
	pthread_mutex_unlock(&stream->lock);
	slot = calloc(1, sizeof(*slot));
	status = slot ? vtpu_buffer_make(stream->device, bytes, VTPU_MEMORY_HOST, 0, "staging",
					 true, &slot->buffer) :
			vtpu_fail_nomem("staging memory");
	if (status) {
		free(slot);
		return status;
	}
	slot->held = true;
	pthread_mutex_lock(&stream->lock);
	slot->next = stream->slots;
	stream->slots = slot;
	pthread_mutex_unlock(&stream->lock);
	*out = slot;
out:
	while (gone) {
		slot = gone;
		gone = slot->next;
		vtpu_buffer_free(slot->buffer);
		free(slot);
	}
	return VTPU_OK;
}

void vtpu_slot_release(struct vtpu_stream *stream, struct vtpu_slot *slot)
{
	if (!slot)
		return;
	pthread_mutex_lock(&stream->lock);
	slot->held = false;
	pthread_mutex_unlock(&stream->lock);
}
