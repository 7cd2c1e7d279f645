// SPDX-License-Identifier: MIT
/*
 * ref_graph.c - the interpreter of graphs: values, types, steps.
 *
 * Operations are in ref_graph_basic.c and ref_graph_layer.c.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reference/ref_graph.h"

#define MAX_OUTPUTS 4

struct ref_graph {
	const struct vtpu_graph *graph;
	double *(*value)[MAX_OUTPUTS]; /* by node and result */
	bool round;
};

double *ref_graph_value(struct ref_graph *r, const struct vtpu_tensor *tensor)
{
	return r->value[vtpu_node_index(vtpu_tensor_node(tensor))][vtpu_tensor_output(tensor)];
}

void ref_graph_round(struct ref_graph *r, bool on)
{
	r->round = on;
}

void ref_graph_destroy(struct ref_graph *r)
{
	size_t nodes;

	if (!r)
		return;
	nodes = vtpu_graph_size(r->graph);
	for (size_t i = 0; r->value && i < nodes; i++) {
		for (size_t n = 0; n < MAX_OUTPUTS; n++)
			free(r->value[i][n]);
	}
	free(r->value);
	free(r);
}

/* ---- Types ------------------------------------------------------------------------ */

static double read_element(const void *data, enum vtpu_dtype type, uint64_t i)
{
	uint32_t bits;
	float f;

	switch (type) {
	case VTPU_DTYPE_U8:
		return ((const uint8_t *)data)[i];
	case VTPU_DTYPE_S8:
		return ((const int8_t *)data)[i];
	case VTPU_DTYPE_S32:
		return ((const int32_t *)data)[i];
	case VTPU_DTYPE_BF16:
		bits = (uint32_t)((const uint16_t *)data)[i] << 16;
		memcpy(&f, &bits, sizeof(f));
		return (double)f;
	default:
		return (double)((const float *)data)[i];
	}
}

static double round_element(double v, enum vtpu_dtype type)
{
	uint32_t bits;
	float f = (float)v;

	if (type == VTPU_DTYPE_BF16 && isfinite(f)) {
		memcpy(&bits, &f, sizeof(bits));
		bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
		memcpy(&f, &bits, sizeof(f));
	}
	return type == VTPU_DTYPE_BF16 || type == VTPU_DTYPE_F32 ? (double)f : v;
}

/* ---- How values start ----------------------------------------------------------------- */

static bool load_constant(const struct vtpu_node *node, double *value, uint64_t n)
{
	struct vtpu_attr attr;

	for (size_t i = 0; vtpu_node_attr(node, i, &attr); i++) {
		if (attr.kind != VTPU_ATTR_BYTES)
			continue;
		for (uint64_t k = 0; k < n; k++)
			value[k] = read_element(attr.value,
						vtpu_tensor_type(vtpu_node_output(node, 0)), k);
	}
	return true;
}

static bool load_parameter(const struct vtpu_node *node, double *value, uint64_t n)
{
	const struct vtpu_tensor *x = vtpu_node_output(node, 0);
	size_t bytes = n * vtpu_dtype_bytes(vtpu_tensor_type(x));
	void *data = malloc(bytes);
	bool ok = data && !vtpu_initial_values(x, data, bytes);

	for (uint64_t k = 0; ok && k < n; k++)
		value[k] = read_element(data, vtpu_tensor_type(x), k);
	free(data);
	return ok;
}

static bool load(const struct vtpu_node *node, double *value, uint64_t n)
{
	if (strcmp(vtpu_node_op(node), "constant") == 0)
		return load_constant(node, value, n);
	if (strcmp(vtpu_node_op(node), "parameter") == 0)
		return load_parameter(node, value, n);
	return true;
}

struct ref_graph *ref_graph_create(const struct vtpu_graph *graph)
{
	struct ref_graph *r = calloc(1, sizeof(*r));
	size_t nodes = vtpu_graph_size(graph);
	bool ok = r;

