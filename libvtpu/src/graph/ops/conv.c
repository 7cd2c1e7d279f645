// SPDX-License-Identifier: MIT
/*
 * conv.c - two-dimensional convolution and its two gradients.
 *
 * The three are one bilinear relation between x, weights and y, solved for each of
 * them in turn; so each one's gradients are the other two.
 */
#include "graph/ops/window.h"

#define LAYOUT_X "[batch, height, width, channels]"
#define LAYOUT_W "[height, width, channels in / groups, channels out]"

static const struct vtpu_conv2d_attrs *conv_of(const struct vtpu_node *node)
{
	return &((const struct vtpu_conv2d_grad_attrs *)node->attrs)->conv;
}

/* What a tensor is called: an input of the node, or the result that is wanted. */
static const char *show(const struct vtpu_node *node, int input, const char *role,
			const struct vtpu_shape *shape)
{
	const char *text;

	if (input >= 0)
		return node_show(node, (uint32_t)input);
	text = arena_printf(&node->graph->arena, "%s %s", role, shape_text(node->graph, shape));
	return text ? text : role;
}

/*
 * The shape of y from those of x and the weights. @x_input and @w_input: which
 * inputs of the node these are; -1 for the one that is its result.
 */
static bool relate(struct vtpu_node *node, struct vtpu_conv2d_attrs *a, const struct vtpu_shape *x,
		   int x_input, const struct vtpu_shape *w, int w_input, struct vtpu_shape *y)
{
	const struct window window = {
		{ w->dim[0], w->dim[1] }, a->stride, a->dilation, &a->padding, a->pad
	};
	int64_t out[2];

	if (!a->groups)
		a->groups = 1;
	if (a->groups < 1 || w->dim[3] % a->groups)
		return node_invalid(
			node,
			"%s have %lld channels out, which %d groups cannot share; use a divisor",
			show(node, w_input, "weights", w), (long long)w->dim[3], a->groups);
	if (x->dim[3] != w->dim[2] * a->groups)
		return node_mismatch(
			node,
			"%s take %d x %lld channels (groups x third size), but %s has %lld; change the "
			"third size of the weights, or bring the input to " LAYOUT_X,
			show(node, w_input, "weights", w), a->groups, (long long)w->dim[2],
			show(node, x_input, "input", x), (long long)x->dim[3]);
	if (!window_slide(node, &window, x, x_input, out))
		return false;
	*y = VTPU_SHAPE(x->dim[0], out[0], out[1], w->dim[3]);
	return true;
}

static bool two_floats(struct vtpu_node *node)
{
	return node_float(node, 0) && node_same_type(node);
}

static const struct op_attr conv_rows[] = {
	OP_ATTR(vtpu_conv2d_attrs, stride, INT, 2, 1),
	OP_ATTR(vtpu_conv2d_attrs, dilation, INT, 2, 1),
	OP_ATTR(vtpu_conv2d_attrs, pad, INT, 4, 0),
	OP_ATTR(vtpu_conv2d_attrs, groups, INT, 1, 1),
	{ 0 },
};

static const struct op_attr grad_rows[] = {
	OP_ATTR(vtpu_conv2d_grad_attrs, conv.stride, INT, 2, 1),
	OP_ATTR(vtpu_conv2d_grad_attrs, conv.dilation, INT, 2, 1),
	OP_ATTR(vtpu_conv2d_grad_attrs, conv.pad, INT, 4, 0),
	OP_ATTR(vtpu_conv2d_grad_attrs, conv.groups, INT, 1, 1),
	OP_ATTR(vtpu_conv2d_grad_attrs, shape, SHAPE, 1, 0),
	{ 0 },
};

/* ---- y from x and weights ----------------------------------------------------------- */

static bool infer_conv2d(struct vtpu_node *node)
{
	struct vtpu_shape y;

	return two_floats(node) && node_rank(node, 0, 4, LAYOUT_X) &&
	       node_rank(node, 1, 4, LAYOUT_W) &&
	       relate(node, node->attrs, node_in_shape(node, 0), 0, node_in_shape(node, 1), 1,
		      &y) &&
	       node_set(node, 0, node_in_type(node, 0), &y);
}

static void gradient_conv2d(struct gradient *c)
{
	const struct vtpu_conv2d_attrs *a = c->node->attrs;
	struct vtpu_tensor *x = c->node->input[0], *w = c->node->input[1];

	if (c->want[0])
		c->dx[0] = vtpu_conv2d_input_grad(c->graph, c->dy[0], w, a, x->shape);
	if (c->want[1])
		c->dx[1] = vtpu_conv2d_weight_grad(c->graph, x, c->dy[0], a, w->shape);
}

static const struct vtpu_op op_conv2d = {
	.name = "conv2d",
	.input = { "input", "weights" },
	.output = { "y" },
	.attr_bytes = sizeof(struct vtpu_conv2d_attrs),
	.attrs = conv_rows,
	.infer = infer_conv2d,
	.gradient = gradient_conv2d,
	.lower = lower_conv2d,
};
OP_REGISTER(op_conv2d);

