/* SPDX-License-Identifier: MIT */
/*
 * small_training.h - a small data set, a small network and its usual training, which
 * the tests of training share.
 */
#ifndef TESTS_UNIT_SMALL_TRAINING_H
#define TESTS_UNIT_SMALL_TRAINING_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vtpu/vtpu.h>

#include "unit/status.h"
#include "unit/temp_dir.h"

#define COUNT	600
#define INPUTS	24
#define HIDDEN	16
#define CLASSES 4
#define BATCH	64
#define STEPS	((COUNT + BATCH - 1) / BATCH)
#define CORES	4

static float samples[COUNT][INPUTS];
static int32_t labels[COUNT];
static struct vtpu_data *set;

/* Clouds around four points, which a line does not separate. */
static inline void make_set(void)
{
	struct vtpu_data_format format = VTPU_INIT(format, .name = "clouds", .count = COUNT,
						   .shape = VTPU_SHAPE(INPUTS), .classes = CLASSES);
	struct vtpu_random r = vtpu_random_make(1, 2, 3, 4);

	for (int i = 0; i < COUNT; i++) {
		float a = vtpu_random_float(&r) < 0.5f ? -1 : 1;
		float b = vtpu_random_float(&r) < 0.5f ? -1 : 1;

		labels[i] = (a * b > 0) + 2 * (a > 0);
		for (int k = 0; k < INPUTS; k++)
			samples[i][k] = (k % 2 ? a : b) + vtpu_random_float(&r) * 2 - 1;
	}
	ok_call(vtpu_data_memory(&format, samples, labels, &set), "a data set");
}

static inline struct vtpu_model *make_model(uint32_t hidden)
{
	const struct vtpu_layer_options relu = { .activation = VTPU_ACT_RELU };
	struct vtpu_model *model;

	if (vtpu_model_create("small", VTPU_DTYPE_F32, VTPU_SHAPE(INPUTS), &model))
		return NULL;
	vtpu_model_dense(model, "dense1", hidden, &relu);
	vtpu_model_dense(model, "dense2", CLASSES, NULL);
	return model;
}

static inline struct vtpu_model *compiled(struct vtpu_device *device,
					  struct vtpu_model_options options)
{
	struct vtpu_model *model = make_model(HIDDEN);

	options.struct_size = sizeof(options);
	if (vtpu_model_compile(model, device, &options))
		printf("# %s\n", vtpu_last_error());
	return model;
}

struct curve {
	double loss[64 * STEPS];
	uint64_t steps, epochs, stop_at;
	struct vtpu_model *save_of; /* at stop_at */
	const char *path;
	struct vtpu_fit_progress last;
};

static inline bool record(void *arg, const struct vtpu_fit_progress *p)
{
	struct curve *curve = arg;

	curve->last = *p;
	if (p->event == VTPU_FIT_EPOCH) {
		curve->epochs++;
		return false;
	}
	curve->loss[curve->steps++] = p->step_loss;
	if (p->total_step != curve->stop_at)
		return false;
	if (curve->save_of && vtpu_model_save(curve->save_of, curve->path))
		printf("# %s\n", vtpu_last_error());
	return true;
}

static inline uint64_t sum_of(struct vtpu_model *model)
{
	struct vtpu_variable_info info;
	uint64_t sum = 0xcbf29ce484222325ull;

	for (size_t i = 0; !vtpu_variables_info(vtpu_model_variables(model), i, &info); i++) {
		uint8_t *x = malloc(info.bytes);

		if (vtpu_variables_read(vtpu_model_variables(model), info.name, x, info.bytes))
			return 0;
		for (uint64_t k = 0; k < info.bytes; k++)
			sum = (sum ^ x[k]) * 0x100000001b3ull;
		free(x);
	}
	return sum;
}

static inline struct vtpu_fit_options usual(struct curve *curve)
{
	struct vtpu_fit_options fit =
		VTPU_INIT(fit, .epochs = 4, .batch = BATCH, .callback = record,
			  .callback_arg = curve,
			  .schedule = { VTPU_SCHEDULE_COSINE, .rate = 1e-2f, .warmup = 5 },
			  .validation = set);

	return fit;
}

static inline uint64_t whole_run(struct vtpu_device *device, struct curve *curve)
{
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	struct vtpu_fit_options fit = usual(curve);
	uint64_t sum = 0;

	fit.check_replicas = 3;
	if (!vtpu_model_fit(model, set, &fit, NULL))
		sum = sum_of(model);
	else
		printf("# %s\n", vtpu_last_error());
	vtpu_model_destroy(model);
	return sum;
}

#endif /* TESTS_UNIT_SMALL_TRAINING_H */
