// SPDX-License-Identifier: MIT
/*
 * ref_graph_basic.c - operations on elements, shapes and dimensions, in double precision.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "reference/ref_graph.h"

/* ---- Places ------------------------------------------------------------------------- */

/* Coordinates of element @i of @shape. */
static void coordinates(const struct vtpu_shape *shape, uint64_t i, int64_t at[VTPU_MAX_RANK])
{
	for (uint32_t d = shape->rank; d-- > 0;) {
		at[d] = (int64_t)(i % (uint64_t)shape->dim[d]);
		i /= (uint64_t)shape->dim[d];
	}
}

/* Element of @shape that broadcasts to coordinates @at of rank @rank. */
static uint64_t broadcast_index(const struct vtpu_shape *shape, const int64_t *at, uint32_t rank)
{
	uint64_t i = 0;

	for (uint32_t d = 0; d < shape->rank; d++)
		i = i * (uint64_t)shape->dim[d] +
		    (shape->dim[d] == 1 ? 0 : (uint64_t)at[rank - shape->rank + d]);
	return i;
}

/* Element of input @input for element @i of the result. */
static double at(const struct ref_call *c, int input, uint64_t i)
{
	int64_t place[VTPU_MAX_RANK] = { 0 };

	coordinates(&c->out_shape[0], i, place);
	return c->in[input][broadcast_index(&c->in_shape[input], place, c->out_shape[0].rank)];
}

/* ---- Elements ------------------------------------------------------------------------ */

#define UNARY(name, expression) \
	static void run_##name(const struct ref_call *c) \
	{ \
		for (uint64_t i = 0; i < c->n; i++) { \
			double x = c->in[0][i]; \
\
			c->out[0][i] = expression; \
		} \
	}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

