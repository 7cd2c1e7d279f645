// SPDX-License-Identifier: MIT
/*
 * cases.c - small graphs that between them use every operation that has a gradient.
 */
#include <stddef.h>

#include "graph/cases.h"

#define END \
	{ \
		.rank = 7 \
	}
#define S0 \
	{ \
		0, \
		{ \
			0 \
		} \
	}
/* clang-format off */
#define S(n, ...) { n, { __VA_ARGS__ } }
/* clang-format on */

#define CASE(name, expression) \
	static struct vtpu_tensor *name(struct vtpu_graph *g, struct vtpu_tensor *const *x) \
	{ \
		return expression; \
	}

CASE(neg, vtpu_neg(g, x[0]))
CASE(exp_, vtpu_exp(g, x[0]))
CASE(ln, vtpu_ln(g, x[0]))
CASE(sqrt_, vtpu_sqrt(g, x[0]))
CASE(rsqrt, vtpu_rsqrt(g, x[0]))
CASE(tanh_, vtpu_tanh(g, x[0]))
CASE(sigmoid, vtpu_sigmoid(g, x[0]))
CASE(relu, vtpu_relu(g, x[0]))
CASE(gelu, vtpu_gelu(g, x[0]))
CASE(silu, vtpu_silu(g, x[0]))
CASE(affine, vtpu_affine(g, x[0], 1.5f, -0.25f, VTPU_DTYPE_F32))
CASE(cast, vtpu_cast(g, vtpu_cast(g, x[0], VTPU_DTYPE_BF16), VTPU_DTYPE_F32))

CASE(add, vtpu_add(g, x[0], x[1]))
CASE(sub, vtpu_sub(g, x[0], x[1]))
CASE(mul, vtpu_mul(g, x[0], x[1]))
CASE(div_, vtpu_div(g, x[0], x[1]))
CASE(maximum, vtpu_maximum(g, x[0], x[1]))
CASE(minimum, vtpu_minimum(g, x[0], x[1]))
CASE(select_, vtpu_select(g, vtpu_less(g, x[0], x[1]), x[1], x[2]))
CASE(masks,
     vtpu_mul(g, x[0], vtpu_add(g, vtpu_equal(g, x[0], x[1]), vtpu_less_equal(g, x[0], x[1]))))
CASE(square, vtpu_mul(g, x[0], x[0]))

CASE(reshape, vtpu_reshape(g, x[0], VTPU_SHAPE(4, -1)))
CASE(flatten, vtpu_flatten(g, x[0]))
CASE(broadcast, vtpu_broadcast(g, x[0], VTPU_SHAPE(2, 3, 4)))
CASE(transpose, vtpu_transpose(g, x[0], (const int32_t[]){ 2, 0, 1 }))
CASE(transpose_last, vtpu_transpose(g, x[0], NULL))

CASE(sum_all, vtpu_reduce_sum(g, x[0], 0, false))
CASE(sum_axes, vtpu_reduce_sum(g, x[0], VTPU_AXIS(0) | VTPU_AXIS(2), false))
CASE(mean_keep, vtpu_reduce_mean(g, x[0], VTPU_AXIS(1), true))
CASE(mean_all, vtpu_reduce_mean(g, x[0], 0, false))
CASE(max_axis, vtpu_reduce_max(g, x[0], VTPU_AXIS(1), false))
CASE(max_keep, vtpu_reduce_max(g, x[0], 0, true))

CASE(matmul, vtpu_matmul(g, x[0], x[1], NULL))
CASE(matmul_ta, vtpu_matmul(g, x[0], x[1], &(struct vtpu_matmul_attrs){ .transpose_a = true }))
CASE(matmul_tb, vtpu_matmul(g, x[0], x[1], &(struct vtpu_matmul_attrs){ .transpose_b = true }))
CASE(matmul_tt, vtpu_matmul(g, x[0], x[1], &(struct vtpu_matmul_attrs){ true, true }))
CASE(bias_add, vtpu_bias_add(g, x[0], x[1]))

static const struct vtpu_conv2d_attrs same = { .padding = VTPU_PADDING_SAME };
static const struct vtpu_conv2d_attrs strided = { .stride = { 2, 3 },
						  .padding = VTPU_PADDING_SAME };
static const struct vtpu_conv2d_attrs odd = {
	.stride = { 2, 1 },
	.dilation = { 1, 2 },
	.padding = VTPU_PADDING_EXPLICIT,
	.pad = { 1, 0, 2, 3 },
	.groups = 2,
};

CASE(conv_valid, vtpu_conv2d(g, x[0], x[1], NULL))
CASE(conv_same, vtpu_conv2d(g, x[0], x[1], &same))
CASE(conv_strided, vtpu_conv2d(g, x[0], x[1], &strided))
CASE(conv_odd, vtpu_conv2d(g, x[0], x[1], &odd))
CASE(conv_input_grad, vtpu_conv2d_input_grad(g, x[0], x[1], &odd, VTPU_SHAPE(2, 6, 5, 4)))
CASE(conv_weight_grad, vtpu_conv2d_weight_grad(g, x[0], x[1], &odd, VTPU_SHAPE(3, 2, 2, 6)))

