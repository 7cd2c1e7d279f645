// SPDX-License-Identifier: MIT
/*
 * test_train.c - training on a model of the chip: each step against the same in plain
 * double precision, runs that are repeated and resumed to the bit, scores.
 */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "unit/small_training.h"

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
		dup2(STDERR_FILENO, STDOUT_FILENO); /* its lines are not ours */
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

/* Pictures of stripes, across or down, through every kind of layer; from threads that mirror them. */
#define SIDE 10

static const char *mirror(void *arg, const void *in, void *out, int32_t *label,
			  struct vtpu_random *random)
{
	const uint8_t *from = in;
	uint8_t *to = out;
	bool turn = vtpu_random_below(random, 2);

	(void)arg;
	(void)label;
	for (int i = 0; i < SIDE * SIDE; i++)
		to[i] = from[turn ? SIDE * SIDE - 1 - i : i];
	return NULL;
}

static uint64_t stripes(struct vtpu_device *device, struct vtpu_data *data, uint32_t threads,
			struct vtpu_score *score)
{
	const struct vtpu_layer_options conv = { .no_bias = true,
						 .conv = { .padding = VTPU_PADDING_SAME } };
	const struct vtpu_loader_options loader =
		VTPU_INIT(loader, .map = mirror, .threads = threads, .drop_last = true);
	struct vtpu_model_options options = VTPU_INIT(options, .seed = 2);
	struct vtpu_fit_options fit = VTPU_INIT(fit, .epochs = 6, .batch = 32, .loader = &loader,
						.schedule = { .rate = 1e-2f }, .check_replicas = 5);
	struct vtpu_model *model;
	uint64_t sum = 0;

	vtpu_model_create("stripes", VTPU_DTYPE_U8, VTPU_SHAPE(SIDE, SIDE, 1), &model);
	vtpu_model_normalize(model, "standardise", 128, 64);
	vtpu_model_conv2d(model, "conv1", 8, 3, &conv);
	vtpu_model_batch_norm(model, "norm1", NULL);
	vtpu_model_activation(model, "relu1", VTPU_ACT_RELU);
	vtpu_model_max_pool(model, "pool1", 2, NULL);
	vtpu_model_flatten(model, "flatten");
	vtpu_model_dropout(model, "drop1", 0.25f);
	vtpu_model_dense(model, "dense1", 2, NULL);
	if (vtpu_model_compile(model, device, &options) ||
	    vtpu_model_fit(model, data, &fit, NULL) || vtpu_model_evaluate(model, data, 64, score))
		printf("# %s\n", vtpu_last_error());
	else
		sum = sum_of(model);
	vtpu_model_destroy(model);
	return sum;
}

static void pictures(struct vtpu_device *device)
{
	struct vtpu_data_format format =
		VTPU_INIT(format, .name = "stripes", .count = 200, .type = VTPU_DTYPE_U8,
			  .shape = VTPU_SHAPE(SIDE, SIDE, 1), .classes = 2);
	static uint8_t picture[200][SIDE][SIDE];
	struct vtpu_random r = vtpu_random_make(5, 0, 0, 0);
	struct vtpu_score score = { 0 };
	static int32_t across[200];
	struct vtpu_data *data;
	uint64_t sum;

	for (int i = 0; i < 200; i++) {
		across[i] = (int32_t)vtpu_random_below(&r, 2);
		for (int y = 0; y < SIDE; y++)
			for (int x = 0; x < SIDE; x++)
				picture[i][y][x] =
					(uint8_t)(((across[i] ? y : x) + i) % 4 < 2 ? 160 : 90) +
					(uint8_t)vtpu_random_below(&r, 60);
	}
	vtpu_data_memory(&format, picture, across, &data);
	sum = stripes(device, data, 1, &score);
	tap_ok(sum && score.count == 200 && score.correct > 190,
	       "convolution, normalisation, pooling, dropout, augmentation: %d of 200 right",
	       (int)score.correct);
	tap_ok(stripes(device, data, 5, &score) == sum,
	       "five threads feed it the same, to the bit");
	vtpu_data_destroy(data);
}

int main(int argc, char **argv)
{
	struct vtpu_device *device;

	if (argc > 1)
		return train_for_ever(argv[1]);
	if (!make_dir())
		return 1;
	make_set();
	if (!ok_call(vtpu_open("model:v3,cores=4,hbm=256M,threads=2", &device), "a device"))
		return 1;
	against_reference(device);
	bits(device);
	scores(device);
	pictures(device);
	vtpu_close(device);
	vtpu_data_destroy(set);
	remove_dir();
	return tap_done();
}
