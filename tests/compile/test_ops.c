// SPDX-License-Identifier: MIT
/*
 * test_ops.c - every operation on the device, forward and with its gradients, against the
 * interpreter; on one core and on several, in one tile and in many.
 */
#include <stdio.h>
#include <string.h>

#include "compile/harness.h"
#include "unit/tap.h"

#define B     12
#define BOUND 5e-6

/* Operands: rows [B,6], more rows, images [B,9,7,4], and some that are the same for all rows. */
struct operands {
	struct vtpu_tensor *x, *y, *image, *labels, *w, *row, *kernel, *channel, *seed, *step;
};

typedef struct vtpu_tensor *(*build_fn)(struct vtpu_graph *g, const struct operands *o);

/* clang-format off */
#define OP(name, expression) \
	static struct vtpu_tensor *name(struct vtpu_graph *g, const struct operands *o) \
	{ \
		(void)o; \
		return expression; \
	}

OP(b_neg, vtpu_neg(g, o->x))
OP(b_exp, vtpu_exp(g, o->x))
OP(b_ln, vtpu_ln(g, vtpu_affine(g, vtpu_mul(g, o->x, o->x), 1, 1, VTPU_DTYPE_F32)))
OP(b_sqrt, vtpu_sqrt(g, vtpu_affine(g, vtpu_mul(g, o->x, o->x), 1, 1, VTPU_DTYPE_F32)))
OP(b_rsqrt, vtpu_rsqrt(g, vtpu_affine(g, vtpu_mul(g, o->x, o->x), 1, 1, VTPU_DTYPE_F32)))
OP(b_tanh, vtpu_tanh(g, o->x))
OP(b_sigmoid, vtpu_sigmoid(g, o->x))
OP(b_relu, vtpu_relu(g, o->x))
OP(b_gelu, vtpu_gelu(g, o->x))
OP(b_silu, vtpu_silu(g, o->x))
OP(b_add, vtpu_add(g, o->x, o->y))
OP(b_sub, vtpu_sub(g, o->x, o->y))
OP(b_mul, vtpu_mul(g, o->x, o->y))
OP(b_div, vtpu_div(g, o->x, vtpu_affine(g, vtpu_mul(g, o->y, o->y), 1, 1, VTPU_DTYPE_F32)))
OP(b_maximum, vtpu_maximum(g, o->x, o->y))
OP(b_minimum, vtpu_minimum(g, o->x, o->y))
OP(b_equal, vtpu_add(g, o->y, vtpu_mul(g, o->x, vtpu_equal(g, vtpu_relu(g, o->x), vtpu_relu(g, o->y)))))
OP(b_less, vtpu_add(g, o->y, vtpu_mul(g, o->x, vtpu_less(g, o->x, o->y))))
OP(b_less_equal, vtpu_add(g, o->y, vtpu_mul(g, o->x, vtpu_less_equal(g, o->x, o->y))))
OP(b_select, vtpu_select(g, vtpu_less(g, o->x, o->y), vtpu_exp(g, o->x), o->y))
OP(b_row, vtpu_mul(g, o->x, o->row))
OP(b_column, vtpu_mul(g, o->x, vtpu_reduce_sum(g, o->y, VTPU_AXIS(1), true)))
OP(b_row_and_column, vtpu_add(g, vtpu_mul(g, o->x, o->row), vtpu_reduce_max(g, o->y, VTPU_AXIS(1), true)))
OP(b_scalar, vtpu_mul(g, o->x, vtpu_reduce_sum(g, o->row, 0, false)))
OP(b_middle, vtpu_mul(g, o->image, vtpu_reduce_mean(g, o->image, VTPU_AXIS(1) | VTPU_AXIS(2), true)))
OP(b_affine, vtpu_affine(g, o->x, 0.5f, -1, VTPU_DTYPE_F32))
OP(b_cast, vtpu_mul(g, o->x, vtpu_reshape(g, vtpu_cast(g, o->labels, VTPU_DTYPE_F32), VTPU_SHAPE(B, 1))))
OP(b_reshape, vtpu_tanh(g, vtpu_reshape(g, o->x, VTPU_SHAPE(B, 2, 3))))
OP(b_reshape_rows, vtpu_matmul(g, vtpu_reshape(g, o->x, VTPU_SHAPE(B * 3, 2)), vtpu_reshape(g, o->w, VTPU_SHAPE(2, 15)), NULL))
OP(b_broadcast, vtpu_mul(g, o->x, vtpu_broadcast(g, o->row, VTPU_SHAPE(B, 6))))
OP(b_transpose, vtpu_exp(g, vtpu_transpose(g, vtpu_reshape(g, o->x, VTPU_SHAPE(B, 2, 3)), NULL)))
OP(b_transpose_w, vtpu_matmul(g, o->x, vtpu_transpose(g, vtpu_transpose(g, o->w, NULL), NULL), NULL))
OP(b_reduce_sum, vtpu_reduce_sum(g, o->image, VTPU_AXIS(2), false))
OP(b_reduce_mean, vtpu_reduce_mean(g, o->image, VTPU_AXIS(1) | VTPU_AXIS(2), false))
OP(b_reduce_max, vtpu_reduce_max(g, o->image, VTPU_AXIS(3), true))
OP(b_sum_batch, vtpu_mul(g, o->row, vtpu_reduce_sum(g, vtpu_mul(g, o->x, o->x), VTPU_AXIS(0), false)))
OP(b_sum_channels, vtpu_reduce_mean(g, vtpu_mul(g, o->image, o->image), VTPU_AXIS(0) | VTPU_AXIS(1) | VTPU_AXIS(2), false))
OP(b_sum_middle, vtpu_reduce_sum(g, vtpu_mul(g, o->image, o->image), VTPU_AXIS(0) | VTPU_AXIS(2), false))
OP(b_later, vtpu_mul(g, o->x, vtpu_reduce_sum(g, o->y, VTPU_AXIS(0), false)))
OP(b_matmul, vtpu_matmul(g, o->x, o->w, NULL))
OP(b_matmul_b, vtpu_matmul(g, o->x, vtpu_transpose(g, o->w, NULL), &((struct vtpu_matmul_attrs){ .transpose_b = true })))
OP(b_matmul_a, vtpu_matmul(g, o->x, o->y, &((struct vtpu_matmul_attrs){ .transpose_a = true })))
OP(b_matmul_batch, vtpu_matmul(g, vtpu_reshape(g, o->x, VTPU_SHAPE(B, 2, 3)), vtpu_reshape(g, o->y, VTPU_SHAPE(B, 3, 2)), NULL))
OP(b_bias, vtpu_gelu(g, vtpu_bias_add(g, vtpu_matmul(g, o->x, o->w, NULL), vtpu_reduce_sum(g, o->w, VTPU_AXIS(0), false))))
OP(b_conv, vtpu_conv2d(g, o->image, o->kernel, NULL))
OP(b_conv_same, vtpu_relu(g, vtpu_conv2d(g, o->image, o->kernel, &((struct vtpu_conv2d_attrs){ .padding = VTPU_PADDING_SAME }))))
OP(b_conv_stride, vtpu_conv2d(g, o->image, o->kernel, &((struct vtpu_conv2d_attrs){ .stride = { 2, 2 }, .padding = VTPU_PADDING_SAME })))
OP(b_conv_dilated, vtpu_conv2d(g, o->image, o->kernel, &((struct vtpu_conv2d_attrs){ .dilation = { 2, 1 }, .padding = VTPU_PADDING_EXPLICIT, .pad = { 2, 1, 0, 1 } })))
OP(b_conv_groups, vtpu_conv2d(g, o->image, vtpu_reshape(g, o->kernel, VTPU_SHAPE(3, 3, 2, 10)), &((struct vtpu_conv2d_attrs){ .groups = 2 })))
OP(b_max_pool, vtpu_max_pool(g, vtpu_tanh(g, o->image), &((struct vtpu_pool_attrs){ .window = { 2, 2 } })))
OP(b_max_pool_pad, vtpu_max_pool(g, o->image, &((struct vtpu_pool_attrs){ .window = { 3, 3 }, .stride = { 2, 1 }, .padding = VTPU_PADDING_SAME })))
OP(b_conv_pool, vtpu_max_pool(g, vtpu_relu(g, vtpu_conv2d(g, o->image, o->kernel, NULL)), &((struct vtpu_pool_attrs){ .window = { 2, 2 } })))
OP(b_conv_pool_bare, vtpu_max_pool(g, vtpu_conv2d(g, o->image, o->kernel, NULL), &((struct vtpu_pool_attrs){ .window = { 2, 3 } })))
OP(b_avg_pool, vtpu_avg_pool(g, o->image, &((struct vtpu_pool_attrs){ .window = { 2, 2 } })))
OP(b_avg_pool_pad, vtpu_avg_pool(g, o->image, &((struct vtpu_pool_attrs){ .window = { 3, 2 }, .stride = { 2, 2 }, .padding = VTPU_PADDING_SAME })))
OP(b_softmax, vtpu_softmax(g, o->x))
OP(b_xent, vtpu_softmax_xent(g, vtpu_matmul(g, o->x, vtpu_reshape(g, o->kernel, VTPU_SHAPE(6, 30)), NULL), o->labels, NULL))
OP(b_xent_smooth, vtpu_softmax_xent(g, vtpu_matmul(g, o->x, vtpu_reshape(g, o->kernel, VTPU_SHAPE(6, 30)), NULL), o->labels, &((struct vtpu_xent_attrs){ .smoothing = 0.1f })))
OP(b_batch_norm, vtpu_batch_norm(g, o->image, vtpu_exp(g, o->channel), o->channel, NULL, NULL, NULL))
OP(b_batch_norm_rows, vtpu_batch_norm(g, o->x, vtpu_exp(g, o->row), o->row, NULL, NULL, NULL))
OP(b_batch_norm_infer, vtpu_batch_norm_infer(g, o->image, o->channel, o->channel, o->channel, vtpu_exp(g, o->channel), NULL))
OP(b_dropout, vtpu_dropout(g, o->image, o->seed, o->step, &((struct vtpu_dropout_attrs){ .rate = 0.3f })))
OP(b_dropout_rows, vtpu_dropout(g, vtpu_exp(g, o->x), o->seed, o->step, &((struct vtpu_dropout_attrs){ .rate = 0.5f })))