static const struct vtpu_pool_attrs pool2 = { .window = { 2, 2 } };
static const struct vtpu_pool_attrs pool_odd = {
	.window = { 3, 2 },
	.stride = { 2, 1 },
	.padding = VTPU_PADDING_EXPLICIT,
	.pad = { 1, 2, 1, 0 },
};

CASE(max_pool, vtpu_max_pool(g, x[0], &pool2))
CASE(max_pool_odd, vtpu_max_pool(g, x[0], &pool_odd))
CASE(avg_pool, vtpu_avg_pool(g, x[0], &pool2))
CASE(avg_pool_odd, vtpu_avg_pool(g, x[0], &pool_odd))
CASE(avg_pool_grad, vtpu_avg_pool_grad(g, x[0], &pool_odd, VTPU_SHAPE(2, 5, 4, 3)))

CASE(softmax, vtpu_softmax(g, x[0]))

static struct vtpu_tensor *labels(struct vtpu_graph *g)
{
	static const int32_t classes[] = { 2, 0, 4, 1 };

	return vtpu_constant(g, "labels", VTPU_DTYPE_S32, VTPU_SHAPE(4), classes, sizeof(classes));
}

static struct vtpu_tensor *weights(struct vtpu_graph *g)
{
	static const float values[] = { 1, 0.5, 0, 2 };

	return vtpu_constant(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(4), values, sizeof(values));
}

static const struct vtpu_xent_attrs smooth = { .smoothing = 0.1f };

CASE(xent, vtpu_softmax_xent(g, x[0], labels(g), NULL))
CASE(xent_smooth, vtpu_softmax_xent(g, x[0], labels(g), &smooth))
CASE(cross_entropy, vtpu_cross_entropy(g, x[0], labels(g), NULL, NULL))
CASE(cross_entropy_masked, vtpu_cross_entropy(g, x[0], labels(g), weights(g), &smooth))

CASE(dropout, vtpu_dropout(g, x[0], vtpu_scalar(g, "seed", VTPU_DTYPE_S32),
			   vtpu_scalar(g, "step", VTPU_DTYPE_S32),
			   &(struct vtpu_dropout_attrs){ .rate = 0.25f }))
CASE(batch_norm, vtpu_batch_norm(g, x[0], x[1], x[2], NULL, NULL, NULL))
CASE(batch_norm_infer, vtpu_batch_norm_infer(g, x[0], x[1], x[2], x[3], x[4], NULL))

/* A tensor that is used three times, in different ways. */
static struct vtpu_tensor *fan_out(struct vtpu_graph *g, struct vtpu_tensor *const *x)
{
	struct vtpu_tensor *y = vtpu_tanh(g, x[0]), *z = vtpu_mul(g, y, x[1]);

	return vtpu_add(g, vtpu_sub(g, z, y), vtpu_mul(g, y, y));
}

