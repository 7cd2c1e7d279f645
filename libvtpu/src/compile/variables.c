// SPDX-License-Identifier: MIT
/*
 * variables.c - parameters and states in HBM: allocation, reading, writing, comparing replicas.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"

static const char *const arena_label[ARENAS] = { "parameters", "states", "moments" };

static uint64_t arena_bytes(const struct layout *l, enum layout_arena arena)
{
	return l->bytes[arena] * (arena == ARENA_MOMENTS ? 1 : l->cores);
}

static enum vtpu_status fill(struct vtpu_variables *v, const struct vtpu_graph *graph)
{
	for (size_t i = 0; i < v->layout->variables; i++) {
		struct layout_variable *var = &v->layout->variable[i];
		const struct vtpu_tensor *t = vtpu_graph_find(graph, var->name);
		void *data = malloc(var->bytes);
		enum vtpu_status status;

		if (!data)
			return vtpu_fail_nomem("initial values");
		status = vtpu_initial_values(t, data, var->bytes);
		if (!status)
			status = vtpu_variables_write(v, var->name, data, var->bytes);
		free(data);
		var->tensor = NULL;
		if (status)
			return status;
	}
	return VTPU_OK;
}

enum vtpu_status vtpu_variables_create(struct vtpu_device *device, const struct vtpu_graph *graph,
				       uint32_t cores, struct vtpu_variables **variables)
{
	enum vtpu_status status = vtpu_graph_status(graph);
	uint32_t most = vtpu_device_geometry(device)->cores;
	struct vtpu_variables *v;

	if (status)
		return status;
	if (cores > most)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "variables for %u cores: the device '%s' has %u", cores,
				 vtpu_device_name(device), most);
	v = calloc(1, sizeof(*v));
	if (!v)
		return vtpu_fail_nomem("variables");
	v->device = device;
	status = layout_of(graph, cores ? cores : most, &v->layout);
	for (int a = 0; a < ARENAS && !status; a++) {
		struct vtpu_buffer_options options = VTPU_INIT(options, .label = arena_label[a]);
		uint64_t bytes = arena_bytes(v->layout, a);

		if (bytes)
			status = vtpu_buffer_alloc(device, bytes, &options, &v->buffer[a]);
		if (status)
			status = vtpu_fail_in(status, "%s of %zu variables, %" PRIu64 " bytes",
					      arena_label[a], v->layout->variables, bytes);
	}
	if (!status)
		status = fill(v, graph);
	if (status) {
		vtpu_variables_destroy(v);
		return status;
	}
	*variables = v;
	return VTPU_OK;
}

void vtpu_variables_destroy(struct vtpu_variables *v)
{
	if (!v)
		return;
	for (int a = 0; a < ARENAS; a++)
		vtpu_buffer_free(v->buffer[a]);
	layout_free(v->layout);
	free(v);
}

size_t vtpu_variables_count(const struct vtpu_variables *v)
{
	return v->layout->variables;
}

enum vtpu_status vtpu_variables_info(const struct vtpu_variables *v, size_t index,
				     struct vtpu_variable_info *info)
{
	const struct layout_variable *var;

	if (index >= v->layout->variables)
		return vtpu_fail(VTPU_ERROR_NOT_FOUND, "variable %zu of %zu", index,
				 v->layout->variables);
	var = &v->layout->variable[index];
	*info = (struct vtpu_variable_info){
		.name = var->name,
		.type = var->type,
		.shape = var->shape,
		.bytes = var->bytes,
		.trainable = var->trainable,
		.replicated = var->arena != ARENA_MOMENTS,
	};
	return VTPU_OK;
}

enum vtpu_status vtpu_variables_find(const struct vtpu_variables *v, const char *name,
				     size_t *index)
{
	uint32_t found = layout_find(v->layout, name);

	if (found == LAYOUT_NONE)
		return vtpu_fail(
			VTPU_ERROR_NOT_FOUND,
			"variables: there is no '%s' among the %zu; names have their scopes in front",
			name, v->layout->variables);
	*index = found;
	return VTPU_OK;
}

/* The variable of that name, if it has @bytes. */
static enum vtpu_status look_up(const struct vtpu_variables *v, const char *name, uint64_t bytes,
				const struct layout_variable **var)
{
	size_t index = 0;
	enum vtpu_status status = vtpu_variables_find(v, name, &index);

	if (status)
		return status;
	*var = &v->layout->variable[index];
	if ((*var)->bytes == bytes)
		return VTPU_OK;
	return vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
			 "variable '%s' has %" PRIu64 " bytes, but %" PRIu64 " were given", name,
			 (*var)->bytes, bytes);
}

