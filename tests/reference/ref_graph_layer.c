// SPDX-License-Identifier: MIT
/*
 * ref_graph_layer.c - matrix products, convolution, pooling, losses, normalisation and
 * optimisers, in double precision: the definitions, written as loops.
 */
#include <math.h>
#include <string.h>

#include "reference/ref_graph.h"

static void clear(double *p, const struct vtpu_shape *shape)
{
	memset(p, 0, ref_elements(shape) * sizeof(*p));
}

/* ---- Matrix products ------------------------------------------------------------------ */

static void run_matmul(const struct ref_call *c)
{
	const struct vtpu_matmul_attrs *t = c->attrs;
	const struct vtpu_shape *as = &c->in_shape[0], *ys = &c->out_shape[0];
	uint32_t r = ys->rank;
	int64_t m = ys->dim[r - 2], n = ys->dim[r - 1];
	int64_t k = as->dim[t->transpose_a ? r - 2 : r - 1], batch = (int64_t)c->n / (m * n);

	for (int64_t g = 0; g < batch; g++) {
		const double *a = c->in[0] + g * m * k, *b = c->in[1] + g * k * n;

		for (int64_t i = 0; i < m; i++) {
			for (int64_t j = 0; j < n; j++) {
				double sum = 0;

				for (int64_t l = 0; l < k; l++)
					sum += (t->transpose_a ? a[l * m + i] : a[i * k + l]) *
					       (t->transpose_b ? b[j * k + l] : b[l * n + j]);
				c->out[0][(g * m + i) * n + j] = sum;
			}
		}
	}
}

/* ---- Convolution ------------------------------------------------------------------------- */

/* A convolution's tensors; the one that is computed is @out as well. */
struct conv {
	const struct vtpu_conv2d_attrs *a;
	struct vtpu_shape xs, ws, ys;
	const double *x, *w, *y;
	double *out;
};

/* y[yi] += x[xi] * w[wi], or the same solved for x or w: whichever is not given. */
static void multiply(const struct conv *c, int64_t xi, int64_t wi, int64_t yi)
{
	if (!c->y)
		c->out[yi] += c->x[xi] * c->w[wi];
	else if (!c->x)
		c->out[xi] += c->y[yi] * c->w[wi];
	else
		c->out[wi] += c->y[yi] * c->x[xi];
}

/* All taps that element @yi of y, channel @oc at (@oh, @ow) of image @n, is made of. */
static void each_tap(const struct conv *c, int64_t yi, int64_t n, int64_t oh, int64_t ow,
		     int64_t oc)
{
	int64_t inputs = c->ws.dim[2], first = oc / (c->ws.dim[3] / c->a->groups) * inputs;

	for (int64_t tap = 0; tap < c->ws.dim[0] * c->ws.dim[1]; tap++) {
		int64_t kh = tap / c->ws.dim[1], kw = tap % c->ws.dim[1];
		int64_t ih = oh * c->a->stride[0] + kh * c->a->dilation[0] - c->a->pad[0];
		int64_t iw = ow * c->a->stride[1] + kw * c->a->dilation[1] - c->a->pad[2];
		int64_t pixel = ((n * c->xs.dim[1] + ih) * c->xs.dim[2] + iw) * c->xs.dim[3];

		if (ih < 0 || ih >= c->xs.dim[1] || iw < 0 || iw >= c->xs.dim[2])
			continue;
		for (int64_t ic = 0; ic < inputs; ic++)
			multiply(c, pixel + first + ic, (tap * inputs + ic) * c->ws.dim[3] + oc,
				 yi);
	}
}

static void convolve(const struct conv *c)
{
	const int64_t *y = c->ys.dim;

	for (int64_t i = 0; i < y[0] * y[1] * y[2] * y[3]; i++)
		each_tap(c, i, i / (y[1] * y[2] * y[3]), i / (y[2] * y[3]) % y[1], i / y[3] % y[2],
			 i % y[3]);
}

static void run_conv2d(const struct ref_call *c)
{
	clear(c->out[0], &c->out_shape[0]);
	convolve(&(struct conv){ c->attrs, c->in_shape[0], c->in_shape[1], c->out_shape[0],
				 c->in[0], c->in[1], NULL, c->out[0] });
}

