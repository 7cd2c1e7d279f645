// SPDX-License-Identifier: MIT
/*
 * range.c - a first-fit allocator of address ranges.
 *
 * Holes are in a list sorted by address; neighbours are merged at once. Each
 * allocation puts one spare hole aside, so that giving it back needs no memory.
 */
#include <stdlib.h>

#include "core/range.h"

struct vtpu_range_hole {
	struct vtpu_range_hole *next;
	uint64_t start, bytes;
};

/* The list's head is a hole of no bytes; spares hang behind a second one of these. */
struct head {
	struct vtpu_range_hole holes;
	struct vtpu_range_hole *spare;
};

static struct head *head_of(const struct vtpu_range *range)
{
	return (struct head *)range->hole;
}

bool vtpu_range_init(struct vtpu_range *range, uint64_t start, uint64_t bytes)
{
	struct head *head = calloc(1, sizeof(*head));
	struct vtpu_range_hole *hole = calloc(1, sizeof(*hole));

	if (!head || !hole) {
		free(head);
		free(hole);
		return false;
	}
	hole->start = start;
	hole->bytes = bytes;
	head->holes.next = hole;
	range->hole = &head->holes;
	range->used = 0;
	return true;
}

static void free_list(struct vtpu_range_hole *hole)
{
	while (hole) {
		struct vtpu_range_hole *next = hole->next;

		free(hole);
		hole = next;
	}
}

void vtpu_range_fini(struct vtpu_range *range)
{
	struct head *head = head_of(range);

	if (!head)
		return;
	free_list(head->holes.next);
	free_list(head->spare);
	free(head);
	range->hole = NULL;
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

enum vtpu_range_result vtpu_range_alloc(struct vtpu_range *range, uint64_t bytes, uint64_t align,
					uint64_t *start)
{
	struct head *head = head_of(range);
	struct vtpu_range_hole *spare[2] = { calloc(1, sizeof(**spare)),
					     calloc(1, sizeof(**spare)) };
	struct vtpu_range_hole *before, *hole;
	uint64_t at = 0, skipped = 0;

	if (!spare[0] || !spare[1]) {
		free(spare[0]);
		free(spare[1]);
		return VTPU_RANGE_NOMEM;
	}
	for (before = &head->holes; (hole = before->next); before = hole) {
		at = align_up(hole->start, align);
		skipped = at - hole->start;
		if (at >= hole->start && skipped < hole->bytes && bytes <= hole->bytes - skipped)
			break;
	}
	if (!hole) {
		free(spare[0]);
		free(spare[1]);
		return VTPU_RANGE_FULL;
	}
	if (bytes == hole->bytes) {
		before->next = hole->next;
		free(hole);
		free(spare[1]);
	} else if (!skipped) {
		hole->start += bytes;
		hole->bytes -= bytes;
		free(spare[1]);
	} else if (skipped + bytes == hole->bytes) {
		hole->bytes = skipped;
		free(spare[1]);
	} else {
		spare[1]->start = at + bytes;
		spare[1]->bytes = hole->bytes - skipped - bytes;
		spare[1]->next = hole->next;
		hole->bytes = skipped;
		hole->next = spare[1];
	}
	spare[0]->next = head->spare;
	head->spare = spare[0];
	range->used += bytes;
	*start = at;
	return VTPU_RANGE_OK;
}

void vtpu_range_free(struct vtpu_range *range, uint64_t start, uint64_t bytes)
{
	struct head *head = head_of(range);
	struct vtpu_range_hole *before = &head->holes, *hole, *next;

	range->used -= bytes;
	while (before->next && before->next->start < start)
		before = before->next;
	next = before->next;
	if (before->bytes && before->start + before->bytes == start) {
		before->bytes += bytes;
		hole = before;
	} else {
		hole = head->spare;
		head->spare = hole->next;
		hole->start = start;
		hole->bytes = bytes;
		hole->next = next;
		before->next = hole;
	}
	if (next && hole->start + hole->bytes == next->start) {
		hole->bytes += next->bytes;
		hole->next = next->next;
		next->next = head->spare;
		head->spare = next;
	}
}

uint64_t vtpu_range_largest(const struct vtpu_range *range, uint64_t align)
{
	const struct vtpu_range_hole *hole;
	uint64_t largest = 0;

	for (hole = head_of(range)->holes.next; hole; hole = hole->next) {
		uint64_t skipped = align_up(hole->start, align) - hole->start;

		if (skipped < hole->bytes && hole->bytes - skipped > largest)
			largest = hole->bytes - skipped;
	}
	return largest;
}
