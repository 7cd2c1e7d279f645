// SPDX-License-Identifier: MIT
/*
 * ref_ops.c - the instructions in plain double precision, with running error bounds.
 */
#include <math.h>
#include <string.h>

#include "ref_math.h"

/* ---- Memory --------------------------------------------------------------- */

double ref_get(const uint8_t *p, unsigned int type)
{
	uint32_t u = 0;
	float f;

	if (type == VTPU_TYPE_U8)
		return *p;
	memcpy((uint8_t *)&u + 4 - size_of(type), p, size_of(type));
	memcpy(&f, &u, 4);
	return fabsf(f) < 0x1p-126f ? copysign(0, f) : f;
}

/* ---- Functions ------------------------------------------------------------ */

static double f_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double f_rsqrt(double x)
{
	return 1 / sqrt(x);
}

static double f_silu(double x)
{
	return x * f_sigmoid(x);
}

static double f_gelu(double x)
{
	return x * f_sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

/* silu and gelu: slopes are below 1.2; the absolute error of gelu is held to that at 1/8. */
static struct ref bounded_slope(double (*f)(double), struct ref a, double u, double floor)
{
	double v = isinf(a.v) && a.v < 0 ? NAN : f(a.v);

	return rounded(v, 1.2 * a.e + u * floor, u);
}

static struct ref relu(struct ref a)
{
	return a.v > 0 || isnan(a.v) ? a : (struct ref){ 0, a.e };
}

/* 1 or 0; unknown where the errors leave it open. */
static struct ref truth(struct ref a, struct ref b, bool value)
{
	if (a.e + b.e > 0 && !(fabs(a.v - b.v) > a.e + b.e))
		return (struct ref){ value, INFINITY };
	return exact(value);
}

/* ---- MATMUL --------------------------------------------------------------- */

static struct ref function(unsigned int op, struct ref a)
{
	switch (op) {
	case VTPU_EPI_SIGMOID:
		return monotonous(f_sigmoid, a, U_SIGMOID);
	case VTPU_EPI_TANH:
		return monotonous(tanh, a, U_TANH);
	case VTPU_EPI_GELU:
		return bounded_slope(f_gelu, a, U_GELU, 0.125);
	default:
		return bounded_slope(f_silu, a, U_SILU, 0x1p-90);
	}
}

static struct ref immediate(uint32_t bits)
{
	return exact(ref_get((const uint8_t *)&bits, VTPU_TYPE_F32));
}

struct ref ref_epilogue(const struct vtpu_insn_mxu *x, const uint8_t *vmem, uint32_t i, uint32_t j,
			struct ref r)
{
	const uint32_t *arg = x->epi_arg;

	for (int n = 0; n < 4 && x->epi_op[n] && x->epi_op[n] != VTPU_EPI_MAXPOOL; n++) {
		switch (x->epi_op[n]) {
		case VTPU_EPI_BIAS:
			r = add(r, exact(ref_get(vmem + *arg++ + j * 4, VTPU_TYPE_F32)));
			break;
		case VTPU_EPI_SCALE:
			r = mul(r, exact(ref_get(vmem + *arg++ + j * 4, VTPU_TYPE_F32)));
			break;
		case VTPU_EPI_RESIDUAL:
			r = add(r,
				exact(ref_get(vmem + *arg++ + i * x->ldd + j * size_of(x->d_type),
					      x->d_type)));
			break;
		case VTPU_EPI_SCALE_IMM:
			r = mul(r, immediate(*arg++));
			break;
		case VTPU_EPI_RELU:
			r = relu(r);
			break;
		case VTPU_EPI_LEAKY_RELU: {
			struct ref y = mul(r, immediate(*arg++));

			/* Around zero either branch may be taken, and both are small. */
			if (!(r.v > 0))
				r = fabs(r.v) <= r.e ?
					    (struct ref){ y.v, y.e + r.e + fabs(y.v - r.v) } :
					    y;
			else if (r.v <= r.e)
				r.e += y.e + fabs(y.v - r.v);
			break;
		}
		case VTPU_EPI_CLAMP: {
			struct ref lo = immediate(*arg++), hi = immediate(*arg++);

			r = pick(r, lo, r.v > lo.v);
			r = pick(r, hi, r.v < hi.v);
			break;
		}
		default:
			r = function(x->epi_op[n], r);
			break;
		}
	}
	return r;
}

struct ref ref_matmul(const struct vtpu_insn_mxu *x, const uint8_t *vmem, uint32_t i, uint32_t j)
{
	uint32_t as = size_of(x->a_type), bs = size_of(x->b_type);
	double sum = 0, magnitude = 0, additions = (double)x->k * x->g;

	if (x->mode & VTPU_MXU_ACCUMULATE) {
		sum = ref_get(vmem + x->c + i * x->ldc + j * 4, VTPU_TYPE_F32);
		magnitude = isfinite(sum) ? fabs(sum) : 0;
	}
	for (int g = 0; g < x->g; g++) {
		const uint8_t *a = vmem + x->a + (int64_t)g * x->a_gstride;
		const uint8_t *b = vmem + x->b + (int64_t)g * x->b_gstride;

		for (uint32_t k = 0; k < x->k; k++) {
			double p = ref_get(x->mode & VTPU_MXU_TRANS_A ? a + k * x->lda + i * as :
									a + i * x->lda + k * as,
					   x->a_type);

			p *= ref_get(x->mode & VTPU_MXU_TRANS_B ? b + j * x->ldb + k * bs :
								  b + k * x->ldb + j * bs,
				     x->b_type);
			sum += p;
			magnitude += isfinite(p) ? fabs(p) : 0;
		}
	}
	return store(ref_epilogue(x, vmem, i, j, chain(sum, magnitude, additions)), x->d_type);
}

/* ---- EW ------------------------------------------------------------------- */

static struct ref micro_op(unsigned int op, struct ref d, struct ref a, struct ref b)
{
	switch (op) {
	case VTPU_EW_ADD:
		return add(a, b);
	case VTPU_EW_SUB:
		return add(a, (struct ref){ -b.v, b.e });
	case VTPU_EW_MUL:
		return mul(a, b);
	case VTPU_EW_DIV:
		return quotient(a, b);
	case VTPU_EW_MIN:
		return pick(a, b, a.v < b.v);
	case VTPU_EW_MAX:
		return pick(a, b, a.v > b.v);
	case VTPU_EW_FMA:
		return fused(a, b, d);
	case VTPU_EW_CMP_EQ:
		return truth(a, b, a.v == b.v);
	case VTPU_EW_CMP_LT:
		return truth(a, b, a.v < b.v);
	case VTPU_EW_CMP_LE:
		return truth(a, b, a.v <= b.v);
	case VTPU_EW_SELECT:
		if (d.e > 0 && fabs(d.v) <= d.e)
			return (struct ref){ a.v, INFINITY };
		return d.v != 0 ? a : b;
	case VTPU_EW_NEG:
		return (struct ref){ -a.v, a.e };
	case VTPU_EW_ABS:
		return (struct ref){ fabs(a.v), a.e };
	case VTPU_EW_SQRT:
	case VTPU_EW_RSQRT:
		if (a.e > 0 && a.v <= 2 * a.e)
			return (struct ref){ 0, INFINITY };
		return monotonous(op == VTPU_EW_SQRT ? sqrt : f_rsqrt, a,
				  op == VTPU_EW_SQRT ? U : 3 * U);
	case VTPU_EW_RCP:
		return quotient(exact(1), a);
	case VTPU_EW_FLOOR:
		return (struct ref){ floor(a.v),
				     floor(a.v - a.e) == floor(a.v + a.e) ? 0 : 1 + a.e };
	case VTPU_EW_EXP:
		return monotonous(exp, a, U_EXP);
	case VTPU_EW_LOG:
		if (a.e > 0 && a.v <= 2 * a.e)
			return (struct ref){ 0, INFINITY };
		return monotonous(log, a, U_LOG);
	case VTPU_EW_TANH:
		return function(VTPU_EPI_TANH, a);
	case VTPU_EW_SIGMOID:
		return function(VTPU_EPI_SIGMOID, a);
	case VTPU_EW_RELU:
		return relu(a);
	case VTPU_EW_GELU:
		return function(VTPU_EPI_GELU, a);
	case VTPU_EW_SILU:
		return function(VTPU_EPI_SILU, a);
	default:
		return a;
	}
}

struct ref ref_ew(const struct vtpu_insn_ew *x, const uint8_t *vmem, unsigned int out, uint32_t i,
		  uint32_t j)
{
	struct ref r[6] = { 0 };

	for (unsigned int n = 0; n < x->nin; n++) {
		bool down = x->in_bcast[n] == VTPU_BCAST_FULL || x->in_bcast[n] == VTPU_BCAST_COL;
		bool across = x->in_bcast[n] == VTPU_BCAST_FULL || x->in_bcast[n] == VTPU_BCAST_ROW;

		r[n] = exact(ref_get(vmem + x->in[n].addr + (down ? i * x->in[n].pitch : 0) +
					     (across ? j * size_of(x->in_type[n]) : 0),
				     x->in_type[n]));
	}
	r[VTPU_EW_IMM0] = immediate(x->imm[0]);
	r[VTPU_EW_IMM1] = immediate(x->imm[1]);
	for (unsigned int n = 0; n < x->nops; n++) {
		unsigned int args = x->op[n].args;
		struct ref *d = &r[VTPU_EW_DST(args)];

		*d = micro_op(x->op[n].op, *d, r[VTPU_EW_A(args)], r[VTPU_EW_B(args)]);
		/* Once an infinity or NaN depends on an inexact value, nothing is known. */
		if (!isfinite(d->e) || (d->e > 0 && !isfinite(d->v)))
			d->e = INFINITY;
	}
	return store(r[out], x->out_type[out]);
}

/* ---- Rows ----------------------------------------------------------------- */

struct ref ref_reduce(const struct vtpu_insn_rows *x, const uint8_t *vmem, uint32_t i)
{
	uint32_t n = x->axis ? x->cols : x->rows, size = size_of(x->in_type);
	double v = x->op == VTPU_REDUCE_MAX ? -INFINITY : x->op == VTPU_REDUCE_MIN ? INFINITY : 0;
	double magnitude = 0;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t row = x->axis ? i : k, col = x->axis ? k : i;
		double e = ref_get(vmem + x->in + row * x->in_pitch + col * size, x->in_type);

		switch (x->op) {
		case VTPU_REDUCE_MAX:
			v = isnan(e) || isnan(v) ? NAN : fmax(v, e);
			continue;
		case VTPU_REDUCE_MIN:
			v = isnan(e) || isnan(v) ? NAN : fmin(v, e);
			continue;
		case VTPU_REDUCE_SUMSQ:
			e *= e;
		}
		v += e;
		magnitude += isfinite(e) ? fabs(e) : 0;
	}
	if (x->op == VTPU_REDUCE_MAX || x->op == VTPU_REDUCE_MIN)
		return store(exact(v), x->out_type);
	return store(chain(v, magnitude, n), x->out_type);
}

