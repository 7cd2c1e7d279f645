// SPDX-License-Identifier: MIT
/*
 * layout.c - the same elements in another shape or order: reshape, broadcast, transpose.
 */
#include <string.h>

#include "graph/op.h"

static const struct op_attr shape_rows[] = {
	OP_ATTR(vtpu_shape_attrs, shape, SHAPE, 1, 0),
	{ 0 },
};

/* ---- reshape ---------------------------------------------------------------------- */

/* Elements that the given dimensions hold, and which one is to be worked out; false if it overflows. */
static bool count_given(const struct vtpu_shape *shape, uint64_t *given, int *open)
{
	*given = 1;
	*open = -1;
	for (uint32_t i = 0; i < shape->rank; i++) {
		if (shape->dim[i] == -1 && *open < 0)
			*open = (int)i;
		else if (shape->dim[i] < 1 ||
			 __builtin_mul_overflow(*given, (uint64_t)shape->dim[i], given))
			return false;
	}
	return true;
}

static bool infer_reshape(struct vtpu_node *node)
{
	struct vtpu_shape *shape = &((struct vtpu_shape_attrs *)node->attrs)->shape;
	uint64_t elements = shape_elements(node_in_shape(node, 0)), given;
	int open;

	if (shape->rank > VTPU_MAX_RANK)
		return node_set(node, 0, node_in_type(node, 0),
				shape); /* the core says what is wrong */
	if (!count_given(shape, &given, &open))
		return node_invalid(
			node,
			"%s cannot become %s: dimensions must be 1 or more, and one may be -1",
			node_show(node, 0), shape_text(node->graph, shape));
	if (open < 0 ? given != elements : elements % given)
		return node_mismatch(node,
				     "%s has %llu elements, and cannot become %s, which %s %llu; change the "
				     "sizes, or leave one of them -1",
				     node_show(node, 0), (unsigned long long)elements,
				     shape_text(node->graph, shape),
				     open < 0 ? "has" : "needs a multiple of",
				     (unsigned long long)given);
	if (open >= 0)
		shape->dim[open] = (int64_t)(elements / given);
	return node_set(node, 0, node_in_type(node, 0), shape);
}

static void gradient_reshape(struct gradient *c)
{
	c->dx[0] = vtpu_reshape(c->graph, c->dy[0], *node_in_shape(c->node, 0));
}

static const struct vtpu_op op_reshape = {
	.name = "reshape",
	.input = { "x" },
	.output = { "y" },
	.flags = OP_MOVE,
	.attr_bytes = sizeof(struct vtpu_shape_attrs),
	.attrs = shape_rows,
	.infer = infer_reshape,
	.gradient = gradient_reshape,
	.lower = lower_reshape,
};
OP_REGISTER(op_reshape);

struct vtpu_tensor *vtpu_reshape(struct vtpu_graph *g, struct vtpu_tensor *x,
				 struct vtpu_shape shape)
{
	return OP_CALL(g, &op_reshape, &(struct vtpu_shape_attrs){ shape }, x);
}

struct vtpu_tensor *vtpu_flatten(struct vtpu_graph *g, struct vtpu_tensor *x)
{
	return vtpu_reshape(g, x,
			    x && x->shape.rank ? VTPU_SHAPE(x->shape.dim[0], -1) :
						 VTPU_SHAPE(1, -1));
}

/* ---- broadcast --------------------------------------------------------------------- */

static bool infer_broadcast(struct vtpu_node *node)
{
	const struct vtpu_shape *shape = &((struct vtpu_shape_attrs *)node->attrs)->shape;
	struct vtpu_shape both;

	if (shape->rank <= VTPU_MAX_RANK &&
	    (!shape_broadcast(node_in_shape(node, 0), shape, &both) || !shape_equal(&both, shape)))
		return node_mismatch(
			node,
			"%s cannot be repeated to %s: from the last dimension back, its sizes must be "
			"equal, 1 or missing; use vtpu_reshape() before",
			node_show(node, 0), shape_text(node->graph, shape));
	return node_set(node, 0, node_in_type(node, 0), shape);
}

static void gradient_broadcast(struct gradient *c)
{
	c->dx[0] = gradient_unbroadcast(c->graph, c->dy[0], node_in_shape(c->node, 0));
}

static const struct vtpu_op op_broadcast = {
	.name = "broadcast",
	.input = { "x" },
	.output = { "y" },
	.flags = OP_MOVE,
	.attr_bytes = sizeof(struct vtpu_shape_attrs),
	.attrs = shape_rows,
	.infer = infer_broadcast,
	.gradient = gradient_broadcast,
	.lower = lower_broadcast,
};
OP_REGISTER(op_broadcast);

struct vtpu_tensor *vtpu_broadcast(struct vtpu_graph *g, struct vtpu_tensor *x,
				   struct vtpu_shape shape)
{
	return OP_CALL(g, &op_broadcast, &(struct vtpu_shape_attrs){ shape }, x);
}

/* ---- transpose ---------------------------------------------------------------------- */

static bool infer_transpose(struct vtpu_node *node)
{
	const int32_t *order = ((struct vtpu_transpose_attrs *)node->attrs)->order;
	const struct vtpu_shape *x = node_in_shape(node, 0);
	struct vtpu_shape y = { .rank = x->rank };
	uint32_t seen = 0;

	for (uint32_t i = 0; i < x->rank; i++) {
		if (order[i] < 0 || order[i] >= (int32_t)x->rank || seen & VTPU_AXIS(order[i]))
			return node_invalid(
				node,
				"the order of %s has %d at place %u; it must have each number from 0 to %u once",
				node_show(node, 0), order[i], i, x->rank - 1);
		seen |= VTPU_AXIS(order[i]);
		y.dim[i] = x->dim[order[i]];
	}
	return node_set(node, 0, node_in_type(node, 0), &y);
}

static void gradient_transpose(struct gradient *c)
{
	const int32_t *order = ((const struct vtpu_transpose_attrs *)c->node->attrs)->order;
	int32_t back[VTPU_MAX_RANK] = { 0 };

	for (int32_t i = 0; i < (int32_t)node_in_shape(c->node, 0)->rank; i++)
		back[order[i]] = i;
	c->dx[0] = vtpu_transpose(c->graph, c->dy[0], back);
}

static const struct op_attr transpose_rows[] = {
	OP_ATTR(vtpu_transpose_attrs, order, INT, 0, -1),
	{ 0 },
};

static const struct vtpu_op op_transpose = {
	.name = "transpose",
	.input = { "x" },
	.output = { "y" },
	.flags = OP_MOVE,
	.attr_bytes = sizeof(struct vtpu_transpose_attrs),
	.attrs = transpose_rows,
	.infer = infer_transpose,
	.gradient = gradient_transpose,
	.lower = lower_transpose,
};
OP_REGISTER(op_transpose);

struct vtpu_tensor *vtpu_transpose(struct vtpu_graph *g, struct vtpu_tensor *x,
				   const int32_t *order)
{
	struct vtpu_transpose_attrs attrs = { { 0 } };
	int32_t rank = x ? (int32_t)x->shape.rank : 0;

	for (int32_t i = 0; i < rank; i++)
		attrs.order[i] = order ? order[i] : i;
	if (!order && rank > 1) {
		attrs.order[rank - 1] = rank - 2;
		attrs.order[rank - 2] = rank - 1;
	}
	return OP_CALL(g, &op_transpose, &attrs, x);
}
