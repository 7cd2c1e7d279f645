// SPDX-License-Identifier: MIT
/*
 * check_mlp.c - the demo's classification against plain double precision.
 *
 * Computes every logit in double from the same images and weights, with the
 * bound that docs/numerics.md gives for f32 chains, and checks the device's
 * logits and classes: each logit within its bound, each class the same unless
 * the reference's top two differ by at most twice the bound. Prints TAP.
 *
 *	check_mlp DIR WEIGHTS LOGITS CLASSES PERCENT
 *
 * LOGITS: f32 [count][10], CLASSES: one byte for each image; at least PERCENT
 * of the classes must be right.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset.h"
#include "mlp_file.h"

/* |error| of a chain of @terms f32 operations on values that sum to @sum in magnitude */
static double bound(int terms, double sum)
{
	return terms * (0x1p-24 * sum + 0x1p-126);
}

static void *slurp(const char *path, size_t bytes)
{
	char *data = malloc(bytes + 1);
	FILE *f = fopen(path, "rb");
	size_t got;

	if (!f || !data) {
		perror(path);
		exit(1);
	}
	got = fread(data, 1, bytes + 1, f);
	fclose(f);
	if (got != bytes) {
		fprintf(stderr, "%s: %zu bytes expected, file has %s\n", path, bytes,
			got < bytes ? "fewer" : "more");
		exit(1);
	}
	return data;
}

/* Reference logits @y and their bounds @e of one image. */
static void reference(const struct mlp_weights *w, const uint8_t *x, double *y, double *e)
{
	double h[MLP_HIDDEN], he[MLP_HIDDEN], mag[MLP_HIDDEN];

	for (int j = 0; j < MLP_HIDDEN; j++) {
		h[j] = w->b1[j];
		mag[j] = fabs(h[j]);
	}
	for (int k = 0; k < MLP_IN; k++) {
		if (!x[k])
			continue;
		for (int j = 0; j < MLP_HIDDEN; j++) {
			double p = (double)x[k] * w->w1[k][j];

			h[j] += p;
			mag[j] += fabs(p);
		}
	}
	for (int j = 0; j < MLP_HIDDEN; j++) {
		he[j] = bound(MLP_IN + 1, mag[j]);
		h[j] = h[j] > 0 ? h[j] : 0;
	}
	for (int j = 0; j < MLP_OUT; j++) {
		double sum = fabs(w->b2[j]), carried = 0;

		y[j] = w->b2[j];
		for (int k = 0; k < MLP_HIDDEN; k++) {
			y[j] += h[k] * w->w2[k][j];
			sum += (h[k] + he[k]) * fabs(w->w2[k][j]);
			carried += he[k] * fabs(w->w2[k][j]);
		}
		e[j] = carried + bound(MLP_HIDDEN + 1, sum);
	}
}

static int best_of(const double *y, int except)
{
	int best = -1;

	for (int j = 0; j < MLP_OUT; j++)
		if (j != except && (best < 0 || y[j] > y[best]))
			best = j;
	return best;
}

static int __attribute__((format(printf, 3, 4))) tap(int ok, int number, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", ok ? "" : "not ", number);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	return !ok;
}

int main(int argc, char **argv)
{
	struct dataset data;
	struct mlp_weights *w;
	float *logits;
	uint8_t *classes;
	char err[5000];
	size_t bad_logits = 0, bad_classes = 0, close_calls = 0, right = 0, ref_right = 0;
	double worst = 0, percent;
	int failed = 0;

	if (argc != 6) {
		fprintf(stderr, "usage: check_mlp DIR WEIGHTS LOGITS CLASSES PERCENT\n");
		return 2;
	}
	if (dataset_load(argv[1], "t10k", &data, err, sizeof(err))) {
		fprintf(stderr, "check_mlp: %s\n", err);
		return 1;
	}
	w = slurp(argv[2], sizeof(*w));
	logits = slurp(argv[3], data.count * MLP_OUT * sizeof(float));
	classes = slurp(argv[4], data.count);
	printf("TAP version 13\n1..4\n");
	for (size_t i = 0; i < data.count; i++) {
		double y[MLP_OUT], e[MLP_OUT], gap;
		int best, second;

		reference(w, data.images + i * MLP_IN, y, e);
		for (int j = 0; j < MLP_OUT; j++) {
			double off = fabs(logits[i * MLP_OUT + j] - y[j]) / e[j];

			worst = off > worst ? off : worst;
			if (!(off <= 1) && bad_logits++ < 10)
				printf("# image %zu class %d: logit %.9g, reference %.9g, bound %.3g\n",
				       i, j, logits[i * MLP_OUT + j], y[j], e[j]);
		}
		best = best_of(y, -1);
		second = best_of(y, best);
		gap = y[best] - y[second];
		right += classes[i] == data.labels[i];
		ref_right += best == data.labels[i];
		if (classes[i] == best)
			continue;
		if (classes[i] == second && gap <= 2 * fmax(e[best], e[second])) {
			close_calls++;
			printf("# image %zu: class %u, reference %d: their logits differ by %.3g, bound %.3g\n",
			       i, classes[i], best, gap, e[best]);
		} else if (bad_classes++ < 10) {
			printf("# image %zu: class %u, reference %d, gap %.3g\n", i, classes[i],
			       best, gap);
		}
	}
	printf("# largest error is %.3f of its bound; %zu close calls\n", worst, close_calls);
	percent = 100.0 * right / data.count;
	failed += tap(!bad_logits, 1,
		      "every logit is within its bound of the double-precision reference");
	failed += tap(!bad_classes, 2, "every class is the reference's, close calls aside");
	failed += tap(llabs((long long)right - (long long)ref_right) <= (long long)close_calls, 3,
		      "as many right as the reference, close calls aside (%zu, %zu)", right,
		      ref_right);
	failed += tap(percent >= atof(argv[5]), 4, "accuracy %.2f %%, at least %s %%", percent,
		      argv[5]);
	dataset_free(&data);
	free(w);
	free(logits);
	free(classes);
	return failed != 0;
}
