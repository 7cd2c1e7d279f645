// SPDX-License-Identifier: MIT
/*
 * test_conv.c - convolutions are the chains of their definition, on every instruction set.
 *
 * Random geometries over awkward numbers. The scalar kernels against plain loops
 * that form each term in the documented order; the others, in any number of
 * parts, with and without skipping zeros, against the scalar ones; results against double precision.
 */
#include <math.h>

#include "conv.h"
#include "gen_conv.h"
#include "insn_table.h"
#include "reference/ref_conv.h"
#include "unit/op_host.h"

#define CASES 700

static const struct {
	uint8_t opcode;
	const char *name;
} kinds[] = {
	{ VTPU_OP_CONV, "conv" },
	{ VTPU_OP_CONV_DGRAD, "conv_dgrad" },
	{ VTPU_OP_CONV_WGRAD, "conv_wgrad" },
};

/* ---- The definition -------------------------------------------------------- */

static float get(const uint8_t *p, uint32_t col, unsigned int type)
{
	uint16_t h;
	float f;

	if (type == VTPU_TYPE_BF16) {
		memcpy(&h, p + 2 * col, 2);
		return vtpu_bf16_to_f32(h);
	}
	memcpy(&f, p + 4 * col, 4);
	return f;
}

static float conv_chain(const struct vtpu_insn_mxu *x, uint32_t pixel, uint32_t j, float acc)
{
	const uint32_t ow = gen_out_w(x), oh = gen_out_h(x), group = j / x->n;
	const uint32_t image = pixel / ow / oh, p = pixel / ow % oh, q = pixel % ow;

	for (int y = 0; y < x->ker_h; y++) {
		for (int z = 0; z < x->ker_w; z++) {
			int h = (int)p * x->stride_h - x->pad_top + y * x->dil_h;
			int w = (int)q * x->stride_w - x->pad_left + z * x->dil_w;

			if (h < 0 || h >= x->in_h || w < 0 || w >= x->in_w)
				continue;
			for (uint32_t c = 0; c < x->k; c++)
				acc = fmaf(get(start + x->a +
						       ((image * x->in_h + h) * x->in_w + w) *
							       x->lda,
					       group * x->k + c, x->a_type),
					   get(start + x->b +
						       ((y * x->ker_w + z) * x->k + c) * x->ldb,
					       j, x->b_type),
					   acc);
		}
	}
	return acc;
}

static float dgrad_chain(const struct vtpu_insn_mxu *x, uint32_t pixel, uint32_t j, float acc)
{
	const uint32_t ow = gen_out_w(x), oh = gen_out_h(x), group = j / x->k;
	const uint32_t image = pixel / x->in_w / x->in_h;
	const int h = pixel / x->in_w % x->in_h, w = pixel % x->in_w;

	for (uint32_t p = 0; p < oh; p++) {
		for (uint32_t q = 0; q < ow; q++) {
			int y = h + x->pad_top - (int)p * x->stride_h;
			int z = w + x->pad_left - (int)q * x->stride_w;

			if (y < 0 || z < 0 || y % x->dil_h || z % x->dil_w ||
			    y / x->dil_h >= x->ker_h || z / x->dil_w >= x->ker_w)
				continue;
			y /= x->dil_h;
			z /= x->dil_w;
			for (uint32_t c = 0; c < x->n; c++)
				acc = fmaf(get(start + x->a + ((image * oh + p) * ow + q) * x->lda,
					       group * x->n + c, x->a_type),
					   get(start + x->b +
						       ((y * x->ker_w + z) * x->k + j % x->k) *
							       x->ldb,
					       group * x->n + c, x->b_type),
					   acc);
		}
	}
	return acc;
}

static float wgrad_chain(const struct vtpu_insn_mxu *x, uint32_t row, uint32_t j, float acc)
{
	const uint32_t ow = gen_out_w(x), oh = gen_out_h(x), c = row % x->k;
	const int y = row / x->k / x->ker_w, z = row / x->k % x->ker_w;

	for (uint32_t image = 0; image < x->m; image++) {
		for (uint32_t p = 0; p < oh; p++) {
			for (uint32_t q = 0; q < ow; q++) {
				int h = (int)p * x->stride_h - x->pad_top + y * x->dil_h;
				int w = (int)q * x->stride_w - x->pad_left + z * x->dil_w;

				if (h < 0 || h >= x->in_h || w < 0 || w >= x->in_w)
					continue;
				acc = fmaf(get(start + x->a +
						       ((image * x->in_h + h) * x->in_w + w) *
							       x->lda,
					       j / x->n * x->k + c, x->a_type),
					   get(start + x->b + ((image * oh + p) * ow + q) * x->ldb,
					       j, x->b_type),
					   acc);
			}
		}
	}
	return acc;
}

