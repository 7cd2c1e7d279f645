/* SPDX-License-Identifier: MIT */
/*
 * conv.h - what the kernels for convolutions are handed.
 *
 * The window generator, the choice of operands and all checks are the unit's
 * (unit_conv*.c); here are only rows, stretches and panels in host memory.
 */
#ifndef VTPU_KERNELS_CONV_H
#define VTPU_KERNELS_CONV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct vtpu_stretch - neighbours in the contraction: the same for all rows of a call */
struct vtpu_stretch {
	/** @a: its first element, in elements from each row's address */
	size_t a;
	/** @b: its first row of B */
	size_t b;
	/** @n: contracted elements, at least 1 */
	size_t n;
};

/**
 * struct vtpu_taps - a matrix product whose rows of A lie anywhere
 *
 * d[i][j] = (c ? c[i][j] : 0) + sum over stretches s and e < s.n of a[i][s.a + e * step] *
 * b[s.b + e][j], each element one chain in that order. All sizes are in elements.
 */
struct vtpu_taps {
	/** @a: address of each row; any, but there, if there are no stretches */
	const float *const *a;
	/** @a_step: from one contracted element to the next */
	size_t a_step;
	const struct vtpu_stretch *stretch;
	size_t stretches;
	/** @b: row k of panel p is at p * @b_panel + k * @b_pitch, nr readable elements */
	const float *b;
	size_t b_pitch;
	size_t b_panel;
	/** @c: address of each row of start values, or NULL; rows may be those of @d */
	const float *const *c;
	float *const *d;
	size_t m, n;
	/** @last: chains end here: -0 becomes +0, NaN canonical; then @bias and @relu */
	bool last;
	bool relu;
	/** @bias: added to ended chains: @n elements, readable up to a whole panel; or NULL */
	const float *bias;
	/** @cancel: polled; a true value ends the call early */
	const atomic_bool *cancel;
};

/** struct vtpu_window - maximum of windows that touch, for a row of them */
struct vtpu_window {
	/** @x: first element of the first window; channels are neighbours, readable in whole vectors */
	const float *x;
	/** @pitch: from a window's row to the next */
	size_t pitch;
	/** @step: from a window's column to the next */
	size_t step;
	unsigned int h, w;
	/** @count: windows in the row */
	size_t count;
	/** @n: channels */
	size_t n;
	float *d;
	/** @d_pitch: from the result of a window to the next */
	size_t d_pitch;
	/** @index: place of each maximum */
	uint8_t *index;
	size_t index_pitch;
	/** @relu: a maximum that is not above zero has no place: h * w */
	bool relu;
};

/**
 * struct vtpu_patch - a 3 x 3 convolution of one channel with a 2 x 2 maximum, for a row of windows
 *
 * Each window's patch of 4 x 4 elements begins two elements after the one before. What
 * struct vtpu_taps and struct vtpu_window would do, but all in registers.
 */
struct vtpu_patch {
	/** @a: first patch */
	const float *a;
	/** @a_pitch: from an element to the one below */
	size_t a_pitch;
	/** @count: windows */
	size_t count;
	/** @b: nine rows of panels, as in struct vtpu_taps */
	const float *b;
	size_t b_panel;
	/** @bias: as in struct vtpu_taps; never NULL */
	const float *bias;
	/** @relu: take what is above zero, after the bias */
	bool relu;
	/** @n: channels */
	size_t n;
	float *d;
	size_t d_pitch;
	uint8_t *index;
	size_t index_pitch;
};

/**
 * struct vtpu_sparse - products with the non-zero elements of a matrix alone
 *
 * For each item i, for each set bit b of its mask, ascending:
 * acc[i][0..width) += v[i * v_item + b * v_step] * rows[off[b]][0..width), fused.
 * Items may overlap the ones before them: each element has its terms in the items' order.
 */
struct vtpu_sparse {
	float *acc;
	/** @acc_step: from an item to the next */
	size_t acc_step;
	size_t items;
	/** @width: elements, whole vectors */
	size_t width;
	const uint64_t *mask;
	/** @words: of an item's mask */
	size_t words;
	const float *v;
	size_t v_item;
	size_t v_step;
	const float *rows;
	const uint32_t *off;
};

#endif /* VTPU_KERNELS_CONV_H */
