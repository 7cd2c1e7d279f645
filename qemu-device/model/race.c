// SPDX-License-Identifier: MIT
/*
 * race.c - is the order of two conflicting accesses sure, or a matter of timing?
 *
 * Each access is compared with the last accesses to its bytes. That finds some
 * pair of every racy program: where all such pairs are ordered, so are all
 * others, through them.
 */
#include <stdlib.h>

#include "hazard_impl.h"

static void report(struct vtpu_finder *f, uint32_t other, const struct vtpu_box *box, int64_t start,
		   int64_t end, bool exact)
{
	const uint32_t number = f->sim->order[other], unit = vtpu_sim_unit(f->sim, number);
	const uint32_t index = number - f->sim->first[unit];

	if (start < box->start)
		start = box->start;
	if (end > box->end)
		end = box->end;
	vtpu_load_report(f->load, &(struct vtpu_load_record){
					  .kind = exact ? VTPU_REC_RACE : VTPU_REC_POSSIBLE_RACE,
					  .unit = (uint8_t)f->unit,
					  .index = f->index,
					  .op_id = f->insn->op_id,
					  .space = box->space,
					  .base = box->base,
					  .start = (uint64_t)start,
					  .bytes = (uint64_t)(end - start),
					  .other_unit = (uint8_t)unit,
					  .other_index = index,
					  .other_op_id = f->parts->text[unit][index].op_id,
				  });
}

static bool ordered(const struct vtpu_finder *f, uint32_t other)
{
	const uint32_t number = f->sim->order[other], unit = vtpu_sim_unit(f->sim, number);

	return unit == f->unit ||
	       vtpu_clock_before(f->clock, unit, number - f->sim->first[unit], f->place);
}

/* The place of an instruction below @join that is not ordered, or UINT32_MAX when all are. */
static uint32_t join_culprit(const struct vtpu_finder *f, const struct vtpu_join *join)
{
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++)
		if (unit != f->unit && join->most[unit] &&
		    !vtpu_clock_before(f->clock, unit, join->most[unit] - 1, f->place))
			return f->sim->place[f->sim->first[unit] + join->most[unit] - 1];
	return UINT32_MAX;
}

/* One instruction below a join, not ordered: does it really touch the same bytes? */
static void check_member(struct vtpu_finder *f, uint32_t other, const struct vtpu_box *box)
{
	const uint32_t number = f->sim->order[other], unit = vtpu_sim_unit(f->sim, number);
	struct vtpu_boxes boxes;

	vtpu_insn_boxes(&f->parts->text[unit][number - f->sim->first[unit]], &boxes);
	for (unsigned int i = 0; i < boxes.n; i++) {
		const struct vtpu_box *b = &boxes.box[i];
		enum vtpu_overlap overlap;

		if (b->space != box->space || b->base != box->base || !(b->write || box->write))
			continue;
		overlap = vtpu_box_overlap(b, box);
		if (overlap == VTPU_OVERLAP_NO)
			continue;
		report(f, other, box, b->start, b->end, overlap == VTPU_OVERLAP_YES);
		return;
	}
}

static bool push(struct vtpu_finder *f, uint32_t *depth, uint32_t join)
{
	if (*depth == f->stack_room) {
		uint32_t room = f->stack_room ? 2 * f->stack_room : 64;
		uint32_t *grown = realloc(f->stack, room * sizeof(*grown));

		if (!grown)
			return false;
		f->stack = grown;
		f->stack_room = room;
	}
	f->stack[(*depth)++] = join;
	return true;
}

/* The members of a join that are not ordered before the current instruction. */
static bool search(struct vtpu_finder *f, uint32_t top, const struct vtpu_box *box)
{
	const uint32_t n = f->sim->n, serial = ++f->serial;
	uint32_t depth = 0;

	if (!push(f, &depth, top))
		return false;
	while (depth) {
		const struct vtpu_join *join = &f->join[f->stack[--depth]];

		for (size_t e = join->first; e < join->first + join->members; e++) {
			uint32_t node = f->out->edge[e].from;

			if (!f->steps) {
				report(f, join_culprit(f, &f->join[top]), box, box->start, box->end,
				       false);
				return true;
			}
			f->steps--;
			if (f->mark[node].walk == serial)
				continue;
			f->mark[node].walk = serial;
			if (node >= n) {
				if (join_culprit(f, &f->join[node - n]) != UINT32_MAX &&
				    !push(f, &depth, node - n))
					return false;
			} else if (!ordered(f, node)) {
				check_member(f, node, box);
			}
		}
	}
	return true;
}

bool vtpu_race_check(struct vtpu_finder *f, const struct vtpu_access *access,
		     const struct vtpu_box *box)
{
	const uint32_t n = f->sim->n;

	if (access->join) {
		if (join_culprit(f, &f->join[access->node - n]) == UINT32_MAX)
			return true;
		return search(f, access->node - n, box);
	}
	if (!ordered(f, access->node))
		report(f, access->node, box, access->box.start, access->box.end,
		       access->verdict == VTPU_OVERLAP_YES);
	return true;
}
