// SPDX-License-Identifier: MIT
/*
 * summary.c - models as tables.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

/* Parameters and states of the graph below "<layer>/", trainable or not. */
static uint64_t numbers_of(const struct vtpu_graph *graph, const char *layer, bool trainable)
{
	size_t count = vtpu_graph_parameters(graph, NULL, 0), length = strlen(layer);
	struct vtpu_tensor **list = calloc(count + 1, sizeof(*list));
	uint64_t sum = 0;

	if (!list)
		return 0;
	vtpu_graph_parameters(graph, list, count);
	for (size_t i = 0; i < vtpu_graph_size(graph); i++) {
		const struct vtpu_node *node = vtpu_graph_node(graph, i);
		struct vtpu_tensor *x = vtpu_node_output(node, 0);
		const char *name = vtpu_node_name(node);
		bool trained = false;

		if (strcmp(vtpu_node_op(node), "parameter") || strncmp(name, layer, length) ||
		    name[length] != '/')
			continue;
		for (size_t k = 0; k < count; k++)
			trained |= list[k] == x;
		if (trained == trainable)
			sum += vtpu_tensor_elements(x);
	}
	free(list);
	return sum;
}

static void shape_text(struct vtpu_shape shape, char *text, size_t bytes)
{
	int n = snprintf(text, bytes, "[N");

	for (uint32_t i = 1; i < shape.rank; i++)
		n += snprintf(text + n, bytes - n, ", %" PRId64, shape.dim[i]);
	snprintf(text + n, bytes - n, "]");
}

static const char rule[] =
	"---------------------------------------------------------------------------\n";

static void print(FILE *out, const struct vtpu_model *m)
{
	uint64_t total = 0, states = 0, numbers, other;
	char shape[160], input[160], label[256];

	shape_text(model_shape(m, 1), input, sizeof(input));
	fprintf(out, "Model '%s', input %s%s\n%s%-28s %-20s %12s %11s\n%s", m->name,
		vtpu_dtype_name(m->type), input, rule, "layer (kind)", "output", "parameters",
		"bytes", rule);
	for (size_t i = 0; i < m->layers; i++) {
		const struct layer *l = m->layer[i];

		numbers = numbers_of(m->probe.graph, l->name, true);
		other = numbers_of(m->probe.graph, l->name, false);
		shape_text(vtpu_tensor_shape(m->result[i]), shape, sizeof(shape));
		snprintf(label, sizeof(label), "%s (%s)", l->name, l->kind->name);
		fprintf(out, "%-28s %-20s %12" PRIu64 " %11" PRIu64 "\n", label, shape, numbers,
			numbers * sizeof(float));
		total += numbers;
		states += other;
	}
	fprintf(out, "%s%-49s %12" PRIu64 " %11" PRIu64 "\n", rule, "trainable", total,
		total * sizeof(float));
	if (states)
		fprintf(out, "%-49s %12" PRIu64 " %11" PRIu64 "\n", "running statistics", states,
			states * sizeof(float));
}

enum vtpu_status vtpu_model_summary(const struct vtpu_model *model, char **text)
{
	enum vtpu_status status = vtpu_model_status(model);
	size_t bytes;
	FILE *out;

	if (status)
		return status;
	if (!text)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_summary: NULL");
	out = open_memstream(text, &bytes);
	if (!out)
		return vtpu_fail_nomem("a summary");
	print(out, model);
	if (fclose(out))
		return vtpu_fail_nomem("a summary");
	return VTPU_OK;
}

uint64_t vtpu_model_parameters(const struct vtpu_model *model)
{
	uint64_t sum = 0;

	for (size_t i = 0; model && i < model->layers; i++)
		sum += numbers_of(model->probe.graph, model->layer[i]->name, true);
	return sum;
}
