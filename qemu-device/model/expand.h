/* SPDX-License-Identifier: MIT */
/*
 * expand.h - a program's graph, of all cores.
 */
#ifndef VTPU_EXPAND_H
#define VTPU_EXPAND_H

#include "hazard.h"

/** vtpu_program_keep() - memory that counts as the program's; one byte at least */
void *vtpu_program_keep(struct vtpu_program *p, size_t n, size_t size);

/**
 * vtpu_expand() - number all instances in the order in which they act, and connect them
 * @p: a program with everything but its graph
 *
 * Return: false without memory, and when the load is cancelled.
 */
bool vtpu_expand(struct vtpu_load *load, struct vtpu_program *p, const struct vtpu_sim *sim,
		 const struct vtpu_hazards *h);

#endif /* VTPU_EXPAND_H */
