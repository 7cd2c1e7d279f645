// SPDX-License-Identifier: MIT
/*
 * test_ops.c - the ready-made operations, built, run on a model and compared
 * with double precision; and their bits, which no width or tiling may change.
 */
#include <math.h>
#include <stdlib.h>

#include <vtpu/ops.h>

#include "ops_reference.h"
#include "run_image.h"
#include "tap.h"
#include "vtpu_isa.h"

static struct vtpu_device *device;

/* ---- Dense --------------------------------------------------------------------------- */

#define LAYERS 4

struct model {
	struct vtpu_layer layer[LAYERS];
	struct weights p[LAYERS];
	uint32_t layers;
	struct array x;
	enum vtpu_dtype y_type;
};

static void model_make(struct model *m, uint64_t rows, uint32_t k, enum vtpu_dtype x_type)
{
	m->x = random_array(rows, k, x_type, 1);
	for (uint32_t i = 0; i < m->layers; i++) {
		struct vtpu_layer *l = &m->layer[i];
		struct weights *p = &m->p[i];

		p->w = l->w_transposed ? random_array(l->n, k, l->w_type, 10 + i) :
					 random_array(k, l->n, l->w_type, 10 + i);
		p->scale = random_array(1, l->n, VTPU_DTYPE_F32, 20 + i);
		p->bias = random_array(1, l->n, VTPU_DTYPE_F32, 30 + i);
		p->residual = random_array(rows, l->n, m->y_type, 40 + i);
		k = l->n;
	}
}

static void model_free(struct model *m)
{
	for (uint32_t i = 0; i < m->layers; i++) {
		array_free(&m->p[i].w);
		array_free(&m->p[i].scale);
		array_free(&m->p[i].bias);
		array_free(&m->p[i].residual);
	}
	array_free(&m->x);
}

/* Build and run; y's data is filled in. */
static bool model_run(struct model *m, uint32_t width, const struct vtpu_tiling *tiling,
		      struct array *y, struct vtpu_plan *plan)
{
	struct vtpu_dense_options o =
		VTPU_INIT(o, .geometry = vtpu_device_geometry(device), .width = width);
	struct run_array arrays[2 + 4 * LAYERS];
	char names[4 * LAYERS][VTPU_MAX_NAME];
	struct vtpu_image *image;
	unsigned int n = 0, named = 0;
	bool ok;

	o.m = m->x.rows;
	o.k = m->x.cols;
	o.x_type = m->x.type;
	o.y_type = m->y_type;
	o.layers = m->layer;
	o.layer_count = m->layers;
	if (tiling)
		o.tiling = *tiling;
	if (vtpu_dense_build(&o, &image, plan)) {
		printf("# %s\n", vtpu_last_error());
		return false;
	}
	arrays[n++] = (struct run_array){ "x", m->x.data, array_bytes(&m->x), false };
	for (uint32_t i = 0; i < m->layers; i++) {
		const struct vtpu_layer *l = &m->layer[i];
		struct {
			bool used;
			const char *part;
			struct array *a;
		} parts[] = {
			{ true, "w", &m->p[i].w },
			{ l->column_scale, "scale", &m->p[i].scale },
			{ l->bias, "bias", &m->p[i].bias },
			{ l->residual, "residual", &m->p[i].residual },
		};

		for (unsigned int j = 0; j < 4; j++) {
			if (!parts[j].used)
				continue;
			snprintf(names[named], sizeof(names[0]), "%s.%s", l->name, parts[j].part);
			arrays[n++] = (struct run_array){ names[named++], parts[j].a->data,
							  array_bytes(parts[j].a), false };
		}
	}
	arrays[n++] = (struct run_array){ "y", y->data, array_bytes(y), true };
	ok = run_image(device, image, arrays, n);
	vtpu_image_destroy(image);
	return ok;
}

static void model_reference(const struct model *m, struct array *y)
{
	struct array in = m->x, out = { 0 };

	for (uint32_t i = 0; i < m->layers; i++) {
		bool last = i == m->layers - 1;
		enum vtpu_dtype type = last ? m->y_type : m->layer[i + 1].w_type;

		out = array(y->rows, m->layer[i].n, VTPU_DTYPE_F32);
		if (!i && m->layer[0].w_type == VTPU_DTYPE_BF16)
			for (uint64_t e = 0; e < in.rows * in.cols; e++)
				in.value[e] = from_bf16(to_bf16(in.value[e]));
		reference_layer(&m->layer[i], &m->p[i], &in, &out);
		if (m->layer[i].softmax)
			reference_softmax(&out, 1, 0);
		for (uint64_t e = 0; e < out.rows * out.cols; e++)
			round_to(&out.value[e], &out.error[e], type);
		if (i)
			array_free(&in);
		in = out;
	}
	memcpy(y->value, out.value, y->rows * y->cols * sizeof(double));
	memcpy(y->error, out.error, y->rows * y->cols * sizeof(double));
	array_free(&out);
}

