// SPDX-License-Identifier: MIT
/*
 * test_step.c - what the program of a training step is like: its memory in both
 * precisions, its time on one core and on eight, its timeline, its dumps. None is run.
 */
#include <stdlib.h>

#include <vtpu/vtpu.h>

#include "unit/reference_network.h"
#include "unit/status.h"
#include "unit/temp_dir.h"

/*
 * Normalisation looks at the whole batch, which is too much for VMEM: what waits in HBM is
 * less in bf16, but for what the policy keeps in f32.
 */
static void memory(void)
{
	const struct vtpu_layer_options same = { .no_bias = true,
						 .conv = { .padding = VTPU_PADDING_SAME } };
	struct vtpu_executable_info info[2] = { VTPU_INIT(info[0]), VTPU_INIT(info[1]) };
	struct vtpu_device *device = NULL;

	ok_call(vtpu_open("model:v3,cores=2", &device), "a device");
	for (int i = 0; i < 2; i++) {
		struct vtpu_model_options options =
			VTPU_INIT(options, .cache_dir = "",
				  .precision = i ? VTPU_PRECISION_BF16 : VTPU_PRECISION_F32);
		struct vtpu_executable *x;
		struct vtpu_model *model;

		vtpu_model_create("normal", VTPU_DTYPE_U8, VTPU_SHAPE(32, 32, 3), &model);
		vtpu_model_normalize(model, "standardise", 120, 64);
		vtpu_model_conv2d(model, "conv1", 64, 3, &same);
		vtpu_model_batch_norm(model, "norm1", NULL);
		vtpu_model_activation(model, "relu1", VTPU_ACT_RELU);
		vtpu_model_max_pool(model, "pool1", 2, NULL);
		vtpu_model_flatten(model, "flatten");
		vtpu_model_dense(model, "dense1", 10, NULL);
		if (ok_call(vtpu_model_compile(model, device, &options), "a model") &&
		    ok_call(vtpu_model_executable(model, VTPU_MODEL_TRAIN, 256, &x), "its step"))
			vtpu_executable_info(x, &info[i]);
		vtpu_model_destroy(model);
	}
	tap_ok(info[1].hbm_temp && info[1].hbm_temp < info[0].hbm_temp,
	       "bf16 takes less HBM: %.1f MB for what is on the way, not %.1f",
	       (double)info[1].hbm_temp * 1e-6, (double)info[0].hbm_temp * 1e-6);
	vtpu_close(device);
}

/* The reference network's step on @cores cores, 128 images each */
static bool reference_step(uint32_t cores, struct vtpu_executable_info *info, char **explain)
{
	struct vtpu_model_options options = VTPU_INIT(options, .cache_dir = "");
	struct vtpu_device *device = NULL;
	struct vtpu_executable *x;
	struct vtpu_model *model;
	char name[32];
	bool good;

	snprintf(name, sizeof(name), "model:v3,cores=%u", cores);
	model = reference_network();
	good = ok_call(vtpu_open(name, &device), name) &&
	       ok_call(vtpu_model_compile(model, device, &options), "the reference network") &&
	       ok_call(vtpu_model_executable(model, VTPU_MODEL_TRAIN, 128 * cores, &x),
		       "its step") &&
	       !vtpu_executable_info(x, info) && !vtpu_executable_explain(x, explain);
	vtpu_model_destroy(model);
	vtpu_close(device);
	return good;
}

/* Eight cores are nearly eight times as fast, since sums over them go on beside the backward pass. */
static void scaling(void)
{
	struct vtpu_executable_info one = VTPU_INIT(one), all = VTPU_INIT(all);
	char *explain = NULL;
	double ratio;

	if (!reference_step(1, &one, &explain))
		return;
	tap_ok(!strstr(explain, "sums over cores"), "one core has no sums over cores");
	free(explain);
	if (!reference_step(8, &all, &explain))
		return;
	ratio = 8 * (double)one.cycles / (double)all.cycles;
	tap_ok(ratio >= 7.5, "modelled: 8 cores are %.2f times as fast as one", ratio);
	tap_ok(all.exchange_hidden >= 0.8, "sums over cores: %.1f %% hidden",
	       100 * all.exchange_hidden);
	tap_ok(strstr(explain, "cycles a column") && strstr(explain, "\nmxu |") &&
		       strstr(explain, "\nici |") &&
		       strstr(explain, "from the first send to the last arrival"),
	       "and there is a timeline");
	for (char *line = strstr(explain, "a core's time"), *end; line && *line && *line != '\n';
	     line = end + 1) {
		end = strchr(line, '\n');
		printf("# %.*s\n", (int)(end - line), line);
	}
	free(explain);
}

/* Each pass leaves a text, also of a program whose name has a slash. */
static void dumps(void)
{
	struct vtpu_model_options options = VTPU_INIT(options, .cache_dir = "", .dump_dir = dir);
	struct vtpu_model *model = reference_network();
	struct vtpu_device *device = NULL;
	struct vtpu_executable *x;
	char path[300];

	ok_call(vtpu_open("model:v3,cores=2", &device), "a device");
	if (ok_call(vtpu_model_compile(model, device, &options), "a model that is looked at"))
		ok_call(vtpu_model_executable(model, VTPU_MODEL_TRAIN, 64, &x), "its step");
	snprintf(path, sizeof(path), "%s/mnist-train.1-lower.txt", dir);
	tap_ok(!access(path, R_OK), "the first pass leaves %s", path);
	vtpu_model_destroy(model);
	vtpu_close(device);
}

int main(void)
{
	if (!make_dir())
		return 1;
	memory();
	scaling();
	dumps();
	remove_dir();
	return tap_done();
}
