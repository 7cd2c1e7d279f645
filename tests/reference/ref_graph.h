/* SPDX-License-Identifier: MIT */
/*
 * ref_graph.h - an interpreter of graphs in plain double precision.
 *
 * What a compiled graph must compute, to be compared with. It knows graphs
 * through <vtpu/graph.h> alone and shares no arithmetic with libvtpu. Every
 * tensor is an array of doubles, row-major, whatever its type.
 */
#ifndef TESTS_REFERENCE_REF_GRAPH_H
#define TESTS_REFERENCE_REF_GRAPH_H

#include <stdbool.h>

#include <vtpu/graph.h>

struct ref_graph;

/** ref_graph_create() - an interpreter of @graph, with parameters as they start; NULL without memory */
struct ref_graph *ref_graph_create(const struct vtpu_graph *graph);

void ref_graph_destroy(struct ref_graph *r);

/**
 * ref_graph_round() - round each result to its type
 *
 * Off at first: f32 and bf16 are as exact as double. Casts to integers always round.
 */
void ref_graph_round(struct ref_graph *r, bool on);

/** ref_graph_value() - elements of a tensor; those of inputs, scalars and parameters are for the caller to set */
double *ref_graph_value(struct ref_graph *r, const struct vtpu_tensor *tensor);

/** ref_graph_eval() - compute all tensors. Return: NULL, or the name of an operation that is unknown here */
const char *ref_graph_eval(struct ref_graph *r);

/** ref_graph_assign() - end the step: parameters get what is assigned to them. Return: false without memory */
bool ref_graph_assign(struct ref_graph *r);

/** ref_graph_knows() - can operation @op be interpreted? */
bool ref_graph_knows(const char *op);

/* ---- Between the interpreter's files ------------------------------------------- */

/** struct ref_call - a node to be computed */
struct ref_call {
	const struct vtpu_node *node;
	const void *attrs;
	const double *in[8];
	double *out[4];
	struct vtpu_shape in_shape[8];
	struct vtpu_shape out_shape[4];
	uint64_t n; /* elements of the first result */
};

/** struct ref_kernel - how an operation is computed; tables end with an empty row */
struct ref_kernel {
	const char *op;
	void (*run)(const struct ref_call *c);
};

extern const struct ref_kernel ref_graph_basic[]; /* ref_graph_basic.c */
extern const struct ref_kernel ref_graph_layer[]; /* ref_graph_layer.c */

/** ref_elements() - of a shape */
static inline uint64_t ref_elements(const struct vtpu_shape *shape)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < shape->rank; i++)
		n *= (uint64_t)shape->dim[i];
	return n;
}

#endif /* TESTS_REFERENCE_REF_GRAPH_H */
