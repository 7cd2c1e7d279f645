// SPDX-License-Identifier: MIT
/*
 * sync.c - who must wait for whom: the last accesses to each byte range, and what is already
 * known to be complete.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/sync.h"

/* Last accesses to a range of bytes: instructions of a unit by number, 0 is none. */
struct range_state {
	uint8_t space, base;
	uint8_t arrival; /* of an exchange, plus 1, since the last write */
	uint64_t start, end;
	uint32_t writer[VTPU_UNITS], reader[VTPU_UNITS];
};

void sync_begin(struct sync *y, struct plan *plan)
{
	struct record *record = y->record;
	struct range_state *range = y->range;
	size_t room = y->room, range_room = y->range_room;

	memset(y, 0, sizeof(*y));
	y->plan = plan;
	y->record = record;
	y->room = room;
	y->range = range;
	y->range_room = range_room;
}

void sync_free(struct sync *y)
{
	free(y->record);
	free(y->range);
	memset(y, 0, sizeof(*y));
}

static void touch(struct sync *y, uint8_t space, uint32_t base, bool write, uint64_t start,
		  uint64_t bytes)
{
	if (!bytes || y->accesses == SYNC_ACCESSES)
		return;
	y->access[y->accesses++] = (struct access){
		.space = space,
		.base = (uint8_t)base,
		.write = write,
		.start = start,
		.end = start + bytes,
	};
	if (space == VTPU_SPACE_VMEM && start + bytes > y->vmem_end)
		y->vmem_end = start + bytes;
}

void sync_vmem(struct sync *y, bool write, uint64_t start, uint64_t bytes)
{
	touch(y, VTPU_SPACE_VMEM, 0, write, start, bytes);
}

void sync_hbm(struct sync *y, bool write, uint32_t base, uint64_t start, uint64_t bytes)
{
	touch(y, VTPU_SPACE_HBM, base, write, start, bytes);
}

void sync_smem(struct sync *y, bool write, uint32_t word)
{
	if (word >= VTPU_MAX_SCALARS)
		touch(y, VTPU_SPACE_SMEM, 0, write, 4ULL * word, 4);
}

/* ---- Ranges ------------------------------------------------------------------------ */

static struct range_state *add_range(struct sync *y, const struct range_state *like)
{
	if (y->ranges == y->range_room) {
		size_t room = y->range_room ? 2 * y->range_room : 256;
		struct range_state *bigger = realloc(y->range, room * sizeof(*bigger));

		if (!bigger) {
			y->no_memory = true;
			return NULL;
		}
		y->range = bigger;
		y->range_room = room;
	}
	y->range[y->ranges] = *like;
	return &y->range[y->ranges++];
}

static bool meets(const struct range_state *r, const struct access *a)
{
	return r->space == a->space && r->base == a->base && r->start < a->end && a->start < r->end;
}

/* Cut ranges at the edges of @a, so that each is inside or outside. */
static void cut(struct sync *y, const struct access *a)
{
	size_t n = y->ranges;

	for (size_t i = 0; i < n; i++) {
		struct range_state part;

		if (!meets(&y->range[i], a))
			continue;
		if (y->range[i].start < a->start) {
			part = y->range[i];
			part.end = a->start;
			y->range[i].start = a->start;
			if (!add_range(y, &part))
				return;
		}
		if (y->range[i].end > a->end) {
			part = y->range[i];
			part.start = a->end;
			y->range[i].end = a->end;
			if (!add_range(y, &part))
				return;
		}
	}
}

static void most(uint32_t *need, const uint32_t *of)
{
	for (int u = 0; u < VTPU_UNITS; u++)
		need[u] = of[u] > need[u] ? of[u] : need[u];
}

static void look(struct sync *y, const struct access *a, struct record *r)
{
	for (size_t i = 0; i < y->ranges; i++) {
		if (!meets(&y->range[i], a))
			continue;
		most(r->need, y->range[i].writer);
		if (a->write)
			most(r->need, y->range[i].reader);
		if (y->range[i].arrival)
			r->arrival = y->range[i].arrival;
	}
}

static void note_write(struct sync *y, const struct access *a, const struct record *r)
{
	struct range_state fresh = {
		.space = a->space, .base = a->base, .start = a->start, .end = a->end
	};

	cut(y, a);
	for (size_t i = 0; i < y->ranges;) {
		if (meets(&y->range[i], a))
			y->range[i] = y->range[--y->ranges];
		else
			i++;
	}
	if (r)
		fresh.writer[r->insn.unit] = r->index + 1;
	add_range(y, &fresh);
}

