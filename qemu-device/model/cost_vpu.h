/* SPDX-License-Identifier: MIT */
/*
 * cost_vpu.h - what the instructions of the VPU and the XLU cost.
 *
 * Part of cost.h, which is the one to include.
 */
#ifndef VTPU_COST_VPU_H
#define VTPU_COST_VPU_H

/* ---- VPU and XLU ---------------------------------------------------------- */

/** vtpu_cost_ew_weight() - vector operations of a micro-op for each register */
static inline uint32_t vtpu_cost_ew_weight(uint32_t op)
{
	switch (op) {
	case VTPU_EW_FMA:
		return 2;
	case VTPU_EW_DIV:
	case VTPU_EW_SQRT:
	case VTPU_EW_RSQRT:
	case VTPU_EW_RCP:
		return 4;
	case VTPU_EW_EXP:
	case VTPU_EW_LOG:
	case VTPU_EW_TANH:
		return 8;
	case VTPU_EW_SIGMOID:
		return 10;
	case VTPU_EW_SILU:
		return 11;
	case VTPU_EW_GELU:
	case VTPU_EW_ERF:
		return 14;
	case VTPU_EW_POW:
		return 16;
	case VTPU_EW_RNG:
		return 20;
	case VTPU_EW_SIN:
	case VTPU_EW_COS:
		return 30;
	default:
		return 1;
	}
}

/**
 * vtpu_cost_vector() - cycles of a pass over registers
 * @vregs: registers
 * @ops: vector operations for each
 * @load: bytes loaded for each element
 * @store: bytes stored for each element
 *
 * One f32 register is loaded and one stored a cycle, beside the vector slots.
 */
static inline uint64_t vtpu_cost_vector(const struct vtpu_hw_geometry *g, uint64_t vregs,
					uint64_t ops, uint64_t load, uint64_t store)
{
	uint64_t slots = g->valu_slots;
	uint64_t most = vtpu_cost_max(4 * ops, slots * vtpu_cost_max(load, store));

	return vtpu_cost_div(vtpu_cost_mul(vregs, most), 4 * slots);
}

/** vtpu_cost_ew() - EW */
static inline struct vtpu_cost vtpu_cost_ew(const struct vtpu_hw_geometry *g,
					    const struct vtpu_insn *insn)
{
	const struct vtpu_insn_ew *x = &insn->payload.ew;
	uint64_t ops = 0, load = 0, store = 0;

	for (unsigned int i = 0; i < x->nops && i < 8; i++)
		ops += vtpu_cost_ew_weight(x->op[i].op);
	for (unsigned int i = 0; i < x->nin && i < 4; i++) {
		/* Rows and scalars stay in registers; a column is spread over the lanes by one operation. */
		if (x->in_bcast[i] == VTPU_BCAST_FULL)
			load += vtpu_type_bytes(x->in_type[i]);
		ops += (x->in_type[i] != VTPU_TYPE_F32) + (x->in_bcast[i] == VTPU_BCAST_COL);
	}
	for (unsigned int i = 0; i < x->nout && i < 2; i++) {
		store += vtpu_type_bytes(x->out_type[i]);
		ops += x->out_type[i] != VTPU_TYPE_F32;
	}
	return (struct vtpu_cost){
		.busy = vtpu_cost_add(vtpu_cost_vector(g, vtpu_cost_vregs(g, x->rows, x->cols), ops,
						       load, store),
				      VTPU_COST_START),
	};
}

