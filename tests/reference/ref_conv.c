// SPDX-License-Identifier: MIT
/*
 * ref_conv.c - convolutions in plain double precision: for each result, a look at
 * every pair of an output and a tap, and a sum over those that meet it.
 */
#include <math.h>

#include "ref_conv.h"
#include "ref_math.h"

static uint32_t windows(uint32_t in, uint32_t pad, uint32_t ker, uint32_t stride, uint32_t dil)
{
	return (in + pad - dil * (ker - 1) - 1) / stride + 1;
}

void ref_conv_shape(const struct vtpu_insn *insn, struct ref_conv *c)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	uint32_t arg = 0;

	*c = (struct ref_conv){
		.out_h = windows(x->in_h, x->pad_top + x->pad_bottom, x->ker_h, x->stride_h,
				 x->dil_h),
		.out_w = windows(x->in_w, x->pad_left + x->pad_right, x->ker_w, x->stride_w,
				 x->dil_w),
		.cols = x->n * x->g,
	};
	switch (insn->opcode) {
	case VTPU_OP_CONV:
		c->rows = x->m * c->out_h * c->out_w;
		break;
	case VTPU_OP_CONV_DGRAD:
		c->rows = x->m * x->in_h * x->in_w;
		c->cols = x->k * x->g;
		break;
	default:
		c->rows = x->ker_h * x->ker_w * x->k;
	}
	for (int i = 0; i < 4 && x->epi_op[i]; i++) {
		switch (x->epi_op[i]) {
		case VTPU_EPI_MAXPOOL:
			c->pool_h = x->epi_arg[arg + 1] & 0xff;
			c->pool_w = x->epi_arg[arg + 1] >> 8;
			return;
		case VTPU_EPI_CLAMP:
			arg += 2;
			break;
		case VTPU_EPI_RELU:
		case VTPU_EPI_SIGMOID:
		case VTPU_EPI_TANH:
		case VTPU_EPI_GELU:
		case VTPU_EPI_SILU:
			break;
		default:
			arg++;
		}
	}
}

/** struct sum - of products */
struct sum {
	double v, magnitude, terms;
};

static void product(struct sum *s, double a, double b)
{
	double p = a * b;

	s->v += p;
	s->magnitude += isfinite(p) ? fabs(p) : 0;
	s->terms++;
}

/* What window (@p, @q) of @image adds through tap (@y, @z), whose pixel is (@h, @w). */
static void meet(const struct vtpu_insn *insn, const struct ref_conv *c, const uint8_t *vmem,
		 struct sum *s, uint32_t col, uint32_t channel, const uint32_t at[7])
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const uint32_t image = at[0], p = at[1], q = at[2], y = at[3], z = at[4], h = at[5],
		       w = at[6];
	const uint32_t a_size = x->a_type == VTPU_TYPE_BF16 ? 2 : 4;
	const uint32_t b_size = x->b_type == VTPU_TYPE_BF16 ? 2 : 4;
	const uint64_t in = ((uint64_t)image * x->in_h + h) * x->in_w + w;
	const uint64_t out = ((uint64_t)image * c->out_h + p) * c->out_w + q;
	const uint64_t weight = (uint64_t)(y * x->ker_w + z) * x->k;
	uint32_t group;

	switch (insn->opcode) {
	case VTPU_OP_CONV:
		group = col / x->n;
		for (uint32_t i = 0; i < x->k; i++)
			product(s,
				ref_get(vmem + x->a + in * x->lda + (group * x->k + i) * a_size,
					x->a_type),
				ref_get(vmem + x->b + (weight + i) * x->ldb + col * b_size,
					x->b_type));
		break;
	case VTPU_OP_CONV_DGRAD:
		group = col / x->k;
		for (uint32_t i = group * x->n; i < (group + 1) * x->n; i++)
			product(s, ref_get(vmem + x->a + out * x->lda + i * a_size, x->a_type),
				ref_get(vmem + x->b + (weight + col % x->k) * x->ldb + i * b_size,
					x->b_type));
		break;
	default:
		group = col / x->n;
		product(s,
			ref_get(vmem + x->a + in * x->lda + (group * x->k + channel) * a_size,
				x->a_type),
			ref_get(vmem + x->b + out * x->ldb + col * b_size, x->b_type));
	}
}

/* Is this pair of window and tap one of result @row? */
static bool mine(const struct vtpu_insn *insn, const struct ref_conv *c, uint32_t row,
		 const uint32_t at[7])
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;

	switch (insn->opcode) {
	case VTPU_OP_CONV:
		return row == (at[0] * c->out_h + at[1]) * c->out_w + at[2];
	case VTPU_OP_CONV_DGRAD:
		return row == (at[0] * x->in_h + at[5]) * x->in_w + at[6];
	default:
		return row / x->k == at[3] * x->ker_w + at[4];
	}
}

struct ref ref_conv(const struct vtpu_insn *insn, const uint8_t *vmem, uint32_t row, uint32_t col)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	struct sum s = { 0 };
	struct ref_conv c;

	ref_conv_shape(insn, &c);
	if (x->mode & VTPU_MXU_ACCUMULATE) {
		s.v = ref_get(vmem + x->c + (uint64_t)row * x->ldc + col * 4, VTPU_TYPE_F32);
		s.magnitude = isfinite(s.v) ? fabs(s.v) : 0;
	}
	for (uint32_t image = 0; image < x->m; image++) {
		for (uint32_t pq = 0; pq < c.out_h * c.out_w; pq++) {
			for (uint32_t tap = 0; tap < (uint32_t)x->ker_h * x->ker_w; tap++) {
				int p = (int)(pq / c.out_w), q = (int)(pq % c.out_w);
				int y = (int)tap / x->ker_w, z = (int)tap % x->ker_w;
				int h = p * x->stride_h - x->pad_top + y * x->dil_h;
				int w = q * x->stride_w - x->pad_left + z * x->dil_w;
				const uint32_t at[7] = { image, p, q, y, z, h, w };

				if (h >= 0 && h < x->in_h && w >= 0 && w < x->in_w &&
				    mine(insn, &c, row, at))
					meet(insn, &c, vmem, &s, col, row % x->k, at);
			}
		}
	}
	return ref_epilogue(x, vmem, row, col, chain(s.v, s.magnitude, s.terms));
}