static void note_read(struct sync *y, const struct access *a, const struct record *r)
{
	struct range_state fresh = {
		.space = a->space, .base = a->base, .start = a->start, .end = a->end
	};
	uint64_t covered = 0;
	size_t n;

	cut(y, a);
	n = y->ranges;
	for (size_t i = 0; i < n; i++) {
		if (!meets(&y->range[i], a))
			continue;
		covered += y->range[i].end - y->range[i].start;
		y->range[i].reader[r->insn.unit] = r->index + 1;
	}
	if (covered == a->end - a->start)
		return;
	/* Bytes that nobody wrote: the job's own memory. One range over all, beside the others. */
	fresh.reader[r->insn.unit] = r->index + 1;
	add_range(y, &fresh);
}

struct record *sync_add(struct sync *y, const struct step *step, const char *name, uint32_t order,
			const struct vtpu_insn *insn)
{
	struct record *r;

	if (y->records == y->room) {
		size_t room = y->room ? 2 * y->room : 1024;
		struct record *bigger = realloc(y->record, room * sizeof(*bigger));

		if (!bigger) {
			y->no_memory = true;
			return NULL;
		}
		y->record = bigger;
		y->room = room;
	}
	r = &y->record[y->records++];
	memset(r, 0, sizeof(*r));
	r->insn = *insn;
	r->step = step;
	r->name = name;
	r->order = order;
	r->index = y->units[insn->unit]++;
	for (uint32_t i = 0; i < y->accesses; i++)
		look(y, &y->access[i], r);
	for (uint32_t i = 0; i < y->accesses; i++) {
		if (!y->access[i].write)
			note_read(y, &y->access[i], r);
	}
	for (uint32_t i = 0; i < y->accesses; i++) {
		if (y->access[i].write)
			note_write(y, &y->access[i], r);
	}
	y->accesses = 0;
	return r;
}

void sync_arrive(struct sync *y, uint32_t exchange, uint64_t start, uint64_t bytes)
{
	struct access a = { .space = VTPU_SPACE_VMEM, .start = start, .end = start + bytes };

	note_write(y, &a, NULL);
	if (!y->no_memory)
		y->range[y->ranges - 1].arrival = (uint8_t)(exchange + 1);
	if (a.end > y->vmem_end)
		y->vmem_end = a.end;
}

/* ---- Waits ---------------------------------------------------------------------------- */

/* What is surely complete when an instruction starts. */
struct known {
	uint32_t unit[VTPU_UNITS];
	uint64_t arrived;
};

static void learn(struct known *k, const struct known *from)
{
	most(k->unit, from->unit);
	k->arrived |= from->arrived;
}

/* Drop needs that are known already or that follow from others, and mark who is waited for. */
static bool reduce(struct sync *y)
{
	struct known now[VTPU_UNITS] = { 0 }, *known = calloc(y->records + 1, sizeof(*known));
	size_t *place[VTPU_UNITS] = { NULL };
	bool ok = known != NULL;

	for (int u = 0; u < VTPU_UNITS; u++) {
		place[u] = malloc((y->units[u] + 1) * sizeof(*place[u]));
		ok &= place[u] != NULL;
	}
	for (size_t i = 0; i < y->records && ok; i++) {
		struct record *r = &y->record[i];
		uint32_t unit = r->insn.unit;
		struct known *k = &known[i];

		place[unit][r->index] = i;
		*k = now[unit];
		r->need[unit] = 0; /* a unit acts in order */
		for (int u = 0; u < VTPU_UNITS; u++) {
			if (r->need[u] <= k->unit[u])
				r->need[u] = 0;
		}
		/* What one that is waited for waited for need not be waited for. */
		for (int u = 0; u < VTPU_UNITS; u++) {
			for (int v = 0; v < VTPU_UNITS && r->need[u]; v++) {
				if (v != u && r->need[v] &&
				    known[place[v][r->need[v] - 1]].unit[u] >= r->need[u])
					r->need[u] = 0;
			}
		}
		for (int u = 0; u < VTPU_UNITS; u++) {
			struct record *w;

			if (!r->need[u])
				continue;
			w = &y->record[place[u][r->need[u] - 1]];
			w->waited = true;
			learn(k, &known[place[u][r->need[u] - 1]]);
			k->unit[u] = r->need[u];
		}
		if (r->arrival && k->arrived >> (r->arrival - 1) & 1)
			r->arrival = 0;
		if (r->arrival)
			k->arrived |= 1ULL << (r->arrival - 1);
		now[unit] = *k;
	}
	for (int u = 0; u < VTPU_UNITS; u++)
		free(place[u]);
	free(known);
	return ok;
}

