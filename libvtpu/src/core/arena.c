// SPDX-License-Identifier: MIT
/*
 * arena.c - memory that is given back all at once.
 *
 * Chunks double in size up to a limit; what is larger than the rest of a chunk
 * gets a new one, so at most half of the memory is left unused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

#define ALIGN	 sizeof(max_align_t)
#define FIRST	 2048
#define LARGEST	 (256u << 10)
#define ROUND(n) (((n) + ALIGN - 1) / ALIGN * ALIGN)

struct arena_chunk {
	_Alignas(max_align_t) struct arena_chunk *next;
	size_t size, used; /* bytes behind this header */
};

static struct arena_chunk *new_chunk(struct arena *arena, size_t bytes)
{
	size_t size = arena->chunk ? 2 * arena->chunk->size : FIRST;
	struct arena_chunk *chunk;

	if (size > LARGEST)
		size = LARGEST;
	if (size < bytes)
		size = bytes;
	chunk = calloc(1, sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	struct arena_chunk *chunk = arena->chunk;
	void *p;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = ROUND(bytes);
	if (!chunk || chunk->size - chunk->used < bytes)
		chunk = new_chunk(arena, bytes);
	if (!chunk)
		return NULL;
	p = (char *)(chunk + 1) + chunk->used;
	chunk->used += bytes;
	return p;
}

void *arena_array(struct arena *arena, size_t count, size_t bytes)
{
	size_t all;

	return __builtin_mul_overflow(count, bytes, &all) ? NULL : arena_alloc(arena, all);
}

void *arena_copy(struct arena *arena, const void *src, size_t bytes)
{
	void *p = arena_alloc(arena, bytes);

	if (p && bytes)
		memcpy(p, src, bytes);
	return p;
}

char *arena_vprintf(struct arena *arena, const char *fmt, va_list ap)
{
	va_list again;
	char *text = NULL;
	int length;

	va_copy(again, ap);
	length = vsnprintf(NULL, 0, fmt, ap);
	if (length >= 0)
		text = arena_alloc(arena, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, fmt, again);
	va_end(again);
	return text;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(arena, fmt, ap);
	va_end(ap);
	return text;
}

void arena_free(struct arena *arena)
{
	while (arena->chunk) {
		struct arena_chunk *next = arena->chunk->next;

		free(arena->chunk);
		arena->chunk = next;
	}
}
