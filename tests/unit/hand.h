/* SPDX-License-Identifier: MIT */
/*
 * hand.h - programs and runs put together by hand, without image or loader.
 *
 * For tests of executor and units: a list of instructions whose hazard graph
 * the test states itself (by default each waits for the one before), memory
 * for cores and bases, and a run that is started and awaited.
 */
#ifndef TESTS_UNIT_HAND_H
#define TESTS_UNIT_HAND_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "vtpu_model.h"

#define HAND_VMEM (16u << 20)
#define HAND_SMEM (16u << 10)

/** struct hand - one program with room for @max instances and joins */
struct hand {
	struct vtpu_program p;
	struct vtpu_image_base base[8];
	uint32_t max, edges, room;
	uint32_t (*edge)[2];
};

static inline void *hand_alloc(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!p) {
		fprintf(stderr, "hand: out of memory\n");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

static inline void hand_begin(struct hand *h, uint32_t width, uint32_t max)
{
	memset(h, 0, sizeof(*h));
	h->max = max;
	h->p.width = width;
	h->p.base = h->base;
	h->p.nbases = 8;
	h->p.instance = hand_alloc(max * sizeof(struct vtpu_instance));
	h->p.preds = hand_alloc(max * sizeof(uint32_t));
	h->p.succ_start = hand_alloc((max + 1) * sizeof(uint32_t));
	for (int u = 0; u < VTPU_UNITS; u++)
		h->p.text[u] = hand_alloc(max * sizeof(struct vtpu_insn));
}

/** hand_insn() - append an instance of a new instruction on @core */
static inline struct vtpu_insn *hand_insn(struct hand *h, uint8_t opcode, uint32_t core)
{
	uint8_t unit = opcode >> 4;
	struct vtpu_insn *insn = &h->p.text[unit][h->p.count[unit]];

	h->p.instance[h->p.instances++] = (struct vtpu_instance){
		.index = h->p.count[unit]++,
		.unit = unit,
		.core = core,
	};
	h->p.nodes = h->p.instances;
	insn->opcode = opcode;
	insn->unit = unit;
	insn->op_id = h->p.instances;
	return insn;
}

/** hand_edge() - @to must wait for @from */
static inline void hand_edge(struct hand *h, uint32_t from, uint32_t to)
{
	if (h->edges == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->edge = realloc(h->edge, h->room * sizeof(h->edge[0]));
		if (!h->edge)
			exit(1);
	}
	h->edge[h->edges][0] = from;
	h->edge[h->edges++][1] = to;
}

/** hand_chain() - each instance waits for the one before */
static inline void hand_chain(struct hand *h)
{
	for (uint32_t i = 1; i < h->p.instances; i++)
		hand_edge(h, i - 1, i);
}

/** hand_end() - turn the edges into the program's form */
static inline void hand_end(struct hand *h)
{
	struct vtpu_program *p = &h->p;
	uint32_t *next = hand_alloc((p->nodes + 1) * sizeof(uint32_t));

	p->edges = h->edges;
	p->succ = hand_alloc((h->edges + 1) * sizeof(uint32_t));
	for (uint32_t e = 0; e < h->edges; e++) {
		p->succ_start[h->edge[e][0] + 1]++;
		p->preds[h->edge[e][1]]++;
	}
	for (uint32_t n = 0; n < p->nodes; n++)
		p->succ_start[n + 1] += p->succ_start[n];
	memcpy(next, p->succ_start, (p->nodes + 1) * sizeof(uint32_t));
	for (uint32_t e = 0; e < h->edges; e++)
		p->succ[next[h->edge[e][0]]++] = h->edge[e][1];
	free(next);
}

static inline void hand_free(struct hand *h)
{
	for (int u = 0; u < VTPU_UNITS; u++)
		free(h->p.text[u]);
	free(h->p.instance);
	free(h->p.preds);
	free(h->p.succ_start);
	free(h->p.succ);
	free(h->edge);
}

/* ---- Runs ---------------------------------------------------------------- */

/** struct hand_run - a run with its own memory and a way to wait for it */
struct hand_run {
	struct vtpu_run run;
	struct vtpu_hw_geometry geometry;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int done;
};

static inline void hand_done(struct vtpu_run *run)
{
	struct hand_run *r = run->opaque;

	pthread_mutex_lock(&r->lock);
	r->done++;
	pthread_cond_signal(&r->cond);
	pthread_mutex_unlock(&r->lock);
}

static inline void hand_run_init(struct hand_run *r, struct vtpu_program *p,
				 const struct vtpu_kernels *kernels)
{
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->cond, NULL);
	r->geometry.vmem_bytes = HAND_VMEM;
	r->geometry.smem_bytes = HAND_SMEM;
	r->run.program = p;
	r->run.geometry = &r->geometry;
	r->run.kernels = kernels;
	r->run.fault_core = VTPU_NO_CORE;
	r->run.done = hand_done;
	r->run.opaque = r;
	for (uint32_t c = 0; c < p->width; c++) {
		r->run.core[c].vmem = hand_alloc(HAND_VMEM + 64);
		r->run.core[c].smem = hand_alloc(HAND_SMEM);
	}
}

static inline void hand_run_free(struct hand_run *r)
{
	for (uint32_t c = 0; c < r->run.program->width; c++) {
		free(r->run.core[c].vmem);
		free(r->run.core[c].smem);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->cond);
}

static inline void hand_start(struct hand_run *r, struct vtpu_pool *pool)
{
	r->done = 0;
	atomic_store(&r->run.cancel, false);
	if (!vtpu_run_start(pool, &r->run)) {
		fprintf(stderr, "hand: run did not start\n");
		exit(1);
	}
}

static inline void hand_wait(struct hand_run *r)
{
	pthread_mutex_lock(&r->lock);
	while (!r->done)
		pthread_cond_wait(&r->cond, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

#endif /* TESTS_UNIT_HAND_H */
