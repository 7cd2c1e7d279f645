/* SPDX-License-Identifier: MIT */
/*
 * pooling.h - what the kernels for pooling, arg-max and optimisers are handed.
 */
#ifndef VTPU_KERNELS_POOLING_H
#define VTPU_KERNELS_POOLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct vtpu_pooling - windows over an NHWC image, or their gradient
 *
 * All dense; offsets in @in, @out and @index are those of the image's first
 * element. A call does one row's columns [@col, @col_end) and channels [@from, @to).
 */
struct vtpu_pooling {
	/** @in: the image; gradient: that of its output */
	const uint8_t *in;
	/** @out: its output; gradient: that of the image */
	uint8_t *out;
	/** @index: place of each maximum, written by POOL and read by its gradient; or NULL */
	uint8_t *index;
	/** @type: f32 or bf16 */
	unsigned int type;
	bool average;
	size_t channels, from, to;
	uint32_t in_h, in_w, out_h, out_w;
	uint32_t ker_h, ker_w, stride_h, stride_w, pad_top, pad_left;
	uint32_t col, col_end;
};

/** struct vtpu_optimizer - arguments of a step, as OPTIMIZE has them */
struct vtpu_optimizer {
	/** @kind: enum vtpu_opt_kind */
	unsigned int kind;
	float lr, scale, c1, c2;
	float beta1, beta2, epsilon, decay;
};

#endif /* VTPU_KERNELS_POOLING_H */
