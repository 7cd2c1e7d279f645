// SPDX-License-Identifier: MIT
/*
 * binary.c - functions of two elements with broadcasting, and the choice between two.
 */
#include "graph/op.h"

/* The shape that all inputs broadcast to. */
static bool broadcast_inputs(struct vtpu_node *node, struct vtpu_shape *out)
{
	*out = *node_in_shape(node, 0);
	for (uint32_t i = 1; i < node->inputs; i++) {
		if (!shape_broadcast(out, node_in_shape(node, i), out))
			return node_mismatch(
				node,
				"%s and %s do not broadcast: from the last dimension back, sizes must be "
				"equal, or one of them 1 or missing; use vtpu_reshape() or vtpu_transpose()",
				node_show(node, i - 1), node_show(node, i));
	}
	return true;
}

static bool infer_broadcast(struct vtpu_node *node)
{
	struct vtpu_shape shape;

	return node_float(node, 0) && node_same_type(node) && broadcast_inputs(node, &shape) &&
	       node_set(node, 0, node_in_type(node, 0), &shape);
}

/* Input @i gets @dx, summed over what was repeated. */
static void give(struct gradient *c, uint32_t i, struct vtpu_tensor *dx)
{
	c->dx[i] = gradient_unbroadcast(c->graph, dx, node_in_shape(c->node, i));
}

#define RULE(c) \
	struct vtpu_graph *g = (c)->graph; \
	struct vtpu_tensor *dy = (c)->dy[0], *a = (c)->node->input[0], *b = (c)->node->input[1]; \
	(void)g, (void)a, (void)b

static void gradient_add(struct gradient *c)
{
	RULE(c);
	if (c->want[0])
		give(c, 0, dy);
	if (c->want[1])
		give(c, 1, dy);
}

static void gradient_sub(struct gradient *c)
{
	RULE(c);
	if (c->want[0])
		give(c, 0, dy);
	if (c->want[1])
		give(c, 1, vtpu_neg(g, dy));
}

static void gradient_mul(struct gradient *c)
{
	RULE(c);
	if (c->want[0])
		give(c, 0, vtpu_mul(g, dy, b));
	if (c->want[1])
		give(c, 1, vtpu_mul(g, dy, a));
}

/* 1 / b, and -y / b */
static void gradient_div(struct gradient *c)
{
	RULE(c);
	struct vtpu_tensor *da = vtpu_div(g, dy, b);

	if (c->want[0])
		give(c, 0, da);
	if (c->want[1])
		give(c, 1, vtpu_neg(g, vtpu_mul(g, da, c->node->output)));
}

/* dy to @b where @mask is set, else to @a. */
static void route(struct gradient *c, struct vtpu_tensor *mask)
{
	struct vtpu_tensor *zero = vtpu_number(c->graph, node_in_type(c->node, 0), 0);

	if (c->want[0])
		give(c, 0, vtpu_select(c->graph, mask, zero, c->dy[0]));
	if (c->want[1])
		give(c, 1, vtpu_select(c->graph, mask, c->dy[0], zero));
}

static void gradient_maximum(struct gradient *c)
{
	RULE(c);
	(void)dy;
	route(c, vtpu_less(g, a, b));
}

static void gradient_minimum(struct gradient *c)
{
	RULE(c);
	(void)dy;
	route(c, vtpu_less(g, b, a));
}

/* The operation and its call, named alike. */
#define BINARY(function, rule) \
	static const struct vtpu_op op_##function = { \
		.name = #function, \
		.input = { "a", "b" }, \
		.output = { "y" }, \
		.flags = OP_POINTWISE, \
		.infer = infer_broadcast, \
		.gradient = rule, \
		.lower = lower_binary, \
	}; \
	OP_REGISTER(op_##function); \
	struct vtpu_tensor *vtpu_##function(struct vtpu_graph *g, struct vtpu_tensor *a, \
					    struct vtpu_tensor *b) \
	{ \
		return OP_CALL(g, &op_##function, NULL, a, b); \
	}

BINARY(add, gradient_add)
BINARY(sub, gradient_sub)
BINARY(mul, gradient_mul)
BINARY(div, gradient_div)
BINARY(maximum, gradient_maximum)
BINARY(minimum, gradient_minimum)
BINARY(equal, gradient_none)
BINARY(less, gradient_none)
BINARY(less_equal, gradient_none)

/* ---- select ----------------------------------------------------------------------- */

static void gradient_select(struct gradient *c)
{
	struct vtpu_tensor *mask = c->node->input[0];
	struct vtpu_tensor *zero = vtpu_number(c->graph, mask->type, 0);

	if (c->want[1])
		give(c, 1, vtpu_select(c->graph, mask, c->dy[0], zero));
	if (c->want[2])
		give(c, 2, vtpu_select(c->graph, mask, zero, c->dy[0]));
}

static const struct vtpu_op op_select = {
	.name = "select",
	.input = { "mask", "a", "b" },
	.output = { "y" },
	.flags = OP_POINTWISE,
	.infer = infer_broadcast,
	.gradient = gradient_select,
	.lower = lower_select,
};
OP_REGISTER(op_select);

struct vtpu_tensor *vtpu_select(struct vtpu_graph *g, struct vtpu_tensor *mask,
				struct vtpu_tensor *a, struct vtpu_tensor *b)
{
	return OP_CALL(g, &op_select, NULL, mask, a, b);
}