const struct graph_case graph_cases[] = {
	{ "neg", neg, { S(2, 3, 4), END }, 0, 2, true },
	{ "exp", exp_, { S(2, 3, 4), END }, 0, 2, true },
	{ "ln", ln, { S(2, 3, 4), END }, 2, 1.5f, true },
	{ "sqrt", sqrt_, { S(2, 3, 4), END }, 2, 1.5f, true },
	{ "rsqrt", rsqrt, { S(2, 3, 4), END }, 2, 1.5f, true },
	{ "tanh", tanh_, { S(2, 3, 4), END }, 0, 2, true },
	{ "sigmoid", sigmoid, { S(2, 3, 4), END }, 0, 3, true },
	{ "relu", relu, { S(2, 5, 5), END }, 0, 1, true },
	{ "gelu", gelu, { S(2, 5, 5), END }, 0, 3, true },
	{ "silu", silu, { S(2, 5, 5), END }, 0, 3, true },
	{ "affine", affine, { S(1, 7), END }, 0, 1, true },
	{ "cast to bf16 and back", cast, { S(1, 7), END }, 0, 1, true },
	{ "add", add, { S(2, 3, 4), S(2, 3, 4), END }, 0, 1, false },
	{ "add, a row", add, { S(2, 3, 4), S(1, 4), END }, 0, 1, false },
	{ "sub, a column and a row", sub, { S(2, 3, 1), S(2, 1, 4), END }, 0, 1, false },
	{ "mul, a single value", mul, { S0, S(3, 2, 3, 4), END }, 0, 1, true },
	{ "mul, both repeated", mul, { S(3, 2, 1, 4), S(2, 3, 1), END }, 0, 1, true },
	{ "div", div_, { S(2, 3, 4), S(1, 4), END }, 2, 1, true },
	{ "maximum", maximum, { S(2, 3, 4), S(1, 4), END }, 0, 1, true },
	{ "minimum", minimum, { S(2, 3, 4), S(2, 3, 1), END }, 0, 1, true },
	{ "select", select_, { S(2, 3, 4), S(1, 4), S(2, 3, 1), END }, 0, 1, true },
	{ "comparisons", masks, { S(2, 3, 4), S(2, 3, 4), END }, 0, 1, false },
	{ "a square", square, { S(1, 5), END }, 0, 1, true },
	{ "reshape", reshape, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "flatten", flatten, { S(4, 2, 3, 2, 2), END }, 0, 1, false },
	{ "broadcast", broadcast, { S(2, 3, 1), END }, 0, 1, false },
	{ "transpose", transpose, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "transpose of the last two", transpose_last, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "reduce_sum of all", sum_all, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "reduce_sum of two dimensions", sum_axes, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "reduce_mean, kept", mean_keep, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "reduce_mean of all", mean_all, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "reduce_max", max_axis, { S(3, 2, 3, 4), END }, 0, 1, false },
	{ "reduce_max, kept", max_keep, { S(2, 3, 4), END }, 0, 1, false },
	{ "matmul", matmul, { S(2, 3, 4), S(2, 4, 5), END }, 0, 1, true },
	{ "matmul, a transposed", matmul_ta, { S(2, 4, 3), S(2, 4, 5), END }, 0, 1, true },
	{ "matmul, b transposed", matmul_tb, { S(2, 3, 4), S(2, 5, 4), END }, 0, 1, true },
	{ "matmul, both transposed", matmul_tt, { S(2, 4, 3), S(2, 5, 4), END }, 0, 1, true },
	{ "matmul, batched", matmul, { S(3, 2, 3, 4), S(3, 2, 4, 2), END }, 0, 1, true },
	{ "matmul, batched, both transposed",
	  matmul_tt,
	  { S(3, 2, 4, 3), S(3, 2, 2, 4), END },
	  0,
	  1,
	  true },
	{ "bias_add", bias_add, { S(3, 2, 3, 4), S(1, 4), END }, 0, 1, false },
	{ "conv2d", conv_valid, { S(4, 2, 5, 4, 3), S(4, 3, 3, 3, 2), END }, 0, 1, true },
	{ "conv2d, same", conv_same, { S(4, 2, 5, 4, 3), S(4, 3, 2, 3, 2), END }, 0, 1, true },
	{ "conv2d, same, strided",
	  conv_strided,
	  { S(4, 2, 5, 7, 2), S(4, 3, 3, 2, 2), END },
	  0,
	  1,
	  true },
	{ "conv2d, stride, dilation, padding, groups",
	  conv_odd,
	  { S(4, 2, 6, 5, 4), S(4, 3, 2, 2, 6), END },
	  0,
	  1,
	  true },
	{ "conv2d_input_grad",
	  conv_input_grad,
	  { S(4, 2, 3, 8, 6), S(4, 3, 2, 2, 6), END },
	  0,
	  1,
	  true },
	{ "conv2d_weight_grad",
	  conv_weight_grad,
	  { S(4, 2, 6, 5, 4), S(4, 2, 3, 8, 6), END },
	  0,
	  1,
	  true },
	{ "max_pool", max_pool, { S(4, 2, 5, 4, 3), END }, 0, 1, false },
	{ "max_pool, overlapping, padded", max_pool_odd, { S(4, 2, 5, 4, 3), END }, 0, 1, false },
	{ "avg_pool", avg_pool, { S(4, 2, 5, 4, 3), END }, 0, 1, false },
	{ "avg_pool, overlapping, padded", avg_pool_odd, { S(4, 2, 5, 4, 3), END }, 0, 1, false },
	{ "avg_pool_grad", avg_pool_grad, { S(4, 2, 3, 4, 3), END }, 0, 1, false },
	{ "softmax", softmax, { S(3, 2, 3, 5), END }, 0, 2, true },
	{ "softmax_xent", xent, { S(2, 4, 5), END }, 0, 2, false },
	{ "softmax_xent, smooth", xent_smooth, { S(2, 4, 5), END }, 0, 2, false },
	{ "cross_entropy", cross_entropy, { S(2, 4, 5), END }, 0, 2, false },
	{ "cross_entropy, weighted", cross_entropy_masked, { S(2, 4, 5), END }, 0, 2, false },
	{ "dropout", dropout, { S(2, 9, 7), END }, 0, 1, false },
	{ "batch_norm", batch_norm, { S(4, 2, 3, 2, 3), S(1, 3), S(1, 3), END }, 0.5f, 1, false },
	{ "batch_norm of a matrix", batch_norm, { S(2, 7, 3), S(1, 3), S(1, 3), END }, 1, 1, false },
	{ "batch_norm_infer",
	  batch_norm_infer,
	  { S(2, 7, 3), S(1, 3), S(1, 3), S(1, 3), S(1, 3) },
	  1.5f,
	  1,
	  true },
	{ "a tensor used often", fan_out, { S(2, 3, 4), S(2, 3, 4), END }, 0, 1, true },
	{ 0 },
};