static void run_conv2d_input_grad(const struct ref_call *c)
{
	const struct vtpu_conv2d_grad_attrs *a = c->attrs;

	clear(c->out[0], &c->out_shape[0]);
	convolve(&(struct conv){ &a->conv, c->out_shape[0], c->in_shape[1], c->in_shape[0], NULL,
				 c->in[1], c->in[0], c->out[0] });
}

static void run_conv2d_weight_grad(const struct ref_call *c)
{
	const struct vtpu_conv2d_grad_attrs *a = c->attrs;

	clear(c->out[0], &c->out_shape[0]);
	convolve(&(struct conv){ &a->conv, c->in_shape[0], c->out_shape[0], c->in_shape[1],
				 c->in[0], NULL, c->in[1], c->out[0] });
}

/* ---- Pooling -------------------------------------------------------------------------------- */

/* One window of an image: element y of the result, and where its taps are in x. */
struct taps {
	int64_t y;
	int count;
	int64_t x[256];
	int tap[256];
};

/* Call @visit for each window; padding has no taps. */
static void each_window(const struct vtpu_pool_attrs *a, const struct vtpu_shape *xs,
			const struct vtpu_shape *ys, const struct ref_call *c,
			void (*visit)(const struct ref_call *c, const struct taps *t))
{
	int64_t h = ys->dim[1], w = ys->dim[2], channels = ys->dim[3];
	struct taps t = { 0 };

	for (; t.y < ys->dim[0] * h * w * channels; t.y++) {
		int64_t n = t.y / (h * w * channels), oh = t.y / (w * channels) % h;
		int64_t ow = t.y / channels % w, c0 = t.y % channels;

		t.count = 0;
		for (int k = 0; k < a->window[0] * a->window[1]; k++) {
			int64_t ih = oh * a->stride[0] + k / a->window[1] - a->pad[0];
			int64_t iw = ow * a->stride[1] + k % a->window[1] - a->pad[2];

			if (ih < 0 || ih >= xs->dim[1] || iw < 0 || iw >= xs->dim[2])
				continue;
			t.tap[t.count] = k;
			t.x[t.count++] = ((n * xs->dim[1] + ih) * xs->dim[2] + iw) * channels + c0;
		}
		visit(c, &t);
	}
}

static void visit_max(const struct ref_call *c, const struct taps *t)
{
	int best = 0;

	for (int k = 1; k < t->count; k++) {
		if (c->in[0][t->x[k]] > c->in[0][t->x[best]])
			best = k;
	}
	c->out[0][t->y] = c->in[0][t->x[best]];
	c->out[1][t->y] = t->tap[best];
}

static void visit_avg(const struct ref_call *c, const struct taps *t)
{
	double sum = 0;

	for (int k = 0; k < t->count; k++)
		sum += c->in[0][t->x[k]];
	c->out[0][t->y] = sum / t->count;
}

static void visit_max_grad(const struct ref_call *c, const struct taps *t)
{
	for (int k = 0; k < t->count; k++) {
		if (t->tap[k] == (int)c->in[1][t->y])
			c->out[0][t->x[k]] += c->in[0][t->y];
	}
}

static void visit_avg_grad(const struct ref_call *c, const struct taps *t)
{
	for (int k = 0; k < t->count; k++)
		c->out[0][t->x[k]] += c->in[0][t->y] / t->count;
}

static void run_max_pool(const struct ref_call *c)
{
	each_window(c->attrs, &c->in_shape[0], &c->out_shape[0], c, visit_max);
}

static void run_avg_pool(const struct ref_call *c)
{
	each_window(c->attrs, &c->in_shape[0], &c->out_shape[0], c, visit_avg);
}

static void run_max_pool_grad(const struct ref_call *c)
{
	const struct vtpu_pool_grad_attrs *a = c->attrs;

	clear(c->out[0], &c->out_shape[0]);
	each_window(&a->pool, &c->out_shape[0], &c->in_shape[0], c, visit_max_grad);
}

static void run_avg_pool_grad(const struct ref_call *c)
{
	const struct vtpu_pool_grad_attrs *a = c->attrs;

	clear(c->out[0], &c->out_shape[0]);
	each_window(&a->pool, &c->out_shape[0], &c->in_shape[0], c, visit_avg_grad);
}

