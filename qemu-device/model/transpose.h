/* SPDX-License-Identifier: MIT */
/*
 * transpose.h - a matrix of floats, turned, for the units that pack operands.
 */
#ifndef VTPU_TRANSPOSE_H
#define VTPU_TRANSPOSE_H

#include <stddef.h>
#include <xmmintrin.h>

/* 4 x 4 */
static inline void vtpu_transpose4(float *dst, size_t dst_pitch, const float *src, size_t pitch)
{
	__m128 i = _mm_loadu_ps(src), j = _mm_loadu_ps(src + pitch);
	__m128 k = _mm_loadu_ps(src + 2 * pitch), l = _mm_loadu_ps(src + 3 * pitch);

	_MM_TRANSPOSE4_PS(i, j, k, l);
	_mm_storeu_ps(dst, i);
	_mm_storeu_ps(dst + dst_pitch, j);
	_mm_storeu_ps(dst + 2 * dst_pitch, k);
	_mm_storeu_ps(dst + 3 * dst_pitch, l);
}

/** vtpu_transpose() - dst[c * dst_pitch + r] = src[r * pitch + c] for @rows by @cols elements */
static inline void vtpu_transpose(float *dst, size_t dst_pitch, const float *src, size_t pitch,
				  size_t rows, size_t cols)
{
	/* Strips of rows that fit a cache line of the result */
	for (size_t first = 0, end; first < rows; first = end) {
		size_t r, c;

		end = rows - first < 16 ? rows : first + 16;
		for (c = 0; c + 4 <= cols; c += 4) {
			for (r = first; r + 4 <= end; r += 4)
				vtpu_transpose4(dst + c * dst_pitch + r, dst_pitch,
						src + r * pitch + c, pitch);
			for (; r < end; r++) {
				for (size_t i = c; i < c + 4; i++)
					dst[i * dst_pitch + r] = src[r * pitch + i];
			}
		}
		for (; c < cols; c++) {
			for (r = first; r < end; r++)
				dst[c * dst_pitch + r] = src[r * pitch + c];
		}
	}
}

#endif /* VTPU_TRANSPOSE_H */
