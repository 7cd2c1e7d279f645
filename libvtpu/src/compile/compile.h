/* SPDX-License-Identifier: MIT */
/*
 * compile.h - executables and variables as the files of this folder see them.
 */
#ifndef VTPU_SRC_COMPILE_COMPILE_H
#define VTPU_SRC_COMPILE_COMPILE_H

#include "compile/emit.h"

/** enum binding_kind - what a base register is bound to */
enum binding_kind {
	BIND_PARAMS,
	BIND_STATES,
	BIND_MOMENTS, /* at offset */
	BIND_TEMP,
	BIND_FEED,   /* index */
	BIND_RESULT, /* index */
};

/** struct binding - of a base register */
struct binding {
	uint32_t kind; /* enum binding_kind */
	uint32_t index;
	uint64_t offset;
};

/** struct io - an input, scalar or result of an executable */
struct io {
	const char *name;
	struct vtpu_io_info info;
};

/** struct op_row - work of an operation */
struct op_row {
	struct vtpu_op_cost cost;
	uint32_t order;
};

/** struct vtpu_executable - a program and how to run it */
struct vtpu_executable {
	struct arena arena;
	struct vtpu_variables *variables;
	struct vtpu_image *image;
	struct vtpu_program *program;
	struct vtpu_buffer *temp;
	uint64_t temp_bytes; /* of all cores */
	struct io *io[3];    /* by enum vtpu_io_kind */
	size_t ios[3];
	struct plan_scalar *scalar;
	uint32_t scalars;
	struct binding *binding;
	uint32_t bindings;
	struct op_row *op;
	size_t ops;
	struct vtpu_executable_info info;
	const char *note;    /* of the cache */
	const char *explain; /* what the passes decided */
	/* for vtpu_execute() */
	struct vtpu_binding *bound;
	uint32_t *word;
	bool *given;
};

/** struct vtpu_variables - arenas in HBM */
struct vtpu_variables {
	struct vtpu_device *device;
	struct layout *layout;
	struct vtpu_buffer *buffer[ARENAS]; /* NULL: nothing there */
};

/** compile_build() - run all passes (build.c) */
enum vtpu_status compile_build(struct plan *p, struct vtpu_executable *x);

/** plan_text() - the steps, as text */
char *plan_text(const struct plan *p);

/** plan_dump() - write the steps after a pass into the folder for dumps, if there is one */
void plan_dump(const struct plan *p, const char *pass);

/** struct cache_key - what a program depends on */
struct cache_key {
	char *text; /* all of it */
	uint64_t hash[2];
};

/** cache_key() - of a compilation; false without memory. free() the text */
bool cache_key(struct cache_key *key, const struct vtpu_graph *graph, const struct layout *layout,
	       const struct vtpu_hw_geometry *geometry, const struct vtpu_compile_options *options);

/** cache_find() - fill in an executable from memory or disk. Return: false if it is not there; the note says why */
bool cache_find(const struct cache_key *key, const char *dir, struct vtpu_executable *x);

/** cache_put() - keep an executable, in memory and, with @dir, on disk */
void cache_put(const struct cache_key *key, const char *dir, const struct vtpu_executable *x);

#endif /* VTPU_SRC_COMPILE_COMPILE_H */