struct vtpu_tensor *vtpu_conv2d(struct vtpu_graph *g, struct vtpu_tensor *x,
				struct vtpu_tensor *weights, const struct vtpu_conv2d_attrs *attrs)
{
	return OP_CALL(g, &op_conv2d, attrs, x, weights);
}

/* ---- x from dy and weights ------------------------------------------------------------ */

static struct vtpu_conv2d_grad_attrs grad_attrs(const struct vtpu_conv2d_attrs *conv,
						const struct vtpu_shape *shape)
{
	struct vtpu_conv2d_grad_attrs attrs = { .shape = *shape };

	if (conv)
		attrs.conv = *conv;
	return attrs;
}

static bool infer_input_grad(struct vtpu_node *node)
{
	struct vtpu_conv2d_grad_attrs *a = node->attrs;
	struct vtpu_shape y;

	return two_floats(node) && window_image(node, &a->shape) &&
	       node_rank(node, 0, 4, LAYOUT_X) && node_rank(node, 1, 4, LAYOUT_W) &&
	       relate(node, &a->conv, &a->shape, -1, node_in_shape(node, 1), 1, &y) &&
	       node_shape(node, 0, &y, "the shape of the convolution's result") &&
	       node_set(node, 0, node_in_type(node, 0), &a->shape);
}

static void gradient_input_grad(struct gradient *c)
{
	struct vtpu_tensor *dy = c->node->input[0], *w = c->node->input[1];

	if (c->want[0])
		c->dx[0] = vtpu_conv2d(c->graph, c->dy[0], w, conv_of(c->node));
	if (c->want[1])
		c->dx[1] =
			vtpu_conv2d_weight_grad(c->graph, c->dy[0], dy, conv_of(c->node), w->shape);
}

static const struct vtpu_op op_input_grad = {
	.name = "conv2d_input_grad",
	.input = { "dy", "weights" },
	.output = { "dx" },
	.attr_bytes = sizeof(struct vtpu_conv2d_grad_attrs),
	.attrs = grad_rows,
	.infer = infer_input_grad,
	.gradient = gradient_input_grad,
	.lower = lower_conv2d_input_grad,
};
OP_REGISTER(op_input_grad);

struct vtpu_tensor *vtpu_conv2d_input_grad(struct vtpu_graph *g, struct vtpu_tensor *dy,
					   struct vtpu_tensor *weights,
					   const struct vtpu_conv2d_attrs *attrs,
					   struct vtpu_shape x)
{
	struct vtpu_conv2d_grad_attrs a = grad_attrs(attrs, &x);

	return OP_CALL(g, &op_input_grad, &a, dy, weights);
}

/* ---- weights from x and dy -------------------------------------------------------------- */

static bool infer_weight_grad(struct vtpu_node *node)
{
	struct vtpu_conv2d_grad_attrs *a = node->attrs;
	struct vtpu_shape y;

	return two_floats(node) && window_image(node, &a->shape) &&
	       node_rank(node, 0, 4, LAYOUT_X) && node_rank(node, 1, 4, LAYOUT_X) &&
	       relate(node, &a->conv, node_in_shape(node, 0), 0, &a->shape, -1, &y) &&
	       node_shape(node, 1, &y, "the shape of the convolution's result") &&
	       node_set(node, 0, node_in_type(node, 0), &a->shape);
}

static void gradient_weight_grad(struct gradient *c)
{
	struct vtpu_tensor *x = c->node->input[0], *dy = c->node->input[1];

	if (c->want[0])
		c->dx[0] =
			vtpu_conv2d_input_grad(c->graph, dy, c->dy[0], conv_of(c->node), x->shape);
	if (c->want[1])
		c->dx[1] = vtpu_conv2d(c->graph, x, c->dy[0], conv_of(c->node));
}

static const struct vtpu_op op_weight_grad = {
	.name = "conv2d_weight_grad",
	.input = { "input", "dy" },
	.output = { "dw" },
	.attr_bytes = sizeof(struct vtpu_conv2d_grad_attrs),
	.attrs = grad_rows,
	.infer = infer_weight_grad,
	.gradient = gradient_weight_grad,
	.lower = lower_conv2d_weight_grad,
};
OP_REGISTER(op_weight_grad);

struct vtpu_tensor *vtpu_conv2d_weight_grad(struct vtpu_graph *g, struct vtpu_tensor *x,
					    struct vtpu_tensor *dy,
					    const struct vtpu_conv2d_attrs *attrs,
					    struct vtpu_shape weights)
{
	struct vtpu_conv2d_grad_attrs a = grad_attrs(attrs, &weights);

	return OP_CALL(g, &op_weight_grad, &a, x, dy);
}
