/* SPDX-License-Identifier: MIT */
/*
 * hazard_impl.h - what hazard.c (the graph), fold.c (joins), race.c (order between
 * two accesses) and far.c (VMEM that sends reach) share.
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
};

/** struct vtpu_mark - last instruction, join or walk that met a node */
struct vtpu_mark {
	uint32_t pred, member, walk;
};

/**
 * struct vtpu_finder - a graph under construction
 *
 * Of one core for all, or of all @cores. A node is core * n + place; joins come
 * behind.
 */
struct vtpu_finder {
	struct vtpu_load *load;
	const struct vtpu_image_parts *parts;
	const struct vtpu_sim *sim;
	const struct vtpu_clock *clock;
	struct vtpu_hazards *hazards;
	struct vtpu_graph *out;
	uint32_t cores;

	struct vtpu_lists lists;
	struct vtpu_memory vmem, smem, hbm[VTPU_MAX_BASES];
	bool tracked[VTPU_MAX_BASES]; /* bases that some instruction writes */
	struct vtpu_written written;

	struct vtpu_join *join;
	uint32_t join_room;
	/*
	 * [join_room][row] of the instructions below a join the highest index plus 1: of each
	 * unit of the core that has the memory, then of the sends of each core
	 */
	uint32_t *most;
	uint32_t row;
	struct vtpu_mark *mark; /* by node */
	uint32_t mark_room;
	uint32_t *found; /* accesses that conflict with the current one */
	uint32_t nfound, found_room;
	uint32_t own[VTPU_MAX_BOXES]; /* earlier accesses of the current instruction */
	uint32_t nown;
	uint32_t serial; /* of the current comparison, join or walk */

	/* The instruction that is looked at */
	uint32_t node, core, place, unit, index;
	const struct vtpu_insn *insn;
	uint32_t home; /* the core whose memory it is */

	/* race.c: joins still to be searched, and steps left in all */
	uint32_t *stack;
	uint32_t stack_room;
	uint64_t steps;
};

/** struct vtpu_who - an instruction on a core */
struct vtpu_who {
	uint32_t core, place, unit, index;
};

static inline uint32_t vtpu_finder_nodes(const struct vtpu_finder *f)
{
	return f->cores * f->sim->n;
}

static inline uint32_t *vtpu_finder_most(const struct vtpu_finder *f, uint32_t join)
{
	return f->most + (size_t)join * f->row;
}

/** vtpu_finder_who() - what a node that is no join stands for */
static inline struct vtpu_who vtpu_finder_who(const struct vtpu_finder *f, uint32_t node)
{
	struct vtpu_who who = { .core = f->cores > 1 ? node / f->sim->n : 0 };
	uint32_t number;

	who.place = node - who.core * f->sim->n;
	number = f->sim->order[who.place];
	who.unit = vtpu_sim_unit(f->sim, number);
	who.index = number - f->sim->first[who.unit];
	return who;
}

/** vtpu_finder_new() - an empty one for the load and the graph of @like; NULL without memory */
struct vtpu_finder *vtpu_finder_new(const struct vtpu_finder *like, uint32_t cores);
void vtpu_finder_free(struct vtpu_finder *f);

/** vtpu_finder_at() - turn to the instruction at @place of @core */
void vtpu_finder_at(struct vtpu_finder *f, uint32_t core, uint32_t place);

/** vtpu_finder_access() - the current instruction's next access. Return: false without memory */
bool vtpu_finder_access(struct vtpu_finder *f, struct vtpu_memory *m, const struct vtpu_box *box);

/* fold.c; all return false without memory */

bool vtpu_finder_edge(struct vtpu_finder *f, uint32_t from, uint32_t to);

/** vtpu_finder_found() - add to the accesses that conflict with the current one */
bool vtpu_finder_found(struct vtpu_finder *f, uint32_t access);

/** vtpu_fold() - fold all that the segments of [@start, @end) list; both are segments' edges */
bool vtpu_fold(struct vtpu_finder *f, struct vtpu_memory *m, int64_t start, int64_t end,
	       const struct vtpu_box *like);

/** vtpu_race_check() - report if the current instruction is not ordered after @access, which @box conflicts with */
bool vtpu_race_check(struct vtpu_finder *f, const struct vtpu_access *access,
		     const struct vtpu_box *box);

#endif /* VTPU_HAZARD_IMPL_H */
