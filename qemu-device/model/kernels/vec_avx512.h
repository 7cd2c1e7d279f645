/* SPDX-License-Identifier: MIT */
/*
 * vec_avx512.h - the vector operations that the kernels are written in, for AVX-512F.
 *
 * What each means is in vec_scalar.h.
 */
#ifndef VTPU_VEC_AVX512_H
#define VTPU_VEC_AVX512_H

#include <immintrin.h>

#include "numerics.h"

#define VW	 16
#define VEC_ISA	 VTPU_ISA_AVX512
#define VEC_NAME vtpu_kernels_avx512
#define GEMM_MR	 12
#define GEMM_NV	 2
#define GEMM_KC	 256
#define TAPS_L1	 6144

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

#define v_load(p)	   _mm512_loadu_ps(p)
#define v_store(p, x)	   _mm512_storeu_ps(p, x)
#define v_set(x)	   _mm512_set1_ps(x)
#define v_zero()	   _mm512_setzero_ps()
#define v_add(a, b)	   _mm512_add_ps(a, b)
#define v_sub(a, b)	   _mm512_sub_ps(a, b)
#define v_mul(a, b)	   _mm512_mul_ps(a, b)
#define v_div(a, b)	   _mm512_div_ps(a, b)
#define v_sqrt(a)	   _mm512_sqrt_ps(a)
#define v_floor(a)	   _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define v_fma(a, b, c)	   _mm512_fmadd_ps(a, b, c)
#define v_min(a, b)	   _mm512_min_ps(a, b)
#define v_max(a, b)	   _mm512_max_ps(a, b)
#define v_lt(a, b)	   _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define v_le(a, b)	   _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define v_eq(a, b)	   _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define v_ne(a, b)	   _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define v_nan(a)	   _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q)
#define v_sel(m, a, b)	   _mm512_mask_blend_ps(m, b, a)
#define vm_either(a, b)	   ((vm)((a) | (b)))
#define vm_bits(m)	   ((unsigned int)(m))
#define vi_set(x)	   _mm512_set1_epi32((int)(x))
#define v_bits(x)	   _mm512_castps_si512(x)
#define v_float(x)	   _mm512_castsi512_ps(x)
#define vi_add(a, b)	   _mm512_add_epi32(a, b)
#define vi_sub(a, b)	   _mm512_sub_epi32(a, b)
#define vi_and(a, b)	   _mm512_and_si512(a, b)
#define vi_or(a, b)	   _mm512_or_si512(a, b)
#define vi_xor(a, b)	   _mm512_xor_si512(a, b)
#define vi_shl(a, n)	   _mm512_slli_epi32(a, n)
#define vi_shr(a, n)	   _mm512_srli_epi32(a, n)
#define vi_sra(a, n)	   _mm512_srai_epi32(a, n)
#define v_from_int(x)	   _mm512_cvtepi32_ps(x)
#define vi_load_u16(p)	   _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p)))
#define vi_load_u8(p)	   _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define vi_store_u16(p, x) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtepi32_epi16(x))
#define vi_store_u8(p, x)  _mm_storeu_si128((__m128i *)(p), _mm512_cvtepi32_epi8(x))

#endif /* VTPU_VEC_AVX512_H */
