// SPDX-License-Identifier: MIT
/*
 * gradient.c - gradients, from graph to graph.
 *
 * Reverse mode. Nodes are walked from the loss to the first; when a node is
 * reached, all uses of its results have been, so their gradients are complete. What
 * each operation does is its own rule.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

/* One call of vtpu_gradients(). Arrays are over the tensors that were there before it. */
struct walk {
	struct vtpu_graph *graph;
	struct vtpu_tensor *loss;
	bool *depends;		  /* on one of those that gradients are wanted for */
	struct vtpu_tensor **sum; /* gradient so far; NULL: none */
	/* for one node */
	struct vtpu_tensor **dx;
	bool *want;
};

static bool walk_start(struct walk *w)
{
	uint32_t inputs = 1;

	for (size_t i = 0; i <= w->loss->node->id; i++) {
		if (w->graph->node[i]->inputs > inputs)
			inputs = w->graph->node[i]->inputs;
	}
	w->depends = calloc(w->graph->tensors, sizeof(*w->depends));
	w->sum = calloc(w->graph->tensors, sizeof(struct vtpu_tensor *));
	w->dx = calloc(inputs, sizeof(struct vtpu_tensor *));
	w->want = calloc(inputs, sizeof(*w->want));
	return (w->depends && w->sum && w->dx && w->want) || graph_nomem(w->graph);
}

static void walk_end(struct walk *w)
{
	free(w->depends);
	free(w->sum);
	free(w->dx);
	free(w->want);
}

/* What depends on @wrt, through values that can change by a little: no integers. */
static void mark(struct walk *w)
{
	for (size_t id = 0; id <= w->loss->node->id; id++) {
		const struct vtpu_node *node = w->graph->node[id];
		bool any = false;

		for (uint32_t i = 0; i < node->inputs; i++)
			any |= w->depends[node->input[i]->id];
		for (uint32_t i = 0; i < node->outputs; i++)
			w->depends[node->output[i].id] |= any &&
							  dtype_is_float(node->output[i].type);
	}
}

static bool check_rule(struct walk *w, const struct vtpu_node *node, uint32_t i)
{
	const struct vtpu_tensor *x = node->input[i], *dx = w->dx[i];

	if (dx->type == x->type && shape_equal(&dx->shape, &x->shape))
		return true;
	return graph_fail(w->graph, VTPU_ERROR_INTERNAL,
			  "%s: the gradient rule of %s gives %s %s for '%s', which is %s %s",
			  node->name, node->op->name, vtpu_dtype_name(dx->type),
			  shape_text(w->graph, &dx->shape), x->name, vtpu_dtype_name(x->type),
			  shape_text(w->graph, &x->shape));
}

/* Run the node's rule and add what it gives to the gradients of its inputs. */
static bool visit(struct walk *w, const struct vtpu_node *node)
{
	struct vtpu_graph *g = w->graph;
	struct vtpu_tensor *dy[OP_MAX_OUTPUTS];
	const struct graph_scope *outer;
	const char *path;
	bool reached = false, wanted = false;

	for (uint32_t i = 0; i < node->outputs; i++) {
		dy[i] = w->sum[node->output[i].id];
		reached |= dy[i] != NULL;
	}
	for (uint32_t i = 0; i < node->inputs; i++) {
		w->want[i] = w->depends[node->input[i]->id];
		w->dx[i] = NULL;
		wanted |= w->want[i];
	}
	if (!reached || !wanted)
		return true;
	if (!node->op->gradient)
		return graph_fail(g, VTPU_ERROR_UNSUPPORTED,
				  "%s: %s has no gradient, and is between '%s' and what gradients are "
				  "wanted for; build the loss without it",
				  node->name, node->op->name, w->loss->name);
	path = arena_printf(&g->arena, "grad/%s", node->name);
	outer = graph_enter(g, path);
	node->op->gradient(&(struct gradient){ g, node, dy, w->want, w->dx });
	for (uint32_t i = 0; i < node->inputs && !g->status; i++) {
		struct vtpu_tensor **sum = &w->sum[node->input[i]->id];

		if (w->want[i] && w->dx[i] && check_rule(w, node, i))
			*sum = *sum ? vtpu_add(g, *sum, w->dx[i]) : w->dx[i];
	}
	g->scope = outer;
	return !g->status;
}

