// SPDX-License-Identifier: MIT
/*
 * insn_table.c - the opcodes and the fields that they use.
 *
 * A byte of the payload that no row names must be zero.
 */
#include <stddef.h>

#include "insn.h"
#include "insn_table.h"

/* clang-format off */
#define AT(path)	offsetof(struct vtpu_insn, payload.path)
#define SIZE(path)	sizeof(((struct vtpu_insn *)0)->payload.path)
/* One field of any value; with limits; with a limit of this device; of a type; and an array of fields. */
#define ANY(path)			{ AT(path), SIZE(path), 1, 0, 0, 0, UINT64_MAX, UINT64_MAX }
#define RANGE(path, min, max)		{ AT(path), SIZE(path), 1, 0, 0, min, max, max }
#define BUILT(path, max, built)		{ AT(path), SIZE(path), 1, 0, 0, 0, max, built }
#define TYPE(path, types)		{ AT(path), SIZE(path), 1, 0, types, 0, 0, 0 }
#define ANYS(path, n, step)		{ AT(path), SIZE(path), n, step, 0, 0, UINT64_MAX, UINT64_MAX }
#define RANGES(path, n, step, min, max, built) { AT(path), SIZE(path), n, step, 0, min, max, built }
#define TYPES(path, n, types)		{ AT(path), SIZE(path), n, 1, types, 0, 0, 0 }
#define END				{ 0 }

static const struct vtpu_isa_field nop_fields[] = { END };
static const struct vtpu_isa_field value_fields[] = { ANY(ctl.value), END };
static const struct vtpu_isa_field barrier_fields[] = { RANGE(ctl.core_mask, 1, UINT64_MAX), END };

static const struct vtpu_isa_field copy_fields[] = {
	ANY(dma.src), ANY(dma.dst),
	TYPE(dma.src_type, VTPU_ISA_COPY_TYPES), TYPE(dma.dst_type, VTPU_ISA_COPY_TYPES),
	RANGE(dma.ndim, 1, 5),
	BUILT(dma.mode, VTPU_DMA_ADD | VTPU_DMA_CLAMP, 0),
	RANGES(dma.count[0], 5, 4, 1, VTPU_MAX_DIM, VTPU_MAX_DIM),
	ANYS(dma.src_stride[0], 5, 4), ANYS(dma.dst_stride[0], 5, 4),
	ANYS(dma.pad_before[0], 4, 1), ANYS(dma.pad_after[0], 4, 1),
	END
};

static const struct vtpu_isa_field fill_fields[] = {
	ANY(dma.dst),
	TYPE(dma.dst_type, VTPU_ISA_COPY_TYPES),
	RANGE(dma.ndim, 1, 5),
	RANGES(dma.count[0], 5, 4, 1, VTPU_MAX_DIM, VTPU_MAX_DIM),
	ANYS(dma.dst_stride[0], 5, 4),
	ANY(dma.imm),
	END
};

static const struct vtpu_isa_field matmul_fields[] = {
	ANY(mxu.a), ANY(mxu.b), ANY(mxu.c), ANY(mxu.d),
	TYPE(mxu.a_type, VTPU_ISA_FLOATS), TYPE(mxu.b_type, VTPU_ISA_FLOATS), TYPE(mxu.d_type, VTPU_ISA_FLOATS),
	BUILT(mxu.passes, 6, 0),
	RANGE(mxu.m, 1, VTPU_MAX_DIM), RANGE(mxu.n, 1, VTPU_MAX_DIM), RANGE(mxu.k, 1, VTPU_MAX_DIM),
	RANGE(mxu.g, 1, UINT16_MAX),
	RANGE(mxu.mode, 0, VTPU_MXU_MODE),
	ANY(mxu.lda), ANY(mxu.ldb), ANY(mxu.ldc), ANY(mxu.ldd),
	ANY(mxu.a_gstride), ANY(mxu.b_gstride),
	RANGES(mxu.epi_op[0], 4, 1, 0, VTPU_EPI_OPS - 1, VTPU_EPI_SILU),
	ANYS(mxu.epi_arg[0], 4, 4),
	END
};

static const struct vtpu_isa_field ew_fields[] = {
	RANGE(ew.nin, 0, 4), RANGE(ew.nout, 1, 2), RANGE(ew.nops, 0, 8),
	RANGE(ew.rows, 1, VTPU_MAX_DIM), RANGE(ew.cols, 1, VTPU_MAX_DIM),
	ANYS(ew.in[0].addr, 4, 8), ANYS(ew.in[0].pitch, 4, 8),
	TYPES(ew.in_type[0], 4, VTPU_ISA_EW_TYPES | 1),
	RANGES(ew.in_bcast[0], 4, 1, 0, VTPU_BCAST_SCALAR, VTPU_BCAST_SCALAR),
	ANYS(ew.out[0].addr, 2, 8), ANYS(ew.out[0].pitch, 2, 8),
	TYPES(ew.out_type[0], 2, VTPU_ISA_FLOATS | 1),
	RANGES(ew.op[0].op, 8, 2, 0, VTPU_EW_OPS - 1, VTPU_EW_SILU),
	ANYS(ew.op[0].args, 8, 2),
	ANYS(ew.imm[0], 2, 4),
	END
};

