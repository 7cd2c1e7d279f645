// SPDX-License-Identifier: MIT
/*
 * reduce.c - sums, means and largest elements over dimensions, and where the largest is.
 */
#include "graph/op.h"

static bool infer_reduce(struct vtpu_node *node)
{
	struct vtpu_reduce_attrs *a = node->attrs;
	const struct vtpu_shape *x = node_in_shape(node, 0);
	struct vtpu_shape y = { 0 };

	if (!node_float(node, 0))
		return false;
	if (a->axes >> x->rank)
		return node_invalid(node, "%s has no dimension %d to reduce over",
				    node_show(node, 0), 31 - __builtin_clz(a->axes));
	if (!a->axes)
		a->axes = VTPU_AXIS(x->rank) - 1;
	for (uint32_t i = 0; i < x->rank; i++) {
		if (!(a->axes & VTPU_AXIS(i)))
			y.dim[y.rank++] = x->dim[i];
		else if (a->keep)
			y.dim[y.rank++] = 1;
	}
	return node_set(node, 0, node_in_type(node, 0), &y);
}

/* @y with the dimensions that were reduced as 1, so that it broadcasts against x. */
static struct vtpu_tensor *kept(const struct gradient *c, struct vtpu_tensor *y)
{
	const struct vtpu_reduce_attrs *a = c->node->attrs;
	struct vtpu_shape shape = *node_in_shape(c->node, 0);

	for (uint32_t i = 0; i < shape.rank; i++) {
		if (a->axes & VTPU_AXIS(i))
			shape.dim[i] = 1;
	}
	return a->keep || shape_equal(&y->shape, &shape) ? y : vtpu_reshape(c->graph, y, shape);
}

static struct vtpu_tensor *spread(const struct gradient *c, struct vtpu_tensor *y)
{
	const struct vtpu_shape *x = node_in_shape(c->node, 0);

	y = kept(c, y);
	return y && !shape_equal(&y->shape, x) ? vtpu_broadcast(c->graph, y, *x) : y;
}

static void gradient_sum(struct gradient *c)
{
	c->dx[0] = spread(c, c->dy[0]);
}

static void gradient_mean(struct gradient *c)
{
	double n = (double)shape_elements(node_in_shape(c->node, 0)) /
		   (double)shape_elements(&c->node->output->shape);

	c->dx[0] = spread(c, gradient_affine(c->graph, c->dy[0], (float)(1 / n), 0));
}

static void gradient_max(struct gradient *c)
{
	const struct vtpu_reduce_attrs *a = c->node->attrs;
	struct vtpu_graph *g = c->graph;
	struct vtpu_tensor *mask = vtpu_equal(g, c->node->input[0], kept(c, c->node->output));
	struct vtpu_tensor *ties = vtpu_reduce_sum(g, mask, a->axes, true);

	c->dx[0] = vtpu_mul(g, mask, vtpu_div(g, kept(c, c->dy[0]), ties));
}

static const struct op_attr reduce_rows[] = {
	OP_ATTR(vtpu_reduce_attrs, axes, AXES, 1, 0),
	OP_ATTR(vtpu_reduce_attrs, keep, BOOL, 1, 0),
	{ 0 },
};

/* The operation and its call, named alike. */
#define REDUCE(function) \
	static const struct vtpu_op op_##function = { \
		.name = "reduce_" #function, \
		.input = { "x" }, \
		.output = { "y" }, \
		.attr_bytes = sizeof(struct vtpu_reduce_attrs), \
		.attrs = reduce_rows, \
		.infer = infer_reduce, \
		.gradient = gradient_##function, \
		.lower = lower_reduce, \
	}; \
	OP_REGISTER(op_##function); \
	struct vtpu_tensor *vtpu_reduce_##function(struct vtpu_graph *g, struct vtpu_tensor *x, \
						   uint32_t axes, bool keep) \
	{ \
		struct vtpu_reduce_attrs attrs = { axes, keep }; \
\
		return OP_CALL(g, &op_##function, &attrs, x); \
	}

REDUCE(sum)
REDUCE(mean)
REDUCE(max)

/* ---- argmax ------------------------------------------------------------------------- */

static bool infer_argmax(struct vtpu_node *node)
{
	struct vtpu_argmax_attrs *a = node->attrs;
	const struct vtpu_shape *x = node_in_shape(node, 0);
	struct vtpu_shape y = { 0 };
	int32_t rank = (int32_t)x->rank, axis = a->axis < 0 ? a->axis + rank : a->axis;

	if (!node_float(node, 0))
		return false;
	if (axis < 0 || axis >= rank)
		return node_invalid(node, "%s has no dimension %d", node_show(node, 0), a->axis);
	a->axis = axis;
	for (int32_t i = 0; i < rank; i++) {
		if (i != axis)
			y.dim[y.rank++] = x->dim[i];
	}
	return node_set(node, 0, VTPU_DTYPE_S32, &y);
}

static const struct op_attr argmax_rows[] = {
	OP_ATTR(vtpu_argmax_attrs, axis, INT, 1, -1),
	{ 0 },
};

static const struct vtpu_op op_argmax = {
	.name = "argmax",
	.input = { "x" },
	.output = { "index" },
	.attr_bytes = sizeof(struct vtpu_argmax_attrs),
	.attrs = argmax_rows,
	.infer = infer_argmax,
	.lower = lower_argmax,
};
OP_REGISTER(op_argmax);

struct vtpu_tensor *vtpu_argmax(struct vtpu_graph *g, struct vtpu_tensor *x, int32_t axis)
{
	return OP_CALL(g, &op_argmax, &(struct vtpu_argmax_attrs){ axis }, x);
}
