// SPDX-License-Identifier: MIT
/*
 * ref_vpu.c - pooling, cross-entropy and optimisers in plain double precision.
 */
#include <string.h>

#include "ref_math.h"
#include "ref_vpu.h"

static struct ref value(const uint8_t *p, unsigned int type)
{
	return exact(ref_get(p, type));
}

static struct ref bits(uint32_t word)
{
	return value((const uint8_t *)&word, VTPU_TYPE_F32);
}

static struct ref minus(struct ref a, struct ref b)
{
	return add(a, (struct ref){ -b.v, b.e });
}

/* ---- Pooling ------------------------------------------------------------------- */

struct window {
	int y, x, y0, y1, x0, x1; /* the image's elements that it has */
};

static struct window window(const struct vtpu_insn_pool *x, int p, int q)
{
	struct window w = { .y = p * x->stride_h - x->pad_top, .x = q * x->stride_w - x->pad_left };

	w.y0 = w.y < 0 ? 0 : w.y;
	w.x0 = w.x < 0 ? 0 : w.x;
	w.y1 = w.y + x->ker_h > x->in_h ? x->in_h : w.y + x->ker_h;
	w.x1 = w.x + x->ker_w > x->in_w ? x->in_w : w.x + x->ker_w;
	return w;
}

static int rows_out(const struct vtpu_insn_pool *x)
{
	return (x->in_h + x->pad_top + x->pad_bottom - x->ker_h) / x->stride_h + 1;
}

static int cols_out(const struct vtpu_insn_pool *x)
{
	return (x->in_w + x->pad_left + x->pad_right - x->ker_w) / x->stride_w + 1;
}

static struct ref pool_one(const struct vtpu_insn_pool *x, const uint8_t *image, struct window w,
			   uint32_t c)
{
	double most = -INFINITY, sum = 0, magnitude = 0, n = (w.y1 - w.y0) * (w.x1 - w.x0);

	for (int i = w.y0; i < w.y1; i++)
		for (int j = w.x0; j < w.x1; j++) {
			double e = ref_get(image + (((size_t)i * x->in_w + j) * x->channels + c) *
							   size_of(x->type),
					   x->type);

			most = fmax(most, e);
			sum += e;
			magnitude += fabs(e);
		}
	if (x->op == VTPU_POOL_MAX)
		return exact(most);
	return store(quotient(chain(sum, magnitude, n + 1), exact(n)), x->type);
}

void ref_pool(const struct vtpu_insn_pool *x, const uint8_t *vmem, struct ref *out)
{
	const size_t image = (size_t)x->in_h * x->in_w * x->channels * size_of(x->type);

	for (uint32_t n = 0; n < x->images; n++)
		for (int p = 0; p < rows_out(x); p++)
			for (int q = 0; q < cols_out(x); q++)
				for (uint32_t c = 0; c < x->channels; c++)
					*out++ = pool_one(x, vmem + x->in + n * image,
							  window(x, p, q), c);
}

void ref_pool_grad(const struct vtpu_insn_pool *x, const uint8_t *vmem, struct ref *out)
{
	const size_t image = (size_t)x->in_h * x->in_w * x->channels;
	size_t at = 0;

	memset(out, 0, x->images * image * sizeof(*out));
	for (uint32_t n = 0; n < x->images; n++, out += image)
		for (int p = 0; p < rows_out(x); p++)
			for (int q = 0; q < cols_out(x); q++)
				for (uint32_t c = 0; c < x->channels; c++, at++) {
					const struct window w = window(x, p, q);
					double g = ref_get(vmem + x->in + at * size_of(x->type),
							   x->type);

					for (int i = w.y0; i < w.y1; i++)
						for (int j = w.x0; j < w.x1; j++) {
							size_t e = ((size_t)i * x->in_w + j) *
									   x->channels +
								   c;
							int tap = (i - w.y) * x->ker_w + j - w.x;
							double v =
								g / ((w.y1 - w.y0) * (w.x1 - w.x0));

							if (x->op == VTPU_POOL_MAX)
								v = vmem[x->index + at] == tap ? g :
												 0;
							out[e].v += v;
							out[e].e += fabs(v); /* magnitude */
						}
				}
	out -= x->images * image;
	/* Each element: a product and an addition a window, of which there are at most as many as taps. */
	for (size_t e = 0; e < x->images * image; e++)
		out[e] = store(chain(out[e].v, out[e].e, x->ker_h * x->ker_w + 2), x->type);
}