UNARY(neg, -x)
UNARY(exp, exp(x))
UNARY(ln, log(x))
UNARY(sqrt, sqrt(x))
UNARY(rsqrt, 1 / sqrt(x))
UNARY(tanh, tanh(x))
UNARY(sigmoid, sigmoid(x))
UNARY(relu, x > 0 || isnan(x) ? x : 0)
UNARY(gelu, x *sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
UNARY(silu, x *sigmoid(x))

#define BINARY(name, expression) \
	static void run_##name(const struct ref_call *c) \
	{ \
		for (uint64_t i = 0; i < c->n; i++) { \
			double a = at(c, 0, i), b = at(c, 1, i); \
\
			c->out[0][i] = expression; \
		} \
	}

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(maximum, a > b || isnan(a) ? a : b)
BINARY(minimum, a < b || isnan(a) ? a : b)
BINARY(equal, a == b)
BINARY(less, a < b)
BINARY(less_equal, a <= b)

static void run_select(const struct ref_call *c)
{
	for (uint64_t i = 0; i < c->n; i++)
		c->out[0][i] = at(c, 0, i) != 0 ? at(c, 1, i) : at(c, 2, i);
}

static double saturate(double x, double low, double high)
{
	return isnan(x) ? 0 : fmin(fmax(rint(x), low), high);
}

static void run_cast(const struct ref_call *c)
{
	const struct vtpu_cast_attrs *a = c->attrs;

	for (uint64_t i = 0; i < c->n; i++) {
		double x = c->in[0][i];

		c->out[0][i] = a->type == VTPU_DTYPE_U8	 ? saturate(x, 0, UCHAR_MAX) :
			       a->type == VTPU_DTYPE_S8	 ? saturate(x, SCHAR_MIN, SCHAR_MAX) :
			       a->type == VTPU_DTYPE_S32 ? saturate(x, INT_MIN, INT_MAX) :
							   x;
	}
}

static void run_affine(const struct ref_call *c)
{
	const struct vtpu_affine_attrs *a = c->attrs;

	for (uint64_t i = 0; i < c->n; i++)
		c->out[0][i] = c->in[0][i] * (double)a->scale + (double)a->shift;
}

/* ---- Shapes --------------------------------------------------------------------------- */

static void run_reshape(const struct ref_call *c)
{
	memcpy(c->out[0], c->in[0], c->n * sizeof(double));
}

static void run_broadcast(const struct ref_call *c)
{
	for (uint64_t i = 0; i < c->n; i++)
		c->out[0][i] = at(c, 0, i);
}

static void run_transpose(const struct ref_call *c)
{
	const struct vtpu_transpose_attrs *a = c->attrs;
	int64_t to[VTPU_MAX_RANK] = { 0 }, from[VTPU_MAX_RANK] = { 0 };

	for (uint64_t i = 0; i < c->n; i++) {
		coordinates(&c->out_shape[0], i, to);
		for (uint32_t d = 0; d < c->out_shape[0].rank; d++)
			from[a->order[d]] = to[d];
		c->out[0][i] =
			c->in[0][broadcast_index(&c->in_shape[0], from, c->in_shape[0].rank)];
	}
}

/* ---- Dimensions --------------------------------------------------------------------------- */

/* Element of the result that element @i of the input is reduced into. */
static uint64_t reduced_index(const struct ref_call *c, uint32_t axes, uint64_t i)
{
	int64_t place[VTPU_MAX_RANK] = { 0 };
	uint64_t out = 0;

	coordinates(&c->in_shape[0], i, place);
	for (uint32_t d = 0; d < c->in_shape[0].rank; d++) {
		if (!(axes & VTPU_AXIS(d)))
			out = out * (uint64_t)c->in_shape[0].dim[d] + (uint64_t)place[d];
	}
	return out;
}

static void reduce(const struct ref_call *c, double start, bool largest, double scale)
{
	const struct vtpu_reduce_attrs *a = c->attrs;
	uint64_t n = ref_elements(&c->in_shape[0]);

	for (uint64_t i = 0; i < c->n; i++)
		c->out[0][i] = start;
	for (uint64_t i = 0; i < n; i++) {
		double *y = &c->out[0][reduced_index(c, a->axes, i)], x = c->in[0][i];

		if (!largest)
			*y += x;
		else if (x > *y || isnan(x))
			*y = x;
	}
	for (uint64_t i = 0; i < c->n && !largest; i++)
		c->out[0][i] *= scale;
}

static void run_reduce_sum(const struct ref_call *c)
{
	reduce(c, 0, false, 1);
}

static void run_reduce_mean(const struct ref_call *c)
{
	reduce(c, 0, false, (double)c->n / (double)ref_elements(&c->in_shape[0]));
}

static void run_reduce_max(const struct ref_call *c)
{
	reduce(c, -INFINITY, true, 1);
}

static void run_argmax(const struct ref_call *c)
{
	const struct vtpu_argmax_attrs *a = c->attrs;
	const struct vtpu_shape *x = &c->in_shape[0];
	int64_t inner = 1, count = x->dim[a->axis];

	for (uint32_t d = (uint32_t)a->axis + 1; d < x->rank; d++)
		inner *= x->dim[d];
	for (uint64_t i = 0; i < c->n; i++) {
		const double *first =
			c->in[0] + (int64_t)i / inner * inner * count + (int64_t)i % inner;
		int64_t best = 0;

		for (int64_t k = 1; k < count; k++) {
			if (first[k * inner] > first[best * inner])
				best = k;
		}
		c->out[0][i] = (double)best;
	}
}

const struct ref_kernel ref_graph_basic[] = {
	{ "cast", run_cast },
	{ "affine", run_affine },
	{ "neg", run_neg },
	{ "exp", run_exp },
	{ "ln", run_ln },
	{ "sqrt", run_sqrt },
	{ "rsqrt", run_rsqrt },
	{ "tanh", run_tanh },
	{ "sigmoid", run_sigmoid },
	{ "relu", run_relu },
	{ "gelu", run_gelu },
	{ "silu", run_silu },
	{ "add", run_add },
	{ "sub", run_sub },
	{ "mul", run_mul },
	{ "div", run_div },
	{ "maximum", run_maximum },
	{ "minimum", run_minimum },
	{ "equal", run_equal },
	{ "less", run_less },
	{ "less_equal", run_less_equal },
	{ "select", run_select },
	{ "bias_add", run_add },
	{ "reshape", run_reshape },
	{ "broadcast", run_broadcast },
	{ "transpose", run_transpose },
	{ "reduce_sum", run_reduce_sum },
	{ "reduce_mean", run_reduce_mean },
	{ "reduce_max", run_reduce_max },
	{ "argmax", run_argmax },
	{ NULL, NULL },
};