/* One line: the model's result on @width cores against double precision */
static void check_model(struct model *m, const char *what, uint64_t rows, uint32_t k,
			enum vtpu_dtype x_type, uint32_t width, const struct vtpu_tiling *tiling)
{
	struct array y = array(rows, m->layer[m->layers - 1].n, m->y_type);
	struct vtpu_plan plan = { 0 };
	uint64_t where = 0;
	double off = INFINITY;

	model_make(m, rows, k, x_type);
	if (model_run(m, width, tiling, &y, &plan)) {
		model_reference(m, &y);
		off = worst(&y, &where);
	}
	tap_ok(off <= 1,
	       "%s: [%llu, %u], %u layers to %u, width %u: worst element %.2f of its bound", what,
	       (unsigned long long)rows, k, m->layers, m->layer[m->layers - 1].n, width, off);
	if (off > 1)
		printf("# element [%llu, %llu] is %.9g, reference %.9g +- %.3g; tiles %u x %u x %u, %u buffers, %u splits\n",
		       (unsigned long long)(where / y.cols), (unsigned long long)(where % y.cols),
		       element(&y, where), y.value[where], y.error[where], plan.tiling.bm,
		       plan.tiling.bn, plan.tiling.bk, plan.tiling.buffers,
		       plan.tiling.epilogue_splits);
	model_free(m);
	array_free(&y);
}

static void test_shapes(void)
{
	static const struct {
		uint64_t m;
		uint32_t k, n, width;
	} shapes[] = {
		{ 1, 1, 1, 1 },	      { 1, 1, 1, 8 },	    { 7, 5, 3, 1 },	 { 100, 37, 19, 3 },
		{ 129, 257, 65, 2 },  { 3, 1000, 10, 4 },   { 1000, 3, 300, 8 }, { 65, 64, 129, 5 },
		{ 512, 512, 512, 2 }, { 250, 784, 128, 8 },
	};
	static const enum vtpu_dtype types[] = { VTPU_DTYPE_F32, VTPU_DTYPE_BF16 };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		for (int t = 0; t < 2; t++) {
			struct model m = {
				.layer[0] = { .name = "l",
					      .n = shapes[i].n,
					      .w_type = types[t],
					      .bias = true,
					      .act = VTPU_ACT_RELU },
				.layers = 1,
				.y_type = types[t],
			};

			check_model(&m, t ? "bf16, bias, relu" : "f32, bias, relu", shapes[i].m,
				    shapes[i].k, types[t], shapes[i].width, NULL);
		}
	}
}

