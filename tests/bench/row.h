/* SPDX-License-Identifier: MIT */
/*
 * row.h - a row of `make bench`: a line of JSON on standard output, which scripts/bench.sh gathers.
 */
#ifndef TESTS_BENCH_ROW_H
#define TESTS_BENCH_ROW_H

#include <stdbool.h>
#include <stdio.h>

/** struct bench_row - ours against a peer's; the ratio is what the bar is for */
struct bench_row {
	const char *id, *what, *unit;
	double ours, peer;
	/** @ratio: 0: @ours / @peer */
	double ratio;
	double bar;
	/** @at_most: of the ratio; else it must be at least @bar */
	bool at_most;
	int runs;
};

/** bench_row() - prints it; returns whether the bar is held */
static inline bool bench_row(const struct bench_row *r)
{
	const double ratio = r->ratio ? r->ratio : r->ours / r->peer;
	const bool ok = r->at_most ? ratio <= r->bar : ratio >= r->bar;

	printf("{\"id\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"ours\": %.5g, \"peer\": %.5g, "
	       "\"ratio\": %.4f, \"bar\": %g, \"ok\": %s, \"runs\": %d}\n",
	       r->id, r->what, r->unit, r->ours, r->peer, ratio, r->bar, ok ? "true" : "false",
	       r->runs);
	fflush(stdout);
	return ok;
}

#endif /* TESTS_BENCH_ROW_H */