static float canon(float x)
{
	return x != x ? vtpu_f32(VTPU_NAN_F32) : x + 0.0f;
}

/* One value through a kernel of element-wise operations, which test_kernels and test_numerics hold to theirs */
static float ew(unsigned int op, float a, float b)
{
	float x[VTPU_BLOCK_ALIGN] = { a }, y[VTPU_BLOCK_ALIGN] = { b }, d[VTPU_BLOCK_ALIGN] = { 0 };

	vtpu_kernels_scalar.ew(op, d, x, y, 1);
	return d[0];
}

/* The epilogue but for MAXPOOL */
static float epilogue(const struct vtpu_insn_mxu *x, uint32_t row, uint32_t j, float v)
{
	const uint32_t *arg = x->epi_arg;

	for (int i = 0; i < 4 && x->epi_op[i]; i++) {
		switch (x->epi_op[i]) {
		case VTPU_EPI_BIAS:
			v += get(start + *arg++, j, VTPU_TYPE_F32);
			break;
		case VTPU_EPI_SCALE:
			v *= get(start + *arg++, j, VTPU_TYPE_F32);
			break;
		case VTPU_EPI_RESIDUAL:
			v += get(start + *arg++ + row * x->ldd, j, x->d_type);
			break;
		case VTPU_EPI_SCALE_IMM:
			v *= vtpu_f32(*arg++);
			break;
		case VTPU_EPI_RELU:
			v = v > 0 || v != v ? v : 0.0f;
			break;
		case VTPU_EPI_LEAKY_RELU:
			v = v > 0 ? v : v * vtpu_f32(*arg);
			arg++;
			break;
		case VTPU_EPI_CLAMP:
			v = ew(VTPU_EW_MAX, v, vtpu_f32(vtpu_f32_flush(arg[0])));
			v = ew(VTPU_EW_MIN, v, vtpu_f32(vtpu_f32_flush(arg[1])));
			arg += 2;
			break;
		case VTPU_EPI_SIGMOID:
			v = ew(VTPU_EW_SIGMOID, v, v);
			break;
		case VTPU_EPI_TANH:
			v = ew(VTPU_EW_TANH, v, v);
			break;
		case VTPU_EPI_GELU:
			v = ew(VTPU_EW_GELU, v, v);
			break;
		case VTPU_EPI_SILU:
			v = ew(VTPU_EW_SILU, v, v);
			break;
		}
	}
	return v;
}

static float value(const struct vtpu_insn *insn, uint32_t row, uint32_t j)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	float acc = x->mode & VTPU_MXU_ACCUMULATE ?
			    get(start + x->c + row * x->ldc, j, VTPU_TYPE_F32) :
			    0.0f;

	switch (insn->opcode) {
	case VTPU_OP_CONV:
		acc = conv_chain(x, row, j, acc);
		break;
	case VTPU_OP_CONV_DGRAD:
		acc = dgrad_chain(x, row, j, acc);
		break;
	default:
		acc = wgrad_chain(x, row, j, acc);
	}
	return epilogue(x, row, j, canon(acc));
}

static bool right(const struct vtpu_insn_mxu *x, uint32_t row, uint32_t j, float v)
{
	const uint8_t *d = want + x->d + row * x->ldd;
	uint16_t half;

	v = canon(v);
	if (x->d_type == VTPU_TYPE_F32)
		return !memcmp(d + 4 * j, &v, 4);
	half = vtpu_bf16_from_f32(v);
	return !memcmp(d + 2 * j, &half, 2);
}

