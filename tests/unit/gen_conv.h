/* SPDX-License-Identifier: MIT */
/*
 * gen_conv.h - random convolutions, of all geometries that a loader would accept.
 */
#ifndef TESTS_UNIT_GEN_CONV_H
#define TESTS_UNIT_GEN_CONV_H

#include "gen.h"

/** gen_windows() - windows along an axis; 0: none fits */
static inline uint32_t gen_windows(uint32_t in, uint32_t ker, uint32_t stride, uint32_t dil,
				   uint32_t pad)
{
	uint32_t extent = dil * (ker - 1) + 1;

	return in + pad < extent ? 0 : (in + pad - extent) / stride + 1;
}

static inline uint32_t gen_out_h(const struct vtpu_insn_mxu *x)
{
	return gen_windows(x->in_h, x->ker_h, x->stride_h, x->dil_h, x->pad_top + x->pad_bottom);
}

static inline uint32_t gen_out_w(const struct vtpu_insn_mxu *x)
{
	return gen_windows(x->in_w, x->ker_w, x->stride_w, x->dil_w, x->pad_left + x->pad_right);
}

/** gen_thin() - make most elements zero, of either sign */
static inline void gen_thin(struct gen *g, uint8_t *mem, uint32_t bytes, unsigned int type)
{
	uint32_t size = vtpu_type_bytes(type);

	for (uint32_t i = 0; i + size <= bytes; i += size) {
		if (gen_below(g, 5)) {
			memset(mem + i, 0, size);
			mem[i + size - 1] = gen_below(g, 4) ? 0 : 0x80;
		}
	}
}

static inline void gen_geometry(struct gen *g, struct vtpu_insn_mxu *x)
{
	const bool plain = gen_below(g, 3) == 0;
	bool thin;

	do {
		thin = false;
		x->m = 1 + gen_below(g, gen_below(g, 4) ? 4 : 9);
		x->in_h = 1 + gen_below(g, 14);
		x->in_w = 1 + gen_below(g, 14);
		x->ker_h = 1 + gen_below(g, 4);
		x->ker_w = 1 + gen_below(g, 4);
		x->stride_h = plain ? 1 : 1 + gen_below(g, 3);
		x->stride_w = plain ? 1 : 1 + gen_below(g, 3);
		x->dil_h = plain || gen_below(g, 2) ? 1 : 1 + gen_below(g, 3);
		x->dil_w = plain || gen_below(g, 2) ? 1 : 1 + gen_below(g, 3);
		x->pad_top = gen_below(g, 2) ? 0 : gen_below(g, 4);
		x->pad_left = gen_below(g, 2) ? 0 : gen_below(g, 4);
		x->pad_bottom = gen_below(g, 2) ? 0 : gen_below(g, 4);
		x->pad_right = gen_below(g, 2) ? 0 : gen_below(g, 4);
		/* As in the first layers of small networks. */
		if (!gen_below(g, 6)) {
			x->ker_h = x->ker_w = 3;
			x->stride_h = x->stride_w = x->dil_h = x->dil_w = 1;
			x->pad_top = x->pad_left = x->pad_bottom = x->pad_right = 0;
			thin = true;
		}
	} while (!gen_out_h(x) || !gen_out_w(x));
	x->g = gen_below(g, 3) ? 1 : 1 + gen_below(g, 3);
	/* Whole vectors as often as not, and few enough that a plain loop ends soon. */
	do {
		x->k = gen_below(g, 2) ? 8u << gen_below(g, 4) : gen_size(g, 24);
		x->n = gen_below(g, 2) ? 8u << gen_below(g, 4) : gen_size(g, 40);
		if (thin && gen_below(g, 3))
			x->k = x->g = 1;
	} while ((uint64_t)x->k * x->n * x->g * x->ker_h * x->ker_w * x->m * gen_out_h(x) *
			 gen_out_w(x) >
		 600000);
}

/* A MAXPOOL at the end of the list, where it fits. */
static inline void gen_maxpool(struct gen *g, struct vtpu_insn_mxu *x, const uint8_t *ops,
			       uint32_t args, uint32_t images)
{
	uint32_t h = 1 + gen_below(g, 3), w = 1 + gen_below(g, 3), i = 0;

	if (gen_below(g, 2))
		h = w = 2;
	while (i < 4 && ops[i])
		i++;
	if (i == 4 || args > 2 || gen_out_h(x) < h || gen_out_w(x) < w)
		return;
	x->epi_op[i] = VTPU_EPI_MAXPOOL;
	x->epi_arg[args] = g->top;
	x->epi_arg[args + 1] = VTPU_EPI_WINDOW(h, w);
	g->top += images * (gen_out_h(x) / h) * (gen_out_w(x) / w) * x->n * x->g;
}

