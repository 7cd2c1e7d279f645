// SPDX-License-Identifier: MIT
/*
 * model.c - life of models, on the device too; their programs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "graph/graph.h"
#include "train/train.h"

struct vtpu_shape model_shape(const struct vtpu_model *model, uint32_t batch)
{
	struct vtpu_shape shape = { .rank = model->sample.rank + 1, .dim = { batch } };

	memcpy(shape.dim + 1, model->sample.dim, model->sample.rank * sizeof(*shape.dim));
	return shape;
}

uint32_t model_classes(const struct vtpu_model *model)
{
	struct vtpu_shape shape = vtpu_tensor_shape(model->last);

	return model->layers && shape.rank == 2 ? (uint32_t)shape.dim[1] : 0;
}

/* ---- Life --------------------------------------------------------------------- */

enum vtpu_status vtpu_model_create(const char *name, enum vtpu_dtype type, struct vtpu_shape sample,
				   struct vtpu_model **model)
{
	enum vtpu_status status;
	struct vtpu_model *m;

	if (!name || !model || sample.rank >= VTPU_MAX_RANK)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_create: %s",
				 name && model ?
					 "the batch is one more dimension, and there are too many" :
					 "NULL name or result");
	if (type == VTPU_DTYPE_DEFAULT)
		type = VTPU_DTYPE_F32;
	if (type != VTPU_DTYPE_U8 && type != VTPU_DTYPE_F32)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_model_create: samples of %s; expected u8 or f32",
				 vtpu_dtype_name(type));
	m = calloc(1, sizeof(*m));
	if (!m)
		return vtpu_fail_nomem("a model");
	m->type = type;
	m->sample = sample;
	m->probe.training = true;
	m->name = arena_printf(&m->arena, "%s", name);
	status = m->name ? vtpu_graph_create(&m->probe.graph) : vtpu_fail_nomem("a model");
	if (!status) {
		m->last = vtpu_input(m->probe.graph, "x", type, model_shape(m, 1));
		status = vtpu_graph_status(m->probe.graph);
	}
	if (status)
		vtpu_model_destroy(m);
	else
		*model = m;
	return status;
}

void model_drop_programs(struct vtpu_model *m, const struct model_program *until)
{
	struct model_program *p;

	while ((p = m->program) != until) {
		m->program = p->next;
		vtpu_executable_destroy(p->executable);
		free(p);
	}
}

static void free_programs(struct vtpu_model *m)
{
	if (m->stream)
		vtpu_stream_sync(m->stream, VTPU_FOREVER);
	model_drop_programs(m, NULL);
	vtpu_stream_destroy(m->stream);
	vtpu_variables_destroy(m->variables);
	if (m->device)
		vtpu_device_put(m->device);
	m->stream = NULL;
	m->variables = NULL;
	m->device = NULL;
}

void vtpu_model_destroy(struct vtpu_model *model)
{
	if (!model)
		return;
	free_programs(model);
	vtpu_graph_destroy(model->probe.graph);
	arena_free(&model->arena);
	free(model);
}

enum vtpu_status vtpu_model_status(const struct vtpu_model *model)
{
	enum vtpu_status status;

	if (!model)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_model_status: NULL");
	status = vtpu_graph_status(model->probe.graph);
	return status ? vtpu_fail_in(status, "model '%s'", model->name) : VTPU_OK;
}

/* ---- On a device ----------------------------------------------------------------- */

static enum vtpu_status check_end(const struct vtpu_model *m)
{
	struct vtpu_shape shape = vtpu_tensor_shape(m->last);

	if (!m->layers)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "model '%s' has no layers", m->name);
	if (shape.rank != 2)
		return vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
				 "model '%s': the last layer '%s' gives %u dimensions; expected [batch, classes]: end in "
				 "flatten and dense",
				 m->name, m->layer[m->layers - 1]->name, shape.rank);
	if (shape.dim[1] < 2)
		return vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
				 "model '%s': the last layer '%s' gives 1 class; expected 2 or more",
				 m->name, m->layer[m->layers - 1]->name);
	return VTPU_OK;
}