/* ---- Softmax and losses ------------------------------------------------------------------------ */

/* @y = softmax(@x); returns log(sum(exp(@x))). */
static double softmax(const double *x, int64_t n, double *y)
{
	double most = x[0], sum = 0;

	for (int64_t i = 1; i < n; i++)
		most = fmax(most, x[i]);
	for (int64_t i = 0; i < n; i++)
		sum += exp(x[i] - most);
	for (int64_t i = 0; y && i < n; i++)
		y[i] = exp(x[i] - most) / sum;
	return most + log(sum);
}

static void run_softmax(const struct ref_call *c)
{
	int64_t n = c->in_shape[0].dim[c->in_shape[0].rank - 1];

	for (int64_t i = 0; i < (int64_t)c->n; i += n)
		softmax(c->in[0] + i, n, c->out[0] + i);
}

static double target(const struct vtpu_xent_attrs *a, int64_t class, double label, int64_t classes)
{
	double s = (double)a->smoothing;

	return s / (double)classes + ((double)class == label ? 1 - s : 0);
}

static void run_softmax_xent(const struct ref_call *c)
{
	int64_t classes = c->in_shape[0].dim[1];

	for (uint64_t i = 0; i < c->n; i++) {
		const double *x = c->in[0] + i * (uint64_t)classes;
		double label = c->in[1][i], lse = softmax(x, classes, NULL);

		/* No class, no loss: where this is NaN, the device fails the job instead. */
		c->out[0][i] = label >= 0 && label < (double)classes ? 0 : NAN;
		for (int64_t k = 0; k < classes; k++)
			c->out[0][i] += target(c->attrs, k, label, classes) * (lse - x[k]);
	}
}

static void run_softmax_xent_grad(const struct ref_call *c)
{
	int64_t classes = c->in_shape[1].dim[1], rows = c->in_shape[1].dim[0];

	for (int64_t i = 0; i < rows; i++) {
		double *dx = c->out[0] + i * classes;

		softmax(c->in[1] + i * classes, classes, dx);
		for (int64_t k = 0; k < classes; k++)
			dx[k] = (dx[k] - target(c->attrs, k, c->in[2][i], classes)) * c->in[0][i];
	}
}

/* ---- Dropout -------------------------------------------------------------------------------------- */

/* Philox4x32-10 as its authors define it. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t x[4], k[2] = { key[0], key[1] };

	memcpy(x, counter, sizeof(x));
	for (int round = 0; round < 10; round++) {
		uint64_t p0 = (uint64_t)0xd2511f53 * x[0], p1 = (uint64_t)0xcd9e8d57 * x[2];
		uint32_t y[4] = { (uint32_t)(p1 >> 32) ^ x[1] ^ k[0], (uint32_t)p1,
				  (uint32_t)(p0 >> 32) ^ x[3] ^ k[1], (uint32_t)p0 };

		memcpy(x, y, sizeof(x));
		k[0] += 0x9e3779b9;
		k[1] += 0xbb67ae85;
	}
	memcpy(out, x, sizeof(x));
}

static void run_dropout(const struct ref_call *c)
{
	const struct vtpu_dropout_attrs *a = c->attrs;
	uint32_t key[2] = { (uint32_t)(int32_t)c->in[1][0], a->stream };
	uint32_t step = (uint32_t)(int32_t)c->in[2][0], word[4];
	double limit = rint((double)a->rate * 0x1p24);

	for (uint64_t i = 0; i < c->n; i++) {
		uint32_t counter[4] = { (uint32_t)(i / 4), (uint32_t)(i / 4 >> 32), step, 0 };

		philox(counter, key, word);
		c->out[0][i] = word[i % 4] >> 8 < limit ? 0 : c->in[0][i] / (1 - (double)a->rate);
	}
}

/* ---- Batch normalisation ---------------------------------------------------------------------------- */

