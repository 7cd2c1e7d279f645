/* SPDX-License-Identifier: MIT */
/*
 * gen.h - random instructions that a loader would accept, and memory full of awkward numbers.
 *
 * Seeded, so that a failure is repeated by its number. Operands are laid out one
 * after the other in VMEM; results may lie on operands where that is allowed.
 */
#ifndef TESTS_UNIT_GEN_H
#define TESTS_UNIT_GEN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "numerics.h"
#include "vtpu_hw.h"

#define GEN_VMEM (3u << 20)

struct gen {
	uint64_t state;
	uint32_t top; /* first free byte of VMEM */
	bool tame;    /* only ordinary numbers: no NaN, infinity or denormal */
};

static inline uint64_t gen_u64(struct gen *g)
{
	uint64_t z = g->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/** gen_below() - 0..n-1 */
static inline uint32_t gen_below(struct gen *g, uint32_t n)
{
	return (uint32_t)((gen_u64(g) >> 32) * n >> 32);
}

/** gen_size() - 1..max, more often small or at an edge of a vector */
static inline uint32_t gen_size(struct gen *g, uint32_t max)
{
	static const uint32_t edges[] = { 1,  2,  3,  5,  6,  7,  8,  9,  12, 13,
					  15, 16, 17, 31, 32, 33, 47, 64, 65 };
	uint32_t n;

	if (gen_below(g, 2))
		n = edges[gen_below(g, sizeof(edges) / sizeof(edges[0]))];
	else
		n = 1 + gen_below(g, max);
	return n > max ? max : n;
}

/** gen_f32() - bits of a number; one in eight is special unless the generator is tame */
static inline uint32_t gen_f32(struct gen *g)
{
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
		0x80800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
		0x7f800001, 0xffc12345, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f808000, 0x3f818000,
	};
	uint64_t r = gen_u64(g);

	if (!g->tame && !(r & 7))
		return special[(r >> 8) % (sizeof(special) / sizeof(special[0]))];
	if (!g->tame && !(r & 0x78))
		return (uint32_t)(r >> 32);
	/* sign, exponent of 2^-8 .. 2^3, mantissa */
	return (uint32_t)(r >> 63 << 31 | (119 + (r >> 40) % 12) << 23 | (r >> 8 & 0x7fffff));
}

static inline void gen_fill(struct gen *g, uint8_t *mem, uint32_t bytes, unsigned int type)
{
	uint32_t size = vtpu_type_bytes(type);

	for (uint32_t i = 0; i + size <= bytes; i += size) {
		uint32_t bits = type == VTPU_TYPE_BF16 ? gen_f32(g) >> 16 : gen_f32(g);

		if (size == 1)
			bits = (uint32_t)gen_u64(g);
		memcpy(mem + i, &bits, size);
	}
}

/** gen_place() - room for a matrix, filled; returns its address and a pitch with some slack */
static inline uint32_t gen_place(struct gen *g, uint8_t *vmem, uint32_t rows, uint32_t cols,
				 unsigned int type, uint32_t *pitch)
{
	uint32_t size = vtpu_type_bytes(type), addr;

	*pitch = (cols + (gen_below(g, 2) ? 0 : gen_below(g, 9))) * size;
	g->top = (g->top + 15) / 16 * 16 + size * gen_below(g, 4);
	addr = g->top;
	gen_fill(g, vmem + addr, rows * *pitch, type);
	g->top += rows * *pitch;
	return addr;
}

static inline unsigned int gen_float_type(struct gen *g)
{
	return gen_below(g, 3) ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;
}

static inline void gen_begin(struct gen *g, uint64_t seed, struct vtpu_insn *insn, uint8_t opcode)
{
	g->state = seed * 0x2545f4914f6cdd1dULL + opcode;
	g->top = 0;
	memset(insn, 0, sizeof(*insn));
	insn->opcode = opcode;
	insn->unit = opcode >> 4;
}

