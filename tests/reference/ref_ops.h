/* SPDX-License-Identifier: MIT */
/*
 * ref_ops.h - what each instruction computes, in plain double precision, with a bound on the device's error.
 *
 * Independent of the model: it reads an instruction and VMEM, and works out
 * each result as a value and the distance that the device's f32 or bf16 result
 * may keep from it. The bound follows the computation: with u = 2^-24, each
 * addition or product of the device adds at most u of the result's magnitude (for
 * a chain of K: K u sum|a||b|), plus 2^-126 for what is flushed; exp and its kin add
 * their stated ulps; a rounding to bf16 adds 2^-8 of the value.
 */
#ifndef TESTS_REFERENCE_REF_OPS_H
#define TESTS_REFERENCE_REF_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "vtpu_hw.h"

/** struct ref - a result: |device - @v| <= @e. Where @e is not finite, any result will do */
struct ref {
	double v;
	double e;
};

/** ref_get() - element of memory, as the device reads it (denormals are zero) */
double ref_get(const uint8_t *p, unsigned int type);

/**
 * ref_epilogue() - the epilogue of a matrix instruction on a finished chain @r of result (@i, @j)
 *
 * Up to a MAXPOOL, and without the rounding to d's type.
 */
struct ref ref_epilogue(const struct vtpu_insn_mxu *x, const uint8_t *vmem, uint32_t i, uint32_t j,
			struct ref r);

/** ref_matmul() - result (@i, @j) of a MATMUL with its epilogue */
struct ref ref_matmul(const struct vtpu_insn_mxu *x, const uint8_t *vmem, uint32_t i, uint32_t j);

/** ref_ew() - result (@i, @j) of output @out of an EW */
struct ref ref_ew(const struct vtpu_insn_ew *x, const uint8_t *vmem, unsigned int out, uint32_t i,
		  uint32_t j);

/** ref_reduce() - result @i of a REDUCE */
struct ref ref_reduce(const struct vtpu_insn_rows *x, const uint8_t *vmem, uint32_t i);

/** ref_softmax() - one row of a SOFTMAX into @out[cols] */
void ref_softmax(const struct vtpu_insn_rows *x, const uint8_t *vmem, uint32_t row,
		 struct ref *out);

/**
 * ref_dma() - what a COPY or FILL leaves in memory, element by element in order
 * @vmem: is changed
 */
void ref_dma(const struct vtpu_insn *insn, uint8_t *vmem);

/** ref_transpose() - what a TRANSPOSE leaves in memory */
void ref_transpose(const struct vtpu_insn_rows *x, uint8_t *vmem);

#endif /* TESTS_REFERENCE_REF_OPS_H */
