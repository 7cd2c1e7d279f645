// SPDX-License-Identifier: MIT
/*
 * layer.c - layers: what each does to a graph, and the calls that add one.
 */
#include <string.h>

#include "graph/graph.h"
#include "train/train.h"

static struct vtpu_tensor *seed_scalar(struct layer_graph *to)
{
	if (!to->seed_scalar)
		to->seed_scalar = vtpu_scalar(to->graph, "seed", VTPU_DTYPE_S32);
	return to->seed_scalar;
}

struct vtpu_tensor *layer_step(struct layer_graph *to)
{
	if (!to->step_scalar)
		to->step_scalar = vtpu_scalar(to->graph, "step", VTPU_DTYPE_S32);
	return to->step_scalar;
}

static struct vtpu_tensor *parameter(struct layer_graph *to, const struct layer *l,
				     const char *name, struct vtpu_shape shape)
{
	struct vtpu_initial initial = l->options.initial;

	if (!strcmp(name, "bias"))
		initial = (struct vtpu_initial){ 0 };
	else if (initial.kind == VTPU_INITIAL_ZEROS)
		initial.kind = VTPU_INITIAL_GLOROT_UNIFORM;
	initial.seed = to->seed;
	return vtpu_parameter(to->graph, name, VTPU_DTYPE_F32, shape, &initial);
}

static struct vtpu_tensor *activate(struct vtpu_graph *g, enum vtpu_activation activation,
				    struct vtpu_tensor *x)
{
	switch (activation) {
	case VTPU_ACT_RELU:
		return vtpu_relu(g, x);
	case VTPU_ACT_SIGMOID:
		return vtpu_sigmoid(g, x);
	case VTPU_ACT_TANH:
		return vtpu_tanh(g, x);
	case VTPU_ACT_GELU:
		return vtpu_gelu(g, x);
	case VTPU_ACT_SILU:
		return vtpu_silu(g, x);
	default:
		return x;
	}
}

static struct vtpu_tensor *bias_and_activation(struct layer_graph *to, const struct layer *l,
					       struct vtpu_tensor *x)
{
	if (!l->options.no_bias)
		x = vtpu_bias_add(to->graph, x, parameter(to, l, "bias", VTPU_SHAPE(l->units)));
	return activate(to->graph, l->options.activation, x);
}

/* ---- What each kind does ------------------------------------------------------- */

static struct vtpu_tensor *build_normalize(struct layer_graph *to, const struct layer *l,
					   struct vtpu_tensor *x)
{
	return vtpu_affine(to->graph, x, 1 / l->deviation, -l->mean / l->deviation, VTPU_DTYPE_F32);
}

static struct vtpu_tensor *build_conv2d(struct layer_graph *to, const struct layer *l,
					struct vtpu_tensor *x)
{
	struct vtpu_shape in = vtpu_tensor_shape(x);
	int32_t groups = l->options.conv.groups ? l->options.conv.groups : 1;
	int64_t channels = in.rank == 4 && groups > 0 ? in.dim[3] / groups : 1;

	x = vtpu_conv2d(to->graph, x,
			parameter(to, l, "weights",
				  VTPU_SHAPE(l->size, l->size, channels ? channels : 1, l->units)),
			&l->options.conv);
	return bias_and_activation(to, l, x);
}

static struct vtpu_tensor *build_dense(struct layer_graph *to, const struct layer *l,
				       struct vtpu_tensor *x)
{
	struct vtpu_shape in = vtpu_tensor_shape(x);
	int64_t inputs = in.rank ? in.dim[in.rank - 1] : 1;

	x = vtpu_matmul(to->graph, x, parameter(to, l, "weights", VTPU_SHAPE(inputs, l->units)),
			NULL);
	return bias_and_activation(to, l, x);
}

static struct vtpu_tensor *build_max_pool(struct layer_graph *to, const struct layer *l,
					  struct vtpu_tensor *x)
{
	return vtpu_max_pool(to->graph, x, &l->pool);
}

static struct vtpu_tensor *build_avg_pool(struct layer_graph *to, const struct layer *l,
					  struct vtpu_tensor *x)
{
	return vtpu_avg_pool(to->graph, x, &l->pool);
}

