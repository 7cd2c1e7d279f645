/* SPDX-License-Identifier: MIT */
/*
 * cost.h - what an instruction costs, in integer cycles.
 *
 * Formulas over struct vtpu_hw_geometry and nothing else: never over data,
 * addresses or the host. The loader's event simulation and libvtpu's compiler
 * both include this file, so that a plan and the device agree to the cycle.
 * When an instruction may start is the simulation's (sim.c). docs/timing.md
 * tells where each formula is from.
 */
#ifndef VTPU_COST_H
#define VTPU_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "types.h"

/** struct vtpu_cost - one instruction's time and work */
struct vtpu_cost {
	/** @issue: cycles until the unit can take its next instruction, when that is not @busy (DMA, ICI), else 0 */
	uint64_t issue;
	/** @busy: cycles that the unit works; for @hbm, cycles of the core's share of HBM */
	uint64_t busy;
	/** @fill: cycles before @busy when the unit was idle */
	uint64_t fill;
	/** @latency: cycles from the end of @busy until the result is there */
	uint64_t latency;
	/** @macs: multiply-adds that the instruction asks for, padding not counted */
	uint64_t macs;
	/** @hbm_bytes: HBM bytes that it moves, not rounded */
	uint64_t hbm_bytes;
	/** @hbm: @busy is time of the HBM share, granted one transfer after the other */
	bool hbm;
	/** @link: @busy is time of an ICI link, granted likewise: enum vtpu_cost_link */
	uint8_t link;
};

/** enum vtpu_cost_link - the ring of a gang's cores has a link each way */
enum vtpu_cost_link {
	VTPU_COST_UP = 1, /* to higher core ids */
	VTPU_COST_DOWN = 2,
	VTPU_COST_LINKS = 2,
};

/* A vector instruction's pipeline start; ours. */
#define VTPU_COST_START 20
/* HBM moves whole units of this many bytes. */
#define VTPU_COST_HBM_UNIT 64
/* Cycles that a register of lanes takes in the cross-lane unit: 8 x 128 elements at one sublane a cycle. */
#define VTPU_COST_XLU 8
/* Sublane reduction: log2(8) rotate-and-combine steps. */
#define VTPU_COST_SUBLANES 3

/* ---- Arithmetic that saturates, so that absurd sizes cannot wrap ---------- */

