// SPDX-License-Identifier: MIT
/*
 * test_model.c - learning rates, layers and what they say when they do not fit,
 * summaries, graphs: what needs no device.
 */
#include <math.h>
#include <stdlib.h>

#include <vtpu/vtpu.h>

#include "unit/status.h"

static void schedules(void)
{
	const struct vtpu_schedule constant = { .rate = 0.5f, .warmup = 4 };
	const struct vtpu_schedule steps = { VTPU_SCHEDULE_STEP, .rate = 1, .every = 10,
					     .factor = 0.1f };
	const struct vtpu_schedule cosine = { VTPU_SCHEDULE_COSINE, .rate = 1e-2f, .warmup = 20,
					      .last = 1e-4f };
	bool close = true;

	tap_ok(vtpu_schedule_rate(&constant, 0, 9) == 0.125f &&
		       vtpu_schedule_rate(&constant, 3, 9) == 0.5f &&
		       vtpu_schedule_rate(&constant, 4000, 9) == 0.5f,
	       "constant with a warm-up of 4 steps");
	tap_ok(vtpu_schedule_rate(&steps, 9, 0) == 1 &&
		       fabsf(vtpu_schedule_rate(&steps, 10, 0) - 0.1f) < 1e-8f &&
		       fabsf(vtpu_schedule_rate(&steps, 25, 0) - 0.01f) < 1e-8f,
	       "a tenth every 10 steps");
	for (int i = 20; i < 300; i++) {
		double want = 1e-4 + (1e-2 - 1e-4) * 0.5 * (1 + cos(M_PI * (i - 20) / 270.0));

		if (i > 290)
			want = 1e-4;
		close &= fabs((double)vtpu_schedule_rate(&cosine, i, 290) - want) < 2e-9;
	}
	tap_ok(close, "a cosine from step 20 to step 290, and flat behind");
	tap_ok(vtpu_schedule_rate(&cosine, 19, 290) == 1e-2f, "the warm-up ends at the full rate");
}

static void layer_error(void (*add)(struct vtpu_model *), enum vtpu_status status,
			const char *words)
{
	struct vtpu_model *model;

	vtpu_model_create("wrong", VTPU_DTYPE_U8, VTPU_SHAPE(28, 28, 1), &model);
	add(model);
	refused(vtpu_model_status(model), status, words, words);
	vtpu_model_destroy(model);
}

static void big_kernel(struct vtpu_model *m)
{
	vtpu_model_conv2d(m, "conv1", 8, 29, NULL);
	vtpu_model_flatten(m, "flatten");
}

static void two_names(struct vtpu_model *m)
{
	vtpu_model_conv2d(m, "conv1", 8, 3, NULL);
	vtpu_model_conv2d(m, "conv1", 8, 3, NULL);
}

static void no_filters(struct vtpu_model *m)
{
	vtpu_model_conv2d(m, "conv1", 0, 3, NULL);
}

static void conv_of_rows(struct vtpu_model *m)
{
	vtpu_model_flatten(m, "flatten");
	vtpu_model_conv2d(m, "conv1", 8, 3, NULL);
}

static void full_dropout(struct vtpu_model *m)
{
	vtpu_model_normalize(m, "standardise", 0, 1);
	vtpu_model_dropout(m, "drop", 1);
}

static void no_deviation(struct vtpu_model *m)
{
	vtpu_model_normalize(m, "standardise", 0, 0);
}

static void layers(void)
{
	struct vtpu_graph *graph = NULL;
	struct vtpu_model *model;
	char *text = NULL;

	layer_error(big_kernel, VTPU_ERROR_SHAPE_MISMATCH, "conv1");
	layer_error(two_names, VTPU_ERROR_INVALID_ARGUMENT, "a layer of that name already");
	layer_error(no_filters, VTPU_ERROR_INVALID_ARGUMENT, "0 results");
	layer_error(conv_of_rows, VTPU_ERROR_SHAPE_MISMATCH, "784");
	layer_error(full_dropout, VTPU_ERROR_INVALID_ARGUMENT, "rate");
	layer_error(no_deviation, VTPU_ERROR_INVALID_ARGUMENT, "deviation");

	vtpu_model_create("all", VTPU_DTYPE_U8, VTPU_SHAPE(8, 8, 3), &model);
	vtpu_model_normalize(model, "standardise", 128, 64);
	vtpu_model_conv2d(model, "conv1", 5, 3,
			  &(struct vtpu_layer_options){ .no_bias = true,
							.conv = { .padding = VTPU_PADDING_SAME } });
	vtpu_model_batch_norm(model, "norm1", NULL);
	vtpu_model_activation(model, "relu1", VTPU_ACT_RELU);
	vtpu_model_max_pool(model, "pool1", 2, NULL);
	vtpu_model_avg_pool(model, "pool2", 2, NULL);
	vtpu_model_flatten(model, "flatten");
	vtpu_model_dropout(model, "drop", 0.25f);
	vtpu_model_dense(model, "dense1", 7, NULL);
	ok_call(vtpu_model_status(model), "a model of every kind of layer");
	/* 5*3*3*3, gamma and beta, 2*2*5*7 + 7 */
	tap_is(vtpu_model_parameters(model), 135 + 10 + 147, "its parameters");
	if (ok_call(vtpu_model_summary(model, &text), "its summary")) {
		tap_ok(strstr(text,
			      "conv1 (conv2d)               [N, 8, 8, 5]                  135         540\n") &&
			       strstr(text, "pool2 (avg_pool)             [N, 2, 2, 5]"),
		       "has shapes, parameters, bytes");
		tap_ok(strstr(text,
			      "trainable                                                  292        1168\n") &&
			       strstr(text,
				      "running statistics                                          10          40\n"),
		       "and the sums");
		if (tap_failed)
			printf("%s", text);
		free(text);
	}
	for (int kind = VTPU_MODEL_TRAIN; kind <= VTPU_MODEL_PREDICT; kind++) {
		bool train = kind == VTPU_MODEL_TRAIN;

		if (!ok_call(vtpu_model_graph(model, NULL, kind, 16, &graph), "a graph"))
			continue;
		vtpu_graph_text(graph, &text);
		tap_ok(!strstr(text, "dropout(") == !train && !strstr(text, "adam(") == !train &&
			       !strstr(text, "probabilities") == (kind != VTPU_MODEL_PREDICT) &&
			       !strstr(text, "batch_norm(") == !train,
		       "of program %d: what trains is in that of training alone", kind);
		free(text);
		vtpu_graph_destroy(graph);
	}
	vtpu_model_destroy(model);
}

int main(void)
{
	schedules();
	layers();
	return tap_done();
}
