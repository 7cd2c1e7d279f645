// SPDX-License-Identifier: MIT
/*
 * harness.c - runs graphs, compiled and interpreted.
 */
#include "compile/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *name, uint64_t i, uint32_t step)
{
	uint64_t h = 0xcbf29ce484222325u ^ (step * 0x9e3779b97f4a7c15u);

	while (*name)
		h = (h ^ (unsigned char)*name++) * 0x100000001b3u;
	h += i * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

double input_value(const char *name, enum vtpu_dtype type, uint64_t i, uint32_t step)
{
	uint64_t h = hash(name, i, step);

	if (strstr(name, "label"))
		return (double)(h % 10);
	if (strstr(name, "weight"))
		return h % 5 ? 1 : 0;
	if (type == VTPU_DTYPE_U8)
		return (double)(h % 256);
	/* few bits, so that bf16 has them too */
	return (double)((int64_t)(h % 255) - 127) / 64;
}

static double scalar_value(const char *name, uint32_t step)
{
	if (strstr(name, "step"))
		return step + 1;
	if (strstr(name, "seed"))
		return 1234;
	return 0.0078125;
}

static void store(void *data, enum vtpu_dtype type, uint64_t i, double v)
{
	uint32_t bits;
	float f = (float)v;

	switch (type) {
	case VTPU_DTYPE_U8:
		((uint8_t *)data)[i] = (uint8_t)v;
		break;
	case VTPU_DTYPE_S32:
		((int32_t *)data)[i] = (int32_t)v;
		break;
	case VTPU_DTYPE_BF16:
		memcpy(&bits, &f, 4);
		((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
		break;
	default:
		((float *)data)[i] = f;
		break;
	}
}

static double fetch(const void *data, enum vtpu_dtype type, uint64_t i)
{
	uint32_t bits;
	float f;

	switch (type) {
	case VTPU_DTYPE_U8:
		return ((const uint8_t *)data)[i];
	case VTPU_DTYPE_S32:
		return ((const int32_t *)data)[i];
	case VTPU_DTYPE_BF16:
		bits = (uint32_t)((const uint16_t *)data)[i] << 16;
		memcpy(&f, &bits, 4);
		return f;
	default:
		return ((const float *)data)[i];
	}
}

/* ---- On the device ---------------------------------------------------------------- */

struct session {
	struct vtpu_device *dev;
	struct vtpu_variables *vars;
	struct vtpu_executable *exe;
	struct vtpu_stream *stream;
	struct vtpu_place feed[MAX_IO], result[MAX_IO];
	struct vtpu_argument scalar[MAX_IO];
	size_t feeds, results, scalars;
};

static bool feed_all(struct session *s, uint32_t step)
{
	struct vtpu_io_info info;

	s->scalars = 0;
	for (size_t i = 0; i < vtpu_executable_io_count(s->exe, VTPU_IO_SCALAR); i++) {
		vtpu_executable_io(s->exe, VTPU_IO_SCALAR, i, &info);
		s->scalar[s->scalars++] =
			(struct vtpu_argument){ info.name, scalar_value(info.name, step) };
	}
	s->feeds = 0;
	for (size_t i = 0; i < vtpu_executable_io_count(s->exe, VTPU_IO_FEED); i++) {
		struct vtpu_place *p = &s->feed[s->feeds];
		void *data;
		bool ok;

		vtpu_executable_io(s->exe, VTPU_IO_FEED, i, &info);
		if (!info.used)
			continue;
		if (!p->buffer && vtpu_buffer_alloc(s->dev, info.place_bytes, NULL, &p->buffer))
			return false;
		p->name = info.name;
		data = malloc(info.bytes);
		for (uint64_t k = 0; k < info.bytes / vtpu_dtype_bytes(info.type); k++)
			store(data, info.type, k, input_value(info.name, info.type, k, step));
		ok = !vtpu_buffer_write(p->buffer, 0, data, info.bytes);
		free(data);
		if (!ok)
			return false;
		s->feeds++;
	}
	return true;
}

static bool place_results(struct session *s)
{
	for (size_t i = 0; i < vtpu_executable_io_count(s->exe, VTPU_IO_RESULT); i++) {
		struct vtpu_io_info info;

		vtpu_executable_io(s->exe, VTPU_IO_RESULT, i, &info);
		s->result[i].name = info.name;
		if (vtpu_buffer_alloc(s->dev, info.place_bytes, NULL, &s->result[i].buffer))
			return false;
		s->results++;
	}
	return true;
}

static bool step_once(struct session *s)
{
	struct vtpu_event *event = NULL;
	bool ok = !vtpu_execute(s->exe, s->stream, s->feed, s->feeds, s->scalar, s->scalars,
				s->result, s->results, &event) &&
		  !vtpu_event_wait(event, VTPU_FOREVER);

	vtpu_event_destroy(event);
	return ok;
}

static void *add(struct outcome *o, const char *name, enum vtpu_dtype type, uint64_t bytes,
		 bool variable)
{
	o->name[o->count] = strdup(name);
	o->type[o->count] = type;
	o->bytes[o->count] = bytes;
	o->variable[o->count] = variable;
	return o->data[o->count++] = malloc(bytes);
}

static bool collect(struct session *s, struct outcome *o)
{
	struct vtpu_io_info info;
	struct vtpu_variable_info var;

	for (size_t i = 0; i < s->results; i++) {
		vtpu_executable_io(s->exe, VTPU_IO_RESULT, i, &info);
		if (vtpu_buffer_read(s->result[i].buffer, 0,
				     add(o, info.name, info.type, info.bytes, false), info.bytes))
			return false;
		/* Every core's copy is the same. */
		for (uint64_t at = info.replica_stride; at && at < info.place_bytes;
		     at += info.replica_stride) {
			void *other = malloc(info.bytes);
			bool same = !vtpu_buffer_read(s->result[i].buffer, at, other, info.bytes) &&
				    !memcmp(other, o->data[o->count - 1], info.bytes);

			free(other);
			if (!same)
				return false;
		}
	}
	for (size_t i = 0; i < vtpu_variables_count(s->vars); i++) {
		vtpu_variables_info(s->vars, i, &var);
		if (vtpu_variables_read(s->vars, var.name,
					add(o, var.name, var.type, var.bytes, true), var.bytes))
			return false;
	}
	return !vtpu_variables_check(s->vars);
}

static bool all(struct session *s, struct vtpu_graph *g, const struct how *how, struct outcome *o)
{
	struct vtpu_compile_options options =
		VTPU_INIT(options, .precision = how->precision, .tile = how->tile,
			  .no_shrink = how->no_shrink, .no_fuse = how->no_fuse,
			  .no_overlap = how->no_overlap, .cache_dir = "", .name = "test");
	char name[64];

	snprintf(name, sizeof(name), "model:v3,cores=%u,hbm=1G", how->cores);
	if (vtpu_open(how->device ? how->device : name, &s->dev) ||
	    vtpu_variables_create(s->dev, g, how->cores, &s->vars) ||
	    vtpu_compile(g, s->dev, s->vars, &options, &s->exe) ||
	    vtpu_stream_create(s->dev, NULL, &s->stream))
		return false;
	o->info = (struct vtpu_executable_info)VTPU_INIT(o->info);
	vtpu_executable_info(s->exe, &o->info);
	vtpu_executable_explain(s->exe, &o->explain);
	if (!place_results(s))
		return false;
	for (uint32_t i = 0; i < (how->steps ? how->steps : 1); i++) {
		if (!feed_all(s, i) || !step_once(s))
			return false;
	}
	return collect(s, o);
}

const char *run(struct vtpu_graph *g, const struct how *how, struct outcome *o)
{
	struct session s = { 0 };
	static char sentence[8192];
	bool ok;

	memset(o, 0, sizeof(*o));
	if (vtpu_graph_status(g))
		return vtpu_last_error();
	ok = all(&s, g, how, o);
	snprintf(sentence, sizeof(sentence), "%s", vtpu_last_error());
	for (size_t i = 0; i < MAX_IO; i++) {
		vtpu_buffer_free(s.feed[i].buffer);
		vtpu_buffer_free(s.result[i].buffer);
	}
	vtpu_stream_destroy(s.stream);
	vtpu_executable_destroy(s.exe);
	vtpu_variables_destroy(s.vars);
	vtpu_close(s.dev);
	return ok ? NULL : sentence;
}

void outcome_free(struct outcome *o)
{
	for (size_t i = 0; i < o->count; i++) {
		free(o->name[i]);
		free(o->data[i]);
	}
	free(o->explain);
	memset(o, 0, sizeof(*o));
}

/* ---- By the interpreter ---------------------------------------------------------------- */

static void interpret_inputs(struct vtpu_graph *g, struct ref_graph *r, uint32_t step)
{
	for (size_t i = 0; i < vtpu_graph_size(g); i++) {
		const struct vtpu_node *node = vtpu_graph_node(g, i);
		const struct vtpu_tensor *t = vtpu_node_output(node, 0);
		const char *name = vtpu_node_name(node);

		if (!strcmp(vtpu_node_op(node), "scalar"))
			ref_graph_value(r, t)[0] = scalar_value(name, step);
		for (uint64_t k = 0;
		     !strcmp(vtpu_node_op(node), "input") && k < vtpu_tensor_elements(t); k++)
			ref_graph_value(r, t)[k] = input_value(name, vtpu_tensor_type(t), k, step);
	}
}

/* The tensor that a result or variable is. */
static const struct vtpu_tensor *tensor_of(struct vtpu_graph *g, const char *name)
{
	for (size_t i = 0; i < vtpu_graph_size(g); i++) {
		const struct vtpu_node *node = vtpu_graph_node(g, i);

		if (!strcmp(vtpu_node_name(node), name))
			return !strcmp(vtpu_node_op(node), "output") ? vtpu_node_input(node, 0) :
								       vtpu_node_output(node, 0);
	}
	return NULL;
}

double compare(struct vtpu_graph *g, const struct how *how, const struct outcome *o, double bound)
{
	struct ref_graph *r = ref_graph_create(g);
	double worst = 0, *result[MAX_IO * 2] = { NULL };
	uint32_t steps = how->steps ? how->steps : 1;

	for (uint32_t step = 0; step < steps; step++) {
		const char *unknown;

		interpret_inputs(g, r, step);
		unknown = ref_graph_eval(r);
		if (unknown) {
			printf("# the interpreter does not know %s\n", unknown);
			return INFINITY;
		}
		for (size_t i = 0; i < o->count && step + 1 == steps; i++) {
			const struct vtpu_tensor *t = tensor_of(g, o->name[i]);
			uint64_t bytes = vtpu_tensor_elements(t) * sizeof(double);

			if (o->variable[i])
				continue;
			result[i] = malloc(bytes);
			memcpy(result[i], ref_graph_value(r, t), bytes);
		}
		ref_graph_assign(r);
	}
	for (size_t i = 0; i < o->count; i++) {
		const struct vtpu_tensor *t = tensor_of(g, o->name[i]);
		const double *want = o->variable[i] ? ref_graph_value(r, t) : result[i];
		double most = 0, error = 0;
		uint64_t at = 0;

		for (uint64_t k = 0; k < vtpu_tensor_elements(t); k++) {
			double d = fabs(fetch(o->data[i], o->type[i], k) - want[k]);

			most = fmax(most, fabs(want[k]));
			if (!(d <= error)) {
				error = d;
				at = k;
			}
		}
		error /= most > 1e-6 ? most : 1e-6;
		if (!(error <= bound))
			printf("# %s[%llu] is %.9g, should be %.9g (largest %.3g): error %.3g\n",
			       o->name[i], (unsigned long long)at,
			       fetch(o->data[i], o->type[i], at), want[at], most, error);
		worst = !(error <= worst) ? error : worst;
		free(result[i]);
	}
	ref_graph_destroy(r);
	return worst;
}

bool same_bits(const struct outcome *a, const struct outcome *b, bool variables_only)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (variables_only && !a->variable[i])
			continue;
		for (uint64_t k = 0; k < a->bytes[i]; k++) {
			if (((uint8_t *)a->data[i])[k] == ((uint8_t *)b->data[i])[k])
				continue;
			k /= vtpu_dtype_bytes(a->type[i]);
			printf("# %s[%llu]: %.9g and %.9g\n", a->name[i], (unsigned long long)k,
			       fetch(a->data[i], a->type[i], k), fetch(b->data[i], b->type[i], k));
			return false;
		}
	}
	return true;
}