/* Places of the maximum too */
static uint32_t check_pooled(const struct vtpu_insn *insn, const struct vtpu_insn_maxpool *pool,
			     uint32_t *outputs)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const uint32_t oh = gen_out_h(x), ow = gen_out_w(x), h = oh / pool->h, w = ow / pool->w;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < x->m * h * w; i++) {
		uint32_t image = i / w / h, p = i / w % h * pool->h, q = i % w * pool->w;

		for (uint32_t j = 0; j < x->n * x->g; j++, ++*outputs) {
			uint32_t place = 0;
			float most = 0;

			for (uint32_t t = 0; t < pool->h * pool->w; t++) {
				float v =
					value(insn,
					      (image * oh + p + t / pool->w) * ow + q + t % pool->w,
					      j);

				if (t && !(v > most) && v == v)
					continue;
				most = v;
				place = t;
			}
			if (pool->relu && !(most > 0))
				place = pool->h * pool->w;
			wrong += !right(x, i, j, most) ||
				 want[pool->index + i * x->n * x->g + j] != place;
		}
	}
	return wrong;
}

static uint32_t check_all(const struct vtpu_insn *insn, uint32_t *outputs)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const struct vtpu_insn_maxpool pool = vtpu_insn_maxpool(x);
	uint32_t wrong = 0, rows, cols = x->n * x->g;

	if (pool.on)
		return check_pooled(insn, &pool, outputs);
	switch (insn->opcode) {
	case VTPU_OP_CONV:
		rows = x->m * gen_out_h(x) * gen_out_w(x);
		break;
	case VTPU_OP_CONV_DGRAD:
		rows = x->m * x->in_h * x->in_w;
		cols = x->k * x->g;
		break;
	default:
		rows = x->ker_h * x->ker_w * x->k;
	}
	for (uint32_t i = 0; i < rows; i++) {
		for (uint32_t j = 0; j < cols; j++, ++*outputs)
			wrong += !right(x, i, j, value(insn, i, j));
	}
	return wrong;
}

static void definition(uint8_t opcode, const char *name)
{
	uint32_t outputs = 0, bad = 0;

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct gen g = { .tame = seed % 3 == 0 };
		struct vtpu_insn insn;
		unsigned int fp;
		uint32_t wrong;

		gen_conv(&g, seed, start, &insn, opcode);
		execute(&vtpu_kernels_scalar, &insn, want, 1, 0);
		fp = vtpu_fp_enter();
		wrong = check_all(&insn, &outputs);
		vtpu_fp_leave(fp);
		if (wrong && bad++ < 3)
			printf("# %s, case %" PRIu64 ": %u results differ\n", name, seed, wrong);
	}
	tap_ok(!bad, "%s, scalar: each of %u results is the chain of its definition", name,
	       outputs);
}

/* ---- Instruction sets, parts, zeros ----------------------------------------- */

static void compare_one(const char *isa, const struct vtpu_kernels *k, uint8_t opcode,
			const char *name)
{
	uint32_t bad = 0, parted = 0;

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct gen g = { .tame = seed % 3 == 0 };
		struct vtpu_insn insn;
		uint32_t parts;
		bool ok;

		gen_conv(&g, seed, start, &insn, opcode);
		run.dense = true;
		ok = execute(&vtpu_kernels_scalar, &insn, want, 1, 0) == VTPU_ST_OK;
		run.dense = seed & 1;
		parts = gen_below(&g, 2) ? 1 : 1 + gen_below(&g, 20);
		parted += parts > 1;
		ok &= execute(k, &insn, got, parts, gen_below(&g, parts)) == VTPU_ST_OK;
		run.dense = false;
		bad += !ok;
		if (memcmp(want, got, GEN_VMEM) && bad++ < 3)
			same(isa, seed, &insn, parts);
	}
	tap_ok(!bad, "%s, %s: %u cases, %u of them in parts, half of them dense: bits of scalar",
	       name, isa, CASES, parted);
}

static void compare(const char *isa, const struct vtpu_kernels *k)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		compare_one(isa, k, kinds[i].opcode, kinds[i].name);
}

/* ---- Double precision ------------------------------------------------------- */

/** struct bound - results held to a bound */
struct bound {
	uint64_t results, known, wrong;
	double tightest;
};

