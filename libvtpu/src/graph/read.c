// SPDX-License-Identifier: MIT
/*
 * read.c - the calls of <vtpu/graph.h> by which tools look at a graph.
 */
#include <string.h>

#include "graph/op.h"

size_t vtpu_graph_size(const struct vtpu_graph *g)
{
	return g ? g->nodes : 0;
}

const struct vtpu_node *vtpu_graph_node(const struct vtpu_graph *g, size_t index)
{
	return g && index < g->nodes ? g->node[index] : NULL;
}

struct vtpu_tensor *vtpu_graph_find(const struct vtpu_graph *g, const char *name)
{
	const char *colon = name ? strchr(name, ':') : NULL;
	struct vtpu_node *node;

	if (!g || !name)
		return NULL;
	node = names_find(g, name, colon ? (size_t)(colon - name) : strlen(name));
	for (uint32_t i = 0; node && i < node->outputs; i++) {
		if (strcmp(node->output[i].name, name) == 0)
			return &node->output[i];
	}
	return NULL;
}

size_t vtpu_node_index(const struct vtpu_node *node)
{
	return node->id;
}

const char *vtpu_node_op(const struct vtpu_node *node)
{
	return node->op->name;
}

const char *vtpu_node_name(const struct vtpu_node *node)
{
	return node->name;
}

size_t vtpu_node_inputs(const struct vtpu_node *node)
{
	return node->inputs;
}

struct vtpu_tensor *vtpu_node_input(const struct vtpu_node *node, size_t index)
{
	return index < node->inputs ? node->input[index] : NULL;
}

size_t vtpu_node_outputs(const struct vtpu_node *node)
{
	return node->outputs;
}

struct vtpu_tensor *vtpu_node_output(const struct vtpu_node *node, size_t index)
{
	return index < node->outputs ? &node->output[index] : NULL;
}

const void *vtpu_node_attrs(const struct vtpu_node *node)
{
	return node->attrs;
}

static bool is_plain(const struct vtpu_attr *attr, int32_t plain)
{
	for (size_t i = 0; i < attr->count; i++) {
		switch (attr->kind) {
		case VTPU_ATTR_INT:
		case VTPU_ATTR_UINT:
		case VTPU_ATTR_TYPE:
		case VTPU_ATTR_AXES:
		case VTPU_ATTR_ENUM:
			if (((const int32_t *)attr->value)[i] != plain)
				return false;
			break;
		case VTPU_ATTR_FLOAT:
			if (((const float *)attr->value)[i] != (float)plain)
				return false;
			break;
		case VTPU_ATTR_BOOL:
			if (((const bool *)attr->value)[i] != plain)
				return false;
			break;
		case VTPU_ATTR_SHAPE:
		case VTPU_ATTR_BYTES:
			return false;
		}
	}
	return true;
}

bool vtpu_node_attr(const struct vtpu_node *node, size_t index, struct vtpu_attr *attr)
{
	const struct op_attr *row = node->op->attrs;
	const char *field;

	for (size_t i = 0; row && row->name && i < index; i++)
		row++;
	if (!row || !row->name)
		return false;
	field = (const char *)node->attrs + row->offset;
	*attr = (struct vtpu_attr){ row->name,	(enum vtpu_attr_kind)row->kind,
				    row->count, false,
				    field,	row->words };
	if (!row->count)
		attr->count = node->input[0]->shape.rank;
	if (row->kind == VTPU_ATTR_BYTES) {
		memcpy(&attr->value, field, sizeof(attr->value));
		memcpy(&attr->count, field + sizeof(attr->value), sizeof(attr->count));
	}
	attr->plain = is_plain(attr, row->plain);
	return true;
}

enum vtpu_dtype vtpu_tensor_type(const struct vtpu_tensor *tensor)
{
	return tensor ? tensor->type : VTPU_DTYPE_DEFAULT;
}

struct vtpu_shape vtpu_tensor_shape(const struct vtpu_tensor *tensor)
{
	return tensor ? tensor->shape : (struct vtpu_shape){ 0 };
}

uint64_t vtpu_tensor_elements(const struct vtpu_tensor *tensor)
{
	return tensor ? shape_elements(&tensor->shape) : 0;
}

const char *vtpu_tensor_name(const struct vtpu_tensor *tensor)
{
	return tensor->name;
}

const struct vtpu_node *vtpu_tensor_node(const struct vtpu_tensor *tensor)
{
	return tensor->node;
}

size_t vtpu_tensor_output(const struct vtpu_tensor *tensor)
{
	return tensor->index;
}

const struct vtpu_node *vtpu_tensor_update(const struct vtpu_tensor *parameter)
{
	return parameter->node->update;
}

/* The linker gathers the entries of OP_REGISTER() and gives these two names to their ends. */
extern const struct vtpu_op *const __start_vtpu_ops[] __attribute__((visibility("hidden")));
extern const struct vtpu_op *const __stop_vtpu_ops[] __attribute__((visibility("hidden")));

bool vtpu_op_info(size_t index, struct vtpu_op_info *info)
{
	const struct vtpu_op *op;

	if (index >= (size_t)(__stop_vtpu_ops - __start_vtpu_ops))
		return false;
	op = __start_vtpu_ops[index];
	*info = (struct vtpu_op_info){ .name = op->name, .gradient = op->gradient };
	while (info->inputs < OP_MAX_INPUTS && op->input[info->inputs])
		info->inputs++;
	while (info->outputs < OP_MAX_OUTPUTS && op->output[info->outputs])
		info->outputs++;
	return true;
}