static void test_epilogues(void)
{
	static const struct {
		const char *what;
		struct vtpu_layer layer;
		enum vtpu_dtype x, y;
	} cases[] = {
		{ "bare", { 0 }, VTPU_DTYPE_F32, VTPU_DTYPE_F32 },
		{ "scale", { .scale = 0.125f }, VTPU_DTYPE_F32, VTPU_DTYPE_F32 },
		{ "column scale, bias",
		  { .column_scale = true, .bias = true },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
		{ "residual, relu",
		  { .residual = true, .act = VTPU_ACT_RELU },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
		{ "bias, residual to bf16",
		  { .bias = true, .residual = true },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_BF16 },
		{ "transposed weights",
		  { .w_transposed = true, .bias = true },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
		{ "transposed bf16 weights",
		  { .w_transposed = true, .w_type = VTPU_DTYPE_BF16 },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
		{ "leaky relu, clamp",
		  { .act = VTPU_ACT_LEAKY_RELU,
		    .slope = 0.1f,
		    .clamp = true,
		    .clamp_low = -0.5f,
		    .clamp_high = 2 },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
		{ "sigmoid", { .act = VTPU_ACT_SIGMOID }, VTPU_DTYPE_F32, VTPU_DTYPE_F32 },
		{ "tanh", { .act = VTPU_ACT_TANH, .bias = true }, VTPU_DTYPE_F32, VTPU_DTYPE_F32 },
		{ "gelu", { .act = VTPU_ACT_GELU }, VTPU_DTYPE_F32, VTPU_DTYPE_F32 },
		{ "silu to bf16", { .act = VTPU_ACT_SILU }, VTPU_DTYPE_BF16, VTPU_DTYPE_BF16 },
		{ "u8 rows, scale 1/255, bias",
		  { .scale = 1.0f / 255, .bias = true },
		  VTPU_DTYPE_U8,
		  VTPU_DTYPE_F32 },
		{ "u8 rows, bf16 weights",
		  { .scale = 1.0f / 255, .w_type = VTPU_DTYPE_BF16 },
		  VTPU_DTYPE_U8,
		  VTPU_DTYPE_F32 },
		{ "softmax of a single layer",
		  { .bias = true, .softmax = true },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
		{ "scale, column scale, bias, relu",
		  { .scale = 2, .column_scale = true, .bias = true, .act = VTPU_ACT_RELU },
		  VTPU_DTYPE_F32,
		  VTPU_DTYPE_F32 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model m = { .layer[0] = cases[i].layer, .layers = 1, .y_type = cases[i].y };

		m.layer[0].name = "l";
		m.layer[0].n = 70;
		check_model(&m, cases[i].what, 90, 110, cases[i].x, 2, NULL);
	}
}

static void test_tilings(void)
{
	static const struct vtpu_tiling tilings[] = {
		{ .bm = 32, .bn = 64, .bk = 32, .buffers = 1, .epilogue_splits = 1 },
		{ .bm = 32, .bn = 64, .bk = 32, .buffers = 2, .epilogue_splits = 3 },
		{ .bm = 40, .bn = 33, .bk = 50, .buffers = 3, .epilogue_splits = 2 },
		{ .bm = 200, .bn = 16, .bk = 200, .buffers = 3, .epilogue_splits = 16 },
		{ .bm = 8, .bn = 200, .bk = 1, .buffers = 2 },
		{ .bm = 16, .bk = 100, .buffers = 3 },
	};

	for (size_t i = 0; i < sizeof(tilings) / sizeof(*tilings); i++) {
		for (int residual = 0; residual < 2; residual++) {
			struct model m = {
				.layer[0] = { .name = "l",
					      .n = 150,
					      .bias = true,
					      .residual = residual },
				.layers = 1,
				.y_type = residual ? VTPU_DTYPE_BF16 : VTPU_DTYPE_F32,
			};
			char what[64];

			snprintf(what, sizeof(what), "tiling %zu%s", i,
				 residual ? ", residual, to bf16" : "");
			check_model(&m, what, 170, 130, VTPU_DTYPE_F32, 1 + i % 3, &tilings[i]);
		}
	}
}

static void test_chains(void)
{
	struct model mnist = {
		.layer = { { .name = "hidden",
			     .n = 128,
			     .scale = 1.0f / 255,
			     .bias = true,
			     .act = VTPU_ACT_RELU },
			   { .name = "out", .n = 10, .bias = true, .softmax = true } },
		.layers = 2,
	};
	struct model logits = mnist, mixed = mnist, one_row = mnist;
	struct vtpu_tiling single = { .bm = 16, .buffers = 1 };

	check_model(&mnist, "images to classes", 1250, 784, VTPU_DTYPE_U8, 8, NULL);
	check_model(&one_row, "images to classes", 3, 784, VTPU_DTYPE_U8, 8, NULL);
	logits.layer[1].softmax = false;
	check_model(&logits, "images to logits, one buffer", 100, 784, VTPU_DTYPE_U8, 3, &single);
	mixed = (struct model){
		.layer = { { .name = "a", .n = 60, .w_type = VTPU_DTYPE_BF16, .act = VTPU_ACT_TANH },
			   { .name = "b", .n = 50, .w_transposed = true, .bias = true },
			   { .name = "c", .n = 40, .w_type = VTPU_DTYPE_BF16, .column_scale = true },
			   { .name = "d", .n = 30, .softmax = true } },
		.layers = 4,
		.y_type = VTPU_DTYPE_BF16,
	};
	check_model(&mixed, "bf16 and f32 layers", 333, 70, VTPU_DTYPE_F32, 4, NULL);
}

/* The same bits, however the work is cut and dealt out */
static void test_bits(void)
{
	static const struct vtpu_tiling tilings[] = { { 0 },
						      { .bm = 24, .bn = 40, .bk = 24, .buffers = 2 },
						      { .bm = 64, .bk = 7, .epilogue_splits = 4 } };
	struct model m = {
		.layer[0] = { .name = "l", .n = 75, .bias = true, .act = VTPU_ACT_GELU },
		.layers = 1,
	};
	struct model chain = {
		.layer = { { .name = "hidden",
			     .n = 128,
			     .scale = 1.0f / 255,
			     .bias = true,
			     .act = VTPU_ACT_RELU },
			   { .name = "out", .n = 10, .bias = true, .softmax = true } },
		.layers = 2,
	};
	struct array first = array(203, 75, VTPU_DTYPE_F32), y = array(203, 75, VTPU_DTYPE_F32);
	struct vtpu_plan plan;
	bool same = true;

	model_make(&m, 203, 99, VTPU_DTYPE_F32);
	same = model_run(&m, 1, NULL, &first, &plan);
	for (uint32_t width = 1; width <= 8; width++) {
		for (size_t t = 0; t < 3; t++) {
			memset(y.data, 0, array_bytes(&y));
			same = same && model_run(&m, width, &tilings[t], &y, &plan) &&
			       !memcmp(first.data, y.data, array_bytes(&y));
		}
	}
	tap_ok(same, "a product has the same bits on 1 to 8 cores and with three tilings");
	model_free(&m);
	array_free(&first);
	array_free(&y);

	first = array(203, 10, VTPU_DTYPE_F32);
	y = array(203, 10, VTPU_DTYPE_F32);
	model_make(&chain, 203, 784, VTPU_DTYPE_U8);
	same = model_run(&chain, 1, NULL, &first, &plan);
	for (uint32_t width = 2; width <= 8; width++)
		same = same && model_run(&chain, width, NULL, &y, &plan) &&
		       !memcmp(first.data, y.data, array_bytes(&y));
	tap_ok(same, "two layers with softmax have the same bits on 1 to 8 cores");
	model_free(&chain);
	array_free(&first);
	array_free(&y);
}

/* ---- Softmax -------------------------------------------------------------------------- */

static void test_softmax(void)
{
	static const struct {
		uint64_t m;
		uint32_t n, width, bm;
		enum vtpu_dtype x, y;
		float scale;
	} cases[] = {
		{ 1, 1, 1, 0, VTPU_DTYPE_F32, VTPU_DTYPE_F32, 0 },
		{ 100, 10, 3, 0, VTPU_DTYPE_F32, VTPU_DTYPE_F32, 0 },
		{ 77, 1025, 8, 8, VTPU_DTYPE_F32, VTPU_DTYPE_F32, 8 },
		{ 50, 333, 2, 16, VTPU_DTYPE_BF16, VTPU_DTYPE_BF16, 0.5f },
		{ 9, 20000, 1, 0, VTPU_DTYPE_BF16, VTPU_DTYPE_F32, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vtpu_softmax_options o =
			VTPU_INIT(o, .geometry = vtpu_device_geometry(device));
		struct array x = random_array(cases[i].m, cases[i].n, cases[i].x, 7);
		struct array y = array(cases[i].m, cases[i].n, cases[i].y);
		struct run_array arrays[] = { { "x", x.data, array_bytes(&x), false },
					      { "y", y.data, array_bytes(&y), true } };
		struct vtpu_image *image = NULL;
		double off = INFINITY;
		uint64_t where;

		o.width = cases[i].width;
		o.m = cases[i].m;
		o.n = cases[i].n;
		o.x_type = cases[i].x;
		o.y_type = cases[i].y;
		o.scale = cases[i].scale;
		o.bm = cases[i].bm;
		if (vtpu_softmax_build(&o, &image, NULL)) {
			printf("# %s\n", vtpu_last_error());
		} else if (run_image(device, image, arrays, 2)) {
			memcpy(y.value, x.value, x.rows * x.cols * sizeof(double));
			reference_softmax(&y, o.scale != 0 ? (double)o.scale : 1, 0);
			for (uint64_t e = 0; e < y.rows * y.cols; e++)
				round_to(&y.value[e], &y.error[e], y.type);
			off = worst(&y, &where);
		}
		tap_ok(off <= 1,
		       "softmax [%llu, %u] %s to %s, width %u: worst element %.2f of its bound",
		       (unsigned long long)cases[i].m, cases[i].n, vtpu_dtype_name(cases[i].x),
		       vtpu_dtype_name(cases[i].y), cases[i].width, off);
		vtpu_image_destroy(image);
		array_free(&x);
		array_free(&y);
	}
}

/* ---- Plans ------------------------------------------------------------------------------ */

static struct vtpu_dense_options product(const struct vtpu_layer *layer, uint32_t size)
{
	struct vtpu_dense_options o = VTPU_INIT(o, .geometry = vtpu_device_geometry(device));

	o.m = size;
	o.k = size;
	o.x_type = layer->w_type;
	o.y_type = layer->w_type;
	o.layers = layer;
	o.layer_count = 1;
	return o;
}

/* What the plan says is what the device finds. */
static void test_plans(void)
{
	static const uint32_t sizes[] = { 100, 128, 1000, 1024, 2048, 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (int bf16 = 0; bf16 < 2; bf16++) {
			struct vtpu_layer layer = { .name = "l",
						    .n = sizes[i],
						    .w_type = bf16 ? VTPU_DTYPE_BF16 :
								     VTPU_DTYPE_F32 };
			struct vtpu_dense_options o = product(&layer, sizes[i]);
			struct vtpu_load_result result = { 0 };
			struct vtpu_image *image = NULL;
			struct vtpu_plan plan = { 0 };
			bool ok = !vtpu_dense_build(&o, &image, &plan) &&
				  !vtpu_image_validate(image, o.geometry, true, &result);

			if (!ok)
				printf("# %s\n", vtpu_last_error());
			tap_ok(ok && plan.cycles == result.cycles,
			       "%u^3 %s: %llu cycles planned and found, %.1f%% of the array busy",
			       sizes[i], bf16 ? "bf16" : "f32", (unsigned long long)result.cycles,
			       100.0 * plan.ideal_cycles / (plan.cycles ? plan.cycles : 1));
			if (bf16 && sizes[i] == 1024)
				tap_ok(plan.ideal_cycles == 32768 && 32768 >= 0.91 * result.cycles,
				       "1024^3 bf16 on a v3 core takes at most 32768 / 0.91 cycles");
			vtpu_image_destroy(image);
		}
	}
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void refused(const char *words, const struct vtpu_dense_options *o)
{
	struct vtpu_image *image = NULL;
	enum vtpu_status status = vtpu_dense_build(o, &image, NULL);
	bool ok = status && !image && strstr(vtpu_last_error(), words);

	tap_ok(ok, "refused: %s", words);
	if (!ok)
		printf("# got %s: %s\n", vtpu_status_id(status), vtpu_last_error());
	vtpu_image_destroy(image);
}

static void test_refusals(void)
{
	struct vtpu_layer layer = { .name = "l", .n = 64 }, two[2];
	struct vtpu_dense_options o = product(&layer, 64);

	o.geometry = NULL;
	refused("no geometry; take it from vtpu_device_geometry()", &o);
	o = product(&layer, 64);
	o.width = 9;
	refused("9 cores wanted; the device has 8", &o);
	o.width = 1;
	o.m = 0;
	refused("m is 0; must be at least 1", &o);
	o.m = 1;
	o.k = 0;
	refused("layer 'l': w is [0, 64]; each side must be 1..", &o);
	o.k = 64;
	o.x_type = VTPU_DTYPE_S8;
	refused("x: type is s8; must be f32, bf16 or u8", &o);
	o.x_type = VTPU_DTYPE_F32;
	o.layer_count = 0;
	refused("0 layers; must be 1..16", &o);
	o.layer_count = 1;
	layer.name = "a-name-that-is-too-long-for-a-base";
	refused("must have 1..30 bytes", &o);
	layer.name = "l";
	layer.act = (enum vtpu_activation)99;
	refused("activation 99 is unknown", &o);
	layer.act = VTPU_ACT_RELU;
	layer.scale = NAN;
	refused("scale, slope and clamp limits must be finite", &o);
	layer.scale = 2;
	layer.bias = layer.column_scale = layer.residual = layer.clamp = true;
	refused("more than 4 steps or 4 arguments after the product", &o);
	layer = (struct vtpu_layer){ .name = "l", .n = 64 };
	o.tiling.bm = 1 << 16;
	o.tiling.bn = 1 << 16;
	o.m = o.k = layer.n = 1 << 16;
	refused("no tiling of [65536, 65536] x [65536, 65536] with the wishes given fits 16777216 bytes of VMEM",
		&o);
	o = product(&layer, 64);
	two[0] = (struct vtpu_layer){ .name = "first", .n = 64, .softmax = true };
	two[1] = (struct vtpu_layer){ .name = "second", .n = 64 };
	o.layers = two;
	o.layer_count = 2;
	refused("layer 'first': softmax is for the last layer only", &o);
	two[0].softmax = false;
	two[1].name = "first";
	refused("layer 1: name 'first' is also that of layer 0", &o);
	two[1].name = "second";
	two[0].n = 100000;
	refused("layers 'first' to 'second': weights and tiles of a few rows take", &o);
	o.tiling.buffers = 4;
	refused("4 buffers (at most 3)", &o);
}

int main(void)
{
	if (vtpu_open("model:v3,cores=8,hbm=1G", &device)) {
		printf("Bail out! %s\n", vtpu_last_error());
		return 1;
	}
	test_refusals();
	test_plans();
	test_shapes();
	test_epilogues();
	test_tilings();
	test_chains();
	test_bits();
	test_softmax();
	vtpu_close(device);
	return tap_done();
}
