/* SPDX-License-Identifier: MIT */
/*
 * numerics.h - the scalar rules of the chip's arithmetic.
 *
 * Rounding mode and flushing, bf16, canonical NaN, and how reductions combine.
 * Functions of a real argument (exp and its kin) are in kernels/vmath.h, once
 * for all instruction sets. docs/numerics.md is the text that this implements.
 */
#ifndef VTPU_NUMERICS_H
#define VTPU_NUMERICS_H

#include <stdint.h>
#include <string.h>
#include <xmmintrin.h>

#include "types.h"

#ifndef __x86_64__
#error "the model's arithmetic needs a host with flush-to-zero in MXCSR: x86-64"
#endif

/* All exceptions masked, round to nearest even, flush to zero, denormals are zero. */
#define VTPU_MXCSR 0x9fc0u

#define VTPU_NAN_F32  0x7fc00000u
#define VTPU_NAN_BF16 0x7fc0u

/* A row reduction runs over blocks of this many elements, each in this many partial results. */
#define VTPU_REDUCE_BLOCK    1024
#define VTPU_REDUCE_PARTIALS 16

/** vtpu_fp_enter() - switch this thread to the chip's arithmetic; returns what to restore */
static inline unsigned int vtpu_fp_enter(void)
{
	unsigned int old = _mm_getcsr();

	_mm_setcsr(VTPU_MXCSR);
	return old;
}

/** vtpu_fp_leave() - back to @old */
static inline void vtpu_fp_leave(unsigned int old)
{
	_mm_setcsr(old);
}

static inline uint32_t vtpu_f32_bits(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static inline float vtpu_f32(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/** vtpu_f32_flush() - a denormal as zero of the same sign, by its bits */
static inline uint32_t vtpu_f32_flush(uint32_t bits)
{
	return bits & 0x7f800000u ? bits : bits & 0x80000000u;
}

/** vtpu_bf16_from_f32() - round to nearest even; denormals become zero, every NaN the canonical one */
static inline uint16_t vtpu_bf16_from_f32(float x)
{
	uint32_t u = vtpu_f32_flush(vtpu_f32_bits(x));

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return VTPU_NAN_BF16;
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

/** vtpu_bf16_to_f32() - exact */
static inline float vtpu_bf16_to_f32(uint16_t h)
{
	return vtpu_f32((uint32_t)h << 16);
}

/** vtpu_reduce_identity() - the value that every partial result of a reduction starts from */
static inline float vtpu_reduce_identity(unsigned int op)
{
	switch (op) {
	case VTPU_REDUCE_MAX:
		return -__builtin_inff();
	case VTPU_REDUCE_MIN:
		return __builtin_inff();
	default:
		return 0.0f;
	}
}

/** vtpu_reduce_combine() - join two partial results, @a of the lower elements */
static inline float vtpu_reduce_combine(unsigned int op, float a, float b)
{
	switch (op) {
	case VTPU_REDUCE_MAX:
		return a != a || a > b ? a : b;
	case VTPU_REDUCE_MIN:
		return a != a || a < b ? a : b;
	default:
		return a + b;
	}
}

#endif /* VTPU_NUMERICS_H */