/* ---- Cross-entropy ---------------------------------------------------------------- */

struct ref ref_xent(const struct vtpu_insn_xent *x, const uint8_t *vmem, uint32_t row,
		    struct ref *grad)
{
	const uint8_t *in = vmem + x->in + row * x->in_pitch;
	struct ref w = exact(1), sum, d, scale = bits(x->imm[0]);
	double max = -INFINITY, total = 0, error = 0;
	uint32_t label = 0;

	if (x->mode & VTPU_XENT_WEIGHTS)
		w = value(vmem + x->weights + 4 * row, VTPU_TYPE_F32);
	memcpy(&label, vmem + x->labels + row * size_of(x->label_type), size_of(x->label_type));
	for (uint32_t j = 0; j < x->cols; j++)
		max = fmax(max, ref_get(in + j * size_of(x->in_type), x->in_type));
	for (uint32_t j = 0; j < x->cols; j++) {
		grad[j] = minus(value(in + j * size_of(x->in_type), x->in_type), exact(max));
		grad[j] = monotonous(exp, grad[j], U_EXP);
		total += grad[j].v;
		error += grad[j].e;
	}
	sum = (struct ref){ total, error + chain(total, total, x->cols).e };
	for (uint32_t j = 0; j < x->cols; j++) {
		grad[j] = minus(quotient(grad[j], sum), exact(j == label));
		grad[j] = store(mul(grad[j], mul(w, scale)), x->grad_type);
		if (w.v == 0)
			grad[j] = exact(0);
	}
	d = minus(value(in + label * size_of(x->in_type), x->in_type), exact(max));
	return w.v == 0 ? exact(0) : mul(w, minus(monotonous(log, sum, U_LOG), d));
}

/* ---- Optimisers --------------------------------------------------------------------- */

struct ref ref_opt(const struct vtpu_insn_opt *x, const uint8_t *vmem, uint32_t i, struct ref *m,
		   struct ref *v)
{
	struct ref p = value(vmem + x->param + 4 * i, VTPU_TYPE_F32);
	struct ref g = mul(value(vmem + x->grad + 4 * i, VTPU_TYPE_F32), bits(x->imm[1]));
	struct ref lr = exact(-bits(x->imm[0]).v), b1 = bits(x->beta1), b2 = bits(x->beta2);
	struct ref d = bits(x->decay), u = fused(d, p, g);

	*m = x->kind != VTPU_OPT_SGD ? value(vmem + x->m + 4 * i, VTPU_TYPE_F32) : exact(0);
	*v = x->kind == VTPU_OPT_ADAM ? value(vmem + x->v + 4 * i, VTPU_TYPE_F32) : exact(0);
	switch (x->kind) {
	case VTPU_OPT_SGD:
		return fused(lr, u, p);
	case VTPU_OPT_MOMENTUM:
		*m = fused(b1, *m, u);
		return fused(lr, *m, p);
	case VTPU_OPT_NESTEROV:
		*m = fused(b1, *m, u);
		return fused(lr, fused(b1, *m, u), p);
	default:
		*m = fused(b1, *m, mul(minus(exact(1), b1), g));
		*v = fused(b2, *v, mul(mul(minus(exact(1), b2), g), g));
		u = mul(*v, bits(x->imm[3]));
		if (u.v <= 2 * u.e)
			return (struct ref){ 0, INFINITY };
		u = add(monotonous(sqrt, u, U), bits(x->epsilon));
		u = quotient(mul(*m, bits(x->imm[2])), u);
		return fused(lr, fused(d, p, u), p);
	}
}
