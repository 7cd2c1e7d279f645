// SPDX-License-Identifier: MIT
/*
 * save.c - models as safetensors files, and snapshots in memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/safetensors.h"
#include "train/train.h"

#define FORMAT "1"

/* ---- Variables as bytes ---------------------------------------------------------- */

/* Room for all variables, one after the other, each at a multiple of 64. */
static uint64_t all_bytes(const struct vtpu_variables *variables)
{
	struct vtpu_variable_info info;
	uint64_t bytes = 0;

	for (size_t i = 0; !vtpu_variables_info(variables, i, &info); i++)
		bytes += (info.bytes + 63) & ~63ull;
	return bytes;
}

static enum vtpu_status copy_all(struct vtpu_variables *variables, uint8_t *bytes, bool write)
{
	struct vtpu_variable_info info;
	enum vtpu_status status = VTPU_OK;

	for (size_t i = 0; !status && !vtpu_variables_info(variables, i, &info); i++) {
		status = write ? vtpu_variables_write(variables, info.name, bytes, info.bytes) :
				 vtpu_variables_read(variables, info.name, bytes, info.bytes);
		bytes += (info.bytes + 63) & ~63ull;
	}
	return status;
}

/* All that was entered has ended: where training is then. */
static enum vtpu_status settle(struct vtpu_model *model, struct model_place *place)
{
	enum vtpu_status status = VTPU_OK;

	*place = model->place;
	if (model->stream)
		status = vtpu_stream_sync(model->stream, VTPU_FOREVER);
	if (!status && model->run)
		status = run_settle(model->run, place);
	return status;
}

enum vtpu_status snapshot_take(struct vtpu_model *model, struct snapshot *snapshot)
{
	uint64_t bytes = all_bytes(model->variables);
	enum vtpu_status status;

	if (bytes > SNAPSHOT_MAX)
		return VTPU_OK;
	if (!snapshot->bytes)
		snapshot->bytes = malloc(bytes);
	if (!snapshot->bytes)
		return vtpu_fail_nomem("a snapshot");
	status = settle(model, &snapshot->place);
	return status ? status : copy_all(model->variables, snapshot->bytes, false);
}

enum vtpu_status snapshot_restore(struct vtpu_model *model, const struct snapshot *snapshot)
{
	model->place = snapshot->place;
	return copy_all(model->variables, snapshot->bytes, true);
}

void snapshot_free(struct snapshot *snapshot)
{
	free(snapshot->bytes);
	snapshot->bytes = NULL;
}

/* ---- Metadata ----------------------------------------------------------------------- */