static inline void gen_epilogue(struct gen *g, uint8_t *vmem, struct vtpu_insn_mxu *x)
{
	static const uint8_t ops[] = {
		VTPU_EPI_BIAS, VTPU_EPI_SCALE,	    VTPU_EPI_RESIDUAL, VTPU_EPI_SCALE_IMM,
		VTPU_EPI_RELU, VTPU_EPI_LEAKY_RELU, VTPU_EPI_CLAMP,    VTPU_EPI_SIGMOID,
		VTPU_EPI_TANH, VTPU_EPI_GELU,	    VTPU_EPI_SILU,
	};
	uint32_t n = gen_below(g, 5), arg = 0, pitch;

	for (uint32_t i = 0; i < n && arg < 4; i++) {
		uint8_t op = ops[gen_below(g, sizeof(ops))];

		if (op == VTPU_EPI_CLAMP && arg == 3)
			break;
		x->epi_op[i] = op;
		switch (op) {
		case VTPU_EPI_BIAS:
		case VTPU_EPI_SCALE:
			x->epi_arg[arg++] = gen_place(g, vmem, 1, x->n, VTPU_TYPE_F32, &pitch);
			break;
		case VTPU_EPI_RESIDUAL:
			if (gen_below(g, 2)) {
				x->epi_arg[arg++] = x->d;
				break;
			}
			g->top = (g->top + 15) / 16 * 16;
			x->epi_arg[arg++] = g->top;
			gen_fill(g, vmem + g->top, x->m * x->ldd, x->d_type);
			g->top += x->m * x->ldd;
			break;
		case VTPU_EPI_CLAMP:
			x->epi_arg[arg++] = 0xbf800000;
			x->epi_arg[arg++] = gen_f32(g) & 0x7fffffff;
			break;
		case VTPU_EPI_SCALE_IMM:
		case VTPU_EPI_LEAKY_RELU:
			x->epi_arg[arg++] = gen_f32(g);
			break;
		}
	}
}

/** gen_matmul() - a random MATMUL, its operands in @vmem */
static inline void gen_matmul(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	struct vtpu_insn_mxu *x = &insn->payload.mxu;
	bool ta, tb;
	uint32_t big;

	gen_begin(g, seed, insn, VTPU_OP_MATMUL);
	big = gen_below(g, 8) ? 96 : 640;
	x->m = gen_size(g, gen_below(g, 8) ? 40 : 300);
	x->n = gen_size(g, big);
	x->k = gen_size(g, gen_below(g, 8) ? 80 : 600);
	x->g = gen_below(g, 3) ? 1 : 1 + gen_below(g, 5);
	x->a_type = gen_float_type(g);
	x->b_type = gen_float_type(g);
	x->d_type = gen_float_type(g);
	ta = !gen_below(g, 3);
	tb = !gen_below(g, 3);
	x->mode = (ta ? VTPU_MXU_TRANS_A : 0) | (tb ? VTPU_MXU_TRANS_B : 0) |
		  (gen_below(g, 2) ? VTPU_MXU_ACCUMULATE : 0);
	x->a = gen_place(g, vmem, (ta ? x->k : x->m) * x->g, ta ? x->m : x->k, x->a_type, &x->lda);
	x->b = gen_place(g, vmem, (tb ? x->n : x->k) * x->g, tb ? x->k : x->n, x->b_type, &x->ldb);
	if (x->g > 1) {
		x->a_gstride = (int32_t)((ta ? x->k : x->m) * x->lda);
		x->b_gstride = (int32_t)((tb ? x->n : x->k) * x->ldb);
		if (gen_below(g, 2)) {
			/* The last one first: strides may be negative. */
			x->a += (x->g - 1) * x->a_gstride;
			x->a_gstride = -x->a_gstride;
		}
	}
	x->d = gen_place(g, vmem, x->m, x->n, x->d_type, &x->ldd);
	if (x->mode & VTPU_MXU_ACCUMULATE) {
		if (x->d_type == VTPU_TYPE_F32 && gen_below(g, 2)) {
			x->c = x->d;
			x->ldc = x->ldd;
		} else {
			x->c = gen_place(g, vmem, x->m, x->n, VTPU_TYPE_F32, &x->ldc);
		}
	}
	gen_epilogue(g, vmem, x);
}

