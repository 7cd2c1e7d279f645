// SPDX-License-Identifier: MIT
/*
 * hazard.c - the graph of what must wait for what.
 *
 * Instructions are taken in the order in which they act. Each memory is cut
 * into segments that list the accesses a later one may have to wait for; whether
 * two of them really meet is decided on their boxes. A write without holes
 * replaces what it covers. An access that meets too much first has all of it
 * folded (fold.c).
 *
 * One core is looked at for all, as nobody else touches its memories. VMEM that
 * sends reach is the exception: far.c looks at that on each core.
 */
#include <stdlib.h>

#include "far.h"
#include "hazard_impl.h"
#include "send.h"

/* An access with more predecessors, or that meets more segments or longer lists, has them folded. */
#define MOST_PREDS    8
#define MOST_SEGMENTS 16
#define MOST_LISTED   16
/* Segments of all memories together */
#define ALL_SEGMENTS (1u << 17)

#define RACE_STEPS	    (1u << 20)
#define RACE_STEPS_PER_INSN 16

#define POLL 256

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
		if (a->node != f->node && !vtpu_finder_found(f, f->lists.cell[list].access))
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
	uint32_t access = vtpu_access_new(&f->lists, box, f->node);
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
	uint32_t access = vtpu_access_new(&f->lists, box, f->node);
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
	if (f->hazards->reads_cold_vmem || view->full || view->written)
		return;
	if (!box->write)
		f->hazards->reads_cold_vmem = !vtpu_written_all(&f->written, box);
	else if (!(f->insn->flags & VTPU_INSN_PRED))
		vtpu_written_add(&f->written, box);
}

/* ---- Accesses ------------------------------------------------------------------------- */

/* Edges from all that was found, and whether their order is sure. */
static bool add_preds(struct vtpu_finder *f, const struct vtpu_box *box)
{
	for (uint32_t i = 0; i < f->nfound; i++) {
		const struct vtpu_access *a = &f->lists.access[f->found[i]];

		if (f->mark[a->node].pred == f->node + 1)
			continue;
		f->mark[a->node].pred = f->node + 1;
		if (!vtpu_finder_edge(f, a->node, f->node) || !vtpu_race_check(f, a, box))
			return false;
	}
	return true;
}

bool vtpu_finder_access(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *box)
{
	struct view view;
	bool whole;

	if (f->lists.segments > ALL_SEGMENTS && !vtpu_fold(f, m, 0, INT64_MAX, box))
		return false;
	if (!look(f, m, box, &view))
		return false;
	/* A write that replaces all of what it meets pays for its edges with what it removes. */
	whole = box->write && !box->ndim && view.start == box->start && view.end == box->end;
	if (!whole && (view.segments > MOST_SEGMENTS || f->nfound > MOST_PREDS || view.long_list)) {
		struct view before = view;

		if (!vtpu_fold(f, m, view.start, view.end, box) || !look(f, m, box, &view))
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

void vtpu_finder_at(struct vtpu_finder *f, uint32_t core, uint32_t place)
{
	uint32_t number = f->sim->order[place];

	f->core = core;
	f->place = place;
	f->node = core * f->sim->n + place;
	f->unit = vtpu_sim_unit(f->sim, number);
	f->index = number - f->sim->first[f->unit];
	f->insn = &f->parts->text[f->unit][f->index];
}

static bool visit(struct vtpu_finder *f, const struct vtpu_far *far, uint32_t place)
{
	struct vtpu_boxes boxes;
	bool ok;

	vtpu_sim_prefetch(f->sim, f->parts, place);
	vtpu_finder_at(f, 0, place);
	vtpu_insn_boxes(f->insn, &boxes);
	for (unsigned int i = 0; i < boxes.n; i++) {
		const struct vtpu_box *box = &boxes.box[i];
		struct vtpu_memory *m;

		if (box->space == VTPU_SPACE_VMEM) {
			uint64_t end = (uint64_t)box->end +
				       vtpu_send_most(f->insn, box->write, f->parts->header->width);

			if (end > f->hazards->vmem_bytes)
				f->hazards->vmem_bytes = end;
			if (vtpu_far_has(far, box))
				continue;
		}
		m = memory_of(f, box, &ok);
		if (!ok || (m && !vtpu_finder_access(f, m, box)))
			return false;
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

struct vtpu_finder *vtpu_finder_new(const struct vtpu_finder *like, uint32_t cores)
{
	struct vtpu_finder *f = calloc(1, sizeof(*f));
	const uint32_t nodes = cores * like->sim->n;

	if (!f)
		return NULL;
	f->load = like->load;
	f->parts = like->parts;
	f->sim = like->sim;
	f->clock = like->clock;
	f->hazards = like->hazards;
	f->out = like->out;
	f->cores = cores;
	f->row = VTPU_UNITS + (cores > 1 ? cores : 0);
	f->steps = RACE_STEPS + RACE_STEPS_PER_INSN * (uint64_t)nodes;
	vtpu_lists_init(&f->lists);
	f->mark_room = nodes;
	f->mark = calloc((size_t)nodes + 1, sizeof(*f->mark));
	if (f->mark)
		return f;
	vtpu_finder_free(f);
	return NULL;
}

void vtpu_finder_free(struct vtpu_finder *f)
{
	vtpu_lists_free(&f->lists);
	vtpu_memory_free(&f->vmem);
	vtpu_memory_free(&f->smem);
	for (uint32_t i = 0; i < VTPU_MAX_BASES; i++)
		vtpu_memory_free(&f->hbm[i]);
	vtpu_written_free(&f->written);
	free(f->join);
	free(f->most);
	free(f->mark);
	free(f->found);
	free(f->stack);
	free(f);
}

static enum vtpu_hw_status find_own(const struct vtpu_finder *like, const struct vtpu_far *far)
{
	struct vtpu_finder *f = vtpu_finder_new(like, 1);
	enum vtpu_hw_status st = VTPU_ST_OK;

	if (!f)
		return VTPU_ST_NO_MEMORY;
	find_written_bases(f);
	if (!vtpu_written_init(&f->written, f->load->req->geometry->vmem_bytes, f->sim->n))
		st = VTPU_ST_NO_MEMORY;
	for (uint32_t place = 0; place < f->sim->n && !st; place++) {
		if (place % POLL == 0 && vtpu_load_cancelled(f->load))
			st = VTPU_ST_CANCELLED;
		else if (!visit(f, far, place))
			st = VTPU_ST_NO_MEMORY;
	}
	vtpu_finder_free(f);
	return st;
}

enum vtpu_hw_status vtpu_hazard_find(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				     const struct vtpu_sim *sim, const struct vtpu_clock *clock,
				     struct vtpu_hazards *hazards)
{
	struct vtpu_finder like = { .load = load,
				    .parts = parts,
				    .sim = sim,
				    .clock = clock,
				    .hazards = hazards,
				    .out = &hazards->own };
	struct vtpu_far far;
	enum vtpu_hw_status st;

	memset(hazards, 0, sizeof(*hazards));
	st = vtpu_far_init(&far, &like);
	if (!st)
		st = find_own(&like, &far);
	like.out = &hazards->far;
	if (!st && far.shared)
		st = vtpu_far_find(&far, &like);
	vtpu_far_free(&far);
	return st;
}

void vtpu_hazard_free(struct vtpu_hazards *hazards)
{
	free(hazards->own.edge);
	free(hazards->far.edge);
	memset(hazards, 0, sizeof(*hazards));
}
