// SPDX-License-Identifier: MIT
/*
 * segment.c - sorted segments in leaves, and the pools of their lists.
 */
#include <stdlib.h>
#include <string.h>

#include "segment.h"

/* ---- Pools -------------------------------------------------------------------- */

/* Room for one more; index 0 stays unused. */
static bool grow(void **array, uint32_t used, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 256;
	void *grown;

	if (used < *room)
		return true;
	if (more > UINT32_MAX / 4)
		return false;
	grown = realloc(*array, more * size);
	if (!grown)
		return false;
	*array = grown;
	*room = more;
	return true;
}

void vtpu_lists_init(struct vtpu_lists *lists)
{
	memset(lists, 0, sizeof(*lists));
	lists->accesses = lists->cells = 1;
}

void vtpu_lists_free(struct vtpu_lists *lists)
{
	free(lists->access);
	free(lists->cell);
	memset(lists, 0, sizeof(*lists));
}

uint32_t vtpu_access_new(struct vtpu_lists *lists, const struct vtpu_box *box, uint32_t node)
{
	uint32_t i = lists->access_free;
	struct vtpu_access *a;

	if (i) {
		lists->access_free = lists->access[i].node;
	} else {
		if (!grow((void **)&lists->access, lists->accesses, &lists->access_room,
			  sizeof(*a)))
			return 0;
		i = lists->accesses++;
	}
	a = &lists->access[i];
	a->box = *box;
	a->node = node;
	a->refs = 0;
	a->seen = 0;
	a->join = false;
	a->predicated = false;
	return i;
}

bool vtpu_list_add(struct vtpu_lists *lists, uint32_t *head, uint32_t access)
{
	uint32_t i = lists->cell_free;

	if (i) {
		lists->cell_free = lists->cell[i].next;
	} else {
		if (!grow((void **)&lists->cell, lists->cells, &lists->cell_room,
			  sizeof(*lists->cell)))
			return false;
		i = lists->cells++;
	}
	lists->cell[i] = (struct vtpu_cell){ .access = access, .next = *head };
	lists->access[access].refs++;
	*head = i;
	return true;
}

void vtpu_list_remove(struct vtpu_lists *lists, uint32_t *link)
{
	uint32_t i = *link, access = lists->cell[i].access;

	*link = lists->cell[i].next;
	lists->cell[i].next = lists->cell_free;
	lists->cell_free = i;
	if (!--lists->access[access].refs) {
		lists->access[access].node = lists->access_free;
		lists->access_free = access;
	}
}

static bool copy_list(struct vtpu_lists *lists, uint32_t from, uint32_t *to)
{
	*to = 0;
	for (; from; from = lists->cell[from].next)
		if (!vtpu_list_add(lists, to, lists->cell[from].access))
			return false;
	return true;
}

/* ---- Segments ------------------------------------------------------------------- */

bool vtpu_memory_init(struct vtpu_memory *m, struct vtpu_lists *lists)
{
	m->leaf = malloc(8 * sizeof(*m->leaf));
	m->room = 8;
	m->leaves = 0;
	if (!m->leaf)
		return false;
	m->leaf[0] = calloc(1, sizeof(**m->leaf));
	if (!m->leaf[0])
		return false;
	m->leaf[0]->n = 1;
	m->leaves = 1;
	lists->segments++;
	return true;
}

void vtpu_memory_free(struct vtpu_memory *m)
{
	for (uint32_t i = 0; i < m->leaves; i++)
		free(m->leaf[i]);
	free(m->leaf);
	memset(m, 0, sizeof(*m));
}

struct vtpu_cursor vtpu_memory_find(const struct vtpu_memory *m, int64_t at)
{
	uint32_t low = 0, high = m->leaves;
	struct vtpu_cursor c;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (m->leaf[middle]->segment[0].start <= at)
			low = middle;
		else
			high = middle;
	}
	c.leaf = low;
	low = 0;
	high = m->leaf[c.leaf]->n;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (m->leaf[c.leaf]->segment[middle].start <= at)
			low = middle;
		else
			high = middle;
	}
	c.index = low;
	return c;
}

/* Halve a full leaf; the cursor stays on its segment. */
static bool split_leaf(struct vtpu_memory *m, struct vtpu_cursor *c)
{
	struct vtpu_leaf *leaf = m->leaf[c->leaf], *right;

	if (m->leaves == m->room) {
		struct vtpu_leaf **grown = realloc(m->leaf, 2 * m->room * sizeof(*grown));

		if (!grown)
			return false;
		m->leaf = grown;
		m->room *= 2;
	}
	right = malloc(sizeof(*right));
	if (!right)
		return false;
	right->n = leaf->n - VTPU_LEAF / 2;
	leaf->n = VTPU_LEAF / 2;
	memcpy(right->segment, leaf->segment + leaf->n, right->n * sizeof(right->segment[0]));
	memmove(m->leaf + c->leaf + 2, m->leaf + c->leaf + 1,
		(m->leaves - c->leaf - 1) * sizeof(*m->leaf));
	m->leaf[c->leaf + 1] = right;
	m->leaves++;
	if (c->index >= leaf->n) {
		c->index -= leaf->n;
		c->leaf++;
	}
	return true;
}

bool vtpu_memory_cut(struct vtpu_memory *m, struct vtpu_lists *lists, int64_t at)
{
	struct vtpu_cursor c = vtpu_memory_find(m, at);
	struct vtpu_segment *left = vtpu_memory_at(m, c), right;
	struct vtpu_leaf *leaf;

	if (left->start == at)
		return true;
	right = *left;
	right.start = at;
	right.writers = right.readers = 0;
	if (m->leaf[c.leaf]->n == VTPU_LEAF && !split_leaf(m, &c))
		return false;
	left = vtpu_memory_at(m, c);
	if (!copy_list(lists, left->writers, &right.writers) ||
	    !copy_list(lists, left->readers, &right.readers))
		return false;
	leaf = m->leaf[c.leaf];
	memmove(left + 2, left + 1, (leaf->n - c.index - 1) * sizeof(*left));
	left[1] = right;
	leaf->n++;
	lists->segments++;
	return true;
}

/* Remove the leaf's segments from @index on that start before @end. Return: is there one behind them? */
static bool empty_leaf(struct vtpu_leaf *leaf, struct vtpu_lists *lists, uint32_t index,
		       int64_t end)
{
	uint32_t stop = index;

	while (stop < leaf->n && leaf->segment[stop].start < end) {
		vtpu_list_clear(lists, &leaf->segment[stop].writers);
		vtpu_list_clear(lists, &leaf->segment[stop].readers);
		stop++;
	}
	memmove(leaf->segment + index, leaf->segment + stop,
		(leaf->n - stop) * sizeof(leaf->segment[0]));
	lists->segments -= stop - index;
	leaf->n -= stop - index;
	return leaf->n > index;
}

void vtpu_memory_join(struct vtpu_memory *m, struct vtpu_lists *lists, int64_t start, int64_t end)
{
	struct vtpu_cursor c = vtpu_memory_find(m, start);
	uint32_t next = c.leaf + 1, empty = 0;
	bool more = empty_leaf(m->leaf[c.leaf], lists, c.index + 1, end);

	for (; !more && next + empty < m->leaves; empty += !more)
		more = empty_leaf(m->leaf[next + empty], lists, 0, end);
	if (!empty)
		return;
	for (uint32_t i = next; i < next + empty; i++)
		free(m->leaf[i]);
	memmove(m->leaf + next, m->leaf + next + empty,
		(m->leaves - next - empty) * sizeof(*m->leaf));
	m->leaves -= empty;
}