static bool check_arguments(struct vtpu_graph *g, struct vtpu_tensor *loss,
			    struct vtpu_tensor *const *wrt, size_t count)
{
	if (!loss || loss->node->graph != g)
		return graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT, "gradients: the loss is %s",
				  loss ? "of another graph" : "NULL");
	if (loss->shape.rank)
		return graph_fail(g, VTPU_ERROR_SHAPE_MISMATCH,
				  "gradients: the loss '%s' %s must be a single value; use "
				  "vtpu_reduce_mean() or vtpu_reduce_sum() before",
				  loss->name, shape_text(g, &loss->shape));
	if (!dtype_is_float(loss->type))
		return graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
				  "gradients: the loss '%s' is %s, and must be f32 or bf16",
				  loss->name, vtpu_dtype_name(loss->type));
	for (size_t i = 0; i < count; i++) {
		if (!wrt[i] || wrt[i]->node->graph != g)
			return graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
					  "gradients: tensor %zu is %s", i,
					  wrt[i] ? "of another graph" : "NULL");
		if (!dtype_is_float(wrt[i]->type))
			return graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
					  "gradients: '%s' is %s, and only f32 and bf16 have gradients",
					  wrt[i]->name, vtpu_dtype_name(wrt[i]->type));
	}
	return true;
}

static bool run(struct walk *w, struct vtpu_tensor *const *wrt, size_t count)
{
	struct vtpu_graph *g = w->graph;
	const struct graph_scope *outer;

	for (size_t i = 0; i < count; i++)
		w->depends[wrt[i]->id] = true;
	mark(w);
	outer = graph_enter(g, "grad");
	w->sum[w->loss->id] = vtpu_number(g, w->loss->type, 1);
	g->scope = outer;
	for (size_t id = w->loss->node->id + 1; id-- > 0;) {
		if (!visit(w, g->node[id]))
			return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!w->sum[wrt[i]->id])
			return graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
					  "gradients: the loss '%s' does not depend on '%s', or only through "
					  "integers and comparisons; leave it out",
					  w->loss->name, wrt[i]->name);
	}
	return !g->status;
}

enum vtpu_status vtpu_gradients(struct vtpu_graph *g, struct vtpu_tensor *loss,
				struct vtpu_tensor *const *wrt, size_t count,
				struct vtpu_tensor **gradients)
{
	struct walk w = { .graph = g, .loss = loss };

	if (graph_usable(g) && check_arguments(g, loss, wrt, count) && walk_start(&w) &&
	    run(&w, wrt, count)) {
		for (size_t i = 0; i < count; i++)
			gradients[i] = w.sum[wrt[i]->id];
	}
	walk_end(&w);
	return vtpu_graph_status(g);
}

/* ---- For rules ------------------------------------------------------------------ */

void gradient_none(struct gradient *c)
{
	(void)c; /* dx is zero already */
}

struct vtpu_tensor *gradient_unbroadcast(struct vtpu_graph *g, struct vtpu_tensor *dy,
					 const struct vtpu_shape *shape)
{
	uint32_t missing, axes = 0;

	if (!dy || shape_equal(&dy->shape, shape))
		return dy;
	missing = dy->shape.rank - shape->rank;
	for (uint32_t i = 0; i < dy->shape.rank; i++) {
		if (i < missing || (shape->dim[i - missing] == 1 && dy->shape.dim[i] != 1))
			axes |= VTPU_AXIS(i);
	}
	if (axes)
		dy = vtpu_reduce_sum(g, dy, axes, false);
	return dy && !shape_equal(&dy->shape, shape) ? vtpu_reshape(g, dy, *shape) : dy;
}

struct vtpu_tensor *gradient_affine(struct vtpu_graph *g, struct vtpu_tensor *x, float scale,
				    float shift)
{
	return vtpu_affine(g, x, scale, shift, vtpu_tensor_type(x));
}
