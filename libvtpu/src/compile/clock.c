// SPDX-License-Identifier: MIT
/*
 * clock.c - modelled time of one core's instructions, before there is a program: units in order,
 * the core's share of HBM, links. Other cores do the same at the same time, so what they send
 * arrives when the own sends do.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/sync.h"
#include "cost.h"

struct clock {
	uint64_t issue[VTPU_UNITS];
	uint64_t hbm, link[VTPU_COST_LINKS + 1];
	uint64_t *done[VTPU_UNITS]; /* completion of each instruction */
	uint64_t first[SYNC_EXCHANGES], last[SYNC_EXCHANGES];
	bool begun[SYNC_EXCHANGES];
};

/* @unit works from @start to @end */
static void draw(struct sync_chart *chart, uint32_t unit, uint64_t start, uint64_t end)
{
	for (uint64_t i = start / chart->column; i < SYNC_COLUMNS && i * chart->column < end; i++) {
		uint64_t from = i * chart->column, to = from + chart->column;

		chart->busy[unit][i] += (end < to ? end : to) - (start > from ? start : from);
	}
}

static void tick(struct clock *c, const struct plan *p, const struct record *r, bool free_ici,
		 struct sync_chart *chart)
{
	struct vtpu_cost cost = vtpu_cost_insn(p->geometry, &r->insn, p->cores);
	uint32_t unit = r->insn.unit;
	uint64_t start = c->issue[unit], end, *server = NULL;

	for (int u = 0; u < VTPU_UNITS; u++) {
		if (r->need[u] && c->done[u][r->need[u] - 1] > start)
			start = c->done[u][r->need[u] - 1];
	}
	if (r->arrival && c->last[r->arrival - 1] > start)
		start = c->last[r->arrival - 1];
	if (r->exchange && free_ici)
		cost = (struct vtpu_cost){ 0 };
	if (start > c->issue[unit] || !start)
		start += cost.fill;
	if (r->exchange && (!c->begun[r->exchange - 1] || start < c->first[r->exchange - 1])) {
		c->first[r->exchange - 1] = start;
		c->begun[r->exchange - 1] = true;
	}
	if (cost.hbm)
		server = &c->hbm;
	else if (cost.link)
		server = &c->link[cost.link];
	if (server) {
		c->issue[unit] = start + cost.issue;
		start = *server > c->issue[unit] ? *server : c->issue[unit];
		end = start + cost.busy;
		*server = end;
	} else {
		end = start + cost.issue + cost.busy;
		c->issue[unit] = cost.issue ? start + cost.issue : end;
	}
	if (chart)
		draw(chart, unit, start, end);
	end += cost.latency;
	if (r->index && c->done[unit][r->index - 1] > end)
		end = c->done[unit][r->index - 1]; /* in order */
	c->done[unit][r->index] = end;
	if (r->exchange && end > c->last[r->exchange - 1])
		c->last[r->exchange - 1] = end;
}

bool sync_clock(struct sync *y, bool free_ici, struct sync_time *time, struct sync_chart *chart)
{
	struct clock c = { 0 };
	bool ok = !y->no_memory;

	for (int u = 0; u < VTPU_UNITS; u++) {
		c.done[u] = calloc(y->units[u] + 1, sizeof(*c.done[u]));
		ok &= c.done[u] != NULL;
	}
	*time = (struct sync_time){ 0 };
	for (size_t i = 0; i < y->records && ok; i++) {
		const struct record *r = &y->record[i];

		tick(&c, y->plan, r, free_ici, chart);
		if (c.done[r->insn.unit][r->index] > time->cycles)
			time->cycles = c.done[r->insn.unit][r->index];
	}
	for (uint32_t i = 0; i < y->exchanges; i++)
		time->exchange_cycles += c.last[i] - c.first[i];
	if (chart) {
		memcpy(chart->first, c.first, sizeof(c.first));
		memcpy(chart->last, c.last, sizeof(c.last));
	}
	for (int u = 0; u < VTPU_UNITS; u++)
		free(c.done[u]);
	return ok || plan_nomem(y->plan);
}
