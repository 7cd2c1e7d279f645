/* SPDX-License-Identifier: MIT */
/*
 * program.h - a loaded program, and one run of it.
 *
 * The seam between the loader, which makes struct vtpu_program from an image,
 * the executor, which runs its hazard graph, and the arbiter, which binds
 * memory and cores to a run. Inside the model only.
 *
 * An instance is one instruction on one core. The loader's event simulation
 * orders all instances by completion; that order is the semantics, and an
 * instance's number is its place in it. The hazard graph has an edge from i to
 * j, i < j, where j must not start before i has ended. Nodes from
 * @instances up are joins: they do nothing and keep the number of edges linear.
 */
#ifndef VTPU_PROGRAM_H
#define VTPU_PROGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "vtpu_hw.h"

struct vtpu_pool;
struct vtpu_kernels;

/** struct vtpu_instance - instruction @index of @unit's text on @core of the gang */
struct vtpu_instance {
	uint32_t index;
	uint8_t unit;
	uint8_t core;
	uint16_t pad;
};

/** struct vtpu_program - immutable after the load; shared by reference */
struct vtpu_program {
	atomic_uint refs;
	uint32_t width;
	uint32_t nbases;
	uint32_t nscalars;
	uint64_t caps;
	struct vtpu_image_base *base; /* [nbases] */
	struct vtpu_insn *text[VTPU_UNITS];
	uint32_t count[VTPU_UNITS];
	uint8_t *constants; /* CONST section or NULL */
	uint64_t const_bytes;

	uint32_t instances;
	uint32_t nodes; /* instances and joins */
	uint64_t edges;
	struct vtpu_instance *instance; /* [instances], in semantic order */
	uint32_t *preds;		/* [nodes] number of predecessors */
	uint32_t *succ_start;		/* [nodes + 1] into succ */
	uint32_t *succ;			/* [edges] */

	uint64_t cycles;	   /* modelled, of one run */
	uint64_t *core_mxu_cycles; /* [width] */
	uint64_t *core_macs;	   /* [width] */
	uint64_t *core_hbm_bytes;  /* [width] */
	uint64_t vmem_bytes;	   /* highest byte used, plus 1, of any core */
	/*
	 * Some instance reads VMEM that none before it wrote: the arbiter must
	 * hand over cores with zeroed VMEM. Else whatever an earlier job left
	 * there cannot be seen.
	 */
	bool reads_cold_vmem;
	size_t host_bytes; /* of all of the above */
};

/** struct vtpu_load_request - what to load */
struct vtpu_load_request {
	/** @image: a private copy that nobody writes any more; only read during the load */
	const void *image;
	size_t bytes;
	const struct vtpu_hw_geometry *geometry;
	/** @caps: VTPU_CAP_* of the device */
	uint64_t caps;
	/** @flags: VTPU_LOAD_* */
	uint32_t flags;
	/** @cancel: polled at least every 2 ms; may be NULL */
	const atomic_bool *cancel;
};

/**
 * vtpu_program_load() - validate an image, simulate its time, derive its graph
 * @req: what
 * @out: the program with one reference, when the status is OK
 * @result: filled in whatever the status, as far as the load came
 * @records: room for %VTPU_MAX_RECORDS findings; result->records says how many
 *
 * Needs no locks; any thread. Nothing in the image is taken on trust.
 */
enum vtpu_hw_status vtpu_program_load(const struct vtpu_load_request *req,
				      struct vtpu_program **out, struct vtpu_load_result *result,
				      struct vtpu_load_record *records);

void vtpu_program_get(struct vtpu_program *program);

/** vtpu_program_put() - drop a reference; the last one frees. NULL is fine */
void vtpu_program_put(struct vtpu_program *program);

/* ---- Runs ---------------------------------------------------------------- */

/** struct vtpu_core_mem - private memories of a core */
struct vtpu_core_mem {
	uint8_t *vmem;	/* geometry's vmem_bytes, 4 KiB aligned, and 64 readable bytes beyond */
	uint32_t *smem; /* geometry's smem_bytes; scalars are set by the run's start */
};

/**
 * struct vtpu_run - one execution of a program
 *
 * The arbiter fills in the first part and owns the memory; it stays valid and
 * unchanged until @done. A run that is started ends exactly once, within 2 ms
 * of host work per thread after @cancel is set.
 */
struct vtpu_run {
	struct vtpu_program *program;
	const struct vtpu_hw_geometry *geometry;
	const struct vtpu_kernels *kernels;
	uint8_t *base[VTPU_MAX_BASES +
		      1]; /* host address of each base's first byte; [VTPU_BASE_CONST] too */
	uint32_t scalar[VTPU_MAX_SCALARS];
	struct vtpu_core_mem core[VTPU_MAX_CORES]; /* by core of the gang */
	bool reference;
	bool dense;	       /* skip no products with zero */
	enum vtpu_fault fault; /* injected: struct vtpu_injection says what it does, */
	uint32_t fault_core;   /* of this core of the gang, or VTPU_NO_CORE */
	/** @done: called once, on a worker, after the last access to any of this memory */
	void (*done)(struct vtpu_run *run);
	void *opaque;

	/** @cancel: set from any thread, to make the run end early */
	atomic_bool cancel;
	/** @retired: instances ended so far, for watchdog and progress register */
	atomic_uint_fast64_t retired;

	/*
	 * Valid in @done: OK or a fault. A cancelled run reports ABORTED and
	 * the caller knows better. The fault is the first in semantic order; of a
	 * cancelled run, the first instance in that order that has not ended.
	 */
	enum vtpu_hw_status status;
	uint32_t op_id;
	uint32_t where;
	uint64_t fault_addr;

	void *exec; /* the executor's own */
};

/**
 * vtpu_run_start() - hand a run to the pool
 *
 * Runs of all chips share the workers round-robin. A program without
 * instructions also goes through a worker. Return: false without memory; then
 * @done is not called.
 */
bool vtpu_run_start(struct vtpu_pool *pool, struct vtpu_run *run);

/**
 * vtpu_kernels_choose() - host kernels for an instruction set
 * @isa: enum vtpu_isa; AUTO: what environment variable VTPU_ISA says, else the widest
 * @err: sentence on refusal
 * @err_bytes: room
 *
 * Return: NULL with @err set when this CPU lacks it, or there is no such instruction set.
 */
const struct vtpu_kernels *vtpu_kernels_choose(int isa, char *err, size_t err_bytes);

/** vtpu_kernels_select() - likewise, but falls back to what this CPU has */
const struct vtpu_kernels *vtpu_kernels_select(int isa);

/** vtpu_kernels_dense() - does the environment say VTPU_DENSE, and not 0? */
bool vtpu_kernels_dense(void);

/** vtpu_kernels_isa() - which (enum vtpu_isa) these are */
int vtpu_kernels_isa(const struct vtpu_kernels *kernels);

/**
 * vtpu_pool_submit() - run @fn(arg) once on a worker, before or between tasks of runs
 *
 * For loads. Return: false without memory.
 */
bool vtpu_pool_submit(struct vtpu_pool *pool, void (*fn)(void *arg), void *arg);

#endif /* VTPU_PROGRAM_H */