static void run_batch_norm(const struct ref_call *c)
{
	const struct vtpu_batch_norm_attrs *a = c->attrs;
	uint64_t channels = ref_elements(&c->in_shape[1]), rows = c->n / channels;

	for (uint64_t k = 0; k < channels; k++) {
		double mean = 0, variance = 0;

		for (uint64_t i = 0; i < rows; i++)
			mean += c->in[0][i * channels + k] / (double)rows;
		for (uint64_t i = 0; i < rows; i++)
			variance += pow(c->in[0][i * channels + k] - mean, 2) / (double)rows;
		for (uint64_t i = 0; i < rows; i++)
			c->out[0][i * channels + k] = (c->in[0][i * channels + k] - mean) /
							      sqrt(variance + (double)a->epsilon) *
							      c->in[1][k] +
						      c->in[2][k];
		c->out[1][k] = mean;
		c->out[2][k] = variance;
	}
}

static void run_batch_norm_grad(const struct ref_call *c)
{
	const struct vtpu_batch_norm_attrs *a = c->attrs;
	const double *dy = c->in[0], *x = c->in[1];
	uint64_t channels = ref_elements(&c->in_shape[2]), rows = c->n / channels;

	for (uint64_t k = 0; k < channels; k++) {
		double r = 1 / sqrt(c->in[4][k] + (double)a->epsilon), dgamma = 0, dbeta = 0;

		for (uint64_t i = k; i < c->n; i += channels) {
			dbeta += dy[i];
			dgamma += dy[i] * (x[i] - c->in[3][k]) * r;
		}
		for (uint64_t i = k; i < c->n; i += channels)
			c->out[0][i] = c->in[2][k] * r *
				       (dy[i] - dbeta / (double)rows -
					(x[i] - c->in[3][k]) * r * dgamma / (double)rows);
		c->out[1][k] = dgamma;
		c->out[2][k] = dbeta;
	}
}

/* ---- Optimisers ------------------------------------------------------------------------------------------ */

static void run_sgd(const struct ref_call *c)
{
	const struct vtpu_sgd_attrs *a = c->attrs;

	for (uint64_t i = 0; i < c->n; i++)
		c->out[0][i] = c->in[0][i] -
			       c->in[2][0] * (c->in[1][i] + (double)a->weight_decay * c->in[0][i]);
}

static void run_sgd_momentum(const struct ref_call *c)
{
	const struct vtpu_sgd_attrs *a = c->attrs;

	for (uint64_t i = 0; i < c->n; i++) {
		double g = c->in[1][i] + (double)a->weight_decay * c->in[0][i];
		double v = (double)a->momentum * c->in[2][i] + g;

		c->out[1][i] = v;
		c->out[0][i] =
			c->in[0][i] - c->in[3][0] * (a->nesterov ? g + (double)a->momentum * v : v);
	}
}

static void run_adam(const struct ref_call *c)
{
	const struct vtpu_adam_attrs *a = c->attrs;
	double b1 = (double)a->beta1, b2 = (double)a->beta2, decay = (double)a->weight_decay;
	double rate = c->in[4][0], t = c->in[5][0];

	for (uint64_t i = 0; i < c->n; i++) {
		double p = c->in[0][i], g = c->in[1][i] + (a->decoupled ? 0 : decay * p);
		double m = b1 * c->in[2][i] + (1 - b1) * g;
		double v = b2 * c->in[3][i] + (1 - b2) * g * g;
		double u = m / (1 - pow(b1, t)) / (sqrt(v / (1 - pow(b2, t))) + (double)a->epsilon);

		c->out[0][i] = p - rate * (u + (a->decoupled ? decay * p : 0));
		c->out[1][i] = m;
		c->out[2][i] = v;
	}
}

const struct ref_kernel ref_graph_layer[] = {
	{ "matmul", run_matmul },
	{ "conv2d", run_conv2d },
	{ "conv2d_input_grad", run_conv2d_input_grad },
	{ "conv2d_weight_grad", run_conv2d_weight_grad },
	{ "max_pool", run_max_pool },
	{ "avg_pool", run_avg_pool },
	{ "max_pool_grad", run_max_pool_grad },
	{ "avg_pool_grad", run_avg_pool_grad },
	{ "softmax", run_softmax },
	{ "softmax_xent", run_softmax_xent },
	{ "softmax_xent_grad", run_softmax_xent_grad },
	{ "dropout", run_dropout },
	{ "batch_norm", run_batch_norm },
	{ "batch_norm_grad", run_batch_norm_grad },
	{ "sgd", run_sgd },
	{ "sgd_momentum", run_sgd_momentum },
	{ "adam", run_adam },
	{ NULL, NULL },
};
