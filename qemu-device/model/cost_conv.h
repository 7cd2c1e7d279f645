/* SPDX-License-Identifier: MIT */
/*
 * cost_conv.h - the shape of convolutions, and how they fill the array.
 *
 * Part of cost.h. The array sees a product of matrices: rows are the pixels of the
 * result, the contraction runs over the taps and the channels of a tap, side by side, so that
 * nine taps of 64 channels fill four and a half tiles. A tap outside the
 * input takes its cycles.
 */
#ifndef VTPU_COST_CONV_H
#define VTPU_COST_CONV_H

#include "insn_table.h"

/** vtpu_cost_conv_windows() - windows along an axis of @in elements with @pad of padding in all; 0: not one fits */
static inline uint64_t vtpu_cost_conv_windows(uint64_t in, uint64_t ker, uint64_t stride,
					      uint64_t dil, uint64_t pad)
{
	uint64_t extent = ker ? dil * (ker - 1) + 1 : 0;

	return ker && stride && in + pad >= extent ? (in + pad - extent) / stride + 1 : 0;
}

/** vtpu_cost_out_h() - rows of a convolution's output, before a MAXPOOL */
static inline uint64_t vtpu_cost_out_h(const struct vtpu_insn_mxu *x)
{
	return vtpu_cost_conv_windows(x->in_h, x->ker_h, x->stride_h, x->dil_h,
				      (uint64_t)x->pad_top + x->pad_bottom);
}

static inline uint64_t vtpu_cost_out_w(const struct vtpu_insn_mxu *x)
{
	return vtpu_cost_conv_windows(x->in_w, x->ker_w, x->stride_w, x->dil_w,
				      (uint64_t)x->pad_left + x->pad_right);
}

/** struct vtpu_cost_conv - a convolution as a product for each group */
struct vtpu_cost_conv {
	/** @m: rows, of all images */
	uint64_t m;
	uint64_t n;
	uint64_t k;
	/** @macs: products that there are, those of padding too */
	uint64_t macs;
};

/** vtpu_cost_conv_shape() - CONV, CONV_DGRAD and CONV_WGRAD */
static inline struct vtpu_cost_conv vtpu_cost_conv_shape(const struct vtpu_insn *insn)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const struct vtpu_insn_maxpool pool = vtpu_insn_maxpool(x);
	const uint64_t h = vtpu_cost_out_h(x) / pool.h * pool.h;
	const uint64_t w = vtpu_cost_out_w(x) / pool.w * pool.w;
	const uint64_t windows = vtpu_cost_mul(vtpu_cost_mul(h, w), x->m);
	const uint64_t taps = (uint64_t)x->ker_h * x->ker_w;
	struct vtpu_cost_conv c;

	switch (insn->opcode) {
	case VTPU_OP_CONV_DGRAD:
		/* Of the taps, each pixel meets those that its place among the strides leaves. */
		c.m = vtpu_cost_mul((uint64_t)x->in_h * x->in_w, x->m);
		c.n = x->k;
		c.k = vtpu_cost_mul(vtpu_cost_div(x->ker_h, x->stride_h ? x->stride_h : 1) *
					    vtpu_cost_div(x->ker_w, x->stride_w ? x->stride_w : 1),
				    x->n);
		break;
	case VTPU_OP_CONV_WGRAD:
		c.m = vtpu_cost_mul(taps, x->k);
		c.n = x->n;
		c.k = windows;
		break;
	default:
		c.m = windows;
		c.n = x->n;
		c.k = vtpu_cost_mul(taps, x->k);
		break;
	}
	c.macs = vtpu_cost_mul(vtpu_cost_mul(windows, taps),
			       vtpu_cost_mul(vtpu_cost_mul(x->k, x->n), x->g));
	return c;
}

#endif /* VTPU_COST_CONV_H */
