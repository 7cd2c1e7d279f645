// SPDX-License-Identifier: MIT
/*
 * range.c - the address allocator: first fit, alignment, and nothing lost or given twice.
 */
#include <stdlib.h>
#include <string.h>

#include "core/range.h"
#include "unit/tap.h"

#define SPACE 1024

static void first_fit(void)
{
	struct vtpu_range range;
	uint64_t a, b, c, d;

	tap_ok(vtpu_range_init(&range, 4096, 64 * 4096), "init");
	vtpu_range_alloc(&range, 4096, 4096, &a);
	vtpu_range_alloc(&range, 8192, 4096, &b);
	vtpu_range_alloc(&range, 4096, 4096, &c);
	tap_ok(a == 4096 && b == 8192 && c == 16384, "lowest first");
	vtpu_range_free(&range, b, 8192);
	vtpu_range_alloc(&range, 4096, 4096, &d);
	tap_is(d, b, "a hole is used again");
	vtpu_range_alloc(&range, 8192, 8192, &d);
	tap_is(d, 24576, "aligned, past the hole that is too short");
	tap_ok(vtpu_range_alloc(&range, 65 * 4096, 4096, &d) == VTPU_RANGE_FULL,
	       "more than there is");
	tap_is(range.used, 4096 + 4096 + 4096 + 8192, "used");
	vtpu_range_fini(&range);
}

/* At random against a map of bytes */
static void random_walk(void)
{
	static uint8_t map[SPACE];
	struct {
		uint64_t start, bytes;
	} held[64];
	unsigned int n = 0, bad = 0, round, seed = 1;
	struct vtpu_range range;
	uint64_t i, used = 0;

	vtpu_range_init(&range, 0, SPACE);
	for (round = 0; round < 200000; round++) {
		seed = seed * 1664525u + 1013904223u;
		if (n < 64 && (seed >> 16) % 100 < 52) {
			uint64_t bytes = 1 + (seed >> 8) % 60, align = 1ULL << (seed >> 20) % 6,
				 start, first = SPACE;

			/* First fit by the map */
			for (i = 0; i + bytes <= SPACE && first == SPACE; i += align) {
				if (!memchr(map + i, 1, bytes))
					first = i;
			}
			if (vtpu_range_alloc(&range, bytes, align, &start) != VTPU_RANGE_OK) {
				bad += first != SPACE;
				continue;
			}
			bad += start != first;
			memset(map + start, 1, bytes);
			held[n].start = start;
			held[n++].bytes = bytes;
			used += bytes;
		} else if (n) {
			unsigned int at = (seed >> 10) % n;

			vtpu_range_free(&range, held[at].start, held[at].bytes);
			memset(map + held[at].start, 0, held[at].bytes);
			used -= held[at].bytes;
			held[at] = held[--n];
		}
		bad += range.used != used;
	}
	tap_is(bad, 0, "200,000 random steps agree with a map of bytes");
	while (n)
		n--, vtpu_range_free(&range, held[n].start, held[n].bytes);
	tap_is(vtpu_range_largest(&range, 1), SPACE, "all of it is one piece again");
	vtpu_range_fini(&range);
}

int main(void)
{
	first_fit();
	random_walk();
	return tap_done();
}
