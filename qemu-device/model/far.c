// SPDX-License-Identifier: MIT
/*
 * far.c - hazards in VMEM that sends reach, core by core.
 *
 * A send writes another core's VMEM, and may take from, or put to, another place on each
 * core. So what meets there is not the same on all cores, nor is the order in a cycle in
 * which several cores act. That VMEM, with all that overlaps it, is kept out of the graph
 * of one core; here each core's is walked through in the order in which all cores act.
 */
#include <stdlib.h>

#include "far.h"
#include "send.h"

#define POLL	      256
#define GRANULES_POLL 65536

/* ---- Which VMEM ------------------------------------------------------------------- */

/**
 * struct ranges - by granule, how many boxes begin minus how many end: all that go on to the
 * next granule, and those whose place is not the same core's everywhere
 */
struct ranges {
	int32_t *joined, *moving;
};

static void add_range(struct ranges *r, const struct vtpu_insn *insn, const struct vtpu_box *box,
		      uint32_t width)
{
	uint64_t shift = vtpu_send_most(insn, box->write, width);
	uint64_t first = (uint64_t)box->start / VTPU_FAR_GRANULE;
	uint64_t last = ((uint64_t)box->end + shift - 1) / VTPU_FAR_GRANULE;

	r->joined[first]++;
	r->joined[last]--;
	if (insn->opcode == VTPU_OP_SEND && (box->write || shift)) {
		r->moving[first]++;
		r->moving[last + 1]--;
	}
}

static bool add_ranges(struct ranges *r, const struct vtpu_finder *like)
{
	const uint32_t width = like->parts->header->width;
	struct vtpu_boxes boxes;

	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		for (uint32_t i = 0; i < like->parts->count[unit]; i++) {
			const struct vtpu_insn *insn = &like->parts->text[unit][i];

			if (i % POLL == 0 && vtpu_load_cancelled(like->load))
				return false;
			vtpu_insn_boxes(insn, &boxes);
			for (unsigned int b = 0; b < boxes.n; b++)
				if (boxes.box[b].space == VTPU_SPACE_VMEM)
					add_range(r, insn, &boxes.box[b], width);
		}
	}
	return true;
}

/* Granules that boxes join are shared as soon as one of them is. */
static bool mark_shared(struct vtpu_far *far, const struct vtpu_finder *like,
			const struct ranges *r, uint64_t granules)
{
	uint64_t first = 0;
	int64_t joined = 0, moving = 0;
	bool shared = false;

	for (uint64_t i = 0; i < granules; i++) {
		if (i % GRANULES_POLL == 0 && vtpu_load_cancelled(like->load))
			return false;
		joined += r->joined[i];
		moving += r->moving[i];
		shared = shared || moving > 0;
		if (joined > 0)
			continue;
		memset(far->shared + first, shared, i + 1 - first);
		first = i + 1;
		shared = false;
	}
	return true;
}

enum vtpu_hw_status vtpu_far_init(struct vtpu_far *far, const struct vtpu_finder *like)
{
	const uint64_t granules = like->load->req->geometry->vmem_bytes / VTPU_FAR_GRANULE + 1;
	enum vtpu_hw_status st = VTPU_ST_OK;
	struct ranges r;

	far->shared = NULL;
	if (!like->parts->sends)
		return VTPU_ST_OK;
	far->shared = malloc(granules);
	r.joined = calloc(granules + 1, sizeof(*r.joined));
	r.moving = calloc(granules + 1, sizeof(*r.moving));
	if (!far->shared || !r.joined || !r.moving)
		st = VTPU_ST_NO_MEMORY;
	else if (!add_ranges(&r, like) || !mark_shared(far, like, &r, granules))
		st = VTPU_ST_CANCELLED;
	free(r.joined);
	free(r.moving);
	return st;
}

void vtpu_far_free(struct vtpu_far *far)
{
	free(far->shared);
	far->shared = NULL;
}

/* ---- One core's VMEM --------------------------------------------------------------- */

/** struct walk - places that have something to do with shared VMEM, in order */
struct walk {
	const struct vtpu_far *far;
	struct vtpu_finder *f;
	uint32_t width;
	uint32_t *place;
	uint32_t places;
};

