// SPDX-License-Identifier: MIT
/*
 * test_train_errors.c - what goes wrong in training: options and files that do not fit,
 * numbers that are none, sources that fail, jobs that hang.
 */
#include <math.h>

#include "unit/small_training.h"

static void bad_fits(struct vtpu_device *device)
{
	struct vtpu_data_format format = VTPU_INIT(format, .name = "wide", .count = 8,
						   .shape = VTPU_SHAPE(INPUTS + 1),
						   .classes = CLASSES);
	struct vtpu_model *model = make_model(HIDDEN), *other;
	struct vtpu_fit_options fit = usual(&(struct curve){ 0 }), ask;
	struct vtpu_data *wide, *more, *none;
	char path[300], small[300];
	uint64_t before;

	fit.callback = NULL;
	refused(vtpu_model_fit(model, set, &fit, NULL), VTPU_ERROR_INVALID_ARGUMENT, "not compiled",
		"a fit before compiling");
	vtpu_model_destroy(model);
	model = compiled(device, (struct vtpu_model_options){ .seed = 1 });
	vtpu_data_memory(&format, samples, labels, &wide);
	format.shape = VTPU_SHAPE(INPUTS);
	format.classes = CLASSES + 1;
	vtpu_data_memory(&format, samples, labels, &more);
	format.classes = 0;
	vtpu_data_memory(&format, samples, NULL, &none);
	refused(vtpu_model_fit(model, wide, &fit, NULL), VTPU_ERROR_SHAPE_MISMATCH,
		"data 'wide' has samples f32[25], model 'small' takes f32[24]",
		"both shapes are named");
	refused(vtpu_model_fit(model, more, &fit, NULL), VTPU_ERROR_SHAPE_MISMATCH,
		"has 5 classes, model 'small' ends in 4", "both numbers of classes");
	refused(vtpu_model_fit(model, none, &fit, NULL), VTPU_ERROR_INVALID_ARGUMENT, "no labels",
		"data without labels");
	ask = fit;
	ask.batch = 3;
	refused(vtpu_model_fit(model, set, &ask, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"a batch of 3 samples is less than the mesh of 4 cores",
		"a batch less than the mesh");
	ask.batch = 66;
	refused(vtpu_model_fit(model, set, &ask, NULL), VTPU_ERROR_INVALID_ARGUMENT, "such as 68",
		"a batch that cannot be shared");
	ask.batch = BATCH;
	ask.schedule.rate = 0;
	refused(vtpu_model_fit(model, set, &ask, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"the learning rate is 0", "rate 0");
	ask.schedule.rate = INFINITY;
	refused(vtpu_model_fit(model, set, &ask, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"the learning rate is inf", "rate infinite");

	before = sum_of(model);
	snprintf(path, sizeof(path), "%s/good.safetensors", dir);
	snprintf(small, sizeof(small), "%s/other.safetensors", dir);
	ok_call(vtpu_model_save(model, path), "a file");
	other = make_model(HIDDEN / 2);
	vtpu_model_compile(other, device, NULL);
	vtpu_model_save(other, small);
	vtpu_model_destroy(other);
	refused(vtpu_model_load(model, small), VTPU_ERROR_SHAPE_MISMATCH,
		"it is of another model: layer 1 is 'dense dense1 units=8",
		"a file of another model");
	other = compiled(device, (struct vtpu_model_options){ .optimiser = VTPU_OPTIMISER_SGD });
	refused(vtpu_model_load(other, path), VTPU_ERROR_INVALID_ARGUMENT, "trained with 'adam",
		"a file of another optimiser");
	ok_call(vtpu_model_load_weights(other, path), "of which the weights can be had");
	vtpu_model_destroy(other);
	if (!truncate(path, 3000))
		refused(vtpu_model_load(model, path), VTPU_ERROR_IO, "half written or cut off",
			"a file that is half there");
	tap_ok(sum_of(model) == before, "and the model is as it was");
	vtpu_model_destroy(model);
	vtpu_data_destroy(wide);
	vtpu_data_destroy(more);
	vtpu_data_destroy(none);
}

static void not_finite(struct vtpu_device *device)
{
	static float bad[COUNT][INPUTS];
	struct vtpu_data_format format = VTPU_INIT(format, .name = "holes", .count = COUNT,
						   .shape = VTPU_SHAPE(INPUTS), .classes = CLASSES);
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 11 }),
			  *twin = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	struct curve curve = { 0 }, short_curve = { .stop_at = 6 };
	struct vtpu_fit_options fit = usual(&curve), until = usual(&short_curve);
	struct vtpu_data *data;

	memcpy(bad, samples, sizeof(bad));
	bad[7 * BATCH + 5][3] = NAN;
	vtpu_data_memory(&format, bad[0], labels, &data);
	fit.no_shuffle = until.no_shuffle = true;
	fit.validation = until.validation = NULL;
	fit.schedule.steps = until.schedule.steps = 40;
	refused(vtpu_model_fit(model, data, &fit, NULL), VTPU_ERROR_NUMERIC,
		"the loss of step 8 (epoch 0, batch 7", "a sample that is no number: which step");
	tap_ok(strstr(vtpu_last_error(), "first operation whose result is not finite is 'dense1/"),
	       "and which operation: %s", vtpu_last_error());
	short_curve.stop_at = 6;
	vtpu_model_fit(twin, set, &until, NULL);
	tap_ok(short_curve.steps >= 6 && sum_of(model) == sum_of(twin),
	       "the model is as before that step");
	fit.allow_nan = true;
	ok_call(vtpu_model_fit(model, data, &fit, NULL), "unless one wants to go on");
	vtpu_data_destroy(data);
	vtpu_model_destroy(model);
	vtpu_model_destroy(twin);
}

/* Numbers of samples: from @end on none comes, and @wrong has a label that is no class. */
struct broken {
	uint64_t end, wrong;
};

static const char *broken_read(void *arg, uint64_t index, void *sample, int32_t *label)
{
	const struct broken *b = arg;

	if (index >= b->end)
		return "cable pulled";
	memcpy(sample, samples[index], sizeof(samples[0]));
	*label = index == b->wrong ? 77 : labels[index];
	return NULL;
}

static void bad_source(struct vtpu_device *device)
{
	struct vtpu_data_format format = VTPU_INIT(format, .name = "cable", .count = COUNT,
						   .shape = VTPU_SHAPE(INPUTS), .classes = CLASSES);
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	struct broken source = { .end = 4 * BATCH + 3, .wrong = COUNT };
	struct vtpu_data *data;

	vtpu_data_callback(&format, broken_read, &source, true, &data);
	fit.no_shuffle = true;
	refused(vtpu_model_fit(model, data, &fit, NULL), VTPU_ERROR_IO, "sample 259: cable pulled",
		"a source that fails in mid-epoch");
	source = (struct broken){ .end = COUNT, .wrong = 2 * BATCH + 1 };
	refused(vtpu_model_fit(model, data, &fit, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"data 'cable': the label of sample 129 is 77; expected 0..3",
		"a source with a label that is no class");
	source.wrong = COUNT;
	ok_call(vtpu_model_fit(model, data, &fit, NULL),
		"and training can go on when it is mended");
	vtpu_data_destroy(data);
	vtpu_model_destroy(model);
}

/* A job of the fit that never ends: @fault says which; @words are in the sentence about it. */
static void hang(const char *fault, const char *words, uint64_t sum)
{
	struct vtpu_device *device;
	struct vtpu_model *model;
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	enum vtpu_status status;
	char path[300], name[128];
	uint64_t steps;

	snprintf(path, sizeof(path), "%s/hang.safetensors", dir);
	unlink(path);
	snprintf(name, sizeof(name),
		 "model:v3,cores=4,hbm=256M,threads=2,watchdog=200,inject=hang:%s", fault);
	ok_call(vtpu_open(name, &device), name);
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	fit.checkpoint = path;
	fit.checkpoint_steps = 2;
	status = vtpu_model_fit(model, set, &fit, NULL);
	tap_ok(status != VTPU_OK && strstr(vtpu_last_error(), words),
	       "a job that hangs ends the fit: %s", vtpu_last_error());
	steps = curve.steps;
	refused(vtpu_model_evaluate(model, set, 0, &(struct vtpu_score){ 0 }),
		VTPU_ERROR_INVALID_ARGUMENT, "may be in mid-step",
		"the model says that it is in mid-step");
	tap_ok(steps > 0 && steps < 4 * STEPS, "in the middle: %d steps came", (int)steps);
	vtpu_model_destroy(model);
	vtpu_close(device);
	vtpu_open("model:v3,cores=4,hbm=256M,threads=2", &device);
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	ok_call(vtpu_model_load(model, path), "the last file is good");
	fit.checkpoint = NULL;
	fit.resume = true;
	ok_call(vtpu_model_fit(model, set, &fit, NULL),
		"and training is finished on another device");
	tap_ok(sum_of(model) == sum, "to the bits of a run without a fault");
	vtpu_model_destroy(model);
	vtpu_close(device);
}

/*
 * In mid-training a bit of what core @core stores is wrong: it and the tensor are named, and
 * the file saved before is good, from which training gives the bits @sum of a run without a fault.
 */
static void wrong_bit(uint32_t core, uint64_t sum)
{
	struct vtpu_device *device;
	struct vtpu_model *model;
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	char path[300], name[128], words[64];
	enum vtpu_status status;

	snprintf(path, sizeof(path), "%s/wrong.safetensors", dir);
	unlink(path);
	snprintf(name, sizeof(name),
		 "model:v3,cores=4,hbm=256M,threads=2,inject=wrong-bit:queue=4:job=8:core=%u",
		 core);
	ok_call(vtpu_open(name, &device), name);
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	fit.checkpoint = path;
	fit.checkpoint_steps = 1;
	fit.check_replicas = 1;
	status = vtpu_model_fit(model, set, &fit, NULL);
	snprintf(words, sizeof(words), "of core %u is not that of", core);
	tap_ok(status == VTPU_ERROR_NUMERIC && strstr(vtpu_last_error(), words) &&
		       strstr(vtpu_last_error(), "dense"),
	       "a wrong bit ends the fit: %s", vtpu_last_error());
	refused(vtpu_model_evaluate(model, set, 0, &(struct vtpu_score){ 0 }),
		VTPU_ERROR_INVALID_ARGUMENT, "replicas differ", "the model is not to be used");
	ok_call(vtpu_model_load(model, path), "the last file is good");
	fit.checkpoint = NULL;
	fit.resume = true;
	ok_call(vtpu_model_fit(model, set, &fit, NULL), "and training is finished");
	tap_ok(sum_of(model) == sum, "to the bits of a run without a fault");
	vtpu_model_destroy(model);
	vtpu_close(device);
}

/* Something befalls one core of four: the sentence says which, and what it was at. */
static void core_fault(const char *fault, enum vtpu_status expected, const char *words)
{
	struct vtpu_device *device;
	struct vtpu_model *model;
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	char name[128];

	snprintf(name, sizeof(name),
		 "model:v3,cores=4,hbm=256M,threads=2,watchdog=200,inject=%s:queue=4:job=8:core=2",
		 fault);
	ok_call(vtpu_open(name, &device), name);
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	refused(vtpu_model_fit(model, set, &fit, NULL), expected, words,
		"a fault of one core ends the fit");
	tap_ok(strstr(vtpu_last_error(), "operation '") && strstr(vtpu_last_error(), "core 2)"),
	       "operation and core are named: %s", vtpu_last_error());
	vtpu_model_destroy(model);
	vtpu_close(device);
}

/* A batch that is too large: the largest that would do is named, and does. */
static void no_room(void)
{
	struct vtpu_data_format format = VTPU_INIT(format, .name = "zeros", .count = 200000,
						   .shape = VTPU_SHAPE(INPUTS), .classes = CLASSES);
	struct vtpu_device *device;
	struct vtpu_model *model;
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	const char *words;
	struct vtpu_data *data;
	float *zeros = calloc(200000 * INPUTS, sizeof(*zeros));
	int32_t *zero = calloc(200000, sizeof(*zero));
	unsigned int largest = 0;

	ok_call(vtpu_open("model:v3,cores=4,hbm=32M,threads=2", &device), "a small device");
	ok_call(vtpu_data_memory(&format, zeros, zero, &data), "many samples");
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	fit.epochs = 1;
	fit.batch = 200000;
	fit.validation = NULL;
	refused(vtpu_model_fit(model, data, &fit, NULL), VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
		"a batch of 200000 samples does not fit", "a batch that does not fit");
	words = strstr(vtpu_last_error(), "the largest that does is ");
	tap_ok(words && sscanf(words, "the largest that does is %u", &largest) == 1 &&
		       largest > 64 && largest < 200000 && largest % 4 == 0,
	       "the largest is named: %s", vtpu_last_error());
	fit.batch = largest + 4;
	refused(vtpu_model_fit(model, data, &fit, NULL), VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
		"does not fit", "a little more does not");
	fit.batch = largest;
	ok_call(vtpu_model_fit(model, data, &fit, NULL), "and that one does");
	vtpu_model_destroy(model);
	vtpu_data_destroy(data);
	vtpu_close(device);
	free(zeros);
	free(zero);
}

int main(void)
{
	struct vtpu_device *device;
	struct curve curve = { 0 };
	uint64_t sum;

	if (!make_dir())
		return 1;
	make_set();
	if (!ok_call(vtpu_open("model:v3,cores=4,hbm=256M,threads=2", &device), "a device"))
		return 1;
	bad_fits(device);
	not_finite(device);
	bad_source(device);
	sum = whole_run(device, &curve);
	vtpu_close(device);
	hang("queue=4:job=8", "step 8 (epoch 0): program 'small/train' failed", sum); /* of steps */
	hang("queue=3:job=13", "copy job failed", sum); /* of batches */
	wrong_bit(2, sum);
	wrong_bit(0, sum);
	core_fault("hang", VTPU_ERROR_DEADLOCK, "watchdog");
	core_fault("ecc", VTPU_ERROR_DEVICE_LOST, "of buffer '");
	core_fault("link-down", VTPU_ERROR_DEVICE_LOST, "link between cores");
	no_room();
	vtpu_data_destroy(set);
	remove_dir();
	return tap_done();
}
