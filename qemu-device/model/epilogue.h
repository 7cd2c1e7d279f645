/* SPDX-License-Identifier: MIT */
/*
 * epilogue.h - what a matrix instruction does with finished chains.
 */
#ifndef VTPU_EPILOGUE_H
#define VTPU_EPILOGUE_H

#include "unit.h"

/** struct vtpu_epilogue - the epilogue of one instruction, with its operands found */
struct vtpu_epilogue {
	const struct vtpu_op *op;
	struct vtpu_scratch *s;
	unsigned int ops;
	struct {
		uint8_t op;   /* enum vtpu_epi_op */
		uint8_t slot; /* first argument */
		const uint8_t *operand;
	} step[4];
	/** @reads_result: an operand may be the result itself, so it must not hold accumulators */
	bool reads_result;
};

/**
 * vtpu_epilogue_init() - find the operands; uses working blocks of @s from then on
 * @n: columns of the result
 *
 * A MAXPOOL ends the list: it is the convolution's own.
 */
void vtpu_epilogue_init(struct vtpu_epilogue *e, const struct vtpu_op *op, struct vtpu_scratch *s,
			uint32_t n);

/**
 * vtpu_epilogue_run() - from accumulators to results
 * @acc: accumulators of element (@row, @col) and on, chains ended
 * @pitch: their pitch in elements
 * @cols: at most %VTPU_BLOCK
 */
void vtpu_epilogue_run(const struct vtpu_epilogue *e, const float *acc, size_t pitch, uint32_t row,
		       uint32_t rows, uint32_t col, uint32_t cols);

/** vtpu_epilogue_values() - the same, but f32 back into the accumulators; there is no residual */
void vtpu_epilogue_values(const struct vtpu_epilogue *e, float *acc, size_t pitch, size_t rows,
			  uint32_t col, uint32_t cols);

#endif /* VTPU_EPILOGUE_H */
