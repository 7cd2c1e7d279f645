// SPDX-License-Identifier: MIT
/*
 * written.c - a bitmap of VMEM, walked run by run.
 *
 * Only asked where segments cannot tell, so it need not be fast; but a hostile
 * program must not make it slow either: all walks together have a budget.
 */
#include <stdlib.h>
#include <string.h>

#include "written.h"

#define STEPS	       (1u << 22)
#define STEPS_PER_INSN 64

bool vtpu_written_init(struct vtpu_written *w, uint64_t bytes, uint64_t instructions)
{
	w->bits = calloc(1, bytes / 8 + 1);
	w->steps = STEPS + STEPS_PER_INSN * instructions;
	return w->bits;
}

void vtpu_written_free(struct vtpu_written *w)
{
	free(w->bits);
	w->bits = NULL;
}

static void set(uint8_t *bits, uint64_t start, uint64_t end)
{
	for (; start < end && start % 8; start++)
		bits[start / 8] |= 1u << start % 8;
	memset(bits + start / 8, 0xff, (end - start) / 8);
	for (start += (end - start) / 8 * 8; start < end; start++)
		bits[start / 8] |= 1u << start % 8;
}

static bool all_set(const uint8_t *bits, uint64_t start, uint64_t end)
{
	uint64_t word;

	while (start < end) {
		if (start % 8 == 0 && end - start >= 64) {
			memcpy(&word, bits + start / 8, 8);
			if (word != UINT64_MAX)
				return false;
			start += 64;
		} else if (!(bits[start / 8] >> start % 8 & 1)) {
			return false;
		} else {
			start++;
		}
	}
	return true;
}

/* Steps that a walk over a box takes; UINT64_MAX for absurd ones. */
static uint64_t price(const struct vtpu_box *box)
{
	uint64_t runs = 1;

	for (unsigned int d = 0; d < box->ndim; d++)
		if (__builtin_mul_overflow(runs, box->count[d], &runs))
			return UINT64_MAX;
	if (__builtin_mul_overflow(runs, 1 + box->run / 512, &runs))
		return UINT64_MAX;
	return runs;
}

static bool walk(struct vtpu_written *w, const struct vtpu_box *box, bool mark)
{
	uint32_t k[VTPU_BOX_DIMS] = { 0 };
	uint64_t at = (uint64_t)box->start, steps = price(box);
	unsigned int d;

	if (steps > w->steps) {
		w->steps = 0;
		return false;
	}
	w->steps -= steps;
	for (;;) {
		if (mark)
			set(w->bits, at, at + box->run);
		else if (!all_set(w->bits, at, at + box->run))
			return false;
		for (d = 0; d < box->ndim; d++) {
			at += box->stride[d];
			if (++k[d] < box->count[d])
				break;
			at -= (uint64_t)box->count[d] * box->stride[d];
			k[d] = 0;
		}
		if (d == box->ndim)
			return true;
	}
}

void vtpu_written_add(struct vtpu_written *w, const struct vtpu_box *box)
{
	walk(w, box, true);
}

bool vtpu_written_all(struct vtpu_written *w, const struct vtpu_box *box)
{
	return walk(w, box, false);
}
