// SPDX-License-Identifier: MIT
/*
 * check.c - what shape inference of all operations shares: checks of inputs, each
 * with its sentence.
 */
#include "graph/op.h"

bool node_fail(struct vtpu_node *node, enum vtpu_status status, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(&node->graph->arena, fmt, ap);
	va_end(ap);
	if (!text)
		return graph_nomem(node->graph);
	return graph_fail(node->graph, status, "%s: %s", node->name, text);
}

const char *node_show(const struct vtpu_node *node, uint32_t input)
{
	const struct vtpu_tensor *x = node->input[input];
	const char *text = arena_printf(&node->graph->arena, "%s '%s' %s", node->op->input[input],
					x->name, shape_text(node->graph, &x->shape));

	return text ? text : "an input";
}

bool node_float(struct vtpu_node *node, uint32_t input)
{
	if (dtype_is_float(node_in_type(node, input)))
		return true;
	return node_invalid(node, "%s is %s, and must be f32 or bf16; use vtpu_cast() before",
			    node_show(node, input), vtpu_dtype_name(node_in_type(node, input)));
}

bool node_type(struct vtpu_node *node, uint32_t input, enum vtpu_dtype type)
{
	if (node_in_type(node, input) == type)
		return true;
	return node_invalid(node, "%s is %s, and must be %s; use vtpu_cast() before",
			    node_show(node, input), vtpu_dtype_name(node_in_type(node, input)),
			    vtpu_dtype_name(type));
}

bool node_same_type(struct vtpu_node *node)
{
	for (uint32_t i = 1; i < node->inputs; i++) {
		if (node_in_type(node, i) != node_in_type(node, 0))
			return node_invalid(
				node,
				"%s is %s, but %s is %s; bring them to one type with vtpu_cast()",
				node_show(node, 0), vtpu_dtype_name(node_in_type(node, 0)),
				node_show(node, i), vtpu_dtype_name(node_in_type(node, i)));
	}
	return true;
}

bool node_rank(struct vtpu_node *node, uint32_t input, uint32_t rank, const char *layout)
{
	if (node_in_shape(node, input)->rank == rank)
		return true;
	return node_mismatch(node, "%s has rank %u, and must be %s; use vtpu_reshape() before",
			     node_show(node, input), node_in_shape(node, input)->rank, layout);
}

bool node_shape(struct vtpu_node *node, uint32_t input, const struct vtpu_shape *shape,
		const char *why)
{
	if (shape_equal(node_in_shape(node, input), shape))
		return true;
	return node_mismatch(node, "%s must be %s, %s", node_show(node, input),
			     shape_text(node->graph, shape), why);
}

bool node_same_shape(struct vtpu_node *node, uint32_t input, uint32_t other)
{
	if (shape_equal(node_in_shape(node, input), node_in_shape(node, other)))
		return true;
	return node_mismatch(node, "%s must have the shape of %s", node_show(node, input),
			     node_show(node, other));
}

bool node_set(struct vtpu_node *node, uint32_t output, enum vtpu_dtype type,
	      const struct vtpu_shape *shape)
{
	node->output[output].type = type;
	node->output[output].shape = *shape;
	return true;
}
