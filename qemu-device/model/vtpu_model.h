/* SPDX-License-Identifier: MIT */
/*
 * vtpu_model.h - the chip, as its host sees it.
 *
 * A host (the QEMU shell, libvtpu's in-process backend, a unit test, a fuzzer)
 * fills in struct vtpu_host_ops, creates a chip and drives it through this
 * header alone. What the registers mean is in vtpu_hw.h. The model is plain
 * C11, has no globals, and any number of chips may live in one process.
 *
 * Contexts. "Control context" is one thread at a time that the host provides:
 * QEMU's main loop with its lock held, a control thread in process. Register
 * accesses come from any thread that holds the host's lock (if it has one) and
 * only note what is to be done. The model's own lock is taken inside the
 * host's, never the other way round: no worker ever waits for the host's lock.
 */
#ifndef VTPU_MODEL_H
#define VTPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "vtpu_hw.h"

struct vtpu_chip;
struct vtpu_pool;

/* ---- Host operations ---------------------------------------------------- */

/**
 * struct vtpu_dma - one access to system (guest) memory
 *
 * Owned by the model until vtpu_host_ops.dma is called, by the host until it
 * calls @done, then by the model again.
 */
struct vtpu_dma {
	/** @addr: bus address */
	uint64_t addr;
	/** @buf: host memory to read from or write to */
	void *buf;
	/** @bytes: length, at least 1 */
	size_t bytes;
	/** @to_system: true: write system memory, false: read it */
	bool to_system;
	/** @ok: set by the host before @done: all bytes were moved */
	bool ok;
	/** @done: called once by the host, from any thread, inline or later */
	void (*done)(struct vtpu_dma *dma);
	/** @opaque: the model's */
	void *opaque;
	/** @next: free for the host's use while it owns the request */
	struct vtpu_dma *next;
};

/** enum vtpu_log_level - importance of a message */
enum vtpu_log_level {
	VTPU_LOG_ERROR, /* the model or its host is at fault */
	VTPU_LOG_GUEST, /* the guest is */
	VTPU_LOG_INFO,
};

/*
 * Trace events: X(NAME, name, family, format of a and b). The family is one of
 * norm (ordinary work), err (a job or command failed), ub (the guest broke a
 * rule of the hardware contract).
 */
#define VTPU_TRACE_EVENTS(X) \
	X(DOORBELL, doorbell, norm) \
	X(FETCH, fetch, norm)		   /* a: program, b: args_bytes */ \
	X(JOB_START, job_start, norm)	   /* a: program, b: first core */ \
	X(JOB_DONE, job_done, norm)	   /* a: cycles, b: host ns */ \
	X(COMPLETE, complete, norm)	   /* a: status, b: vector */ \
	X(ADMIN, admin, norm)		   /* a: opcode, b: id */ \
	X(LOAD, load, norm)		   /* a: instances, b: host ns */ \
	X(COPY, copy, norm)		   /* a: bytes, b: descriptors */ \
	X(RESET, reset, norm)		   /* a: enum vtpu_reset */ \
	X(JOB_FAILED, job_failed, err)	   /* a: status, b: address */ \
	X(ADMIN_FAILED, admin_failed, err) /* a: opcode, b: status */ \
	X(DMA_FAILED, dma_failed, err)	   /* a: bus address, b: bytes */ \
	X(WATCHDOG, watchdog, err)	   /* a: idle ns */ \
	X(ABORT, abort, err) \
	X(INJECT, inject, err)		  /* a: enum vtpu_fault */ \
	X(BAD_REGISTER, bad_register, ub) /* a: offset, b: size */ \
	X(BAD_DOORBELL, bad_doorbell, ub) \
	X(RING_OVERRUN, ring_overrun, ub) /* a: tail, b: fetched */ \
	X(BAD_ENTRY, bad_entry, ub)	  /* a: byte offset, b: value */ \
	X(BAD_PTE, bad_pte, ub)		  /* a: virtual address, b: entry */

enum vtpu_trace {
#define VTPU_TRACE_ENUM(upper, lower, family) VTPU_TRACE_##upper,
	VTPU_TRACE_EVENTS(VTPU_TRACE_ENUM)
#undef VTPU_TRACE_ENUM
};

/**
 * struct vtpu_host_ops - what the chip needs from where it lives
 *
 * @host is the pointer given to vtpu_chip_create(). Unless said, an operation
 * may be called from any thread, must not block for long and must not call
 * back into the chip.
 */
