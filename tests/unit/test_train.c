// SPDX-License-Identifier: MIT
/*
 * test_train.c - models, their training and their files, on a model of the chip.
 *
 * A small network, so that steps are checked one by one against the same training
 * in plain double precision; that it learns, that a run can be repeated and resumed
 * to the bit, and that what goes wrong is said.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vtpu/vtpu.h>

#include "unit/status.h"

#define COUNT	600
#define INPUTS	24
#define HIDDEN	16
#define CLASSES 4
#define BATCH	64
#define STEPS	((COUNT + BATCH - 1) / BATCH)
#define CORES	4

static char dir[] = "build/tests/train-XXXXXX";
static float samples[COUNT][INPUTS];
static int32_t labels[COUNT];
static struct vtpu_data *set;

/* Clouds around four points, which a line does not separate. */
static void make_set(void)
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

static struct vtpu_model *make_model(uint32_t hidden)
{
	const struct vtpu_layer_options relu = { .activation = VTPU_ACT_RELU };
	struct vtpu_model *model;

	if (vtpu_model_create("small", VTPU_DTYPE_F32, VTPU_SHAPE(INPUTS), &model))
		return NULL;
	vtpu_model_dense(model, "dense1", hidden, &relu);
	vtpu_model_dense(model, "dense2", CLASSES, NULL);
	return model;
}

static struct vtpu_model *compiled(struct vtpu_device *device, struct vtpu_model_options options)
{
	struct vtpu_model *model = make_model(HIDDEN);

	options.struct_size = sizeof(options);
	if (vtpu_model_compile(model, device, &options))
		printf("# %s\n", vtpu_last_error());
	return model;
}

/* ---- The same training in double precision ---------------------------------------------- */

struct reference {
	double w1[INPUTS][HIDDEN], b1[HIDDEN], w2[HIDDEN][CLASSES], b2[CLASSES];
};

#define NUMBERS (sizeof(struct reference) / sizeof(double))

static double reference_step(struct reference *w, double *m, double *v, const uint64_t *index,
			     uint32_t count, int step, double rate)
{
	struct reference gradient = { 0 };
	double *g = (double *)&gradient, *p = (double *)w, loss = 0;

	for (uint32_t n = 0; n < count; n++) {
		const float *x = samples[index[n]];
		double h[HIDDEN], y[CLASSES], dh[HIDDEN] = { 0 }, sum = 0, most = -1e30;

		for (int j = 0; j < HIDDEN; j++) {
			h[j] = w->b1[j];
			for (int k = 0; k < INPUTS; k++)
				h[j] += x[k] * w->w1[k][j];
			h[j] = h[j] > 0 ? h[j] : 0;
		}
		for (int c = 0; c < CLASSES; c++) {
			y[c] = w->b2[c];
			for (int j = 0; j < HIDDEN; j++)
				y[c] += h[j] * w->w2[j][c];
			most = y[c] > most ? y[c] : most;
		}
		for (int c = 0; c < CLASSES; c++)
			sum += exp(y[c] - most);
		loss += most + log(sum) - y[labels[index[n]]];
		for (int c = 0; c < CLASSES; c++) {
			double d = (exp(y[c] - most) / sum - (c == labels[index[n]])) / count;

			gradient.b2[c] += d;
			for (int j = 0; j < HIDDEN; j++) {
				gradient.w2[j][c] += d * h[j];
				dh[j] += d * w->w2[j][c];
			}
		}
		for (int j = 0; j < HIDDEN; j++) {
			double d = h[j] > 0 ? dh[j] : 0;

			gradient.b1[j] += d;
			for (int k = 0; k < INPUTS; k++)
				gradient.w1[k][j] += d * x[k];
		}
	}
	for (size_t i = 0; i < NUMBERS; i++) {
		m[i] = 0.9 * m[i] + 0.1 * g[i];
		v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
		p[i] -= rate * (m[i] / (1 - pow(0.9, step))) /
			(sqrt(v[i] / (1 - pow(0.999, step))) + 1e-8);
	}
	return loss / count;
}

