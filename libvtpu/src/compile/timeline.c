// SPDX-License-Identifier: MIT
/*
 * timeline.c - a core's program as a chart: which units are busy when, and under what the
 * sums over cores go on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "compile/sync.h"
#include "insn_table.h"

/* Busy for up to a quarter of a column, a half, three quarters, more. */
static char shade(uint64_t busy, uint64_t column)
{
	return !busy ? ' ' : ".:+#"[busy >= column ? 3 : 4 * busy / column];
}

static void print_units(FILE *f, const struct sync *y, const struct sync_chart *chart)
{
	for (int u = 0; u < VTPU_UNITS; u++) {
		if (!y->units[u])
			continue;
		fprintf(f, "%-4s|", vtpu_insn_units[u]);
		for (int i = 0; i < SYNC_COLUMNS; i++)
			fputc(shade(chart->busy[u][i], chart->column), f);
		fputs("|\n", f);
	}
}

/* The first operation that sends in exchange @id */
static const char *exchange_name(const struct sync *y, uint32_t id)
{
	for (size_t i = 0; i < y->records; i++)
		if (y->record[i].exchange == id + 1)
			return y->record[i].name;
	return "";
}

static void print_exchanges(FILE *f, const struct sync *y, const struct sync_chart *chart)
{
	for (uint32_t i = 0; i < y->exchanges; i++) {
		fputs("    |", f);
		for (uint64_t k = 0; k < SYNC_COLUMNS; k++) {
			bool on = chart->last[i] > k * chart->column &&
				  chart->first[i] < (k + 1) * chart->column;

			fputc(on ? '=' : ' ', f);
		}
		fprintf(f, "| %" PRIu64 " to %" PRIu64 ": %s\n", chart->first[i], chart->last[i],
			exchange_name(y, i));
	}
}

char *sync_timeline(struct sync *y, uint64_t cycles)
{
	struct sync_chart chart = { .column = cycles / SYNC_COLUMNS + 1 };
	struct sync_time time;
	char *text = NULL;
	size_t bytes;
	FILE *f;

	if (!sync_clock(y, false, &time, &chart))
		return NULL;
	f = open_memstream(&text, &bytes);
	if (!f)
		return NULL;
	fprintf(f,
		"a core's time, %" PRIu64
		" cycles a column: . : + # are quarters of it that a unit works\n",
		chart.column);
	print_units(f, y, &chart);
	if (y->exchanges)
		fputs("sums over cores, from the first send to the last arrival\n", f);
	print_exchanges(f, y, &chart);
	return fclose(f) ? NULL : text;
}
