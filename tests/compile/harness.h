/* SPDX-License-Identifier: MIT */
/*
 * harness.h - runs a graph on a device inside this process, compiled in different ways, and by
 * the interpreter in double precision, with the same inputs.
 */
#ifndef TESTS_COMPILE_HARNESS_H
#define TESTS_COMPILE_HARNESS_H

#include <vtpu/vtpu.h>

#include "reference/ref_graph.h"

#define MAX_IO 64

/** struct how - in which way to compile and run */
struct how {
	const char *device; /* NULL: "model:v3,cores=<cores>" */
	uint32_t cores, tile, steps;
	enum vtpu_precision precision;
	bool no_shrink, no_fuse, no_overlap;
};

/** struct outcome - all results of the last step, then all variables, as they are in memory */
struct outcome {
	size_t count;
	char *name[MAX_IO * 2];
	void *data[MAX_IO * 2];
	uint64_t bytes[MAX_IO * 2];
	enum vtpu_dtype type[MAX_IO * 2];
	bool variable[MAX_IO * 2];
	struct vtpu_executable_info info;
	char *explain;
};

/** input_value() - element @i of input @name in step @step: the same for device and interpreter */
double input_value(const char *name, enum vtpu_dtype type, uint64_t i, uint32_t step);

/** run() - compile and run @how->steps steps. Return: NULL, or what went wrong (a sentence) */
const char *run(struct vtpu_graph *g, const struct how *how, struct outcome *o);

void outcome_free(struct outcome *o);

/** compare() - with the interpreter: largest error relative to the largest element of its tensor; prints tensors above @bound */
double compare(struct vtpu_graph *g, const struct how *how, const struct outcome *o, double bound);

/** same_bits() - two outcomes; prints the first difference */
bool same_bits(const struct outcome *a, const struct outcome *b, bool variables_only);

#endif /* TESTS_COMPILE_HARNESS_H */
