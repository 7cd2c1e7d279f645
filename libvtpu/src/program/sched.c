// SPDX-License-Identifier: MIT
/*
 * sched.c - a schedule that is timed while it is written: a core's queues, its
 * share of HBM and its semaphores, with the costs of the device's own table.
 */
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "program/dense.h"
#include "program/sched.h"

void sched_begin(struct sched *s, const struct vtpu_hw_geometry *geometry,
		 struct vtpu_builder *builder)
{
	s->geometry = geometry;
	s->builder = builder;
	s->limit = UINT64_MAX;
	memset(s->issue, 0, sizeof(s->issue));
	s->hbm = 0;
	s->end = 0;
	for (int i = 0; i < SCHED_SEMS; i++)
		s->sem[i].count = 0;
}

void sched_free(struct sched *s)
{
	for (int i = 0; i < SCHED_SEMS; i++)
		free(s->sem[i].time);
	memset(s, 0, sizeof(*s));
}

bool sched_over(const struct sched *s)
{
	return s->no_memory || s->end >= s->limit;
}

/* When may an instruction of @unit start? */
static uint64_t start_of(const struct sched *s, int unit, const struct vtpu_emit *emit)
{
	uint64_t start = s->issue[unit];

	for (int i = 0; i < 2; i++) {
		const struct sched_sem *sem = &s->sem[emit->wait[i].sem];

		if (emit->wait[i].value && emit->wait[i].value <= sem->count &&
		    sem->time[emit->wait[i].value - 1] > start)
			start = sem->time[emit->wait[i].value - 1];
	}
	return start;
}

/* An instruction is complete at @time. */
static void complete(struct sched *s, const struct vtpu_emit *emit, uint64_t time)
{
	for (int i = 0; i < 2; i++) {
		struct sched_sem *sem = &s->sem[emit->signal[i].sem];

		if (!emit->signal[i].inc)
			continue;
		if (sem->count == sem->room) {
			uint32_t room = sem->room ? 2 * sem->room : 256;
			uint64_t *time_of = realloc(sem->time, room * sizeof(*time_of));

			if (!time_of) {
				s->no_memory = true;
				return;
			}
			sem->time = time_of;
			sem->room = room;
		}
		sem->time[sem->count++] = time;
	}
	if (time > s->end)
		s->end = time;
}

/* An instruction of a unit that is not the DMA. */
static void compute(struct sched *s, const struct vtpu_emit *emit, const struct vtpu_insn *insn)
{
	struct vtpu_cost cost = vtpu_cost_insn(s->geometry, insn, 1);
	uint64_t start = start_of(s, insn->unit, emit);

	/* An array that was idle has no weights yet. */
	if (start > s->issue[insn->unit] || !start)
		start += cost.fill;
	s->issue[insn->unit] = start + cost.busy;
	complete(s, emit, start + cost.busy + cost.latency);
}

void sched_copy(struct sched *s, const struct vtpu_emit *emit, const struct vtpu_insn_dma *dma)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_COPY,
				  .unit = VTPU_UNIT_DMA,
				  .payload.dma = *dma };
	struct vtpu_cost cost = vtpu_cost_insn(s->geometry, &insn, 1);
	uint64_t start = start_of(s, VTPU_UNIT_DMA, emit) + cost.issue;

	s->issue[VTPU_UNIT_DMA] = start;
	if (start > s->hbm)
		s->hbm = start;
	s->hbm += cost.busy;
	complete(s, emit, s->hbm + cost.latency);
	if (s->builder)
		vtpu_emit_copy(s->builder, emit, dma);
}

void sched_matmul(struct sched *s, const struct vtpu_emit *emit, const struct vtpu_insn_mxu *mxu)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_MATMUL,
				  .unit = VTPU_UNIT_MXU,
				  .payload.mxu = *mxu };

	compute(s, emit, &insn);
	if (s->builder)
		vtpu_emit_matmul(s->builder, emit, mxu);
}

void sched_softmax(struct sched *s, const struct vtpu_emit *emit, const struct vtpu_insn_rows *rows)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_SOFTMAX,
				  .unit = VTPU_UNIT_VPU,
				  .payload.rows = *rows };

	compute(s, emit, &insn);
	if (s->builder)
		vtpu_emit_softmax(s->builder, emit, rows);
}

static uint64_t product_cycles(const struct vtpu_hw_geometry *g, const struct vtpu_insn_mxu *mxu,
			       uint32_t rows, bool split)
{
	return vtpu_cost_matmul(g, rows, mxu->n, mxu->k, mxu->g, vtpu_cost_passes(g, mxu), split);
}

bool sched_split_rows(const struct vtpu_hw_geometry *g, const struct vtpu_insn_mxu *mxu,
		      uint32_t rows)
{
	return product_cycles(g, mxu, rows, true) < product_cycles(g, mxu, rows, false);
}

uint64_t sched_product_cycles(const struct vtpu_hw_geometry *g, const struct vtpu_insn_mxu *mxu,
			      uint32_t rows)
{
	return product_cycles(g, mxu, rows, sched_split_rows(g, mxu, rows));
}

uint64_t sched_ideal_cycles(const struct vtpu_hw_geometry *g, uint64_t m, uint32_t n, uint32_t k,
			    uint8_t type)
{
	const struct vtpu_insn_mxu mxu = { .a_type = type, .b_type = type };
	uint64_t macs = vtpu_cost_mul(vtpu_cost_mul(m, n), k),
		 array = (uint64_t)g->mxu_dim * g->mxu_dim;

	macs = vtpu_cost_mul(macs, vtpu_cost_passes(g, &mxu));
	return vtpu_cost_div(vtpu_cost_mul(macs, 256), array * g->mxu_per_core * g->mxu_rows_q8);
}

void sched_copy_matrix(struct sched *s, const struct vtpu_emit *emit,
		       const struct sched_matrix *dst, const struct sched_matrix *src,
		       uint32_t rows, uint32_t cols)
{
	uint64_t src_bytes = vtpu_type_bytes(src->type), dst_bytes = vtpu_type_bytes(dst->type);
	struct vtpu_insn_dma dma = {
		.src = src->addr,
		.dst = dst->addr,
		.src_type = src->type,
		.dst_type = dst->type,
		.ndim = 2,
		.count = { cols, rows, 1, 1, 1 },
		.src_stride = { src_bytes, src->pitch },
		.dst_stride = { dst_bytes, dst->pitch },
	};
	uint64_t all = (uint64_t)rows * cols;

	if (rows == 1 || (src->pitch == cols * src_bytes && dst->pitch == cols * dst_bytes &&
			  all <= UINT32_MAX)) {
		dma.ndim = 1;
		dma.count[0] = all;
		dma.count[1] = 1;
		dma.src_stride[1] = dma.dst_stride[1] = 0;
	}
	sched_copy(s, emit, &dma);
}