/** vtpu_cost_rows() - REDUCE, SOFTMAX and TRANSPOSE */
static inline struct vtpu_cost vtpu_cost_rows(const struct vtpu_hw_geometry *g,
					      const struct vtpu_insn *insn)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;
	uint64_t vregs = vtpu_cost_vregs(g, x->rows, x->cols);
	uint64_t groups = vtpu_cost_div(x->rows, g->sublanes),
		 columns = vtpu_cost_div(x->cols, g->lanes);
	uint64_t casts = x->in_type != VTPU_TYPE_F32, load = vtpu_type_bytes(x->in_type);
	struct vtpu_cost cost = { 0 };

	switch (insn->opcode) {
	case VTPU_OP_TRANSPOSE:
		cost.busy = vtpu_cost_mul(vregs, VTPU_COST_XLU);
		return cost;
	case VTPU_OP_SOFTMAX:
		/* scale, maximum, subtract, exponential, sum, multiply; two reductions over lanes */
		casts += x->out_type != VTPU_TYPE_F32;
		cost.busy = vtpu_cost_vector(g, vregs, 5 + vtpu_cost_ew_weight(VTPU_EW_EXP) + casts,
					     load, vtpu_type_bytes(x->out_type));
		cost.busy = vtpu_cost_add(cost.busy, vtpu_cost_mul(groups, 2 * VTPU_COST_XLU));
		break;
	default:
		casts += x->op == VTPU_REDUCE_SUMSQ;
		cost.busy = vtpu_cost_vector(g, vregs, 1 + casts, load, 0);
		cost.busy = vtpu_cost_add(cost.busy,
					  x->axis ? vtpu_cost_mul(groups, VTPU_COST_XLU) :
						    vtpu_cost_mul(columns, VTPU_COST_SUBLANES));
		break;
	}
	cost.busy = vtpu_cost_add(cost.busy, VTPU_COST_START);
	return cost;
}

/* ---- Training ------------------------------------------------------------- */

/** vtpu_cost_windows() - windows along an axis of @in elements with padding; they fit at least once */
static inline uint32_t vtpu_cost_windows(uint32_t in, uint32_t before, uint32_t after,
					 uint32_t window, uint32_t stride)
{
	return (uint32_t)vtpu_cost_conv_windows(in, window, stride, 1, (uint64_t)before + after);
}

/** vtpu_cost_pool() - POOL: a pass over outputs for all of their taps; POOL_GRAD: over inputs for all of their windows */
static inline struct vtpu_cost vtpu_cost_pool(const struct vtpu_hw_geometry *g,
					      const struct vtpu_insn *insn)
{
	const struct vtpu_insn_pool *x = &insn->payload.pool;
	const uint64_t bytes = vtpu_type_bytes(x->type), casts = x->type != VTPU_TYPE_F32;
	const uint64_t index = x->mode & VTPU_POOL_INDEX;
	uint64_t pixels = (uint64_t)x->in_h * x->in_w, each, loads, ops;

	if (insn->opcode == VTPU_OP_POOL_GRAD) {
		/* compare, select and add; or multiply and add */
		each = vtpu_cost_div(x->ker_h, x->stride_h + !x->stride_h) *
		       vtpu_cost_div(x->ker_w, x->stride_w + !x->stride_w);
		ops = each * ((index ? 3 : 2) + casts);
		loads = each * (bytes + index);
	} else {
		/* compare and two selections, one maximum, or add and in the end a product */
		pixels = (uint64_t)vtpu_cost_windows(x->in_h, x->pad_top, x->pad_bottom, x->ker_h,
						     x->stride_h) *
			 vtpu_cost_windows(x->in_w, x->pad_left, x->pad_right, x->ker_w,
					   x->stride_w);
		each = (uint64_t)x->ker_h * x->ker_w;
		ops = each * ((index ? 3 : 1) + casts) + (x->op == VTPU_POOL_AVERAGE);
		loads = each * bytes;
	}
	pixels = vtpu_cost_vregs(g, vtpu_cost_mul(x->images, pixels), x->channels);
	return (struct vtpu_cost){
		.busy = vtpu_cost_add(vtpu_cost_vector(g, pixels, ops + casts, loads,
						       bytes + (insn->opcode == VTPU_OP_POOL ?
									index :
									0)),
				      VTPU_COST_START),
	};
}

/** vtpu_cost_argmax() - ARGMAX: two comparisons, a selection; maximum and lane over the lanes */
static inline struct vtpu_cost vtpu_cost_argmax(const struct vtpu_hw_geometry *g,
						const struct vtpu_insn *insn)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;
	const uint64_t vregs = vtpu_cost_vregs(g, x->rows, x->cols);
	uint64_t busy = vtpu_cost_vector(g, vregs, 3 + (x->in_type != VTPU_TYPE_F32),
					 vtpu_type_bytes(x->in_type), 0);

	busy = vtpu_cost_add(busy,
			     vtpu_cost_mul(vtpu_cost_div(x->rows, g->sublanes), 2 * VTPU_COST_XLU));
	return (struct vtpu_cost){ .busy = vtpu_cost_add(busy, VTPU_COST_START) };
}

