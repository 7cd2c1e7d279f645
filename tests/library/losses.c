// SPDX-License-Identifier: MIT
/*
 * losses.c - the reference network's training as numbers for others to check.
 *
 * Saves the parameters before the first step, then trains on the images in their order, at a
 * constant rate, and prints each step's loss; at last how many of the test images are right.
 *
 *	losses DEVICE STEPS BATCH RATE FILE
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/sample.h"
#include "unit/reference_network.h"

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
	struct vtpu_model_options how = VTPU_INIT(how, .seed = 1);
	struct vtpu_fit_options fit = VTPU_INIT(fit, .no_shuffle = true, .callback = print_loss);
	struct vtpu_device *dev;
	struct vtpu_model *model;
	struct vtpu_data *data, *test;
	struct vtpu_score score;
	uint64_t steps;

	if (argc != 6)
		return 2;
	steps = strtoull(argv[2], NULL, 10);
	fit.callback_arg = &steps;
	fit.batch = (uint32_t)atoi(argv[3]);
	fit.epochs = UINT32_MAX;
	fit.schedule =
		(struct vtpu_schedule){ VTPU_SCHEDULE_CONSTANT, .rate = (float)atof(argv[4]) };
	CHECK(vtpu_open(argv[1], &dev));
	CHECK(vtpu_data_mnist(VTPU_DATA_TRAIN, &data));
	CHECK(vtpu_data_mnist(VTPU_DATA_TEST, &test));
	model = reference_network();
	CHECK(vtpu_model_compile(model, dev, &how));
	CHECK(vtpu_model_save(model, argv[5]));
	CHECK(vtpu_model_fit(model, data, &fit, NULL));
	CHECK(vtpu_model_evaluate(model, test, 0, &score));
	printf("%llu\n", (unsigned long long)score.correct);
	vtpu_model_destroy(model);
	vtpu_data_destroy(data);
	vtpu_data_destroy(test);
	vtpu_close(dev);
	return 0;
}
