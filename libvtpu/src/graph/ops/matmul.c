// SPDX-License-Identifier: MIT
/*
 * matmul.c - matrix products, and the bias behind them.
 */
#include "graph/op.h"

/* ---- matmul ------------------------------------------------------------------------ */

static bool infer_matmul(struct vtpu_node *node)
{
	const struct vtpu_matmul_attrs *t = node->attrs;
	const struct vtpu_shape *a = node_in_shape(node, 0), *b = node_in_shape(node, 1);
	struct vtpu_shape y = *a;
	uint32_t r = a->rank;

	if (!node_float(node, 0) || !node_same_type(node))
		return false;
	if (r < 2 || b->rank < 2)
		return node_mismatch(node, "%s and %s must have rank 2 or more; use vtpu_reshape()",
				     node_show(node, 0), node_show(node, 1));
	if (r != b->rank)
		return node_mismatch(node, "%s and %s must have the same rank; use vtpu_reshape()",
				     node_show(node, 0), node_show(node, 1));
	for (uint32_t i = 0; i + 2 < r; i++) {
		if (a->dim[i] != b->dim[i])
			return node_mismatch(node,
					     "%s and %s differ in dimension %u, before the last two",
					     node_show(node, 0), node_show(node, 1), i);
	}
	if (a->dim[r - 1 - t->transpose_a] != b->dim[r - 2 + t->transpose_b])
		return node_mismatch(
			node,
			"%s%s has %lld %s, but %s%s has %lld %s; these must be equal: transpose one, or "
			"change its shape",
			node_show(node, 0), t->transpose_a ? " transposed" : "",
			(long long)a->dim[r - 1 - t->transpose_a], "columns", node_show(node, 1),
			t->transpose_b ? " transposed" : "",
			(long long)b->dim[r - 2 + t->transpose_b], "rows");
	y.dim[r - 2] = a->dim[r - 2 + t->transpose_a];
	y.dim[r - 1] = b->dim[r - 1 - t->transpose_b];
	return node_set(node, 0, node_in_type(node, 0), &y);
}

static struct vtpu_tensor *product(struct vtpu_graph *g, struct vtpu_tensor *a, bool transpose_a,
				   struct vtpu_tensor *b, bool transpose_b)
{
	return vtpu_matmul(g, a, b, &(struct vtpu_matmul_attrs){ transpose_a, transpose_b });
}

/* da = dy b', db = a' dy; where an operand was transposed, its gradient comes out transposed. */
static void gradient_matmul(struct gradient *c)
{
	const struct vtpu_matmul_attrs *t = c->node->attrs;
	struct vtpu_tensor *a = c->node->input[0], *b = c->node->input[1], *dy = c->dy[0];

	if (c->want[0])
		c->dx[0] = t->transpose_a ? product(c->graph, b, t->transpose_b, dy, true) :
					    product(c->graph, dy, false, b, !t->transpose_b);
	if (c->want[1])
		c->dx[1] = t->transpose_b ? product(c->graph, dy, true, a, t->transpose_a) :
					    product(c->graph, a, !t->transpose_a, dy, false);
}

static const struct op_attr matmul_rows[] = {
	OP_ATTR(vtpu_matmul_attrs, transpose_a, BOOL, 1, 0),
	OP_ATTR(vtpu_matmul_attrs, transpose_b, BOOL, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_matmul = {
	.name = "matmul",
	.input = { "a", "b" },
	.output = { "y" },
	.attr_bytes = sizeof(struct vtpu_matmul_attrs),
	.attrs = matmul_rows,
	.infer = infer_matmul,
	.gradient = gradient_matmul,
	.lower = lower_matmul,
};
OP_REGISTER(op_matmul);

struct vtpu_tensor *vtpu_matmul(struct vtpu_graph *g, struct vtpu_tensor *a, struct vtpu_tensor *b,
				const struct vtpu_matmul_attrs *attrs)
{
	return OP_CALL(g, &op_matmul, attrs, a, b);
}

/* ---- bias_add ------------------------------------------------------------------------ */

static bool infer_bias_add(struct vtpu_node *node)
{
	const struct vtpu_shape *x = node_in_shape(node, 0);
	struct vtpu_shape bias = { 1, { 0 } };

	if (!node_float(node, 0) || !node_same_type(node))
		return false;
	if (!x->rank)
		return node_mismatch(node, "%s has no last dimension that a bias could go with",
				     node_show(node, 0));
	bias.dim[0] = x->dim[x->rank - 1];
	if (!shape_equal(node_in_shape(node, 1), &bias))
		return node_mismatch(node,
				     "%s must be %s, one for each of the last dimension of %s",
				     node_show(node, 1), shape_text(node->graph, &bias),
				     node_show(node, 0));
	return node_set(node, 0, node_in_type(node, 0), x);
}

static void gradient_bias_add(struct gradient *c)
{
	c->dx[0] = c->dy[0];
	if (c->want[1])
		c->dx[1] = gradient_unbroadcast(c->graph, c->dy[0], node_in_shape(c->node, 1));
}

static const struct vtpu_op op_bias_add = {
	.name = "bias_add",
	.input = { "x", "bias" },
	.output = { "y" },
	.flags = OP_POINTWISE,
	.infer = infer_bias_add,
	.gradient = gradient_bias_add,
	.lower = lower_bias_add,
};
OP_REGISTER(op_bias_add);

struct vtpu_tensor *vtpu_bias_add(struct vtpu_graph *g, struct vtpu_tensor *x,
				  struct vtpu_tensor *bias)
{
	return OP_CALL(g, &op_bias_add, NULL, x, bias);
}
