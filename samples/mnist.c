// SPDX-License-Identifier: MIT
/*
 * mnist.c - train a network on handwritten digits with all cores of a TPU.
 *
 * The steps of every training program: data, layers, a device, fit, evaluate,
 * save. Each batch is shared by the cores, which add up their gradients over the
 * links between them; with "-c 1" one core does all of it, and nothing else changes.
 *
 *	mnist [-d DEVICE] [-c CORES] [-b BATCH] [-e EPOCHS] [-s SEED] [-p f32|bf16] [-o FILE] [-r FILE]
 *
 * With -o the model is saved after each epoch; with -r training goes on where FILE was saved.
 * MNIST is read if it is there, else Fashion-MNIST: see docs/data.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vtpu/vtpu.h>

#include "common/sample.h"

/* Two convolutions, two dense layers: 121,930 parameters. */
static struct vtpu_model *make_model(const struct vtpu_data_info *images)
{
	const struct vtpu_layer_options relu = { .activation = VTPU_ACT_RELU };
	bool digits = strncmp(images->name, "Fashion", 7) != 0;
	struct vtpu_model *model;

	CHECK(vtpu_model_create("mnist", images->type, images->shape, &model));
	/* Bytes to numbers around 0, with a deviation of 1: mean and deviation of all training pixels. */
	vtpu_model_normalize(model, "standardise", digits ? 33.3184f : 72.9404f,
			     digits ? 78.5675f : 90.0212f);
	vtpu_model_conv2d(model, "conv1", 32, 3, &relu);
	vtpu_model_max_pool(model, "pool1", 2, NULL);
	vtpu_model_conv2d(model, "conv2", 64, 3, &relu);
	vtpu_model_max_pool(model, "pool2", 2, NULL);
	vtpu_model_flatten(model, "flatten");
	vtpu_model_dense(model, "dense1", 64, &relu);
	vtpu_model_dense(model, "dense2", images->classes, NULL);
	CHECK(vtpu_model_status(model)); /* the first thing that is wrong with any layer */
	return model;
}

static void show(char *text)
{
	printf("%s\n", text);
	free(text);
}

int main(int argc, char **argv)
{
	const char *device = NULL, *save = NULL, *resume = NULL;
	struct vtpu_model_options how = VTPU_INIT(how);
	struct vtpu_fit_options fit = VTPU_INIT(fit, .epochs = 5, .progress = stdout);
	struct vtpu_fit_report report = VTPU_INIT(report);
	struct vtpu_data_info images = VTPU_INIT(images);
	struct vtpu_data *train, *test;
	struct vtpu_device *dev;
	struct vtpu_model *model;
	struct vtpu_score score;
	char *text;
	int opt;

	while ((opt = getopt(argc, argv, "d:c:b:e:s:p:o:r:")) != -1) {
		if (sample_option(opt, &device, &how.cores, &fit.epochs))
			continue;
		if (opt == 'b')
			fit.batch = (uint32_t)atoi(optarg);
		else if (opt == 's')
			how.seed = (uint32_t)atoi(optarg);
		else if (opt == 'p' && !strcmp(optarg, "bf16"))
			how.precision = VTPU_PRECISION_BF16;
		else if (opt == 'o')
			save = optarg;
		else if (opt == 'r')
			resume = optarg;
		else if (opt != 'p' || strcmp(optarg, "f32") != 0)
			return 2;
	}

	dev = sample_open(device, &how.cores);

	CHECK(vtpu_data_mnist(VTPU_DATA_TRAIN, &train));
	CHECK(vtpu_data_mnist(VTPU_DATA_TEST, &test));
	printf("%s\n%s\n\n", vtpu_data_describe(train), vtpu_data_describe(test));
	CHECK(vtpu_data_info(train, &images));

	model = make_model(&images);
	CHECK(vtpu_model_summary(model, &text));
	show(text);
	CHECK(vtpu_model_compile(model, dev,
				 &how)); /* Adam and cross-entropy, if nothing else is said */

	/* A step is 128 images on each core, if nothing else is said. The rate rises for 20 steps, then falls like a cosine. */
	fit.schedule = (struct vtpu_schedule){ VTPU_SCHEDULE_COSINE, .rate = 1e-2f, .warmup = 20 };
	fit.validation = test;
	fit.checkpoint = save;
	if (resume) {
		CHECK(vtpu_model_load(model, resume));
		fit.resume = true;
	}
	CHECK(vtpu_model_fit(model, train, &fit, &report));

	CHECK(vtpu_model_evaluate(model, test, 0, &score));
	printf("\nTest accuracy: %llu of %llu images right, %.2f %%, loss %.4f\n\n",
	       (unsigned long long)score.correct, (unsigned long long)score.count,
	       100 * score.accuracy, score.loss);
	CHECK(vtpu_fit_report_text(&report, &text));
	show(text);

	vtpu_model_destroy(model);
	vtpu_data_destroy(train);
	vtpu_data_destroy(test);
	vtpu_close(dev);
	return 0;
}