enum vtpu_status vtpu_variables_read(struct vtpu_variables *v, const char *name, void *data,
				     uint64_t bytes)
{
	const struct layout_variable *var;
	enum vtpu_status status = look_up(v, name, bytes, &var);

	return status ? status : vtpu_buffer_read(v->buffer[var->arena], var->offset, data, bytes);
}

enum vtpu_status vtpu_variables_write(struct vtpu_variables *v, const char *name, const void *data,
				      uint64_t bytes)
{
	const struct layout_variable *var;
	enum vtpu_status status = look_up(v, name, bytes, &var);
	uint32_t replicas;

	if (status)
		return status;
	replicas = var->arena == ARENA_MOMENTS ? 1 : v->layout->cores;
	for (uint32_t c = 0; c < replicas && !status; c++)
		status = vtpu_buffer_write(v->buffer[var->arena],
					   var->offset + c * v->layout->bytes[var->arena], data,
					   bytes);
	return status;
}

/* First variable of an arena whose bytes differ between two replicas. */
static const struct layout_variable *differs(const struct layout *l, enum layout_arena arena,
					     const uint8_t *a, const uint8_t *b)
{
	for (size_t i = 0; i < l->variables; i++) {
		const struct layout_variable *var = &l->variable[i];

		if (var->arena == arena && memcmp(a + var->offset, b + var->offset, var->bytes))
			return var;
	}
	return NULL;
}

/*
 * Cores 0 and @core differ in @var, and the cores between agree with 0. Which one is wrong? Of the
 * first two a third one tells, if there is one.
 */
static enum vtpu_status name_odd_one(struct vtpu_variables *v, enum layout_arena arena,
				     const struct layout_variable *var, const uint8_t *right,
				     uint8_t *third, uint32_t core)
{
	const struct layout *l = v->layout;
	uint32_t odd = core;

	if (core == 1 && l->cores > 2) {
		enum vtpu_status status = vtpu_buffer_read(v->buffer[arena],
							   2 * l->bytes[arena] + var->offset, third,
							   var->bytes);

		if (status)
			return status;
		if (!memcmp(third, right + var->offset, var->bytes))
			odd = 0;
	}
	return vtpu_fail(VTPU_ERROR_NUMERIC,
			 "replicas differ: '%s' of core %u is not that of %s%u; a fault in the device, or "
			 "somebody wrote to it",
			 var->name, odd, l->cores > 2 ? "the others, as of core " : "core ", !odd);
}

enum vtpu_status vtpu_variables_check(struct vtpu_variables *v)
{
	const struct layout *l = v->layout;
	enum vtpu_status status = VTPU_OK;

	for (int a = 0; a < ARENA_MOMENTS && !status; a++) {
		uint64_t bytes = l->bytes[a];
		uint8_t *first = malloc(bytes + 1), *other = malloc(bytes + 1);
		uint8_t *third = malloc(bytes + 1);

		if (!first || !other || !third)
			status = vtpu_fail_nomem("a comparison of replicas");
		if (bytes && !status)
			status = vtpu_buffer_read(v->buffer[a], 0, first, bytes);
		for (uint32_t c = 1; bytes && c < l->cores && !status; c++) {
			const struct layout_variable *var;

			status = vtpu_buffer_read(v->buffer[a], c * bytes, other, bytes);
			var = status ? NULL : differs(l, a, first, other);
			if (var)
				status = name_odd_one(v, a, var, other, third, c);
		}
		free(first);
		free(other);
		free(third);
	}
	return status;
}

uint32_t vtpu_variables_cores(const struct vtpu_variables *v)
{
	return v->layout->cores;
}

uint64_t vtpu_variables_bytes(const struct vtpu_variables *v)
{
	uint64_t bytes = 0;

	for (int a = 0; a < ARENAS; a++)
		bytes += arena_bytes(v->layout, a);
	return bytes;
}
