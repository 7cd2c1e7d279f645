// SPDX-License-Identifier: MIT
/*
 * models.c - small networks that train.
 */
#include "compile/models.h"

static struct vtpu_tensor *weights_of(struct vtpu_graph *g, struct vtpu_shape shape, uint32_t seed)
{
	struct vtpu_initial he = { .kind = VTPU_INITIAL_HE_NORMAL, .seed = seed };

	return vtpu_parameter(g, "weights", VTPU_DTYPE_F32, shape, &he);
}

static struct vtpu_tensor *dense(struct vtpu_graph *g, const char *name, struct vtpu_tensor *x,
				 int64_t out, bool relu)
{
	struct vtpu_initial small = { .kind = VTPU_INITIAL_UNIFORM, .spread = 0.1f, .seed = 3 };
	int64_t in = vtpu_tensor_shape(x).dim[1];

	vtpu_scope_begin(g, name);
	x = vtpu_matmul(g, x, weights_of(g, VTPU_SHAPE(in, out), 1), NULL);
	x = vtpu_bias_add(g, x, vtpu_parameter(g, "bias", VTPU_DTYPE_F32, VTPU_SHAPE(out), &small));
	if (relu)
		x = vtpu_relu(g, x);
	vtpu_scope_end(g);
	return x;
}

static struct vtpu_tensor *conv(struct vtpu_graph *g, const char *name, struct vtpu_tensor *x,
				int64_t out)
{
	struct vtpu_initial small = { .kind = VTPU_INITIAL_UNIFORM, .spread = 0.1f, .seed = 3 };
	int64_t in = vtpu_tensor_shape(x).dim[3];

	vtpu_scope_begin(g, name);
	x = vtpu_conv2d(g, x, weights_of(g, VTPU_SHAPE(3, 3, in, out), 1), NULL);
	x = vtpu_bias_add(g, x, vtpu_parameter(g, "bias", VTPU_DTYPE_F32, VTPU_SHAPE(out), &small));
	x = vtpu_relu(g, x);
	vtpu_scope_end(g);
	return x;
}

static void train(struct vtpu_graph *g, struct vtpu_tensor *loss, enum optimiser opt)
{
	struct vtpu_tensor *param[64], *grad[64], *rate, *step;
	size_t n = vtpu_graph_parameters(g, param, 64);

	if (vtpu_gradients(g, loss, param, n, grad))
		return;
	rate = opt == OPT_NONE ? NULL : vtpu_scalar(g, "rate", VTPU_DTYPE_F32);
	step = opt == OPT_ADAM ? vtpu_scalar(g, "step", VTPU_DTYPE_S32) : NULL;
	for (size_t i = 0; i < n; i++) {
		struct vtpu_sgd_attrs momentum = { .momentum = 0.9f,
						   .weight_decay = 0.01f,
						   .nesterov = true };

		if (opt == OPT_ADAM)
			vtpu_adam(g, param[i], grad[i], rate, step, NULL);
		else if (opt == OPT_NONE)
			vtpu_output(g, grad[i], NULL);
		else
			vtpu_sgd(g, param[i], grad[i], rate, opt == OPT_SGD ? NULL : &momentum);
	}
}

static void finish(struct vtpu_graph *g, struct vtpu_tensor *logits, struct vtpu_tensor *labels,
		   struct vtpu_tensor *weights, enum optimiser opt)
{
	struct vtpu_tensor *loss = vtpu_cross_entropy(g, logits, labels, weights, NULL);

	vtpu_output(g, loss, "loss");
	vtpu_output(g, vtpu_correct(g, logits, labels, weights), "right");
	train(g, loss, opt);
}

struct vtpu_graph *mlp(int64_t batch, int64_t in, int64_t hidden, enum optimiser opt, bool weights)
{
	struct vtpu_tensor *x, *labels, *w;
	struct vtpu_graph *g;

	vtpu_graph_create(&g);
	x = vtpu_input(g, "x", VTPU_DTYPE_F32, VTPU_SHAPE(batch, in));
	labels = vtpu_input(g, "labels", VTPU_DTYPE_U8, VTPU_SHAPE(batch));
	w = weights ? vtpu_input(g, "row_weights", VTPU_DTYPE_F32, VTPU_SHAPE(batch)) : NULL;
	x = dense(g, "dense1", x, hidden, true);
	x = dense(g, "dense2", x, 10, false);
	finish(g, x, labels, w, opt);
	return g;
}