#define CASE(name) { #name, b_##name }
static const struct {
	const char *name;
	build_fn build;
} cases[] = {
	CASE(neg), CASE(exp), CASE(ln), CASE(sqrt), CASE(rsqrt), CASE(tanh), CASE(sigmoid), CASE(relu),
	CASE(gelu), CASE(silu), CASE(add), CASE(sub), CASE(mul), CASE(div), CASE(maximum), CASE(minimum),
	CASE(equal), CASE(less), CASE(less_equal), CASE(select), CASE(row), CASE(column),
	CASE(row_and_column), CASE(scalar), CASE(middle), CASE(affine), CASE(cast), CASE(reshape),
	CASE(reshape_rows), CASE(broadcast), CASE(transpose), CASE(transpose_w), CASE(reduce_sum),
	CASE(reduce_mean), CASE(reduce_max), CASE(sum_batch), CASE(sum_channels), CASE(sum_middle),
	CASE(later), CASE(matmul), CASE(matmul_b), CASE(matmul_a), CASE(matmul_batch), CASE(bias),
	CASE(conv), CASE(conv_same), CASE(conv_stride), CASE(conv_dilated), CASE(conv_groups),
	CASE(max_pool), CASE(max_pool_pad), CASE(conv_pool), CASE(conv_pool_bare), CASE(avg_pool),
	CASE(avg_pool_pad), CASE(softmax), CASE(xent), CASE(xent_smooth), CASE(batch_norm),
	CASE(batch_norm_rows), CASE(batch_norm_infer), CASE(dropout), CASE(dropout_rows),
};
/* clang-format on */

