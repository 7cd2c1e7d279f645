// SPDX-License-Identifier: MIT
/*
 * cifar_cnn.c - a deeper network on small colour pictures, and what keeps it from
 * learning them by heart.
 *
 * Three things that mnist.c does without: batch normalisation between convolution
 * and activation, dropout before the last layer, and augmentation: a function that
 * threads call for each picture, in another way in each epoch. So batches are put
 * together on the host here, while the cores work on the one before.
 *
 *	cifar_cnn [-d DEVICE] [-c CORES] [-e EPOCHS]
 *
 * Wants CIFAR-10's binary files in cifar10/ of the folder VTPU_DATA, see docs/data.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vtpu/vtpu.h>

#include "common/sample.h"

#define SIDE	 32
#define CHANNELS 3
#define SHIFT	 4 /* pixels at most, in each direction */

/* Shift a picture by a few pixels, and mirror every other one. */
static const char *augment(void *arg, const void *in, void *out, int32_t *label,
			   struct vtpu_random *random)
{
	const uint8_t(*from)[SIDE][CHANNELS] = in;
	uint8_t(*to)[SIDE][CHANNELS] = out;
	int down = (int)vtpu_random_below(random, 2 * SHIFT + 1) - SHIFT;
	int across = (int)vtpu_random_below(random, 2 * SHIFT + 1) - SHIFT;
	bool mirror = vtpu_random_below(random, 2);

	(void)arg;
	(void)label; /* a picture shows the same wherever it is */
	memset(out, 0, SIDE * SIDE * CHANNELS);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			int sy = y + down, sx = (mirror ? SIDE - 1 - x : x) + across;

			if (sy >= 0 && sy < SIDE && sx >= 0 && sx < SIDE)
				memcpy(to[y][x], from[sy][sx], CHANNELS);
		}
	return NULL;
}

/* Convolution, normalisation, activation. Normalisation has its own shift, so no bias is needed. */
static void add_block(struct vtpu_model *model, int number, uint32_t filters)
{
	const struct vtpu_layer_options same = {
		.no_bias = true,
		.conv = { .padding = VTPU_PADDING_SAME },
	};
	char name[3][32];

	snprintf(name[0], sizeof(name[0]), "conv%d", number);
	snprintf(name[1], sizeof(name[1]), "norm%d", number);
	snprintf(name[2], sizeof(name[2]), "relu%d", number);
	vtpu_model_conv2d(model, name[0], filters, 3, &same);
	vtpu_model_batch_norm(model, name[1], NULL);
	vtpu_model_activation(model, name[2], VTPU_ACT_RELU);
}

int main(int argc, char **argv)
{
	struct vtpu_loader_options batches = VTPU_INIT(batches, .map = augment, .drop_last = true);
	struct vtpu_fit_options fit =
		VTPU_INIT(fit, .epochs = 10, .progress = stdout, .loader = &batches);
	struct vtpu_model_options how =
		VTPU_INIT(how, .seed = 1, .adam = { .weight_decay = 1e-4f, .decoupled = true });
	struct vtpu_fit_report report = VTPU_INIT(report);
	const char *device = NULL;
	struct vtpu_data *train, *test;
	struct vtpu_device *dev;
	struct vtpu_model *model;
	struct vtpu_score score;
	char *text;
	int opt;

	while ((opt = getopt(argc, argv, "d:c:e:")) != -1)
		if (!sample_option(opt, &device, &how.cores, &fit.epochs))
			return 2;
	dev = sample_open(device, &how.cores);
	CHECK(vtpu_data_cifar10(VTPU_DATA_TRAIN, &train));
	CHECK(vtpu_data_cifar10(VTPU_DATA_TEST, &test));
	printf("%s\n%s\n\n", vtpu_data_describe(train), vtpu_data_describe(test));

	CHECK(vtpu_model_create("cifar", VTPU_DTYPE_U8, VTPU_SHAPE(SIDE, SIDE, CHANNELS), &model));
	vtpu_model_normalize(model, "standardise", 120.5f, 64);
	add_block(model, 1, 32);
	vtpu_model_max_pool(model, "pool1", 2, NULL);
	add_block(model, 2, 64);
	vtpu_model_max_pool(model, "pool2", 2, NULL);
	add_block(model, 3, 128);
	vtpu_model_max_pool(model, "pool3", 2, NULL);
	vtpu_model_flatten(model, "flatten");
	vtpu_model_dropout(model, "dropout", 0.3f);
	vtpu_model_dense(model, "dense1", 10, NULL);
	CHECK(vtpu_model_summary(model, &text));
	printf("%s\n", text);
	free(text);

	/* Batches are full ones only: rows that fill one up would count in the normalisation. */
	CHECK(vtpu_model_compile(model, dev, &how));
	fit.batch = 32 * how.cores;
	fit.schedule = (struct vtpu_schedule){ VTPU_SCHEDULE_COSINE, .rate = 3e-3f, .warmup = 20 };
	fit.validation = test;
	CHECK(vtpu_model_fit(model, train, &fit, &report));
	CHECK(vtpu_model_evaluate(model, test, 0, &score));
	printf("\nTest accuracy: %llu of %llu pictures right, %.2f %%\n\n",
	       (unsigned long long)score.correct, (unsigned long long)score.count,
	       100 * score.accuracy);
	CHECK(vtpu_fit_report_text(&report, &text));
	printf("%s", text);
	free(text);
	vtpu_model_destroy(model);
	vtpu_data_destroy(train);
	vtpu_data_destroy(test);
	vtpu_close(dev);
	return 0;
}
