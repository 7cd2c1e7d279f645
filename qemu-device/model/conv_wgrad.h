/* SPDX-License-Identifier: MIT */
/*
 * conv_wgrad.h - between the files of CONV_WGRAD: one part of an instruction.
 */
#ifndef VTPU_CONV_WGRAD_H
#define VTPU_CONV_WGRAD_H

#include "conv.h"

/** struct vtpu_wgrad - a part: rows of weights (tap, channel), and columns of one group */
struct vtpu_wgrad {
	const struct vtpu_op *op;
	const struct vtpu_insn_mxu *x;
	const struct vtpu_kernels *k;
	struct vtpu_scratch *s;
	struct vtpu_epilogue epi;
	struct vtpu_axis h, w;
	/** @direct: accumulators live in the result */
	bool direct;
	/** @plain: operands fit no working memory */
	bool plain;
	/** @widen: the input is not f32 */
	bool widen;
	/** @panels: the output's gradient must be packed */
	bool panels;

	/* Under way */
	uint32_t group;
	uint32_t col, cols; /* of the group */
	uint32_t row, row_end;
};

/** vtpu_wgrad_input() - address of the group's first channel of an image of the input */
static inline const uint8_t *vtpu_wgrad_input(const struct vtpu_wgrad *p, uint64_t image)
{
	return vtpu_op_vmem(p->op, p->x->a) + image * p->h.source * p->w.source * p->x->lda +
	       (size_t)p->group * p->x->k * vtpu_type_bytes(p->x->a_type);
}

/** vtpu_wgrad_gradient() - address of the columns under way of an image of the output's gradient */
static inline const uint8_t *vtpu_wgrad_gradient(const struct vtpu_wgrad *p, uint64_t image)
{
	return vtpu_op_vmem(p->op, p->x->b) + image * p->h.positions * p->w.positions * p->x->ldb +
	       ((size_t)p->group * p->x->n + p->col) * vtpu_type_bytes(p->x->b_type);
}

/** vtpu_wgrad_c() - start values of a row */
static inline const float *vtpu_wgrad_c(const struct vtpu_wgrad *p, uint32_t row)
{
	return (const float *)(vtpu_op_vmem(p->op, p->x->c) + (size_t)row * p->x->ldc) +
	       (size_t)p->group * p->x->n + p->col;
}

/** vtpu_wgrad_acc() - accumulators of a row */
static inline float *vtpu_wgrad_acc(const struct vtpu_wgrad *p, uint32_t row)
{
	if (p->direct)
		return (float *)(vtpu_op_vmem(p->op, p->x->d) + (size_t)row * p->x->ldd) +
		       (size_t)p->group * p->x->n + p->col;
	return p->s->acc + (size_t)(row - p->row) * vtpu_conv_room(p->k, p->cols);
}

/** vtpu_wgrad_sparse() - chains of the rows and columns under way, not ended, by what is not zero
 * alone; false: that does not pay, or is not right */
bool vtpu_wgrad_sparse(const struct vtpu_wgrad *p);

#endif /* VTPU_CONV_WGRAD_H */