	if (ok) {
		r->graph = graph;
		r->value = calloc(nodes + 1, sizeof(*r->value));
		ok = r->value;
	}
	for (size_t i = 0; ok && i < nodes; i++) {
		const struct vtpu_node *node = vtpu_graph_node(graph, i);

		for (size_t k = 0; ok && k < vtpu_node_outputs(node); k++) {
			uint64_t n = vtpu_tensor_elements(vtpu_node_output(node, k));

			r->value[i][k] = calloc(n, sizeof(double));
			ok = r->value[i][k] && load(node, r->value[i][k], n);
		}
	}
	if (!ok) {
		ref_graph_destroy(r);
		return NULL;
	}
	return r;
}

/* ---- Steps --------------------------------------------------------------------------------- */

static void nothing(const struct ref_call *c)
{
	(void)c;
}

/* What has its value already, or no result. */
static const struct ref_kernel sources[] = {
	{ "input", nothing },	  { "scalar", nothing }, { "constant", nothing },
	{ "parameter", nothing }, { "output", nothing }, { "assign", nothing },
	{ NULL, NULL },
};

static const struct ref_kernel *find(const char *op)
{
	const struct ref_kernel *const tables[] = { sources, ref_graph_basic, ref_graph_layer };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct ref_kernel *k = tables[i]; k->op; k++) {
			if (strcmp(k->op, op) == 0)
				return k;
		}
	}
	return NULL;
}

bool ref_graph_knows(const char *op)
{
	return find(op);
}

static void run(struct ref_graph *r, const struct ref_kernel *kernel, const struct vtpu_node *node)
{
	struct ref_call c = { .node = node, .attrs = vtpu_node_attrs(node) };

	for (size_t i = 0; i < vtpu_node_inputs(node); i++) {
		c.in[i] = ref_graph_value(r, vtpu_node_input(node, i));
		c.in_shape[i] = vtpu_tensor_shape(vtpu_node_input(node, i));
	}
	for (size_t i = 0; i < vtpu_node_outputs(node); i++) {
		c.out[i] = ref_graph_value(r, vtpu_node_output(node, i));
		c.out_shape[i] = vtpu_tensor_shape(vtpu_node_output(node, i));
	}
	c.n = vtpu_tensor_elements(vtpu_node_output(node, 0));
	kernel->run(&c);
	for (size_t i = 0; r->round && i < vtpu_node_outputs(node); i++) {
		const struct vtpu_tensor *y = vtpu_node_output(node, i);

		for (uint64_t k = 0; k < vtpu_tensor_elements(y); k++)
			c.out[i][k] = round_element(c.out[i][k], vtpu_tensor_type(y));
	}
}

const char *ref_graph_eval(struct ref_graph *r)
{
	for (size_t i = 0; i < vtpu_graph_size(r->graph); i++) {
		const struct vtpu_node *node = vtpu_graph_node(r->graph, i);
		const struct ref_kernel *kernel = find(vtpu_node_op(node));

		if (!kernel)
			return vtpu_node_op(node);
		run(r, kernel, node);
	}
	return NULL;
}

/* All values are taken before the first is given: one parameter may get another's. */
bool ref_graph_assign(struct ref_graph *r)
{
	size_t nodes = vtpu_graph_size(r->graph);
	double **taken = calloc(nodes + 1, sizeof(double *));
	bool ok = taken;

	for (size_t i = 0; ok && i < nodes; i++) {
		const struct vtpu_node *node = vtpu_graph_node(r->graph, i);
		const struct vtpu_tensor *value = vtpu_node_input(node, 1);
		size_t bytes = vtpu_tensor_elements(value) * sizeof(double);

		if (strcmp(vtpu_node_op(node), "assign") != 0)
			continue;
		taken[i] = malloc(bytes);
		ok = taken[i];
		if (ok)
			memcpy(taken[i], ref_graph_value(r, value), bytes);
	}
	for (size_t i = 0; taken && i < nodes; i++) {
		const struct vtpu_node *node = vtpu_graph_node(r->graph, i);

		if (ok && taken[i])
			memcpy(ref_graph_value(r, vtpu_node_input(node, 0)), taken[i],
			       vtpu_tensor_elements(vtpu_node_input(node, 0)) * sizeof(double));
		free(taken[i]);
	}
	free(taken);
	return ok;
}
