/* SPDX-License-Identifier: MIT */
/*
 * chip.h - the chip's own state, shared by the files that make up its front
 * end: registers, rings, queues, arbiter, copy engine, recovery. Loader and
 * executor do not see it.
 *
 * Who may touch what. Each group of fields says one of:
 *
 *   const     set at creation
 *   control   only in control context (one thread at a time, see vtpu_model.h)
 *   lock      under vtpu_chip.lock
 *   pub       written in control context under the lock, so control context may
 *             read it without, everybody else with the lock
 *   atomic    any thread
 *   copy      under vtpu_copy.lock
 *
 * Locks, in the order of acquisition: the host's own (if it has one), then
 * vtpu_chip.lock or vtpu_copy.lock; these two are leaves, are never held
 * together, and no host operation but now_ns is called under either. Workers
 * take none of them: they leave a result, set the queue's bit in
 * vtpu_chip.attention and call the host's defer.
 */
#ifndef VTPU_CHIP_H
#define VTPU_CHIP_H

#include <pthread.h>
#include <stdatomic.h>

#include "program.h"
#include "vtpu_model.h"

#define VTPU_FETCH_AHEAD	8 /* jobs of an I/O queue that the chip holds copies of */
#define VTPU_ADMIN_SLOTS	(1u << VTPU_ADMIN_DEPTH_LOG2)
#define VTPU_QUEUE_IDS		(VTPU_MAX_QUEUES + 1)
#define VTPU_ID_WORDS		((VTPU_QUEUE_IDS + 63) / 64)
#define VTPU_AGE_NS		100000000ULL /* a waiting job gains a priority class each time this passes */
#define VTPU_PROGRAM_HOST_BYTES (4ULL << 30) /* host memory that all loaded programs may take */

struct vtpu_queue;

/* ---- Requests: DMA issued from control context (request.c) -------------- */

enum vtpu_request_state {
	VTPU_REQUEST_IDLE,
	VTPU_REQUEST_CALLING, /* inside the host's dma() */
	VTPU_REQUEST_PENDING, /* the host will call back */
	VTPU_REQUEST_DONE,    /* not yet looked at */
};

/** struct vtpu_request - one DMA, reused again and again by its owner */
struct vtpu_request {
	struct vtpu_dma dma;
	struct vtpu_chip *chip;
	unsigned int id;  /* queue to give attention to when done */
	atomic_int state; /* enum vtpu_request_state */
};

/** vtpu_request_init() - for DMA on behalf of queue @id */
void vtpu_request_init(struct vtpu_request *req, struct vtpu_chip *chip, unsigned int id);

/** vtpu_request_issue() - start an idle request; it may be done on return */
void vtpu_request_issue(struct vtpu_request *req, uint64_t addr, void *buf, size_t bytes,
			bool to_system);

/** vtpu_request_idle() - may it be issued? */
bool vtpu_request_idle(struct vtpu_request *req);

/** vtpu_request_take() - if it is done: make it idle, say in @ok how it went, return true */
bool vtpu_request_take(struct vtpu_request *req, bool *ok);

/* ---- Rings: tail word, entries, completions (ring.c) --------------------- */

/** struct vtpu_ring - a submission ring and its completion ring; control */
struct vtpu_ring {
	struct vtpu_chip *chip;
	unsigned int id;
	uint64_t sq, cq, tail_addr;
	uint32_t depth_log2;
	uint32_t ahead;	    /* entries taken and not completed, at most */
	uint32_t tail;	    /* the last tail word believed */
	uint32_t fetched;   /* entries taken */
	uint32_t completed; /* completions handed out */
	bool rung;	    /* the tail word must be looked at */
	bool closed;	    /* tail word and entries are not looked at any more */
	bool quiet;	    /* no vector for the completion on its way */
	bool body_done;
	uint32_t tail_word, entries;
	struct vtpu_request tail_req, entry_req, cqe_req;
	struct vtpu_cqe cqe;
	uint8_t (*entry)[64]; /* [ahead] as last read */
};

/** vtpu_ring_init() - the addresses have been checked; false without memory */
bool vtpu_ring_init(struct vtpu_ring *ring, struct vtpu_chip *chip, unsigned int id,
		    uint32_t ahead);
void vtpu_ring_fini(struct vtpu_ring *ring);

/** vtpu_ring_poll_tail() - look at the tail word if rung; true on progress, @st is OK, RING_OVERRUN or DMA_ERROR */
bool vtpu_ring_poll_tail(struct vtpu_ring *ring, enum vtpu_hw_status *st);

