/* SPDX-License-Identifier: MIT */
/**
 * @file device.h
 * Devices, buffers, streams, programs, events.
 *
 * A device runs programs over buffers. A stream is a sequence of jobs (programs
 * and copies) that run one after the other; different streams run at the same
 * time and are ordered only by events. Every submission returns at once and
 * can give an event, which says when the job has ended and how.
 *
 *     vtpu_open(NULL, &dev);
 *     vtpu_buffer_alloc(dev, bytes, NULL, &x);
 *     vtpu_buffer_write(x, 0, data, bytes);
 *     vtpu_program_create(dev, image, NULL, &prog);
 *     vtpu_stream_create(dev, NULL, &stream);
 *     vtpu_run(stream, prog, bindings, n, NULL, 0, &done);
 *     vtpu_event_wait(done, VTPU_FOREVER);
 *
 * Ownership: what a call creates is the caller's, to be given back with the
 * matching _destroy, _free or vtpu_close(), each of which takes NULL. Objects
 * keep what they need alive: a device closes when the last of its objects is
 * gone, a stream when the last of its events is.
 *
 * Threads: all calls may be made from any thread, also on the same object,
 * except that nobody may use an object while or after it is given back. Calls
 * on one stream from several threads enter their jobs in some order.
 *
 * fork(): a child must not use what its parent opened; calls fail with
 * VTPU_ERROR_FORKED there. It may open devices of its own.
 */
#ifndef VTPU_DEVICE_H
#define VTPU_DEVICE_H

#include <stdbool.h>
#include <vtpu/core.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vtpu_device;
struct vtpu_buffer;
struct vtpu_stream;
struct vtpu_program;
struct vtpu_event;
struct vtpu_image;
struct vtpu_hw_geometry;

/** A time-out that never comes. */
#define VTPU_FOREVER (-1)

/* ---- Devices ------------------------------------------------------------ */

/**
 * Open a device.
 * @param name    which, see below; NULL: the environment variable VTPU_DEVICE,
 *                else "accel0"
 * @param device  the device
 *
 * - "accel0" or "/dev/accel/accel0": a device with the kernel driver vtpu.
 * - "model:v3,cores=8,hbm=1G": a device inside this process, which needs no
 *   driver and no rights. Keys, all optional: preset (v3, or custom and then
 *   single properties), cores, hbm (bytes; suffixes K, M, G), threads (of all
 *   models in the process; else VTPU_THREADS, else one for each CPU), isa
 *   (auto, scalar, avx2, avx512), executor (parallel, reference), dense (on, off),
 *   watchdog (ms),
 *   serial, id (opens with the same id share one device), inject (a fault on
 *   demand: hang or dma-error, with ":queue=N" and ":job=N").
 * - a list, "accel0;model:v3": the first that opens is taken. Model properties
 *   follow commas, so "accel0,model:v3" is a list as well: a comma before a word
 *   that starts with accel, model: or / begins the next name.
 *
 * Nothing is ever tried that the name does not say; vtpu_device_reason() tells
 * which of a list was taken, and why the ones before were not.
 *
 * Fails with NO_DEVICE, NO_MODULE, PERMISSION (the sentence names node, group and
 * command), VERSION, INVALID_ARGUMENT (a model's property), OUT_OF_HOST_MEMORY.
 */
VTPU_API enum vtpu_status vtpu_open(const char *name, struct vtpu_device **device);

/** Give a device back. It stays open until its objects are gone too. */
VTPU_API void vtpu_close(struct vtpu_device *device);

/** The name that was taken: "accel0", "model:v3,cores=8". Lives as long as the device. */
VTPU_API const char *vtpu_device_name(const struct vtpu_device *device);

/** A sentence: what was taken and why those before it in the list were not. Lives as long as the device. */
VTPU_API const char *vtpu_device_reason(const struct vtpu_device *device);

/** Health of a device. */
enum vtpu_health {
	VTPU_HEALTH_OK = 0,
	VTPU_HEALTH_RESETTING = 1,
	VTPU_HEALTH_WEDGED = 2, /**< a reset failed; all work is refused */
};

