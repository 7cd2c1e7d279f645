/* SPDX-License-Identifier: MIT */
/*
 * cases.h - small graphs that between them use every operation that has a gradient.
 */
#ifndef TESTS_GRAPH_CASES_H
#define TESTS_GRAPH_CASES_H

#include <vtpu/graph.h>

#define CASE_INPUTS 5

/** struct graph_case - a function of up to CASE_INPUTS tensors */
struct graph_case {
	const char *name;
	/** @build: returns the result; its inputs are @x */
	struct vtpu_tensor *(*build)(struct vtpu_graph *g, struct vtpu_tensor *const *x);
	struct vtpu_shape shape[CASE_INPUTS]; /* of the inputs; rank 7 ends */
	float mean, spread;		      /* inputs are around mean by up to spread */
	bool twice;			      /* the gradient has a gradient too */
};

/** graph_cases - ended by an entry without a name */
extern const struct graph_case graph_cases[];

#endif /* TESTS_GRAPH_CASES_H */