struct vtpu_host_ops {
	/**
	 * @dma: access system memory. May call vtpu_dma.done inline. Called
	 * from control context or from the chip's copy thread, without the model's lock.
	 */
	void (*dma)(void *host, struct vtpu_dma *dma);
	/** @raise: raise MSI-X vector @vector; called in control context only */
	void (*raise)(void *host, unsigned int vector);
	/** @now_ns: the device's clock; monotonic */
	uint64_t (*now_ns)(void *host);
	/**
	 * @timer: call vtpu_chip_timer() in control context at @deadline_ns of now_ns; UINT64_MAX
	 * disarms
	 */
	void (*timer)(void *host, uint64_t deadline_ns);
	/**
	 * @defer: call vtpu_chip_control() in control context soon, at least once after this call
	 */
	void (*defer)(void *host);
	/** @thread_start: first thing that each thread of the chip or pool does; may be NULL */
	void (*thread_start)(void *host);
	/** @thread_stop: last thing; may be NULL */
	void (*thread_stop)(void *host);
	/**
	 * @discard: give pages of HBM back so that they read as zero; false: not possible, the
	 * model writes zeros; may be NULL
	 */
	bool (*discard)(void *host, uint64_t offset, uint64_t bytes);
	/** @dirty: the chip wrote this range of HBM; may be NULL */
	void (*dirty)(void *host, uint64_t offset, uint64_t bytes);
	/**
	 * @vanish: by injection: take the device off its bus soon, from where no access reaches it
	 * any more, and reset it; called in control context. NULL: there is no bus
	 */
	void (*vanish)(void *host);
	/** @log: a sentence; may be NULL */
	void (*log)(void *host, enum vtpu_log_level level, const char *text);
	/** @trace: an event; @queue and @seq say whose, zero where neither applies; may be NULL */
	void (*trace)(void *host, enum vtpu_trace event, uint32_t queue, uint32_t seq, uint64_t a,
		      uint64_t b);
};

/* ---- Worker pool -------------------------------------------------------- */

/**
 * vtpu_pool_create() - worker threads that chips of one process share
 * @threads: number, 1..256; 0: one for each host CPU
 * @start: called first on each new thread; may be NULL
 * @stop: called last; may be NULL
 * @arg: for both
 *
 * Return: the pool, or NULL without memory or threads.
 */
struct vtpu_pool *vtpu_pool_create(unsigned int threads, void (*start)(void *arg),
				   void (*stop)(void *arg), void *arg);

/** vtpu_pool_threads() - threads of a pool */
unsigned int vtpu_pool_threads(const struct vtpu_pool *pool);

/** vtpu_pool_cpu_ns() - CPU time that the pool's threads have used in all */
uint64_t vtpu_pool_cpu_ns(const struct vtpu_pool *pool);

/** vtpu_pool_destroy() - join the threads; no chip may still use the pool. NULL is fine */
void vtpu_pool_destroy(struct vtpu_pool *pool);

/* ---- Chip --------------------------------------------------------------- */

/** enum vtpu_isa - which host kernels run; same bits from all */
enum vtpu_isa {
	VTPU_ISA_AUTO = 0, /* the widest that this CPU has */
	VTPU_ISA_SCALAR,
	VTPU_ISA_AVX2,
	VTPU_ISA_AVX512,
};

/** struct vtpu_chip_config - properties of a chip; zero is the default of each */
struct vtpu_chip_config {
	/** @preset: name of a preset: "v3" (also NULL), "custom" */
	const char *preset;
	/** @cores: 1..64; 0: 8 */
	uint32_t cores;
	/** @custom: for preset "custom": fields that are not zero replace v3's */
	struct vtpu_hw_geometry custom;
	/**
	 * @hbm: memory of @hbm_bytes that the host provides, zeroed, and keeps until
	 * vtpu_chip_destroy()
	 */
	void *hbm;
	/** @hbm_bytes: a multiple of 2 MiB, at least 32 MiB, at most 64 GiB */
	uint64_t hbm_bytes;
	/** @serial: serial number */
	uint64_t serial;
	/** @vectors: MSI-X vectors, 2..%VTPU_MAX_VECTORS; 0: the most */
	uint32_t vectors;
	/**
	 * @watchdog_ms: running host time without progress after which a job ends as TIMEOUT; 0:
	 * 10,000
	 */
	uint32_t watchdog_ms;
	/** @pool: workers; not owned */
	struct vtpu_pool *pool;
	/** @isa: host kernels */
	enum vtpu_isa isa;
	/**
	 * @dense: form products with zero that gradients of convolutions could skip; the same
	 * bits. So does VTPU_DENSE=1 in the environment
	 */
	bool dense;
	/**
	 * @reference: run instructions one by one in semantic order instead of the parallel
	 * executor
	 */
	bool reference;
};