/** What a device is and how it fares. */
struct vtpu_device_info {
	size_t struct_size;	/**< set by VTPU_INIT() */
	char preset[16];	/**< "v3", "custom" */
	char features[128];	/**< words: "f32 bf16 ..." */
	char driver[64];	/**< "vtpu 0.1.0 (20251130)" or "in process" */
	uint64_t serial;	/**< serial number */
	uint32_t hw_version;	/**< major << 16 | minor */
	uint32_t cores;		/**< cores */
	uint32_t clock_khz;	/**< modelled clock */
	uint32_t mxu_per_core;	/**< matrix units of a core */
	uint32_t mxu_dim;	/**< rows and columns of a matrix unit */
	uint32_t lanes;		/**< lanes of a vector register */
	uint32_t sublanes;	/**< sublanes of a vector register */
	uint32_t smem_bytes;	/**< scalar memory of a core */
	uint64_t vmem_bytes;	/**< vector memory of a core */
	uint64_t hbm_bytes;	/**< HBM in all */
	uint64_t hbm_usable;	/**< HBM that buffers can have */
	uint64_t hbm_bandwidth; /**< modelled bytes a second, of the whole board */
	uint64_t flops;		/**< modelled bf16 operations a second, of the whole board */
	uint32_t max_queues;	/**< hardware queues of the device */
	uint32_t max_depth;	/**< jobs that a queue holds at most */
	uint32_t max_instances; /**< instructions times width that a program may have */
	uint32_t priorities;	/**< bit n: enum vtpu_priority n is allowed for this process */
	uint32_t pci;		/**< domain << 16 | bus << 8 | slot << 3 | function; 0 in process */
	int32_t numa_node;	/**< that the device is at; -1: unknown */
	enum vtpu_health health; /**< health */
	uint32_t reset_count;	 /**< device resets since the driver was bound */
	uint32_t clients;	 /**< opens at present */
	uint32_t in_process;	 /**< 1: a model inside this process */
	uint64_t jobs_submitted; /**< jobs of all clients since the driver was bound */
	uint64_t jobs_completed; /**< of these, ended without error */
	uint64_t jobs_failed;	 /**< of these, ended with an error */
};

/** Fill in @p info, whose struct_size is set. Fails with DEVICE_LOST. */
VTPU_API enum vtpu_status vtpu_device_info(struct vtpu_device *device,
					   struct vtpu_device_info *info);

/**
 * The chip's geometry (vtpu_hw.h), which program builders ask for. Lives as
 * long as the device.
 */
VTPU_API const struct vtpu_hw_geometry *vtpu_device_geometry(const struct vtpu_device *device);

/** Counters of a core since power-on. Times include the job that runs now; the rest is added when a job ends. */
struct vtpu_core_counters {
	size_t struct_size;   /**< set by VTPU_INIT() */
	uint64_t sampled_ns;  /**< CLOCK_MONOTONIC of the reading */
	uint64_t busy_ns;     /**< host time with a job on the core */
	uint64_t cycles;      /**< modelled cycles of finished jobs */
	uint64_t mxu_cycles;  /**< of these, with the matrix unit busy */
	uint64_t macs;	      /**< multiply-adds that the programs asked for */
	uint64_t hbm_bytes;   /**< bytes read from and written to HBM */
	uint64_t jobs;	      /**< jobs finished without error */
	uint64_t jobs_failed; /**< jobs that failed */
	uint64_t resets;      /**< resets of the core */
};

/** Read the counters of @p core into @p counters, whose struct_size is set. Fails with INVALID_ARGUMENT (no such core), DEVICE_LOST. */
VTPU_API enum vtpu_status vtpu_device_counters(struct vtpu_device *device, uint32_t core,
					       struct vtpu_core_counters *counters);

/** Where a buffer lives. */
enum vtpu_memory {
	VTPU_MEMORY_HBM = 0,  /**< the device's memory: what programs work on */
	VTPU_MEMORY_HOST = 1, /**< host memory that the device copies from and to */
};

