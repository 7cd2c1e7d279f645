/* SPDX-License-Identifier: MIT */
/*
 * exec.h - a run in progress: shared by the parallel and the reference executor.
 */
#ifndef VTPU_EXEC_H
#define VTPU_EXEC_H

#include <pthread.h>

#include "pool.h"

/* Instructions of one run that may be split over workers at once, for each thread of the pool. */
#define VTPU_OPEN_PER_THREAD 2

/**
 * struct vtpu_open - an instruction whose parts are up for grabs
 *
 * @claim is {generation, parts, next part}. Who moves "next" on by compare and
 * swap owns that part, and the instruction cannot end before the part does, so
 * @node stays what it was.
 */
struct vtpu_open {
	_Atomic uint64_t claim;
	_Atomic uint32_t left; /* parts not yet done; 0: slot is free */
	uint32_t node;
};

/** struct vtpu_exec - executor's state of a run */
struct vtpu_exec {
	struct vtpu_work work;
	struct vtpu_pool *pool;
	struct vtpu_run *run;
	atomic_int phase; /* enum vtpu_exec_phase */

	/* Parallel: */
	_Atomic uint32_t *preds; /* [nodes] predecessors that have not ended */
	_Atomic uint32_t *queue; /* [nodes] ready nodes, plus 1; each is queued once */
	_Atomic uint32_t head, tail;
	_Atomic uint32_t open_parts; /* unclaimed parts, about */
	unsigned int nopen;
	struct vtpu_open *open;

	/* Reference: */
	uint32_t next;

	/* Lowest instance that faulted; later ones do not start. And its lowest such part. */
	_Atomic uint32_t fault_at;
	uint32_t fault_part;
	pthread_mutex_t fault_lock;
};

enum vtpu_exec_phase {
	VTPU_EXEC_NEW,	/* nobody has set it up */
	VTPU_EXEC_BUSY, /* one worker is inside, and no other may be */
	VTPU_EXEC_RUNNING,
};

/** vtpu_exec_setup() - scalars into SMEM; done by the first worker */
void vtpu_exec_setup(struct vtpu_exec *x);

/** vtpu_exec_fault() - part @part of instance @node ended with @status at @addr */
void vtpu_exec_fault(struct vtpu_exec *x, uint32_t node, uint32_t part, enum vtpu_hw_status status,
		     uint64_t addr);

/** vtpu_exec_cancelled() - whether the run is to end now */
static inline bool vtpu_exec_cancelled(const struct vtpu_exec *x)
{
	return atomic_load_explicit(&x->run->cancel, memory_order_relaxed);
}

/** vtpu_exec_stands() - whether instance @node is of a core that hangs by injection, if there is such an instance */
static inline bool vtpu_exec_stands(const struct vtpu_exec *x, uint32_t node)
{
	const struct vtpu_run *run = x->run;

	return vtpu_fault_hangs(run->fault) && node < run->program->instances &&
	       run->program->instance[node].core == run->fault_core;
}

/** vtpu_ref_turn() - one turn of the reference executor */
void vtpu_ref_turn(struct vtpu_exec *x, struct vtpu_worker *worker);

#endif /* VTPU_EXEC_H */
