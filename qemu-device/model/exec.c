// SPDX-License-Identifier: MIT
/*
 * exec.c - the parallel executor: a program's hazard graph as tasks.
 *
 * Nodes whose predecessors have ended are in a queue that every node passes
 * through at most once, so it needs no lock and no recycling. A worker that
 * ends a node goes on with one of those it made ready, which is where its data
 * is warm, and queues the rest. An instruction with many parts is opened: idle
 * workers claim parts of it, and whoever finishes the last part ends it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "exec.h"

#define NONE  UINT32_MAX
#define ENDED UINT32_MAX /* in place of the number of predecessors that have not */

/* ---- Ready nodes --------------------------------------------------------- */

static void push(struct vtpu_exec *x, uint32_t node)
{
	uint32_t slot = atomic_fetch_add_explicit(&x->tail, 1, memory_order_relaxed);

	atomic_store(&x->queue[slot], node + 1);
}

static uint32_t peek(struct vtpu_exec *x, uint32_t *head)
{
	*head = atomic_load(&x->head);
	return *head < x->run->program->nodes ? atomic_load(&x->queue[*head]) : 0;
}

static uint32_t pop(struct vtpu_exec *x)
{
	uint32_t head, value;

	do {
		value = peek(x, &head);
		if (!value)
			return NONE;
	} while (!atomic_compare_exchange_weak(&x->head, &head, head + 1));
	return value - 1;
}

/* ---- Split instructions -------------------------------------------------- */

/* Fields of struct vtpu_open.claim */
#define CLAIM(generation, parts, next) \
	((uint64_t)(generation) << 32 | (uint64_t)(parts) << 16 | (next))
#define CLAIM_GENERATION(c) ((uint32_t)((c) >> 32))
#define CLAIM_PARTS(c)	    ((uint32_t)((c) >> 16 & 0xffff))
#define CLAIM_NEXT(c)	    ((uint32_t)((c)&0xffff))

static struct vtpu_open *open_node(struct vtpu_exec *x, uint32_t node, uint32_t parts)
{
	for (unsigned int i = 0; i < x->nopen; i++) {
		struct vtpu_open *o = &x->open[i];
		uint32_t free = 0;

		/* The old claim has no part left, so nobody comes in before the new one is there. */
		if (!atomic_compare_exchange_strong(&o->left, &free, parts))
			continue;
		o->node = node;
		atomic_fetch_add(&x->open_parts, parts);
		atomic_store(&o->claim,
			     CLAIM(CLAIM_GENERATION(atomic_load(&o->claim)) + 1, parts, 0));
		return o;
	}
	return NULL;
}

static bool claim_part(struct vtpu_exec *x, struct vtpu_open *o, uint32_t *part, uint32_t *parts)
{
	uint64_t claim = atomic_load(&o->claim);

	do {
		if (CLAIM_NEXT(claim) >= CLAIM_PARTS(claim))
			return false;
	} while (!atomic_compare_exchange_weak(&o->claim, &claim, claim + 1));
	atomic_fetch_sub(&x->open_parts, 1);
	*part = CLAIM_NEXT(claim);
	*parts = CLAIM_PARTS(claim);
	return true;
}

/* ---- Nodes --------------------------------------------------------------- */

/* The first in semantic order counts: the other parts of a faulty instance still run. */
void vtpu_exec_fault(struct vtpu_exec *x, uint32_t node, uint32_t part, enum vtpu_hw_status status,
		     uint64_t addr)
{
	const struct vtpu_instance *i = &x->run->program->instance[node];

	pthread_mutex_lock(&x->fault_lock);
	if (node < atomic_load(&x->fault_at) ||
	    (node == atomic_load(&x->fault_at) && part < x->fault_part)) {
		atomic_store(&x->fault_at, node);
		x->fault_part = part;
		x->run->status = status;
		x->run->op_id = x->run->program->text[i->unit][i->index].op_id;
		x->run->where = VTPU_WHERE(i->unit, i->core, 0);
		x->run->fault_addr = addr;
	}
	pthread_mutex_unlock(&x->fault_lock);
}

/* A node has ended: returns one that has become ready, and queues the others. */
static uint32_t end_node(struct vtpu_exec *x, uint32_t node)
{
	const struct vtpu_program *p = x->run->program;
	uint32_t next = NONE, queued = 0;

	atomic_store_explicit(&x->preds[node], ENDED, memory_order_relaxed);
	for (uint32_t i = p->succ_start[node]; i < p->succ_start[node + 1]; i++) {
		uint32_t succ = p->succ[i];

		if (atomic_fetch_sub_explicit(&x->preds[succ], 1, memory_order_acq_rel) != 1)
			continue;
		if (next == NONE) {
			next = succ;
			continue;
		}
		push(x, succ);
		queued++;
	}
	if (node < p->instances && atomic_fetch_add(&x->run->retired, 1) + 1 == p->instances)
		atomic_store(&x->work.over, true);
	vtpu_pool_kick(x->pool, queued);
	return next;
}