/** State of a memory. */
struct vtpu_memory_info {
	size_t struct_size;    /**< set by VTPU_INIT() */
	uint64_t size;	       /**< bytes in all; HOST: 0 */
	uint64_t used;	       /**< bytes in buffers of all clients */
	uint64_t largest_free; /**< largest buffer that would fit; HOST: 0 */
	uint64_t reserved;     /**< HBM: bytes that the driver keeps for itself */
	uint64_t mine;	       /**< bytes in buffers of this vtpu_open() */
	uint64_t my_limit;     /**< its quota; 0: none */
};

/** Read the state of a memory into @p info, whose struct_size is set. Fails with INVALID_ARGUMENT, DEVICE_LOST. */
VTPU_API enum vtpu_status vtpu_device_memory(struct vtpu_device *device, enum vtpu_memory memory,
					     struct vtpu_memory_info *info);

/** A device that could be opened. */
struct vtpu_list_entry {
	char name[16]; /**< for vtpu_open(): "accel0"; empty: no driver is bound */
	char path[40]; /**< "/dev/accel/accel0"; empty: no driver is bound */
	char pci[16];  /**< "0000:00:04.0" */
};

/**
 * Find the vTPU devices of this machine, without opening them.
 * @param entries  room for @p *count entries; NULL: only count
 * @param count    in: room; out: devices that there are
 */
VTPU_API enum vtpu_status vtpu_list(struct vtpu_list_entry *entries, size_t *count);

/* ---- Buffers ------------------------------------------------------------ */

#define VTPU_BUFFER_MAPPABLE (1u << 0) /**< HBM: vtpu_buffer_map() may be called; HOST always may */
#define VTPU_BUFFER_READONLY (1u << 1) /**< programs and copies may only read it */

/** How to allocate a buffer. */
struct vtpu_buffer_options {
	size_t struct_size;	 /**< set by VTPU_INIT() */
	enum vtpu_memory memory; /**< where; default HBM */
	uint32_t flags;		 /**< VTPU_BUFFER_* */
	const char *label;	 /**< for reports and vtpu-smi, up to 63 bytes; copied */
};

/**
 * Allocate a buffer.
 * @param device   device
 * @param bytes    at least 1
 * @param options  NULL: HBM, no label
 * @param buffer   the buffer, filled with zeros, on a device address of its own
 *
 * HOST buffers are placed near the device.
 * Fails with OUT_OF_DEVICE_MEMORY (the sentence says what is free), OUT_OF_HOST_MEMORY,
 * QUOTA, INVALID_ARGUMENT, DEVICE_LOST.
 */
VTPU_API enum vtpu_status vtpu_buffer_alloc(struct vtpu_device *device, uint64_t bytes,
					    const struct vtpu_buffer_options *options,
					    struct vtpu_buffer **buffer);

/**
 * Give a buffer back. Jobs that run keep it; jobs that have not started will
 * fail, so wait for them first. Pointers from vtpu_buffer_map() end here.
 */
VTPU_API void vtpu_buffer_free(struct vtpu_buffer *buffer);

/** Bytes of the buffer, as asked for. */
VTPU_API uint64_t vtpu_buffer_size(const struct vtpu_buffer *buffer);

/** Device address of its first byte. */
VTPU_API uint64_t vtpu_buffer_address(const struct vtpu_buffer *buffer);

/** Its label, or "". Lives until the label changes or the buffer is freed. */
VTPU_API const char *vtpu_buffer_label(const struct vtpu_buffer *buffer);

/** Change the label; up to 63 bytes, NULL removes it. Not while others read it. */
VTPU_API enum vtpu_status vtpu_buffer_set_label(struct vtpu_buffer *buffer, const char *label);

/**
 * Make a buffer's bytes readable and writable by the CPU.
 * @param buffer   HOST, or allocated with VTPU_BUFFER_MAPPABLE
 * @param pointer  the first byte, valid until the buffer is freed; the same at each call
 *
 * Jobs and CPU see each other's writes once the job has ended, or before it was
 * submitted. Fails with INVALID_ARGUMENT, OUT_OF_HOST_MEMORY.
 */