struct wait {
	uint8_t sem;
	uint32_t value;
};

static void set_wait(struct vtpu_insn *insn, uint32_t i, const struct wait *w)
{
	insn->wait[i].sem = w->sem;
	insn->wait[i].value = w->value;
	insn->flags |= (uint16_t)(i ? VTPU_INSN_WAIT1 : VTPU_INSN_WAIT0);
}

/* A control instruction that waits for two, and counts: one wait in their stead. */
static struct wait join(struct vtpu_builder *b, uint32_t op, const struct wait *w, uint32_t *joins,
			uint8_t sem)
{
	struct vtpu_insn nop = { .opcode = VTPU_OP_NOP, .unit = VTPU_UNIT_CTL, .op_id = op };

	set_wait(&nop, 0, &w[0]);
	set_wait(&nop, 1, &w[1]);
	nop.flags |= VTPU_INSN_SIGNAL0;
	nop.signal[0].sem = sem;
	nop.signal[0].inc = 1;
	vtpu_emit_raw(b, &nop);
	return (struct wait){ sem, ++*joins };
}

bool sync_finish(struct sync *y, struct vtpu_builder *b)
{
	uint32_t count[VTPU_UNITS] = { 0 }, joins = 0, last_order = UINT32_MAX, op = 0;
	uint8_t sem[VTPU_UNITS], exchange[SYNC_EXCHANGES], join_sem;
	uint32_t *value[VTPU_UNITS] = { NULL };
	const char *last_name = NULL;
	bool ok = !y->no_memory && reduce(y);

	for (int u = 0; u < VTPU_UNITS; u++) {
		sem[u] = vtpu_builder_semaphore(b);
		value[u] = calloc(y->units[u] + 1, sizeof(*value[u]));
		ok &= value[u] != NULL;
	}
	join_sem = vtpu_builder_semaphore(b);
	for (uint32_t i = 0; i < y->exchanges; i++)
		exchange[i] = vtpu_builder_semaphore(b);
	for (size_t i = 0; i < y->records && ok; i++) {
		struct record *r = &y->record[i];
		struct vtpu_insn *insn = &r->insn;
		struct wait wait[VTPU_UNITS + 1];
		uint32_t waits = 0;

		if (r->order != last_order || r->name != last_name || !op) {
			/* An operation's id is its place in the graph, plus 1. */
			op = r->order + 1;
			last_order = r->order;
			last_name = r->name;
		}
		insn->op_id = op;
		for (int u = 0; u < VTPU_UNITS; u++) {
			if (r->need[u])
				wait[waits++] = (struct wait){ sem[u], value[u][r->need[u] - 1] };
		}
		if (r->arrival)
			wait[waits++] =
				(struct wait){ exchange[r->arrival - 1],
					       y->exchange_sends[r->arrival - 1] * y->plan->cores };
		while (waits > 2) {
			wait[waits - 2] = join(b, op, &wait[waits - 2], &joins, join_sem);
			waits--;
		}
		for (uint32_t k = 0; k < waits; k++)
			set_wait(insn, k, &wait[k]);
		if (r->waited) {
			value[insn->unit][r->index] = ++count[insn->unit];
			insn->flags |= VTPU_INSN_SIGNAL0;
			insn->signal[0].sem = sem[insn->unit];
			insn->signal[0].inc = 1;
		}
		if (r->exchange) {
			insn->flags |= VTPU_INSN_SIGNAL1;
			insn->signal[1].sem = exchange[r->exchange - 1];
			insn->signal[1].core = (uint8_t)insn->payload.dma.core;
			insn->signal[1].inc = 1;
		}
		vtpu_emit_raw(b, insn);
	}
	for (int u = 0; u < VTPU_UNITS; u++)
		free(value[u]);
	return ok || plan_nomem(y->plan);
}
