// SPDX-License-Identifier: MIT
/*
 * graph.c - graphs: life, first error, scopes, adding nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

enum vtpu_status vtpu_graph_create(struct vtpu_graph **graph)
{
	struct vtpu_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return vtpu_fail_nomem("a graph");
	*graph = g;
	return VTPU_OK;
}

void vtpu_graph_destroy(struct vtpu_graph *g)
{
	if (!g)
		return;
	arena_free(&g->arena);
	free(g);
}

/* ---- Errors ------------------------------------------------------------------- */

bool graph_fail(struct vtpu_graph *g, enum vtpu_status status, const char *fmt, ...)
{
	va_list ap;

	if (g->status)
		return false;
	va_start(ap, fmt);
	g->status = vtpu_vfail(status, fmt, ap);
	va_end(ap);
	strncpy(g->sentence, vtpu_last_error(), sizeof(g->sentence) - 1);
	return false;
}

bool graph_nomem(struct vtpu_graph *g)
{
	return graph_fail(g, VTPU_ERROR_OUT_OF_HOST_MEMORY,
			  "no host memory for a graph of more than %zu operations", g->nodes);
}

bool graph_usable(const struct vtpu_graph *g)
{
	if (!g)
		vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
			  "the graph is NULL; look at what vtpu_graph_create() returned");
	return g && !g->status;
}

enum vtpu_status vtpu_graph_status(const struct vtpu_graph *g)
{
	if (!graph_usable(g))
		return g ? vtpu_fail(g->status, "%s", g->sentence) : VTPU_ERROR_INVALID_ARGUMENT;
	return VTPU_OK;
}

/* ---- Scopes --------------------------------------------------------------------- */

static const struct graph_scope *push(struct vtpu_graph *g, const struct graph_scope *up,
				      const char *path)
{
	const struct graph_scope *before = g->scope;
	struct graph_scope *scope = path ? arena_alloc(&g->arena, sizeof(*scope)) : NULL;

	if (!scope) {
		graph_nomem(g);
		return before;
	}
	scope->up = up;
	scope->path = path;
	g->scope = scope;
	return before;
}

const struct graph_scope *graph_enter(struct vtpu_graph *g, const char *path)
{
	return push(g, NULL, path);
}

const struct graph_scope *graph_within(struct vtpu_graph *g, const char *name)
{
	if (!g->scope)
		return push(g, NULL, name);
	return push(g, g->scope, arena_printf(&g->arena, "%s/%s", g->scope->path, name));
}

void vtpu_scope_begin(struct vtpu_graph *g, const char *name)
{
	const char *path;

	if (!graph_usable(g))
		return;
	path = names_full(g, name);
	if (path)
		push(g, g->scope, path);
}

void vtpu_scope_end(struct vtpu_graph *g)
{
	if (!graph_usable(g))
		return;
	if (g->scope)
		g->scope = g->scope->up;
	else
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
			   "vtpu_scope_end() without a scope; call it once for each vtpu_scope_begin()");
}

struct vtpu_tensor *vtpu_set_name(struct vtpu_graph *g, struct vtpu_tensor *tensor,
				  const char *base)
{
	const char *name;

	if (!graph_usable(g))
		return NULL;
	if (!tensor || tensor->node->graph != g) {
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT, "vtpu_set_name('%s'): the tensor is %s",
			   base ? base : "", tensor ? "of another graph" : "NULL");
		return NULL;
	}
	name = names_full(g, base);
	if (!name)
		return NULL;
	if (strcmp(name, tensor->node->name) == 0)
		return tensor;
	if (names_taken(g, name)) {
		graph_fail(g, VTPU_ERROR_EXISTS,
			   "%s: cannot be called '%s', there is one already; choose another name",
			   tensor->node->name, name);
		return NULL;
	}
	/* The old name stays taken: dumps and sentences may have shown it. */
	if (!names_add(g, name, tensor->node)) {
		graph_nomem(g);
		return NULL;
	}
	tensor->node->name = name;
	if (!names_outputs(tensor->node)) {
		graph_nomem(g);
		return NULL;
	}
	return tensor;
}

/* ---- Nodes ------------------------------------------------------------------------ */

static uint32_t count_roles(const char *const *role, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && role[n])
		n++;
	return n;
}

static bool check_inputs(struct vtpu_node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++) {
		const struct vtpu_tensor *x = node->input[i];

		if (!x)
			return node_invalid(node,
					    "%s is NULL; give the tensor that an earlier call returned",
					    node->op->input[i]);
		if (x->node->graph != node->graph)
			return node_invalid(node,
					    "%s '%s' is of another graph; build it in this one too",
					    node->op->input[i], x->name);
	}
	return true;
}