VTPU_API enum vtpu_status vtpu_buffer_map(struct vtpu_buffer *buffer, void **pointer);

/**
 * Copy host bytes into a buffer and wait until they are there.
 * @param buffer  any buffer
 * @param offset  of the first byte in the buffer
 * @param data    host bytes
 * @param bytes   any number that fits
 *
 * Not ordered with streams. Fails with INVALID_ARGUMENT (the range leaves the
 * buffer), OUT_OF_HOST_MEMORY, DEVICE_LOST, FAULT.
 */
VTPU_API enum vtpu_status vtpu_buffer_write(struct vtpu_buffer *buffer, uint64_t offset,
					    const void *data, uint64_t bytes);

/** Copy bytes of a buffer to host memory and wait. As vtpu_buffer_write(). */
VTPU_API enum vtpu_status vtpu_buffer_read(struct vtpu_buffer *buffer, uint64_t offset, void *data,
					   uint64_t bytes);

/** Set each 4 bytes to @p pattern and wait; @p offset and @p bytes are multiples of 4. As vtpu_buffer_write(). */
VTPU_API enum vtpu_status vtpu_buffer_fill(struct vtpu_buffer *buffer, uint64_t offset,
					   uint64_t bytes, uint32_t pattern);

/* ---- Streams ------------------------------------------------------------ */

/** Class of a stream when cores are short. */
enum vtpu_priority {
	VTPU_PRIORITY_DEFAULT = 0, /**< normal */
	VTPU_PRIORITY_LOW = 1,
	VTPU_PRIORITY_NORMAL = 2,
	VTPU_PRIORITY_HIGH = 3, /**< needs CAP_SYS_NICE */
};

/** How to make a stream. */
struct vtpu_stream_options {
	size_t struct_size;	     /**< set by VTPU_INIT() */
	enum vtpu_priority priority; /**< class */
	uint32_t depth;		     /**< jobs in flight, a power of two, 2..1024; 0: 64 */
	uint64_t core_mask;	     /**< cores that its programs may use; 0: all */
	uint64_t max_cycles;	     /**< modelled cycles that a program may take; 0: no limit */
};

/**
 * Make a stream.
 * @param device   device
 * @param options  NULL: normal priority, all cores
 * @param stream   the stream
 *
 * It takes a hardware queue for programs and one for copies, each when it is
 * first needed. A failed job ends the stream: jobs after it are cancelled and new
 * ones refused, with the sentence of the one that failed.
 * Fails with INVALID_ARGUMENT, PERMISSION (priority), QUOTA, BUSY (no hardware
 * queue is free), DEVICE_LOST.
 */
VTPU_API enum vtpu_status vtpu_stream_create(struct vtpu_device *device,
					     const struct vtpu_stream_options *options,
					     struct vtpu_stream **stream);

/**
 * Give a stream back. Its jobs go on to their ends: whoever gives back the last of the
 * stream and its events waits for that.
 */
VTPU_API void vtpu_stream_destroy(struct vtpu_stream *stream);

/**
 * Wait until all jobs entered so far have ended.
 * @param stream      stream
 * @param timeout_ns  nanoseconds from now; VTPU_FOREVER
 * @return as vtpu_event_wait() of the last one
 */
VTPU_API enum vtpu_status vtpu_stream_sync(struct vtpu_stream *stream, int64_t timeout_ns);

/** Jobs that are entered from now on start after @p event, however it ends. Of the same device. */
VTPU_API enum vtpu_status vtpu_stream_wait(struct vtpu_stream *stream, struct vtpu_event *event);

/* ---- Events ------------------------------------------------------------- */

/**
 * Wait until a job has ended.
 * @param event       event
 * @param timeout_ns  nanoseconds from now; 0 only looks; VTPU_FOREVER
 *
 * @return OK: it ended well. TIMEOUT: not yet; wait again. Else why it failed, with a
 * sentence that names program, operation, base and address: FAULT, INVALID_ARGUMENT,
 * CANCELLED (a job before it in the stream failed), DEVICE_LOST, and DEADLOCK for
 * a job that was stopped because it took too long.
 */
