// SPDX-License-Identifier: MIT
/*
 * compile.c - vtpu_compile(): options, variables, cache, loading.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/compile.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Options ----------------------------------------------------------------------- */

static enum vtpu_status check_options(struct plan *p, struct vtpu_device *device,
				      const struct vtpu_variables *v,
				      const struct vtpu_compile_options *options)
{
	struct vtpu_compile_options *o = &p->options;
	enum vtpu_status status = vtpu_options(o, options, sizeof(*o), "vtpu_compile_options");

	if (status)
		return status;
	p->geometry = device ? vtpu_device_geometry(device) : o->geometry;
	if (!p->geometry)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "compile: there is no device and no geometry; give one of them");
	if ((unsigned int)o->precision > VTPU_PRECISION_BF16)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "compile: there is no precision %d",
				 (int)o->precision);
	if (!o->name)
		o->name = "graph";
	if (!o->cache_dir)
		o->cache_dir = getenv("VTPU_CACHE_DIR");
	if (!o->dump_dir)
		o->dump_dir = getenv("VTPU_DUMP");
	p->cores = o->cores ? o->cores : v ? v->layout->cores : p->geometry->cores;
	if (v && v->layout->cores != p->cores)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"compile: for %u cores, but the variables are for %u; make both the same",
			p->cores, v->layout->cores);
	if (p->cores > p->geometry->cores)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "compile: for %u cores, but the device has %u", p->cores,
				 p->geometry->cores);
	if (v && device && v->device != device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "compile: the variables are on another device");
	return VTPU_OK;
}

/* Are the variables of @graph among those of the layout? */
static enum vtpu_status check_variables(const struct vtpu_graph *graph, const struct layout *l)
{
	for (size_t i = 0; i < graph->nodes; i++) {
		const struct vtpu_node *node = graph->node[i];
		const struct layout_variable *var;
		uint32_t found;

		if (!(node->op->flags & OP_VARIABLE))
			continue;
		found = layout_find(l, node->name);
		if (found == LAYOUT_NONE)
			return vtpu_fail(VTPU_ERROR_NOT_FOUND,
					 "compile: the graph has a variable '%s', which is not among the %zu "
					 "given; make the variables of the graph that trains",
					 node->name, l->variables);
		var = &l->variable[found];
		if (var->type != node->output->type ||
		    !shape_equal(&var->shape, &node->output->shape))
			return vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
					 "compile: '%s' is %s of %llu bytes in the graph, but %s of %llu among "
					 "the variables; these are of another model",
					 node->name, vtpu_dtype_name(node->output->type),
					 (unsigned long long)(shape_elements(&node->output->shape) *
							      vtpu_dtype_bytes(node->output->type)),
					 vtpu_dtype_name(var->type),
					 (unsigned long long)var->bytes);
	}
	return VTPU_OK;
}

/* ---- Loading --------------------------------------------------------------------------- */

static enum vtpu_status load(struct vtpu_executable *x, struct vtpu_device *device,
			     const struct plan *p)
{
	struct vtpu_program_options options =
		VTPU_INIT(options, .flags = VTPU_PROGRAM_STRICT, .name = p->options.name);
	struct vtpu_program_stats stats = VTPU_INIT(stats);
	struct vtpu_load_result found;
	enum vtpu_status status;

	if (!device) {
		status = vtpu_image_validate(x->image, p->geometry, true, &found);
		if (status)
			return status;
		x->info.cycles = found.cycles;
		x->info.mxu_cycles = found.mxu_cycles;
		x->info.macs = found.macs;
		x->info.hbm_traffic = found.hbm_bytes;
		x->info.instances = found.instances;
	} else {
		status = vtpu_program_create(device, x->image, &options, &x->program);
		if (status)
			return status;
		vtpu_program_stats(x->program, &stats);
		x->info.cycles = stats.cycles;
		x->info.mxu_cycles = stats.mxu_cycles;
		x->info.macs = stats.macs;
		x->info.hbm_traffic = stats.hbm_bytes;
		x->info.instances = stats.instances;
	}
	x->info.seconds = (double)x->info.cycles / (1000. * p->geometry->clock_khz);
	if (device && x->temp_bytes) {
		struct vtpu_buffer_options label = VTPU_INIT(label, .label = "temporaries");

		status = vtpu_buffer_alloc(device, x->temp_bytes, &label, &x->temp);
		if (status)
			return vtpu_fail_in(status,
					    "compile: %llu bytes for what does not fit VMEM",
					    (unsigned long long)x->temp_bytes);
	}
	x->bound = arena_array(&x->arena, x->bindings + 1, sizeof(*x->bound));
	x->word = arena_array(&x->arena, x->scalars + 1, sizeof(*x->word));
	x->given = arena_array(&x->arena, x->ios[0] + x->ios[1] + x->ios[2] + 1, sizeof(*x->given));
	return x->bound && x->word && x->given ? VTPU_OK : vtpu_fail_nomem("an executable");
}

static enum vtpu_status compile(struct plan *p, struct vtpu_executable *x,
				struct vtpu_device *device, struct vtpu_variables *variables)
{
	struct layout *own = NULL;
	struct cache_key key = { 0 };
	enum vtpu_status status;

	if (variables) {
		status = check_variables(p->graph, variables->layout);
		p->layout = variables->layout;
	} else {
		status = layout_of(p->graph, p->cores, &own);
		p->layout = own;
	}
	if (!status && !cache_key(&key, p->graph, p->layout, p->geometry, &p->options))
		status = vtpu_fail_nomem("a cache key");
	if (!status && (p->options.dump_dir || !cache_find(&key, p->options.cache_dir, x))) {
		status = compile_build(p, x);
		if (!status)
			cache_put(&key, p->options.cache_dir, x);
	}
	free(key.text);
	if (!status)
		status = load(x, device, p);
	layout_free(own);
	return status;
}

enum vtpu_status vtpu_compile(const struct vtpu_graph *graph, struct vtpu_device *device,
			      struct vtpu_variables *variables,
			      const struct vtpu_compile_options *options,
			      struct vtpu_executable **executable)
{
	enum vtpu_status status = vtpu_graph_status(graph);
	struct plan p = { .graph = graph };
	uint64_t start = now_ns();
	struct vtpu_executable *x;

	if (status)
		return status;
	status = check_options(&p, device, variables, options);
	if (status)
		return status;
	x = calloc(1, sizeof(*x));
	if (!x)
		return vtpu_fail_nomem("an executable");
	x->variables = variables;
	x->note = "not looked up: passes are dumped";
	status = compile(&p, x, device, variables);
	arena_free(&p.arena);
	if (status) {
		vtpu_executable_destroy(x);
		return status;
	}
	x->info.cache_note = x->note;
	x->info.compile_ns = now_ns() - start;
	*executable = x;
	return VTPU_OK;
}

void vtpu_executable_destroy(struct vtpu_executable *x)
{
	if (!x)
		return;
	vtpu_program_destroy(x->program);
	vtpu_buffer_free(x->temp);
	vtpu_image_destroy(x->image);
	arena_free(&x->arena);
	free(x);
}