/** gen_ew() - a random EW */
static inline void gen_ew(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	struct vtpu_insn_ew *x = &insn->payload.ew;
	bool dense;

	gen_begin(g, seed, insn, VTPU_OP_EW);
	x->nin = gen_below(g, 5);
	x->nout = 1 + gen_below(g, 2);
	x->nops = gen_below(g, 9);
	x->rows = gen_size(g, 70);
	x->cols = gen_below(g, 6) ? gen_size(g, 200) : 1000 + gen_below(g, 1500);
	dense = gen_below(g, 2);
	for (uint32_t i = 0; i < x->nin; i++) {
		uint32_t kind = dense ? gen_below(g, 2) * VTPU_BCAST_SCALAR : gen_below(g, 4);
		bool down = kind == VTPU_BCAST_FULL || kind == VTPU_BCAST_COL;
		bool across = kind == VTPU_BCAST_FULL || kind == VTPU_BCAST_ROW;

		x->in_bcast[i] = kind;
		x->in_type[i] = gen_below(g, 5) ? gen_float_type(g) : VTPU_TYPE_U8;
		x->in[i].addr = gen_place(g, vmem, down ? x->rows : 1, across ? x->cols : 1,
					  x->in_type[i], &x->in[i].pitch);
		if (dense && down)
			x->in[i].pitch = x->cols * vtpu_type_bytes(x->in_type[i]);
		if (!down)
			x->in[i].pitch = 0;
	}
	for (uint32_t i = 0; i < x->nout; i++) {
		x->out_type[i] = gen_float_type(g);
		x->out[i].addr =
			gen_place(g, vmem, x->rows, x->cols, x->out_type[i], &x->out[i].pitch);
		if (dense)
			x->out[i].pitch = x->cols * vtpu_type_bytes(x->out_type[i]);
	}
	if (x->nin && x->in_bcast[0] == VTPU_BCAST_FULL && x->in_type[0] != VTPU_TYPE_U8 &&
	    gen_below(g, 2)) {
		x->out_type[0] = x->in_type[0];
		x->out[0].addr = x->in[0].addr;
		x->out[0].pitch = x->in[0].pitch;
	}
	for (uint32_t i = 0; i < x->nops; i++) {
		uint8_t op = VTPU_EW_MOV + gen_below(g, VTPU_EW_SILU);
		bool unary = op == VTPU_EW_MOV || (op >= VTPU_EW_NEG && op <= VTPU_EW_SILU);

		x->op[i].op = op;
		x->op[i].args =
			VTPU_EW_ARGS(gen_below(g, 4), gen_below(g, 6), unary ? 0 : gen_below(g, 6));
	}
	x->imm[0] = gen_f32(g);
	x->imm[1] = gen_f32(g);
}

/** gen_rows() - a random REDUCE, SOFTMAX or TRANSPOSE */
static inline void gen_rows(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn,
			    uint8_t opcode)
{
	struct vtpu_insn_rows *x = &insn->payload.rows;

	gen_begin(g, seed, insn, opcode);
	x->rows = gen_size(g, 90);
	x->cols = gen_below(g, 4) ? gen_size(g, 300) : 1 + gen_below(g, 3300);
	if (x->cols > 300)
		x->rows = 1 + x->rows % 40;
	x->in_type = gen_float_type(g);
	x->out_type = opcode == VTPU_OP_TRANSPOSE ? x->in_type : gen_float_type(g);
	x->in = gen_place(g, vmem, x->rows, x->cols, x->in_type, &x->in_pitch);
	if (opcode == VTPU_OP_TRANSPOSE) {
		x->out = gen_place(g, vmem, x->cols, x->rows, x->out_type, &x->out_pitch);
	} else if (opcode == VTPU_OP_SOFTMAX) {
		x->imm[0] = gen_below(g, 2) ? 0x3f800000 : gen_f32(g);
		if (x->in_type == x->out_type && gen_below(g, 2)) {
			x->out = x->in;
			x->out_pitch = x->in_pitch;
		} else {
			x->out = gen_place(g, vmem, x->rows, x->cols, x->out_type, &x->out_pitch);
		}
	} else {
		x->op = VTPU_REDUCE_SUM + gen_below(g, 4);
		x->axis = gen_below(g, 2);
		x->out = gen_place(g, vmem, x->axis ? x->rows : 1, x->axis ? 1 : x->cols,
				   x->out_type, &x->out_pitch);
		if (!x->axis)
			x->out_pitch = 0;
	}
}