VTPU_API enum vtpu_status vtpu_event_wait(struct vtpu_event *event, int64_t timeout_ns);

/** Has the job ended? @return as vtpu_event_wait(), but OK with @p *done false when it has not */
VTPU_API enum vtpu_status vtpu_event_query(struct vtpu_event *event, bool *done);

/** Give an event back; the job goes on. */
VTPU_API void vtpu_event_destroy(struct vtpu_event *event);

/* ---- Programs ----------------------------------------------------------- */

#define VTPU_PROGRAM_STRICT (1u << 0) /**< refuse a program that has a race */

/** How to load a program. */
struct vtpu_program_options {
	size_t struct_size; /**< set by VTPU_INIT() */
	uint32_t flags;	    /**< VTPU_PROGRAM_* */
	const char *name;   /**< for reports; copied; NULL: "program" */
};

/**
 * Load a program.
 * @param device   device
 * @param image    what <vtpu/program.h> or <vtpu/ops.h> made; not needed any more afterwards
 * @param options  NULL: not strict
 * @param program  the program
 *
 * The device checks all of it and computes its time. When it refuses, the
 * sentence is followed by a line for each finding, with the operations' names.
 * Fails with BAD_PROGRAM, VERSION, UNSUPPORTED, DEADLOCK, RACE, TOO_LARGE,
 * OUT_OF_DEVICE_MEMORY, QUOTA, DEVICE_LOST.
 */
VTPU_API enum vtpu_status vtpu_program_create(struct vtpu_device *device,
					      const struct vtpu_image *image,
					      const struct vtpu_program_options *options,
					      struct vtpu_program **program);

/** Load a program from the bytes of an image, for instance of a file. As vtpu_program_create(). */
VTPU_API enum vtpu_status vtpu_program_create_bytes(struct vtpu_device *device, const void *data,
						    size_t bytes,
						    const struct vtpu_program_options *options,
						    struct vtpu_program **program);

/** Give a program back. Jobs in flight keep it. */
VTPU_API void vtpu_program_destroy(struct vtpu_program *program);

/** What the load found. */
struct vtpu_program_stats {
	size_t struct_size;  /**< set by VTPU_INIT() */
	uint32_t width;	     /**< cores that it runs on */
	uint32_t bases;	     /**< buffers that a run must bind */
	uint32_t scalars;    /**< scalars that a run must give */
	uint32_t instances;  /**< instructions times width */
	uint32_t races;	     /**< unordered accesses found */
	uint32_t edges;	     /**< edges of the hazard graph */
	uint64_t cycles;     /**< modelled cycles of a run */
	uint64_t mxu_cycles; /**< of all cores together, with the matrix unit busy */
	uint64_t macs;	     /**< multiply-adds of all cores together */
	uint64_t hbm_bytes;  /**< HBM bytes moved by all cores together */
	uint64_t vmem_bytes; /**< vector memory used, of the core that uses most */
};

/** Fill in @p stats, whose struct_size is set. */
VTPU_API enum vtpu_status vtpu_program_stats(struct vtpu_program *program,
					     struct vtpu_program_stats *stats);

/** The findings of the load, a line each: races of a program that is not strict. Lives as long as the program. */
VTPU_API const char *vtpu_program_report(const struct vtpu_program *program);

/**
 * The image that it was made from, with the names and sizes of its bases
 * (vtpu_image_base(), vtpu_image_find_base()). Lives as long as the program.
 */
VTPU_API const struct vtpu_image *vtpu_program_image(const struct vtpu_program *program);

/** What a base of a program is for one run. */
struct vtpu_binding {
	struct vtpu_buffer *buffer; /**< in HBM */
	uint64_t offset;	    /**< where the base starts in it */
};

