/* SPDX-License-Identifier: MIT */
/*
 * dense.h - fused matrix products: what ops.c checked and resolved, and the two
 * ways to build them. dense_stream.c streams one layer of any size through
 * VMEM, dense_chain.c keeps the weights of several there.
 */
#ifndef VTPU_SRC_PROGRAM_DENSE_H
#define VTPU_SRC_PROGRAM_DENSE_H

#include <vtpu/ops.h>

#include "cost.h"
#include "program/sched.h"

#define DENSE_LAYERS 16
#define DENSE_TILE   4096 /* alignment of what lies in VMEM */

/** struct dense_layer - a layer with all defaults filled in */
struct dense_layer {
	const struct vtpu_layer *user;
	uint32_t k, n;
	uint8_t type;	   /* of the operands in VMEM: enum vtpu_type of w */
	uint8_t out_type;  /* of the result in VMEM, before a softmax */
	uint8_t epi_op[4]; /* epilogue; arguments that are addresses are filled in by the plans */
	uint32_t epi_arg[4];
	int scale_arg, bias_arg, residual_arg; /* numbers of those, -1: none */
	uint32_t op;			       /* operation id */
	uint32_t w_base, scale_base, bias_base, residual_base;
};

/** struct dense - a checked description */
struct dense {
	const struct vtpu_hw_geometry *geometry;
	uint32_t width;
	uint64_t rows; /* of each core */
	uint8_t x_type, y_type;
	uint32_t x_base, y_base;
	uint32_t layers;
	struct dense_layer layer[DENSE_LAYERS];
	struct vtpu_tiling want; /* the caller's wishes, 0 where none */
};

/**
 * dense_rows() - rows of a tile when @rows are cut into tiles of about @bm
 *
 * The last tile is smaller; all others have the same size, a multiple of 8.
 */
static inline uint32_t dense_rows(uint64_t rows, uint64_t bm)
{
	return vtpu_cost_round(vtpu_cost_div(rows, vtpu_cost_div(rows, bm)), 8);
}

/** dense_stream() - choose tiles and write a single layer; @b has the bases */
enum vtpu_status dense_stream(const struct dense *d, struct vtpu_builder *b,
			      struct vtpu_plan *plan);

/** dense_chain() - the same for layers whose weights stay in VMEM */
enum vtpu_status dense_chain(const struct dense *d, struct vtpu_builder *b, struct vtpu_plan *plan);

#endif /* VTPU_SRC_PROGRAM_DENSE_H */
