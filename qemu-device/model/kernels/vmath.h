/* SPDX-License-Identifier: MIT */
/*
 * vmath.h - exp, log, tanh and their kin, in terms of the vector operations.
 *
 * Only correctly rounded operations and integer arithmetic, so every
 * instruction set gives the same bits. Polynomials interpolate at Chebyshev
 * nodes of the stated interval. docs/numerics.md has their maximum errors, which
 * tests/unit/test_numerics.c checks. Include one of vec_*.h first.
 */
#ifndef VTPU_VMATH_H
#define VTPU_VMATH_H

/* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
#define VM_MAGIC 12582912.0f

/** vm_canon() - the canonical NaN for every NaN */
static inline vf vm_canon(vf x)
{
	return v_sel(v_nan(x), v_float(vi_set(VTPU_NAN_F32)), x);
}

/** vm_flush() - denormals as zero of the same sign */
static inline vf vm_flush(vf x)
{
	float one = 1.0f;

	/* A factor that the compiler does not know keeps it from dropping the multiplication. */
	__asm__("" : "+x"(one));
	return v_mul(x, v_set(one));
}

static inline vf vm_neg(vf x)
{
	return v_float(vi_xor(v_bits(x), vi_set(0x80000000u)));
}

static inline vf vm_abs(vf x)
{
	return v_float(vi_and(v_bits(x), vi_set(0x7fffffffu)));
}

/** vm_min() - NaN if either is; @b if both are zero */
static inline vf vm_min(vf a, vf b)
{
	return v_sel(v_nan(a), a, v_min(a, b));
}

/** vm_max() - NaN if either is; @b if both are zero */
static inline vf vm_max(vf a, vf b)
{
	return v_sel(v_nan(a), a, v_max(a, b));
}

/** vm_relu() - +0 for everything that is not above zero, but NaN for NaN */
static inline vf vm_relu(vf x)
{
	return v_add(v_max(v_zero(), x), v_zero());
}

/*
 * e^x = 2^n * e^r with |r| <= ln(2)/2. Out of range, x is cut to where the
 * result over- or underflows anyway; the order of operands lets NaN pass. 2^n
 * is applied in two halves, as n may be 128 or below -126.
 */
static inline vf vm_exp(vf x)
{
	vf y, p, r, t, nf;
	vi n, half;

	y = v_min(v_set(89.0f), x);
	y = v_max(v_set(-89.0f), y);
	t = v_fma(y, v_set(0x1.715476p+0f), v_set(VM_MAGIC));
	n = vi_sub(v_bits(t), v_bits(v_set(VM_MAGIC)));
	nf = v_sub(t, v_set(VM_MAGIC));
	r = v_fma(nf, v_set(-0x1.62e43p-1f), y);
	r = v_fma(nf, v_set(0x1.05c61p-29f), r);

	p = v_set(0x1.a12516p-13f);
	p = v_fma(p, r, v_set(0x1.6d434ep-10f));
	p = v_fma(p, r, v_set(0x1.1110ep-7f));
	p = v_fma(p, r, v_set(0x1.5554e8p-5f));
	p = v_fma(p, r, v_set(0x1.555556p-3f));
	p = v_fma(p, r, v_set(0.5f));
	p = v_fma(p, v_mul(r, r), r);
	p = v_add(p, v_set(1.0f));

	half = vi_sra(n, 1);
	p = v_mul(p, v_float(vi_shl(vi_add(half, vi_set(127)), 23)));
	p = v_mul(p, v_float(vi_shl(vi_add(vi_sub(n, half), vi_set(127)), 23)));
	return v_sel(v_nan(x), x, p);
}

/*
 * x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): subtracting sqrt(1/2)'s
 * bits before the shift puts the cut there.
 */
static inline vf vm_log(vf x)
{
	vi bits = v_bits(x), e;
	vf f, z, p, y, ef;

	e = vi_sra(vi_sub(bits, vi_set(0x3f3504f3u)), 23);
	ef = v_from_int(e);
	f = v_sub(v_float(vi_sub(bits, vi_shl(e, 23))), v_set(1.0f));
	z = v_mul(f, f);

	p = v_set(0x1.1d8ea6p-4f);
	p = v_fma(p, f, v_set(-0x1.d635bcp-4f));
	p = v_fma(p, f, v_set(0x1.dea282p-4f));
	p = v_fma(p, f, v_set(-0x1.fcf4c6p-4f));
	p = v_fma(p, f, v_set(0x1.23d21ap-3f));
	p = v_fma(p, f, v_set(-0x1.555b4ap-3f));
	p = v_fma(p, f, v_set(0x1.999d5ap-3f));
	p = v_fma(p, f, v_set(-0x1.fffffcp-3f));
	p = v_fma(p, f, v_set(0x1.555554p-2f));

	y = v_mul(v_mul(z, f), p);
	y = v_fma(ef, v_set(-0x1.bd0106p-13f), y);
	y = v_fma(z, v_set(-0.5f), y);
	y = v_add(f, y);
	y = v_fma(ef, v_set(0x1.63p-1f), y);

	y = v_sel(v_eq(x, v_float(vi_set(0x7f800000u))), x, y);
	y = v_sel(v_lt(x, v_zero()), v_float(vi_set(VTPU_NAN_F32)), y);
	y = v_sel(v_eq(x, v_zero()), v_float(vi_set(0xff800000u)), y);
	return v_sel(v_nan(x), x, y);
}

static inline vf vm_tanh(vf x)
{
	vf a = vm_abs(x), z = v_mul(x, x), p, big;

	p = v_set(-0x1.8f8de4p-8f);
	p = v_fma(p, z, v_set(0x1.58048ep-6f));
	p = v_fma(p, z, v_set(-0x1.b9258ap-5f));
	p = v_fma(p, z, v_set(0x1.110e1cp-3f));
	p = v_fma(p, z, v_set(-0x1.555552p-2f));
	p = v_fma(v_mul(p, z), x, x);

	big = v_add(vm_exp(v_add(a, a)), v_set(1.0f));
	big = v_sub(v_set(1.0f), v_div(v_set(2.0f), big));
	big = v_float(vi_or(v_bits(big), vi_and(v_bits(x), vi_set(0x80000000u))));
	return v_sel(v_lt(a, v_set(0.625f)), p, big);
}

static inline vf vm_sigmoid(vf x)
{
	return v_div(v_set(1.0f), v_add(v_set(1.0f), vm_exp(vm_neg(x))));
}

static inline vf vm_silu(vf x)
{
	return v_div(x, v_add(v_set(1.0f), vm_exp(vm_neg(x))));
}

/*
 * x / 2 * (1 + tanh(u)) = x / (1 + e^-2u), which has no cancellation;
 * u = sqrt(2/pi) * (x + 0.044715 x^3)
 */
static inline vf vm_gelu(vf x)
{
	vf t = v_mul(v_mul(x, x), x);

	t = v_fma(t, v_set(0.044715f), x);
	t = v_mul(t, v_set(-1.59576912f));
	return v_div(x, v_add(v_set(1.0f), vm_exp(t)));
}

#endif /* VTPU_VMATH_H */