/**
 * vtpu_ring_poll_entries() - read new entries into vtpu_ring.entry
 *
 * Return: number of entries that have arrived, numbered from vtpu_ring.fetched
 * up, which the caller then adds. On a DMA error @st says so and 1 is returned.
 */
uint32_t vtpu_ring_poll_entries(struct vtpu_ring *ring, enum vtpu_hw_status *st);

/** vtpu_ring_complete() - start to write the next completion; false: one is still on its way */
bool vtpu_ring_complete(struct vtpu_ring *ring, const struct vtpu_cqe *cqe, bool quiet);

/** vtpu_ring_poll_cqe() - drive the write; true on progress, @st is OK or DMA_ERROR */
bool vtpu_ring_poll_cqe(struct vtpu_ring *ring, enum vtpu_hw_status *st);

/** vtpu_ring_idle() - no DMA in flight? */
bool vtpu_ring_idle(struct vtpu_ring *ring);

/* ---- Address spaces (mmu.c) ---------------------------------------------- */

/** struct vtpu_context - an address space; control */
struct vtpu_context {
	bool used;
	uint64_t root;
	uint64_t epoch;			     /* INVALIDATEs so far */
	uint32_t queues, programs, commands; /* that refer to it */
};

/** struct vtpu_extent - where a virtual address leads, and for how many bytes on end */
struct vtpu_extent {
	uint64_t addr; /* in HBM, or on the bus */
	uint64_t bytes;
	bool system;
	bool write;
	uint64_t pte; /* BAD_PTE: the entry */
};

/**
 * vtpu_mmu_extent() - translate @va and as much behind it as is contiguous
 * @root: HBM address of the top table
 * @va: below 2^48
 * @want: bytes of interest, at least 1, not beyond 2^48
 * @budget: page-table entries that may still be read, or NULL. When they are
 * used up the extent is cut short and *@budget is 0
 *
 * Entries are read once and taken as hostile. Any thread.
 * Return: OK, UNMAPPED or BAD_PTE.
 */
enum vtpu_hw_status vtpu_mmu_extent(const struct vtpu_chip *chip, uint64_t root, uint64_t va,
				    uint64_t want, unsigned int *budget, struct vtpu_extent *out);

/* ---- Loaded programs (load_job.c) ----------------------------------------- */

/** struct vtpu_loaded - an entry of the program table; control, but for the load's own fields */
struct vtpu_loaded {
	struct vtpu_chip *chip;
	uint32_t id, context;
	struct vtpu_program *program; /* NULL while loading */
	bool writes_smem;	      /* some instruction does */
	bool loading;
	uint64_t start_ns;
	/* The load, on a worker until @ended. */
	uint64_t image, bytes;
	uint32_t flags;
	atomic_bool cancel, ended;
	enum vtpu_hw_status status;
	struct vtpu_load_result result;
	struct vtpu_load_record records[VTPU_MAX_RECORDS];
};

/* ---- Jobs and I/O queues (queue.c, job.c) ---------------------------------- */

enum vtpu_job_state {
	VTPU_JOB_ARGS,	  /* its arguments are on the way */
	VTPU_JOB_FETCHED, /* not looked at yet */
	VTPU_JOB_WAITING, /* head, wants cores */
	VTPU_JOB_RUNNING, /* head, with executor or copy engine, or hung */
	VTPU_JOB_ENDED,	  /* its completion is to be written */
};

/** struct vtpu_job - the chip's copy of a ring entry and its arguments; control */
struct vtpu_job {
	uint32_t seq;
	enum vtpu_job_state state;
	struct vtpu_sqe sqe;
	struct vtpu_request args_req;
	/* How it ended. Set before its turn when it could not be fetched. */
	enum vtpu_hw_status status;
	uint32_t op_id, where;
	uint64_t cycles, fault_addr;
	bool lost_irq;
	_Alignas(8) uint8_t args[VTPU_ARG_SLOT_BYTES];
};

