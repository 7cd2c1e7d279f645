/* SPDX-License-Identifier: MIT */
/*
 * gen_vpu.h - random POOL, POOL_GRAD, ARGMAX, SOFTMAX_XENT, OPTIMIZE and RNG_FILL that a loader
 * would accept.
 */
#ifndef TESTS_UNIT_GEN_VPU_H
#define TESTS_UNIT_GEN_VPU_H

#include "gen.h"

/** gen_pooled() - rows or columns of a pool's output */
static inline uint32_t gen_pooled(uint32_t in, uint32_t before, uint32_t after, uint32_t ker,
				  uint32_t stride)
{
	return (in + before + after - ker) / stride + 1;
}

static inline void gen_axis(struct gen *g, bool tiles, uint16_t *in, uint8_t *ker, uint8_t *stride,
			    uint8_t *before, uint8_t *after)
{
	*ker = (uint8_t)(gen_below(g, 2) ? 2 : 1 + gen_below(g, 4));
	*stride = tiles ? *ker : (uint8_t)(1 + gen_below(g, 4));
	*before = tiles ? 0 : (uint8_t)gen_below(g, *ker);
	*after = tiles ? 0 : (uint8_t)gen_below(g, *ker);
	do {
		*in = (uint16_t)(1 + gen_below(g, 14));
	} while (*in + *before + *after < *ker);
}

/** gen_pool() - POOL or POOL_GRAD; index bytes are places mostly, and some that are none */
static inline void gen_pool(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn,
			    uint8_t opcode)
{
	struct vtpu_insn_pool *x = &insn->payload.pool;
	const bool grad = opcode == VTPU_OP_POOL_GRAD;
	bool tiles;
	uint32_t in, out, pitch;

	gen_begin(g, seed, insn, opcode);
	tiles = gen_below(g, 2);
	gen_axis(g, tiles, &x->in_h, &x->ker_h, &x->stride_h, &x->pad_top, &x->pad_bottom);
	gen_axis(g, tiles, &x->in_w, &x->ker_w, &x->stride_w, &x->pad_left, &x->pad_right);
	x->images = 1 + gen_below(g, 4);
	x->channels = gen_size(g, 70);
	x->type = (uint8_t)gen_float_type(g);
	x->op = gen_below(g, 3) ? VTPU_POOL_MAX : VTPU_POOL_AVERAGE;
	if (x->op == VTPU_POOL_MAX && (grad || gen_below(g, 2)))
		x->mode = VTPU_POOL_INDEX;
	in = x->images * x->in_h * x->in_w * x->channels;
	out = x->images * x->channels *
	      gen_pooled(x->in_h, x->pad_top, x->pad_bottom, x->ker_h, x->stride_h) *
	      gen_pooled(x->in_w, x->pad_left, x->pad_right, x->ker_w, x->stride_w);
	x->in = gen_place(g, vmem, 1, grad ? out : in, x->type, &pitch);
	x->out = gen_place(g, vmem, 1, grad ? in : out, x->type, &pitch);
	if (!x->mode)
		return;
	x->index = gen_place(g, vmem, 1, out, VTPU_TYPE_U8, &pitch);
	for (uint32_t i = 0; i < out; i++)
		if (gen_below(g, 8))
			vmem[x->index + i] = (uint8_t)gen_below(g, x->ker_h * x->ker_w);
}

static inline void gen_argmax(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	struct vtpu_insn_rows *x = &insn->payload.rows;

	gen_begin(g, seed, insn, VTPU_OP_ARGMAX);
	x->rows = gen_size(g, 60);
	x->cols = gen_below(g, 4) ? gen_size(g, 100) : 1 + gen_below(g, 2500);
	x->in_type = (uint8_t)gen_float_type(g);
	x->out_type = VTPU_TYPE_S32;
	x->in = gen_place(g, vmem, x->rows, x->cols, x->in_type, &x->in_pitch);
	x->out = gen_place(g, vmem, x->rows, 1, VTPU_TYPE_S32, &x->out_pitch);
	/* Ties: some rows hold few different numbers. */
	for (uint32_t i = 0; i < x->rows; i++)
		for (uint32_t j = 0; i % 2 && j < x->cols; j++)
			memcpy(vmem + x->in + i * x->in_pitch + j * vtpu_type_bytes(x->in_type),
			       vmem + x->in +
				       gen_below(g, 3) % x->cols * vtpu_type_bytes(x->in_type),
			       vtpu_type_bytes(x->in_type));
}

