// SPDX-License-Identifier: MIT
/*
 * clock.c - vector clocks over the queues of a program.
 *
 * The signals of each semaphore are kept as streams, one for each queue that
 * signals it. For a wait, those of a stream that surely come before it are a
 * prefix, and the last of them knows all that the others know.
 */
#include <stdlib.h>

#include "clock.h"

#define POLL 1024

/** struct stream - signals of one queue to one semaphore */
struct stream {
	uint32_t unit;
	uint32_t core;	/* the queue's core is this many before the semaphore's */
	uint32_t start; /* of its signals */
	uint32_t count;
	uint32_t total; /* sum of its increments */
	uint32_t hint;	/* found last */
};

/** struct event - one signal: its instruction's position in the queue, and the queue's increments before it */
struct event {
	uint32_t index;
	uint32_t before;
};

struct builder {
	struct vtpu_load *load;
	const struct vtpu_image_parts *parts;
	const struct vtpu_sim *sim;
	struct vtpu_clock *clock;
	uint32_t width;
	uint32_t sems;
	uint32_t keys;	     /* semaphore x distance x unit */
	uint32_t *stream_of; /* [keys] */
	struct stream *stream;
	uint32_t streams;
	struct event *event;
	uint32_t first[257]; /* [sems + 1] streams of each semaphore */
	uint32_t total[256]; /* sum of all increments of a semaphore */
};

/* ---- Streams ------------------------------------------------------------------- */

static uint32_t key(const struct builder *b, const struct vtpu_signal *s, uint32_t unit)
{
	return (s->sem * b->clock->cores + s->core) * VTPU_UNITS + unit;
}

static bool has_signal(const struct vtpu_insn *insn, unsigned int i)
{
	return insn->flags & VTPU_INSN_SIGNAL0 << i;
}

/* Count the signals of each key, then give keys that have any a stream. */
static bool count_streams(struct builder *b)
{
	const uint32_t sem_keys = b->clock->cores * VTPU_UNITS;
	uint32_t *count = calloc(b->keys, sizeof(*count)), used = 0, events = 0;

	b->stream_of = count;
	if (!count)
		return false;
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		for (uint32_t i = 0; i < b->parts->count[unit]; i++) {
			const struct vtpu_insn *insn = &b->parts->text[unit][i];

			if (i % POLL == 0 && vtpu_load_cancelled(b->load))
				return false;

			for (unsigned int s = 0; s < 2; s++)
				if (has_signal(insn, s))
					used += !count[key(b, &insn->signal[s], unit)]++;
		}
	}
	b->stream = calloc(used + 1, sizeof(*b->stream));
	if (!b->stream)
		return false;
	for (uint32_t k = 0; k < b->keys; k++) {
		if (k % sem_keys == 0)
			b->first[k / sem_keys] = b->streams;
		if (!count[k])
			continue;
		b->stream[b->streams].unit = k % VTPU_UNITS;
		b->stream[b->streams].core = k / VTPU_UNITS % b->clock->cores;
		b->stream[b->streams].start = events;
		events += count[k];
		count[k] = b->streams++;
	}
	b->first[b->sems] = b->streams;
	b->event = calloc(events + 1, sizeof(*b->event));
	return b->event;
}

static void add_signal(struct builder *b, const struct vtpu_signal *signal, uint32_t unit,
		       uint32_t index)
{
	struct stream *stream = &b->stream[b->stream_of[key(b, signal, unit)]];
	struct event *next = &b->event[stream->start + stream->count];

	/* Both signals of an instruction come at once: one event. */
	if (!stream->count || next[-1].index != index) {
		next->index = index;
		next->before = stream->total;
		stream->count++;
	}
	stream->total += signal->inc;
	b->total[signal->sem] += signal->inc;
}

static bool make_streams(struct builder *b)
{
	if (!count_streams(b))
		return false;
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		for (uint32_t i = 0; i < b->parts->count[unit]; i++) {
			const struct vtpu_insn *insn = &b->parts->text[unit][i];

			if (i % POLL == 0 && vtpu_load_cancelled(b->load))
				return false;

			for (unsigned int s = 0; s < 2; s++)
				if (has_signal(insn, s))
					add_signal(b, &insn->signal[s], unit, i);
		}
	}
	return true;
}