static bool within(struct bound *b, struct ref r, double result)
{
	bool ok;

	b->results++;
	if (!isfinite(r.e))
		return true;
	b->known++;
	if (isnan(r.v))
		ok = isnan(result);
	else if (isinf(r.v))
		ok = result == r.v || (r.e > 0 && isnan(result));
	else
		ok = fabs(result - r.v) <= r.e;
	if (ok && r.e > 0 && isfinite(r.v))
		b->tightest = fmax(b->tightest, fabs(result - r.v) / r.e);
	b->wrong += !ok;
	return ok;
}

static struct ref stored(struct ref r, unsigned int type)
{
	if (type == VTPU_TYPE_BF16)
		r.e += 0x1p-8 * (fabs(r.v) + r.e) + 0x1p-126;
	if (fabs(r.v) + r.e > 3.38e38 && isfinite(r.v))
		r.e = INFINITY;
	return r;
}

/* The maximum of a window, and that its place holds one as large as errors allow. */
static struct ref largest(const struct vtpu_insn *insn, const struct ref_conv *c, uint32_t row,
			  uint32_t col, uint32_t place, bool relu, bool *place_ok)
{
	const uint32_t h = c->out_h / c->pool_h, w = c->out_w / c->pool_w;
	const uint32_t image = row / w / h, p = row / w % h * c->pool_h, q = row % w * c->pool_w;
	struct ref most = { -INFINITY, 0 }, chosen = { NAN, INFINITY };
	double error = 0;

	for (uint32_t t = 0; t < c->pool_h * c->pool_w; t++) {
		struct ref r = ref_conv(insn, start,
					(image * c->out_h + p + t / c->pool_w) * c->out_w + q +
						t % c->pool_w,
					col);

		error = fmax(error, isnan(r.e) ? INFINITY : r.e);
		if (isnan(r.v) || r.v > most.v)
			most.v = isnan(most.v) ? most.v : r.v;
		if (t == place)
			chosen = r;
	}
	most.e = error;
	*place_ok = !isfinite(error) || (place == c->pool_h * c->pool_w ?
						 relu && !(most.v > error) :
						 isnan(most.v) || chosen.v + 2 * error >= most.v);
	return most;
}

static void bounds(uint8_t opcode, const char *name)
{
	const struct vtpu_kernels *k = vtpu_kernels_select(VTPU_ISA_AUTO);
	struct bound b = { 0 };

	for (uint64_t seed = 0; seed < 90; seed++) {
		struct gen g = { .tame = seed % 3 > 0 };
		struct vtpu_insn insn;
		const struct vtpu_insn_mxu *x = &insn.payload.mxu;
		struct vtpu_insn_maxpool have;
		struct ref_conv c;

		gen_conv(&g, seed, start, &insn, opcode);
		execute(k, &insn, want, 1, 0);
		ref_conv_shape(&insn, &c);
		have = vtpu_insn_maxpool(x);
		if (c.pool_h)
			c.rows = x->m * (c.out_h / c.pool_h) * (c.out_w / c.pool_w);
		for (int i = 0; i < 60; i++) {
			uint32_t row = gen_below(&g, c.rows), col = gen_below(&g, c.cols);
			double result = get(want + x->d + row * x->ldd, col, x->d_type);
			bool place_ok = true;
			struct ref r;

			if (c.pool_h)
				r = largest(&insn, &c, row, col,
					    want[have.index + row * c.cols + col], have.relu,
					    &place_ok);
			else
				r = ref_conv(&insn, start, row, col);
			if ((!within(&b, stored(r, x->d_type), result) || !place_ok) && b.wrong < 4)
				printf("# %s, case %" PRIu64
				       ", result (%u, %u): %.9g, reference %.9g, bound %.3g\n",
				       name, seed, row, col, result, r.v, r.e);
			b.wrong += !place_ok;
		}
	}
	tap_ok(b.known && !b.wrong,
	       "%s, %s: %" PRIu64 " results, %" PRIu64 " with a bound, error at most %.2f of it",
	       name, vtpu_isa_name(vtpu_kernels_isa(k)), b.results, b.known, b.tightest);
}

int main(void)
{
	if (!host_begin())
		return 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		definition(kinds[i].opcode, kinds[i].name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		bounds(kinds[i].opcode, kinds[i].name);
	host_sets(compare, &vtpu_kernels_scalar);
	host_end();
	return tap_done();
}