struct vtpu_graph *cnn(int64_t batch, int64_t size, int64_t c1, int64_t c2, int64_t units,
		       enum optimiser opt)
{
	struct vtpu_pool_attrs two = { .window = { 2, 2 } };
	struct vtpu_tensor *x, *labels, *w;
	struct vtpu_graph *g;

	vtpu_graph_create(&g);
	x = vtpu_input(g, "images", VTPU_DTYPE_U8, VTPU_SHAPE(batch, size, size, 1));
	labels = vtpu_input(g, "labels", VTPU_DTYPE_U8, VTPU_SHAPE(batch));
	w = vtpu_input(g, "row_weights", VTPU_DTYPE_F32, VTPU_SHAPE(batch));
	x = vtpu_affine(g, x, 1 / 78.5f, -33 / 78.5f, VTPU_DTYPE_F32);
	x = conv(g, "conv1", x, c1);
	x = vtpu_max_pool(g, x, &two);
	x = conv(g, "conv2", x, c2);
	x = vtpu_max_pool(g, x, &two);
	x = vtpu_flatten(g, x);
	x = dense(g, "dense1", x, units, true);
	x = dense(g, "dense2", x, 10, false);
	finish(g, x, labels, w, opt);
	return g;
}

/* A convolution without bias, which the normalisation behind it would take out again. */
static struct vtpu_tensor *bare_conv(struct vtpu_graph *g, const char *name, struct vtpu_tensor *x,
				     int64_t out)
{
	struct vtpu_conv2d_attrs attrs = { .padding = VTPU_PADDING_SAME };

	vtpu_scope_begin(g, name);
	x = vtpu_conv2d(g, x, weights_of(g, VTPU_SHAPE(3, 3, vtpu_tensor_shape(x).dim[3], out), 1),
			&attrs);
	vtpu_scope_end(g);
	return x;
}

static struct vtpu_tensor *norm(struct vtpu_graph *g, const char *name, struct vtpu_tensor *x)
{
	struct vtpu_initial one = { .kind = VTPU_INITIAL_CONSTANT, .mean = 1 };
	struct vtpu_shape c = VTPU_SHAPE(vtpu_tensor_shape(x).dim[3]);
	struct vtpu_tensor *gamma, *beta, *mean, *variance;

	vtpu_scope_begin(g, name);
	gamma = vtpu_parameter(g, "gamma", VTPU_DTYPE_F32, c, &one);
	beta = vtpu_parameter(g, "beta", VTPU_DTYPE_F32, c, NULL);
	mean = vtpu_state(g, "mean", VTPU_DTYPE_F32, c, NULL);
	variance = vtpu_state(g, "variance", VTPU_DTYPE_F32, c, &one);
	x = vtpu_batch_norm(g, x, gamma, beta, mean, variance, NULL);
	vtpu_scope_end(g);
	return x;
}

struct vtpu_graph *cifar(int64_t batch, int64_t size, int64_t channels, float dropout)
{
	struct vtpu_pool_attrs two = { .window = { 2, 2 } };
	struct vtpu_dropout_attrs drop = { .rate = dropout };
	struct vtpu_tensor *x, *labels, *w, *seed, *step;
	struct vtpu_graph *g;

	vtpu_graph_create(&g);
	x = vtpu_input(g, "images", VTPU_DTYPE_U8, VTPU_SHAPE(batch, size, size, 3));
	labels = vtpu_input(g, "labels", VTPU_DTYPE_U8, VTPU_SHAPE(batch));
	w = vtpu_input(g, "row_weights", VTPU_DTYPE_F32, VTPU_SHAPE(batch));
	seed = vtpu_scalar(g, "seed", VTPU_DTYPE_S32);
	step = vtpu_scalar(g, "drop_step", VTPU_DTYPE_S32);
	x = vtpu_affine(g, x, 1 / 64.f, -2, VTPU_DTYPE_F32);
	x = vtpu_relu(g, norm(g, "norm1", bare_conv(g, "conv1", x, channels)));
	x = vtpu_avg_pool(g, x, &two);
	x = vtpu_relu(g, norm(g, "norm2", bare_conv(g, "conv2", x, 2 * channels)));
	x = vtpu_max_pool(g, x, &two);
	x = vtpu_flatten(g, x);
	x = dense(g, "dense1", x, 32, true);
	x = vtpu_dropout(g, x, seed, step, &drop);
	x = dense(g, "dense2", x, 10, false);
	finish(g, x, labels, w, OPT_ADAM);
	return g;
}
