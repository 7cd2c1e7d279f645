// SPDX-License-Identifier: MIT
/*
 * fold.c - joins: nodes that stand for many accesses.
 *
 * So that a hostile program cannot make lists long, segments many or edges more
 * than a few for each access, all that an access meets is folded into two joins
 * where it is too much, one for writes and one for reads: later accesses then wait for
 * a little more than they must.
 */
#include <stdlib.h>

#include "hazard_impl.h"

/* ---- Growing ------------------------------------------------------------------- */

bool vtpu_finder_edge(struct vtpu_finder *f, uint32_t from, uint32_t to)
{
	struct vtpu_graph *out = f->out;

	if (out->edges == out->room) {
		size_t room = out->room + out->room / 2 + 1024;
		struct vtpu_edge *grown = realloc(out->edge, room * sizeof(*grown));

		if (!grown)
			return false;
		out->edge = grown;
		out->room = room;
	}
	out->edge[out->edges++] = (struct vtpu_edge){ from, to };
	return true;
}

bool vtpu_finder_found(struct vtpu_finder *f, uint32_t access)
{
	if (f->nfound == f->found_room) {
		uint32_t room = f->found_room ? 2 * f->found_room : 256;
		uint32_t *grown = realloc(f->found, room * sizeof(*grown));

		if (!grown)
			return false;
		f->found = grown;
		f->found_room = room;
	}
	f->found[f->nfound++] = access;
	return true;
}

static bool more_joins(struct vtpu_finder *f)
{
	uint32_t room = f->join_room ? 2 * f->join_room : 64;
	struct vtpu_join *join = realloc(f->join, room * sizeof(*join));
	uint32_t *most;

	if (!join)
		return false;
	f->join = join;
	most = realloc(f->most, (size_t)room * f->row * sizeof(*most));
	if (!most)
		return false;
	f->most = most;
	f->join_room = room;
	return true;
}

/* A join without members. Return: its number, or UINT32_MAX without memory. */
static uint32_t new_join(struct vtpu_finder *f)
{
	uint32_t node = vtpu_finder_nodes(f) + f->out->joins;

	if (f->out->joins == f->join_room && !more_joins(f))
		return UINT32_MAX;
	if (node == f->mark_room) {
		uint32_t room = f->mark_room + f->mark_room / 2 + 64;
		struct vtpu_mark *grown = realloc(f->mark, room * sizeof(*grown));

		if (!grown)
			return UINT32_MAX;
		memset(grown + f->mark_room, 0, (room - f->mark_room) * sizeof(*grown));
		f->mark = grown;
		f->mark_room = room;
	}
	f->join[f->out->joins] = (struct vtpu_join){ .first = f->out->edges };
	memset(vtpu_finder_most(f, f->out->joins), 0, f->row * sizeof(*f->most));
	return f->out->joins++;
}

/* ---- Folding -------------------------------------------------------------------- */

static bool add_member(struct vtpu_finder *f, uint32_t join, const struct vtpu_access *access)
{
	uint32_t *most = vtpu_finder_most(f, join);
	const uint32_t nodes = vtpu_finder_nodes(f);

	if (f->mark[access->node].member == f->serial)
		return true;
	f->mark[access->node].member = f->serial;
	if (!vtpu_finder_edge(f, access->node, nodes + join))
		return false;
	f->join[join].members++;
	if (access->join) {
		const uint32_t *below = vtpu_finder_most(f, access->node - nodes);

		for (uint32_t i = 0; i < f->row; i++)
			if (below[i] > most[i])
				most[i] = below[i];
	} else {
		struct vtpu_who who = vtpu_finder_who(f, access->node);
		uint32_t i = who.core == f->home ? who.unit : VTPU_UNITS + who.core;

		if (who.index >= most[i])
			most[i] = who.index + 1;
	}
	return true;
}

/* One list entry for all found accesses: the access itself when there is one, else a join. */
static bool fold_found(struct vtpu_finder *f, const struct vtpu_box *range, uint32_t *list)
{
	uint32_t join, access;

	if (!f->nfound)
		return true;
	if (f->nfound == 1)
		return vtpu_list_add(&f->lists, list, f->found[0]);
	join = new_join(f);
	if (join == UINT32_MAX)
		return false;
	f->serial++;
	for (uint32_t i = 0; i < f->nfound; i++)
		if (!add_member(f, join, &f->lists.access[f->found[i]]))
			return false;
	access = vtpu_access_new(&f->lists, range, vtpu_finder_nodes(f) + join);
	if (!access)
		return false;
	f->lists.access[access].join = true;
	return vtpu_list_add(&f->lists, list, access);
}

/*
 * Gather the accesses of one kind of list in the segments of a range, each
 * once. Those of the current instruction stay apart: it will wait for the fold.
 */
static bool gather(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *range,
		   bool writers, bool *full)
{
	struct vtpu_cursor c = vtpu_memory_find(m, range->start);

	f->nfound = f->nown = 0;
	f->serial++;
	*full = true;
	do {
		const struct vtpu_segment *s = vtpu_memory_at(m, c);

		if (s->start >= range->end)
			break;
		*full = *full && s->full;
		for (uint32_t i = writers ? s->writers : s->readers; i; i = f->lists.cell[i].next) {
			struct vtpu_access *a = &f->lists.access[f->lists.cell[i].access];

			if (a->seen == f->serial)
				continue;
			a->seen = f->serial;
			if (a->node == f->node)
				f->own[f->nown++] = f->lists.cell[i].access;
			else if (!vtpu_finder_found(f, f->lists.cell[i].access))
				return false;
		}
	} while (vtpu_memory_next(m, &c));
	return true;
}

/* The list that takes the place of all writers', or readers', in a range. */
static bool fold_lists(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *range,
		       bool writers, bool *full, uint32_t *list, uint16_t *n)
{
	*list = 0;
	if (!gather(f, m, range, writers, full) || !fold_found(f, range, list))
		return false;
	for (uint32_t i = 0; i < f->nown; i++)
		if (!vtpu_list_add(&f->lists, list, f->own[i]))
			return false;
	*n = (uint16_t)((f->nfound != 0) + f->nown);
	return true;
}

bool vtpu_fold(struct vtpu_finder *f, struct vtpu_memory *m, int64_t start, int64_t end,
	       const struct vtpu_box *like)
{
	struct vtpu_segment folded = { .start = start }, *s;
	struct vtpu_box range = *like;

	range.start = start;
	range.end = end;
	range.run = (uint64_t)(end - start);
	range.ndim = 0;
	if (!fold_lists(f, m, &range, true, &folded.full, &folded.writers, &folded.nwriters) ||
	    !fold_lists(f, m, &range, false, &folded.full, &folded.readers, &folded.nreaders))
		return false;
	vtpu_memory_join(m, &f->lists, start, end);
	s = vtpu_memory_at(m, vtpu_memory_find(m, start));
	vtpu_list_clear(&f->lists, &s->writers);
	vtpu_list_clear(&f->lists, &s->readers);
	*s = folded;
	return true;
}
