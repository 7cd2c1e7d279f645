// SPDX-License-Identifier: MIT
/*
 * hazard.c - the graph of what must wait for what.
 *
 * Instructions are taken in the order in which they act. Each memory is cut
 * into segments that list the accesses a later one may have to wait for; whether
 * two of them really meet is decided on their boxes. A write without holes
 * replaces what it covers. So that a hostile program cannot make lists long,
 * segments many or edges more than a few for each access, an access that meets
 * too much first has all of it folded into two joins, one for writes and one for
 * reads: later accesses then wait for a little more than they must.
 */
#include <stdlib.h>

#include "hazard_impl.h"

/* An access with more predecessors, or that meets more segments or longer lists, has them folded. */
#define MOST_PREDS    8
#define MOST_SEGMENTS 16
#define MOST_LISTED   16
/* Segments of all memories together */
#define ALL_SEGMENTS (1u << 17)

#define RACE_STEPS	    (1u << 20)
#define RACE_STEPS_PER_INSN 16

#define POLL 256

/* ---- Growing ------------------------------------------------------------------- */

static bool add_edge(struct vtpu_finder *f, uint32_t from, uint32_t to)
{
	struct vtpu_hazards *out = f->out;

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

static bool add_found(struct vtpu_finder *f, uint32_t access)
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

/* A join without members. Return: its number, or UINT32_MAX without memory. */
static uint32_t new_join(struct vtpu_finder *f)
{
	uint32_t node = f->sim->n + f->out->joins;

	if (f->out->joins == f->join_room) {
		uint32_t room = f->join_room ? 2 * f->join_room : 64;
		struct vtpu_join *grown = realloc(f->join, room * sizeof(*grown));

		if (!grown)
			return UINT32_MAX;
		f->join = grown;
		f->join_room = room;
	}
	if (node == f->mark_room) {
		uint32_t room = f->mark_room + f->mark_room / 2 + 64;
		struct vtpu_mark *grown = realloc(f->mark, room * sizeof(*grown));

		if (!grown)
			return UINT32_MAX;
		memset(grown + f->mark_room, 0, (room - f->mark_room) * sizeof(*grown));
		f->mark = grown;
		f->mark_room = room;
	}
	memset(&f->join[f->out->joins], 0, sizeof(*f->join));
	f->join[f->out->joins].first = f->out->edges;
	return f->out->joins++;
}

/* ---- Folding -------------------------------------------------------------------- */

static bool add_member(struct vtpu_finder *f, uint32_t join, const struct vtpu_access *access)
{
	struct vtpu_join *j = &f->join[join];
	const uint32_t n = f->sim->n;

	if (f->mark[access->node].member == f->serial)
		return true;
	f->mark[access->node].member = f->serial;
	if (!add_edge(f, access->node, n + join))
		return false;
	j->members++;
	if (access->join) {
		const struct vtpu_join *below = &f->join[access->node - n];

		for (uint32_t unit = 0; unit < VTPU_UNITS; unit++)
			if (below->most[unit] > j->most[unit])
				j->most[unit] = below->most[unit];
	} else {
		uint32_t number = f->sim->order[access->node], unit = vtpu_sim_unit(f->sim, number);
		uint32_t index = number - f->sim->first[unit];

		if (index >= j->most[unit])
			j->most[unit] = index + 1;
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
	access = vtpu_access_new(&f->lists, range, f->sim->n + join);
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
			if (a->node == f->place)
				f->own[f->nown++] = f->lists.cell[i].access;
			else if (!add_found(f, f->lists.cell[i].access))
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

/* Fold all that the segments of [@start, @end) list; both are segments' edges. */
static bool fold(struct vtpu_finder *f, struct vtpu_memory *m, int64_t start, int64_t end,
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

/* ---- Looking --------------------------------------------------------------------- */

/** struct view - what an access meets */
struct view {
	struct vtpu_cursor at; /* the first segment */
	int64_t start, end;    /* of the segments */
	uint32_t segments;
	bool full;	/* all of them */
	bool long_list; /* one is as long as a list may be */
	bool written;	/* one earlier write surely covers the whole access */
};

static bool look_at_list(struct vtpu_finder *f, const struct vtpu_box *box, uint32_t list,
			 bool may_warm, struct view *view)
{
	for (; list; list = f->lists.cell[list].next) {
		struct vtpu_access *a = &f->lists.access[f->lists.cell[list].access];

		if (a->seen == f->serial)
			continue;
		a->seen = f->serial;
		a->verdict = a->join ? VTPU_OVERLAP_UNDECIDED :
				       (uint8_t)vtpu_box_overlap(&a->box, box);
		if (a->verdict == VTPU_OVERLAP_NO)
			continue;
		if (may_warm && !a->join && !a->predicated && !view->written)
			view->written = vtpu_box_contains(&a->box, box);
		if (a->node != f->place && !add_found(f, f->lists.cell[list].access))
			return false;
	}
	return true;
}

static bool look(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *box,
		 struct view *view)
{
	struct vtpu_cursor c = vtpu_memory_find(m, box->start);
	const struct vtpu_segment *s = vtpu_memory_at(m, c);
	bool more;

	*view = (struct view){ .at = c, .start = s->start, .full = true };
	f->nfound = 0;
	f->serial++;
	do {
		view->segments++;
		view->full = view->full && s->full;
		view->long_list = view->long_list ||
				  (box->write ? s->nwriters : s->nreaders) >= MOST_LISTED;
		if (!look_at_list(f, box, s->writers, !s->full, view) ||
		    (box->write && !look_at_list(f, box, s->readers, false, view)))
			return false;
		more = vtpu_memory_next(m, &c);
		if (more)
			s = vtpu_memory_at(m, c);
	} while (more && s->start < box->end);
	view->end = more ? s->start : INT64_MAX;
	return true;
}

/* ---- Noting ------------------------------------------------------------------------- */

static bool note_read(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *box,
		      const struct view *view)
{
	uint32_t access = vtpu_access_new(&f->lists, box, f->place);
	struct vtpu_cursor c = view->at;

	if (!access)
		return false;
	do {
		struct vtpu_segment *s = vtpu_memory_at(m, c);

		if (s->start >= box->end)
			break;
		if (!vtpu_list_add(&f->lists, &s->readers, access))
			return false;
		s->nreaders++;
	} while (vtpu_memory_next(m, &c));
	return true;
}

/* What a write with holes surely overwrites is not needed any more. */
static void drop_covered(struct vtpu_finder *f, uint32_t *link, uint16_t *n,
			 const struct vtpu_box *box)
{
	while (*link) {
		const struct vtpu_access *a = &f->lists.access[f->lists.cell[*link].access];

		if (!a->join && vtpu_box_contains(box, &a->box)) {
			vtpu_list_remove(&f->lists, link);
			--*n;
		} else {
			link = &f->lists.cell[*link].next;
		}
	}
}

static bool replace_segment(struct vtpu_finder *f, struct vtpu_segment *s, uint32_t access,
			    bool full)
{
	vtpu_list_clear(&f->lists, &s->writers);
	vtpu_list_clear(&f->lists, &s->readers);
	s->nwriters = 1;
	s->nreaders = 0;
	s->full = full;
	return vtpu_list_add(&f->lists, &s->writers, access);
}

static bool note_write(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *box,
		       const struct view *view)
{
	const bool predicated = f->insn->flags & VTPU_INSN_PRED;
	uint32_t access = vtpu_access_new(&f->lists, box, f->place);
	struct vtpu_cursor c = view->at;

	if (!access)
		return false;
	f->lists.access[access].predicated = predicated;
	if (view->start != box->start || view->end != box->end) {
		if (!vtpu_memory_cut(m, &f->lists, box->start) ||
		    !vtpu_memory_cut(m, &f->lists, box->end))
			return false;
		c = vtpu_memory_find(m, box->start);
	}
	if (!box->ndim) {
		if (view->segments > 1)
			vtpu_memory_join(m, &f->lists, box->start, box->end);
		return replace_segment(f, vtpu_memory_at(m, c), access, view->full || !predicated);
	}
	do {
		struct vtpu_segment *s = vtpu_memory_at(m, c);

		if (s->start >= box->end)
			break;
		drop_covered(f, &s->writers, &s->nwriters, box);
		drop_covered(f, &s->readers, &s->nreaders, box);
		if (!vtpu_list_add(&f->lists, &s->writers, access))
			return false;
		s->nwriters++;
	} while (vtpu_memory_next(m, &c));
	return true;
}

/* Does anybody see VMEM that this program did not write? Once one may, the question is settled. */
static void note_warmth(struct vtpu_finder *f, const struct vtpu_box *box, const struct view *view)
{
	if (f->out->reads_cold_vmem || view->full || view->written)
		return;
	if (!box->write)
		f->out->reads_cold_vmem = !vtpu_written_all(&f->written, box);
	else if (!(f->insn->flags & VTPU_INSN_PRED))
		vtpu_written_add(&f->written, box);
}

/* ---- Accesses ------------------------------------------------------------------------- */

/* Edges from all that was found, and whether their order is sure. */
static bool add_preds(struct vtpu_finder *f, const struct vtpu_box *box)
{
	for (uint32_t i = 0; i < f->nfound; i++) {
		const struct vtpu_access *a = &f->lists.access[f->found[i]];

		if (f->mark[a->node].pred == f->place + 1)
			continue;
		f->mark[a->node].pred = f->place + 1;
		if (!add_edge(f, a->node, f->place) || !vtpu_race_check(f, a, box))
			return false;
	}
	return true;
}

static bool access_memory(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *box)
{
	struct view view;
	bool whole;

	if (f->lists.segments > ALL_SEGMENTS && !fold(f, m, 0, INT64_MAX, box))
		return false;
	if (!look(f, m, box, &view))
		return false;
	/* A write that replaces all of what it meets pays for its edges with what it removes. */
	whole = box->write && !box->ndim && view.start == box->start && view.end == box->end;
	if (!whole && (view.segments > MOST_SEGMENTS || f->nfound > MOST_PREDS || view.long_list)) {
		struct view before = view;

		if (!fold(f, m, view.start, view.end, box) || !look(f, m, box, &view))
			return false;
		view.written = before.written;
	}
	if (!add_preds(f, box))
		return false;
	if (box->space == VTPU_SPACE_VMEM)
		note_warmth(f, box, &view);
	return box->write ? note_write(f, m, box, &view) : note_read(f, m, box, &view);
}

/* The memory of a box, set up when first used; NULL with *@ok when nothing ever writes there. */
static struct vtpu_memory *memory_of(struct vtpu_finder *f, const struct vtpu_box *box, bool *ok)
{
	struct vtpu_memory *m = &f->vmem;

	*ok = true;
	if (box->space == VTPU_SPACE_HBM) {
		if (box->base == VTPU_BASE_CONST || !f->tracked[box->base])
			return NULL;
		m = &f->hbm[box->base];
	} else if (box->space == VTPU_SPACE_SMEM) {
		if (box->end <= 4 * VTPU_MAX_SCALARS)
			return NULL;
		m = &f->smem;
	}
	if (!m->leaf)
		*ok = vtpu_memory_init(m, &f->lists);
	return *ok ? m : NULL;
}

static bool visit(struct vtpu_finder *f, uint32_t place)
{
	uint32_t number = f->sim->order[place];
	struct vtpu_boxes boxes;
	bool ok;

	vtpu_sim_prefetch(f->sim, f->parts, place);
	f->place = place;
	f->unit = vtpu_sim_unit(f->sim, number);
	f->index = number - f->sim->first[f->unit];
	f->insn = &f->parts->text[f->unit][f->index];
	vtpu_insn_boxes(f->insn, &boxes);
	for (unsigned int i = 0; i < boxes.n; i++) {
		const struct vtpu_box *box = &boxes.box[i];
		struct vtpu_memory *m = memory_of(f, box, &ok);

		if (!ok || (m && !access_memory(f, m, box)))
			return false;
		if (box->space == VTPU_SPACE_VMEM && (uint64_t)box->end > f->out->vmem_bytes)
			f->out->vmem_bytes = (uint64_t)box->end;
	}
	return true;
}

/* ---- All -------------------------------------------------------------------------------- */

static void find_written_bases(struct vtpu_finder *f)
{
	for (uint32_t i = 0; i < f->parts->count[VTPU_UNIT_DMA]; i++) {
		uint64_t dst = f->parts->text[VTPU_UNIT_DMA][i].payload.dma.dst;

		if (VTPU_ADDR_SPACE(dst) == VTPU_SPACE_HBM)
			f->tracked[VTPU_ADDR_BASE(dst)] = true;
	}
}

static void free_finder(struct vtpu_finder *f)
{
	vtpu_lists_free(&f->lists);
	vtpu_memory_free(&f->vmem);
	vtpu_memory_free(&f->smem);
	for (uint32_t i = 0; i < VTPU_MAX_BASES; i++)
		vtpu_memory_free(&f->hbm[i]);
	vtpu_written_free(&f->written);
	free(f->join);
	free(f->mark);
	free(f->found);
	free(f->stack);
	free(f);
}

enum vtpu_hw_status vtpu_hazard_find(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				     const struct vtpu_sim *sim, const struct vtpu_clock *clock,
				     struct vtpu_hazards *hazards)
{
	struct vtpu_finder *f = calloc(1, sizeof(*f));
	enum vtpu_hw_status st = VTPU_ST_NO_MEMORY;

	memset(hazards, 0, sizeof(*hazards));
	if (!f)
		return st;
	f->load = load;
	f->parts = parts;
	f->sim = sim;
	f->clock = clock;
	f->out = hazards;
	f->steps = RACE_STEPS + RACE_STEPS_PER_INSN * (uint64_t)sim->n;
	vtpu_lists_init(&f->lists);
	find_written_bases(f);
	f->mark_room = sim->n;
	f->mark = calloc((size_t)sim->n + 1, sizeof(*f->mark));
	if (f->mark && vtpu_written_init(&f->written, load->req->geometry->vmem_bytes, sim->n)) {
		st = VTPU_ST_OK;
		for (uint32_t place = 0; place < sim->n && !st; place++) {
			if (place % POLL == 0 && vtpu_load_cancelled(load))
				st = VTPU_ST_CANCELLED;
			else if (!visit(f, place))
				st = VTPU_ST_NO_MEMORY;
		}
	}
	free_finder(f);
	return st;
}

void vtpu_hazard_free(struct vtpu_hazards *hazards)
{
	free(hazards->edge);
	memset(hazards, 0, sizeof(*hazards));
}
