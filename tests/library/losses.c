// SPDX-License-Identifier: MIT
/*
 * losses.c - the first steps of the reference network's training, as numbers for others to check.
 *
 * Saves the parameters before the first step, then trains on the first images in their order, at a
 * constant rate, and prints each loss.
 *
 *	losses DEVICE STEPS BATCH RATE FILE
 */
#include <stdio.h>
#include <stdlib.h>

#include <vtpu/vtpu.h>

#define CHECK(call) \
	do { \
		if ((call) != VTPU_OK) { \
			fprintf(stderr, "losses: %s\n", vtpu_last_error()); \
			return 1; \
		} \
	} while (0)

static bool print_loss(void *arg, const struct vtpu_fit_progress *p)
{
	const uint64_t *steps = arg;

	/* A step is in flight when the last one that is wanted ends. */
	if (p->event == VTPU_FIT_STEP && p->total_step <= *steps)
		printf("%.9g\n", p->step_loss);
	return p->total_step >= *steps;
}

int main(int argc, char **argv)
{
	const struct vtpu_layer_options relu = { .activation = VTPU_ACT_RELU };
	struct vtpu_model_options how = VTPU_INIT(how, .seed = 1);
	struct vtpu_fit_options fit = VTPU_INIT(fit, .no_shuffle = true, .callback = print_loss);
	struct vtpu_device *dev;
	struct vtpu_model *model;
	struct vtpu_data *data;
	uint64_t steps;

	if (argc != 6)
		return 2;
	steps = strtoull(argv[2], NULL, 10);
	fit.callback_arg = &steps;
	fit.batch = (uint32_t)atoi(argv[3]);
	fit.schedule =
		(struct vtpu_schedule){ VTPU_SCHEDULE_CONSTANT, .rate = (float)atof(argv[4]) };
	CHECK(vtpu_open(argv[1], &dev));
	CHECK(vtpu_data_mnist(VTPU_DATA_TRAIN, &data));
	CHECK(vtpu_model_create("mnist", VTPU_DTYPE_U8, VTPU_SHAPE(28, 28, 1), &model));
	vtpu_model_normalize(model, "standardise", 33.3184f, 78.5675f);
	vtpu_model_conv2d(model, "conv1", 32, 3, &relu);
	vtpu_model_max_pool(model, "pool1", 2, NULL);
	vtpu_model_conv2d(model, "conv2", 64, 3, &relu);
	vtpu_model_max_pool(model, "pool2", 2, NULL);
	vtpu_model_flatten(model, "flatten");
	vtpu_model_dense(model, "dense1", 64, &relu);
	vtpu_model_dense(model, "dense2", 10, NULL);
	CHECK(vtpu_model_compile(model, dev, &how));
	CHECK(vtpu_model_save(model, argv[5]));
	CHECK(vtpu_model_fit(model, data, &fit, NULL));
	vtpu_model_destroy(model);
	vtpu_data_destroy(data);
	vtpu_close(dev);
	return 0;
}
