// SPDX-License-Identifier: MIT
/*
 * guest_train.c - what a program without a TPU does: training steps of the network of
 * samples/mnist.c in plain C, on the processors there are.
 *
 * Forward, backward and Adam for 64 images, a thread for each processor. Prints samples
 * a second. What it learns is not looked at: images and labels are made up.
 *
 *	guest_train [STEPS]
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IMAGES	64
#define THREADS 8

enum {
	IN = 28,
	C1 = 26,
	P1 = 13,
	F1 = 32,
	C2 = 11,
	P2 = 5,
	F2 = 64,
	FLAT = P2 * P2 * F2,
	H = 64,
	OUT = 10
};

/** struct params - all weights, and in the same shape gradients and moments */
struct params {
	float k1[9][F1], b1[F1], k2[9][F1][F2], b2[F2], w1[FLAT][H], v1[H], w2[H][OUT], v2[OUT];
};

/** struct work - a thread's images and what it needs for one of them */
struct work {
	pthread_t thread;
	int first, last;
	struct params gradient;
	float c1[C1][C1][F1], p1[P1][P1][F1], c2[C2][C2][F2], p2[P2][P2][F2], h[H], y[OUT];
	float d1[C1][C1][F1], dp1[P1][P1][F1], d2[C2][C2][F2], dp2[FLAT], dh[H];
	unsigned char at1[P1][P1][F1], at2[P2][P2][F2];
};

static struct params params, m, v;
static float image[IMAGES][IN][IN];
static int label[IMAGES];

/* ReLU and the maximum of 2 x 2 of @from, @wide pixels a side; @at: where it was, 4 if all are negative */
static void pool(const float *from, int wide, int filters, float *to, unsigned char *at, int side)
{
	for (int i = 0; i < side * side; i++)
		for (int f = 0; f < filters; f++) {
			float most = 0;

			at[i * filters + f] = 4;
			for (int t = 0; t < 4; t++) {
				int row = i / side * 2 + t / 2, col = i % side * 2 + t % 2;
				float y = from[(row * wide + col) * filters + f];

				if (y > most) {
					most = y;
					at[i * filters + f] = (unsigned char)t;
				}
			}
			to[i * filters + f] = most;
		}
}

static void forward(struct work *w, const float (*x)[IN])
{
	const float *flat = (const float *)w->p2;

	for (int i = 0; i < C1; i++)
		for (int j = 0; j < C1; j++) {
			float *to = w->c1[i][j];

			memcpy(to, params.b1, sizeof(params.b1));
			for (int t = 0; t < 9; t++)
				for (int f = 0; f < F1; f++)
					to[f] += x[i + t / 3][j + t % 3] * params.k1[t][f];
		}
	pool(w->c1[0][0], C1, F1, w->p1[0][0], w->at1[0][0], P1);
	for (int i = 0; i < C2; i++)
		for (int j = 0; j < C2; j++) {
			float *to = w->c2[i][j];

			memcpy(to, params.b2, sizeof(params.b2));
			for (int t = 0; t < 9; t++)
				for (int c = 0; c < F1; c++) {
					float a = w->p1[i + t / 3][j + t % 3][c];

					for (int f = 0; f < F2; f++)
						to[f] += a * params.k2[t][c][f];
				}
		}
	pool(w->c2[0][0], C2, F2, w->p2[0][0], w->at2[0][0], P2);
	memcpy(w->h, params.v1, sizeof(w->h));
	for (int i = 0; i < FLAT; i++)
		for (int o = 0; o < H; o++)
			w->h[o] += flat[i] * params.w1[i][o];
	for (int o = 0; o < H; o++)
		w->h[o] = fmaxf(w->h[o], 0);
	memcpy(w->y, params.v2, sizeof(w->y));
	for (int i = 0; i < H; i++)
		for (int o = 0; o < OUT; o++)
			w->y[o] += w->h[i] * params.w2[i][o];
}