static char *layers_text(const struct vtpu_model *m)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "input %s", vtpu_dtype_name(m->type));
	for (uint32_t i = 0; i < m->sample.rank; i++)
		fprintf(out, " %" PRId64, m->sample.dim[i]);
	fputc('\n', out);
	for (size_t i = 0; i < m->layers; i++) {
		const struct layer *l = m->layer[i];
		const struct vtpu_conv2d_attrs *c = &l->options.conv;
		const struct vtpu_pool_attrs *p = &l->pool;

		fprintf(out,
			"%s %s units=%u size=%u activation=%d bias=%d rate=%g mean=%.9g deviation=%.9g",
			l->kind->name, l->name, l->units, l->size, l->options.activation,
			!l->options.no_bias, (double)l->rate, (double)l->mean,
			(double)l->deviation);
		fprintf(out, " conv=%d,%d,%d,%d,%d,%d,%d,%d,%d,%d", c->stride[0], c->stride[1],
			c->dilation[0], c->dilation[1], c->padding, c->pad[0], c->pad[1], c->pad[2],
			c->pad[3], c->groups);
		fprintf(out, " pool=%d,%d,%d,%d,%d,%d,%d norm=%.9g,%.9g\n", p->stride[0],
			p->stride[1], p->padding, p->pad[0], p->pad[1], p->pad[2], p->pad[3],
			(double)l->norm.epsilon, (double)l->norm.momentum);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void optimiser_text(const struct vtpu_model_options *o, char *text, size_t bytes)
{
	if (o->optimiser == VTPU_OPTIMISER_SGD)
		snprintf(text, bytes, "sgd momentum=%.9g weight_decay=%.9g nesterov=%d",
			 (double)o->sgd.momentum, (double)o->sgd.weight_decay, o->sgd.nesterov);
	else
		snprintf(text, bytes,
			 "adam beta1=%.9g beta2=%.9g epsilon=%.9g weight_decay=%.9g decoupled=%d",
			 (double)o->adam.beta1, (double)o->adam.beta2, (double)o->adam.epsilon,
			 (double)o->adam.weight_decay, o->adam.decoupled);
}

static enum vtpu_status set_metadata(struct safetensors *file, const struct vtpu_model *m,
				     const struct model_place *at)
{
	char *layers = layers_text(m), *text = NULL, optimiser[256];
	struct vtpu_graph *graph = NULL;
	enum vtpu_status status;

	optimiser_text(&m->options, optimiser, sizeof(optimiser));
	status = layers ? model_graph(m, &m->options, VTPU_MODEL_PREDICT, 1, false, &graph) :
			  vtpu_fail_nomem("a file");
	if (!status)
		status = vtpu_graph_text(graph, &text);
	if (!status)
		status = safetensors_set(file, "vtpu.format", FORMAT);
	if (!status)
		status = safetensors_set(file, "vtpu.model", "%s", m->name);
	if (!status)
		status = safetensors_set(file, "vtpu.layers", "%s", layers);
	if (!status)
		status = safetensors_set(file, "vtpu.graph", "%s", text);
	if (!status)
		status = safetensors_set(file, "vtpu.optimiser", "%s", optimiser);
	if (!status)
		status = safetensors_set(file, "vtpu.seed", "%u", m->options.seed);
	if (!status)
		status = safetensors_set(file, "vtpu.cores", "%u", m->cores);
	/* Sums in hexadecimal, so that they come back to the bit. */
	if (!status)
		status = safetensors_set(file, "vtpu.place",
					 "step=%" PRIu64 " fit_step=%" PRIu64
					 " fit_epoch=%u epoch=%u batch=%" PRIu64 " count=%" PRIu64
					 " loss=%a correct=%a",
					 at->step, at->fit_step, at->fit_epoch, at->epoch,
					 at->batch, at->count, at->loss, at->correct);
	vtpu_graph_destroy(graph);
	free(text);
	free(layers);
	return status;
}

/* ---- Saving ----------------------------------------------------------------------------- */

enum vtpu_status vtpu_model_save(struct vtpu_model *model, const char *path)
{
	enum vtpu_status status = model_ready(model, "vtpu_model_save");
	struct safetensors file = { 0 };
	struct vtpu_variable_info info;
	struct model_place place;
	uint8_t *bytes = NULL, *at;

	if (!status && !path)
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_save: NULL path");
	if (!status)
		status = settle(model, &place);
	if (status)
		return status;
	bytes = malloc(all_bytes(model->variables) + 1);
	if (!bytes)
		return vtpu_fail_nomem("a file");
	status = copy_all(model->variables, bytes, false);
	at = bytes;
	for (size_t i = 0; !status && !vtpu_variables_info(model->variables, i, &info); i++) {
		status = safetensors_add(&file, info.name, info.type, &info.shape, at, info.bytes);
		at += (info.bytes + 63) & ~63ull;
	}
	if (!status)
		status = set_metadata(&file, model, &place);
	if (!status)
		status = safetensors_write(path, &file);
	safetensors_free(&file);
	free(bytes);
	return status ? vtpu_fail_in(status, "saving model '%s'", model->name) : VTPU_OK;
}

/* ---- Loading ------------------------------------------------------------------------------ */

/* The first line in which two texts differ, cut to a readable length. */
static enum vtpu_status compare_layers(const char *have, const char *want)
{
	int n = 0;

	while (*have || *want) {
		int a = (int)strcspn(have, "\n"), b = (int)strcspn(want, "\n");

		if (a != b || strncmp(have, want, a))
			return vtpu_fail(
				VTPU_ERROR_SHAPE_MISMATCH,
				"it is of another model: %s %d is '%.*s' in the file and '%.*s' here",
				n ? "layer" : "line", n, a, have, b, want);
		have += a + !!have[a];
		want += b + !!want[b];
		n++;
	}
	return VTPU_OK;
}

static enum vtpu_status check_model(const struct safetensors *file, const struct vtpu_model *m)
{
	const char *format = safetensors_value(file, "vtpu.format"),
		   *layers = safetensors_value(file, "vtpu.layers"),
		   *optimiser = safetensors_value(file, "vtpu.optimiser");
	char here[256], *text;
	enum vtpu_status status;

	if (!format || !layers || !optimiser)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"it was not saved by vtpu_model_save(); use vtpu_model_load_weights()");
	if (strcmp(format, FORMAT))
		return vtpu_fail(VTPU_ERROR_VERSION,
				 "its format is version %s, this library reads version %s", format,
				 FORMAT);
	text = layers_text(m);
	if (!text)
		return vtpu_fail_nomem("layers");
	status = compare_layers(layers, text);
	free(text);
	if (status)
		return status;
	optimiser_text(&m->options, here, sizeof(here));
	if (strcmp(optimiser, here))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "it was trained with '%s', and the model is compiled with '%s'; compile it alike, or use "
				 "vtpu_model_load_weights()",
				 optimiser, here);
	return VTPU_OK;
}

