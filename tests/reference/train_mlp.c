// SPDX-License-Identifier: MIT
/*
 * train_mlp.c - makes the demo's weights, without any of the project's code.
 *
 * Plain double-precision C: 784-128-10, ReLU, softmax cross-entropy, SGD with
 * momentum on the training images, seeded. Loops run over independent outputs,
 * so the bits are the same however wide the compiler vectorises.
 *
 *	train_mlp [-e EPOCHS] [-s SEED] DIR OUTPUT
 *	train_mlp -w		print the folder that would be used by default
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset.h"
#include "mlp_file.h"

#define BATCH	 50
#define RATE	 0.05
#define MOMENTUM 0.9

#ifdef __x86_64__
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

struct params {
	double w1[MLP_IN][MLP_HIDDEN], b1[MLP_HIDDEN];
	double w2[MLP_HIDDEN][MLP_OUT], b2[MLP_OUT];
};

/* splitmix64 (public domain algorithm by S. Vigna): small and good enough for a shuffle. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Uniform in [-limit, limit): He's variance for ReLU layers. */
static double next_weight(uint64_t *state, int fan_in)
{
	return ((double)(next_random(state) >> 11) / (1ull << 52) - 1) * sqrt(6.0 / fan_in);
}

static WIDE void axpy(double *restrict y, const double *restrict x, double a, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}

static void forward(const struct params *p, const uint8_t *image, double *x, double *h,
		    double *prob)
{
	double top, sum = 0;

	memcpy(h, p->b1, sizeof(p->b1));
	for (int k = 0; k < MLP_IN; k++) {
		x[k] = image[k] / 255.0;
		if (image[k])
			axpy(h, p->w1[k], x[k], MLP_HIDDEN);
	}
	memcpy(prob, p->b2, sizeof(p->b2));
	for (int k = 0; k < MLP_HIDDEN; k++) {
		h[k] = h[k] > 0 ? h[k] : 0;
		axpy(prob, p->w2[k], h[k], MLP_OUT);
	}
	top = prob[0];
	for (int j = 1; j < MLP_OUT; j++)
		top = prob[j] > top ? prob[j] : top;
	for (int j = 0; j < MLP_OUT; j++)
		sum += prob[j] = exp(prob[j] - top);
	for (int j = 0; j < MLP_OUT; j++)
		prob[j] /= sum;
}

/* Adds one sample's gradient to @g; returns its loss. */
static double sample(const struct params *p, struct params *g, const uint8_t *image, int label)
{
	double x[MLP_IN], h[MLP_HIDDEN], dy[MLP_OUT], dh[MLP_HIDDEN], loss;

	forward(p, image, x, h, dy);
	loss = -log(dy[label]);
	dy[label] -= 1;
	axpy(g->b2, dy, 1, MLP_OUT);
	for (int k = 0; k < MLP_HIDDEN; k++) {
		dh[k] = 0;
		if (!(h[k] > 0))
			continue;
		for (int j = 0; j < MLP_OUT; j++)
			dh[k] += p->w2[k][j] * dy[j];
		axpy(g->w2[k], dy, h[k], MLP_OUT);
	}
	axpy(g->b1, dh, 1, MLP_HIDDEN);
	for (int k = 0; k < MLP_IN; k++)
		if (image[k])
			axpy(g->w1[k], dh, x[k], MLP_HIDDEN);
	return loss;
}

static WIDE void step(double *restrict p, double *restrict v, double *restrict g, size_t n,
		      double rate)
{
	for (size_t i = 0; i < n; i++) {
		v[i] = MOMENTUM * v[i] - rate * (g[i] / BATCH);
		p[i] += v[i];
		g[i] = 0;
	}
}

