// SPDX-License-Identifier: MIT
/*
 * mlp_classify.c - a trained network classifies 10,000 images in one job.
 *
 * The network 784-128-10 becomes one program: bytes are cast to f32 on their way
 * into VMEM, both layers stay on the core, and each core of the gang takes its
 * share of the images. Every core runs the same text.
 *
 *	mlp_classify [-d DEVICE] [-c CORES] [-n TIMES] [-o PREFIX] WEIGHTS
 *
 * With -n the job is run that often, for something to watch; with -o it writes
 * PREFIX.logits (f32 [images][10]) and PREFIX.classes (a byte each).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <vtpu/vtpu.h>

#include "common/dataset.h"
#include "common/mlp_file.h"
#include "common/sample.h"

/* The class of an image is its largest logit; the first one where two are the same. */
static uint8_t largest(const float *logit)
{
	uint8_t best = 0;

	for (int j = 1; j < MLP_OUT; j++)
		if (logit[j] > logit[best])
			best = j;
	return best;
}

int main(int argc, char **argv)
{
	const char *device = NULL, *prefix = NULL, *name, *why, *dir;
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_program_stats stats = VTPU_INIT(stats);
	struct vtpu_program_options strict =
		VTPU_INIT(strict, .flags = VTPU_PROGRAM_STRICT, .name = "mlp");
	struct vtpu_layer layers[] = {
		{ .name = "dense1", .n = MLP_HIDDEN, .bias = true, .act = VTPU_ACT_RELU },
		{ .name = "dense2", .n = MLP_OUT, .bias = true },
	};
	struct vtpu_dense_options opts = VTPU_INIT(opts);
	struct vtpu_device *dev;
	struct vtpu_image *image;
	struct vtpu_program *program;
	struct vtpu_stream *stream;
	struct vtpu_event *done;
	static struct mlp_weights w;
	struct dataset data;
	char err[4200];
	size_t right = 0;
	int opt, times = 1;

	while ((opt = getopt(argc, argv, "d:c:n:o:")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'c')
			opts.width = atoi(optarg);
		else if (opt == 'n')
			times = atoi(optarg);
		else if (opt == 'o')
			prefix = optarg;
		else
			return 2;
	}
	if (optind != argc - 1)
		sample_fail(
			"give the file of weights; `make weights` makes build/demo/weights.bin");
	sample_read(argv[optind], &w, sizeof(w));
	dir = dataset_dir(&name, &why);
	if (!dir)
		sample_fail(
			"no images: set MNIST_DIR, or install the package dataset-fashion-mnist");
	if (dataset_load(dir, "t10k", &data, err, sizeof(err)))
		sample_fail(err);
	printf("%zu images of %s (%s: %s)\n", data.count, name, why, dir);

	CHECK(vtpu_open(device, &dev));
	CHECK(vtpu_device_info(dev, &info));
	if (!opts.width)
		opts.width = info.cores;
	printf("TPU initialized with %u cores (%s, %s)\n", opts.width, vtpu_device_name(dev),
	       info.preset);

	/* One program for both layers: hidden values never leave the core. */
	opts.geometry = vtpu_device_geometry(dev);
	opts.m = data.count;
	opts.k = MLP_IN;
	opts.x_type = VTPU_DTYPE_U8;
	opts.layers = layers;
	opts.layer_count = 2;
	CHECK(vtpu_dense_build(&opts, &image, NULL));
	CHECK(vtpu_program_create(dev, image, &strict, &program));
	CHECK(vtpu_program_stats(program, &stats));

	/* Rows are padded so that every core has as many; weights are shared by all cores. */
	uint64_t rows = vtpu_rows_padded(data.count, opts.width);
	struct vtpu_binding bindings[] = {
		{ .buffer = sample_buffer(dev, rows * MLP_IN, data.images, data.count * MLP_IN) },
		{ .buffer = sample_buffer(dev, sizeof(w.w1), w.w1, sizeof(w.w1)) },
		{ .buffer = sample_buffer(dev, sizeof(w.b1), w.b1, sizeof(w.b1)) },
		{ .buffer = sample_buffer(dev, sizeof(w.w2), w.w2, sizeof(w.w2)) },
		{ .buffer = sample_buffer(dev, sizeof(w.b2), w.b2, sizeof(w.b2)) },
		{ .buffer = sample_buffer(dev, rows * MLP_OUT * sizeof(float), NULL, 0) },
	};
	CHECK(vtpu_stream_create(dev, NULL, &stream));

	double start = sample_seconds();
	for (int i = 1; i < times; i++)
		CHECK(vtpu_run(stream, program, bindings, 6, NULL, 0, NULL));
	CHECK(vtpu_run(stream, program, bindings, 6, NULL, 0, &done));
	CHECK(vtpu_event_wait(done, VTPU_FOREVER));
	double took = (sample_seconds() - start) / (times > 1 ? times : 1);

	float(*logits)[MLP_OUT] = malloc(data.count * sizeof(*logits));
	uint8_t *classes = malloc(data.count);
	if (!logits || !classes)
		sample_fail("out of memory");
	CHECK(vtpu_buffer_read(bindings[5].buffer, 0, logits, data.count * sizeof(*logits)));
	for (size_t i = 0; i < data.count; i++) {
		classes[i] = largest(logits[i]);
		right += classes[i] == data.labels[i];
	}
	printf("a job of %u instructions on %u cores: %.1f ms here, %.1f us modelled (%llu cycles)\n",
	       stats.instances, stats.width, took * 1e3, stats.cycles * 1e3 / info.clock_khz,
	       (unsigned long long)stats.cycles);
	printf("%zu of %zu images right: %.2f %%\n", right, data.count, 100.0 * right / data.count);
	if (prefix) {
		sample_write(prefix, "logits", logits, data.count * sizeof(*logits));
		sample_write(prefix, "classes", classes, data.count);
	}

	vtpu_event_destroy(done);
	vtpu_stream_destroy(stream);
	for (int i = 0; i < 6; i++)
		vtpu_buffer_free(bindings[i].buffer);
	vtpu_program_destroy(program);
	vtpu_image_destroy(image);
	vtpu_close(dev);
	dataset_free(&data);
	free(logits);
	free(classes);
	return 0;
}