static inline uint64_t vtpu_cost_mul(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t vtpu_cost_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/** vtpu_cost_div() - quotient, rounded up */
static inline uint64_t vtpu_cost_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static inline uint64_t vtpu_cost_round(uint64_t a, uint64_t b)
{
	return vtpu_cost_mul(vtpu_cost_div(a, b), b);
}

static inline uint64_t vtpu_cost_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/** vtpu_cost_vregs() - vector registers that [rows, cols] fill; partly filled ones cost as much as full ones */
static inline uint64_t vtpu_cost_vregs(const struct vtpu_hw_geometry *g, uint64_t rows,
				       uint64_t cols)
{
	return vtpu_cost_mul(vtpu_cost_div(rows, g->sublanes), vtpu_cost_div(cols, g->lanes));
}

/* ---- DMA ----------------------------------------------------------------- */

/** struct vtpu_cost_side - one side of a box, as memory sees it */
struct vtpu_cost_side {
	uint64_t bytes;	  /* moved */
	uint64_t rounded; /* the same, each run rounded up to VTPU_COST_HBM_UNIT */
	uint64_t runs;	  /* contiguous runs */
};

/** vtpu_cost_side() - the runs of the source or destination of a DMA */
static inline struct vtpu_cost_side vtpu_cost_side(const struct vtpu_insn_dma *dma, bool dst)
{
	const __s32 *stride = dst ? dma->dst_stride : dma->src_stride;
	uint64_t run = vtpu_type_bytes(dst ? dma->dst_type : dma->src_type), runs = 1;
	bool contiguous = true;

	for (unsigned int d = 0; d < 5; d++) {
		uint64_t count = dma->count[d];

		if (dst && d < 4)
			count += (uint64_t)dma->pad_before[d] + dma->pad_after[d];
		if (count == 1)
			continue;
		contiguous = contiguous && stride[d] > 0 && (uint64_t)stride[d] == run;
		if (contiguous)
			run = vtpu_cost_mul(run, count);
		else
			runs = vtpu_cost_mul(runs, count);
	}
	return (struct vtpu_cost_side){
		.bytes = vtpu_cost_mul(run, runs),
		.rounded = vtpu_cost_mul(vtpu_cost_round(run, VTPU_COST_HBM_UNIT), runs),
		.runs = runs,
	};
}

/** vtpu_cost_hbm() - cycles of a core's HBM share for @rounded bytes in @runs runs */
static inline uint64_t vtpu_cost_hbm(const struct vtpu_hw_geometry *g, uint64_t rounded,
				     uint64_t runs)
{
	return vtpu_cost_add(vtpu_cost_div(vtpu_cost_mul(rounded, 65536), g->hbm_q16), runs);
}

/** vtpu_cost_dma() - COPY and FILL */
static inline struct vtpu_cost vtpu_cost_dma(const struct vtpu_hw_geometry *g,
					     const struct vtpu_insn *insn)
{
	const struct vtpu_insn_dma *dma = &insn->payload.dma;
	bool from_hbm = insn->opcode != VTPU_OP_FILL && VTPU_ADDR_SPACE(dma->src) == VTPU_SPACE_HBM;
	bool to_hbm = VTPU_ADDR_SPACE(dma->dst) == VTPU_SPACE_HBM;
	struct vtpu_cost_side src = { 0 }, dst = vtpu_cost_side(dma, true);
	struct vtpu_cost cost = { .issue = g->dma_setup, .hbm = from_hbm || to_hbm };

	if (from_hbm) {
		src = vtpu_cost_side(dma, false);
		cost.busy = vtpu_cost_hbm(g, src.rounded, src.runs);
		cost.hbm_bytes = src.bytes;
	}
	if (to_hbm) {
		cost.busy = vtpu_cost_add(cost.busy, vtpu_cost_hbm(g, dst.rounded, dst.runs));
		cost.hbm_bytes = vtpu_cost_add(cost.hbm_bytes, dst.bytes);
	}
	if (cost.hbm) {
		cost.latency = g->hbm_latency;
		return cost;
	}
	/* Inside the core: one vector register stored a cycle. */
	cost.busy = vtpu_cost_div(dst.bytes, 4ULL * g->lanes * g->sublanes);
	cost.latency = VTPU_COST_START;
	return cost;
}

/* ---- ICI ----------------------------------------------------------------- */

/** vtpu_cost_hops() - links between a core and the one @core further on, the shorter way round the ring */
static inline uint32_t vtpu_cost_hops(uint32_t core, uint32_t width)
{
	return core <= width - core ? core : width - core;
}

/**
 * vtpu_cost_send() - SEND
 *
 * All cores run the text, so while one sends over several links, each of these
 * carries as many others' bytes for it as it carries its own for others.
 */
static inline struct vtpu_cost vtpu_cost_send(const struct vtpu_hw_geometry *g,
					      const struct vtpu_insn *insn, uint32_t width)
{
	const struct vtpu_insn_dma *dma = &insn->payload.dma;
	const uint32_t hops = vtpu_cost_hops(dma->core % width, width);
	const uint64_t bytes = vtpu_cost_side(dma, true).bytes;
	struct vtpu_cost cost = { .issue = g->dma_setup };

	if (!hops) {
		cost.busy = vtpu_cost_div(bytes, 4ULL * g->lanes * g->sublanes);
		cost.latency = VTPU_COST_START;
		return cost;
	}
	cost.busy = vtpu_cost_div(vtpu_cost_mul(vtpu_cost_mul(bytes, hops), 65536), g->ici_q16);
	cost.latency = (uint64_t)hops * g->ici_hop;
	cost.link = dma->core == hops ? VTPU_COST_UP : VTPU_COST_DOWN;
	return cost;
}

/* ---- MXU ----------------------------------------------------------------- */

#include "cost_conv.h"

/** vtpu_cost_passes() - passes of the array that a product of these types takes */
static inline uint32_t vtpu_cost_passes(const struct vtpu_hw_geometry *g,
					const struct vtpu_insn_mxu *x)
{
	if (x->passes)
		return x->passes;
	return x->a_type == VTPU_TYPE_F32 || x->b_type == VTPU_TYPE_F32 ? g->matmul_passes_f32 : 1;
}

/** vtpu_cost_epilogue_weight() - vector operations of an epilogue operation for each register */
static inline uint32_t vtpu_cost_epilogue_weight(uint32_t op)
{
	switch (op) {
	case VTPU_EPI_NONE:
		return 0;
	case VTPU_EPI_LEAKY_RELU:
	case VTPU_EPI_CLAMP:
		return 2;
	case VTPU_EPI_TANH:
		return 8;
	case VTPU_EPI_SIGMOID:
		return 10;
	case VTPU_EPI_SILU:
		return 11;
	case VTPU_EPI_GELU:
		return 14;
	case VTPU_EPI_DROPOUT:
		return 20;
	default:
		return 1;
	}
}

/** vtpu_cost_matmul() - cycles that the arrays stream a product of [m,k] and [k,n], @batch times */
static inline uint64_t vtpu_cost_matmul(const struct vtpu_hw_geometry *g, uint64_t m, uint64_t n,
					uint64_t k, uint64_t batch, uint32_t passes, bool split_m)
{
	uint64_t tiles_k = vtpu_cost_div(k, g->mxu_dim), tiles_n = vtpu_cost_div(n, g->mxu_dim);
	uint64_t rows = split_m ? vtpu_cost_div(m, g->mxu_per_core) : m;
	uint64_t stream = vtpu_cost_div(vtpu_cost_round(rows, g->sublanes) * 256, g->mxu_rows_q8);
	uint64_t weights = vtpu_cost_div((uint64_t)g->mxu_dim * 256, g->mxu_rows_q8);

	if (!split_m)
		tiles_n = vtpu_cost_div(tiles_n, g->mxu_per_core);
	/* The next weights are loaded beside the stream: a short stream waits for them. */
	return vtpu_cost_mul(vtpu_cost_mul(vtpu_cost_mul(tiles_k, tiles_n),
					   vtpu_cost_mul(batch, passes)),
			     vtpu_cost_max(stream, weights));
}

/** vtpu_cost_mxu() - MATMUL and convolutions with their epilogue */
static inline struct vtpu_cost vtpu_cost_mxu(const struct vtpu_hw_geometry *g,
					     const struct vtpu_insn *insn)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	struct vtpu_cost_conv c = { .m = x->m, .n = x->n, .k = x->k };
	uint32_t weight = x->d_type == VTPU_TYPE_BF16;
	uint64_t stream, epilogue, columns = x->n;

	c.macs = vtpu_cost_mul(vtpu_cost_mul(x->m, x->n), vtpu_cost_mul(x->k, x->g));
	if (insn->opcode != VTPU_OP_MATMUL) {
		c = vtpu_cost_conv_shape(insn);
		columns = c.n * x->g;
	}
	for (unsigned int i = 0; i < 4 && x->epi_op[i]; i++)
		weight += vtpu_cost_epilogue_weight(x->epi_op[i]);
	stream = vtpu_cost_matmul(g, c.m, c.n, c.k, x->g, vtpu_cost_passes(g, x),
				  x->mode & VTPU_MXU_SPLIT_M);
	/* The vector slots work on results as they leave the array; only what takes longer shows. */
	epilogue = vtpu_cost_div(vtpu_cost_mul(vtpu_cost_vregs(g, c.m, columns), weight),
				 g->valu_slots);
	return (struct vtpu_cost){
		.busy = vtpu_cost_max(stream, epilogue),
		.fill = vtpu_cost_div((uint64_t)g->mxu_dim * 256, g->mxu_rows_q8),
		.latency = 2ULL * g->mxu_dim - 2 + g->sublanes,
		.macs = c.macs,
	};
}

