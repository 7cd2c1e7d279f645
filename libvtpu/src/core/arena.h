/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory that is given back all at once.
 *
 * For objects made of many small parts that live as long as the whole: graphs,
 * and what the compiler makes of them. No lock of its own.
 */
#ifndef VTPU_SRC_CORE_ARENA_H
#define VTPU_SRC_CORE_ARENA_H

#include "core/error.h"

struct arena_chunk;

/** struct arena - zero is an empty one */
struct arena {
	struct arena_chunk *chunk; /* that allocations come from; others hang behind it */
};

/** arena_alloc() - @bytes of zeros, aligned for anything; NULL without memory */
void *arena_alloc(struct arena *arena, size_t bytes);

/** arena_array() - the same for @count elements; NULL also when their size overflows */
void *arena_array(struct arena *arena, size_t count, size_t bytes);

/** arena_copy() - @bytes at @src; NULL without memory */
void *arena_copy(struct arena *arena, const void *src, size_t bytes);

/** arena_printf() - a formatted string; NULL without memory */
char *arena_printf(struct arena *arena, const char *fmt, ...) VTPU_PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap) VTPU_PRINTF(2, 0);

/** arena_free() - give all back; the arena is empty then */
void arena_free(struct arena *arena);

#endif /* VTPU_SRC_CORE_ARENA_H */
