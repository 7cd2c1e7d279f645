// SPDX-License-Identifier: MIT
/*
 * initial.c - how parameters start.
 *
 * Random numbers are the same bits on every machine: they are made of integers and
 * of correctly rounded additions, multiplications, divisions and square roots only,
 * and never of a libm function that rounds as it likes.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "core/random.h"
#include "graph/ops/source.h"

/* Natural logarithm of 0 < x < 1 to some ulp: atanh series on a reduced range. */
static double logarithm(double x)
{
	double s, square, sum = 0, ln2 = 0x1.62e42fefa39efp-1;
	int exponent;

	x = frexp(x, &exponent);
	if (x < 0x1.6a09e667f3bcdp-1) {
		x *= 2;
		exponent--;
	}
	s = (x - 1) / (x + 1);
	square = s * s;
	for (int k = 23; k > 0; k -= 2)
		sum = sum * square + 1.0 / k;
	return 2 * s * sum + exponent * ln2;
}

/* -1 <= u < 1 in steps of 2^-23. */
static double symmetric(uint32_t word)
{
	return (double)(word >> 8) * 0x1p-23 - 1;
}

struct stream {
	uint32_t key0, key1;
};

static double uniform(const struct stream *s, uint64_t i)
{
	struct random_block counter = { { (uint32_t)i, (uint32_t)(i >> 32), 0, 0 } };

	return symmetric(random_block(s->key0, s->key1, counter).word[0]);
}

/* Standard normal by the polar method: points in a square until one is in the circle. */
static double normal(const struct stream *s, uint64_t i)
{
	struct random_block block, counter = { { (uint32_t)i, (uint32_t)(i >> 32), 0, 0 } };
	double u, v, r;
	int pair = 0;

	do {
		if (pair % 4 == 0) {
			block = random_block(s->key0, s->key1, counter);
			counter.word[2]++;
		}
		u = symmetric(block.word[pair % 4]);
		v = symmetric(block.word[pair % 4 + 1]);
		r = u * u + v * v;
		pair += 2;
	} while (r >= 1 || r == 0);
	return u * sqrt(-2 * logarithm(r) / r);
}

/* fan_in + fan_out, or fan_in alone. */
static double fan(const struct vtpu_shape *shape, bool both)
{
	double all = 1, field = 1;

	for (uint32_t i = 0; i < shape->rank; i++)
		all *= (double)shape->dim[i];
	if (!shape->rank)
		return both ? 2 : 1;
	for (uint32_t i = 0; i + 2 < shape->rank; i++)
		field *= (double)shape->dim[i];
	all /= (double)shape->dim[shape->rank - 1];
	return both ? all + field * (double)shape->dim[shape->rank - 1] : all;
}

static void put(void *data, enum vtpu_dtype type, uint64_t i, double value)
{
	switch (type) {
	case VTPU_DTYPE_U8:
		((uint8_t *)data)[i] = (uint8_t)fmin(fmax(rint(value), 0), UINT8_MAX);
		break;
	case VTPU_DTYPE_S8:
		((int8_t *)data)[i] = (int8_t)fmin(fmax(rint(value), INT8_MIN), INT8_MAX);
		break;
	case VTPU_DTYPE_S32:
		((int32_t *)data)[i] = (int32_t)fmin(fmax(rint(value), INT32_MIN), INT32_MAX);
		break;
	case VTPU_DTYPE_BF16:
		((uint16_t *)data)[i] = float_to_bf16((float)value);
		break;
	default:
		((float *)data)[i] = (float)value;
		break;
	}
}

static void fill(const struct vtpu_tensor *x, const struct vtpu_initial *initial, void *data)
{
	struct stream s = { initial->seed, random_name(x->name) };
	double mean = (double)initial->mean, spread = (double)initial->spread;
	double (*draw)(const struct stream *s, uint64_t i) = uniform;
	uint64_t n = shape_elements(&x->shape);

	switch (initial->kind) {
	case VTPU_INITIAL_NORMAL:
		draw = normal;
		break;
	case VTPU_INITIAL_HE_UNIFORM:
		spread = sqrt(6 / fan(&x->shape, false));
		break;
	case VTPU_INITIAL_HE_NORMAL:
		spread = sqrt(2 / fan(&x->shape, false));
		draw = normal;
		break;
	case VTPU_INITIAL_GLOROT_UNIFORM:
		spread = sqrt(6 / fan(&x->shape, true));
		break;
	case VTPU_INITIAL_GLOROT_NORMAL:
		spread = sqrt(2 / fan(&x->shape, true));
		draw = normal;
		break;
	case VTPU_INITIAL_CONSTANT:
		spread = 0;
		break;
	default:
		break;
	}
	if (initial->kind >= VTPU_INITIAL_HE_UNIFORM)
		mean = 0;
	for (uint64_t i = 0; i < n; i++)
		put(data, x->type, i, spread != 0 ? mean + spread * draw(&s, i) : mean);
}

enum vtpu_status vtpu_initial_values(const struct vtpu_tensor *x, void *data, size_t bytes)
{
	const struct parameter_attrs *a = source_parameter(x);
	uint64_t want;

	if (!a)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "'%s' is not a parameter or state and has no initial values",
				 x ? x->name : "NULL");
	want = shape_elements(&x->shape) * vtpu_dtype_bytes(x->type);
	if (bytes != want || !data)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "initial values of '%s' take %" PRIu64 " bytes, not %zu", x->name,
				 want, data ? bytes : 0);
	if (a->initial.kind == VTPU_INITIAL_DATA)
		memcpy(data, a->initial.data, bytes);
	else if (a->initial.kind == VTPU_INITIAL_ZEROS)
		memset(data, 0, bytes);
	else
		fill(x, &a->initial, data);
	return VTPU_OK;
}