/** struct vtpu_copy_job - a copy job in the engine; the engine's between start and @ended */
struct vtpu_copy_job {
	struct vtpu_copy_job *next; /* copy: the engine's list */
	struct vtpu_chip *chip;
	unsigned int queue;
	unsigned int priority;
	uint64_t root;
	struct vtpu_copy_desc desc[VTPU_MAX_COPY_DESCS];
	uint32_t ndesc;
	enum vtpu_fault fault; /* injected into it */
	/* Where it stands: descriptor, row, byte of the row. */
	uint32_t at;
	uint64_t row, row_done;
	uint64_t rows, row_bytes; /* of the descriptor, rows that touch merged into one */
	uint64_t index_at;	  /* index list: rows held in @index start here */
	uint32_t index_count;
	uint32_t index[1024];
	uint64_t hbm_bytes, system_bytes; /* that this descriptor has moved */
	uint64_t cycles, bytes;		  /* of all descriptors */
	enum vtpu_hw_status status;
	uint64_t fault_addr;
	atomic_bool cancel, ended;
	atomic_uint_fast64_t progress;
};

/** struct vtpu_queue - an I/O queue */
struct vtpu_queue {
	/* const */
	struct vtpu_chip *chip;
	unsigned int id;
	uint32_t kind, priority, context;
	uint64_t core_mask, max_cycles, args_addr;

	/* control */
	struct vtpu_ring ring;
	struct vtpu_job job[VTPU_FETCH_AHEAD]; /* by sequence number */
	bool halted;			       /* later jobs end as QUEUE_HALTED */
	bool destroying;
	enum vtpu_hw_status broken; /* why the ring was closed; OK: it was not */

	/* control: the head job */
	uint64_t ticket; /* while it waits for cores */
	uint64_t waiting_since;
	struct vtpu_queue *next_waiting;
	bool parked;	       /* it hangs by injection, nobody works on it */
	enum vtpu_fault fault; /* injected into it */
	uint64_t cores;	       /* its slice */
	unsigned int first_core;
	uint64_t epoch; /* of its context when it translated */
	uint64_t started_ns;
	enum vtpu_hw_status cancelled;	 /* why it was told to end; OK: it was not */
	uint64_t seen_progress, seen_ns; /* watchdog */
	struct vtpu_run run;
	struct vtpu_copy_job copy;
	uint64_t zero_bytes; /* VMEM to clear before the run */
	uint64_t root;
	bool smem_dirty;     /* the program writes SMEM */
	const uint8_t *args; /* its argument block */
	/* A worker's or the executor's until @ended. */
	uint32_t bound;	      /* bases translated so far */
	uint64_t bound_bytes; /* of the base that comes next */
	uint64_t base_bytes[VTPU_MAX_BASES];
	enum vtpu_hw_status bind_status;
	uint32_t bind_where;
	uint64_t bind_addr, bind_pte;
	atomic_uint_fast64_t bind_progress;
	atomic_bool ended;

	/* pub */
	struct {
		enum vtpu_hw_queue_state state;
		uint32_t tail, fetched, completed;
		uint64_t progress; /* of finished jobs */
		uint64_t busy_ns;  /* of finished jobs */
		uint64_t since_ns; /* start of the running job; 0: none */
	} pub;
	/* lock: jobs to abort, by slot */
	uint64_t abort[(1u << VTPU_MAX_DEPTH_LOG2) / 64];
};

/** struct vtpu_core - a core's memories and counters */
struct vtpu_core {
	/* control */
	void *map;
	size_t map_bytes;
	struct vtpu_core_mem mem; /* NULL until a job needs it */
	uint64_t vmem_dirty;	  /* bytes that jobs may have written */
	uint64_t smem_dirty;
	/* pub */
	struct vtpu_hw_core_stats stats;
	uint64_t since_ns; /* start of the running job; 0: none */
};

/* ---- Admin queue (admin.c) ------------------------------------------------ */

enum vtpu_command_state {
	VTPU_COMMAND_FREE,
	VTPU_COMMAND_WAITING, /* for a load, a drained queue, running jobs */
	VTPU_COMMAND_REPORT,  /* a load's report is being written */
	VTPU_COMMAND_LOST,    /* by injection: never completes */
	VTPU_COMMAND_ENDED,
};

/** struct vtpu_command - an admin command that has started; control */
struct vtpu_command {
	enum vtpu_command_state state;
	union {
		struct vtpu_admin_header h;
		struct vtpu_admin_context context;
		struct vtpu_admin_queue queue;
		struct vtpu_admin_program program;
		uint8_t byte[64];
	} u;
	uint64_t order; /* completions are written in this order */
	uint64_t epoch; /* INVALIDATE: running jobs must be at least this new */
	enum vtpu_hw_status status;
	uint64_t cycles;
	struct vtpu_loaded *loaded; /* PROGRAM_LOAD, PROGRAM_UNLOAD */
	struct vtpu_request report_req;
	struct {
		struct vtpu_load_result result;
		struct vtpu_load_record records[VTPU_MAX_RECORDS];
	} report;
};