static void backward(struct work *w, const float (*x)[IN], int right)
{
	const unsigned char *place = (const unsigned char *)w->at2;
	const float *flat = (const float *)w->p2;
	struct params *g = &w->gradient;
	float sum = 0, most = w->y[0];

	for (int o = 1; o < OUT; o++)
		most = fmaxf(most, w->y[o]);
	for (int o = 0; o < OUT; o++)
		sum += w->y[o] = expf(w->y[o] - most);
	memset(w->dh, 0, sizeof(w->dh));
	for (int o = 0; o < OUT; o++) {
		float dy = (w->y[o] / sum - (float)(o == right)) / IMAGES;

		g->v2[o] += dy;
		for (int i = 0; i < H; i++) {
			g->w2[i][o] += w->h[i] * dy;
			w->dh[i] += params.w2[i][o] * dy;
		}
	}
	for (int o = 0; o < H; o++) {
		w->dh[o] = w->h[o] > 0 ? w->dh[o] : 0;
		g->v1[o] += w->dh[o];
	}
	for (int i = 0; i < FLAT; i++) {
		float to = 0;

		for (int o = 0; o < H; o++) {
			g->w1[i][o] += flat[i] * w->dh[o];
			to += params.w1[i][o] * w->dh[o];
		}
		w->dp2[i] = to;
	}
	memset(w->d2, 0, sizeof(w->d2));
	for (int i = 0; i < FLAT; i++) {
		int f = i % F2, at = place[i];

		if (at < 4)
			w->d2[i / F2 / P2 * 2 + at / 2][i / F2 % P2 * 2 + at % 2][f] = w->dp2[i];
	}
	memset(w->dp1, 0, sizeof(w->dp1));
	for (int i = 0; i < C2; i++)
		for (int j = 0; j < C2; j++) {
			const float *d = w->d2[i][j];

			for (int f = 0; f < F2; f++)
				g->b2[f] += d[f];
			for (int t = 0; t < 9; t++)
				for (int c = 0; c < F1; c++) {
					float a = w->p1[i + t / 3][j + t % 3][c], to = 0;

					for (int f = 0; f < F2; f++) {
						g->k2[t][c][f] += a * d[f];
						to += params.k2[t][c][f] * d[f];
					}
					w->dp1[i + t / 3][j + t % 3][c] += to;
				}
		}
	memset(w->d1, 0, sizeof(w->d1));
	for (int i = 0; i < P1; i++)
		for (int j = 0; j < P1; j++)
			for (int f = 0; f < F1; f++) {
				int at = w->at1[i][j][f];

				if (at < 4)
					w->d1[2 * i + at / 2][2 * j + at % 2][f] = w->dp1[i][j][f];
			}
	for (int i = 0; i < C1; i++)
		for (int j = 0; j < C1; j++)
			for (int f = 0; f < F1; f++) {
				g->b1[f] += w->d1[i][j][f];
				for (int t = 0; t < 9; t++)
					g->k1[t][f] += x[i + t / 3][j + t % 3] * w->d1[i][j][f];
			}
}

static void *run(void *arg)
{
	struct work *w = arg;

	memset(&w->gradient, 0, sizeof(w->gradient));
	for (int i = w->first; i < w->last; i++) {
		forward(w, image[i]);
		backward(w, image[i], label[i]);
	}
	return NULL;
}

static void adam(const struct work *work, int threads, int step)
{
	float *p = (float *)&params, *a = (float *)&m, *b = (float *)&v;
	float c1 = 1 - powf(0.9f, (float)step), c2 = 1 - powf(0.999f, (float)step);

	for (size_t i = 0; i < sizeof(params) / sizeof(float); i++) {
		float g = 0;

		for (int t = 0; t < threads; t++)
			g += ((const float *)&work[t].gradient)[i];
		a[i] = 0.9f * a[i] + 0.1f * g;
		b[i] = 0.999f * b[i] + 0.001f * g * g;
		p[i] -= 1e-3f * (a[i] / c1) / (sqrtf(b[i] / c2) + 1e-8f);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float some(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (float)(*seed >> 8) / (1 << 23) - 1;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 2, threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct work *work;
	unsigned int seed = 1;
	double begin;

	threads = threads < 1 ? 1 : threads > THREADS ? THREADS : threads;
	work = calloc((size_t)threads, sizeof(*work));
	if (!work || steps < 1)
		return 1;
	for (size_t i = 0; i < sizeof(params) / sizeof(float); i++)
		((float *)&params)[i] = 0.05f * some(&seed);
	for (int i = 0; i < IMAGES; i++) {
		label[i] = i % OUT;
		for (int k = 0; k < IN * IN; k++)
			image[i][k / IN][k % IN] = some(&seed);
	}
	begin = now();
	for (int s = 1; s <= steps; s++) {
		for (int t = 0; t < threads; t++) {
			work[t].first = IMAGES * t / threads;
			work[t].last = IMAGES * (t + 1) / threads;
			if (pthread_create(&work[t].thread, NULL, run, &work[t]))
				return 1;
		}
		for (int t = 0; t < threads; t++)
			pthread_join(work[t].thread, NULL);
		adam(work, threads, s);
	}
	printf("%.3f\n", IMAGES * steps / (now() - begin));
	return 0;
}
