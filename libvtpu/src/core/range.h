/* SPDX-License-Identifier: MIT */
/*
 * range.h - a first-fit allocator of address ranges.
 *
 * Hands out numbers, never memory: device addresses of buffers, and in the
 * in-process backend the bytes of HBM. No lock of its own.
 */
#ifndef VTPU_SRC_CORE_RANGE_H
#define VTPU_SRC_CORE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct vtpu_range_hole;

/** struct vtpu_range - what is free, as holes sorted by address; zero is empty */
struct vtpu_range {
	struct vtpu_range_hole *hole;
	uint64_t used;
};

/** vtpu_range_init() - make [@start, @start + @bytes) free; false without memory */
bool vtpu_range_init(struct vtpu_range *range, uint64_t start, uint64_t bytes);

/** vtpu_range_fini() - forget all */
void vtpu_range_fini(struct vtpu_range *range);

/** enum vtpu_range_result - why there is no range */
enum vtpu_range_result {
	VTPU_RANGE_OK,
	VTPU_RANGE_FULL,
	VTPU_RANGE_NOMEM, /* host memory for bookkeeping */
};

/** vtpu_range_alloc() - the lowest @bytes at a multiple of @align, a power of two */
enum vtpu_range_result vtpu_range_alloc(struct vtpu_range *range, uint64_t bytes, uint64_t align,
					uint64_t *start);

/**
 * vtpu_range_free() - give back what one allocation gave, all of it
 *
 * Cannot fail: an allocation left room for its bookkeeping.
 */
void vtpu_range_free(struct vtpu_range *range, uint64_t start, uint64_t bytes);

/** vtpu_range_largest() - the most that vtpu_range_alloc() would give at @align */
uint64_t vtpu_range_largest(const struct vtpu_range *range, uint64_t align);

#endif /* VTPU_SRC_CORE_RANGE_H */
