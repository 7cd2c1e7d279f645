// SPDX-License-Identifier: MIT
/*
 * test_numerics.c - the scalar rules, and the error of exp, log and their kin.
 *
 * Functions are compared with the C library's double precision over every
 * 509th float, or with the argument `all` over every one (numerics-all.sh), on
 * the instruction set that this CPU has; the kernels test shows that the others
 * give the same bits.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "numerics.h"
#include "program.h"
#include "tap.h"
#include "vtpu_model.h"

static void test_bf16(void)
{
	uint32_t wrong = 0;

	for (uint64_t u = 0; u <= UINT32_MAX; u += 251) {
		uint32_t bits = (uint32_t)u, low = bits & 0xffff, want = bits >> 16;

		if ((bits & 0x7fffffff) > 0x7f800000)
			want = 0x7fc0;
		else if (!(bits & 0x7f800000))
			want &= 0x8000;
		else if (low > 0x8000 || (low == 0x8000 && (want & 1)))
			want++;
		wrong += vtpu_bf16_from_f32(vtpu_f32(bits)) != want;
	}
	tap_is(wrong, 0, "f32 to bf16: nearest, ties to even, denormals flushed, one NaN");
	tap_is(vtpu_bf16_from_f32(vtpu_f32(0x7f7fffff)), 0x7f80,
	       "the largest f32 rounds to infinity in bf16");
	wrong = 0;
	for (uint32_t h = 0; h < 0x10000; h++)
		wrong += vtpu_f32_bits(vtpu_bf16_to_f32((uint16_t)h)) != h << 16;
	tap_is(wrong, 0, "bf16 to f32 is exact");
}

static void test_mode(void)
{
	volatile float tiny = vtpu_f32(0x00400000), normal = vtpu_f32(0x00800000), half = 0.5f, r;
	unsigned int before = _mm_getcsr(), fp = vtpu_fp_enter();

	r = tiny + tiny;
	tap_ok(vtpu_f32_bits(r) == 0, "denormals are zero on the way in");
	r = normal * half;
	tap_ok(vtpu_f32_bits(r) == 0, "and on the way out");
	vtpu_fp_leave(fp);
	tap_is(_mm_getcsr(), before, "the mode is restored");
	r = tiny + tiny;
	tap_ok(vtpu_f32_bits(r) != 0, "and with it denormals");
}

/* ---- Functions ------------------------------------------------------------ */

static double ref_exp(double x)
{
	return exp(x);
}

static double ref_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double ref_silu(double x)
{
	return x / (1 + exp(-x));
}

