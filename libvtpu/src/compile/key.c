// SPDX-License-Identifier: MIT
/*
 * key.c - all that a program depends on, as lines of text, so that two can be told apart in words.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "graph/ops/source.h"

#define REVISION 1 /* of the compiler: another number for other programs of the same graph */

static uint64_t fnv(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

static size_t attr_bytes(const struct vtpu_attr *a)
{
	switch (a->kind) {
	case VTPU_ATTR_BOOL:
		return sizeof(bool);
	case VTPU_ATTR_SHAPE:
		return sizeof(struct vtpu_shape);
	case VTPU_ATTR_BYTES:
		return 1;
	default:
		return 4;
	}
}

static void put_shape(FILE *f, enum vtpu_dtype type, const struct vtpu_shape *shape)
{
	fprintf(f, " %s[", vtpu_dtype_name(type));
	for (uint32_t i = 0; i < shape->rank; i++)
		fprintf(f, "%s%" PRId64, i ? "," : "", shape->dim[i]);
	fputs("]", f);
}

/* How a variable starts is not part of it. */
static void put_node(FILE *f, const struct vtpu_node *node)
{
	struct vtpu_attr attr;

	fprintf(f, "operation %s: %s", node->name, node->op->name);
	for (uint32_t i = 0; i < node->inputs; i++)
		fprintf(f, " %s", node->input[i]->name);
	for (size_t i = 0; !(node->op->flags & OP_VARIABLE) && vtpu_node_attr(node, i, &attr);
	     i++) {
		if (!attr.plain)
			fprintf(f, " %s=%016" PRIx64, attr.name,
				fnv(0xcbf29ce484222325u, attr.value,
				    attr.count * attr_bytes(&attr)));
	}
	for (uint32_t i = 0; i < node->outputs; i++)
		put_shape(f, node->output[i].type, &node->output[i].shape);
	fputs("\n", f);
}

static void put_layout(FILE *f, const struct layout *l)
{
	for (size_t i = 0; i < l->variables; i++)
		fprintf(f, "variable %s: arena %d, offset %" PRIu64 ", bucket %d\n",
			l->variable[i].name, (int)l->variable[i].arena, l->variable[i].offset,
			(int)l->variable[i].bucket);
	for (int a = 0; a < ARENAS; a++)
		fprintf(f, "arena %d: %" PRIu64 " bytes\n", a, l->bytes[a]);
}

bool cache_key(struct cache_key *key, const struct vtpu_graph *graph, const struct layout *layout,
	       const struct vtpu_hw_geometry *geometry, const struct vtpu_compile_options *o)
{
	size_t bytes;
	FILE *f = open_memstream(&key->text, &bytes);

	if (!f)
		return false;
	fprintf(f, "library %s, compiler %d, instructions %d\n", vtpu_version_string(), REVISION,
		VTPU_ISA_VERSION);
	fprintf(f, "device preset %u, geometry %016" PRIx64 "\n", geometry->preset,
		fnv(0xcbf29ce484222325u, geometry, sizeof(*geometry)));
	fprintf(f, "cores %u\n", layout->cores);
	fprintf(f, "precision %d\n", (int)o->precision);
	fprintf(f, "tile %u\n", o->tile);
	fprintf(f, "switches %d %d %d\n", o->no_shrink, o->no_fuse, o->no_overlap);
	for (size_t i = 0; i < graph->nodes; i++)
		put_node(f, graph->node[i]);
	put_layout(f, layout);
	if (fclose(f)) {
		free(key->text);
		key->text = NULL;
		return false;
	}
	key->hash[0] = fnv(0xcbf29ce484222325u, key->text, bytes);
	key->hash[1] = fnv(0x9e3779b97f4a7c15u, key->text, bytes);
	return true;
}