/* Last event of a stream with less than @limit before it; the stream has one. */
static const struct event *last_below(const struct builder *b, struct stream *s, uint32_t limit)
{
	const struct event *event = &b->event[s->start];
	uint32_t low = 0, high = s->count,
		 at = s->hint; /* event[low] is below, event[high] is not */

	for (unsigned int steps = 0; steps < 8; steps++) {
		if (event[at].before >= limit) {
			high = at--;
		} else if (low = at, at + 1 == high || event[at + 1].before >= limit) {
			s->hint = at;
			return &event[at];
		} else {
			at++;
		}
	}
	while (high - low > 1) {
		at = low + (high - low) / 2;
		if (event[at].before < limit)
			low = at;
		else
			high = at;
	}
	s->hint = low;
	return &event[low];
}

/* ---- Clocks ---------------------------------------------------------------------- */

/* Learn what @from knows; it is on the core @core before, so known[r] learns from[r + core]. */
static void join(uint32_t *known, const uint32_t *from, uint32_t core, uint32_t cores)
{
	for (uint32_t r = 0; r < cores; r++) {
		const uint32_t *f =
			from + (core + r < cores ? core + r : core + r - cores) * VTPU_UNITS;
		uint32_t *k = known + r * VTPU_UNITS;

		for (uint32_t unit = 0; unit < VTPU_UNITS; unit++)
			k[unit] = k[unit] > f[unit] ? k[unit] : f[unit];
	}
}

static void apply_wait(struct builder *b, const struct vtpu_wait *wait, uint32_t *known)
{
	const uint32_t row = b->clock->cores * VTPU_UNITS;

	for (uint32_t i = b->first[wait->sem]; i < b->first[wait->sem + 1]; i++) {
		struct stream *s = &b->stream[i];
		uint32_t others = b->total[wait->sem] - s->total, place;

		if (wait->value <= others)
			continue;
		place = b->sim->place[b->sim->first[s->unit] +
				      last_below(b, s, wait->value - others)->index];
		join(known, b->clock->known + (size_t)place * row, s->core, b->clock->cores);
	}
}

/* All cores leave a barrier at once, each with what all of them knew. */
static void apply_barrier(uint32_t *known, uint32_t cores)
{
	for (uint32_t unit = 0; unit < VTPU_UNITS; unit++) {
		uint32_t most = 0;

		for (uint32_t r = 0; r < cores; r++)
			if (known[r * VTPU_UNITS + unit] > most)
				most = known[r * VTPU_UNITS + unit];
		for (uint32_t r = 0; r < cores; r++)
			known[r * VTPU_UNITS + unit] = most;
	}
}

static enum vtpu_hw_status make_clocks(struct builder *b)
{
	const struct vtpu_sim *sim = b->sim;
	const uint32_t row = b->clock->cores * VTPU_UNITS;

	for (uint32_t place = 0; place < sim->n; place++) {
		uint32_t number = sim->order[place], unit = vtpu_sim_unit(sim, number);
		uint32_t index = number - sim->first[unit];
		const struct vtpu_insn *insn = &b->parts->text[unit][index];
		uint32_t *known = b->clock->known + (size_t)place * row;

		vtpu_sim_prefetch(sim, b->parts, place);
		memset(known, 0, row * sizeof(*known));
		if (index)
			join(known, b->clock->known + (size_t)sim->place[number - 1] * row, 0,
			     b->clock->cores);
		for (unsigned int i = 0; i < 2; i++)
			if (insn->flags & VTPU_INSN_WAIT0 << i)
				apply_wait(b, &insn->wait[i], known);
		if (insn->opcode == VTPU_OP_BARRIER)
			apply_barrier(known, b->clock->cores);
		known[unit] = index + 1;
		if (place % POLL == 0 && vtpu_load_cancelled(b->load))
			return VTPU_ST_CANCELLED;
	}
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_clock_make(struct vtpu_load *load, const struct vtpu_image_parts *parts,
				    const struct vtpu_sim *sim, struct vtpu_clock *clock)
{
	struct builder b = {
		.load = load,
		.parts = parts,
		.sim = sim,
		.clock = clock,
		.sems = load->req->geometry->semaphores,
	};
	enum vtpu_hw_status st = VTPU_ST_NO_MEMORY;

	clock->cores = parts->far_signals ? parts->header->width : 1;
	clock->known =
		malloc(((size_t)sim->n * clock->cores * VTPU_UNITS + 1) * sizeof(*clock->known));
	b.keys = b.sems * clock->cores * VTPU_UNITS;
	if (clock->known && make_streams(&b))
		st = make_clocks(&b);
	else if (vtpu_load_cancelled(load))
		st = VTPU_ST_CANCELLED;
	free(b.stream_of);
	free(b.stream);
	free(b.event);
	return st;
}

void vtpu_clock_free(struct vtpu_clock *clock)
{
	free(clock->known);
	clock->known = NULL;
}
