// SPDX-License-Identifier: MIT
/*
 * layout.c - where variables are in HBM: parameters by optimiser, in buckets.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/layout.h"
#include "graph/op.h"
#include "graph/ops/source.h"

#define LINE 64
#define BUCKETS \
	4 /* of one optimiser at most: late layers, whose gradients are ready first, half of the rest, ... */

static uint64_t round_to(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* ---- Which optimiser? --------------------------------------------------------- */

/* Input of an optimiser that is its moment @i, or UINT32_MAX. */
static uint32_t moment_input(const struct vtpu_node *update, uint32_t i)
{
	if (!strcmp(update->op->name, "adam"))
		return i < 2 ? 2 + i : UINT32_MAX;
	if (!strcmp(update->op->name, "sgd_momentum"))
		return i < 1 ? 2 : UINT32_MAX;
	return UINT32_MAX;
}

static bool is_optimiser(const struct vtpu_node *node)
{
	return !strcmp(node->op->name, "adam") || !strcmp(node->op->name, "sgd_momentum") ||
	       !strcmp(node->op->name, "sgd");
}

static uint32_t uses(const struct vtpu_tensor *t)
{
	const struct vtpu_graph *g = t->node->graph;
	uint32_t n = 0;

	for (size_t i = 0; i < g->nodes; i++) {
		for (uint32_t k = 0; k < g->node[i]->inputs; k++)
			n += g->node[i]->input[k] == t;
	}
	return n;
}

/* Is the moment the optimiser's alone: read by it, and assigned its result? */
static bool owns_moment(const struct vtpu_node *update, uint32_t i)
{
	const struct vtpu_tensor *m = update->input[moment_input(update, i)];

	return m->node->op->flags & OP_VARIABLE && m->node->update &&
	       m->node->update->input[1] == &update->output[1 + i] && uses(m) == 2;
}

const struct vtpu_node *layout_update(const struct vtpu_node *parameter)
{
	const struct vtpu_tensor *value;
	const struct vtpu_node *node;

	if (!parameter->update)
		return NULL;
	value = parameter->update->input[1];
	node = value->node;
	if (!is_optimiser(node) || value->index || node->input[0] != parameter->output)
		return NULL;
	for (uint32_t i = 0; moment_input(node, i) != UINT32_MAX; i++) {
		if (!owns_moment(node, i))
			return NULL;
	}
	return node;
}

/* Can both be one instruction? Same formula, same constants, same rate and step. */
static bool alike(const struct vtpu_node *a, const struct vtpu_node *b)
{
	uint32_t first = a->op->name[0] == 'a' ? 4 : a->inputs - 1;

	if (a->op != b->op || memcmp(a->attrs, b->attrs, a->op->attr_bytes))
		return false;
	for (uint32_t i = first; i < a->inputs; i++) {
		if (a->input[i] != b->input[i])
			return false;
	}
	return true;
}

/* ---- Places ----------------------------------------------------------------------- */

static bool list(struct layout *l, const struct vtpu_graph *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->nodes; i++)
		n += !!(g->node[i]->op->flags & OP_VARIABLE);
	l->variable = arena_array(&l->arena, n + 1, sizeof(*l->variable));
	l->bucket = arena_array(&l->arena, n + 1, sizeof(*l->bucket));
	if (!l->variable || !l->bucket)
		return false;
	for (size_t i = 0; i < g->nodes; i++) {
		const struct vtpu_node *node = g->node[i];
		struct layout_variable *v = &l->variable[l->variables];

		if (!(node->op->flags & OP_VARIABLE))
			continue;
		*v = (struct layout_variable){
			.name = arena_printf(&l->arena, "%s", node->name),
			.tensor = node->output,
			.type = node->output->type,
			.shape = node->output->shape,
			.bytes = shape_elements(&node->output->shape) *
				 vtpu_dtype_bytes(node->output->type),
			.trainable = source_parameter(node->output)->trainable,
			.arena = ARENAS,
			.bucket = LAYOUT_NONE,
		};
		if (!v->name)
			return false;
		l->variables++;
	}
	return true;
}

static struct layout_variable *of_tensor(struct layout *l, const struct vtpu_tensor *t)
{
	for (size_t i = 0; i < l->variables; i++) {
		if (l->variable[i].tensor == t)
			return &l->variable[i];
	}
	return NULL;
}

