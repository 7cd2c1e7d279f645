/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - the host kernels: inner loops that exist once per instruction set.
 *
 * Each function works on host memory that the units have resolved and checked;
 * none knows of instructions, VMEM or threads. All instruction sets give the
 * same bits. Callers have entered the chip's arithmetic (vtpu_fp_enter()).
 */
#ifndef VTPU_KERNELS_H
#define VTPU_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/conv.h"
#include "kernels/pooling.h"

/* Elements of a working block: 4 KiB of f32, so that a chain's registers stay in L1. */
#define VTPU_BLOCK 1024
/* Blocks may be read and written up to the next multiple of this many elements. */
#define VTPU_BLOCK_ALIGN 16

/* The largest contraction block of any instruction set, and the pitch of packed rows of A. */
#define VTPU_GEMM_KC	384
#define VTPU_GEMM_PITCH (VTPU_GEMM_KC + 16)
/* The widest micro-tile, in columns, and the tallest, in rows. */
#define VTPU_GEMM_MAX_NR 32
#define VTPU_GEMM_MAX_MR 16

/**
 * struct vtpu_gemm - one contraction block of a matrix product
 *
 * d[m,n] = (start ? c : 0) + a[m,k] * b[k,n], each element one chain of fused
 * multiply-adds with k ascending. Pitches are in elements.
 */
struct vtpu_gemm {
	/** @a: rows of A, @k contiguous elements each, @a_pitch apart */
	const float *a;
	size_t a_pitch;
	/**
	 * @b: columns of B in panels of nr; row k of panel p is at
	 * p * @b_panel + k * @b_pitch, nr readable elements
	 */
	const float *b;
	size_t b_pitch;
	size_t b_panel;
	/** @c: start values, when @start; may be @d */
	const float *c;
	size_t c_pitch;
	float *d;
	size_t d_pitch;
	size_t m, n, k;
	/** @start: chains go on from @c */
	bool start;
	/** @last: chains end here: -0 becomes +0, NaN canonical */
	bool last;
	/** @cancel: polled; a true value ends the call early */
	const atomic_bool *cancel;
};

/** struct vtpu_kernels - kernels for one instruction set */
struct vtpu_kernels {
	/** @isa: enum vtpu_isa */
	int isa;
	/** @mr: rows of a micro-tile */
	unsigned int mr;
	/** @nr: columns of a micro-tile, the width of a panel of B */
	unsigned int nr;
	/** @vw: lanes of a vector */
	unsigned int vw;
	/** @kc: rows of a panel of B that suit the caches, at most %VTPU_GEMM_KC */
	unsigned int kc;

	/** @gemm: see struct vtpu_gemm */
	void (*gemm)(const struct vtpu_gemm *g);

	/**
	 * @widen: @n elements of @type (u8, bf16, f32) as f32
	 *
	 * Exact but that denormals become zero of the same sign.
	 */
	void (*widen)(float *dst, const void *src, size_t n, unsigned int type);

	/**
	 * @sum_rows: add @rows rows of @n elements of @type, @pitch bytes apart, to @acc, one after
	 * the other; @acc has room for whole vectors
	 */
	void (*sum_rows)(float *acc, const uint8_t *src, size_t pitch, size_t rows, size_t n,
			 unsigned int type);

	/** @narrow: @n f32 rounded to @type (bf16, f32); every NaN becomes the canonical one */
	void (*narrow)(void *dst, const float *src, size_t n, unsigned int type);

	/**
	 * @ew: one micro-op over a block: d = op(a, b), FMA and SELECT read d too
	 * @op: enum vtpu_ew_op
	 *
	 * @n is rounded up to %VTPU_BLOCK_ALIGN. d may be a or b.
	 */
	void (*ew)(unsigned int op, float *d, const float *a, const float *b, size_t n);

	/**
	 * @reduce: one block of a row reduction: 16 strided partials, then a tree
	 * @op: enum vtpu_reduce_op
	 * @n: at most %VTPU_REDUCE_BLOCK; @x is padded with the op's identity to
	 *     a multiple of %VTPU_REDUCE_PARTIALS
	 */
	float (*reduce)(unsigned int op, const float *x, size_t n);

	/** @pool: row @row of an image's output: the first of the largest; of NaNs, the last; or the average */
	void (*pool)(const struct vtpu_pooling *p, uint32_t row);

	/** @pool_grad: row @row of the image's gradient */
	void (*pool_grad)(const struct vtpu_pooling *p, uint32_t row);

	/**
	 * @pool_spread: the same for maxima of windows that touch and do not overlap, without
	 * padding: all elements of row @row of windows
	 */
	void (*pool_spread)(const struct vtpu_pooling *p, uint32_t row);

	/** @argmax: the first of the largest of @n elements; a NaN is larger than any number */
	size_t (*argmax)(const float *x, size_t n);

	/** @optimize: a step of @n parameters; @m and @v as the kind has them */
	void (*optimize)(const struct vtpu_optimizer *o, float *p, const float *g, float *m,
			 float *v, size_t n);

	/** @taps: see struct vtpu_taps */
	void (*taps)(const struct vtpu_taps *t);

	/** @window: see struct vtpu_window. The first of the largest; of NaNs, the last */
	void (*window)(const struct vtpu_window *w);

	/** @patch: see struct vtpu_patch */
	void (*patch)(const struct vtpu_patch *p);

	/** @nonzero: a bit for each of @n elements that is not zero (NaN is not); returns their number */
	size_t (*nonzero)(uint64_t *mask, const float *x, size_t n);

	/** @finite: are all of @n elements finite? */
	bool (*finite)(const float *x, size_t n);

	/** @sparse: see struct vtpu_sparse */
	void (*sparse)(const struct vtpu_sparse *s);
};

extern const struct vtpu_kernels vtpu_kernels_scalar;
extern const struct vtpu_kernels vtpu_kernels_avx2;
extern const struct vtpu_kernels vtpu_kernels_avx512;

#endif /* VTPU_KERNELS_H */
