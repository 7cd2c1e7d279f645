// SPDX-License-Identifier: MIT
/*
 * test_numerics.c - the scalar rules, and the error of exp, log and their kin.
 *
 * Functions are compared with the C library's double precision over every
 * 509th float (all of them with the argument `all`), on the instruction set that
 * this CPU has; the kernels test shows that the others give the same bits.
 */
#include <math.h>
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

/* The error of @got in units in the last place of the f32 nearest to @want. */
static double ulps(float got, double want)
{
	int e;

	frexp(want, &e);
	if (e < -125)
		e = -125;
	return fabs(got - want) / ldexp(1, e - 24);
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
	{ "exp", VTPU_EW_EXP, ref_exp, 1.0, 0, 0x1.00001p-126 },
	{ "log", VTPU_EW_LOG, log, 1.0, 0, 0 },
	{ "tanh", VTPU_EW_TANH, tanh, 2.0, 0, 0 },
	{ "sigmoid", VTPU_EW_SIGMOID, ref_sigmoid, 2.5, 0, 0x1.00001p-126 },
	{ "silu", VTPU_EW_SILU, ref_silu, 3.0, 0, 0x1p-121 },
	{ "gelu", VTPU_EW_GELU, ref_gelu, 4.0, 0x1p-3, 0 },
	{ "sqrt", VTPU_EW_SQRT, sqrt, 0.5, 0, 0 },
	{ "rsqrt", VTPU_EW_RSQRT, ref_rsqrt, 1.5, 0, 0 },
};

static void test_function(const struct vtpu_kernels *k, const struct function *f, uint32_t step)
{
	float x[VTPU_BLOCK] __attribute__((aligned(64))),
		y[VTPU_BLOCK] __attribute__((aligned(64)));
	double worst = 0, at = 0;
	uint64_t bits = 0;
	uint32_t wrong = 0;

	while (bits <= UINT32_MAX) {
		unsigned int fp;

		for (int i = 0; i < VTPU_BLOCK; i++, bits += step)
			x[i] = vtpu_f32(vtpu_f32_flush(bits <= UINT32_MAX ? (uint32_t)bits : 0));
		fp = vtpu_fp_enter();
		k->ew(f->op, y, x, x, VTPU_BLOCK);
		vtpu_fp_leave(fp);
		for (int i = 0; i < VTPU_BLOCK; i++) {
			double want = f->ref(x[i]), u;

			if (isnan(want)) {
				wrong += !isnan(y[i]);
			} else if (fabs(want) > 3.40282356e38) {
				wrong += !isinf(y[i]) || (y[i] < 0) != (want < 0);
			} else if (fabs(want) < 0x1p-126) {
				/* May be the smallest normal number where the flush is a matter of rounding. */
				wrong += fabs(y[i]) > 0x1p-126;
			} else if (isnan(y[i])) {
				wrong++;
			} else {
				u = ulps(y[i], want);
				if (fabs(want) < f->floor)
					u = fabs(y[i] - want) / (f->floor * 0x1p-23);
				if (y[i] == 0 && fabs(want) < f->zero)
					u = 0;
				if (u > worst) {
					worst = u;
					at = x[i];
				}
			}
		}
	}
	tap_ok(!wrong && worst <= f->max_ulp,
	       "%s: at most %.3g ulp (measured %.4f at %a), special cases right", f->name,
	       f->max_ulp, worst, at);
	if (wrong)
		printf("# %u special cases are wrong\n", wrong);
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
