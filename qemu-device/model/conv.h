/* SPDX-License-Identifier: MIT */
/*
 * conv.h - convolutions: the window generator, and what their units share.
 *
 * One axis at a time, positions of the result meet taps at elements of the source:
 *
 *	source * lhs = position * stride - pad + tap * dil
 *
 * where that is a whole number inside the source. The forward convolution has lhs 1.
 * Its data gradient has stride 1, lhs the stride, and the taps in reverse, so
 * that ascending taps are ascending windows. Neighbouring positions that have the same
 * taps form runs, which are computed together.
 */
#ifndef VTPU_CONV_H
#define VTPU_CONV_H

#include "epilogue.h"
#include "unit.h"

/** struct vtpu_axis - rows or columns of a convolution */
struct vtpu_axis {
	/** @positions: of the result */
	uint32_t positions;
	/** @source: elements of the source */
	uint32_t source;
	uint32_t taps;
	uint32_t stride;
	uint32_t dil;
	uint32_t lhs;
	int32_t pad;
};

/**
 * struct vtpu_axis_run - positions with the same taps
 *
 * Position first + i * step, i < count, meets tap tap + j * tap_step, j < taps, at
 * source + i * by_position + j * by_tap.
 */
struct vtpu_axis_run {
	uint32_t first;
	uint32_t step;
	uint32_t count;
	uint32_t tap;
	uint32_t tap_step;
	uint32_t taps;
	uint32_t source;
	uint32_t by_position;
	uint32_t by_tap;
};

/** struct vtpu_axis_walk - a walk over the runs of positions [@from, @end); the rest starts as zero */
struct vtpu_axis_walk {
	uint32_t from, end;
	uint32_t residue, next;
};

/** vtpu_axis_next() - the next run; false: there are no more */
bool vtpu_axis_next(const struct vtpu_axis *ax, struct vtpu_axis_walk *w,
		    struct vtpu_axis_run *run);

/** vtpu_axis_taps() - the run that is one position alone */
struct vtpu_axis_run vtpu_axis_taps(const struct vtpu_axis *ax, uint32_t position);

/**
 * vtpu_axis_windows() - windows [*@first, *@end) of a forward axis that have tap @tap inside the
 * source
 */
void vtpu_axis_windows(const struct vtpu_axis *ax, uint32_t tap, uint32_t *first, uint32_t *end);

/** vtpu_conv_axes() - rows and columns: of CONV and CONV_WGRAD forward, of CONV_DGRAD reversed */
void vtpu_conv_axes(const struct vtpu_insn *insn, struct vtpu_axis *h, struct vtpu_axis *w);

/**
 * vtpu_conv_plain() - chains of one result, element by element, as the instruction is defined
 * @pixel: of d: pixel, or row of weights
 * @col: first channel of d
 * @cols: channels, all in one group
 * @out: gets the chains, not yet ended
 *
 * For operands that fit no working memory of the fast ways.
 */
void vtpu_conv_plain(const struct vtpu_op *op, uint64_t pixel, uint32_t col, uint32_t cols,
		     float *out);

/* Working memory of a convolution: halves of @b of the scratch. */
#define VTPU_CONV_ROOM ((size_t)VTPU_MXU_DEPTH * VTPU_MXU_NC / 2)
/* Accumulators that should stay in L2, in elements. */
#define VTPU_CONV_L2 49152
/* Columns done at once: so few that accumulators of any MAXPOOL's window fit. */
#define VTPU_CONV_NC 512
/* Rows of one call of the kernel: a multiple of every tile's rows up to 6, and of 12. */
#define VTPU_CONV_ROWS 480
/* A lone thread still takes a breath, for other runs, after about this many multiply-adds. */
#define VTPU_CONV_TURN (1ULL << 28)
/* Stretches of one call */
#define VTPU_CONV_STRETCHES 256

/** struct vtpu_conv_rows - rows and stretches for the kernel, being gathered */
struct vtpu_conv_rows {
	size_t m;
	const float *a[VTPU_CONV_ROWS];
	const float *c[VTPU_CONV_ROWS];
	float *d[VTPU_CONV_ROWS];
	struct vtpu_stretch stretch[VTPU_CONV_STRETCHES];
};

/** vtpu_conv_room() - floats of a panel's width that @cols columns take */
static inline size_t vtpu_conv_room(const struct vtpu_kernels *k, size_t cols)
{
	return (cols + k->nr - 1) / k->nr * k->nr;
}

#endif /* VTPU_CONV_H */