/** struct vtpu_admin - the admin queue; control */
struct vtpu_admin {
	struct vtpu_ring ring;
	struct vtpu_command command[VTPU_ADMIN_SLOTS];
	uint64_t order;
	uint32_t active; /* commands that are not free */
};

/* ---- Copy engine (copy.c) -------------------------------------------------- */

#define VTPU_COPY_BATCH 32 /* requests in flight */
#define VTPU_COPY_PIECE \
	(1u << 20) /* bytes of a request, and between two looks at the cancel flag */

struct vtpu_copy;

/** vtpu_copy_create() - start the copy thread; NULL without memory or threads */
struct vtpu_copy *vtpu_copy_create(struct vtpu_chip *chip);

/** vtpu_copy_destroy() - join it; no job may be in it. NULL is fine */
void vtpu_copy_destroy(struct vtpu_copy *copy);

/** vtpu_copy_check() - shape of a copy job's arguments: OK, BAD_ARGS, MISALIGNED or WRAPS. @at: the descriptor */
enum vtpu_hw_status vtpu_copy_check(const struct vtpu_copy_desc *desc, uint32_t ndesc, uint32_t *at,
				    uint64_t *addr);

/** vtpu_copy_start() - hand over a checked job; ends with @ended and the queue's attention */
void vtpu_copy_start(struct vtpu_copy *copy, struct vtpu_copy_job *job);

/* ---- The chip --------------------------------------------------------------- */

struct vtpu_chip {
	/* const */
	struct vtpu_host_ops ops;
	void *host;
	struct vtpu_hw_geometry geometry;
	const struct vtpu_kernels *kernels;
	struct vtpu_pool *pool;
	struct vtpu_copy *copy;
	uint8_t *hbm;
	uint64_t hbm_bytes, hbm_reserved, caps, serial, all_cores;
	uint64_t watchdog_ns;
	uint32_t vectors;
	bool reference;
	bool dense;

	/* atomic */
	_Atomic uint64_t rung[VTPU_ID_WORDS];	     /* doorbells */
	_Atomic uint64_t attention[VTPU_ID_WORDS];   /* queues with something to look at */
	_Atomic uint64_t reset_queue[VTPU_ID_WORDS]; /* VTPU_REG_RESET_QUEUE */
	atomic_uint inflight; /* runs, loads, copy jobs and requests that others work on */
	atomic_uint_fast64_t doorbells, copy_bytes;
	atomic_uint bad_accesses;

	pthread_mutex_t lock;
	struct {
		uint32_t control;
		uint32_t events;
		uint32_t fatal;
		uint32_t reset_count;
		uint64_t admin_sq, admin_cq, admin_tail;
		uint32_t admin_depth;
		uint32_t abort_low; /* first half of a VTPU_REG_ABORT_JOB in two steps */
		bool ready, enabled;
		bool reset; /* a reset has begun */
		enum vtpu_reset reset_kind;
	} reg;			      /* lock */
	struct vtpu_injection inject; /* lock */
	uint64_t inject_lots;	      /* lock */
	struct vtpu_chip_stats stats; /* pub */

	/* pub: the pointers; what they lead to says for itself */
	struct vtpu_queue *queue[VTPU_QUEUE_IDS];
	struct vtpu_admin *admin;
	struct vtpu_core core[VTPU_MAX_CORES];

	/* control */
	struct vtpu_context context[VTPU_MAX_CONTEXTS + 1];
	struct vtpu_loaded *program[VTPU_MAX_PROGRAMS + 1];
	size_t program_bytes;
	uint64_t busy_cores;
	uint64_t next_ticket;
	struct vtpu_queue *waiting; /* for cores, in order of tickets */
	bool arbitrate;		    /* cores or tickets have changed */
	bool admin_recheck;	    /* a waiting command may be able to end */
	uint64_t raise;		    /* vectors, at the end of the pass */
	bool stopping;		    /* all work is being ended; nothing new starts */
	bool broken;		    /* by injection: a fatal error at the end of the pass */
	bool dead;		    /* by injection: no reset by register ends */
	bool timer_armed;
	uint64_t timer_ns;
	uint32_t running; /* jobs */
};