static inline uint32_t gen_args(const uint8_t *ops)
{
	uint32_t args = 0;

	for (int i = 0; i < 4 && ops[i]; i++)
		args += ops[i] == VTPU_EPI_CLAMP			      ? 2 :
			ops[i] == VTPU_EPI_RELU || ops[i] >= VTPU_EPI_SIGMOID ? 0 :
										1;
	return args;
}

/** gen_conv() - a random CONV, CONV_DGRAD or CONV_WGRAD, its operands in @vmem */
static inline void gen_conv(struct gen *g, uint64_t seed, uint8_t *vmem, struct vtpu_insn *insn,
			    uint8_t opcode)
{
	struct vtpu_insn_mxu *x = &insn->payload.mxu, one;
	uint32_t in, out, weights, rows, cols;
	bool residual = false;

	gen_begin(g, seed, insn, opcode);
	gen_geometry(g, x);
	x->a_type = gen_float_type(g);
	x->b_type = gen_float_type(g);
	x->d_type = gen_float_type(g);
	x->mode = gen_below(g, 2) ? VTPU_MXU_ACCUMULATE : 0;
	if (gen_below(g, 2))
		x->a_type = x->b_type = x->d_type = VTPU_TYPE_F32;
	in = x->m * x->in_h * x->in_w;
	out = x->m * gen_out_h(x) * gen_out_w(x);
	weights = x->ker_h * x->ker_w * x->k;
	rows = opcode == VTPU_OP_CONV ? out : opcode == VTPU_OP_CONV_DGRAD ? in : weights;
	cols = opcode == VTPU_OP_CONV_DGRAD ? x->k * x->g : x->n * x->g;

	x->a = opcode == VTPU_OP_CONV_DGRAD ?
		       gen_place(g, vmem, out, x->n * x->g, x->a_type, &x->lda) :
		       gen_place(g, vmem, in, x->k * x->g, x->a_type, &x->lda);
	x->b = opcode == VTPU_OP_CONV_WGRAD ?
		       gen_place(g, vmem, out, x->n * x->g, x->b_type, &x->ldb) :
		       gen_place(g, vmem, weights, x->n * x->g, x->b_type, &x->ldb);
	if (gen_below(g, 2)) {
		if (opcode == VTPU_OP_CONV_DGRAD)
			gen_thin(g, vmem + x->a, out * x->lda, x->a_type);
		else if (opcode == VTPU_OP_CONV_WGRAD)
			gen_thin(g, vmem + x->b, out * x->ldb, x->b_type);
	}
	/* A result that MAXPOOL shrinks has this pitch and more room than it needs. */
	x->d = gen_place(g, vmem, rows, cols, x->d_type, &x->ldd);
	if (x->mode & VTPU_MXU_ACCUMULATE) {
		if (x->d_type == VTPU_TYPE_F32 && gen_below(g, 2)) {
			x->c = x->d;
			x->ldc = x->ldd;
		} else {
			x->c = gen_place(g, vmem, rows, cols, VTPU_TYPE_F32, &x->ldc);
		}
	}
	/* The epilogue of a product with the same result. */
	one = *x;
	one.m = rows;
	one.n = cols;
	if (gen_below(g, 3)) {
		gen_epilogue(g, vmem, &one);
	} else if (gen_below(g, 2)) {
		uint32_t pitch;

		one.epi_op[0] = VTPU_EPI_BIAS;
		one.epi_arg[0] = gen_place(g, vmem, 1, cols, VTPU_TYPE_F32, &pitch);
		one.epi_op[1] = gen_below(g, 3) ? VTPU_EPI_RELU : 0;
	}
	memcpy(x->epi_op, one.epi_op, sizeof(x->epi_op));
	memcpy(x->epi_arg, one.epi_arg, sizeof(x->epi_arg));
	for (int i = 0; i < 4; i++)
		residual |= x->epi_op[i] == VTPU_EPI_RESIDUAL;
	if (opcode == VTPU_OP_CONV && !residual && x->c != x->d && gen_below(g, 2))
		gen_maxpool(g, x, x->epi_op, gen_args(x->epi_op), x->m);
}

#endif /* TESTS_UNIT_GEN_CONV_H */
