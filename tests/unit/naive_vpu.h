/* SPDX-License-Identifier: MIT */
/*
 * naive_vpu.h - POOL, POOL_GRAD, ARGMAX, SOFTMAX_XENT, OPTIMIZE and RNG_FILL, element by
 * element in the order that docs/instructions.md gives, in plain f32.
 *
 * To be called in the chip's arithmetic. exp and log are the chip's own, through its scalar
 * kernel, as is the sum of a row's exponentials.
 */
#ifndef TESTS_UNIT_NAIVE_VPU_H
#define TESTS_UNIT_NAIVE_VPU_H

#include <math.h>

#include "kernels/kernels.h"
#include "numerics.h"

static inline float nv_get(const uint8_t *p, unsigned int type)
{
	uint16_t h;
	uint32_t u;

	if (type == VTPU_TYPE_BF16) {
		memcpy(&h, p, 2);
		u = (uint32_t)h << 16;
	} else {
		memcpy(&u, p, 4);
	}
	return vtpu_f32(vtpu_f32_flush(u));
}

static inline void nv_put(uint8_t *p, unsigned int type, float x)
{
	uint32_t u = vtpu_f32_flush(vtpu_f32_bits(x));
	uint16_t h = vtpu_bf16_from_f32(x);

	if (x != x)
		u = VTPU_NAN_F32;
	if (type == VTPU_TYPE_BF16)
		memcpy(p, &h, 2);
	else
		memcpy(p, &u, 4);
}

/* ---- Pools ------------------------------------------------------------------- */

struct nv_geometry {
	uint32_t out_h, out_w, size;
};

static inline struct nv_geometry nv_geometry(const struct vtpu_insn_pool *x)
{
	return (struct nv_geometry){
		.out_h = (x->in_h + x->pad_top + x->pad_bottom - x->ker_h) / x->stride_h + 1,
		.out_w = (x->in_w + x->pad_left + x->pad_right - x->ker_w) / x->stride_w + 1,
		.size = vtpu_type_bytes(x->type),
	};
}

/* Input element of a tap of a window, or -1 outside */
static inline int64_t nv_tap(const struct vtpu_insn_pool *x, uint32_t image, uint32_t p, uint32_t q,
			     uint32_t tap, uint32_t c)
{
	int64_t y = (int64_t)p * x->stride_h - x->pad_top + tap / x->ker_w;
	int64_t w = (int64_t)q * x->stride_w - x->pad_left + tap % x->ker_w;

	if (y < 0 || w < 0 || y >= x->in_h || w >= x->in_w)
		return -1;
	return ((image * x->in_h + y) * x->in_w + w) * x->channels + c;
}

static inline void nv_pool(const struct vtpu_insn_pool *x, uint8_t *vmem)
{
	const struct nv_geometry g = nv_geometry(x);
	uint32_t at = 0;

	for (uint32_t n = 0; n < x->images; n++)
		for (uint32_t p = 0; p < g.out_h; p++)
			for (uint32_t q = 0; q < g.out_w; q++)
				for (uint32_t c = 0; c < x->channels; c++, at++) {
					float best = 0.0f, sum = 0.0f, count = 0.0f;
					uint32_t place = 0;

					for (uint32_t t = 0; t < x->ker_h * x->ker_w; t++) {
						int64_t e = nv_tap(x, n, p, q, t, c);
						float v;

						if (e < 0)
							continue;
						v = nv_get(vmem + x->in + e * g.size, x->type);
						if (count == 0.0f || v > best || v != v) {
							best = v;
							place = t;
						}
						sum += v;
						count += 1.0f;
					}
					if (x->op == VTPU_POOL_AVERAGE)
						best = sum * (1.0f / count);
					nv_put(vmem + x->out + at * g.size, x->type, best);
					if (x->mode & VTPU_POOL_INDEX)
						vmem[x->index + at] = (uint8_t)place;
				}
}

/* Window by window, ascending, into f32 sums: @sum has room for the image. */
static inline void nv_pool_grad(const struct vtpu_insn_pool *x, uint8_t *vmem, float *sum)
{
	const struct nv_geometry g = nv_geometry(x);
	const uint32_t taps = x->ker_h * x->ker_w;
	const uint32_t elements = x->images * x->in_h * x->in_w * x->channels;
	uint32_t at = 0;

	memset(sum, 0, elements * sizeof(*sum));
	for (uint32_t n = 0; n < x->images; n++)
		for (uint32_t p = 0; p < g.out_h; p++)
			for (uint32_t q = 0; q < g.out_w; q++)
				for (uint32_t c = 0; c < x->channels; c++, at++) {
					float v = nv_get(vmem + x->in + at * g.size, x->type);
					float count = 0.0f;

					for (uint32_t t = 0; t < taps; t++)
						count += nv_tap(x, n, p, q, t, c) >= 0;
					for (uint32_t t = 0; t < taps; t++) {
						int64_t e = nv_tap(x, n, p, q, t, c);

						if (e < 0)
							continue;
						if (x->op == VTPU_POOL_AVERAGE)
							sum[e] += v * (1.0f / count);
						else if (vmem[x->index + at] == t)
							sum[e] += v;
					}
				}
	for (uint32_t e = 0; e < elements; e++)
		nv_put(vmem + x->out + e * g.size, x->type, sum[e]);
}

