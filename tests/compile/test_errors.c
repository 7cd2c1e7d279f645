// SPDX-License-Identifier: MIT
/*
 * test_errors.c - what cannot be compiled or run, and what is said about it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/models.h"
#include "unit/tap.h"

static struct vtpu_device *dev;

/* The call failed, and the sentence has all of the words. */
static void says(enum vtpu_status got, enum vtpu_status want, const char *what, const char *a,
		 const char *b, const char *c)
{
	const char *s = vtpu_last_error();
	bool ok = got == want && strstr(s, a) && strstr(s, b) && strstr(s, c);

	tap_ok(ok, "%s", what);
	if (!ok)
		printf("# %s (want %s): %s\n", vtpu_status_id(got), vtpu_status_id(want), s);
}

static enum vtpu_status compile(struct vtpu_graph *g, uint32_t cores)
{
	struct vtpu_compile_options o = VTPU_INIT(o, .cores = cores,
						  .geometry = vtpu_device_geometry(dev),
						  .cache_dir = "");
	struct vtpu_executable *x = NULL;
	enum vtpu_status status = vtpu_compile(g, NULL, NULL, &o, &x);

	vtpu_executable_destroy(x);
	vtpu_graph_destroy(g);
	return status;
}

static struct vtpu_graph *with_input(struct vtpu_shape shape, struct vtpu_tensor **x)
{
	struct vtpu_graph *g;

	vtpu_graph_create(&g);
	*x = vtpu_input(g, "x", VTPU_DTYPE_F32, shape);
	return g;
}

static void test_graphs(void)
{
	struct vtpu_tensor *x, *y;
	struct vtpu_graph *g;

	says(compile(mlp(10, 4, 4, OPT_ADAM, true), 4), VTPU_ERROR_SHAPE_MISMATCH,
	     "a batch that cores cannot share", "batch of 10", "4 cores", "8 or 12");
	says(compile(mlp(2, 4, 4, OPT_ADAM, true), 4), VTPU_ERROR_SHAPE_MISMATCH,
	     "a batch smaller than the cores", "batch of 2", "4 cores", "4 or 4");

	g = with_input(VTPU_SHAPE(8, 4), &x);
	y = vtpu_input(g, "y", VTPU_DTYPE_F32, VTPU_SHAPE(6, 4));
	vtpu_output(g, x, NULL);
	vtpu_output(g, y, NULL);
	says(compile(g, 1), VTPU_ERROR_SHAPE_MISMATCH, "inputs of different batches", "y", "6",
	     "8");

	g = with_input(VTPU_SHAPE(8, 4), &x);
	vtpu_output(g, vtpu_transpose(g, x, NULL), NULL);
	says(compile(g, 1), VTPU_ERROR_UNSUPPORTED, "a batch that moves", "transpose", "batch",
	     "first dimension");

	g = with_input(VTPU_SHAPE(8, 4), &x);
	vtpu_output(g, vtpu_reshape(g, x, VTPU_SHAPE(4, 8)), NULL);
	says(compile(g, 1), VTPU_ERROR_UNSUPPORTED, "a batch that is reshaped away", "reshape", "8",
	     "4");

	g = with_input(VTPU_SHAPE(8, 4), &x);
	vtpu_output(g, vtpu_reduce_max(g, x, VTPU_AXIS(0), false), NULL);
	says(compile(g, 1), VTPU_ERROR_UNSUPPORTED, "a maximum over the batch", "reduce_max",
	     "maximum", "batch");

	g = with_input(VTPU_SHAPE(8, 4), &x);
	vtpu_output(g, vtpu_cast(g, x, VTPU_DTYPE_S32), NULL);
	says(compile(g, 1), VTPU_ERROR_UNSUPPORTED, "a cast that no instruction does", "cast",
	     "s32", "f32");

	g = with_input(VTPU_SHAPE(8, 4), &x);
	y = vtpu_state(g, "kept", VTPU_DTYPE_F32, VTPU_SHAPE(8, 4), NULL);
	vtpu_assign(g, y, x);
	says(compile(g, 1), VTPU_ERROR_UNSUPPORTED, "a variable that differs from core to core",
	     "kept", "differs", "same on all");

	g = with_input(VTPU_SHAPE(8, 4096), &x);
	y = vtpu_parameter(g, "huge/weights", VTPU_DTYPE_F32, VTPU_SHAPE(4096, 4096), NULL);
	vtpu_output(g, vtpu_matmul(g, x, y, NULL), NULL);
	says(compile(g, 1), VTPU_ERROR_OUT_OF_DEVICE_MEMORY, "weights that no VMEM holds",
	     "huge/weights", "16777216", "bf16");

	says(compile(mlp(128, 4, 4, OPT_ADAM, true), 64), VTPU_ERROR_INVALID_ARGUMENT,
	     "more cores than there are", "64 cores", "4", "device");
}

