// SPDX-License-Identifier: MIT
/*
 * arbiter.c - which queue's head job gets which cores, and when.
 *
 * A head job draws a ticket. The highest class goes first, in it the oldest
 * ticket; a waiting job gains a class every VTPU_AGE_NS, so none starves. There
 * is no backfill: cores that a waiting job could use are not given to jobs
 * behind it.
 */
#include "chip.h"

static uint64_t low_bits(unsigned int n)
{
	return n < 64 ? (1ULL << n) - 1 : ~0ULL;
}

/**
 * vtpu_slice_find() - the lowest free slice for a gang
 * @mask: cores that may be used
 * @width: cores of the gang, 1..64
 * @first: its first core
 *
 * A slice is an aligned block of the width rounded up to a power of two, so
 * that distances in it are the same wherever it is. On a chip whose cores are
 * not a power of two the last block may end early, if the gang fits.
 *
 * Return: mask of the slice, 0 if there is none.
 */
uint64_t vtpu_slice_find(const struct vtpu_chip *chip, uint64_t mask, uint32_t width,
			 unsigned int *first)
{
	unsigned int size = 1, at;

	while (size < width)
		size *= 2;
	for (at = 0; at + width <= chip->geometry.cores; at += size) {
		uint64_t slice = (low_bits(size) << at) & chip->all_cores;

		if ((slice & ~mask) == 0) {
			*first = at;
			return slice;
		}
	}
	return 0;
}

/* The head job of @q wants cores from now on. */
void vtpu_arbiter_add(struct vtpu_queue *q)
{
	struct vtpu_queue **p = &q->chip->waiting;

	q->ticket = q->chip->next_ticket++;
	q->waiting_since = vtpu_now(q->chip);
	while (*p)
		p = &(*p)->next_waiting;
	q->next_waiting = NULL;
	*p = q;
	q->chip->arbitrate = true;
}

void vtpu_arbiter_remove(struct vtpu_queue *q)
{
	struct vtpu_queue **p;

	for (p = &q->chip->waiting; *p; p = &(*p)->next_waiting) {
		if (*p == q) {
			*p = q->next_waiting;
			q->chip->arbitrate = true;
			return;
		}
	}
}

static unsigned int job_class(const struct vtpu_queue *q, uint64_t now)
{
	uint64_t class = q->priority;

	if (now > q->waiting_since)
		class += (now - q->waiting_since) / VTPU_AGE_NS;
	return class < VTPU_PRIO_HIGH ? class : VTPU_PRIO_HIGH;
}

/* Does @a go before @b? */
static bool before(const struct vtpu_queue *a, const struct vtpu_queue *b, uint64_t now)
{
	unsigned int ca = job_class(a, now), cb = job_class(b, now);

	return ca != cb ? ca > cb : a->ticket < b->ticket;
}

/* The first waiting queue behind @last in the order of before(); NULL: none */
static struct vtpu_queue *next_in_order(struct vtpu_chip *chip, const struct vtpu_queue *last,
					uint64_t now)
{
	struct vtpu_queue *best = NULL, *q;

	for (q = chip->waiting; q; q = q->next_waiting) {
		if (last && (q == last || !before(last, q, now)))
			continue;
		if (!best || before(q, best, now))
			best = q;
	}
	return best;
}

/* One waiting job that may start now: its slice in @slice */
static struct vtpu_queue *choose(struct vtpu_chip *chip, uint64_t *slice, unsigned int *first)
{
	uint64_t now = chip->waiting && chip->waiting->next_waiting ? vtpu_now(chip) : 0;
	uint64_t held = chip->busy_cores;
	struct vtpu_queue *q = NULL;

	while (held != chip->all_cores && (q = next_in_order(chip, q, now))) {
		*slice = vtpu_slice_find(chip, q->core_mask & ~held, q->run.program->width, first);
		if (*slice)
			return q;
		held |= q->core_mask;
	}
	return NULL;
}

void vtpu_arbitrate(struct vtpu_chip *chip)
{
	while (chip->arbitrate) {
		unsigned int first;
		uint64_t slice;
		struct vtpu_queue *q = choose(chip, &slice, &first);

		if (!q) {
			chip->arbitrate = false;
			break;
		}
		vtpu_arbiter_remove(q);
		vtpu_job_start(q, vtpu_queue_head(q), first, slice);
		/* It may have failed at once, and the next job of the queue may want cores. */
		vtpu_queue_advance(q);
	}
}