static bool check_output(struct vtpu_node *node, struct vtpu_tensor *y)
{
	uint64_t elements = 1;

	if (!y->type)
		y->type = VTPU_DTYPE_F32;
	if (!vtpu_dtype_bytes(y->type))
		return node_invalid(node, "there is no type %d; use one of enum vtpu_dtype",
				    (int)y->type);
	if (y->shape.rank > VTPU_MAX_RANK)
		return node_invalid(node, "rank %u is over the limit of %d; merge dimensions",
				    y->shape.rank, VTPU_MAX_RANK);
	for (uint32_t i = 0; i < y->shape.rank; i++) {
		int64_t dim = y->shape.dim[i];

		if (dim < 1 || dim > GRAPH_MAX_DIM)
			return node_invalid(
				node, "dimension %u of the result %s is %lld; it must be 1 to 2^31",
				i, shape_text(node->graph, &y->shape), (long long)dim);
		if (elements > GRAPH_MAX_ELEMENTS / (uint64_t)dim)
			return node_fail(
				node, VTPU_ERROR_TOO_LARGE,
				"the result %s has more than 2^44 elements; use a smaller batch",
				shape_text(node->graph, &y->shape));
		elements *= (uint64_t)dim;
	}
	return true;
}

static bool check_outputs(struct vtpu_node *node)
{
	for (uint32_t i = 0; i < node->outputs; i++) {
		if (!check_output(node, &node->output[i]))
			return false;
	}
	return true;
}

/* From here on the node is part of the graph. */
static bool link_node(struct vtpu_node *node)
{
	struct vtpu_graph *g = node->graph;

	if (g->nodes == g->room) {
		size_t room = g->room ? 2 * g->room : 32;
		struct vtpu_node **list = arena_array(&g->arena, room, sizeof(*list));

		if (!list)
			return graph_nomem(g);
		if (g->nodes)
			memcpy(list, g->node, g->nodes * sizeof(*list));
		g->node = list;
		g->room = room;
	}
	if (!names_outputs(node) || !names_add(g, node->name, node))
		return graph_nomem(g);
	for (uint32_t i = 0; i < node->outputs; i++)
		node->output[i].id = g->tensors++;
	node->id = (uint32_t)g->nodes;
	g->node[g->nodes++] = node;
	return true;
}

/* A node with room for all it has; its name is not in the table yet. */
static struct vtpu_node *new_node(struct vtpu_graph *g, const struct vtpu_op *op, const char *name,
				  const void *attrs, struct vtpu_tensor *const *input,
				  uint32_t inputs)
{
	uint32_t outputs = count_roles(op->output, OP_MAX_OUTPUTS);
	struct vtpu_node *node = arena_alloc(&g->arena, sizeof(*node));
	bool ok = node;

	if (ok) {
		*node = (struct vtpu_node){ .graph = g, .op = op, .name = name };
		node->inputs = inputs;
		node->outputs = outputs;
		node->input = arena_copy(&g->arena, input, inputs * sizeof(*input));
		node->output = arena_array(&g->arena, outputs, sizeof(*node->output));
		ok = node->input && node->output;
	}
	if (ok && op->attr_bytes) {
		node->attrs = attrs ? arena_copy(&g->arena, attrs, op->attr_bytes) :
				      arena_alloc(&g->arena, op->attr_bytes);
		ok = node->attrs;
	}
	if (!ok) {
		graph_nomem(g);
		return NULL;
	}
	for (uint32_t i = 0; i < outputs; i++) {
		node->output[i].node = node;
		node->output[i].index = i;
	}
	return node;
}

struct vtpu_node *graph_add(struct vtpu_graph *g, const struct vtpu_op *op, const char *base,
			    const void *attrs, struct vtpu_tensor *const *input, uint32_t inputs)
{
	struct vtpu_node *node;
	const char *name;

	if (!graph_usable(g))
		return NULL;
	name = base ? names_full(g, base) : names_unique(g, op->name);
	if (!name) {
		graph_nomem(g); /* unless names_full() has said what is wrong */
		return NULL;
	}
	if (names_taken(g, name)) {
		graph_fail(g, VTPU_ERROR_EXISTS,
			   "%s: there is one of that name already; choose another, or use a scope",
			   name);
		return NULL;
	}
	node = new_node(g, op, name, attrs, input, inputs);
	if (!node || !check_inputs(node) || !op->infer(node) || !check_outputs(node) ||
	    !link_node(node))
		return NULL;
	return node;
}

struct vtpu_tensor *graph_call(struct vtpu_graph *g, const struct vtpu_op *op, const void *attrs,
			       struct vtpu_tensor *const *input, uint32_t inputs)
{
	struct vtpu_node *node = graph_add(g, op, NULL, attrs, input, inputs);

	return node ? node->output : NULL;
}