static void read_doubles(struct vtpu_model *model, const char *name, double *to, size_t count)
{
	float *x = calloc(count, sizeof(*x));

	if (vtpu_variables_read(vtpu_model_variables(model), name, x, count * sizeof(*x)))
		printf("# %s: %s\n", name, vtpu_last_error());
	for (size_t i = 0; i < count; i++)
		to[i] = (double)x[i];
	free(x);
}

static void read_reference(struct vtpu_model *model, struct reference *w)
{
	read_doubles(model, "dense1/weights", w->w1[0], INPUTS * HIDDEN);
	read_doubles(model, "dense1/bias", w->b1, HIDDEN);
	read_doubles(model, "dense2/weights", w->w2[0], HIDDEN * CLASSES);
	read_doubles(model, "dense2/bias", w->b2, CLASSES);
}

struct curve {
	double loss[64 * STEPS];
	uint64_t steps, epochs, stop_at;
	struct vtpu_model *save_of; /* at stop_at */
	const char *path;
	struct vtpu_fit_progress last;
};

static bool record(void *arg, const struct vtpu_fit_progress *p)
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

static void against_reference(struct vtpu_device *device)
{
	const struct vtpu_loader_options order =
		VTPU_INIT(order, .batch = BATCH, .shuffle = true, .seed = 3);
	struct vtpu_fit_options fit = VTPU_INIT(fit, .epochs = 3, .batch = BATCH,
						.callback = record, .schedule = { .rate = 3e-3f });
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 3 });
	static double m[NUMBERS], v[NUMBERS];
	double worst = 0, moved = 0, off = 0;
	struct reference w, start, end;
	struct curve curve = { 0 };
	struct vtpu_loader *loader;
	uint64_t index[BATCH];
	int step = 0;

	read_reference(model, &w);
	start = w;
	fit.callback_arg = &curve;
	if (!ok_call(vtpu_model_fit(model, set, &fit, NULL),
		     "three epochs of 10 steps, the last one padded"))
		return;
	tap_ok(curve.steps == 3 * STEPS && curve.epochs == 3, "the callback saw all of them");
	vtpu_loader_create(device, set, &order, &loader);
	for (uint32_t epoch = 0; epoch < 3; epoch++)
		for (uint64_t b = 0; b < STEPS; b++, step++) {
			uint32_t n = vtpu_loader_samples(loader, epoch, b, index);
			double loss = reference_step(&w, m, v, index, n, step + 1, 3e-3f);
			double error = fabs(loss - curve.loss[step]) / loss;

			worst = error > worst ? error : worst;
		}
	tap_ok(worst < 1e-4, "each loss is that of double precision (worst %.2g)", worst);
	read_reference(model, &end);
	for (size_t i = 0; i < NUMBERS; i++) {
		moved += fabs(((double *)&w)[i] - ((double *)&start)[i]);
		off += fabs(((double *)&w)[i] - ((double *)&end)[i]);
	}
	tap_ok(off < 1e-3 * moved && moved > 1,
	       "and so are the parameters (off by %.2g of their way)", off / moved);
	vtpu_loader_destroy(loader);
	vtpu_model_destroy(model);
}

/* ---- Bits ----------------------------------------------------------------------------------- */

static uint64_t sum_of(struct vtpu_model *model)
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

static struct vtpu_fit_options usual(struct curve *curve)
{
	struct vtpu_fit_options fit =
		VTPU_INIT(fit, .epochs = 4, .batch = BATCH, .callback = record,
			  .callback_arg = curve,
			  .schedule = { VTPU_SCHEDULE_COSINE, .rate = 1e-2f, .warmup = 5 },
			  .validation = set);

	return fit;
}

static uint64_t whole_run(struct vtpu_device *device, struct curve *curve)
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

