// SPDX-License-Identifier: MIT
/*
 * avx512_portable.c - the AVX-512 kernels for a CPU that has none.
 *
 * The same text as kernels/avx512.c, but SIMDe's portable intrinsics take the
 * place of the compiler's, so that the code's logic is tested everywhere.
 */
#include <math.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

/* SIMDe 0.7.4 lacks these, or (roundscale) gets them wrong: results and lanes of one conversion or shift each. */
#define PORTABLE(name, result, lane, argument, expression) \
	static inline simde##result portable_##name(argument, unsigned int n) \
	{ \
		simde##result##_private p; \
\
		(void)n; \
		for (int i = 0; i < 16; i++) \
			p.lane[i] = expression; \
		return simde##result##_from_private(p); \
	}

PORTABLE(srai_epi32, __m512i, i32, simde__m512i a, simde__m512i_to_private(a).i32[i] >> n)
PORTABLE(cvtepi32_ps, __m512, f32, simde__m512i a, (float)simde__m512i_to_private(a).i32[i])
PORTABLE(cvtepu16_epi32, __m512i, u32, simde__m256i a, simde__m256i_to_private(a).u16[i])
PORTABLE(cvtepu8_epi32, __m512i, u32, simde__m128i a, simde__m128i_to_private(a).u8[i])
PORTABLE(cvtepi32_epi16, __m256i, u16, simde__m512i a, (uint16_t)simde__m512i_to_private(a).i32[i])
PORTABLE(cvtepi32_epi8, __m128i, u8, simde__m512i a, (uint8_t)simde__m512i_to_private(a).i32[i])
PORTABLE(floor_ps, __m512, f32, simde__m512 a, floorf(simde__m512_to_private(a).f32[i]))

#undef _mm512_srai_epi32
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtepu8_epi32
#undef _mm512_cvtepi32_epi16
#undef _mm512_cvtepi32_epi8
#undef _mm512_roundscale_ps
#define _mm512_srai_epi32(a, n)	      portable_srai_epi32(a, n)
#define _mm512_cvtepi32_ps(a)	      portable_cvtepi32_ps(a, 0)
#define _mm512_cvtepu16_epi32(a)      portable_cvtepu16_epi32(a, 0)
#define _mm512_cvtepu8_epi32(a)	      portable_cvtepu8_epi32(a, 0)
#define _mm512_cvtepi32_epi16(a)      portable_cvtepi32_epi16(a, 0)
#define _mm512_cvtepi32_epi8(a)	      portable_cvtepi32_epi8(a, 0)
#define _mm512_roundscale_ps(a, mode) portable_floor_ps(a, mode)

/* Loops, not straight code: that would take minutes to compile here. */
#define VTPU_CHECKED
#include "kernels/vec_avx512.h"

#undef VEC_NAME
#define VEC_NAME vtpu_kernels_avx512_portable
#include "kernels/body.h"