/**
 * Enter a run of a program into a stream.
 * @param stream    stream
 * @param program   of the same device
 * @param bindings  one for each base, in order
 * @param nbindings how many
 * @param scalars   one word for each scalar (vtpu_scalar_f32() for floats); copied
 * @param nscalars  how many
 * @param event     NULL, or gets an event
 *
 * Returns when the job is queued; waits while the stream is full. The buffers must
 * stay until it has ended.
 * Fails with INVALID_ARGUMENT (counts, a buffer too short, misaligned, not in HBM,
 * written twice: the sentence names the base), CANCELLED (an earlier job failed),
 * DEVICE_LOST, OUT_OF_HOST_MEMORY.
 */
VTPU_API enum vtpu_status vtpu_run(struct vtpu_stream *stream, struct vtpu_program *program,
				   const struct vtpu_binding *bindings, uint32_t nbindings,
				   const uint32_t *scalars, uint32_t nscalars,
				   struct vtpu_event **event);

/** A float as a scalar argument. */
static inline uint32_t vtpu_scalar_f32(float value)
{
	union {
		float f;
		uint32_t u;
	} bits;

	bits.f = value;
	return bits.u;
}

/** Enter a job that does nothing but end in its turn: an event for all before it. */
VTPU_API enum vtpu_status vtpu_marker(struct vtpu_stream *stream, struct vtpu_event **event);

/* ---- Copies ------------------------------------------------------------- */

/**
 * A copy of rows between buffers.
 *
 * Row i goes from source + src_offset + i * src_stride to destination + dst_offset + i *
 * dst_stride. With an index buffer of u32, row i is read from src_offset + index[i] *
 * src_stride: one copy gathers a shuffled batch.
 */
struct vtpu_rows {
	struct vtpu_buffer *dst;
	struct vtpu_buffer *src;
	uint64_t dst_offset;
	uint64_t src_offset;
	uint32_t rows;		   /**< at least 1 */
	uint32_t row_bytes;	   /**< at least 1 */
	int64_t dst_stride;	   /**< bytes */
	int64_t src_stride;	   /**< bytes */
	struct vtpu_buffer *index; /**< NULL: none */
	uint64_t index_offset;	   /**< of the first index, a multiple of 4 */
	uint32_t index_limit; /**< with an index: rows that the source has; a larger index fails the job */
	uint32_t pad;	      /**< zero */
};

/** Most rows structs of one job. */
#define VTPU_MAX_ROWS 64

/** Enter copies of rows, done in order, as one job. The buffers must stay until it has ended. As vtpu_run(). */
VTPU_API enum vtpu_status vtpu_copy_rows(struct vtpu_stream *stream, const struct vtpu_rows *rows,
					 uint32_t count, struct vtpu_event **event);

/** Enter a copy between two buffers. As vtpu_copy_rows(). */
VTPU_API enum vtpu_status vtpu_copy(struct vtpu_stream *stream, struct vtpu_buffer *dst,
				    uint64_t dst_offset, struct vtpu_buffer *src,
				    uint64_t src_offset, uint64_t bytes, struct vtpu_event **event);

/** Enter a fill; @p offset and @p bytes are multiples of 4. As vtpu_copy_rows(). */
VTPU_API enum vtpu_status vtpu_fill(struct vtpu_stream *stream, struct vtpu_buffer *buffer,
				    uint64_t offset, uint64_t bytes, uint32_t pattern,
				    struct vtpu_event **event);

/** Enter a copy from host bytes, which are taken before this returns. As vtpu_copy_rows(). */
VTPU_API enum vtpu_status vtpu_write(struct vtpu_stream *stream, struct vtpu_buffer *buffer,
				     uint64_t offset, const void *data, uint64_t bytes,
				     struct vtpu_event **event);

/**
 * Enter a copy to host memory. As vtpu_copy_rows().
 * @param event  required: @p data is filled in when vtpu_event_wait() or vtpu_event_query() says that it
 *               is done, and must stay valid until then
 */
VTPU_API enum vtpu_status vtpu_read(struct vtpu_stream *stream, struct vtpu_buffer *buffer,
				    uint64_t offset, void *data, uint64_t bytes,
				    struct vtpu_event **event);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_DEVICE_H */