/* chip.c */
void vtpu_attend(struct vtpu_chip *chip, unsigned int id);
void vtpu_chip_event(struct vtpu_chip *chip, uint32_t event);
void vtpu_chip_fatal(struct vtpu_chip *chip, enum vtpu_hw_status status);
void vtpu_chip_arm(struct vtpu_chip *chip, uint64_t ns);
void vtpu_trace(struct vtpu_chip *chip, enum vtpu_trace event, uint32_t queue, uint32_t seq,
		uint64_t a, uint64_t b);
void vtpu_log(struct vtpu_chip *chip, enum vtpu_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline uint64_t vtpu_now(const struct vtpu_chip *chip)
{
	return chip->ops.now_ns(chip->host);
}

/* Is [@addr, @addr + @bytes) inside HBM, @addr a multiple of @align? */
static inline bool vtpu_in_hbm(const struct vtpu_chip *chip, uint64_t addr, uint64_t bytes,
			       uint64_t align)
{
	return !(addr % align) && addr < chip->hbm_bytes && bytes <= chip->hbm_bytes - addr;
}

/* admin.c, load_job.c */
struct vtpu_admin *vtpu_admin_create(struct vtpu_chip *chip);
void vtpu_admin_destroy(struct vtpu_admin *admin);
void vtpu_admin_advance(struct vtpu_chip *chip);
bool vtpu_load_start(struct vtpu_loaded *loaded);
void vtpu_loaded_free(struct vtpu_loaded *loaded);

/* queue.c */
enum vtpu_hw_status vtpu_queue_create(struct vtpu_chip *chip, const struct vtpu_admin_queue *cmd);
void vtpu_queue_free(struct vtpu_queue *q);
void vtpu_queue_advance(struct vtpu_queue *q);
void vtpu_queue_reset(struct vtpu_queue *q);
bool vtpu_queue_drained(struct vtpu_queue *q);

/* job.c: all in control context */
struct vtpu_job *vtpu_queue_head(struct vtpu_queue *q);
void vtpu_job_begin(struct vtpu_queue *q, struct vtpu_job *job);
void vtpu_job_start(struct vtpu_queue *q, struct vtpu_job *job, unsigned int first_core,
		    uint64_t cores);
void vtpu_job_cancel(struct vtpu_queue *q, struct vtpu_job *job, enum vtpu_hw_status why);
void vtpu_job_collect(struct vtpu_queue *q, struct vtpu_job *job);
void vtpu_job_end(struct vtpu_queue *q, struct vtpu_job *job, enum vtpu_hw_status status);
uint64_t vtpu_job_progress(const struct vtpu_queue *q);

/* bind.c */
bool vtpu_args_valid(const struct vtpu_program *program, const void *args, uint32_t bytes);
bool vtpu_bind(struct vtpu_queue *q, const uint8_t *args, unsigned int *budget);

/* arbiter.c */
uint64_t vtpu_slice_find(const struct vtpu_chip *chip, uint64_t mask, uint32_t width,
			 unsigned int *first);
void vtpu_arbiter_add(struct vtpu_queue *q);
void vtpu_arbiter_remove(struct vtpu_queue *q);
void vtpu_arbitrate(struct vtpu_chip *chip);

/* core.c */
bool vtpu_core_map(struct vtpu_chip *chip, struct vtpu_core *core);
void vtpu_core_reset(struct vtpu_core *core);
void vtpu_core_unmap(struct vtpu_core *core);

/* watchdog.c, reset.c, inject.c, stats.c */
void vtpu_watchdog(struct vtpu_chip *chip);
void vtpu_stop(struct vtpu_chip *chip);
bool vtpu_stop_wait(struct vtpu_chip *chip, uint64_t limit_ns);
void vtpu_reset_note(struct vtpu_chip *chip, enum vtpu_reset kind);
bool vtpu_stop_finish(struct vtpu_chip *chip);
void vtpu_stop_clear(struct vtpu_chip *chip);
enum vtpu_fault vtpu_inject_take(struct vtpu_chip *chip, uint32_t queue, uint32_t seq,
				 uint32_t *core);
void vtpu_stats_start(struct vtpu_queue *q);
uint64_t vtpu_stats_end(struct vtpu_queue *q, enum vtpu_hw_status status);
void vtpu_core_stats(struct vtpu_chip *chip, unsigned int core, struct vtpu_hw_core_stats *out);

#endif /* VTPU_CHIP_H */
