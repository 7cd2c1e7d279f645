// SPDX-License-Identifier: MIT
/*
 * source.c - where values come from and go to: inputs, scalars, constants,
 * parameters; outputs and assignments.
 *
 * How a parameter starts is worked out in ops/initial.c.
 */
#include <string.h>

#include "graph/ops/source.h"

/* ---- Inputs and scalars ------------------------------------------------------------- */

static bool infer_source(struct vtpu_node *node)
{
	const struct source_attrs *a = node->attrs;

	return node_set(node, 0, a->type, &a->shape);
}

static bool infer_scalar(struct vtpu_node *node)
{
	const struct source_attrs *a = node->attrs;

	if (a->type && a->type != VTPU_DTYPE_F32 && a->type != VTPU_DTYPE_S32)
		return node_invalid(node, "a scalar argument must be f32 or s32, not %s",
				    vtpu_dtype_name(a->type));
	return infer_source(node);
}

static const struct vtpu_op op_input = {
	.name = "input",
	.output = { "value" },
	.flags = OP_FED,
	.attr_bytes = sizeof(struct source_attrs),
	.infer = infer_source,
	.lower = lower_input,
};
OP_REGISTER(op_input);

static const struct vtpu_op op_scalar = {
	.name = "scalar",
	.output = { "value" },
	.flags = OP_FED,
	.attr_bytes = sizeof(struct source_attrs),
	.infer = infer_scalar,
	.lower = lower_scalar_in,
};
OP_REGISTER(op_scalar);

static struct vtpu_tensor *source(struct vtpu_graph *g, const struct vtpu_op *op, const char *name,
				  const void *attrs)
{
	struct vtpu_node *node = graph_add(g, op, name, attrs, NULL, 0);

	return node ? node->output : NULL;
}

/* A name that must be given. */
static const char *named(const char *name)
{
	return name ? name : "";
}

struct vtpu_tensor *vtpu_input(struct vtpu_graph *g, const char *name, enum vtpu_dtype type,
			       struct vtpu_shape shape)
{
	return source(g, &op_input, named(name), &(struct source_attrs){ type, shape });
}

struct vtpu_tensor *vtpu_scalar(struct vtpu_graph *g, const char *name, enum vtpu_dtype type)
{
	return source(g, &op_scalar, named(name),
		      &(struct source_attrs){ type, VTPU_SHAPE_SCALAR });
}

/* ---- Constants and parameters ----------------------------------------------------------- */

/* Shapes are checked by the core only later, and here their elements are counted. */
static bool copy_data(struct vtpu_node *node, const struct source_attrs *a, const void **data,
		      size_t bytes)
{
	uint64_t want = vtpu_dtype_bytes(a->type);

	if (!want)
		return true; /* the core says so */
	for (uint32_t i = 0; i < a->shape.rank && i < VTPU_MAX_RANK; i++) {
		int64_t dim = a->shape.dim[i];

		if (dim < 1 || dim > GRAPH_MAX_DIM || want > 4 * GRAPH_MAX_ELEMENTS / (uint64_t)dim)
			return true; /* the same */
		want *= (uint64_t)dim;
	}
	if (!*data || bytes != want)
		return node_mismatch(node, "%s %s takes %llu bytes, but the data is %s%zu bytes",
				     vtpu_dtype_name(a->type), shape_text(node->graph, &a->shape),
				     (unsigned long long)want, *data ? "" : "NULL, ", bytes);
	*data = arena_copy(&node->graph->arena, *data, bytes);
	return *data || graph_nomem(node->graph);
}

static bool infer_constant(struct vtpu_node *node)
{
	struct constant_attrs *a = node->attrs;

	return copy_data(node, &a->source, &a->data, a->bytes) && infer_source(node);
}

