// SPDX-License-Identifier: MIT
/*
 * pool.c - the largest element or the mean of each window, and their gradients.
 */
#include "graph/ops/window.h"

#define LAYOUT	 "[batch, height, width, channels]"
#define MAX_TAPS 256 /* an index is a byte */

static const struct vtpu_pool_attrs *pool_of(const struct vtpu_node *node)
{
	return &((const struct vtpu_pool_grad_attrs *)node->attrs)->pool;
}

/* The shape of the result over an image @x, which is input @input, or -1: the result of a gradient. */
static bool slide(struct vtpu_node *node, struct vtpu_pool_attrs *a, const struct vtpu_shape *x,
		  int input, struct vtpu_shape *y)
{
	const struct window window = {
		{ a->window[0], a->window[1] }, a->stride, NULL, &a->padding, a->pad
	};
	int64_t out[2];

	if (a->window[0] < 1 || a->window[1] < 1 || (int64_t)a->window[0] * a->window[1] > MAX_TAPS)
		return node_invalid(node, "the window is %dx%d; it must have 1 to %d taps",
				    a->window[0], a->window[1], MAX_TAPS);
	for (int i = 0; i < 2; i++) {
		if (!a->stride[i])
			a->stride[i] = a->window[i];
	}
	if (!window_slide(node, &window, x, input, out))
		return false;
	for (int i = 0; i < 4; i++) {
		if (a->pad[i] >= a->window[i / 2])
			return node_invalid(node,
					    "pad %d is %d, which makes windows of nothing but padding; it "
					    "must be less than the window's %d",
					    i, a->pad[i], a->window[i / 2]);
	}
	*y = VTPU_SHAPE(x->dim[0], out[0], out[1], x->dim[3]);
	return true;
}

static bool infer_avg_pool(struct vtpu_node *node)
{
	struct vtpu_shape y;

	return node_float(node, 0) && node_rank(node, 0, 4, LAYOUT) &&
	       slide(node, node->attrs, node_in_shape(node, 0), 0, &y) &&
	       node_set(node, 0, node_in_type(node, 0), &y);
}

static bool infer_max_pool(struct vtpu_node *node)
{
	return infer_avg_pool(node) && node_set(node, 1, VTPU_DTYPE_U8, &node->output->shape);
}

static bool infer_avg_pool_grad(struct vtpu_node *node)
{
	struct vtpu_pool_grad_attrs *a = node->attrs;
	struct vtpu_shape y;

	return node_float(node, 0) && window_image(node, &a->shape) &&
	       slide(node, &a->pool, &a->shape, -1, &y) &&
	       node_shape(node, 0, &y, "the shape of the pooling's result") &&
	       node_set(node, 0, node_in_type(node, 0), &a->shape);
}

static bool infer_max_pool_grad(struct vtpu_node *node)
{
	return infer_avg_pool_grad(node) && node_type(node, 1, VTPU_DTYPE_U8) &&
	       node_same_shape(node, 1, 0);
}

static void gradient_max_pool(struct gradient *c)
{
	struct vtpu_node *node = c->node->output->node;

	c->dx[0] = vtpu_max_pool_grad(c->graph, c->dy[0], &node->output[1], node->attrs,
				      *node_in_shape(node, 0));
}

static void gradient_avg_pool(struct gradient *c)
{
	c->dx[0] =
		vtpu_avg_pool_grad(c->graph, c->dy[0], c->node->attrs, *node_in_shape(c->node, 0));
}

static void gradient_avg_pool_grad(struct gradient *c)
{
	c->dx[0] = vtpu_avg_pool(c->graph, c->dy[0], pool_of(c->node));
}

static const struct op_attr pool_rows[] = {
	OP_ATTR(vtpu_pool_attrs, window, INT, 2, 0),
	OP_ATTR(vtpu_pool_attrs, stride, INT, 2, 0),
	OP_ATTR(vtpu_pool_attrs, pad, INT, 4, 0),
	{ 0 },
};

static const struct op_attr grad_rows[] = {
	OP_ATTR(vtpu_pool_grad_attrs, pool.window, INT, 2, 0),
	OP_ATTR(vtpu_pool_grad_attrs, pool.stride, INT, 2, 0),
	OP_ATTR(vtpu_pool_grad_attrs, pool.pad, INT, 4, 0),
	OP_ATTR(vtpu_pool_grad_attrs, shape, SHAPE, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_max_pool = {
	.name = "max_pool",
	.input = { "x" },
	.output = { "y", "index" },
	.attr_bytes = sizeof(struct vtpu_pool_attrs),
	.attrs = pool_rows,
	.infer = infer_max_pool,
	.gradient = gradient_max_pool,
	.lower = lower_pool,
};
OP_REGISTER(op_max_pool);

static const struct vtpu_op op_avg_pool = {
	.name = "avg_pool",
	.input = { "x" },
	.output = { "y" },
	.attr_bytes = sizeof(struct vtpu_pool_attrs),
	.attrs = pool_rows,
	.infer = infer_avg_pool,
	.gradient = gradient_avg_pool,
	.lower = lower_pool,
};
OP_REGISTER(op_avg_pool);

static const struct vtpu_op op_max_pool_grad = {
	.name = "max_pool_grad",
	.input = { "dy", "index" },
	.output = { "dx" },
	.attr_bytes = sizeof(struct vtpu_pool_grad_attrs),
	.attrs = grad_rows,
	.infer = infer_max_pool_grad,
	.lower = lower_pool_grad,
};
OP_REGISTER(op_max_pool_grad);

static const struct vtpu_op op_avg_pool_grad = {
	.name = "avg_pool_grad",
	.input = { "dy" },
	.output = { "dx" },
	.attr_bytes = sizeof(struct vtpu_pool_grad_attrs),
	.attrs = grad_rows,
	.infer = infer_avg_pool_grad,
	.gradient = gradient_avg_pool_grad,
	.lower = lower_pool_grad,
};
OP_REGISTER(op_avg_pool_grad);

struct vtpu_tensor *vtpu_max_pool(struct vtpu_graph *g, struct vtpu_tensor *x,
				  const struct vtpu_pool_attrs *attrs)
{
	return OP_CALL(g, &op_max_pool, attrs, x);
}

struct vtpu_tensor *vtpu_avg_pool(struct vtpu_graph *g, struct vtpu_tensor *x,
				  const struct vtpu_pool_attrs *attrs)
{
	return OP_CALL(g, &op_avg_pool, attrs, x);
}

static struct vtpu_pool_grad_attrs grad_attrs(const struct vtpu_pool_attrs *pool,
					      const struct vtpu_shape *shape)
{
	struct vtpu_pool_grad_attrs attrs = { .shape = *shape };

	if (pool)
		attrs.pool = *pool;
	return attrs;
}

struct vtpu_tensor *vtpu_max_pool_grad(struct vtpu_graph *g, struct vtpu_tensor *dy,
				       struct vtpu_tensor *index,
				       const struct vtpu_pool_attrs *attrs, struct vtpu_shape x)
{
	struct vtpu_pool_grad_attrs a = grad_attrs(attrs, &x);

	return OP_CALL(g, &op_max_pool_grad, &a, dy, index);
}

struct vtpu_tensor *vtpu_avg_pool_grad(struct vtpu_graph *g, struct vtpu_tensor *dy,
				       const struct vtpu_pool_attrs *attrs, struct vtpu_shape x)
{
	struct vtpu_pool_grad_attrs a = grad_attrs(attrs, &x);

	return OP_CALL(g, &op_avg_pool_grad, &a, dy);
}
