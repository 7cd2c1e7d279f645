// SPDX-License-Identifier: MIT
/*
 * optimiser.c - steps of gradient descent: SGD with momentum, and Adam.
 *
 * The operations are pure: values before the step in, values after it out. The
 * calls make the states and assign the results.
 */
#include "graph/op.h"

/* The first @count inputs are alike, the parameter first; after them a rate. */
static bool check_update(struct vtpu_node *node, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!node_type(node, i, VTPU_DTYPE_F32) || !node_same_shape(node, i, 0))
			return false;
	}
	for (uint32_t i = 0; i < node->outputs; i++)
		node_set(node, i, VTPU_DTYPE_F32, node_in_shape(node, 0));
	return node_type(node, count, VTPU_DTYPE_F32) &&
	       node_rank(node, count, 0, "a single value, as of vtpu_scalar()");
}

static bool in_range(struct vtpu_node *node, const char *what, float value, bool one)
{
	return (value >= 0 && (value < 1 || one)) ||
	       node_invalid(node, "%s is %g, and must be 0 or more%s", what, (double)value,
			    one ? "" : " and less than 1");
}

/* The scope of what belongs to a parameter. The graph is usable; the caller sets g->scope back. */
static const struct graph_scope *scope_of(struct vtpu_graph *g, const struct vtpu_tensor *parameter)
{
	return parameter ? graph_enter(g, parameter->name) : g->scope;
}

/* A state of the parameter's shape. */
static struct vtpu_tensor *state_of(struct vtpu_graph *g, const struct vtpu_tensor *parameter,
				    const char *name)
{
	return parameter ? vtpu_state(g, name, parameter->type, parameter->shape, NULL) : NULL;
}

/* The end of a step: the parameter takes @value, which is what the call returns. */
static struct vtpu_tensor *updated(struct vtpu_graph *g, const struct graph_scope *outer,
				   struct vtpu_tensor *parameter, struct vtpu_tensor *value)
{
	vtpu_assign(g, parameter, value);
	g->scope = outer;
	return g->status ? NULL : value;
}

/* ---- SGD ---------------------------------------------------------------------------- */

static bool check_sgd(struct vtpu_node *node)
{
	const struct vtpu_sgd_attrs *a = node->attrs;

	if (a->nesterov && a->momentum == 0)
		return node_invalid(node, "nesterov needs a momentum; set it to 0.9, say");
	return in_range(node, "momentum", a->momentum, false) &&
	       in_range(node, "weight_decay", a->weight_decay, true);
}

static bool infer_sgd(struct vtpu_node *node)
{
	return check_sgd(node) && check_update(node, 2);
}

static bool infer_sgd_momentum(struct vtpu_node *node)
{
	return check_sgd(node) && check_update(node, 3);
}

static const struct op_attr sgd_rows[] = {
	OP_ATTR(vtpu_sgd_attrs, momentum, FLOAT, 1, 0),
	OP_ATTR(vtpu_sgd_attrs, weight_decay, FLOAT, 1, 0),
	OP_ATTR(vtpu_sgd_attrs, nesterov, BOOL, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_sgd = {
	.name = "sgd",
	.input = { "parameter", "gradient", "rate" },
	.output = { "value" },
	.attr_bytes = sizeof(struct vtpu_sgd_attrs),
	.attrs = sgd_rows,
	.infer = infer_sgd,
	.lower = lower_sgd,
};
OP_REGISTER(op_sgd);

static const struct vtpu_op op_sgd_momentum = {
	.name = "sgd_momentum",
	.input = { "parameter", "gradient", "velocity", "rate" },
	.output = { "value", "velocity" },
	.attr_bytes = sizeof(struct vtpu_sgd_attrs),
	.attrs = sgd_rows,
	.infer = infer_sgd_momentum,
	.lower = lower_sgd,
};
OP_REGISTER(op_sgd_momentum);

struct vtpu_tensor *vtpu_sgd(struct vtpu_graph *g, struct vtpu_tensor *parameter,
			     struct vtpu_tensor *gradient, struct vtpu_tensor *rate,
			     const struct vtpu_sgd_attrs *attrs)
{
	const struct graph_scope *outer;
	struct vtpu_tensor *value, *velocity;

	if (!graph_usable(g))
		return NULL;
	outer = scope_of(g, parameter);
	if (attrs && attrs->momentum != 0) {
		velocity = state_of(g, parameter, "velocity");
		value = OP_CALL(g, &op_sgd_momentum, attrs, parameter, gradient, velocity, rate);
		if (value)
			vtpu_assign(g, velocity, &value[1]);
	} else {
		value = OP_CALL(g, &op_sgd, attrs, parameter, gradient, rate);
	}
	return updated(g, outer, parameter, value);
}

/* ---- Adam ----------------------------------------------------------------------------- */

static bool infer_adam(struct vtpu_node *node)
{
	struct vtpu_adam_attrs *a = node->attrs;

	if (a->beta1 == 0)
		a->beta1 = 0.9f;
	if (a->beta2 == 0)
		a->beta2 = 0.999f;
	if (a->epsilon == 0)
		a->epsilon = 1e-8f;
	return in_range(node, "beta1", a->beta1, false) &&
	       in_range(node, "beta2", a->beta2, false) &&
	       in_range(node, "epsilon", a->epsilon, true) &&
	       in_range(node, "weight_decay", a->weight_decay, true) && check_update(node, 4) &&
	       node_type(node, 5, VTPU_DTYPE_S32) &&
	       node_rank(node, 5, 0, "a single value, as of vtpu_scalar()");
}

static const struct op_attr adam_rows[] = {
	OP_ATTR(vtpu_adam_attrs, beta1, FLOAT, 1, 0),
	OP_ATTR(vtpu_adam_attrs, beta2, FLOAT, 1, 0),
	OP_ATTR(vtpu_adam_attrs, epsilon, FLOAT, 1, 0),
	OP_ATTR(vtpu_adam_attrs, weight_decay, FLOAT, 1, 0),
	OP_ATTR(vtpu_adam_attrs, decoupled, BOOL, 1, 0),
	{ 0 },
};

static const struct vtpu_op op_adam = {
	.name = "adam",
	.input = { "parameter", "gradient", "m", "v", "rate", "step" },
	.output = { "value", "m", "v" },
	.attr_bytes = sizeof(struct vtpu_adam_attrs),
	.attrs = adam_rows,
	.infer = infer_adam,
	.lower = lower_adam,
};
OP_REGISTER(op_adam);

struct vtpu_tensor *vtpu_adam(struct vtpu_graph *g, struct vtpu_tensor *parameter,
			      struct vtpu_tensor *gradient, struct vtpu_tensor *rate,
			      struct vtpu_tensor *step, const struct vtpu_adam_attrs *attrs)
{
	const struct graph_scope *outer;
	struct vtpu_tensor *value, *m, *v;

	if (!graph_usable(g))
		return NULL;
	outer = scope_of(g, parameter);
	m = state_of(g, parameter, "adam_m");
	v = state_of(g, parameter, "adam_v");
	value = OP_CALL(g, &op_adam, attrs, parameter, gradient, m, v, rate, step);
	if (value) {
		vtpu_assign(g, m, &value[1]);
		vtpu_assign(g, v, &value[2]);
	}
	return updated(g, outer, parameter, value);
}
