// SPDX-License-Identifier: MIT
/*
 * dropout.c - elements that become zero at random.
 */
#include "core/random.h"
#include "graph/op.h"

static bool infer_dropout(struct vtpu_node *node)
{
	struct vtpu_dropout_attrs *a = node->attrs;

	if (!node_float(node, 0))
		return false;
	for (uint32_t i = 1; i < 3; i++) {
		if (!node_type(node, i, VTPU_DTYPE_S32) ||
		    !node_rank(node, i, 0, "a single value, as of vtpu_scalar()"))
			return false;
	}
	if (!(a->rate >= 0 && a->rate < 1))
		return node_invalid(node, "the rate is %g, and must be 0 or more and less than 1",
				    (double)a->rate);
	if (!a->stream)
		a->stream = random_name(node->name);
	return node_set(node, 0, node_in_type(node, 0), node_in_shape(node, 0));
}

/* The mask is made again, so it need not be kept. */
static void gradient_dropout(struct gradient *c)
{
	c->dx[0] = vtpu_dropout(c->graph, c->dy[0], c->node->input[1], c->node->input[2],
				c->node->attrs);
}

static const struct op_attr dropout_rows[] = {
	OP_ATTR(vtpu_dropout_attrs, rate, FLOAT, 1, 0),
	OP_ATTR(vtpu_dropout_attrs, stream, UINT, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_dropout = {
	.name = "dropout",
	.input = { "x", "seed", "step" },
	.output = { "y" },
	.flags = OP_POINTWISE,
	.attr_bytes = sizeof(struct vtpu_dropout_attrs),
	.attrs = dropout_rows,
	.infer = infer_dropout,
	.gradient = gradient_dropout,
	.lower = lower_dropout,
};
OP_REGISTER(op_dropout);

struct vtpu_tensor *vtpu_dropout(struct vtpu_graph *g, struct vtpu_tensor *x,
				 struct vtpu_tensor *seed, struct vtpu_tensor *step,
				 const struct vtpu_dropout_attrs *attrs)
{
	return OP_CALL(g, &op_dropout, attrs, x, seed, step);
}