static void resume_at(struct vtpu_device *device, uint64_t step, const struct curve *want,
		      uint64_t sum)
{
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	struct curve curve = { .stop_at = step, .save_of = model };
	struct vtpu_fit_options fit = usual(&curve);
	char path[300];

	snprintf(path, sizeof(path), "%s/at-%d.safetensors", dir, (int)step);
	curve.path = path;
	vtpu_model_fit(model, set, &fit, NULL);
	vtpu_model_destroy(model);
	/* Another seed: the file's is taken. */
	model = compiled(device, (struct vtpu_model_options){ .seed = 99 });
	if (vtpu_model_load(model, path))
		printf("# %s\n", vtpu_last_error());
	curve.stop_at = 0;
	fit.resume = true;
	if (vtpu_model_fit(model, set, &fit, NULL))
		printf("# %s\n", vtpu_last_error());
	tap_ok(sum_of(model) == sum, "broken off at step %d and resumed: the same variables",
	       (int)step);
	tap_ok(curve.steps >= want->steps - 1 && curve.last.loss == want->last.loss &&
		       curve.last.val_loss == want->last.val_loss &&
		       curve.last.epoch == want->last.epoch,
	       "the same last epoch: %.9f, %.9f", curve.last.loss, want->last.loss);
	vtpu_model_destroy(model);
}

/* Trains and saves after each step, until it is killed. */
static int train_for_ever(const char *path)
{
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	struct vtpu_device *device;
	struct vtpu_model *model;

	fit.checkpoint = path;
	fit.checkpoint_steps = 1;
	make_set();
	if (vtpu_open("model:v3,cores=4,hbm=256M,threads=2", &device))
		return 1;
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	if (vtpu_model_fit(model, set, &fit, NULL))
		return 1;
	for (;;)
		pause();
}

/* A training program that is killed, and what its file is good for. */
static void killed(uint64_t sum)
{
	struct vtpu_device *device;
	struct vtpu_model *model;
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	char path[300];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/killed.safetensors", dir);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "test_train", path, NULL);
		_exit(127);
	}
	for (int i = 0; i < 6000 && access(path, F_OK); i++)
		usleep(10000);
	usleep(60000); /* somewhere in the run */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	vtpu_open("model:v3,cores=4,hbm=256M,threads=2", &device);
	model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	ok_call(vtpu_model_load(model, path), "a killed program's last file is whole");
	fit.checkpoint = NULL;
	fit.resume = true;
	ok_call(vtpu_model_fit(model, set, &fit, NULL), "and training goes on from it");
	tap_ok(sum_of(model) == sum || curve.steps == 0, "to the bits of a run that nobody killed");
	vtpu_model_destroy(model);
	vtpu_close(device);
}

static void bits(struct vtpu_device *device)
{
	struct curve a = { 0 }, b = { 0 };
	uint64_t sum = whole_run(device, &a);

	tap_ok(sum && a.epochs == 4 && a.last.accuracy > 0.9, "four epochs learn it: %.3f",
	       a.last.accuracy);
	tap_ok(whole_run(device, &b) == sum && !memcmp(a.loss, b.loss, sizeof(a.loss)),
	       "again: every loss and variable to the bit");
	resume_at(device, 7, &a, sum);
	resume_at(device, STEPS, &a, sum);
	resume_at(device, 2 * STEPS + 1, &a, sum);
	resume_at(device, 4 * STEPS - 1, &a, sum);
	killed(sum);
}

/* ---- Scores, predictions ---------------------------------------------------------------------- */