static struct vtpu_tensor *state(struct vtpu_graph *g, const char *name, struct vtpu_shape shape)
{
	struct vtpu_initial random = { .kind = VTPU_INITIAL_UNIFORM, .spread = 0.5f, .seed = 7 };

	return vtpu_parameter(g, name, VTPU_DTYPE_F32, shape, &random);
}

/* The result, and gradients of sum(silu(result)) for all operands that have one. */
static struct vtpu_graph *make(build_fn build)
{
	struct vtpu_tensor *wrt[6], *grad[6], *y, *loss;
	struct operands o;
	struct vtpu_graph *g;
	size_t n = 0;

	vtpu_graph_create(&g);
	o.x = vtpu_input(g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(B, 6));
	o.y = vtpu_input(g, "y", VTPU_DTYPE_F32, VTPU_SHAPE(B, 6));
	o.image = vtpu_input(g, "image", VTPU_DTYPE_F32, VTPU_SHAPE(B, 9, 7, 4));
	o.labels = vtpu_input(g, "labels", VTPU_DTYPE_U8, VTPU_SHAPE(B));
	o.w = state(g, "w", VTPU_SHAPE(6, 5));
	o.row = state(g, "row", VTPU_SHAPE(6));
	o.kernel = state(g, "kernel", VTPU_SHAPE(3, 3, 4, 5));
	o.channel = state(g, "channel", VTPU_SHAPE(4));
	o.seed = vtpu_scalar(g, "seed", VTPU_DTYPE_S32);
	o.step = vtpu_scalar(g, "step", VTPU_DTYPE_S32);
	y = build(g, &o);
	vtpu_output(g, y, "result");
	loss = vtpu_reduce_sum(g, vtpu_silu(g, y), 0, false);
	wrt[0] = o.x, wrt[1] = o.y, wrt[2] = o.image, wrt[3] = o.w, wrt[4] = o.row,
	wrt[5] = o.kernel;
	for (size_t i = 0; i < 6 && !vtpu_graph_status(g); i++) {
		struct vtpu_graph *probe = g;
		size_t size = vtpu_graph_size(g);
		bool used = false;

		for (size_t k = 0; k < size; k++) {
			const struct vtpu_node *node = vtpu_graph_node(probe, k);

			for (size_t j = 0; j < vtpu_node_inputs(node); j++)
				used |= vtpu_node_input(node, j) == wrt[i];
		}
		if (used)
			wrt[n++] = wrt[i];
	}
	if (!vtpu_gradients(g, loss, wrt, n, grad)) {
		for (size_t i = 0; i < n; i++)
			vtpu_output(g, grad[i], NULL);
	}
	return g;
}

static void test(const char *name, build_fn build)
{
	static const struct how ways[] = { { .cores = 1 },
					   { .cores = 3, .tile = 3 },
					   { .cores = 4, .no_fuse = true, .tile = 1 } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct vtpu_graph *g = make(build);
		struct outcome o;
		const char *error = run(g, &ways[i], &o);
		double worst = error ? 1 : compare(g, &ways[i], &o, BOUND);

		tap_ok(!error && worst <= BOUND, "%s, %u core(s)%s: %s %.2g", name, ways[i].cores,
		       ways[i].no_fuse ? ", not fused" : "", error ? error : "error", worst);
		outcome_free(&o);
		vtpu_graph_destroy(g);
	}
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			test(cases[i].name, cases[i].build);
	}
	return tap_done();
}