static void test_options(void)
{
	struct vtpu_graph *g = mlp(8, 4, 4, OPT_ADAM, true);
	struct vtpu_compile_options o = VTPU_INIT(o, .precision = (enum vtpu_precision)7);
	struct vtpu_executable *x;

	says(vtpu_compile(g, NULL, NULL, NULL, &x), VTPU_ERROR_INVALID_ARGUMENT,
	     "no device and no geometry", "geometry", "device", "");
	says(vtpu_compile(g, dev, NULL, &o, &x), VTPU_ERROR_INVALID_ARGUMENT, "no such precision",
	     "precision", "7", "");
	vtpu_graph_destroy(g);
}

static void test_variables(void)
{
	struct vtpu_graph *a = mlp(8, 4, 4, OPT_ADAM, true), *b = mlp(8, 5, 4, OPT_ADAM, true),
			  *c = mlp(8, 4, 4, OPT_MOMENTUM, true);
	struct vtpu_variables *v = NULL;
	struct vtpu_executable *x;
	float data[4];

	tap_ok(!vtpu_variables_create(dev, a, 2, &v), "variables");
	says(vtpu_compile(b, dev, v, NULL, &x), VTPU_ERROR_SHAPE_MISMATCH,
	     "variables of another shape", "dense1/weights", "another model", "bytes");
	says(vtpu_compile(c, dev, v, NULL, &x), VTPU_ERROR_NOT_FOUND,
	     "variables of another optimiser", "dense1/weights/velocity", "not among", "trains");
	says(vtpu_variables_read(v, "dense9/bias", data, 16), VTPU_ERROR_NOT_FOUND,
	     "no such variable", "dense9/bias", "", "");
	says(vtpu_variables_read(v, "dense1/bias", data, 12), VTPU_ERROR_SHAPE_MISMATCH,
	     "too few bytes", "dense1/bias", "16", "12");
	tap_ok(!vtpu_variables_check(v), "replicas are the same");
	vtpu_variables_destroy(v);
	vtpu_graph_destroy(a);
	vtpu_graph_destroy(b);
	vtpu_graph_destroy(c);
}

