/* SPDX-License-Identifier: MIT */
/*
 * segment.h - a memory cut into segments, each with a list of its last accesses.
 *
 * Segments are kept sorted in leaves of a few dozen under one sorted array, so
 * that finding, cutting and joining them stays cheap from one to a hundred
 * thousand. What the accesses mean is hazard.c's.
 */
#ifndef VTPU_SEGMENT_H
#define VTPU_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"

#define VTPU_LEAF 32

/** struct vtpu_access - a read or write that later ones may have to wait for */
struct vtpu_access {
	struct vtpu_box box;
	/** @node: place of its instruction; or a join, which touches all of the segment it is in */
	uint32_t node;
	/** @refs: lists that it is in */
	uint32_t refs;
	/** @seen: serial number of the access that was compared with it last, and what came out */
	uint32_t seen;
	uint8_t verdict; /* enum vtpu_overlap */
	bool join;
	bool predicated;
};

/** struct vtpu_cell - an entry of a list; index 0 is no cell */
struct vtpu_cell {
	uint32_t access;
	uint32_t next;
};

/** struct vtpu_segment - bytes from @start to the next segment's */
struct vtpu_segment {
	int64_t start;
	uint32_t writers; /* first cell */
	uint32_t readers;
	uint16_t nwriters;
	uint16_t nreaders;
	bool full; /* every byte has surely been written */
};

struct vtpu_leaf {
	uint32_t n;
	struct vtpu_segment segment[VTPU_LEAF];
};

/** struct vtpu_lists - accesses and cells of all memories of a load */
struct vtpu_lists {
	struct vtpu_access *access;
	uint32_t accesses, access_room, access_free;
	struct vtpu_cell *cell;
	uint32_t cells, cell_room, cell_free;
	/** @segments: of all memories together */
	uint32_t segments;
};

/** struct vtpu_memory - the segments of one memory */
struct vtpu_memory {
	struct vtpu_leaf **leaf; /* NULL: not set up */
	uint32_t leaves, room;
};

/** struct vtpu_cursor - a place in a memory; good until a segment is added or removed */
struct vtpu_cursor {
	uint32_t leaf, index;
};

void vtpu_lists_init(struct vtpu_lists *lists);
void vtpu_lists_free(struct vtpu_lists *lists);

/** vtpu_memory_init() - one empty segment from byte 0 on. Return: false without memory */
bool vtpu_memory_init(struct vtpu_memory *m, struct vtpu_lists *lists);
void vtpu_memory_free(struct vtpu_memory *m);

/** vtpu_memory_find() - the segment that @at is in */
struct vtpu_cursor vtpu_memory_find(const struct vtpu_memory *m, int64_t at);

static inline struct vtpu_segment *vtpu_memory_at(const struct vtpu_memory *m, struct vtpu_cursor c)
{
	return &m->leaf[c.leaf]->segment[c.index];
}

/** vtpu_memory_next() - go to the next segment. Return: false when there is none */
static inline bool vtpu_memory_next(const struct vtpu_memory *m, struct vtpu_cursor *c)
{
	if (++c->index < m->leaf[c->leaf]->n)
		return true;
	c->index = 0;
	return ++c->leaf < m->leaves;
}

/** vtpu_memory_cut() - make a segment start at @at; both parts have the same lists. Return: false without memory */
bool vtpu_memory_cut(struct vtpu_memory *m, struct vtpu_lists *lists, int64_t at);

/**
 * vtpu_memory_join() - one segment out of all that start in [@start, @end)
 *
 * One must start at @start. The lists of all but the first are emptied.
 */
void vtpu_memory_join(struct vtpu_memory *m, struct vtpu_lists *lists, int64_t start, int64_t end);

/** vtpu_access_new() - a copy of a box, in no list yet. Return: its index, or 0 without memory */
uint32_t vtpu_access_new(struct vtpu_lists *lists, const struct vtpu_box *box, uint32_t node);

/** vtpu_list_add() - put an access at the head of a list. Return: false without memory */
bool vtpu_list_add(struct vtpu_lists *lists, uint32_t *head, uint32_t access);

/** vtpu_list_remove() - take the cell at *@link out of its list; an access in no list is gone */
void vtpu_list_remove(struct vtpu_lists *lists, uint32_t *link);

static inline void vtpu_list_clear(struct vtpu_lists *lists, uint32_t *head)
{
	while (*head)
		vtpu_list_remove(lists, head);
}

#endif /* VTPU_SEGMENT_H */
