// SPDX-License-Identifier: MIT
/*
 * unary.c - functions of one element.
 *
 * Gradients use the result where the function can be told from it, so that the
 * input need not be kept.
 */
#include "graph/op.h"

static bool infer_unary(struct vtpu_node *node)
{
	return node_float(node, 0) &&
	       node_set(node, 0, node_in_type(node, 0), node_in_shape(node, 0));
}

/* A rule that is dx = dy * f'(x): its first three lines. */
#define RULE(c) \
	struct vtpu_graph *g = (c)->graph; \
	struct vtpu_tensor *dy = (c)->dy[0], *x = (c)->node->input[0], *y = (c)->node->output; \
	(void)x, (void)y

static void gradient_neg(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_neg(g, dy);
}

static void gradient_exp(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_mul(g, dy, y);
}

static void gradient_ln(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_div(g, dy, x);
}

/* 1 / (2 y) */
static void gradient_sqrt(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_div(g, gradient_affine(g, dy, 0.5f, 0), y);
}

/* -y^3 / 2 */
static void gradient_rsqrt(struct gradient *c)
{
	RULE(c);
	struct vtpu_tensor *cube = vtpu_mul(g, y, vtpu_mul(g, y, y));

	c->dx[0] = vtpu_mul(g, gradient_affine(g, dy, -0.5f, 0), cube);
}

/* 1 - y^2 */
static void gradient_tanh(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_mul(g, dy, gradient_affine(g, vtpu_mul(g, y, y), -1, 1));
}

/* s (1 - s) */
static struct vtpu_tensor *sigmoid_slope(struct vtpu_graph *g, struct vtpu_tensor *s)
{
	return vtpu_mul(g, s, gradient_affine(g, s, -1, 1));
}

static void gradient_sigmoid(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_mul(g, dy, sigmoid_slope(g, y));
}

/* A choice and not a product, so that 0 times infinity does not come up. */
static void gradient_relu(struct gradient *c)
{
	RULE(c);
	struct vtpu_tensor *zero = vtpu_number(g, y->type, 0);

	c->dx[0] = vtpu_select(g, vtpu_less(g, zero, y), dy, zero);
}

/* Of x * sigmoid(z): s + x s (1 - s) z'. */
static struct vtpu_tensor *gated_slope(struct vtpu_graph *g, struct vtpu_tensor *x,
				       struct vtpu_tensor *z, struct vtpu_tensor *dz)
{
	struct vtpu_tensor *s = vtpu_sigmoid(g, z), *bend = vtpu_mul(g, x, sigmoid_slope(g, s));

	return vtpu_add(g, s, dz ? vtpu_mul(g, bend, dz) : bend);
}

static void gradient_silu(struct gradient *c)
{
	RULE(c);
	c->dx[0] = vtpu_mul(g, dy, gated_slope(g, x, x, NULL));
}

/* z = a (x + b x^3) */
static void gradient_gelu(struct gradient *c)
{
	RULE(c);
	const float a = 1.5957691216057308f, b = 0.044715f;
	struct vtpu_tensor *square = vtpu_mul(g, x, x);
	struct vtpu_tensor *z = vtpu_mul(g, x, gradient_affine(g, square, a * b, a));
	struct vtpu_tensor *dz = gradient_affine(g, square, 3 * a * b, a);

	c->dx[0] = vtpu_mul(g, dy, gated_slope(g, x, z, dz));
}

/* The operation and its call, named alike. */
#define UNARY(function) \
	static const struct vtpu_op op_##function = { \
		.name = #function, \
		.input = { "x" }, \
		.output = { "y" }, \
		.flags = OP_POINTWISE, \
		.infer = infer_unary, \
		.gradient = gradient_##function, \
		.lower = lower_unary, \
	}; \
	OP_REGISTER(op_##function); \
	struct vtpu_tensor *vtpu_##function(struct vtpu_graph *g, struct vtpu_tensor *x) \
	{ \
		return OP_CALL(g, &op_##function, NULL, x); \
	}

UNARY(neg)
UNARY(exp)
UNARY(ln)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(tanh)
UNARY(sigmoid)
UNARY(relu)
UNARY(gelu)
UNARY(silu)