static void scores(struct vtpu_device *device)
{
	static float probability[COUNT][CLASSES];
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	struct vtpu_fit_report report = VTPU_INIT(report);
	struct vtpu_fit_options fit = usual(&(struct curve){ 0 });
	struct vtpu_score score, other;
	double worst = 0, loss = 0;
	uint64_t right = 0;
	char *text = NULL, line[256] = "", last[256] = "";
	FILE *file;

	fit.callback = NULL;
	fit.progress = file = tmpfile();
	ok_call(vtpu_model_fit(model, set, &fit, &report), "a fit with a report");
	ok_call(vtpu_model_evaluate(model, set, 4, &score), "score, 4 samples at a time");
	ok_call(vtpu_model_evaluate(model, set, 512, &other),
		"score, 512 at a time, the last batch padded");
	tap_ok(score.count == COUNT && score.correct == other.correct &&
		       fabs(score.loss - other.loss) < 1e-5 && score.correct > COUNT * 9 / 10,
	       "all samples count, and the same: %d right", (int)score.correct);
	ok_call(vtpu_model_predict(model, set, 256, probability[0], sizeof(probability)),
		"predictions");
	for (int i = 0; i < COUNT; i++) {
		double sum = 0;
		int best = 0;

		for (int c = 0; c < CLASSES; c++) {
			sum += (double)probability[i][c];
			best = probability[i][c] > probability[i][best] ? c : best;
		}
		worst = fabs(sum - 1) > worst ? fabs(sum - 1) : worst;
		right += best == labels[i];
		loss -= log((double)probability[i][labels[i]]) / COUNT;
	}
	tap_ok(worst < 1e-5, "are probabilities");
	tap_ok(right == score.correct && fabs(loss - score.loss) < 1e-4,
	       "that agree with the score");
	tap_ok(report.epochs == 4 && report.steps == 4 * STEPS && report.samples == 4 * COUNT &&
		       report.seconds > 0 && report.model_seconds > 0 &&
		       report.model_seconds == report.model_seconds_f32 &&
		       report.model_seconds_bf16 > 0 && fabs(report.val_loss - score.loss) < 1e-5,
	       "the report counts steps and has modelled times");
	ok_call(vtpu_fit_report_text(&report, &text), "and can be read");
	tap_ok(text && strstr(text, "waiting for input") && strstr(text, "in bf16"),
	       "where the time went");
	free(text);
	rewind(file);
	while (fgets(line, sizeof(line), file))
		strcpy(last, line);
	tap_ok(!strncmp(last, "Epoch 4/4 - step 10/10 - ", 25) &&
		       strstr(last, " ms/step - loss: 0.") && strstr(last, " - accuracy: ") &&
		       strstr(last, " - val_loss: 0.") && strstr(last, " - val_accuracy: "),
	       "a line an epoch where there is no terminal: %.*s", (int)strcspn(last, "\n"), last);
	fclose(file);
	vtpu_model_destroy(model);
}

/* ---- What goes wrong ------------------------------------------------------------------------------ */

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

static const char *broken_read(void *arg, uint64_t index, void *sample, int32_t *label)
{
	if (index >= *(uint64_t *)arg)
		return "cable pulled";
	memcpy(sample, samples[index], sizeof(samples[0]));
	*label = labels[index];
	return NULL;
}

static void bad_source(struct vtpu_device *device)
{
	struct vtpu_data_format format = VTPU_INIT(format, .name = "cable", .count = COUNT,
						   .shape = VTPU_SHAPE(INPUTS), .classes = CLASSES);
	struct vtpu_model *model = compiled(device, (struct vtpu_model_options){ .seed = 11 });
	struct curve curve = { 0 };
	struct vtpu_fit_options fit = usual(&curve);
	uint64_t good = 4 * BATCH + 3;
	struct vtpu_data *data;

	vtpu_data_callback(&format, broken_read, &good, true, &data);
	fit.no_shuffle = true;
	refused(vtpu_model_fit(model, data, &fit, NULL), VTPU_ERROR_IO, "sample 259: cable pulled",
		"a source that fails in mid-epoch");
	good = COUNT;
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

int main(int argc, char **argv)
{
	struct vtpu_device *device;
	struct curve curve = { 0 };
	char command[300];
	uint64_t sum;

	if (argc > 1)
		return train_for_ever(argv[1]);
	mkdir("build", 0755);
	mkdir("build/tests", 0755);
	if (!mkdtemp(dir))
		return 1;
	make_set();
	if (!ok_call(vtpu_open("model:v3,cores=4,hbm=256M,threads=2", &device), "a device"))
		return 1;
	against_reference(device);
	bits(device);
	scores(device);
	bad_fits(device);
	not_finite(device);
	bad_source(device);
	sum = whole_run(device, &curve);
	vtpu_close(device);
	hang("queue=4:job=8", "step 8 (epoch 0): program 'small/train' failed", sum); /* of steps */
	hang("queue=3:job=13", "copy job failed", sum); /* of batches */
	vtpu_data_destroy(set);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	tap_ok(!system(command), "the files are removed");
	return tap_done();
}