/* One part of an instance; false when the run is cancelled, and the part must count as not done. */
static bool run_part(struct vtpu_exec *x, struct vtpu_worker *worker, uint32_t node, uint32_t part,
		     uint32_t parts)
{
	struct vtpu_scratch *s = vtpu_worker_scratch(worker);
	enum vtpu_hw_status status;
	struct vtpu_op op;

	if (node > atomic_load_explicit(&x->fault_at, memory_order_relaxed))
		return true;
	if (vtpu_exec_stands(x, node))
		return false;
	vtpu_op_init(&op, x->run, node);
	status = vtpu_op_run(&op, part, parts, s);
	if (vtpu_exec_cancelled(x))
		return false;
	if (status != VTPU_ST_OK)
		vtpu_exec_fault(x, node, part, status, s->fault_addr);
	return true;
}

/* Claims and runs parts of @o until none is left; returns what its end has made ready. */
static uint32_t work_on(struct vtpu_exec *x, struct vtpu_worker *worker, struct vtpu_open *o)
{
	uint32_t part, parts;

	while (claim_part(x, o, &part, &parts)) {
		uint32_t node = o->node;

		if (!run_part(x, worker, node, part, parts))
			return NONE;
		if (atomic_fetch_sub(&o->left, 1) == 1)
			return end_node(x, node);
	}
	return NONE;
}

static uint32_t run_node(struct vtpu_exec *x, struct vtpu_worker *worker, uint32_t node)
{
	uint32_t threads = vtpu_pool_threads(x->pool), parts;
	struct vtpu_open *o = NULL;
	struct vtpu_op op;

	/* Joins only pass the end of their predecessors on. */
	if (node >= x->run->program->instances)
		return end_node(x, node);
	vtpu_op_init(&op, x->run, node);
	parts = vtpu_op_parts(&op, threads);
	if (parts > 1)
		o = open_node(x, node, parts);
	if (o) {
		if (threads > 1)
			vtpu_pool_kick(x->pool, parts - 1);
		return work_on(x, worker, o);
	}
	return run_part(x, worker, node, 0, 1) ? end_node(x, node) : NONE;
}

static uint32_t help(struct vtpu_exec *x, struct vtpu_worker *worker, bool *helped)
{
	*helped = false;
	for (unsigned int i = 0; i < x->nopen && !*helped; i++) {
		uint64_t claim = atomic_load(&x->open[i].claim);

		if (CLAIM_NEXT(claim) < CLAIM_PARTS(claim)) {
			*helped = true;
			return work_on(x, worker, &x->open[i]);
		}
	}
	return NONE;
}

/* ---- Turns --------------------------------------------------------------- */

void vtpu_exec_setup(struct vtpu_exec *x)
{
	const struct vtpu_program *p = x->run->program;

	for (uint32_t c = 0; c < p->width; c++)
		memcpy(x->run->core[c].smem, x->run->scalar, p->nscalars * sizeof(uint32_t));
	if (!p->instances)
		atomic_store(&x->work.over, true);
}

/* Fills the queue for the first time; returns how many nodes are ready. */
static uint32_t find_roots(struct vtpu_exec *x)
{
	const struct vtpu_program *p = x->run->program;
	uint32_t roots = 0;

	for (uint32_t i = 0; i < p->nodes; i++) {
		atomic_store_explicit(&x->preds[i], p->preds[i], memory_order_relaxed);
		atomic_store_explicit(&x->queue[i], 0, memory_order_relaxed);
	}
	for (uint32_t i = 0; i < p->nodes; i++) {
		if (!p->preds[i]) {
			push(x, i);
			roots++;
		}
	}
	return roots;
}

static void parallel_turn(struct vtpu_exec *x, struct vtpu_worker *worker)
{
	uint32_t next = NONE;

	for (;;) {
		bool helped = true;

		if (next == NONE)
			next = pop(x);
		if (next != NONE)
			next = run_node(x, worker, next);
		else
			next = help(x, worker, &helped);
		if (vtpu_exec_cancelled(x))
			atomic_store(&x->work.over, true);
		if (!helped || atomic_load(&x->work.over))
			return;
		if (vtpu_worker_turn_over(worker)) {
			if (next != NONE) {
				push(x, next);
				vtpu_pool_kick(x->pool, 1);
			}
			return;
		}
	}
}

