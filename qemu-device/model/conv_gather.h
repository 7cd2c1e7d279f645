/* SPDX-License-Identifier: MIT */
/*
 * conv_gather.h - between the files of CONV and CONV_DGRAD: one part of an
 * instruction, and the block of it that is being done.
 */
#ifndef VTPU_CONV_GATHER_H
#define VTPU_CONV_GATHER_H

#include "conv.h"
#include "insn_table.h"

/** struct vtpu_gather - a part: rows of the result, all channels of d */
struct vtpu_gather {
	const struct vtpu_op *op;
	const struct vtpu_insn_mxu *x;
	const struct vtpu_kernels *k;
	struct vtpu_scratch *s;
	struct vtpu_epilogue epi;
	struct vtpu_insn_maxpool pool;
	/** @h, @w: with MAXPOOL, only positions that a window of it has */
	struct vtpu_axis h, w;
	/** @rows, @columns: all positions */
	uint32_t rows, columns;
	/** @ins: contracted channels of a tap */
	uint32_t ins;
	/** @outs: channels of the result of a group */
	uint32_t outs;
	bool back; /* CONV_DGRAD */
	/** @plain: operands fit no working memory */
	bool plain;
	/** @fused: the kernel does all of the epilogue but MAXPOOL */
	bool fused;
	/** @patch: the kernel for patches does all */
	bool patch;
	/** @direct: the kernel writes results to their place */
	bool direct;
	bool relu;
	const uint8_t *bias;

	/* Columns under way */
	uint32_t group;
	uint32_t col, cols; /* of the group */
	/** @panels: their packed weights */
	float *panels;
	/** @bias_f32: their bias, whole panels, or NULL */
	const float *bias_f32;
};

/** struct vtpu_gather_block - positions that are done together: images x rows x columns */
struct vtpu_gather_block {
	uint64_t image;
	uint32_t images;
	uint32_t row, row_end;
	uint32_t col, col_end;
	/** @source: address of the source's row @source_row of @image, of the group's first channel */
	const float *source;
	uint32_t source_row;
	/** @rows: source rows from an image to the next, there */
	uint32_t rows;
	/** @pitch: floats from a pixel to the next, there */
	size_t pitch;
};

/** vtpu_gather_pack() - weights of the columns under way, into @p->panels */
void vtpu_gather_pack(const struct vtpu_gather *p);

/** vtpu_gather_source() - find or widen the source rows that a block meets */
void vtpu_gather_source(const struct vtpu_gather *p, struct vtpu_gather_block *b);

/** vtpu_gather_source_rows() - rows of the source that @rows rows of the result span at most */
uint64_t vtpu_gather_source_rows(const struct vtpu_gather *p, uint64_t rows);

/** vtpu_gather_pixel() - pixel of c, and of d without MAXPOOL */
static inline uint64_t vtpu_gather_pixel(const struct vtpu_gather *p, uint64_t image, uint32_t row,
					 uint32_t col)
{
	return (image * p->rows + row) * p->columns + col;
}

/** vtpu_gather_d() - address of the columns under way of a pixel of d */
static inline uint8_t *vtpu_gather_d(const struct vtpu_gather *p, uint64_t pixel)
{
	return vtpu_op_vmem(p->op, p->x->d) + pixel * p->x->ldd +
	       ((size_t)p->group * p->outs + p->col) * vtpu_type_bytes(p->x->d_type);
}

/** vtpu_gather_c() - address of their start values */
static inline const float *vtpu_gather_c(const struct vtpu_gather *p, uint64_t pixel)
{
	return (const float *)(vtpu_op_vmem(p->op, p->x->c) + pixel * p->x->ldc) +
	       (size_t)p->group * p->outs + p->col;
}

/** vtpu_gather_finish() - from accumulators of a block, ended unless @p->fused is false, to d */
void vtpu_gather_finish(const struct vtpu_gather *p, const struct vtpu_gather_block *b);

/* Working memory: what lies where in @a and @acc of the scratch, in floats. */
#define VTPU_GATHER_OFFSETS 2048
#define VTPU_GATHER_MASKS   (VTPU_GATHER_OFFSETS + 4096)
#define VTPU_GATHER_WORDS   ((VTPU_MXU_MC * (size_t)VTPU_GEMM_PITCH - VTPU_GATHER_MASKS) / 2)
#define VTPU_GATHER_SPARSE  ((size_t)VTPU_MXU_PM * VTPU_MXU_NC / 2)

/**
 * vtpu_gather_sparse_pack() - does it pay, and is it right, to skip zeros of the output's gradient?
 * @image: first of the part
 * @end: behind the last
 *
 * If so, weights are packed for it.
 */
bool vtpu_gather_sparse_pack(const struct vtpu_gather *p, uint64_t image, uint64_t end);

/** vtpu_gather_sparse_images() - images of @rows rows that a block may have; 0: not one */
uint32_t vtpu_gather_sparse_images(const struct vtpu_gather *p, uint32_t rows);

/** vtpu_gather_sparse_line() - floats from a row of its accumulators to the next */
size_t vtpu_gather_sparse_line(const struct vtpu_gather *p);

/**
 * vtpu_gather_sparse() - chains of a block of whole rows, not ended
 *
 * Return: the first; channels are neighbours.
 */
float *vtpu_gather_sparse(const struct vtpu_gather *p, const struct vtpu_gather_block *b);

#endif /* VTPU_CONV_GATHER_H */
