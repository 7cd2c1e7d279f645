// SPDX-License-Identifier: MIT
/*
 * cast.c - other types, and scaling on the way.
 */
#include "graph/op.h"

/* ---- cast ---------------------------------------------------------------------- */

static bool infer_cast(struct vtpu_node *node)
{
	struct vtpu_cast_attrs *a = node->attrs;

	if (!a->type)
		a->type = VTPU_DTYPE_F32;
	return node_set(node, 0, a->type, node_in_shape(node, 0));
}

static void gradient_cast(struct gradient *c)
{
	c->dx[0] = vtpu_cast(c->graph, c->dy[0], node_in_type(c->node, 0));
}

static const struct op_attr cast_rows[] = {
	OP_ATTR(vtpu_cast_attrs, type, TYPE, 1, VTPU_DTYPE_DEFAULT),
	{ 0 },
};

static const struct vtpu_op op_cast = {
	.name = "cast",
	.input = { "x" },
	.output = { "y" },
	.flags = OP_POINTWISE,
	.attr_bytes = sizeof(struct vtpu_cast_attrs),
	.attrs = cast_rows,
	.infer = infer_cast,
	.gradient = gradient_cast,
	.lower = lower_cast,
};
OP_REGISTER(op_cast);

struct vtpu_tensor *vtpu_cast(struct vtpu_graph *g, struct vtpu_tensor *x, enum vtpu_dtype type)
{
	return OP_CALL(g, &op_cast, &(struct vtpu_cast_attrs){ type }, x);
}

/* ---- affine ---------------------------------------------------------------------- */

static bool infer_affine(struct vtpu_node *node)
{
	struct vtpu_affine_attrs *a = node->attrs;

	if (!a->type)
		a->type = VTPU_DTYPE_F32;
	if (!dtype_is_float(a->type))
		return node_invalid(node, "the result is to be %s, and must be f32 or bf16",
				    vtpu_dtype_name(a->type));
	return node_set(node, 0, a->type, node_in_shape(node, 0));
}

static void gradient_affine_rule(struct gradient *c)
{
	const struct vtpu_affine_attrs *a = c->node->attrs;

	c->dx[0] = vtpu_affine(c->graph, c->dy[0], a->scale, 0, node_in_type(c->node, 0));
}

static const struct op_attr affine_rows[] = {
	OP_ATTR(vtpu_affine_attrs, scale, FLOAT, 1, 1),
	OP_ATTR(vtpu_affine_attrs, shift, FLOAT, 1, 0),
	OP_ATTR(vtpu_affine_attrs, type, TYPE, 1, VTPU_DTYPE_F32),
	{ 0 },
};

static const struct vtpu_op op_affine = {
	.name = "affine",
	.input = { "x" },
	.output = { "y" },
	.flags = OP_POINTWISE,
	.attr_bytes = sizeof(struct vtpu_affine_attrs),
	.attrs = affine_rows,
	.infer = infer_affine,
	.gradient = gradient_affine_rule,
	.lower = lower_affine,
};
OP_REGISTER(op_affine);

struct vtpu_tensor *vtpu_affine(struct vtpu_graph *g, struct vtpu_tensor *x, float scale,
				float shift, enum vtpu_dtype type)
{
	struct vtpu_affine_attrs attrs = { scale, shift, type };

	return OP_CALL(g, &op_affine, &attrs, x);
}
