/* SPDX-License-Identifier: MIT */
/*
 * sim.h - when each instruction acts.
 */
#ifndef VTPU_SIM_H
#define VTPU_SIM_H

#include "image.h"

/**
 * struct vtpu_sim - the run of one core, which is the run of every core
 *
 * An instruction of the text has a number: @first of its unit plus its
 * position in the queue. Its place is the rank of its completion on a core, by
 * (cycle, unit, number).
 */
struct vtpu_sim {
	uint32_t n;
	uint32_t first[VTPU_UNITS + 1];
	/** @order: [n] number of the instruction at each place */
	uint32_t *order;
	/** @place: [n] place of each instruction */
	uint32_t *place;
	/** @done: [n] cycle of the completion at each place */
	uint64_t *done;
	/** @cycles: last completion */
	uint64_t cycles;
	uint64_t mxu_cycles, macs, hbm_bytes;
};

/** vtpu_sim_unit() - unit of instruction @number */
static inline uint32_t vtpu_sim_unit(const struct vtpu_sim *sim, uint32_t number)
{
	uint32_t unit = 0;

	while (number >= sim->first[unit + 1])
		unit++;
	return unit;
}

/** vtpu_sim_prefetch() - have the instruction a few places after @place ready: queues are walked side by side */
static inline void vtpu_sim_prefetch(const struct vtpu_sim *sim,
				     const struct vtpu_image_parts *parts, uint32_t place)
{
	if (place + 6 < sim->n) {
		uint32_t number = sim->order[place + 6], unit = vtpu_sim_unit(sim, number);
		const struct vtpu_insn *insn = &parts->text[unit][number - sim->first[unit]];

		__builtin_prefetch(insn);
		__builtin_prefetch((const char *)insn + 64);
	}
}

/**
 * vtpu_sim_run() - simulate
 * @parts: a checked image with checked instructions
 * @sim: filled in; vtpu_sim_free() it whatever the result
 *
 * Return: OK, DEADLOCK and SEM_OVERFLOW (with records), CANCELLED, NO_MEMORY.
 */
enum vtpu_hw_status vtpu_sim_run(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				 struct vtpu_sim *sim);

void vtpu_sim_free(struct vtpu_sim *sim);

#endif /* VTPU_SIM_H */
