/* SPDX-License-Identifier: MIT */
/*
 * device.h - what the files of the device layer share.
 *
 *   open.c      names and lists of names
 *   list.c      what devices this machine has, and why one cannot be opened
 *   kernel.c    the backend that is the kernel driver
 *   inproc/     the backend that is a model in this process
 *   device.c    life of a device, information, counters
 *   buffer.c    buffers and their addresses
 *   transfer.c  bytes between buffers and host memory
 *   stream.c    streams: queues, order, failure
 *   event.c     events
 *   copy.c      copy and fill jobs
 *   program.c   programs
 *   run.c       runs of programs
 *   fault.c     a failed job in words
 *
 * Locks: a stream's lock may be held when the device's is taken, not the other
 * way round; the transfer lock comes before both.
 */
#ifndef VTPU_SRC_DEVICE_DEVICE_H
#define VTPU_SRC_DEVICE_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include <vtpu/device.h>
#include <vtpu/program.h>

#include "core/error.h"
#include "core/status.h"
#include "core/range.h"
#include "device/backend.h"
#include "vtpu_hwlib.h"

#define VTPU_NS_PER_S 1000000000LL

/* ---- Device ---------------------------------------------------------------- */

struct vtpu_device {
	atomic_uint refs;
	struct vtpu_backend *backend;
	char *name, *reason;
	unsigned int generation; /* of the process, counts forks */
	struct vtpu_hw_geometry geometry;
	uint32_t max_depth;

	pthread_mutex_t lock; /* of the three below */
	struct vtpu_range hbm_addresses, host_addresses;
	struct vtpu_buffer *buffers;

	pthread_mutex_t transfer_lock; /* of what follows: synchronous reads and writes */
	struct vtpu_stream *transfer;
	struct vtpu_buffer *staging[2];
};

struct vtpu_device *vtpu_device_get(struct vtpu_device *device);
void vtpu_device_put(struct vtpu_device *device);

/** vtpu_device_usable() - refuse NULL and what a parent process opened */
enum vtpu_status vtpu_device_usable(const struct vtpu_device *device, const char *call);

/** vtpu_device_forked() - was it opened before a fork()? Then nothing of it may be touched */
bool vtpu_device_forked(const struct vtpu_device *device);

/** vtpu_device_create() - around an open backend, which it takes over whatever happens */
enum vtpu_status vtpu_device_create(struct vtpu_backend *backend, const char *name,
				    struct vtpu_device **device);

/** vtpu_deadline() - absolute nanoseconds of a relative time-out, for an ioctl */
int64_t vtpu_deadline(int64_t timeout_ns);

/* ---- Buffers ------------------------------------------------------------------- */

struct vtpu_buffer {
	struct vtpu_device *device;
	bool internal; /* holds no reference to the device */
	struct vtpu_buffer *next, **link;
	enum vtpu_memory memory;
	uint32_t flags, handle;
	uint64_t bytes, room; /* asked for, and in pages */
	uint64_t va;
	_Atomic(void *) pointer;
	char label[VTPU_MAX_LABEL];
};

/** vtpu_buffer_make() - vtpu_buffer_alloc() with checked arguments */
enum vtpu_status vtpu_buffer_make(struct vtpu_device *device, uint64_t bytes,
				  enum vtpu_memory memory, uint32_t flags, const char *label,
				  bool internal, struct vtpu_buffer **buffer);

/** vtpu_buffer_check() - is [@offset, + @bytes) inside? @what: "destination", for the sentence */
enum vtpu_status vtpu_buffer_check(const struct vtpu_buffer *buffer, uint64_t offset,
				   uint64_t bytes, const char *what);

/** vtpu_buffer_describe() - "buffer 'weights'", or by its address; returns @text */
const char *vtpu_buffer_describe(const struct vtpu_buffer *buffer, char *text, size_t bytes);

/** vtpu_address_describe() - where a device address is, for a sentence; returns @text */
const char *vtpu_address_describe(struct vtpu_device *device, uint64_t va, char *text,
				  size_t bytes);

/* ---- Programs -------------------------------------------------------------------- */

/** struct vtpu_names - what remains of a program when it is gone and a job of it fails */
struct vtpu_names {
	atomic_uint refs;
	struct vtpu_image *image; /* NULL when its bytes cannot be read */
	char name[64];
};

struct vtpu_names *vtpu_names_get(struct vtpu_names *names);
void vtpu_names_put(struct vtpu_names *names);