static bool find_places(struct walk *w)
{
	struct vtpu_finder *f = w->f;
	struct vtpu_boxes boxes;
	bool any;

	for (uint32_t place = 0; place < f->sim->n; place++) {
		if (place % POLL == 0 && vtpu_load_cancelled(f->load))
			return false;
		vtpu_finder_at(f, 0, place);
		vtpu_insn_boxes(f->insn, &boxes);
		any = false;
		for (unsigned int i = 0; i < boxes.n && !any; i++)
			any = boxes.box[i].space == VTPU_SPACE_VMEM &&
			      vtpu_far_has(w->far, &boxes.box[i]);
		if (any)
			w->place[w->places++] = place;
	}
	return true;
}

/* What the current instruction does to the VMEM of f->home. */
static bool visit(struct walk *w)
{
	struct vtpu_finder *f = w->f;
	struct vtpu_boxes boxes;

	vtpu_insn_boxes(f->insn, &boxes);
	for (unsigned int i = 0; i < boxes.n; i++) {
		struct vtpu_box *box = &boxes.box[i];
		uint32_t owner = f->core;

		if (box->space != VTPU_SPACE_VMEM || !vtpu_far_has(w->far, box))
			continue;
		if (f->insn->opcode == VTPU_OP_SEND)
			owner = vtpu_send_place(f->insn, box, f->core, w->width);
		if (owner == f->home && !vtpu_finder_access(f, &f->vmem, box))
			return false;
	}
	return true;
}

/* Places [@first, @end) of one cycle: core by core, those of others that send here, too. */
static bool visit_cycle(struct walk *w, uint32_t first, uint32_t end)
{
	const uint32_t home = w->f->home;
	bool sends = false;

	for (uint32_t i = first; i < end && !sends; i++) {
		vtpu_finder_at(w->f, home, w->place[i]);
		sends = w->f->insn->opcode == VTPU_OP_SEND;
	}
	for (uint32_t core = sends ? 0 : home; core <= (sends ? w->width - 1 : home); core++) {
		for (uint32_t i = first; i < end; i++) {
			vtpu_finder_at(w->f, core, w->place[i]);
			if (core != home && (w->f->insn->opcode != VTPU_OP_SEND ||
					     vtpu_send_to(w->f->insn, core, w->width) != home))
				continue;
			if (!visit(w))
				return false;
		}
	}
	return true;
}

static bool begin_core(struct vtpu_finder *f, uint32_t home)
{
	f->home = home;
	vtpu_memory_free(&f->vmem);
	memset(&f->vmem, 0, sizeof(f->vmem));
	vtpu_lists_free(&f->lists);
	vtpu_lists_init(&f->lists);
	vtpu_written_free(&f->written);
	return vtpu_memory_init(&f->vmem, &f->lists) &&
	       (f->hazards->reads_cold_vmem ||
		vtpu_written_init(&f->written, f->load->req->geometry->vmem_bytes, f->sim->n));
}

static enum vtpu_hw_status walk_core(struct walk *w, uint32_t home)
{
	const uint64_t *done = w->f->sim->done;
	uint32_t end, since = 0;

	if (!begin_core(w->f, home))
		return VTPU_ST_NO_MEMORY;
	for (uint32_t i = 0; i < w->places; i = end) {
		for (end = i + 1; end < w->places && done[w->place[end]] == done[w->place[i]];)
			end++;
		since += end - i;
		if (since >= POLL) {
			since = 0;
			if (vtpu_load_cancelled(w->f->load))
				return VTPU_ST_CANCELLED;
		}
		if (!visit_cycle(w, i, end))
			return VTPU_ST_NO_MEMORY;
	}
	return vtpu_load_cancelled(w->f->load) ? VTPU_ST_CANCELLED : VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_far_find(const struct vtpu_far *far, const struct vtpu_finder *like)
{
	struct walk w = { .far = far, .width = like->parts->header->width };
	enum vtpu_hw_status st = VTPU_ST_NO_MEMORY;

	w.f = vtpu_finder_new(like, w.width);
	w.place = malloc(((size_t)like->sim->n + 1) * sizeof(*w.place));
	if (w.f && w.place) {
		st = find_places(&w) ? VTPU_ST_OK : VTPU_ST_CANCELLED;
		for (uint32_t home = 0; home < w.width && !st; home++)
			st = walk_core(&w, home);
	}
	free(w.place);
	if (w.f)
		vtpu_finder_free(w.f);
	return st;
}
