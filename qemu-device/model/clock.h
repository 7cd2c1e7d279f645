/* SPDX-License-Identifier: MIT */
/*
 * clock.h - what is known to have happened before an instruction acts, on
 * every chip and with every timing.
 *
 * Within a queue, instructions act in order. A signal comes before a wait
 * (sem >= v) exactly when all increments of that semaphore without it, and
 * without later ones of its own queue, sum to less than v. A barrier comes after
 * everything that any core's CTL queue knew when it got there.
 */
#ifndef VTPU_CLOCK_H
#define VTPU_CLOCK_H

#include "sim.h"

/** struct vtpu_clock - vector clocks; all cores have the same, counted from themselves */
struct vtpu_clock {
	/** @cores: 1 when no signal leaves its core, else the width */
	uint32_t cores;
	/**
	 * @known: [n][@cores][VTPU_UNITS], by place. Of the core so many further
	 * on, how many of the unit's instructions are known to have acted, the
	 * instruction itself included.
	 */
	uint32_t *known;
};

/**
 * vtpu_clock_before() - has instruction @index of @unit on the core @ahead further on surely acted
 * before that at @place?
 */
static inline bool vtpu_clock_before(const struct vtpu_clock *clock, uint32_t ahead, uint32_t unit,
				     uint32_t index, uint32_t place)
{
	return clock->known[((size_t)place * clock->cores + ahead) * VTPU_UNITS + unit] > index;
}

/**
 * vtpu_clock_make() - compute the clocks of a program that ends
 *
 * Return: OK, NO_MEMORY or CANCELLED; vtpu_clock_free() it whatever the result.
 */
enum vtpu_hw_status vtpu_clock_make(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				    const struct vtpu_sim *sim, struct vtpu_clock *clock);

void vtpu_clock_free(struct vtpu_clock *clock);

#endif /* VTPU_CLOCK_H */