static void test_execute(void)
{
	struct vtpu_graph *g = mlp(8, 4, 4, OPT_ADAM, false);
	struct vtpu_argument scalars[] = { { "rate", 0.1 }, { "step", 1 } };
	struct vtpu_variables *v = NULL;
	struct vtpu_executable *x = NULL;
	struct vtpu_stream *s = NULL;
	struct vtpu_buffer *b = NULL;
	struct vtpu_place feeds[2] = { { "x", NULL, 0 }, { "labels", NULL, 0 } },
			  results[2] = { { "loss", NULL, 0 }, { "right", NULL, 0 } };

	if (vtpu_variables_create(dev, g, 2, &v) || vtpu_compile(g, dev, v, NULL, &x) ||
	    vtpu_stream_create(dev, NULL, &s) || vtpu_buffer_alloc(dev, 4096, NULL, &b)) {
		tap_ok(false, "set up: %s", vtpu_last_error());
		return;
	}
	feeds[0].buffer = feeds[1].buffer = results[0].buffer = results[1].buffer = b;
	feeds[1].offset = 1024, results[0].offset = 2048, results[1].offset = 3072;
	tap_ok(!vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL) &&
		       !vtpu_stream_sync(s, VTPU_FOREVER),
	       "a step: %s", vtpu_last_error());
	says(vtpu_execute(x, s, feeds, 1, scalars, 2, results, 2, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "an input is missing", "input 'labels'", "missing", "");
	says(vtpu_execute(x, s, feeds, 2, scalars, 1, results, 2, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "a scalar is missing", "scalar 'step'", "missing", "");
	says(vtpu_execute(x, s, feeds, 2, scalars, 2, results, 1, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "a result has no place", "result 'right'", "missing", "");
	feeds[1].name = "x";
	says(vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "an input twice", "input 'x'", "twice", "");
	feeds[1].name = "lables";
	says(vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL), VTPU_ERROR_NOT_FOUND,
	     "an unknown input", "lables", "input", "");
	feeds[1].name = "labels";
	scalars[1].value = 1.5;
	says(vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "half a step", "step", "1.5", "s32");
	scalars[1].value = 1;
	feeds[0].offset = 4032;
	says(vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "a buffer that is too short", "in:x", "128 bytes",
	     "4032");
	feeds[0].offset = 0;
	results[0].buffer = NULL;
	says(vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL),
	     VTPU_ERROR_INVALID_ARGUMENT, "no buffer", "loss", "buffer", "");
	results[0].buffer = b;
	vtpu_buffer_write(b, 1024, &(int32_t){ 77 }, sizeof(int32_t));
	vtpu_execute(x, s, feeds, 2, scalars, 2, results, 2, NULL);
	says(vtpu_stream_sync(s, VTPU_FOREVER), VTPU_ERROR_FAULT, "a label that is no class",
	     "label 77", "operation '", "below the number of classes");
	vtpu_buffer_free(b);
	vtpu_stream_destroy(s);
	vtpu_executable_destroy(x);
	vtpu_variables_destroy(v);
	vtpu_graph_destroy(g);
}

/* Without a device, the same time as with one. */
static void test_plan(void)
{
	struct vtpu_graph *g = mlp(8, 4, 4, OPT_ADAM, false);
	struct vtpu_compile_options o =
		VTPU_INIT(o, .cores = 4, .geometry = vtpu_device_geometry(dev), .cache_dir = "");
	struct vtpu_executable_info a = VTPU_INIT(a), b = VTPU_INIT(b);
	struct vtpu_variables *v = NULL;
	struct vtpu_executable *x = NULL, *y = NULL;

	if (vtpu_variables_create(dev, g, 4, &v) || vtpu_compile(g, dev, v, NULL, &x) ||
	    vtpu_compile(g, NULL, NULL, &o, &y)) {
		tap_ok(false, "plan: %s", vtpu_last_error());
		return;
	}
	vtpu_executable_info(x, &a);
	vtpu_executable_info(y, &b);
	tap_ok(a.cycles == b.cycles && a.cycles, "time without a device");
	says(vtpu_execute(y, NULL, NULL, 0, NULL, 0, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
	     "a plan does not run", "without a device", "", "");
	vtpu_executable_destroy(x);
	vtpu_executable_destroy(y);
	vtpu_variables_destroy(v);
	vtpu_graph_destroy(g);
}

int main(void)
{
	if (vtpu_open("model:v3,cores=4,hbm=256M", &dev)) {
		printf("Bail out! %s\n", vtpu_last_error());
		return 1;
	}
	test_graphs();
	test_options();
	test_variables();
	test_execute();
	test_plan();
	vtpu_close(dev);
	return tap_done();
}
