/* SPDX-License-Identifier: MIT */
/*
 * ops_reference.h - matrices, and layers in double precision.
 *
 * The reference carries a value and a bound of its error for each element:
 * K x 2^-24 x sum|a||b| + K x 2^-126 for a product of K terms, bias and residual
 * counted, and 2^-8 of the value for rounding to bf16. Out of memory ends the
 * program: these are tests.
 */
#ifndef TESTS_UNIT_OPS_REFERENCE_H
#define TESTS_UNIT_OPS_REFERENCE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vtpu/ops.h>

/* ---- Arrays -------------------------------------------------------------------- */

/* A matrix as the device has it, and as the reference takes it. */
struct array {
	enum vtpu_dtype type;
	uint64_t rows, cols;
	void *data;
	double *value, *error;
};

static inline uint16_t to_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static inline float from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline void *need(void *memory)
{
	if (!memory) {
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return memory;
}

static inline struct array array(uint64_t rows, uint64_t cols, enum vtpu_dtype type)
{
	struct array a = { .type = type ? type : VTPU_DTYPE_F32, .rows = rows, .cols = cols };

	a.data = need(calloc(rows * cols + 1, vtpu_dtype_bytes(type)));
	a.value = need(calloc(rows * cols + 1, sizeof(double)));
	a.error = need(calloc(rows * cols + 1, sizeof(double)));
	return a;
}

static inline void array_free(struct array *a)
{
	free(a->data);
	free(a->value);
	free(a->error);
}

static inline double element(const struct array *a, uint64_t i)
{
	switch (a->type) {
	case VTPU_DTYPE_BF16:
		return from_bf16(((uint16_t *)a->data)[i]);
	case VTPU_DTYPE_U8:
		return ((uint8_t *)a->data)[i];
	default:
		return ((float *)a->data)[i];
	}
}

/* Random numbers by position, so that the first rows are the same whatever their number. */
static inline struct array random_array(uint64_t rows, uint64_t cols, enum vtpu_dtype type,
					uint64_t seed)
{
	struct array a = array(rows, cols, type);

	for (uint64_t i = 0; i < rows * cols; i++) {
		uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ULL ^ seed * 0xbf58476d1ce4e5b9ULL;
		float f;

		h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
		h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
		f = (float)(int32_t)(h >> 32) / 2147483648.0f;
		if (a.type == VTPU_DTYPE_BF16)
			((uint16_t *)a.data)[i] = to_bf16(f);
		else if (a.type == VTPU_DTYPE_U8)
			((uint8_t *)a.data)[i] = h >> 56;
		else
			((float *)a.data)[i] = f;
		a.value[i] = element(&a, i);
	}
	return a;
}

static inline uint64_t array_bytes(const struct array *a)
{
	return a->rows * a->cols * vtpu_dtype_bytes(a->type);
}

/* ---- Reference -------------------------------------------------------------------- */

#define ULP 0x1p-24

static inline void round_to(double *value, double *error, enum vtpu_dtype type)
{
	if (type == VTPU_DTYPE_BF16)
		*error += fabs(*value) * 0x1p-8;
}

static inline double activate(const struct vtpu_layer *l, double x)
{
	switch (l->act) {
	case VTPU_ACT_RELU:
		return x > 0 ? x : 0;
	case VTPU_ACT_LEAKY_RELU:
		return x > 0 ? x : x * (double)l->slope;
	case VTPU_ACT_SIGMOID:
		return 1 / (1 + exp(-x));
	case VTPU_ACT_TANH:
		return tanh(x);
	case VTPU_ACT_GELU:
		return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
	case VTPU_ACT_SILU:
		return x / (1 + exp(-x));
	default:
		return x;
	}
}

/* All of these have slopes below 1.13; their polynomials are good to a few units in the last place. */
static inline void activate_element(const struct vtpu_layer *l, double *value, double *error)
{
	double x = *value;

	*value = activate(l, x);
	if (l->act >= VTPU_ACT_SIGMOID)
		*error = 1.13 * *error + 16 * ULP * (fabs(*value) + fabs(x) * ULP) + 4 * ULP;
	if (l->act == VTPU_ACT_LEAKY_RELU)
		*error += ULP * fabs(*value);
	if (l->clamp)
		*value = fmin(fmax(*value, (double)l->clamp_low), (double)l->clamp_high);
}

struct weights {
	struct array w, scale, bias, residual;
};

/* y = layer(x), with x's errors carried through */
static inline void reference_layer(const struct vtpu_layer *l, const struct weights *p,
				   const struct array *x, struct array *y)
{
	uint64_t terms = x->cols + 4;

	for (uint64_t i = 0; i < y->rows; i++) {
		for (uint64_t j = 0; j < y->cols; j++) {
			double sum = 0, size = 0, carried = 0,
			       factor = l->scale != 0 ? (double)l->scale : 1;
			double *value = &y->value[i * y->cols + j],
			       *error = &y->error[i * y->cols + j];

			for (uint64_t k = 0; k < x->cols; k++) {
				double a = x->value[i * x->cols + k];
				double b = p->w.value[l->w_transposed ? j * x->cols + k :
									k * y->cols + j];

				sum += a * b;
				size += fabs(a * b);
				carried += x->error[i * x->cols + k] * fabs(b);
			}
			if (l->column_scale)
				factor *= p->scale.value[j];
			sum *= factor;
			size *= fabs(factor);
			carried *= fabs(factor);
			if (l->bias) {
				sum += p->bias.value[j];
				size += fabs(p->bias.value[j]);
			}
			if (l->residual) {
				sum += p->residual.value[i * y->cols + j];
				size += fabs(p->residual.value[i * y->cols + j]);
			}
			*value = sum;
			*error = terms * ULP * size + terms * 0x1p-126 + carried;
			activate_element(l, value, error);
		}
	}
}

static inline void reference_softmax(struct array *y, double scale, double input_error)
{
	for (uint64_t i = 0; i < y->rows; i++) {
		double *v = &y->value[i * y->cols], *e = &y->error[i * y->cols], most = -INFINITY,
		       sum = 0, worst = input_error;

		for (uint64_t j = 0; j < y->cols; j++) {
			most = fmax(most, v[j] * scale);
			worst = fmax(worst, e[j] * fabs(scale) + 4 * ULP * fabs(v[j] * scale));
		}
		for (uint64_t j = 0; j < y->cols; j++)
			sum += exp(v[j] * scale - most);
		for (uint64_t j = 0; j < y->cols; j++) {
			v[j] = exp(v[j] * scale - most) / sum;
			e[j] = v[j] * (2 * worst + (y->cols + 32) * ULP) + 0x1p-126;
		}
	}
}

/* How far is y->data from y->value, in units of what it may be? */
static inline double worst(const struct array *y, uint64_t *where)
{
	double most = 0;

	*where = 0;
	for (uint64_t i = 0; i < y->rows * y->cols; i++) {
		double off = fabs(element(y, i) - y->value[i]),
		       part = off / fmax(y->error[i], 1e-300);

		if (!(part <= most)) {
			most = part;
			*where = i;
		}
	}
	return most;
}

#endif /* TESTS_UNIT_OPS_REFERENCE_H */