static enum vtpu_status read_place(const struct safetensors *file, struct model_place *at,
				   uint32_t *seed)
{
	const char *place = safetensors_value(file, "vtpu.place"),
		   *seed_text = safetensors_value(file, "vtpu.seed");

	if (!place || !seed_text || sscanf(seed_text, "%u", seed) != 1 ||
	    sscanf(place,
		   "step=%" SCNu64 " fit_step=%" SCNu64 " fit_epoch=%u epoch=%u batch=%" SCNu64
		   " count=%" SCNu64 " loss=%la correct=%la",
		   &at->step, &at->fit_step, &at->fit_epoch, &at->epoch, &at->batch, &at->count,
		   &at->loss, &at->correct) != 8)
		return vtpu_fail(VTPU_ERROR_IO, "vtpu.place or vtpu.seed cannot be read");
	return VTPU_OK;
}

/* Is there a tensor for every variable? Optimisers' states are not in @graph. */
static enum vtpu_status check_tensors(const struct safetensors *file,
				      const struct vtpu_variables *variables,
				      const struct vtpu_graph *graph)
{
	struct vtpu_variable_info info;

	for (size_t i = 0; !vtpu_variables_info(variables, i, &info); i++) {
		const struct safetensor *t = safetensors_find(file, info.name);
		bool same = t && t->type == info.type && t->shape.rank == info.shape.rank;

		if (graph && !vtpu_graph_find(graph, info.name))
			continue;
		if (!t)
			return vtpu_fail(VTPU_ERROR_NOT_FOUND, "it has no tensor '%s'", info.name);
		for (uint32_t k = 0; same && k < t->shape.rank; k++)
			same = t->shape.dim[k] == info.shape.dim[k];
		if (!same)
			return vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
					 "tensor '%s' has %" PRIu64
					 " bytes of %s in the file, and %" PRIu64
					 " of %s in the model, or another shape",
					 info.name, t->bytes, vtpu_dtype_name(t->type), info.bytes,
					 vtpu_dtype_name(info.type));
	}
	return VTPU_OK;
}

static enum vtpu_status write_tensors(const struct safetensors *file,
				      struct vtpu_variables *variables,
				      const struct vtpu_graph *graph)
{
	struct vtpu_variable_info info;
	enum vtpu_status status = VTPU_OK;

	for (size_t i = 0; !status && !vtpu_variables_info(variables, i, &info); i++) {
		const struct safetensor *t = safetensors_find(file, info.name);

		if (!graph || vtpu_graph_find(graph, info.name))
			status = vtpu_variables_write(variables, info.name, t->data, t->bytes);
	}
	return status;
}

static enum vtpu_status load(struct vtpu_model *m, const char *path, bool whole)
{
	struct model_place place = { 0 };
	uint32_t seed = m->options.seed;
	struct vtpu_graph *graph = NULL;
	struct safetensors file;
	enum vtpu_status status = safetensors_read(path, &file);

	if (status)
		return status;
	if (whole) {
		status = check_model(&file, m);
		if (!status)
			status = read_place(&file, &place, &seed);
	} else {
		status = model_graph(m, &m->options, VTPU_MODEL_EVALUATE, m->cores, false, &graph);
	}
	if (!status)
		status = check_tensors(&file, m->variables, graph);
	if (!status) {
		status = write_tensors(&file, m->variables, graph);
		if (status)
			model_failed(m);
	}
	vtpu_graph_destroy(graph);
	safetensors_free(&file);
	if (status)
		return vtpu_fail_in(status, "%s", path);
	if (whole) {
		m->place = place;
		m->options.seed = seed;
		m->damaged = false;
	}
	return VTPU_OK;
}

static enum vtpu_status may_load(struct vtpu_model *model, const char *path, const char *call)
{
	bool damaged = model && model->damaged;
	enum vtpu_status status;

	if (damaged)
		model->damaged = false; /* which is what loading mends */
	status = model_ready(model, call);
	if (damaged)
		model->damaged = true;
	if (!status && !path)
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "%s: NULL path", call);
	if (!status && model->run)
		status = vtpu_fail(VTPU_ERROR_BUSY, "%s: a fit goes on", call);
	return status;
}

enum vtpu_status vtpu_model_load(struct vtpu_model *model, const char *path)
{
	enum vtpu_status status = may_load(model, path, "vtpu_model_load");

	return status ? status : load(model, path, true);
}

enum vtpu_status vtpu_model_load_weights(struct vtpu_model *model, const char *path)
{
	enum vtpu_status status = may_load(model, path, "vtpu_model_load_weights");

	if (!status && model->damaged)
		status =
			vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				  "vtpu_model_load_weights: the optimiser's states may be in mid-step, too, since a job failed; "
				  "compile the model anew first");
	return status ? status : load(model, path, false);
}
