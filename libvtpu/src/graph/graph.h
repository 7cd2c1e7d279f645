/* SPDX-License-Identifier: MIT */
/*
 * graph.h - graphs, nodes and tensors as libvtpu's own code sees them.
 *
 * For the graph core, operations, and compiler passes. What an operation is made
 * of is in graph/op.h; the core knows none by name.
 */
#ifndef VTPU_SRC_GRAPH_GRAPH_H
#define VTPU_SRC_GRAPH_GRAPH_H

#include <vtpu/graph.h>

#include "core/arena.h"

#define GRAPH_MAX_NAME	   200
#define GRAPH_MAX_DIM	   ((int64_t)1 << 31)
#define GRAPH_MAX_ELEMENTS ((uint64_t)1 << 44)

struct vtpu_op;

/** struct vtpu_tensor - a result of a node */
struct vtpu_tensor {
	struct vtpu_node *node;
	const char *name;
	struct vtpu_shape shape;
	enum vtpu_dtype type; /* never DEFAULT */
	uint32_t id;	      /* 0.. over all tensors of the graph */
	uint32_t index;	      /* which result of the node */
};

/** struct vtpu_node - an operation in a graph */
struct vtpu_node {
	struct vtpu_graph *graph;
	const struct vtpu_op *op;
	const char *name;
	void *attrs;		    /* of op->attr_bytes, defaults filled in; or NULL */
	struct vtpu_tensor **input; /* made by nodes of smaller id */
	struct vtpu_tensor *output;
	uint32_t id; /* place in graph->node */
	uint32_t inputs, outputs;
	struct vtpu_node *update; /* of a variable: what writes it, or NULL */
};

struct graph_name;

/** struct graph_names - hash table of names to nodes; zero is an empty one */
struct graph_names {
	struct graph_name *place;
	size_t count, room;
};

/** struct graph_scope - a name that goes before others; the outermost is NULL */
struct graph_scope {
	const struct graph_scope *up;
	const char *path;
};

/** struct vtpu_graph - nodes in order of the calls, which is an order of computation */
struct vtpu_graph {
	struct arena arena;
	struct vtpu_node **node;
	size_t nodes, room;
	uint32_t tensors;
	struct graph_names names;
	const struct graph_scope *scope;
	enum vtpu_status status; /* first error */
	char sentence[2048];	 /* and what it says */
};

/** graph_fail() - keep the first error of a graph; false always */
bool graph_fail(struct vtpu_graph *g, enum vtpu_status status, const char *fmt, ...)
	VTPU_PRINTF(3, 4);

/** graph_nomem() - out of host memory; false always */
bool graph_nomem(struct vtpu_graph *g);

/** graph_usable() - may a builder call go on? Takes NULL */
bool graph_usable(const struct vtpu_graph *g);

/**
 * graph_enter() - go on within @path, which is not checked, from the outermost scope
 *
 * The caller sets g->scope back to what is returned.
 */
const struct graph_scope *graph_enter(struct vtpu_graph *g, const char *path);

/** graph_within() - as graph_enter(), with "@name" in the present scope */
const struct graph_scope *graph_within(struct vtpu_graph *g, const char *name);

/* ---- Names (names.c) ------------------------------------------------------------ */

/** names_full() - @base in the present scope; checks the user's @base. NULL after an error */
const char *names_full(struct vtpu_graph *g, const char *base);

/** names_unique() - @base in the present scope, with a number behind it if it is taken; NULL without memory */
const char *names_unique(struct vtpu_graph *g, const char *base);

/** names_add() - give @name to @node (NULL: reserve it only). Return: false, without an error, if it is taken or without memory */
bool names_add(struct vtpu_graph *g, const char *name, struct vtpu_node *node);

/** names_find() - the node of that name, or NULL */
struct vtpu_node *names_find(const struct vtpu_graph *g, const char *name, size_t len);

/** names_taken() - is there such a name? */
bool names_taken(const struct vtpu_graph *g, const char *name);

/** names_outputs() - name the results of @node after it. Return: false without memory */
bool names_outputs(struct vtpu_node *node);

/* ---- Shapes (shape.c) ------------------------------------------------------------- */

/** shape_elements() - product of the dimensions of a shape that was checked */
uint64_t shape_elements(const struct vtpu_shape *shape);

/** shape_equal() - same rank, same dimensions */
bool shape_equal(const struct vtpu_shape *a, const struct vtpu_shape *b);

/** shape_broadcast() - @out is what @a and @b broadcast to; false if they do not */
bool shape_broadcast(const struct vtpu_shape *a, const struct vtpu_shape *b,
		     struct vtpu_shape *out);

/** shape_text() - "[2,3]"; lives as long as the graph */
const char *shape_text(struct vtpu_graph *g, const struct vtpu_shape *shape);

#endif /* VTPU_SRC_GRAPH_GRAPH_H */
