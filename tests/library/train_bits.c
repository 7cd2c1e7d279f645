// SPDX-License-Identifier: MIT
/*
 * train_bits.c - the same training on several devices gives the same bits: every
 * loss, every variable, every probability.
 *
 *	train_bits [DEVICE...]	default: models that differ in threads, instructions, executor
 */
#include <stdlib.h>
#include <string.h>

#include "unit/status.h"

#include <vtpu/vtpu.h>

#define SIDE	12
#define COUNT	200
#define CLASSES 3
#define CORES	8
#define BATCH	64

static uint8_t picture[COUNT][SIDE][SIDE];
static int32_t label[COUNT];

/** struct bits - what training came to */
struct bits {
	double loss[64];
	uint32_t losses;
	uint64_t variables, probabilities;
};

static uint64_t add(uint64_t sum, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ p[i]) * 0x100000001b3ull;
	return sum;
}

static bool record(void *arg, const struct vtpu_fit_progress *p)
{
	struct bits *bits = arg;

	if (p->event == VTPU_FIT_STEP && bits->losses < 64)
		bits->loss[bits->losses++] = p->step_loss;
	return false;
}

static struct vtpu_data *make_data(void)
{
	struct vtpu_data_format format =
		VTPU_INIT(format, .name = "patterns", .count = COUNT, .type = VTPU_DTYPE_U8,
			  .shape = VTPU_SHAPE(SIDE, SIDE, 1), .classes = CLASSES);
	struct vtpu_random r = vtpu_random_make(1, 0, 0, 0);
	struct vtpu_data *data = NULL;

	for (int i = 0; i < COUNT; i++) {
		label[i] = (int32_t)vtpu_random_below(&r, CLASSES);
		for (int y = 0; y < SIDE; y++)
			for (int x = 0; x < SIDE; x++) {
				int at = label[i] == 0 ? x : label[i] == 1 ? y : x + y;

				picture[i][y][x] = (uint8_t)((at + i) % 4 < 2 ? 180 : 20) +
						   (uint8_t)vtpu_random_below(&r, 70);
			}
	}
	vtpu_data_memory(&format, picture, label, &data);
	return data;
}

static struct vtpu_model *make_model(void)
{
	const struct vtpu_layer_options relu = { .activation = VTPU_ACT_RELU };
	struct vtpu_model *m = NULL;

	vtpu_model_create("patterns", VTPU_DTYPE_U8, VTPU_SHAPE(SIDE, SIDE, 1), &m);
	vtpu_model_normalize(m, "standardise", 100, 70);
	vtpu_model_conv2d(m, "conv1", 16, 3, &relu);
	vtpu_model_max_pool(m, "pool1", 2, NULL);
	vtpu_model_conv2d(m, "conv2", 24, 3, NULL);
	vtpu_model_batch_norm(m, "norm2", NULL);
	vtpu_model_activation(m, "relu2", VTPU_ACT_RELU);
	vtpu_model_flatten(m, "flatten");
	vtpu_model_dropout(m, "drop", 0.2f);
	vtpu_model_dense(m, "dense1", CLASSES, NULL);
	return m;
}

static bool train(const char *name, struct vtpu_data *data, struct vtpu_model_options options,
		  struct bits *bits)
{
	static float probability[COUNT][CLASSES];
	struct vtpu_fit_options fit =
		VTPU_INIT(fit, .epochs = 3, .batch = BATCH, .callback = record,
			  .callback_arg = bits,
			  .schedule = { .rate = options.optimiser == VTPU_OPTIMISER_SGD ? 2e-2f :
											  5e-3f },
			  .check_replicas = 4);
	struct vtpu_model *model = make_model();
	struct vtpu_device *device = NULL;
	struct vtpu_variable_info info;
	bool good;

	*bits = (struct bits){ .variables = 1, .probabilities = 1 };
	options.struct_size = sizeof(options);
	options.cores = CORES;
	options.seed = 7;
	good = !vtpu_open(name, &device) && !vtpu_model_compile(model, device, &options) &&
	       !vtpu_model_fit(model, data, &fit, NULL) &&
	       !vtpu_model_predict(model, data, 0, probability[0], sizeof(probability));
	for (size_t i = 0; good && !vtpu_variables_info(vtpu_model_variables(model), i, &info);
	     i++) {
		void *x = malloc(info.bytes);

		good = !vtpu_variables_read(vtpu_model_variables(model), info.name, x, info.bytes);
		bits->variables = add(bits->variables, x, info.bytes);
		free(x);
	}
	bits->probabilities = add(1, probability, sizeof(probability));
	if (!good)
		printf("# %s: %s\n", name, vtpu_last_error());
	vtpu_model_destroy(model);
	vtpu_close(device);
	return good;
}

static void compare(const char *what, const char *const *device, int devices,
		    struct vtpu_data *data, struct vtpu_model_options options)
{
	struct bits first, bits;
	uint32_t step;

	if (!tap_ok(train(device[0], data, options, &first), "%s on %s", what, device[0]))
		return;
	tap_ok(first.losses == 12 && first.loss[11] < 0.5 * first.loss[0],
	       "it learns: loss %.4f to %.4f", first.loss[0], first.loss[11]);
	printf("# variables %016" PRIx64 ", probabilities %016" PRIx64 "\n", first.variables,
	       first.probabilities);
	for (int i = 1; i < devices; i++) {
		if (!tap_ok(train(device[i], data, options, &bits), "%s on %s", what, device[i]))
			continue;
		for (step = 0; step < first.losses && bits.loss[step] == first.loss[step];)
			step++;
		if (!tap_ok(step == first.losses && bits.losses == first.losses,
			    "the same losses to the bit"))
			printf("# step %u: %.9g, and %.9g on %s\n", step + 1, first.loss[step],
			       bits.loss[step], device[0]);
		tap_is(bits.variables, first.variables, "the same variables");
		tap_is(bits.probabilities, first.probabilities, "the same probabilities");
	}
}

int main(int argc, char **argv)
{
	static const char *const models[] = {
		"model:v3,cores=8,hbm=256M,threads=1",
		"model:v3,cores=8,hbm=256M,threads=2",
		"model:v3,cores=8,hbm=256M,threads=3,isa=scalar",
		"model:v3,cores=8,hbm=256M,threads=1,executor=reference",
	};
	const char *const *device = argc > 1 ? (const char *const *)argv + 1 : models;
	int devices = argc > 1 ? argc - 1 : 4;
	struct vtpu_data *data = make_data();

	compare("Adam, f32", device, devices, data, (struct vtpu_model_options){ 0 });
	compare("SGD with momentum, bf16", device, devices, data,
		(struct vtpu_model_options){ .optimiser = VTPU_OPTIMISER_SGD,
					     .sgd = { .momentum = 0.9f, .nesterov = true },
					     .precision = VTPU_PRECISION_BF16 });
	vtpu_data_destroy(data);
	return tap_done();
}
