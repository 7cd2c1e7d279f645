/* SPDX-License-Identifier: MIT */
/*
 * written.h - which bytes of VMEM a program has surely written so far.
 */
#ifndef VTPU_WRITTEN_H
#define VTPU_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"

/** struct vtpu_written - a bit for each byte; says "not written" when it ran out of steps */
struct vtpu_written {
	uint8_t *bits;
	uint64_t steps;
};

/** vtpu_written_init() - nothing is written. Return: false without memory */
bool vtpu_written_init(struct vtpu_written *w, uint64_t bytes, uint64_t instructions);
void vtpu_written_free(struct vtpu_written *w);

/** vtpu_written_add() - the bytes of @box are written */
void vtpu_written_add(struct vtpu_written *w, const struct vtpu_box *box);

/** vtpu_written_all() - are all bytes of @box written? False also when that would take too long to tell */
bool vtpu_written_all(struct vtpu_written *w, const struct vtpu_box *box);

#endif /* VTPU_WRITTEN_H */
