/* SPDX-License-Identifier: MIT */
/*
 * ref_conv.h - convolutions in plain double precision, with a bound on the device's error.
 *
 * As ref_ops.h; independent of the model.
 */
#ifndef TESTS_REFERENCE_REF_CONV_H
#define TESTS_REFERENCE_REF_CONV_H

#include "ref_ops.h"

/** struct ref_conv - rows and columns of a convolution's result, and its MAXPOOL */
struct ref_conv {
	uint32_t out_h, out_w;
	/** @rows, @cols: of the result before MAXPOOL: pixels, or (tap, channel) */
	uint32_t rows, cols;
	/** @pool_h, @pool_w: 0 without MAXPOOL */
	uint32_t pool_h, pool_w;
};

void ref_conv_shape(const struct vtpu_insn *insn, struct ref_conv *c);

/** ref_conv() - result (@row, @col) with its epilogue, before MAXPOOL and rounding to d's type */
struct ref ref_conv(const struct vtpu_insn *insn, const uint8_t *vmem, uint32_t row, uint32_t col);

#endif /* TESTS_REFERENCE_REF_CONV_H */