static double ref_gelu(double x)
{
	return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double ref_rsqrt(double x)
{
	return 1 / sqrt(x);
}

static double ref_rcp(double x)
{
	return 1 / x;
}

/* The error of @got in units in the last place that an f32 of the size of @want has. */
static double ulps(float got, double want)
{
	uint64_t bits;
	double scale;
	int e;

	memcpy(&bits, &want, sizeof(bits));
	e = (int)(bits >> 52 & 0x7ff) - 1023;
	if (e < -126)
		e = -126;
	bits = (uint64_t)(1023 + 23 - e) << 52;
	memcpy(&scale, &bits, sizeof(scale));
	return fabs(got - want) * scale;
}

struct function {
	const char *name;
	unsigned int op;
	double (*ref)(double x);
	double max_ulp;
	double floor; /* results below this are held to max_ulp of it instead of their own */
	double zero;  /* results below this may be zero */
};

static const struct function functions[] = {
	{ "exp", VTPU_EW_EXP, ref_exp, 0.99, 0, 0x1.00001p-126 },
	{ "log", VTPU_EW_LOG, log, 0.83, 0, 0 },
	{ "tanh", VTPU_EW_TANH, tanh, 1.34, 0, 0 },
	{ "sigmoid", VTPU_EW_SIGMOID, ref_sigmoid, 2.49, 0, 0x1.00001p-126 },
	{ "silu", VTPU_EW_SILU, ref_silu, 2.41, 0, 0x1p-121 },
	{ "gelu", VTPU_EW_GELU, ref_gelu, 3.28, 0x1p-3, 0 },
	{ "sqrt", VTPU_EW_SQRT, sqrt, 0.5, 0, 0 },
	{ "rsqrt", VTPU_EW_RSQRT, ref_rsqrt, 1.5, 0, 0 },
	{ "rcp", VTPU_EW_RCP, ref_rcp, 0.5, 0, 0 },
};

/* struct found - of some inputs of a function */
struct found {
	double worst, at;
	uint64_t inputs;
	uint32_t wrong; /* special cases */
};

static void judge(const struct function *f, float x, float y, struct found *found)
{
	double want = f->ref(x), u;

	found->inputs++;
	if (isnan(want)) {
		found->wrong += !isnan(y);
	} else if (fabs(want) > 3.40282356e38) {
		found->wrong += !isinf(y) || (y < 0) != (want < 0);
	} else if (fabs(want) < 0x1p-126) {
		/* May be the smallest normal number where the flush is a matter of rounding. */
		found->wrong += !(fabs(y) <= 0x1p-126);
	} else if (isnan(y)) {
		found->wrong++;
	} else if (y != 0 || fabs(want) >= f->zero) {
		u = fabs(want) < f->floor ? fabs(y - want) / (f->floor * 0x1p-23) : ulps(y, want);
		if (u > found->worst) {
			found->worst = u;
			found->at = x;
		}
	}
}

/* struct sweep - a function over the floats, by several threads */
struct sweep {
	const struct vtpu_kernels *kernels;
	const struct function *f;
	uint32_t step;
	pthread_mutex_t lock;
	uint64_t next; /* bits of the first input that nobody has taken */
	struct found found;
};

#define FLOATS (UINT64_C(1) << 32)
#define PIECE  (1u << 22) /* inputs that a thread takes at once, at step 1 */

static void sweep_piece(const struct sweep *s, uint64_t bits, uint64_t end, struct found *found)
{
	float x[VTPU_BLOCK] __attribute__((aligned(64)));
	float y[VTPU_BLOCK] __attribute__((aligned(64)));

	while (bits < end) {
		unsigned int fp;
		int n = 0;

		for (; n < VTPU_BLOCK && bits < end; n++, bits += s->step)
			x[n] = vtpu_f32(vtpu_f32_flush((uint32_t)bits));
		for (int i = n; i < VTPU_BLOCK; i++)
			x[i] = 0;
		fp = vtpu_fp_enter();
		s->kernels->ew(s->f->op, y, x, x, VTPU_BLOCK);
		vtpu_fp_leave(fp);
		for (int i = 0; i < n; i++)
			judge(s->f, x[i], y[i], found);
	}
}

static void *sweep_thread(void *arg)
{
	struct sweep *s = arg;

	for (;;) {
		struct found found = { 0 };
		uint64_t start, end;

		pthread_mutex_lock(&s->lock);
		start = s->next;
		s->next += (uint64_t)PIECE * s->step;
		pthread_mutex_unlock(&s->lock);
		if (start >= FLOATS)
			return NULL;
		end = start + (uint64_t)PIECE * s->step;
		sweep_piece(s, start, end < FLOATS ? end : FLOATS, &found);
		pthread_mutex_lock(&s->lock);
		s->found.inputs += found.inputs;
		s->found.wrong += found.wrong;
		if (found.worst > s->found.worst) {
			s->found.worst = found.worst;
			s->found.at = found.at;
		}
		pthread_mutex_unlock(&s->lock);
	}
}

static void test_function(const struct vtpu_kernels *k, const struct function *f, uint32_t step)
{
	struct sweep s = { .kernels = k, .f = f, .step = step };
	pthread_t other;
	bool two;

	pthread_mutex_init(&s.lock, NULL);
	two = !pthread_create(&other, NULL, sweep_thread, &s);
	sweep_thread(&s);
	if (two)
		pthread_join(other, NULL);
	pthread_mutex_destroy(&s.lock);
	tap_ok(!s.found.wrong && s.found.worst <= f->max_ulp &&
		       s.found.inputs == (FLOATS + step - 1) / step,
	       "%s: at most %.4g ulp over %" PRIu64
	       " floats (measured %.5f at %a), special cases right",
	       f->name, f->max_ulp, s.found.inputs, s.found.worst, s.found.at);
	if (s.found.wrong)
		printf("# %u special cases are wrong\n", s.found.wrong);
}

int main(int argc, char **argv)
{
	uint32_t step = argc > 1 && !strcmp(argv[1], "all") ? 1 : 509;
	const struct vtpu_kernels *k = vtpu_kernels_select(VTPU_ISA_AVX2);

	test_bf16();
	test_mode();
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		test_function(k, &functions[i], step);
	tap_ok(vtpu_kernels_select(VTPU_ISA_SCALAR) == &vtpu_kernels_scalar &&
		       vtpu_kernels_isa(&vtpu_kernels_scalar) == VTPU_ISA_SCALAR,
	       "kernels can be chosen");
	setenv("VTPU_ISA", "scalar", 1);
	tap_ok(vtpu_kernels_select(VTPU_ISA_AUTO) == &vtpu_kernels_scalar,
	       "VTPU_ISA decides where none is asked for");
	return tap_done();
}
