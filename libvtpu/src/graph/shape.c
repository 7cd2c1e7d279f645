// SPDX-License-Identifier: MIT
/*
 * shape.c - arithmetic of shapes.
 */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

uint64_t shape_elements(const struct vtpu_shape *shape)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < shape->rank; i++)
		n *= (uint64_t)shape->dim[i];
	return n;
}

bool shape_equal(const struct vtpu_shape *a, const struct vtpu_shape *b)
{
	return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0])) == 0;
}

bool shape_broadcast(const struct vtpu_shape *a, const struct vtpu_shape *b, struct vtpu_shape *out)
{
	struct vtpu_shape y = { .rank = a->rank > b->rank ? a->rank : b->rank };

	/* From the last dimension on; one that is missing is as good as 1. */
	for (uint32_t i = 1; i <= y.rank; i++) {
		int64_t m = i <= a->rank ? a->dim[a->rank - i] : 1;
		int64_t n = i <= b->rank ? b->dim[b->rank - i] : 1;

		if (m != n && m != 1 && n != 1)
			return false;
		y.dim[y.rank - i] = m == 1 ? n : m;
	}
	*out = y;
	return true;
}

const char *shape_text(struct vtpu_graph *g, const struct vtpu_shape *shape)
{
	char text[VTPU_MAX_RANK * 24 + 3] = "[", *end = text + 1;
	uint32_t rank = shape->rank > VTPU_MAX_RANK ? VTPU_MAX_RANK : shape->rank;
	const char *copy;

	for (uint32_t i = 0; i < rank; i++)
		end += snprintf(end, 24, "%s%lld", i ? "," : "", (long long)shape->dim[i]);
	*end++ = ']';
	copy = arena_copy(&g->arena, text, (size_t)(end - text) + 1);
	return copy ? copy : "[?]";
}