static void turn(struct vtpu_work *work, struct vtpu_worker *worker)
{
	struct vtpu_exec *x = (struct vtpu_exec *)work;
	int phase = VTPU_EXEC_NEW;

	if (vtpu_exec_cancelled(x)) {
		atomic_store(&x->work.over, true);
		return;
	}
	if (atomic_compare_exchange_strong(&x->phase, &phase, VTPU_EXEC_BUSY)) {
		uint32_t roots;

		vtpu_exec_setup(x);
		roots = x->run->reference ? 0 : find_roots(x);
		atomic_store(&x->phase, VTPU_EXEC_RUNNING);
		if (roots > 1)
			vtpu_pool_kick(x->pool, roots - 1);
	} else if (phase == VTPU_EXEC_BUSY) {
		return;
	}
	if (!x->run->reference) {
		parallel_turn(x, worker);
		return;
	}
	phase = VTPU_EXEC_RUNNING;
	if (atomic_compare_exchange_strong(&x->phase, &phase, VTPU_EXEC_BUSY)) {
		vtpu_ref_turn(x, worker);
		atomic_store(&x->phase, VTPU_EXEC_RUNNING);
	}
}

static bool ready(struct vtpu_work *work)
{
	struct vtpu_exec *x = (struct vtpu_exec *)work;
	int phase = atomic_load(&x->phase);
	uint32_t head;

	if (vtpu_fault_hangs(x->run->fault) && atomic_load(&x->run->cancel))
		return true;
	if (phase == VTPU_EXEC_BUSY ||
	    (vtpu_fault_hangs(x->run->fault) && x->run->fault_core == VTPU_NO_CORE))
		return false;
	if (phase == VTPU_EXEC_NEW)
		return true;
	if (x->run->reference)
		return !vtpu_exec_stands(x, x->next);
	return peek(x, &head) || atomic_load(&x->open_parts);
}

/* Where a run that was told to end stands, unless a fault says more. */
static void tell_place(struct vtpu_exec *x)
{
	const struct vtpu_program *p = x->run->program;
	uint32_t first = 0;

	if (x->run->reference)
		first = x->next;
	else if (atomic_load(&x->phase) == VTPU_EXEC_RUNNING)
		while (first < p->instances && atomic_load(&x->preds[first]) == ENDED)
			first++;
	if (first < p->instances && atomic_load(&x->fault_at) == NONE)
		vtpu_exec_fault(x, first, 0, VTPU_ST_ABORTED, 0);
	x->run->status = VTPU_ST_ABORTED;
}

static void finish(struct vtpu_work *work)
{
	struct vtpu_exec *x = (struct vtpu_exec *)work;
	struct vtpu_run *run = x->run;
	bool whole = atomic_load(&run->retired) == run->program->instances;

	if ((vtpu_fault_hangs(run->fault) && run->fault_core == VTPU_NO_CORE) ||
	    (atomic_load(&run->cancel) && !whole))
		tell_place(x);
	else if (run->status == VTPU_ST_OK && run->fault == VTPU_FAULT_WRONG_BIT)
		vtpu_dma_wrong_bit(run);
	run->exec = NULL;
	pthread_mutex_destroy(&x->fault_lock);
	free(x);
	run->done(run);
}

bool vtpu_run_start(struct vtpu_pool *pool, struct vtpu_run *run)
{
	const struct vtpu_program *p = run->program;
	unsigned int nopen = VTPU_OPEN_PER_THREAD * vtpu_pool_threads(pool);
	size_t nodes = run->reference ? 0 : p->nodes;
	struct vtpu_exec *x;

	/* One block: the structure, the open slots, then two words for each node. */
	x = malloc(sizeof(*x) + nopen * sizeof(x->open[0]) + nodes * 2 * sizeof(uint32_t));
	if (!x)
		return false;
	memset(x, 0, sizeof(*x) + nopen * sizeof(x->open[0]));
	x->work.turn = turn;
	x->work.ready = ready;
	x->work.finish = finish;
	x->work.poll = vtpu_fault_hangs(run->fault);
	x->pool = pool;
	x->run = run;
	x->nopen = nopen;
	x->open = (struct vtpu_open *)(x + 1);
	x->preds = (_Atomic uint32_t *)(x->open + nopen);
	x->queue = x->preds + nodes;
	atomic_store(&x->fault_at, NONE);
	pthread_mutex_init(&x->fault_lock, NULL);

	run->status = VTPU_ST_OK;
	run->op_id = 0;
	run->where = 0;
	run->fault_addr = 0;
	atomic_store(&run->retired, 0);
	run->exec = x;
	vtpu_pool_add(pool, &x->work);
	return true;
}