/** gen_dma() - a random COPY or FILL inside VMEM; may overlap itself */
static inline void gen_dma(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn,
			   uint8_t opcode)
{
	static const uint8_t pairs[][2] = {
		{ VTPU_TYPE_U8, VTPU_TYPE_U8 },	   { VTPU_TYPE_S8, VTPU_TYPE_S8 },
		{ VTPU_TYPE_S32, VTPU_TYPE_S32 },  { VTPU_TYPE_BF16, VTPU_TYPE_BF16 },
		{ VTPU_TYPE_F32, VTPU_TYPE_F32 },  { VTPU_TYPE_U8, VTPU_TYPE_F32 },
		{ VTPU_TYPE_U8, VTPU_TYPE_BF16 },  { VTPU_TYPE_F32, VTPU_TYPE_BF16 },
		{ VTPU_TYPE_BF16, VTPU_TYPE_F32 },
	};
	struct vtpu_insn_dma *x = &insn->payload.dma;
	const uint8_t *pair;
	int64_t src_low = 0, dst_low = 0, src_step, dst_step;
	uint32_t src_size, dst_size;

	gen_begin(g, seed, insn, opcode);
	pair = pairs[gen_below(g, opcode == VTPU_OP_FILL ? 5 : sizeof(pairs) / 2)];
	x->src_type = pair[0];
	x->dst_type = pair[1];
	src_size = src_step = vtpu_type_bytes(pair[0]);
	dst_size = dst_step = vtpu_type_bytes(pair[1]);
	gen_fill(g, vmem, GEN_VMEM / 8, pair[0]);
	x->ndim = 1 + gen_below(g, 5);
	for (int d = 0; d < 5; d++) {
		uint32_t slack = gen_below(g, 2) ? 0 : gen_below(g, 4), extent;
		bool back = !gen_below(g, 8);

		x->count[d] = 1;
		if (d >= x->ndim)
			continue;
		x->count[d] = 1 + gen_below(g, d < 2 ? 40 : 5);
		if (opcode == VTPU_OP_COPY && d < 4 && !gen_below(g, 3)) {
			x->pad_before[d] = gen_below(g, 4);
			x->pad_after[d] = gen_below(g, 4);
		}
		extent = x->count[d] + (d < 4 ? x->pad_before[d] + x->pad_after[d] : 0);
		x->src_stride[d] = (int32_t)src_step;
		x->dst_stride[d] = (int32_t)dst_step;
		if (back) {
			x->dst_stride[d] = -x->dst_stride[d];
			dst_low -= (int64_t)(extent - 1) * dst_step;
		}
		src_step = src_step * x->count[d] + slack * src_size;
		dst_step = dst_step * extent + slack * dst_size;
	}
	if (!gen_below(g, 8))
		x->dst_stride[gen_below(g, x->ndim)] = (int32_t)dst_size * (int32_t)gen_below(g, 3);
	if (opcode == VTPU_OP_FILL) {
		memset(x->src_stride, 0, sizeof(x->src_stride));
		x->src_type = 0;
		x->imm = dst_size == 4 ? (uint32_t)gen_u64(g) :
					 (uint32_t)gen_u64(g) & ((1u << 8 * dst_size) - 1);
	} else {
		x->src = VTPU_ADDR(VTPU_SPACE_VMEM, 0,
				   (uint64_t)-src_low + src_size * gen_below(g, 64));
	}
	/* Into the upper part, or a few elements behind the source. */
	x->dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0,
			   (uint64_t)((gen_below(g, 5) ? GEN_VMEM / 2 : GEN_VMEM / 16) / dst_size *
				      dst_size) +
				   (uint64_t)-dst_low);
	if (opcode == VTPU_OP_COPY && !gen_below(g, 6) && !dst_low)
		x->dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0,
				   x->src / dst_size * dst_size + dst_size * gen_below(g, 9));
	g->top = GEN_VMEM;
}

/** gen_insn() - a random instruction of any opcode */
static inline void gen_insn(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn)
{
	switch (seed % 10) {
	case 0:
	case 1:
	case 2:
		gen_matmul(g, seed, vmem, insn);
		break;
	case 3:
	case 4:
		gen_ew(g, seed, vmem, insn);
		break;
	case 5:
		gen_rows(g, seed, vmem, insn, VTPU_OP_REDUCE);
		break;
	case 6:
		gen_rows(g, seed, vmem, insn, VTPU_OP_SOFTMAX);
		break;
	case 7:
		gen_rows(g, seed, vmem, insn, VTPU_OP_TRANSPOSE);
		break;
	case 8:
		gen_dma(g, seed, vmem, insn, VTPU_OP_COPY);
		break;
	default:
		gen_dma(g, seed, vmem, insn, VTPU_OP_FILL);
		break;
	}
}

#endif /* TESTS_UNIT_GEN_H */
