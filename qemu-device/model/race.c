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
#include "send.h"

static void report(struct vtpu_finder *f, uint32_t other, const struct vtpu_box *box, int64_t start,
		   int64_t end, bool exact)
{
	const struct vtpu_who who = vtpu_finder_who(f, other);

	if (start < box->start)
		start = box->start;
	if (end > box->end)
		end = box->end;
	vtpu_load_report(f->load, &(struct vtpu_load_record){
					  .kind = exact ? VTPU_REC_RACE : VTPU_REC_POSSIBLE_RACE,
					  .core = (uint8_t)f->core,
					  .unit = (uint8_t)f->unit,
					  .index = f->index,
					  .op_id = f->insn->op_id,
					  .space = box->space,
					  .base = box->base,
					  .start = (uint64_t)start,
					  .bytes = (uint64_t)(end - start),
					  .other_core = (uint8_t)who.core,
					  .other_unit = (uint8_t)who.unit,
					  .other_index = who.index,
					  .other_op_id = f->parts->text[who.unit][who.index].op_id,
				  });
}

/* Has instruction @index of @unit on @core surely acted before the current one? */
static bool before(const struct vtpu_finder *f, uint32_t core, uint32_t unit, uint32_t index)
{
	uint32_t ahead = core >= f->core ? core - f->core : core + f->cores - f->core;

	return (!ahead && unit == f->unit) ||
	       vtpu_clock_before(f->clock, ahead, unit, index, f->place);
}

static bool ordered(const struct vtpu_finder *f, uint32_t other)
{
	const struct vtpu_who who = vtpu_finder_who(f, other);

	return before(f, who.core, who.unit, who.index);
}

static uint32_t node_of(const struct vtpu_finder *f, uint32_t core, uint32_t unit, uint32_t index)
{
	return core * f->sim->n + f->sim->place[f->sim->first[unit] + index];
}

/* The node of an instruction below @join that is not ordered, or UINT32_MAX when all are. */
static uint32_t join_culprit(const struct vtpu_finder *f, uint32_t join)
{
	const uint32_t *most = vtpu_finder_most(f, join);

	for (uint32_t i = 0; i < f->row; i++) {
		uint32_t core = i < VTPU_UNITS ? f->home : i - VTPU_UNITS;
		uint32_t unit = i < VTPU_UNITS ? i : VTPU_UNIT_ICI;

		if (most[i] && !before(f, core, unit, most[i] - 1))
			return node_of(f, core, unit, most[i] - 1);
	}
	return UINT32_MAX;
}

/* One instruction below a join, not ordered: does it really touch the same bytes? */
static void check_member(struct vtpu_finder *f, uint32_t other, const struct vtpu_box *box)
{
	const struct vtpu_who who = vtpu_finder_who(f, other);
	const struct vtpu_insn *insn = &f->parts->text[who.unit][who.index];
	struct vtpu_boxes boxes;

	vtpu_insn_boxes(insn, &boxes);
	for (unsigned int i = 0; i < boxes.n; i++) {
		struct vtpu_box *b = &boxes.box[i];
		enum vtpu_overlap overlap;

		if (b->space != box->space || b->base != box->base || !(b->write || box->write))
			continue;
		if (insn->opcode == VTPU_OP_SEND &&
		    vtpu_send_place(insn, b, who.core, f->parts->header->width) != f->home)
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
	const uint32_t n = vtpu_finder_nodes(f), serial = ++f->serial;
	uint32_t depth = 0;

	if (!push(f, &depth, top))
		return false;
	while (depth) {
		const struct vtpu_join *join = &f->join[f->stack[--depth]];

		for (size_t e = join->first; e < join->first + join->members; e++) {
			uint32_t node = f->out->edge[e].from;

			if (!f->steps) {
				report(f, join_culprit(f, top), box, box->start, box->end, false);
				return true;
			}
			f->steps--;
			if (f->mark[node].walk == serial)
				continue;
			f->mark[node].walk = serial;
			if (node >= n) {
				if (join_culprit(f, node - n) != UINT32_MAX &&
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
	const uint32_t n = vtpu_finder_nodes(f);

	if (access->join) {
		if (join_culprit(f, access->node - n) == UINT32_MAX)
			return true;
		return search(f, access->node - n, box);
	}
	if (!ordered(f, access->node))
		report(f, access->node, box, access->box.start, access->box.end,
		       access->verdict == VTPU_OVERLAP_YES);
	return true;
}
