/* SPDX-License-Identifier: MIT */
/*
 * hazard.h - what must wait for what, and what is not ordered although it should be.
 */
#ifndef VTPU_HAZARD_H
#define VTPU_HAZARD_H

#include "clock.h"

/** struct vtpu_edge - @to must not start before @from has ended */
struct vtpu_edge {
	uint32_t from, to;
};

/** struct vtpu_graph - edges between nodes; the last @joins of these are joins */
struct vtpu_graph {
	struct vtpu_edge *edge;
	size_t edges, room;
	uint32_t joins;
};

/** struct vtpu_hazards - what must wait for what */
struct vtpu_hazards {
	/**
	 * @own: the graph of one core, which is that of every core
	 *
	 * For memory that cores do not share: a core's own SMEM and VMEM, and its
	 * part of each HBM base that may be written. Nodes are places, then joins from sim.n up.
	 */
	struct vtpu_graph own;
	/**
	 * @far: besides, of all cores, for VMEM that sends reach
	 *
	 * Nodes are core * sim.n + place, then joins from width * sim.n up.
	 */
	struct vtpu_graph far;
	/** @vmem_bytes: highest VMEM byte used, plus 1 */
	uint64_t vmem_bytes;
	/** @reads_cold_vmem: some read may see VMEM that no instruction wrote */
	bool reads_cold_vmem;
};

/**
 * vtpu_hazard_find() - derive the graph and report races
 *
 * Return: OK (races do not matter here), NO_MEMORY or CANCELLED;
 * vtpu_hazard_free() it whatever the result.
 */
enum vtpu_hw_status vtpu_hazard_find(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				     const struct vtpu_sim *sim, const struct vtpu_clock *clock,
				     struct vtpu_hazards *hazards);

void vtpu_hazard_free(struct vtpu_hazards *hazards);

#endif /* VTPU_HAZARD_H */