static void put(struct layout *l, struct layout_variable *v, enum layout_arena arena)
{
	v->arena = arena;
	v->offset = l->bytes[arena];
	l->bytes[arena] += round_to(v->bytes, LINE);
}

/* One bucket of the parameters from @first up to @end that are updated as @like. */
static void put_bucket(struct layout *l, const struct vtpu_node *like, size_t first, size_t end)
{
	struct layout_bucket *b = &l->bucket[l->buckets];

	*b = (struct layout_bucket){ .offset = l->bytes[ARENA_PARAMS], .update = like };
	for (size_t i = first; i < end; i++) {
		struct layout_variable *v = &l->variable[i];
		const struct vtpu_node *update = layout_update(v->tensor->node);

		if (!update || v->arena != ARENAS || !alike(update, like))
			continue;
		put(l, v, ARENA_PARAMS);
		v->bucket = (uint32_t)l->buckets;
	}
	b->bytes = round_to(l->bytes[ARENA_PARAMS] - b->offset, (uint64_t)LINE * l->cores);
	l->bytes[ARENA_PARAMS] = b->offset + b->bytes;
	for (uint32_t m = 0; moment_input(like, m) != UINT32_MAX; m++) {
		b->moment[b->moments++] = l->bytes[ARENA_MOMENTS];
		for (size_t i = first; i < end; i++) {
			struct layout_variable *v = &l->variable[i], *moment;

			if (v->bucket != l->buckets)
				continue;
			moment = of_tensor(l, layout_update(v->tensor->node)
						      ->input[moment_input(like, m)]);
			moment->arena = ARENA_MOMENTS;
			moment->offset = b->moment[m] + v->offset - b->offset;
		}
		l->bytes[ARENA_MOMENTS] += b->bytes;
	}
	l->buckets++;
}

/* Bytes of the parameters from @first up to @end that are updated as @like. */
static uint64_t bytes_alike(const struct layout *l, const struct vtpu_node *like, size_t first,
			    size_t end)
{
	uint64_t bytes = 0;

	for (size_t i = first; i < end; i++) {
		const struct vtpu_node *update = layout_update(l->variable[i].tensor->node);

		if (update && l->variable[i].arena == ARENAS && alike(update, like))
			bytes += l->variable[i].bytes;
	}
	return bytes;
}

/* All parameters that are updated as the one at @first: the last half of the bytes, half of what is left, and so on. */
static void put_optimiser(struct layout *l, size_t first)
{
	const struct vtpu_node *like = layout_update(l->variable[first].tensor->node);
	size_t cut[BUCKETS + 1] = { l->variables }, n = 1;

	while (l->cores > 1 && n < BUCKETS) {
		uint64_t all = bytes_alike(l, like, first, cut[n - 1]);
		size_t at = cut[n - 1];

		while (at > first && bytes_alike(l, like, at, cut[n - 1]) < all / 2)
			at--;
		if (at == first || bytes_alike(l, like, first, at) < LINE)
			break;
		cut[n++] = at;
	}
	cut[n] = first;
	while (n-- > 0)
		put_bucket(l, like, cut[n + 1], cut[n]);
}

static void place(struct layout *l)
{
	for (size_t i = 0; i < l->variables; i++) {
		if (l->variable[i].arena == ARENAS && layout_update(l->variable[i].tensor->node) &&
		    l->variable[i].type == VTPU_DTYPE_F32)
			put_optimiser(l, i);
	}
	for (size_t i = 0; i < l->variables; i++) {
		if (l->variable[i].arena == ARENAS)
			put(l, &l->variable[i],
			    l->variable[i].trainable ? ARENA_PARAMS : ARENA_STATES);
	}
}

enum vtpu_status layout_of(const struct vtpu_graph *graph, uint32_t cores, struct layout **layout)
{
	struct layout *l = calloc(1, sizeof(*l));

	if (!l)
		return vtpu_fail_nomem("variables");
	l->cores = cores;
	if (!list(l, graph)) {
		layout_free(l);
		return vtpu_fail_nomem("variables");
	}
	place(l);
	*layout = l;
	return VTPU_OK;
}

void layout_free(struct layout *l)
{
	if (!l)
		return;
	arena_free(&l->arena);
	free(l);
}

uint32_t layout_find(const struct layout *l, const char *name)
{
	for (size_t i = 0; l && i < l->variables; i++) {
		if (!strcmp(l->variable[i].name, name))
			return (uint32_t)i;
	}
	return LAYOUT_NONE;
}