static const struct op_attr constant_rows[] = {
	OP_ATTR(constant_attrs, data, BYTES, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_constant = {
	.name = "constant",
	.output = { "value" },
	.flags = OP_CONSTANT,
	.attr_bytes = sizeof(struct constant_attrs),
	.attrs = constant_rows,
	.infer = infer_constant,
	.lower = lower_constant_node,
};
OP_REGISTER(op_constant);

struct vtpu_tensor *vtpu_constant(struct vtpu_graph *g, const char *name, enum vtpu_dtype type,
				  struct vtpu_shape shape, const void *data, size_t bytes)
{
	return source(g, &op_constant, name,
		      &(struct constant_attrs){ { type, shape }, data, bytes });
}

struct vtpu_tensor *vtpu_number(struct vtpu_graph *g, enum vtpu_dtype type, float value)
{
	uint16_t half = float_to_bf16(value);

	if (type == VTPU_DTYPE_BF16)
		return vtpu_constant(g, NULL, type, VTPU_SHAPE_SCALAR, &half, sizeof(half));
	if (type && type != VTPU_DTYPE_F32 && graph_usable(g)) {
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
			   "vtpu_number(): the type is %s, and must be f32 or bf16",
			   vtpu_dtype_name(type));
		return NULL;
	}
	return vtpu_constant(g, NULL, VTPU_DTYPE_F32, VTPU_SHAPE_SCALAR, &value, sizeof(value));
}

static bool infer_parameter(struct vtpu_node *node)
{
	struct parameter_attrs *a = node->attrs;
	struct vtpu_initial *initial = &a->initial;

	if (initial->kind > VTPU_INITIAL_DATA)
		return node_invalid(node,
				    "there is no initialiser %d; use one of enum "
				    "vtpu_initial_kind",
				    (int)initial->kind);
	if (initial->kind == VTPU_INITIAL_DATA)
		return copy_data(node, &a->source, &initial->data, initial->data_bytes) &&
		       infer_source(node);
	initial->data = NULL;
	initial->data_bytes = 0;
	if (initial->kind >= VTPU_INITIAL_UNIFORM && a->source.type &&
	    !dtype_is_float(a->source.type))
		return node_invalid(node,
				    "random values of type %s cannot be made; use f32 or bf16",
				    vtpu_dtype_name(a->source.type));
	return infer_source(node);
}

static const char *const initial_words[] = {
	"zeros",     "constant",       "uniform",	"normal", "he_uniform",
	"he_normal", "glorot_uniform", "glorot_normal", "data",
};

/* clang-format off */
#define INITIAL(name, field, kind, words) \
	{ name, offsetof(struct parameter_attrs, initial.field), VTPU_ATTR_##kind, 1, 0, words }
/* clang-format on */

static const struct op_attr parameter_rows[] = {
	OP_ATTR(parameter_attrs, trainable, BOOL, 1, 1),
	INITIAL("initial", kind, ENUM, initial_words),
	INITIAL("mean", mean, FLOAT, NULL),
	INITIAL("spread", spread, FLOAT, NULL),
	INITIAL("seed", seed, UINT, NULL),
	INITIAL("data", data, BYTES, NULL),
	{ 0 },
};

static const struct vtpu_op op_parameter = {
	.name = "parameter",
	.output = { "value" },
	.flags = OP_VARIABLE,
	.attr_bytes = sizeof(struct parameter_attrs),
	.attrs = parameter_rows,
	.infer = infer_parameter,
	.lower = lower_parameter,
};
OP_REGISTER(op_parameter);

static struct vtpu_tensor *variable(struct vtpu_graph *g, const char *name,
				    struct parameter_attrs *attrs,
				    const struct vtpu_initial *initial)
{
	if (initial)
		attrs->initial = *initial;
	return source(g, &op_parameter, named(name), attrs);
}

struct vtpu_tensor *vtpu_parameter(struct vtpu_graph *g, const char *name, enum vtpu_dtype type,
				   struct vtpu_shape shape, const struct vtpu_initial *initial)
{
	return variable(g, name,
			&(struct parameter_attrs){ .source = { type, shape }, .trainable = true },
			initial);
}

struct vtpu_tensor *vtpu_state(struct vtpu_graph *g, const char *name, enum vtpu_dtype type,
			       struct vtpu_shape shape, const struct vtpu_initial *initial)
{
	return variable(g, name, &(struct parameter_attrs){ .source = { type, shape } }, initial);
}

size_t vtpu_graph_parameters(const struct vtpu_graph *g, struct vtpu_tensor **list, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; g && i < g->nodes; i++) {
		const struct parameter_attrs *a = g->node[i]->attrs;

		if (g->node[i]->op != &op_parameter || !a->trainable)
			continue;
		if (count < room)
			list[count] = g->node[i]->output;
		count++;
	}
	return count;
}

const struct parameter_attrs *source_parameter(const struct vtpu_tensor *x)
{
	return x && x->node->op == &op_parameter ? x->node->attrs : NULL;
}

/* ---- Outputs and assignments ---------------------------------------------------------------- */

static bool infer_output(struct vtpu_node *node)
{
	(void)node;
	return true;
}

static const struct vtpu_op op_output = {
	.name = "output",
	.input = { "tensor" },
	.flags = OP_EFFECT,
	.infer = infer_output,
	.lower = lower_output,
};
OP_REGISTER(op_output);

void vtpu_output(struct vtpu_graph *g, struct vtpu_tensor *tensor, const char *name)
{
	const struct graph_scope *outer;

	if (name || !tensor || !graph_usable(g)) {
		graph_add(g, &op_output, name, NULL, &tensor, 1);
		return;
	}
	outer = graph_enter(g, tensor->node->name);
	graph_add(g, &op_output, NULL, NULL, &tensor, 1);
	g->scope = outer;
}

static bool infer_assign(struct vtpu_node *node)
{
	struct vtpu_node *variable_node = node->input[0]->node;

	if (!(variable_node->op->flags & OP_VARIABLE))
		return node_invalid(node,
				    "%s is the result of %s and cannot be assigned; make it with "
				    "vtpu_parameter() or vtpu_state()",
				    node_show(node, 0), variable_node->op->name);
	if (variable_node->update)
		return node_fail(node, VTPU_ERROR_EXISTS,
				 "%s is assigned by '%s' already; assign it once for each step",
				 node_show(node, 0), variable_node->update->name);
	if (!node_same_type(node) || !node_same_shape(node, 1, 0))
		return false;
	variable_node->update = node;
	return true;
}

static const struct vtpu_op op_assign = {
	.name = "assign",
	.input = { "parameter", "value" },
	.flags = OP_EFFECT,
	.infer = infer_assign,
	.lower = lower_assign,
};
OP_REGISTER(op_assign);

void vtpu_assign(struct vtpu_graph *g, struct vtpu_tensor *parameter, struct vtpu_tensor *value)
{
	const struct graph_scope *outer;

	if (!parameter || !graph_usable(g)) {
		OP_CALL(g, &op_assign, NULL, parameter, value);
		return;
	}
	outer = graph_enter(g, parameter->node->name);
	OP_CALL(g, &op_assign, NULL, parameter, value);
	g->scope = outer;
}
