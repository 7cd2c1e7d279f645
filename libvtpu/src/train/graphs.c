// SPDX-License-Identifier: MIT
/*
 * graphs.c - the graphs that train, evaluate and predict.
 *
 * The mean loss is sum(weights * losses) * inverse_count, where the host gives
 * inverse_count: it knows how many rows are samples, so that the cores need not
 * add up weights before they begin the way back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "train/train.h"

enum vtpu_dtype model_label_type(const struct vtpu_model *model)
{
	return model_classes(model) > 256 ? VTPU_DTYPE_S32 : VTPU_DTYPE_U8;
}

/* Whether all numbers of @x are finite: 0, else NaN. */
static void probe(struct vtpu_graph *g, struct vtpu_tensor *x, size_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "probe/%zu", number);
	vtpu_output(g, vtpu_reduce_sum(g, vtpu_affine(g, x, 0, 0, VTPU_DTYPE_F32), 0, false), name);
}

/* Of every operation that was there before, in order. */
static void add_probes(struct vtpu_graph *g)
{
	size_t nodes = vtpu_graph_size(g);

	for (size_t i = 0; i < nodes; i++) {
		const struct vtpu_node *node = vtpu_graph_node(g, i);
		struct vtpu_tensor *x = vtpu_node_output(node, 0);

		if (x && vtpu_tensor_type(x) == VTPU_DTYPE_F32 && vtpu_tensor_shape(x).rank &&
		    vtpu_node_inputs(node))
			probe(g, x, i);
	}
}

static void optimise(struct layer_graph *to, const struct vtpu_model_options *options,
		     struct vtpu_tensor *loss)
{
	struct vtpu_graph *g = to->graph;
	size_t count = vtpu_graph_parameters(g, NULL, 0);
	struct vtpu_tensor **parameter = calloc(count + 1, sizeof(*parameter)),
			   **gradient = calloc(count + 1, sizeof(*gradient)), *rate;

	if (!parameter || !gradient) {
		graph_nomem(g);
	} else if (vtpu_graph_parameters(g, parameter, count) == count &&
		   !vtpu_gradients(g, loss, parameter, count, gradient)) {
		rate = vtpu_scalar(g, "rate", VTPU_DTYPE_F32);
		for (size_t i = 0; i < count; i++) {
			if (options->optimiser == VTPU_OPTIMISER_SGD)
				vtpu_sgd(g, parameter[i], gradient[i], rate, &options->sgd);
			else
				vtpu_adam(g, parameter[i], gradient[i], rate, layer_step(to),
					  &options->adam);
		}
	}
	free(parameter);
	free(gradient);
}

/* Gradients that are looked at, not followed. */
static void look(struct vtpu_graph *g, struct vtpu_tensor *loss)
{
	size_t count = vtpu_graph_parameters(g, NULL, 0);
	struct vtpu_tensor **list = calloc(2 * count + 1, sizeof(*list));

	if (!list)
		graph_nomem(g);
	else if (vtpu_graph_parameters(g, list, count) == count &&
		 !vtpu_gradients(g, loss, list, count, list + count))
		add_probes(g);
	free(list);
}

static void build(const struct vtpu_model *m, const struct vtpu_model_options *options,
		  enum vtpu_model_program kind, uint32_t batch, bool probes, struct layer_graph *to)
{
	const struct vtpu_xent_attrs smooth = { .smoothing = options->smoothing };
	struct vtpu_tensor *x, *labels, *weights, *loss, *inverse;
	struct vtpu_graph *g = to->graph;

	x = vtpu_input(g, "x", m->type, model_shape(m, batch));
	for (size_t i = 0; i < m->layers; i++)
		x = layer_build(to, m->layer[i], x);
	if (kind == VTPU_MODEL_PREDICT) {
		vtpu_output(g, vtpu_softmax(g, x), "probabilities");
		return;
	}
	labels = vtpu_input(g, "labels", model_label_type(m), VTPU_SHAPE(batch));
	weights = vtpu_input(g, "weights", VTPU_DTYPE_F32, VTPU_SHAPE(batch));
	inverse = vtpu_scalar(g, "inverse_count", VTPU_DTYPE_F32);
	vtpu_scope_begin(g, "loss");
	loss = vtpu_mul(g, weights, vtpu_softmax_xent(g, x, labels, &smooth));
	loss = vtpu_mul(g, vtpu_reduce_sum(g, loss, 0, false), inverse);
	vtpu_scope_end(g);
	vtpu_output(g, loss, "loss");
	if (probes) {
		look(g, loss);
		return;
	}
	vtpu_output(g, vtpu_correct(g, x, labels, weights), "correct");
	if (kind == VTPU_MODEL_TRAIN)
		optimise(to, options, loss);
}

enum vtpu_status model_graph(const struct vtpu_model *model,
			     const struct vtpu_model_options *options, enum vtpu_model_program kind,
			     uint32_t batch, bool probes, struct vtpu_graph **graph)
{
	struct layer_graph to = {
		.training = kind == VTPU_MODEL_TRAIN,
		.look = probes,
		.seed = options->seed,
	};
	enum vtpu_status status = vtpu_graph_create(&to.graph);

	if (status)
		return status;
	build(model, options, kind, batch, probes, &to);
	status = vtpu_graph_status(to.graph);
	if (status)
		vtpu_graph_destroy(to.graph);
	else
		*graph = to.graph;
	return status;
}