static void train(struct params *p, const struct dataset *data, int epochs, uint64_t seed)
{
	struct params *v = calloc(1, sizeof(*v)), *g = calloc(1, sizeof(*g));
	double *w1 = (double *)p->w1, *w2 = (double *)p->w2;
	uint32_t *order = malloc(data->count * sizeof(*order));

	if (!v || !g || !order) {
		fprintf(stderr, "train_mlp: out of memory\n");
		exit(1);
	}
	for (int i = 0; i < MLP_IN * MLP_HIDDEN; i++)
		w1[i] = next_weight(&seed, MLP_IN);
	for (int i = 0; i < MLP_HIDDEN * MLP_OUT; i++)
		w2[i] = next_weight(&seed, MLP_HIDDEN);
	for (uint32_t i = 0; i < data->count; i++)
		order[i] = i;
	for (int e = 0; e < epochs; e++) {
		double loss = 0;

		for (size_t i = data->count - 1; i; i--) {
			size_t j = next_random(&seed) % (i + 1);
			uint32_t t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		for (size_t i = 0; i + BATCH <= data->count; i += BATCH) {
			for (size_t b = i; b < i + BATCH; b++)
				loss += sample(p, g, data->images + (size_t)order[b] * MLP_IN,
					       data->labels[order[b]]);
			step((double *)p, (double *)v, (double *)g, sizeof(*p) / sizeof(double),
			     RATE * (1 - (double)e / epochs));
		}
		printf("epoch %d of %d: loss %.4f\n", e + 1, epochs, loss / data->count);
		fflush(stdout);
	}
	free(v);
	free(g);
	free(order);
}

static size_t score(const struct params *p, const struct dataset *data)
{
	double x[MLP_IN], h[MLP_HIDDEN], prob[MLP_OUT];
	size_t right = 0;

	for (size_t i = 0; i < data->count; i++) {
		int best = 0;

		forward(p, data->images + i * MLP_IN, x, h, prob);
		for (int j = 1; j < MLP_OUT; j++)
			best = prob[j] > prob[best] ? j : best;
		right += best == data->labels[i];
	}
	return right;
}

/* The file's inputs are bytes, not fractions: the factor goes into w1. */
static int save(const struct params *p, const char *path)
{
	struct mlp_weights *w = malloc(sizeof(*w));
	char tmp[4096];
	FILE *f;
	int ok;

	snprintf(tmp, sizeof(tmp), "%s.%d.tmp", path, getpid());
	f = fopen(tmp, "wb");
	if (!w || !f) {
		perror(tmp);
		return -1;
	}
	for (int k = 0; k < MLP_IN; k++)
		for (int j = 0; j < MLP_HIDDEN; j++)
			w->w1[k][j] = p->w1[k][j] / 255.0;
	for (int k = 0; k < MLP_HIDDEN; k++) {
		w->b1[k] = p->b1[k];
		for (int j = 0; j < MLP_OUT; j++)
			w->w2[k][j] = p->w2[k][j];
	}
	for (int j = 0; j < MLP_OUT; j++)
		w->b2[j] = p->b2[j];
	ok = fwrite(w, sizeof(*w), 1, f) == 1;
	ok = !fclose(f) && ok;
	free(w);
	if (!ok || rename(tmp, path)) {
		perror(path);
		unlink(tmp);
		return -1;
	}
	return 0;
}

static int where(void)
{
	const char *name, *why, *dir = dataset_dir(&name, &why);

	if (!dir) {
		fprintf(stderr,
			"train_mlp: no images: set MNIST_DIR, or install dataset-fashion-mnist\n");
		return 1;
	}
	puts(dir);
	return 0;
}

int main(int argc, char **argv)
{
	static struct params p;
	struct dataset train_data, test_data;
	int epochs = 4, opt;
	uint64_t seed = 1;
	char err[5000];
	size_t right;

	while ((opt = getopt(argc, argv, "e:s:w")) != -1) {
		if (opt == 'w')
			return where();
		else if (opt == 'e')
			epochs = atoi(optarg);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind != 2 || epochs < 1) {
		fprintf(stderr, "usage: train_mlp [-e EPOCHS] [-s SEED] DIR OUTPUT | -w\n");
		return 2;
	}
	if (dataset_load(argv[optind], "train", &train_data, err, sizeof(err)) ||
	    dataset_load(argv[optind], "t10k", &test_data, err, sizeof(err))) {
		fprintf(stderr, "train_mlp: %s\n", err);
		return 1;
	}
	train(&p, &train_data, epochs, seed);
	right = score(&p, &test_data);
	printf("test: %zu of %zu right (%.2f %%)\n", right, test_data.count,
	       100.0 * right / test_data.count);
	dataset_free(&train_data);
	dataset_free(&test_data);
	return save(&p, argv[optind + 1]) ? 1 : 0;
}
