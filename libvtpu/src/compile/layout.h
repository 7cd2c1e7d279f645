/* SPDX-License-Identifier: MIT */
/*
 * layout.h - where variables are in HBM.
 *
 * Parameters of one optimiser lie in buckets: ranges that are divided equally over the cores, each of
 * which adds up the gradients of its share and updates it. Moments have the same
 * place within their bucket as their parameter, and exist once: core c owns share c.
 */
#ifndef VTPU_SRC_COMPILE_LAYOUT_H
#define VTPU_SRC_COMPILE_LAYOUT_H

#include <vtpu/compile.h>

#include "core/arena.h"

#define LAYOUT_MOMENTS 2
#define LAYOUT_NONE    UINT32_MAX

/** enum layout_arena - which buffer */
enum layout_arena {
	ARENA_PARAMS,  /* a replica for each core */
	ARENA_STATES,  /* likewise */
	ARENA_MOMENTS, /* one, in shares */
	ARENAS,
};

/** struct layout_variable - a variable's place */
struct layout_variable {
	const char *name;
	const struct vtpu_tensor
		*tensor; /* of the graph that made the layout; not to be followed later */
	enum vtpu_dtype type;
	struct vtpu_shape shape;
	uint64_t bytes;
	bool trainable;
	enum layout_arena arena;
	uint64_t offset; /* in a replica, or in the moments */
	uint32_t bucket; /* of a parameter with an optimiser; else LAYOUT_NONE */
};

/** struct layout_bucket - parameters that are updated together */
struct layout_bucket {
	uint64_t offset; /* of ARENA_PARAMS */
	uint64_t bytes;	 /* a multiple of cores times 64 */
	uint32_t moments;
	uint64_t moment[LAYOUT_MOMENTS]; /* offsets of ARENA_MOMENTS */
	const struct vtpu_node *update;	 /* of one of its parameters; not to be followed later */
};

/** struct layout - all variables */
struct layout {
	struct arena arena;
	uint32_t cores;
	struct layout_variable *variable;
	size_t variables;
	struct layout_bucket *bucket;
	size_t buckets;
	uint64_t bytes[ARENAS]; /* of a replica; ARENA_MOMENTS: in all */
};

/** layout_of() - place the variables of a graph */
enum vtpu_status layout_of(const struct vtpu_graph *graph, uint32_t cores, struct layout **layout);

/** layout_free() - NULL is fine */
void layout_free(struct layout *layout);

/** layout_find() - index of a variable, or LAYOUT_NONE */
uint32_t layout_find(const struct layout *layout, const char *name);

/** layout_update() - the optimiser's node that updates a parameter as a bucket can, or NULL */
const struct vtpu_node *layout_update(const struct vtpu_node *parameter);

#endif /* VTPU_SRC_COMPILE_LAYOUT_H */