void ref_softmax(const struct vtpu_insn_rows *x, const uint8_t *vmem, uint32_t row, struct ref *out)
{
	const uint8_t *in = vmem + x->in + row * x->in_pitch;
	struct ref max = { -INFINITY, 0 }, sum = { 0, 0 };
	double total = 0;

	for (uint32_t j = 0; j < x->cols; j++) {
		out[j] = mul(exact(ref_get(in + j * size_of(x->in_type), x->in_type)),
			     immediate(x->imm[0]));
		max = j ? pick(max, out[j], max.v > out[j].v) : out[j];
	}
	for (uint32_t j = 0; j < x->cols; j++) {
		out[j] = monotonous(exp, add(out[j], (struct ref){ -max.v, max.e }), U_EXP);
		total += out[j].v;
		sum.e += out[j].e;
	}
	sum = (struct ref){ total, sum.e + chain(total, total, x->cols).e };
	for (uint32_t j = 0; j < x->cols; j++)
		out[j] = store(quotient(out[j], sum), x->out_type);
}

/* ---- Moves ---------------------------------------------------------------- */

/* One element from type to type, bit for bit as the rules of casts say. */
static void cast(uint8_t *dst, unsigned int dst_type, const uint8_t *src, unsigned int src_type)
{
	uint8_t copy[4];
	uint32_t u;
	double v;
	float f;

	if (dst_type == src_type) {
		memcpy(copy, src, size_of(src_type));
		memcpy(dst, copy, size_of(dst_type));
		return;
	}
	v = ref_get(src, src_type);
	f = (float)v;
	memcpy(&u, &f, 4);
	if (isnan(v))
		u = 0x7fc00000;
	else if (dst_type == VTPU_TYPE_BF16)
		u += 0x7fff + (u >> 16 & 1);
	memcpy(dst, (uint8_t *)&u + 4 - size_of(dst_type), size_of(dst_type));
}