static enum vtpu_status take_options(struct vtpu_model *m, const struct vtpu_model_options *options,
				     struct vtpu_model_options *o)
{
	enum vtpu_status status = vtpu_options(o, options, sizeof(*o), "vtpu_model_options");

	if (status)
		return status;
	if ((unsigned int)o->optimiser > VTPU_OPTIMISER_SGD)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "model '%s': optimiser %d is none",
				 m->name, o->optimiser);
	if (o->cache_dir && !(o->cache_dir = arena_printf(&m->arena, "%s", o->cache_dir)))
		return vtpu_fail_nomem("options");
	if (o->dump_dir && !(o->dump_dir = arena_printf(&m->arena, "%s", o->dump_dir)))
		return vtpu_fail_nomem("options");
	return VTPU_OK;
}

enum vtpu_status vtpu_model_compile(struct vtpu_model *model, struct vtpu_device *device,
				    const struct vtpu_model_options *options)
{
	enum vtpu_status status = vtpu_model_status(model);
	struct vtpu_variables *variables = NULL;
	struct vtpu_graph *graph = NULL;
	struct vtpu_model_options o;
	uint32_t cores;

	if (!status)
		status = vtpu_device_usable(device, "vtpu_model_compile");
	if (!status)
		status = check_end(model);
	if (!status)
		status = take_options(model, options, &o);
	if (status)
		return status;
	cores = o.cores ? o.cores : vtpu_device_geometry(device)->cores;
	status = model_graph(model, &o, VTPU_MODEL_TRAIN, cores, false, &graph);
	if (!status)
		status = vtpu_variables_create(device, graph, cores, &variables);
	vtpu_graph_destroy(graph);
	if (status)
		return vtpu_fail_in(status, "model '%s'", model->name);
	free_programs(model);
	model->device = vtpu_device_get(device);
	model->variables = variables;
	model->options = o;
	model->cores = cores;
	model->place = (struct model_place){ 0 };
	model->damaged = false;
	return VTPU_OK;
}

struct vtpu_variables *vtpu_model_variables(struct vtpu_model *model)
{
	return model ? model->variables : NULL;
}

enum vtpu_status model_ready(const struct vtpu_model *model, const char *call)
{
	enum vtpu_status status = vtpu_model_status(model);

	if (status)
		return status;
	if (!model->device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: model '%s' is not compiled; call vtpu_model_compile() first",
				 call, model->name);
	if (model->damaged)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: model '%s' may be in mid-step since a job failed (%s); load a file that was saved, or "
				 "compile it anew",
				 call, model->name, model->failure);
	return vtpu_device_usable(model->device, call);
}

enum vtpu_status model_batch(const struct vtpu_model *model, uint32_t *batch)
{
	uint32_t cores = model->cores;

	if (!*batch)
		*batch = BATCH_PER_CORE * cores;
	if (*batch < cores)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "a batch of %u samples is less than the mesh of %u cores, which share it; use at least "
				 "%u, or fewer cores",
				 *batch, cores, cores);
	if (*batch % cores)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"a batch of %u samples cannot be shared by %u cores; use a multiple, such as %u",
			*batch, cores, (*batch + cores - 1) / cores * cores);
	return VTPU_OK;
}

enum vtpu_status model_program(struct vtpu_model *model, enum vtpu_model_program kind,
			       uint32_t batch, struct model_program **program)
{
	static const char *const word[] = { "train", "evaluate", "predict" };
	struct vtpu_compile_options options = VTPU_INIT(options);
	uint64_t start = run_now();
	struct model_program *p;
	struct vtpu_graph *graph;
	enum vtpu_status status;
	char name[128];

	for (p = model->program; p; p = p->next) {
		if (p->kind == kind && p->batch == batch) {
			*program = p;
			return VTPU_OK;
		}
	}
	status = model_graph(model, &model->options, kind, batch, false, &graph);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%.80s/%s", model->name, word[kind]);
	options.cores = model->cores;
	options.precision = model->options.precision;
	options.cache_dir = model->options.cache_dir;
	options.dump_dir = model->options.dump_dir;
	options.name = name;
	p = calloc(1, sizeof(*p));
	status =
		p ? vtpu_compile(graph, model->device, model->variables, &options, &p->executable) :
		    vtpu_fail_nomem("a program");
	vtpu_graph_destroy(graph);
	if (status) {
		free(p);
		return status;
	}
	p->kind = kind;
	p->batch = batch;
	p->compile_seconds = (double)(run_now() - start) * 1e-9;
	p->next = model->program;
	model->program = p;
	*program = p;
	return VTPU_OK;
}