static inline void gen_xent(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	struct vtpu_insn_xent *x = &insn->payload.xent;
	uint32_t pitch;

	gen_begin(g, seed, insn, VTPU_OP_SOFTMAX_XENT);
	x->rows = gen_size(g, 60);
	x->cols = gen_below(g, 5) ? gen_size(g, 100) : 1 + gen_below(g, 2500);
	x->mode = 1 + gen_below(g, 3) + (gen_below(g, 2) ? VTPU_XENT_WEIGHTS : 0);
	x->in_type = (uint8_t)gen_float_type(g);
	x->label_type = gen_below(g, 2) || x->cols > 256 ? VTPU_TYPE_S32 : VTPU_TYPE_U8;
	x->in = gen_place(g, vmem, x->rows, x->cols, x->in_type, &x->in_pitch);
	x->labels = gen_place(g, vmem, 1, x->rows, x->label_type, &pitch);
	for (uint32_t i = 0; i < x->rows; i++) {
		uint32_t label = gen_below(g, x->cols);

		memcpy(vmem + x->labels + i * vtpu_type_bytes(x->label_type), &label,
		       vtpu_type_bytes(x->label_type));
	}
	if (x->mode & VTPU_XENT_WEIGHTS) {
		x->weights = gen_place(g, vmem, 1, x->rows, VTPU_TYPE_F32, &pitch);
		for (uint32_t i = 0; i < x->rows; i++)
			if (!gen_below(g, 4))
				memset(vmem + x->weights + 4 * i, 0, 4);
	}
	if (x->mode & VTPU_XENT_LOSS)
		x->loss = gen_place(g, vmem, 1, 2 * x->rows, VTPU_TYPE_F32, &pitch);
	x->imm[0] = gen_f32(g);
	if (!(x->mode & VTPU_XENT_GRAD))
		return;
	x->grad_type = (uint8_t)gen_float_type(g);
	if (x->grad_type == x->in_type && gen_below(g, 2)) {
		x->grad = x->in;
		x->grad_pitch = x->in_pitch;
	} else {
		x->grad = gen_place(g, vmem, x->rows, x->cols, x->grad_type, &x->grad_pitch);
	}
}

/* A decay below 1 */
static inline uint32_t gen_fraction(struct gen *g)
{
	return vtpu_f32_bits((float)gen_below(g, 1000) / 1000.0f);
}

static inline void gen_opt(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	struct vtpu_insn_opt *x = &insn->payload.opt;
	uint32_t pitch;

	gen_begin(g, seed, insn, VTPU_OP_OPTIMIZE);
	x->count = gen_below(g, 4) ? gen_size(g, 500) : 1 + gen_below(g, 100000);
	x->kind = (uint8_t)(VTPU_OPT_SGD + gen_below(g, 4));
	x->param = gen_place(g, vmem, 1, x->count, VTPU_TYPE_F32, &pitch);
	x->grad = gen_place(g, vmem, 1, x->count, VTPU_TYPE_F32, &pitch);
	x->imm[0] = gen_fraction(g);
	x->imm[1] = gen_f32(g);
	x->decay = gen_below(g, 2) ? gen_fraction(g) : 0;
	if (x->kind != VTPU_OPT_SGD) {
		x->m = gen_place(g, vmem, 1, x->count, VTPU_TYPE_F32, &pitch);
		x->beta1 = gen_fraction(g);
	}
	if (x->kind == VTPU_OPT_ADAM) {
		x->v = gen_place(g, vmem, 1, x->count, VTPU_TYPE_F32, &pitch);
		for (uint32_t i = 0; i < x->count; i++)
			vmem[x->v + 4 * i + 3] &= 0x7f;
		x->beta2 = gen_fraction(g);
		x->epsilon = 0x322bcc77; /* 1e-8 */
		x->imm[2] = vtpu_f32_bits(1.0f + (float)gen_below(g, 1000) / 100.0f);
		x->imm[3] = vtpu_f32_bits(1.0f + (float)gen_below(g, 1000) / 10.0f);
	}
}

static inline void gen_rng(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	struct vtpu_insn_rng *x = &insn->payload.rng;

	gen_begin(g, seed, insn, VTPU_OP_RNG_FILL);
	x->rows = gen_size(g, 60);
	x->cols = gen_below(g, 4) ? gen_size(g, 300) : 1 + gen_below(g, 5000);
	x->out_type = VTPU_TYPE_F32;
	x->kind = VTPU_RNG_UNIFORM;
	x->out = gen_place(g, vmem, x->rows, x->cols, VTPU_TYPE_F32, &x->out_pitch);
	for (int i = 0; i < 3; i++)
		x->imm[i] = (uint32_t)gen_u64(g);
	x->index = gen_below(g, 2) ? gen_u64(g) : gen_below(g, 1000);
	x->core_step = gen_u64(g);
	x->row_step = gen_below(g, 2) ? x->cols : gen_u64(g);
}

/** gen_vpu() - any of them */
static inline void gen_vpu(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	switch (seed % 6) {
	case 0:
		gen_pool(g, seed, vmem, insn, VTPU_OP_POOL);
		break;
	case 1:
		gen_pool(g, seed, vmem, insn, VTPU_OP_POOL_GRAD);
		break;
	case 2:
		gen_argmax(g, seed, vmem, insn);
		break;
	case 3:
		gen_xent(g, seed, vmem, insn);
		break;
	case 4:
		gen_opt(g, seed, vmem, insn);
		break;
	default:
		gen_rng(g, seed, vmem, insn);
		break;
	}
}

#endif /* TESTS_UNIT_GEN_VPU_H */