static struct vtpu_tensor *build_flatten(struct layer_graph *to, const struct layer *l,
					 struct vtpu_tensor *x)
{
	(void)l;
	return vtpu_flatten(to->graph, x);
}

static struct vtpu_tensor *build_activation(struct layer_graph *to, const struct layer *l,
					    struct vtpu_tensor *x)
{
	return activate(to->graph, l->options.activation, x);
}

static struct vtpu_tensor *build_dropout(struct layer_graph *to, const struct layer *l,
					 struct vtpu_tensor *x)
{
	struct vtpu_dropout_attrs attrs = { .rate = l->rate };

	if (!to->training)
		return x;
	return vtpu_dropout(to->graph, x, seed_scalar(to), layer_step(to), &attrs);
}

static struct vtpu_tensor *build_batch_norm(struct layer_graph *to, const struct layer *l,
					    struct vtpu_tensor *x)
{
	const struct vtpu_initial one = { .kind = VTPU_INITIAL_CONSTANT, .mean = 1 };
	struct vtpu_shape in = vtpu_tensor_shape(x);
	struct vtpu_shape channels = VTPU_SHAPE(in.rank ? in.dim[in.rank - 1] : 1);
	struct vtpu_graph *g = to->graph;
	struct vtpu_tensor *gamma, *beta, *mean, *variance;

	gamma = vtpu_parameter(g, "gamma", VTPU_DTYPE_F32, channels, &one);
	beta = vtpu_parameter(g, "beta", VTPU_DTYPE_F32, channels, NULL);
	mean = vtpu_state(g, "mean", VTPU_DTYPE_F32, channels, NULL);
	variance = vtpu_state(g, "variance", VTPU_DTYPE_F32, channels, &one);
	if (to->training && to->look)
		return vtpu_batch_norm(g, x, gamma, beta, NULL, NULL, &l->norm);
	if (to->training)
		return vtpu_batch_norm(g, x, gamma, beta, mean, variance, &l->norm);
	return vtpu_batch_norm_infer(g, x, gamma, beta, mean, variance, &l->norm);
}

static const struct layer_kind normalize = { "normalize", build_normalize },
			       conv2d = { "conv2d", build_conv2d },
			       dense = { "dense", build_dense },
			       max_pool = { "max_pool", build_max_pool },
			       avg_pool = { "avg_pool", build_avg_pool },
			       flatten = { "flatten", build_flatten },
			       activation_kind = { "activation", build_activation },
			       dropout = { "dropout", build_dropout },
			       batch_norm = { "batch_norm", build_batch_norm };

struct vtpu_tensor *layer_build(struct layer_graph *to, const struct layer *layer,
				struct vtpu_tensor *x)
{
	if (to->training && layer->kind == &dropout) {
		/* One of each for the whole graph, in no layer's scope. */
		seed_scalar(to);
		layer_step(to);
	}
	vtpu_scope_begin(to->graph, layer->name);
	if (vtpu_tensor_type(x) == VTPU_DTYPE_U8 && layer->kind != &normalize &&
	    layer->kind != &flatten)
		x = vtpu_cast(to->graph, x, VTPU_DTYPE_F32);
	x = layer->kind->build(to, layer, x);
	vtpu_scope_end(to->graph);
	return x;
}

/* ---- The calls ---------------------------------------------------------------------- */

static void fail(struct vtpu_model *m, const struct layer *l, const char *why)
{
	graph_fail(m->probe.graph, VTPU_ERROR_INVALID_ARGUMENT, "layer '%s' (%s): %s",
		   l->name ? l->name : "NULL", l->kind->name, why);
}

static bool check(struct vtpu_model *m, const struct layer *l)
{
	const char *why = NULL;

	if (!l->name || !*l->name)
		why = "a layer needs a name";
	else if (l->options.activation == VTPU_ACT_LEAKY_RELU ||
		 (unsigned int)l->options.activation > VTPU_ACT_SILU)
		why = "the activation is none of NONE, RELU, SIGMOID, TANH, GELU, SILU";
	else if ((l->kind == &conv2d || l->kind == &dense) && !l->units)
		why = "0 results; give at least 1";
	else if ((l->kind == &conv2d || l->kind == &max_pool || l->kind == &avg_pool) && !l->size)
		why = "a window of size 0; give at least 1";
	else if (l->kind == &normalize && !(l->deviation > 0))
		why = "the deviation must be more than 0";
	for (size_t i = 0; i < m->layers && !why; i++)
		if (!strcmp(m->layer[i]->name, l->name))
			why = "there is a layer of that name already";
	if (why)
		fail(m, l, why);
	return !why;
}

