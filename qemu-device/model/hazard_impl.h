/* SPDX-License-Identifier: MIT */
/*
 * hazard_impl.h - what hazard.c (the graph) and race.c (order between two
 * accesses) share.
 */
#ifndef VTPU_HAZARD_IMPL_H
#define VTPU_HAZARD_IMPL_H

#include "hazard.h"
#include "insn.h"
#include "segment.h"
#include "written.h"

/** struct vtpu_join - a node that ends when all of its members have */
struct vtpu_join {
	size_t first; /* of its edges, from members to it */
	uint32_t members;
	uint32_t most[VTPU_UNITS]; /* by unit: highest index among the instructions below it, plus 1 */
};

/** struct vtpu_mark - last instruction, join or walk that met a node */
struct vtpu_mark {
	uint32_t pred, member, walk;
};

/** struct vtpu_finder - a graph under construction */
struct vtpu_finder {
	struct vtpu_load *load;
	const struct vtpu_image_parts *parts;
	const struct vtpu_sim *sim;
	const struct vtpu_clock *clock;
	struct vtpu_hazards *out;

	struct vtpu_lists lists;
	struct vtpu_memory vmem, smem, hbm[VTPU_MAX_BASES];
	bool tracked[VTPU_MAX_BASES]; /* bases that some instruction writes */
	struct vtpu_written written;

	struct vtpu_join *join;
	uint32_t join_room;
	struct vtpu_mark *mark; /* by node */
	uint32_t mark_room;
	uint32_t *found; /* accesses that conflict with the current one */
	uint32_t nfound, found_room;
	uint32_t own[VTPU_MAX_BOXES]; /* earlier accesses of the current instruction */
	uint32_t nown;
	uint32_t serial; /* of the current comparison, join or walk */

	/* The instruction that is looked at */
	uint32_t place, unit, index;
	const struct vtpu_insn *insn;

	/* race.c: joins still to be searched, and steps left in all */
	uint32_t *stack;
	uint32_t stack_room;
	uint64_t steps;
};

/** vtpu_race_check() - report if the current instruction is not ordered after @access, which @box conflicts with */
bool vtpu_race_check(struct vtpu_finder *f, const struct vtpu_access *access,
		     const struct vtpu_box *box);

#endif /* VTPU_HAZARD_IMPL_H */