/* ---- Rows --------------------------------------------------------------------- */

static inline uint32_t nv_largest(const uint8_t *in, unsigned int type, uint32_t cols)
{
	uint32_t first = 0;

	for (uint32_t j = 0; j < cols; j++) {
		float v = nv_get(in + j * vtpu_type_bytes(type), type);
		float most = nv_get(in + first * vtpu_type_bytes(type), type);

		if (v != v)
			return j;
		if (v > most)
			first = j;
	}
	return first;
}

static inline void nv_argmax(const struct vtpu_insn_rows *x, uint8_t *vmem)
{
	for (uint32_t i = 0; i < x->rows; i++) {
		uint32_t first = nv_largest(vmem + x->in + i * x->in_pitch, x->in_type, x->cols);

		memcpy(vmem + x->out + i * x->out_pitch, &first, 4);
	}
}

/* The row sum of docs/numerics.md, over at most 4096 elements */
static inline float nv_sum(const float *x, uint32_t n)
{
	float block[4] = { 0 };
	uint32_t blocks = 0;

	for (uint32_t b = 0; b < n; b += 1024) {
		float part[16] = { 0 };

		for (uint32_t j = b; j < n && j < b + 1024; j++)
			part[(j - b) % 16] += x[j];
		for (int half = 8; half; half /= 2)
			for (int l = 0; l < half; l++)
				part[l] += part[l + half];
		block[blocks++] = part[0];
	}
	for (; blocks > 1; blocks = (blocks + 1) / 2)
		for (uint32_t b = 0; b < blocks; b += 2)
			block[b / 2] = b + 1 < blocks ? block[b] + block[b + 1] : block[b];
	return block[0] + 0.0f;
}

static inline float nv_function(unsigned int op, float x)
{
	float v[VTPU_BLOCK_ALIGN] = { x };

	vtpu_kernels_scalar.ew(op, v, v, v, 1);
	return v[0];
}

static inline void nv_xent_row(const struct vtpu_insn_xent *x, uint8_t *vmem, uint32_t i)
{
	static float e[4096];
	const uint8_t *in = vmem + x->in + i * x->in_pitch;
	const uint32_t size = vtpu_type_bytes(x->in_type), out = vtpu_type_bytes(x->grad_type);
	float w = 1.0f, m = -INFINITY, s, d, loss, right;
	uint32_t label = 0;

	if (x->mode & VTPU_XENT_WEIGHTS)
		w = nv_get(vmem + x->weights + 4 * i, VTPU_TYPE_F32);
	memcpy(&label, vmem + x->labels + i * vtpu_type_bytes(x->label_type),
	       vtpu_type_bytes(x->label_type));
	for (uint32_t j = 0; j < x->cols; j++) {
		float v = nv_get(in + j * size, x->in_type);

		m = m != m || m > v ? m : v;
	}
	m += 0.0f;
	for (uint32_t j = 0; j < x->cols; j++)
		e[j] = nv_function(VTPU_EW_EXP, nv_get(in + j * size, x->in_type) - m);
	s = nv_sum(e, x->cols);
	d = nv_get(in + label * size, x->in_type) - m;
	loss = w * (nv_function(VTPU_EW_LOG, s) - d);
	right = nv_largest(in, x->in_type, x->cols) == label ? w : 0.0f;
	if (x->mode & VTPU_XENT_LOSS) {
		nv_put(vmem + x->loss + 8 * i, VTPU_TYPE_F32, w == 0.0f ? 0.0f : loss);
		nv_put(vmem + x->loss + 8 * i + 4, VTPU_TYPE_F32, w == 0.0f ? 0.0f : right);
	}
	for (uint32_t j = 0; j < x->cols && x->mode & VTPU_XENT_GRAD; j++) {
		float p = e[j] / s - (j == label ? 1.0f : 0.0f);

		p *= w * vtpu_f32(vtpu_f32_flush(x->imm[0]));
		nv_put(vmem + x->grad + i * x->grad_pitch + j * out, x->grad_type,
		       w == 0.0f ? 0.0f : p);
	}
}

/* ---- Optimisers and random numbers ----------------------------------------------- */