/**
 * vtpu_chip_create() - power on a chip
 * @config: properties; copied
 * @ops: host operations; copied
 * @host: handed to them
 * @err: gets a sentence that names the bad property, its value and what is allowed
 * @err_bytes: room in @err
 *
 * Return: the chip, or NULL with @err filled in. No host operation is called
 * before this returns, except thread_start.
 */
struct vtpu_chip *vtpu_chip_create(const struct vtpu_chip_config *config,
				   const struct vtpu_host_ops *ops, void *host, char *err,
				   size_t err_bytes);

/**
 * vtpu_chip_destroy() - power off
 *
 * Ends all jobs within a few milliseconds and joins the chip's threads; no
 * host operation is called afterwards. Outstanding DMA must have completed or
 * complete without the caller's help. NULL is fine.
 */
void vtpu_chip_destroy(struct vtpu_chip *chip);

/** vtpu_chip_geometry() - geometry of the chip; lives as long as the chip */
const struct vtpu_hw_geometry *vtpu_chip_geometry(const struct vtpu_chip *chip);

/**
 * vtpu_chip_read() - read BAR0
 * @offset: byte offset
 * @size: 1, 2, 4 or 8
 */
uint64_t vtpu_chip_read(struct vtpu_chip *chip, uint64_t offset, unsigned int size);

/** vtpu_chip_write() - write BAR0; only notes what is to be done and defers */
void vtpu_chip_write(struct vtpu_chip *chip, uint64_t offset, uint64_t value, unsigned int size);

/** vtpu_chip_control() - do deferred work: fetch, arbitrate, complete. Control context */
void vtpu_chip_control(struct vtpu_chip *chip);

/** vtpu_chip_timer() - the armed time has come. Control context */
void vtpu_chip_timer(struct vtpu_chip *chip);

/** enum vtpu_reset - kinds of reset */
enum vtpu_reset {
	VTPU_RESET_COLD,     /* power-on: HBM is zeroed too */
	VTPU_RESET_FUNCTION, /* FLR, hot reset, VTPU_CONTROL_RESET: HBM contents stay */
};

/**
 * vtpu_chip_reset_begin() - stop accepting work and make all jobs end; does not block
 * @kind: enum vtpu_reset
 *
 * Control context, as vtpu_chip_reset_finish() and vtpu_chip_destroy() too.
 */
void vtpu_chip_reset_begin(struct vtpu_chip *chip, enum vtpu_reset kind);

/**
 * vtpu_chip_reset_finish() - wait for the workers (a few milliseconds), clear all state
 *
 * No completion of older work is written and no vector raised for it. May be
 * called with the host's lock held; needs no host operation that waits for it:
 * from begin to finish a host that does DMA in control context must complete
 * what it has queued, and what still comes, with ok false.
 */
void vtpu_chip_reset_finish(struct vtpu_chip *chip);

/**
 * vtpu_chip_inject() - bring a fault about
 * @err: sentence on refusal
 * @err_bytes: room
 *
 * One fault may be armed at a time; VTPU_FAULT_NONE disarms.
 * Return: false with @err set when @in is out of range.
 */
bool vtpu_chip_inject(struct vtpu_chip *chip, const struct vtpu_injection *in, char *err,
		      size_t err_bytes);

/** struct vtpu_chip_stats - counters for the host's introspection */
struct vtpu_chip_stats {
	uint64_t jobs_done, jobs_failed, copies_done, copy_bytes;
	uint64_t programs_loaded, admin_commands, doorbells, resets, bad_accesses;
	uint32_t queues, contexts, programs, jobs_running;
	uint32_t threads;
	enum vtpu_isa isa;
};

/** vtpu_chip_stats() - read the counters; any thread */
void vtpu_chip_stats(struct vtpu_chip *chip, struct vtpu_chip_stats *stats);

/** vtpu_isa_names - the words for them, in the order of the enumeration, NULL-ended */
extern const char *const vtpu_isa_names[];

/** vtpu_isa_name() - "scalar", "avx2", "avx512" */
const char *vtpu_isa_name(enum vtpu_isa isa);

#endif /* VTPU_MODEL_H */