/**
 * vtpu_cost_xent() - SOFTMAX_XENT
 *
 * Maximum, subtract, exponential, sum; for the gradient multiply, compare, subtract, multiply.
 * Over the lanes: maximum, sum, the label's logit, and the largest one's place.
 */
static inline struct vtpu_cost vtpu_cost_xent(const struct vtpu_hw_geometry *g,
					      const struct vtpu_insn *insn)
{
	const struct vtpu_insn_xent *x = &insn->payload.xent;
	const bool grad = x->mode & VTPU_XENT_GRAD;
	const uint64_t vregs = vtpu_cost_vregs(g, x->rows, x->cols);
	uint64_t ops = 3 + vtpu_cost_ew_weight(VTPU_EW_EXP) + (x->in_type != VTPU_TYPE_F32), busy;

	if (grad)
		ops += 4 + (x->grad_type != VTPU_TYPE_F32);
	busy = vtpu_cost_vector(g, vregs, ops, vtpu_type_bytes(x->in_type),
				grad ? vtpu_type_bytes(x->grad_type) : 0);
	busy = vtpu_cost_add(busy,
			     vtpu_cost_mul(vtpu_cost_div(x->rows, g->sublanes), 4 * VTPU_COST_XLU));
	return (struct vtpu_cost){ .busy = vtpu_cost_add(busy, VTPU_COST_START) };
}

/** vtpu_cost_opt() - OPTIMIZE: the operations of its formula, by the weights of EW */
static inline struct vtpu_cost vtpu_cost_opt(const struct vtpu_hw_geometry *g,
					     const struct vtpu_insn *insn)
{
	static const struct {
		uint8_t ops, load, store;
	} kind[] = {
		[VTPU_OPT_SGD] = { 5, 8, 4 },
		[VTPU_OPT_MOMENTUM] = { 7, 12, 8 },
		[VTPU_OPT_NESTEROV] = { 9, 12, 8 },
		[VTPU_OPT_ADAM] = { 23, 16, 12 },
	};
	const struct vtpu_insn_opt *x = &insn->payload.opt;
	const uint32_t k = x->kind <= VTPU_OPT_ADAM ? x->kind : 0;
	uint64_t vregs = vtpu_cost_div(x->count, (uint64_t)g->lanes * g->sublanes);

	return (struct vtpu_cost){
		.busy = vtpu_cost_add(vtpu_cost_vector(g, vregs, kind[k].ops, kind[k].load,
						       kind[k].store),
				      VTPU_COST_START),
	};
}

/** vtpu_cost_rng() - RNG_FILL */
static inline struct vtpu_cost vtpu_cost_rng(const struct vtpu_hw_geometry *g,
					     const struct vtpu_insn *insn)
{
	const struct vtpu_insn_rng *x = &insn->payload.rng;

	return (struct vtpu_cost){
		.busy = vtpu_cost_add(vtpu_cost_vector(g, vtpu_cost_vregs(g, x->rows, x->cols),
						       vtpu_cost_ew_weight(VTPU_EW_RNG), 0, 4),
				      VTPU_COST_START),
	};
}

/** vtpu_cost_vpu() - any of the VPU's */
static inline struct vtpu_cost vtpu_cost_vpu(const struct vtpu_hw_geometry *g,
					     const struct vtpu_insn *insn)
{
	switch (insn->opcode) {
	case VTPU_OP_EW:
		return vtpu_cost_ew(g, insn);
	case VTPU_OP_ARGMAX:
		return vtpu_cost_argmax(g, insn);
	case VTPU_OP_SOFTMAX_XENT:
		return vtpu_cost_xent(g, insn);
	case VTPU_OP_POOL:
	case VTPU_OP_POOL_GRAD:
		return vtpu_cost_pool(g, insn);
	case VTPU_OP_OPTIMIZE:
		return vtpu_cost_opt(g, insn);
	case VTPU_OP_RNG_FILL:
		return vtpu_cost_rng(g, insn);
	default:
		return vtpu_cost_rows(g, insn);
	}
}

#endif /* VTPU_COST_VPU_H */