void ref_dma(const struct vtpu_insn *insn, uint8_t *vmem)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;
	uint32_t at[5] = { 0 }, extent[5];
	int d;

	for (d = 0; d < 5; d++)
		extent[d] = x->count[d] + (d < 4 ? x->pad_before[d] + x->pad_after[d] : 0);
	do {
		uint8_t *dst = vmem + VTPU_ADDR_OFFSET(x->dst);
		const uint8_t *src = vmem + VTPU_ADDR_OFFSET(x->src);
		bool pad = false;

		for (d = 0; d < 5; d++) {
			uint32_t before = d < 4 ? x->pad_before[d] : 0;

			dst += (int64_t)at[d] * x->dst_stride[d];
			src += ((int64_t)at[d] - before) * x->src_stride[d];
			pad |= at[d] < before || at[d] >= before + x->count[d];
		}
		if (insn->opcode == VTPU_OP_FILL)
			memcpy(dst, &x->imm, size_of(x->dst_type));
		else if (pad)
			memset(dst, 0, size_of(x->dst_type));
		else
			cast(dst, x->dst_type, src, x->src_type);
		for (d = 0; d < 5 && ++at[d] == extent[d]; d++)
			at[d] = 0;
	} while (d < 5);
}

void ref_transpose(const struct vtpu_insn_rows *x, uint8_t *vmem)
{
	uint32_t size = size_of(x->in_type);

	for (uint32_t i = 0; i < x->rows; i++) {
		for (uint32_t j = 0; j < x->cols; j++)
			memcpy(vmem + x->out + j * x->out_pitch + i * size,
			       vmem + x->in + i * x->in_pitch + j * size, size);
	}
}