static inline void nv_opt(const struct vtpu_insn_opt *x, uint8_t *vmem)
{
	const float lr = vtpu_f32(x->imm[0]), s = vtpu_f32(vtpu_f32_flush(x->imm[1])),
		    c1 = vtpu_f32(x->imm[2]), c2 = vtpu_f32(x->imm[3]), b1 = vtpu_f32(x->beta1),
		    b2 = vtpu_f32(x->beta2), eps = vtpu_f32(x->epsilon), d = vtpu_f32(x->decay);

	for (uint32_t i = 0; i < x->count; i++) {
		float p = nv_get(vmem + x->param + 4 * i, VTPU_TYPE_F32);
		float g = nv_get(vmem + x->grad + 4 * i, VTPU_TYPE_F32) * s;
		float m = x->kind == VTPU_OPT_SGD ? 0 : nv_get(vmem + x->m + 4 * i, VTPU_TYPE_F32);
		float v = x->kind == VTPU_OPT_ADAM ? nv_get(vmem + x->v + 4 * i, VTPU_TYPE_F32) : 0;
		float u;

		switch (x->kind) {
		case VTPU_OPT_SGD:
			p = fmaf(-lr, fmaf(d, p, g), p);
			break;
		case VTPU_OPT_MOMENTUM:
			m = fmaf(b1, m, fmaf(d, p, g));
			p = fmaf(-lr, m, p);
			break;
		case VTPU_OPT_NESTEROV:
			u = fmaf(d, p, g);
			m = fmaf(b1, m, u);
			p = fmaf(-lr, fmaf(b1, m, u), p);
			break;
		default:
			m = fmaf(b1, m, (1.0f - b1) * g);
			v = fmaf(b2, v, ((1.0f - b2) * g) * g);
			u = v * c2;
			u = (m * c1) / ((u < 0 ? NAN : sqrtf(u)) + eps);
			p = fmaf(-lr, fmaf(d, p, u), p);
			nv_put(vmem + x->v + 4 * i, VTPU_TYPE_F32, v);
		}
		nv_put(vmem + x->param + 4 * i, VTPU_TYPE_F32, p);
		if (x->kind != VTPU_OPT_SGD)
			nv_put(vmem + x->m + 4 * i, VTPU_TYPE_F32, m);
	}
}

/* Philox4x32-10 as the paper has it, and word n mod 4 of block n / 4 */
static inline uint32_t nv_philox(uint64_t n, const uint32_t arg[3])
{
	uint32_t l0 = (uint32_t)(n >> 2), r0 = (uint32_t)(n >> 34), l1 = arg[2], r1 = 0;
	uint32_t k0 = arg[0], k1 = arg[1];

	for (int i = 0; i < 10; i++) {
		uint64_t m0 = 0xd2511f53ULL * l0, m1 = 0xcd9e8d57ULL * l1;

		l0 = (uint32_t)(m1 >> 32) ^ r0 ^ k0;
		r0 = (uint32_t)m1;
		l1 = (uint32_t)(m0 >> 32) ^ r1 ^ k1;
		r1 = (uint32_t)m0;
		k0 += 0x9e3779b9;
		k1 += 0xbb67ae85;
	}
	switch (n & 3) {
	case 0:
		return l0;
	case 1:
		return r0;
	case 2:
		return l1;
	default:
		return r1;
	}
}

static inline void nv_rng(const struct vtpu_insn_rng *x, uint8_t *vmem, uint32_t core)
{
	for (uint32_t i = 0; i < x->rows; i++)
		for (uint32_t j = 0; j < x->cols; j++) {
			uint64_t n = x->index + core * x->core_step + i * x->row_step + j;
			float f = (float)(nv_philox(n, x->imm) >> 8) / 16777216.0f;

			memcpy(vmem + x->out + i * x->out_pitch + 4 * j, &f, 4);
		}
}

/** nv_run() - do one of these instructions on @core; @sum is scratch */
static inline void nv_run(const struct vtpu_insn *insn, uint8_t *vmem, uint32_t core, float *sum)
{
	switch (insn->opcode) {
	case VTPU_OP_POOL:
		nv_pool(&insn->payload.pool, vmem);
		break;
	case VTPU_OP_POOL_GRAD:
		nv_pool_grad(&insn->payload.pool, vmem, sum);
		break;
	case VTPU_OP_ARGMAX:
		nv_argmax(&insn->payload.rows, vmem);
		break;
	case VTPU_OP_SOFTMAX_XENT:
		for (uint32_t i = 0; i < insn->payload.xent.rows; i++)
			nv_xent_row(&insn->payload.xent, vmem, i);
		break;
	case VTPU_OP_OPTIMIZE:
		nv_opt(&insn->payload.opt, vmem);
		break;
	default:
		nv_rng(&insn->payload.rng, vmem, core);
		break;
	}
}

#endif /* TESTS_UNIT_NAIVE_VPU_H */
