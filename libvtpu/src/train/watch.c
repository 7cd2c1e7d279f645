// SPDX-License-Identifier: MIT
/*
 * watch.c - which operation made the first number that is none.
 *
 * The step is looked at once more, by a program that changes nothing and tells of
 * each operation's result whether it is finite.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/train.h"

static size_t first_bad(const float *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(x[i]))
			return i;
	return count;
}

void watch_broken(struct vtpu_model *model, char *text, size_t bytes)
{
	struct vtpu_variable_info info;

	*text = '\0';
	for (size_t i = 0; !*text && !vtpu_variables_info(model->variables, i, &info); i++) {
		size_t count = info.bytes / sizeof(float), at;
		float *x = info.type == VTPU_DTYPE_F32 ? malloc(info.bytes) : NULL;

		if (x && !vtpu_variables_read(model->variables, info.name, x, info.bytes)) {
			at = first_bad(x, count);
			if (at < count)
				snprintf(text, bytes,
					 "; before that step element %zu of '%s' was %g already",
					 at, info.name, (double)x[at]);
		}
		free(x);
	}
}

/* One run of the program on the loader's next batch. */
static enum vtpu_status look(struct vtpu_model *model, struct vtpu_executable *executable,
			     struct vtpu_loader *loader, const struct vtpu_place *places,
			     size_t count)
{
	const struct vtpu_argument scalars[] = {
		{ "inverse_count", 1 },
		{ "step", (double)model->place.step + 1 },
		{ "seed", (double)(int32_t)model->options.seed },
	};
	struct vtpu_argument some[3];
	struct vtpu_event *done = NULL;
	struct vtpu_io_info info;
	struct vtpu_batch batch;
	enum vtpu_status status;
	size_t n = 0;

	for (size_t k = 0; !vtpu_executable_io(executable, VTPU_IO_SCALAR, k, &info); k++)
		for (size_t i = 0; i < 3; i++)
			if (!strcmp(info.name, scalars[i].name))
				some[n++] = scalars[i];
	status = vtpu_loader_next(loader, &batch);
	if (status || !batch.count)
		return status ? status : VTPU_ERROR_NOT_FOUND;
	status = vtpu_event_wait(batch.ready, VTPU_FOREVER);
	if (!status) {
		const struct vtpu_place feeds[] = {
			{ "x", batch.x, 0 },
			{ "labels", batch.labels, 0 },
			{ "weights", batch.weights, 0 },
		};

		status = vtpu_execute(executable, model->stream, feeds, 3, some, n, places, count,
				      &done);
	}
	vtpu_loader_release(loader, &batch, done);
	if (!status)
		status = vtpu_event_wait(done, VTPU_FOREVER);
	vtpu_event_destroy(done);
	return status;
}

/* Of the results that are not finite, that of the earliest operation. */
static void name_first(const struct vtpu_graph *graph, struct vtpu_buffer *results,
		       const struct vtpu_place *places, size_t count, char *text, size_t bytes)
{
	const struct vtpu_node *first = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct vtpu_node *node;
		size_t number;
		float x = 0;

		if (sscanf(places[i].name, "probe/%zu", &number) != 1 ||
		    vtpu_buffer_read(results, places[i].offset, &x, sizeof(x)) || isfinite(x))
			continue;
		node = vtpu_graph_node(graph, number);
		if (!first || vtpu_node_index(node) < vtpu_node_index(first))
			first = node;
	}
	if (first)
		snprintf(text, bytes,
			 "; the first operation whose result is not finite is '%s' (%s)",
			 vtpu_node_name(first), vtpu_node_op(first));
}

void watch_find(struct vtpu_model *model, struct vtpu_loader *loader, uint32_t batch, char *text,
		size_t bytes)
{
	struct vtpu_compile_options options =
		VTPU_INIT(options, .cores = model->cores, .precision = model->options.precision,
			  .name = "watch", .cache_dir = "", .dump_dir = "");
	struct vtpu_executable *executable = NULL;
	struct vtpu_buffer *results = NULL;
	struct vtpu_place *places = NULL;
	struct vtpu_graph *graph = NULL;
	struct vtpu_io_info info;
	uint64_t size = 0;
	size_t count = 0;

	watch_broken(model, text, bytes);
	if (*text)
		return;
	if (model_graph(model, &model->options, VTPU_MODEL_TRAIN, batch, true, &graph) ||
	    vtpu_compile(graph, model->device, model->variables, &options, &executable))
		goto out;
	count = vtpu_executable_io_count(executable, VTPU_IO_RESULT);
	places = calloc(count + 1, sizeof(*places));
	for (size_t i = 0; places && i < count; i++) {
		if (vtpu_executable_io(executable, VTPU_IO_RESULT, i, &info))
			goto out;
		places[i] = (struct vtpu_place){ .name = info.name, .offset = size };
		size += (info.place_bytes + 63) & ~63ull;
	}
	if (!places || vtpu_buffer_alloc(model->device, size, NULL, &results))
		goto out;
	for (size_t i = 0; i < count; i++)
		places[i].buffer = results;
	if (!look(model, executable, loader, places, count))
		name_first(graph, results, places, count, text, bytes);
out:
	if (model->stream)
		vtpu_stream_sync(model->stream, VTPU_FOREVER);
	vtpu_executable_destroy(executable);
	vtpu_buffer_free(results);
	vtpu_graph_destroy(graph);
	free(places);
}
