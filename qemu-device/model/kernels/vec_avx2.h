/* SPDX-License-Identifier: MIT */
/*
 * vec_avx2.h - the vector operations that the kernels are written in, for AVX2 with FMA.
 *
 * What each means is in vec_scalar.h.
 */
#ifndef VTPU_VEC_AVX2_H
#define VTPU_VEC_AVX2_H

#include <immintrin.h>

#include "numerics.h"

#define VW	 8
#define VEC_ISA	 VTPU_ISA_AVX2
#define VEC_NAME vtpu_kernels_avx2
#define GEMM_MR	 6
#define GEMM_NV	 2
#define GEMM_KC	 256
#define TAPS_L1	 6144 /* elements of a panel that may stay in L1 while rows pass by */

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

#define v_load(p)	_mm256_loadu_ps(p)
#define v_store(p, x)	_mm256_storeu_ps(p, x)
#define v_set(x)	_mm256_set1_ps(x)
#define v_zero()	_mm256_setzero_ps()
#define v_add(a, b)	_mm256_add_ps(a, b)
#define v_sub(a, b)	_mm256_sub_ps(a, b)
#define v_mul(a, b)	_mm256_mul_ps(a, b)
#define v_div(a, b)	_mm256_div_ps(a, b)
#define v_sqrt(a)	_mm256_sqrt_ps(a)
#define v_floor(a)	_mm256_floor_ps(a)
#define v_fma(a, b, c)	_mm256_fmadd_ps(a, b, c)
#define v_min(a, b)	_mm256_min_ps(a, b)
#define v_max(a, b)	_mm256_max_ps(a, b)
#define v_lt(a, b)	_mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define v_le(a, b)	_mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define v_eq(a, b)	_mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define v_ne(a, b)	_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)
#define v_nan(a)	_mm256_cmp_ps(a, a, _CMP_UNORD_Q)
#define v_sel(m, a, b)	_mm256_blendv_ps(b, a, m)
#define vm_either(a, b) _mm256_or_ps(a, b)
#define vm_bits(m)	((unsigned int)_mm256_movemask_ps(m))
#define vi_set(x)	_mm256_set1_epi32((int)(x))
#define v_bits(x)	_mm256_castps_si256(x)
#define v_float(x)	_mm256_castsi256_ps(x)
#define vi_add(a, b)	_mm256_add_epi32(a, b)
#define vi_sub(a, b)	_mm256_sub_epi32(a, b)
#define vi_and(a, b)	_mm256_and_si256(a, b)
#define vi_or(a, b)	_mm256_or_si256(a, b)
#define vi_xor(a, b)	_mm256_xor_si256(a, b)
#define vi_shl(a, n)	_mm256_slli_epi32(a, n)
#define vi_shr(a, n)	_mm256_srli_epi32(a, n)
#define vi_sra(a, n)	_mm256_srai_epi32(a, n)
#define v_from_int(x)	_mm256_cvtepi32_ps(x)
#define vi_load_u16(p)	_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define vi_load_u8(p)	_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))

static inline void vi_store_u16(uint16_t *p, vi x)
{
	__m128i lo = _mm256_castsi256_si128(x);
	__m128i hi = _mm256_extracti128_si256(x, 1);

	_mm_storeu_si128((__m128i *)p, _mm_packus_epi32(lo, hi));
}

static inline void vi_store_u8(uint8_t *p, vi x)
{
	__m128i half = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

	_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(half, half));
}

#endif /* VTPU_VEC_AVX2_H */
