// SPDX-License-Identifier: MIT
/*
 * softmax.c - softmax, the cross-entropy behind it, and how many rows are right.
 *
 * The loss is by row, so that a batch may be cut over cores anywhere; means over
 * the batch are composed of ordinary operations.
 */
#include "graph/op.h"

/* ---- softmax ------------------------------------------------------------------------- */

static bool infer_softmax(struct vtpu_node *node)
{
	if (!node_float(node, 0))
		return false;
	if (!node_in_shape(node, 0)->rank)
		return node_mismatch(node, "%s has no last dimension", node_show(node, 0));
	return node_set(node, 0, node_in_type(node, 0), node_in_shape(node, 0));
}

/* y (dy - sum(dy y)) */
static void gradient_softmax(struct gradient *c)
{
	struct vtpu_graph *g = c->graph;
	struct vtpu_tensor *y = c->node->output, *dy = c->dy[0];
	struct vtpu_tensor *sum =
		vtpu_reduce_sum(g, vtpu_mul(g, dy, y), VTPU_AXIS(y->shape.rank - 1), true);

	c->dx[0] = vtpu_mul(g, y, vtpu_sub(g, dy, sum));
}

static const struct vtpu_op op_softmax = {
	.name = "softmax",
	.input = { "x" },
	.output = { "y" },
	.infer = infer_softmax,
	.gradient = gradient_softmax,
	.lower = lower_softmax,
};
OP_REGISTER(op_softmax);

struct vtpu_tensor *vtpu_softmax(struct vtpu_graph *g, struct vtpu_tensor *x)
{
	return OP_CALL(g, &op_softmax, NULL, x);
}

/* ---- softmax_xent ---------------------------------------------------------------------- */

/* Logits are input @first, labels the one behind. */
static bool check_rows(struct vtpu_node *node, uint32_t first, struct vtpu_shape *rows)
{
	const struct vtpu_xent_attrs *a = node->attrs;
	const struct vtpu_tensor *labels = node->input[first + 1];

	if (!node_float(node, first) || !node_rank(node, first, 2, "[rows, classes]"))
		return false;
	if (labels->type != VTPU_DTYPE_U8 && labels->type != VTPU_DTYPE_S32)
		return node_invalid(node, "%s is %s, and must be u8 or s32 class numbers",
				    node_show(node, first + 1), vtpu_dtype_name(labels->type));
	if (!(a->smoothing >= 0 && a->smoothing <= 1))
		return node_invalid(node, "the smoothing is %g, and must be 0 to 1",
				    (double)a->smoothing);
	*rows = (struct vtpu_shape){ 1, { node_in_shape(node, first)->dim[0] } };
	if (shape_equal(&labels->shape, rows))
		return true;
	return node_mismatch(node, "%s must be %s, one for each row of %s",
			     node_show(node, first + 1), shape_text(node->graph, rows),
			     node_show(node, first));
}

static bool infer_xent(struct vtpu_node *node)
{
	struct vtpu_shape rows;

	return check_rows(node, 0, &rows) && node_set(node, 0, VTPU_DTYPE_F32, &rows);
}

static bool infer_xent_grad(struct vtpu_node *node)
{
	struct vtpu_shape rows;

	return check_rows(node, 1, &rows) && node_type(node, 0, VTPU_DTYPE_F32) &&
	       node_shape(node, 0, &rows, "one for each row of the logits") &&
	       node_set(node, 0, node_in_type(node, 1), node_in_shape(node, 1));
}

static void gradient_xent(struct gradient *c)
{
	c->dx[0] = vtpu_softmax_xent_grad(c->graph, c->dy[0], c->node->input[0], c->node->input[1],
					  c->node->attrs);
}

static const struct op_attr xent_rows[] = {
	OP_ATTR(vtpu_xent_attrs, smoothing, FLOAT, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_xent = {
	.name = "softmax_xent",
	.input = { "logits", "labels" },
	.output = { "loss" },
	.attr_bytes = sizeof(struct vtpu_xent_attrs),
	.attrs = xent_rows,
	.infer = infer_xent,
	.gradient = gradient_xent,
	.lower = lower_xent,
};
OP_REGISTER(op_xent);

static const struct vtpu_op op_xent_grad = {
	.name = "softmax_xent_grad",
	.input = { "dy", "logits", "labels" },
	.output = { "dx" },
	.attr_bytes = sizeof(struct vtpu_xent_attrs),
	.attrs = xent_rows,
	.infer = infer_xent_grad,
	.lower = lower_xent_grad,
};
OP_REGISTER(op_xent_grad);

struct vtpu_tensor *vtpu_softmax_xent(struct vtpu_graph *g, struct vtpu_tensor *logits,
				      struct vtpu_tensor *labels,
				      const struct vtpu_xent_attrs *attrs)
{
	return OP_CALL(g, &op_xent, attrs, logits, labels);
}

struct vtpu_tensor *vtpu_softmax_xent_grad(struct vtpu_graph *g, struct vtpu_tensor *dy,
					   struct vtpu_tensor *logits, struct vtpu_tensor *labels,
					   const struct vtpu_xent_attrs *attrs)
{
	return OP_CALL(g, &op_xent_grad, attrs, dy, logits, labels);
}

/* ---- Of a batch -------------------------------------------------------------------------- */

struct vtpu_tensor *vtpu_cross_entropy(struct vtpu_graph *g, struct vtpu_tensor *logits,
				       struct vtpu_tensor *labels, struct vtpu_tensor *weights,
				       const struct vtpu_xent_attrs *attrs)
{
	const struct graph_scope *outer;
	struct vtpu_tensor *loss;

	if (!graph_usable(g))
		return NULL;
	outer = graph_within(g, "cross_entropy");
	loss = vtpu_softmax_xent(g, logits, labels, attrs);
	if (weights) {
		loss = vtpu_reduce_sum(g, vtpu_mul(g, loss, weights), 0, false);
		loss = vtpu_div(g, loss, vtpu_reduce_sum(g, weights, 0, false));
	} else {
		loss = vtpu_reduce_mean(g, loss, 0, false);
	}
	g->scope = outer;
	return loss;
}

struct vtpu_tensor *vtpu_correct(struct vtpu_graph *g, struct vtpu_tensor *logits,
				 struct vtpu_tensor *labels, struct vtpu_tensor *weights)
{
	const struct graph_scope *outer;
	struct vtpu_tensor *hit;

	if (!graph_usable(g))
		return NULL;
	outer = graph_within(g, "correct");
	hit = vtpu_cast(g, vtpu_argmax(g, logits, -1), VTPU_DTYPE_F32);
	hit = vtpu_equal(g, hit, vtpu_cast(g, labels, VTPU_DTYPE_F32));
	if (weights)
		hit = vtpu_mul(g, hit, weights);
	hit = vtpu_reduce_sum(g, hit, 0, false);
	g->scope = outer;
	return hit;
}
