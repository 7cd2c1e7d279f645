/* SPDX-License-Identifier: MIT */
/*
 * ref_math.h - arithmetic in double precision that carries a bound on the device's error along.
 */
#ifndef TESTS_REFERENCE_REF_MATH_H
#define TESTS_REFERENCE_REF_MATH_H

#include <math.h>

#include "ref_ops.h"

#define U    0x1p-24  /* half an ulp of f32, relative */
#define TINY 0x1p-126 /* what flushing may take away */

/* Error of functions, in u: twice the ulps that docs/numerics.md states. */
#define U_EXP	  (2 * 1.0 * U)
#define U_LOG	  (2 * 1.0 * U)
#define U_TANH	  (2 * 2.0 * U)
#define U_SIGMOID (2 * 2.5 * U)
#define U_SILU	  (2 * 3.0 * U)
#define U_GELU	  (2 * 4.0 * U)

static inline uint32_t size_of(unsigned int type)
{
	return type == VTPU_TYPE_F32 || type == VTPU_TYPE_S32 ? 4 : type == VTPU_TYPE_BF16 ? 2 : 1;
}

/* ---- Values with bounds --------------------------------------------------- */

static inline struct ref exact(double v)
{
	return (struct ref){ v, 0 };
}

/* One rounding of the device on top of what @e says. */
static inline struct ref rounded(double v, double e, double u)
{
	double n = isfinite(v) ? e + u * (fabs(v) + e) + TINY : e;

	/* Near the ends of the range the device overflows where double does not. */
	if (isfinite(v) && fabs(v) + n > 3.4e38)
		n = INFINITY;
	return (struct ref){ v, n };
}

/* A sum of @n products or terms; @magnitude is that of the finite ones. */
static inline struct ref chain(double v, double magnitude, double n)
{
	/* Where the device may have overflowed half way, nothing is known; NaN and infinity as such are. */
	if (magnitude > 3.4e38 && !isnan(v))
		return (struct ref){ v, INFINITY };
	return (struct ref){ v, isfinite(v) ? n * (U * magnitude + TINY) : 0 };
}

static inline struct ref add(struct ref a, struct ref b)
{
	return rounded(a.v + b.v, a.e + b.e, U);
}

/* What the errors of two factors do to their product; infinite exact factors do nothing. */
static inline double product_error(struct ref a, struct ref b)
{
	return (b.e ? fabs(a.v) * b.e : 0) + (a.e ? fabs(b.v) * a.e + a.e * b.e : 0);
}

static inline struct ref mul(struct ref a, struct ref b)
{
	return rounded(a.v * b.v, product_error(a, b), U);
}

static inline struct ref fused(struct ref a, struct ref b, struct ref c)
{
	return rounded(a.v * b.v + c.v, product_error(a, b) + c.e, U);
}

static inline struct ref quotient(struct ref a, struct ref b)
{
	double least = fabs(b.v) - b.e;

	if (least <= 0)
		return (struct ref){ a.v / b.v, a.e || b.e || !b.v ? INFINITY : 0 };
	return rounded(a.v / b.v, (a.e + fabs(a.v / b.v) * b.e) / least, U);
}

/* A monotonous function: its values at both ends of the argument's interval bound the result. */
static inline struct ref monotonous(double (*f)(double), struct ref a, double u)
{
	double v = f(a.v), lo, hi;

	if (!a.e || !isfinite(a.e))
		return rounded(v, a.e, u);
	lo = f(a.v - a.e);
	hi = f(a.v + a.e);
	return rounded(v, fmax(fabs(hi - v), fabs(v - lo)), u);
}

static inline struct ref pick(struct ref a, struct ref b, bool first)
{
	/* Either may be taken by the device if they are closer than their errors. */
	if (isnan(a.v) || isnan(b.v))
		return exact(NAN);
	return (struct ref){ first ? a.v : b.v, a.e > b.e || isnan(a.e) ? a.e : b.e };
}

static inline struct ref store(struct ref r, unsigned int type)
{
	return type == VTPU_TYPE_BF16 ? rounded(r.v, r.e, 0x1p-8) : r;
}

#endif /* TESTS_REFERENCE_REF_MATH_H */