#define MATRIX \
	ANY(rows.in), ANY(rows.out), \
	RANGE(rows.rows, 1, VTPU_MAX_DIM), RANGE(rows.cols, 1, VTPU_MAX_DIM), \
	ANY(rows.in_pitch), ANY(rows.out_pitch), \
	TYPE(rows.in_type, VTPU_ISA_FLOATS), TYPE(rows.out_type, VTPU_ISA_FLOATS)

static const struct vtpu_isa_field reduce_fields[] = {
	MATRIX, RANGE(rows.op, VTPU_REDUCE_SUM, VTPU_REDUCE_SUMSQ), RANGE(rows.axis, 0, 1), END
};
static const struct vtpu_isa_field softmax_fields[] = { MATRIX, ANY(rows.imm[0]), END };
static const struct vtpu_isa_field transpose_fields[] = { MATRIX, END };

const struct vtpu_isa_op vtpu_isa_table[VTPU_ISA_OPS] = {
	{ VTPU_OP_NOP,		VTPU_UNIT_CTL, 0,   nop_fields },
	{ VTPU_OP_HALT,		VTPU_UNIT_CTL, 0,   value_fields },
	{ VTPU_OP_BARRIER,	VTPU_UNIT_CTL, 0,   barrier_fields },
	{ VTPU_OP_MARK,		VTPU_UNIT_CTL, 0,   value_fields },
	{ VTPU_OP_COPY,		VTPU_UNIT_DMA, 0,   copy_fields },
	{ VTPU_OP_FILL,		VTPU_UNIT_DMA, 0x1, fill_fields },
	{ VTPU_OP_MATMUL,	VTPU_UNIT_MXU, 0xf, matmul_fields },
	{ VTPU_OP_EW,		VTPU_UNIT_VPU, 0x3, ew_fields },
	{ VTPU_OP_REDUCE,	VTPU_UNIT_VPU, 0,   reduce_fields },
	{ VTPU_OP_SOFTMAX,	VTPU_UNIT_VPU, 0x1, softmax_fields },
	{ VTPU_OP_TRANSPOSE,	VTPU_UNIT_XLU, 0,   transpose_fields },
	/* Not built yet. */
	{ VTPU_OP_GATHER,	VTPU_UNIT_DMA, 0, NULL },
	{ VTPU_OP_SCATTER_ADD,	VTPU_UNIT_DMA, 0, NULL },
	{ VTPU_OP_CONV,		VTPU_UNIT_MXU, 0, NULL },
	{ VTPU_OP_CONV_DGRAD,	VTPU_UNIT_MXU, 0, NULL },
	{ VTPU_OP_CONV_WGRAD,	VTPU_UNIT_MXU, 0, NULL },
	{ VTPU_OP_ARGMAX,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_NORM,		VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_NORM_GRAD,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_SOFTMAX_XENT,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_SOFTMAX_GRAD,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_POOL,		VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_POOL_GRAD,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_CONV_DW,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_CONV_DW_DGRAD, VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_CONV_DW_WGRAD, VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_OPTIMIZE,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_RNG_FILL,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_CUMSUM,	VTPU_UNIT_VPU, 0, NULL },
	{ VTPU_OP_PERMUTE,	VTPU_UNIT_XLU, 0, NULL },
	{ VTPU_OP_SORT,		VTPU_UNIT_XLU, 0, NULL },
	{ VTPU_OP_TOPK,		VTPU_UNIT_XLU, 0, NULL },
	{ VTPU_OP_IOTA,		VTPU_UNIT_XLU, 0, NULL },
	{ VTPU_OP_SEND,		VTPU_UNIT_ICI, 0, NULL },
	{ VTPU_OP_BCAST,	VTPU_UNIT_ICI, 0, NULL },
};

/* clang-format on */

unsigned int vtpu_isa_epilogue_args(uint32_t op)
{
	switch (op) {
	case VTPU_EPI_BIAS:
	case VTPU_EPI_SCALE:
	case VTPU_EPI_RESIDUAL:
	case VTPU_EPI_SCALE_IMM:
	case VTPU_EPI_LEAKY_RELU:
		return 1;
	case VTPU_EPI_CLAMP:
		return 2;
	default:
		return 0;
	}
}

bool vtpu_isa_ew_unary(uint32_t op)
{
	return op == VTPU_EW_MOV || (op >= VTPU_EW_NEG && op <= VTPU_EW_SILU);
}