static bool grow(struct vtpu_model *m)
{
	size_t room = m->room ? m->room * 2 : 16;
	struct vtpu_tensor **result;
	struct layer **layer;

	if (m->layers < m->room)
		return true;
	layer = arena_array(&m->arena, room, sizeof(struct layer *));
	result = arena_array(&m->arena, room, sizeof(struct vtpu_tensor *));
	if (!layer || !result)
		return false;
	if (m->layers) {
		memcpy(layer, m->layer, m->layers * sizeof(struct layer *));
		memcpy(result, m->result, m->layers * sizeof(struct vtpu_tensor *));
	}
	m->layer = layer;
	m->result = result;
	m->room = room;
	return true;
}

static void add(struct vtpu_model *m, const struct layer_kind *kind, const char *name,
		struct layer layer)
{
	struct layer *l;

	if (!m || !graph_usable(m->probe.graph))
		return;
	layer.kind = kind;
	layer.name = name;
	if (!check(m, &layer))
		return;
	l = arena_copy(&m->arena, &layer, sizeof(layer));
	if (!l || !grow(m) || !(l->name = arena_printf(&m->arena, "%s", name))) {
		graph_nomem(m->probe.graph);
		return;
	}
	if (l->options.initial.kind == VTPU_INITIAL_DATA) {
		l->options.initial.data = arena_copy(&m->arena, l->options.initial.data,
						     l->options.initial.data_bytes);
		if (!l->options.initial.data) {
			graph_nomem(m->probe.graph);
			return;
		}
	}
	m->last = layer_build(&m->probe, l, m->last);
	m->result[m->layers] = m->last;
	m->layer[m->layers++] = l;
}

void vtpu_model_normalize(struct vtpu_model *model, const char *name, float mean, float deviation)
{
	add(model, &normalize, name, (struct layer){ .mean = mean, .deviation = deviation });
}

void vtpu_model_conv2d(struct vtpu_model *model, const char *name, uint32_t filters, uint32_t size,
		       const struct vtpu_layer_options *options)
{
	add(model, &conv2d, name,
	    (struct layer){ .units = filters,
			    .size = size,
			    .options = options ? *options : (struct vtpu_layer_options){ 0 } });
}

static struct layer pool_layer(uint32_t size, const struct vtpu_pool_attrs *attrs)
{
	struct layer l = { .size = size };

	if (attrs)
		l.pool = *attrs;
	l.pool.window[0] = l.pool.window[1] = (int32_t)size;
	return l;
}

void vtpu_model_max_pool(struct vtpu_model *model, const char *name, uint32_t size,
			 const struct vtpu_pool_attrs *attrs)
{
	add(model, &max_pool, name, pool_layer(size, attrs));
}

void vtpu_model_avg_pool(struct vtpu_model *model, const char *name, uint32_t size,
			 const struct vtpu_pool_attrs *attrs)
{
	add(model, &avg_pool, name, pool_layer(size, attrs));
}

void vtpu_model_flatten(struct vtpu_model *model, const char *name)
{
	add(model, &flatten, name, (struct layer){ 0 });
}

void vtpu_model_dense(struct vtpu_model *model, const char *name, uint32_t units,
		      const struct vtpu_layer_options *options)
{
	add(model, &dense, name,
	    (struct layer){ .units = units,
			    .options = options ? *options : (struct vtpu_layer_options){ 0 } });
}

void vtpu_model_activation(struct vtpu_model *model, const char *name,
			   enum vtpu_activation activation)
{
	add(model, &activation_kind, name,
	    (struct layer){ .options = { .activation = activation } });
}

void vtpu_model_dropout(struct vtpu_model *model, const char *name, float rate)
{
	add(model, &dropout, name, (struct layer){ .rate = rate });
}

void vtpu_model_batch_norm(struct vtpu_model *model, const char *name,
			   const struct vtpu_batch_norm_attrs *attrs)
{
	add(model, &batch_norm, name,
	    (struct layer){ .norm = attrs ? *attrs : (struct vtpu_batch_norm_attrs){ 0 } });
}