struct vtpu_program {
	struct vtpu_device *device;
	uint32_t handle;
	struct vtpu_names *names;
	struct vtpu_program_info info;
	char *report;
};

/* ---- Streams and events ------------------------------------------------------------ */

/** struct vtpu_record - a job that may still fail */
struct vtpu_record {
	uint64_t point;
	struct vtpu_names *names; /* NULL: a copy or marker */
};

/** struct vtpu_slot - staging memory of asynchronous reads and writes */
struct vtpu_slot {
	struct vtpu_slot *next;
	struct vtpu_buffer *buffer;
	uint64_t point; /* free again when this is reached ... */
	bool held;	/* ... and no event still has to copy from it */
};

struct vtpu_stream {
	atomic_uint refs;
	struct vtpu_device *device;
	bool internal; /* holds no reference to the device */
	struct vtpu_stream_options options;
	uint32_t syncobj;

	pthread_mutex_t lock; /* of all below */
	struct {
		bool open;
		uint32_t id;
	} queue[2];					 /* by enum vtpu_queue_kind */
	uint64_t last;					 /* point of the last job */
	uint32_t last_kind;				 /* and its queue */
	struct vtpu_record *record;			 /* by point */
	uint32_t records;				 /* a power of two */
	struct vtpu_event *wait[VTPU_MAX_JOB_SYNCS - 2]; /* for the next job */
	uint32_t waits;
	struct vtpu_slot *slots;
	uint64_t good; /* no job up to this one failed */
	bool failed;
	uint64_t failed_point;
	enum vtpu_status failure;
	char *sentence;
};

struct vtpu_event {
	atomic_uint refs;
	struct vtpu_stream *stream;
	uint64_t point;
	pthread_mutex_t lock; /* of the rest: a read's last step */
	struct vtpu_slot *slot;
	void *data;
	uint64_t bytes;
};

/** vtpu_stream_make() - vtpu_stream_create() with checked options */
enum vtpu_status vtpu_stream_make(struct vtpu_device *device,
				  const struct vtpu_stream_options *options, bool internal,
				  struct vtpu_stream **stream);

/**
 * vtpu_stream_submit() - enter one job; @job's syncs and tag are filled in here
 * @kind: enum vtpu_queue_kind
 * @names: of the program, or NULL
 * @event: NULL, or gets an event
 */
enum vtpu_status vtpu_stream_submit(struct vtpu_stream *stream, uint32_t kind, struct vtpu_job *job,
				    struct vtpu_names *names, struct vtpu_event **event);

/** vtpu_stream_result() - how the job at @point, which has ended, did */
enum vtpu_status vtpu_stream_result(struct vtpu_stream *stream, uint64_t point);

/** vtpu_stream_cause() - of CANCELLED, how the job failed that is behind it; else @status */
enum vtpu_status vtpu_stream_cause(struct vtpu_stream *stream, enum vtpu_status status);

/** vtpu_stream_wait_point() - the timeline alone; 0 or a negative errno */
int vtpu_stream_wait_point(struct vtpu_stream *stream, uint64_t point, int64_t deadline);

struct vtpu_stream *vtpu_stream_get(struct vtpu_stream *stream);
void vtpu_stream_put(struct vtpu_stream *stream);

/** vtpu_slot_take() - staging memory for @bytes, held until vtpu_slot_release() */
enum vtpu_status vtpu_slot_take(struct vtpu_stream *stream, uint64_t bytes,
				struct vtpu_slot **slot);
void vtpu_slot_release(struct vtpu_stream *stream, struct vtpu_slot *slot);

struct vtpu_event *vtpu_event_make(struct vtpu_stream *stream);
void vtpu_event_put(struct vtpu_event *event);

/** vtpu_fault_describe() - the failed job of a queue in words */
void vtpu_fault_describe(struct vtpu_device *device, const struct vtpu_names *names,
			 const struct vtpu_queue_state *state, char *text, size_t bytes);

/* ---- list.c -------------------------------------------------------------------------- */

/** vtpu_fail_open() - why node @path could not be opened with @err (positive errno) */
enum vtpu_status vtpu_fail_open(const char *path, int err);

/** vtpu_node_numa() - NUMA node of the device behind "accelN"; -1: unknown */
int vtpu_node_numa(const char *name);

#endif /* VTPU_SRC_DEVICE_DEVICE_H */
