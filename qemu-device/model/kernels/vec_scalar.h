/* SPDX-License-Identifier: MIT */
/*
 * vec_scalar.h - the vector operations that the kernels are written in, one lane wide.
 *
 * The oracle for the wider ones: plain C, fmaf() and sqrtf(), comparisons as
 * written. v_min() and v_max() return the second operand when the operands are
 * unordered or both zero, as the machine instructions do.
 */
#ifndef VTPU_VEC_SCALAR_H
#define VTPU_VEC_SCALAR_H

#include <math.h>

#include "numerics.h"

#define VW	 1 /* lanes */
#define VEC_ISA	 VTPU_ISA_SCALAR
#define VEC_NAME vtpu_kernels_scalar
#define GEMM_MR	 4
#define GEMM_NV	 4 /* vectors in the width of a micro-tile */
#define GEMM_KC	 256
#define TAPS_L1	 4096

typedef float vf;
typedef uint32_t vi;
typedef int vm;

static inline vf v_load(const float *p)
{
	return *p;
}

static inline void v_store(float *p, vf x)
{
	*p = x;
}

static inline vf v_set(float x)
{
	return x;
}

static inline vf v_zero(void)
{
	return 0.0f;
}

static inline vf v_add(vf a, vf b)
{
	return a + b;
}

static inline vf v_sub(vf a, vf b)
{
	return a - b;
}

static inline vf v_mul(vf a, vf b)
{
	return a * b;
}

static inline vf v_div(vf a, vf b)
{
	return a / b;
}

static inline vf v_sqrt(vf a)
{
	return a < 0.0f ? vtpu_f32(VTPU_NAN_F32) : sqrtf(a);
}

static inline vf v_floor(vf a)
{
	return floorf(a);
}

static inline vf v_fma(vf a, vf b, vf c)
{
	return fmaf(a, b, c);
}

static inline vf v_min(vf a, vf b)
{
	return a < b ? a : b;
}

static inline vf v_max(vf a, vf b)
{
	return a > b ? a : b;
}

static inline vm v_lt(vf a, vf b)
{
	return a < b;
}

static inline vm v_le(vf a, vf b)
{
	return a <= b;
}

static inline vm v_eq(vf a, vf b)
{
	return a == b;
}

static inline vm v_ne(vf a, vf b)
{
	return a != b;
}

static inline vm v_nan(vf a)
{
	return a != a;
}

static inline vf v_sel(vm m, vf a, vf b)
{
	return m ? a : b;
}

static inline vm vm_either(vm a, vm b)
{
	return a || b;
}

/** vm_bits() - a bit for each lane */
static inline unsigned int vm_bits(vm m)
{
	return m != 0;
}

static inline vi vi_set(uint32_t x)
{
	return x;
}

static inline vi v_bits(vf x)
{
	return vtpu_f32_bits(x);
}

static inline vf v_float(vi x)
{
	return vtpu_f32(x);
}

static inline vi vi_add(vi a, vi b)
{
	return a + b;
}

static inline vi vi_sub(vi a, vi b)
{
	return a - b;
}

static inline vi vi_and(vi a, vi b)
{
	return a & b;
}

static inline vi vi_or(vi a, vi b)
{
	return a | b;
}

static inline vi vi_xor(vi a, vi b)
{
	return a ^ b;
}

#define vi_shl(a, n) ((vi)((a) << (n)))
#define vi_shr(a, n) ((vi)((a) >> (n)))
#define vi_sra(a, n) ((vi)((int32_t)(a) >> (n)))

/** v_from_int() - signed integers of magnitude below 2^24 */
static inline vf v_from_int(vi x)
{
	return (float)(int32_t)x;
}

static inline vi vi_load_u16(const uint16_t *p)
{
	return *p;
}

static inline vi vi_load_u8(const uint8_t *p)
{
	return *p;
}

/** vi_store_u16() - lanes below 2^16 */
static inline void vi_store_u16(uint16_t *p, vi x)
{
	*p = (uint16_t)x;
}

/** vi_store_u8() - lanes below 2^8 */
static inline void vi_store_u8(uint8_t *p, vi x)
{
	*p = (uint8_t)x;
}

#endif /* VTPU_VEC_SCALAR_H */