enum vtpu_status vtpu_model_executable(struct vtpu_model *model, enum vtpu_model_program program,
				       uint32_t batch, struct vtpu_executable **executable)
{
	enum vtpu_status status = model_ready(model, "vtpu_model_executable");
	struct model_program *p;

	if (!status && ((unsigned int)program > VTPU_MODEL_PREDICT || !executable))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				   "vtpu_model_executable: program %d, or NULL", program);
	if (!status)
		status = model_batch(model, &batch);
	if (!status)
		status = model_program(model, program, batch, &p);
	if (status)
		return vtpu_fail_in(status, "model '%s'", model->name);
	*executable = p->executable;
	return VTPU_OK;
}

enum vtpu_status vtpu_model_graph(const struct vtpu_model *model,
				  const struct vtpu_model_options *options,
				  enum vtpu_model_program program, uint32_t batch,
				  struct vtpu_graph **graph)
{
	enum vtpu_status status = vtpu_model_status(model);
	struct vtpu_model_options o;

	if (!status)
		status = check_end(model);
	if (!status)
		status = vtpu_options(&o, options, sizeof(o), "vtpu_model_options");
	if (!status && ((unsigned int)program > VTPU_MODEL_PREDICT || !batch || !graph))
		status = vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				   "vtpu_model_graph: program %d, a batch of %u, or NULL", program,
				   batch);
	return status ? status : model_graph(model, &o, program, batch, false, graph);
}

enum vtpu_status model_stream(struct vtpu_model *model)
{
	return model->stream ? VTPU_OK : vtpu_stream_create(model->device, NULL, &model->stream);
}

void model_failed(struct vtpu_model *model)
{
	model->damaged = true;
	snprintf(model->failure, sizeof(model->failure), "%s", vtpu_last_error());
	vtpu_stream_destroy(model->stream);
	model->stream = NULL;
}

static const char *show(enum vtpu_dtype type, const struct vtpu_shape *shape, char *text,
			size_t bytes)
{
	int n = snprintf(text, bytes, "%s[", vtpu_dtype_name(type));

	for (uint32_t i = 0; i < shape->rank; i++)
		n += snprintf(text + n, bytes - n, "%s%" PRId64, i ? "," : "", shape->dim[i]);
	snprintf(text + n, bytes - n, "]");
	return text;
}

enum vtpu_status model_check_data(const struct vtpu_model *model, const struct vtpu_data *data,
				  enum vtpu_dtype type, const struct vtpu_shape *sample,
				  bool labels)
{
	struct vtpu_data_info info = VTPU_INIT(info);
	enum vtpu_status status = vtpu_data_info(data, &info);
	char have[160], want[160];
	bool same = !status && type == model->type && sample->rank == model->sample.rank;

	if (status)
		return status;
	for (uint32_t i = 0; same && i < sample->rank; i++)
		same = sample->dim[i] == model->sample.dim[i];
	if (!same)
		return vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
				 "data '%s' has samples %s, model '%s' takes %s", info.name,
				 show(type, sample, have, sizeof(have)), model->name,
				 show(model->type, &model->sample, want, sizeof(want)));
	if (labels && !info.classes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "data '%s' has no labels to train or score on", info.name);
	if (labels &&
	    (info.classes > model_classes(model) || info.label_type != model_label_type(model)))
		return vtpu_fail(
			VTPU_ERROR_SHAPE_MISMATCH,
			"data '%s' has %u classes, model '%s' ends in %u; change the last layer",
			info.name, info.classes, model->name, model_classes(model));
	return VTPU_OK;
}
