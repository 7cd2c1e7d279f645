// SPDX-License-Identifier: MIT
/*
 * names.c - names of nodes and of their results.
 *
 * An open hash table that only grows. Each entry knows the number that was last put
 * behind it, so that the thousandth "relu" is named as fast as the first.
 */
#include <ctype.h>
#include <string.h>

#include "graph/op.h"

struct graph_name {
	const char *name; /* NULL: free place */
	size_t len;
	struct vtpu_node *node;
	uint32_t number; /* last that names_unique() put behind it */
};

static uint64_t hash_of(const char *name, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* The entry of a name, or the free place for it. */
static struct graph_name *place_of(const struct graph_names *names, const char *name, size_t len)
{
	size_t i = hash_of(name, len) & (names->room - 1);

	while (names->place[i].name &&
	       (names->place[i].len != len || memcmp(names->place[i].name, name, len) != 0))
		i = (i + 1) & (names->room - 1);
	return &names->place[i];
}

static struct graph_name *entry_of(const struct graph_names *names, const char *name, size_t len)
{
	struct graph_name *entry = names->room ? place_of(names, name, len) : NULL;

	return entry && entry->name ? entry : NULL;
}

static bool grow(struct vtpu_graph *g)
{
	struct graph_names more = { .count = g->names.count,
				    .room = g->names.room ? 2 * g->names.room : 64 };

	more.place = arena_array(&g->arena, more.room, sizeof(*more.place));
	if (!more.place)
		return false;
	for (size_t i = 0; i < g->names.room; i++) {
		const struct graph_name *old = &g->names.place[i];

		if (old->name)
			*place_of(&more, old->name, old->len) = *old;
	}
	g->names = more;
	return true;
}

bool names_add(struct vtpu_graph *g, const char *name, struct vtpu_node *node)
{
	struct graph_name *place;

	if (4 * (g->names.count + 1) > 3 * g->names.room && !grow(g))
		return false;
	place = place_of(&g->names, name, strlen(name));
	if (place->name)
		return false;
	*place = (struct graph_name){ .name = name, .len = strlen(name), .node = node };
	g->names.count++;
	return true;
}

struct vtpu_node *names_find(const struct vtpu_graph *g, const char *name, size_t len)
{
	const struct graph_name *entry = entry_of(&g->names, name, len);

	return entry ? entry->node : NULL;
}

bool names_taken(const struct vtpu_graph *g, const char *name)
{
	return entry_of(&g->names, name, strlen(name));
}

static const char *in_scope(struct vtpu_graph *g, const char *base)
{
	return g->scope ? arena_printf(&g->arena, "%s/%s", g->scope->path, base) :
			  arena_printf(&g->arena, "%s", base);
}

/* Letters, digits, _ . - and single slashes between. */
static bool is_name(const char *name)
{
	char before = '/';

	for (; *name; before = *name++) {
		if (*name == '/' ? before == '/' :
				   !isascii(*name) || (!isalnum(*name) && !strchr("_.-", *name)))
			return false;
	}
	return before != '/';
}

const char *names_full(struct vtpu_graph *g, const char *base)
{
	const char *name;

	if (!base || !*base) {
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
			   "a name is %s; give one, such as 'conv1'", base ? "empty" : "NULL");
		return NULL;
	}
	if (strnlen(base, GRAPH_MAX_NAME + 1) > GRAPH_MAX_NAME ||
	    (g->scope && strlen(g->scope->path) + 1 + strlen(base) > GRAPH_MAX_NAME)) {
		graph_fail(g, VTPU_ERROR_TOO_LARGE,
			   "the name '%.40s...' has more than %d bytes with its scopes; use a shorter one",
			   base, GRAPH_MAX_NAME);
		return NULL;
	}
	if (!is_name(base)) {
		graph_fail(g, VTPU_ERROR_INVALID_ARGUMENT,
			   "'%s' cannot be a name; use letters, digits, _ . - and slashes between",
			   base);
		return NULL;
	}
	name = in_scope(g, base);
	if (!name)
		graph_nomem(g);
	return name;
}

const char *names_unique(struct vtpu_graph *g, const char *base)
{
	const char *name = in_scope(g, base), *numbered = name;
	struct graph_name *entry = name ? entry_of(&g->names, name, strlen(name)) : NULL;

	while (numbered && names_taken(g, numbered))
		numbered = arena_printf(&g->arena, "%s_%u", name, ++entry->number);
	return numbered;
}

bool names_outputs(struct vtpu_node *node)
{
	for (uint32_t i = 0; i < node->outputs; i++) {
		node->output[i].name = i ? arena_printf(&node->graph->arena, "%s:%s", node->name,
							node->op->output[i]) :
					   node->name;
		if (!node->output[i].name)
			return false;
	}
	return true;
}
