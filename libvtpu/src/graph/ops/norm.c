// SPDX-License-Identifier: MIT
/*
 * norm.c - batch normalisation, in training and after it.
 */
#include "graph/op.h"

#define EPSILON	 1e-5f
#define MOMENTUM 0.1f

static bool check_epsilon(struct vtpu_node *node)
{
	struct vtpu_batch_norm_attrs *a = node->attrs;

	if (a->epsilon == 0)
		a->epsilon = EPSILON;
	a->momentum = 0; /* is in the running statistics, which are nodes of their own */
	return a->epsilon > 0 ||
	       node_invalid(node, "epsilon is %g, and must be more than 0", (double)a->epsilon);
}

/* Input @x is [..., channels], the inputs from @first on [channels] f32. */
static bool check_channels(struct vtpu_node *node, uint32_t x, uint32_t first,
			   struct vtpu_shape *channels)
{
	const struct vtpu_shape *shape = node_in_shape(node, x);

	if (!node_float(node, x))
		return false;
	if (shape->rank < 2)
		return node_mismatch(node, "%s must be [batch, ..., channels]", node_show(node, x));
	*channels = (struct vtpu_shape){ 1, { shape->dim[shape->rank - 1] } };
	for (uint32_t i = first; i < node->inputs; i++) {
		if (!node_type(node, i, VTPU_DTYPE_F32))
			return false;
		if (!shape_equal(node_in_shape(node, i), channels))
			return node_mismatch(node, "%s must be %s, one for each channel of %s",
					     node_show(node, i), shape_text(node->graph, channels),
					     node_show(node, x));
	}
	return true;
}

/* ---- In training ---------------------------------------------------------------------- */

static bool infer_batch_norm(struct vtpu_node *node)
{
	struct vtpu_shape channels;

	return check_epsilon(node) && check_channels(node, 0, 1, &channels) &&
	       node_set(node, 0, node_in_type(node, 0), node_in_shape(node, 0)) &&
	       node_set(node, 1, VTPU_DTYPE_F32, &channels) &&
	       node_set(node, 2, VTPU_DTYPE_F32, &channels);
}

static bool infer_batch_norm_grad(struct vtpu_node *node)
{
	struct vtpu_shape channels;

	return check_epsilon(node) && check_channels(node, 1, 2, &channels) &&
	       node_type(node, 0, node_in_type(node, 1)) && node_same_shape(node, 0, 1) &&
	       node_set(node, 0, node_in_type(node, 1), node_in_shape(node, 1)) &&
	       node_set(node, 1, VTPU_DTYPE_F32, &channels) &&
	       node_set(node, 2, VTPU_DTYPE_F32, &channels);
}

static const struct op_attr norm_rows[] = {
	OP_ATTR(vtpu_batch_norm_attrs, epsilon, FLOAT, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_batch_norm_grad = {
	.name = "batch_norm_grad",
	.input = { "dy", "x", "gamma", "mean", "variance" },
	.output = { "dx", "dgamma", "dbeta" },
	.attr_bytes = sizeof(struct vtpu_batch_norm_attrs),
	.attrs = norm_rows,
	.infer = infer_batch_norm_grad,
	.lower = lower_batch_norm_grad,
};
OP_REGISTER(op_batch_norm_grad);

static void gradient_batch_norm(struct gradient *c)
{
	struct vtpu_tensor *const *in = c->node->input;
	struct vtpu_tensor *out = c->node->output, *dx;

	if (c->dy[1] || c->dy[2]) {
		graph_fail(c->graph, VTPU_ERROR_UNSUPPORTED,
			   "%s: its results 'mean' and 'variance' have no gradient; build the loss "
			   "without them",
			   c->node->name);
		return;
	}
	dx = OP_CALL(c->graph, &op_batch_norm_grad, c->node->attrs, c->dy[0], in[0], in[1], &out[1],
		     &out[2]);
	for (uint32_t i = 0; dx && i < 3; i++)
		c->dx[i] = &dx[i];
}

static const struct vtpu_op op_batch_norm = {
	.name = "batch_norm",
	.input = { "x", "gamma", "beta" },
	.output = { "y", "mean", "variance" },
	.attr_bytes = sizeof(struct vtpu_batch_norm_attrs),
	.attrs = norm_rows,
	.infer = infer_batch_norm,
	.gradient = gradient_batch_norm,
	.lower = lower_batch_norm,
};
OP_REGISTER(op_batch_norm);

/* Move @running by @momentum of the way towards @batch times @factor. */
static void follow(struct vtpu_graph *g, struct vtpu_tensor *running, struct vtpu_tensor *batch,
		   float momentum, float factor)
{
	struct vtpu_tensor *kept = gradient_affine(g, running, 1 - momentum, 0);

	vtpu_assign(g, running, vtpu_add(g, kept, gradient_affine(g, batch, momentum * factor, 0)));
}

struct vtpu_tensor *vtpu_batch_norm(struct vtpu_graph *g, struct vtpu_tensor *x,
				    struct vtpu_tensor *gamma, struct vtpu_tensor *beta,
				    struct vtpu_tensor *running_mean,
				    struct vtpu_tensor *running_variance,
				    const struct vtpu_batch_norm_attrs *attrs)
{
	struct vtpu_tensor *y = OP_CALL(g, &op_batch_norm, attrs, x, gamma, beta);
	float momentum = attrs && attrs->momentum != 0 ? attrs->momentum : MOMENTUM;
	const struct graph_scope *outer;
	double n;

	if (!y || (!running_mean && !running_variance))
		return y;
	if (!running_mean || !running_variance) {
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
			   "%s: running_%s is NULL; give both running statistics, or none", y->name,
			   running_mean ? "variance" : "mean");
		return NULL;
	}
	if (!(momentum > 0 && momentum <= 1)) {
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
			   "%s: the momentum is %g, and must be more than 0 and at most 1", y->name,
			   (double)momentum);
		return NULL;
	}
	n = (double)(vtpu_tensor_elements(x) / vtpu_tensor_elements(gamma));
	outer = graph_enter(g, y->name);
	follow(g, running_mean, &y[1], momentum, 1);
	follow(g, running_variance, &y[2], momentum, (float)(n > 1 ? n / (n - 1) : 1));
	g->scope = outer;
	return g->status ? NULL : y;
}

/* ---- After it --------------------------------------------------------------------------- */

struct vtpu_tensor *vtpu_batch_norm_infer(struct vtpu_graph *g, struct vtpu_tensor *x,
					  struct vtpu_tensor *gamma, struct vtpu_tensor *beta,
					  struct vtpu_tensor *mean, struct vtpu_tensor *variance,
					  const struct vtpu_batch_norm_attrs *attrs)
{
	float epsilon = attrs && attrs->epsilon != 0 ? attrs->epsilon : EPSILON;
	const struct graph_scope *outer;
	struct vtpu_tensor *scale, *y;

	if (!graph_usable(g))
		return NULL;
	outer = graph_within(g, "batch_norm");
	scale = vtpu_mul(g, gamma, vtpu_rsqrt(g, gradient_affine(g, variance, 1, epsilon)));
	y = vtpu_sub(g, beta, vtpu_mul(g, mean, scale));
	if (x && x->type != VTPU_DTYPE_F32) {
		scale = vtpu_cast(g, scale, x->type);
		y = vtpu_cast(g, y, x->type);
	}
	y = vtpu_bias_add(g, vtpu_mul(g, x, scale), y);
	g->scope = outer;
	return y;
}