#include "cost_vpu.h"

/* ---- Any instruction ------------------------------------------------------ */

/** vtpu_cost_remote() - cycles after a completion at which another core sees its signal, or a barrier opens */
static inline uint64_t vtpu_cost_remote(const struct vtpu_hw_geometry *g)
{
	return g->ici_hop;
}

/**
 * vtpu_cost_insn() - cost of an instruction of a program for @width cores
 *
 * The instruction need not be valid; sizes that no program can have saturate.
 */
static inline struct vtpu_cost vtpu_cost_insn(const struct vtpu_hw_geometry *g,
					      const struct vtpu_insn *insn, uint32_t width)
{
	switch (insn->unit) {
	case VTPU_UNIT_DMA:
		return vtpu_cost_dma(g, insn);
	case VTPU_UNIT_MXU:
		return vtpu_cost_mxu(g, insn);
	case VTPU_UNIT_VPU:
		return vtpu_cost_vpu(g, insn);
	case VTPU_UNIT_XLU:
		return vtpu_cost_rows(g, insn);
	case VTPU_UNIT_ICI:
		return vtpu_cost_send(g, insn, width);
	default:
		return (struct vtpu_cost){
			.busy = 1,
			.latency = insn->opcode == VTPU_OP_BARRIER && width > 1 ?
					   vtpu_cost_remote(g) :
					   0,
		};
	}
}

#endif /* VTPU_COST_H */
