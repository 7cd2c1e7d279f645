// SPDX-License-Identifier: MIT
/*
 * test_load_conv.c - CONV, CONV_DGRAD and CONV_WGRAD that lie, and what true ones cost.
 *
 * A valid instruction of each is changed in one field; the load must refuse it with the
 * right status and a record that names the field.
 */
#include "cost.h"
#include "unit/load_case.h"

/* 2 images of 9 x 8 x 12, two groups of 6 to 5 channels, 3 x 2 taps; out 4 x 9. */
static void fill(struct vtpu_insn *insn)
{
	struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const bool forward = insn->opcode == VTPU_OP_CONV,
		   back = insn->opcode == VTPU_OP_CONV_DGRAD;

	*x = (struct vtpu_insn_mxu){
		.a = 0,
		.b = 65536,
		.c = 131072,
		.d = 196608,
		.a_type = VTPU_TYPE_F32,
		.b_type = VTPU_TYPE_F32,
		.d_type = VTPU_TYPE_F32,
		.m = 2,
		.n = 5,
		.k = 6,
		.g = 2,
		.mode = VTPU_MXU_ACCUMULATE,
		.lda = back ? 40 : 48,
		.ldb = 40,
		.ldc = back ? 48 : 40,
		.ldd = back ? 48 : 40,
		.in_h = 9,
		.in_w = 8,
		.ker_h = 3,
		.ker_w = 2,
		.stride_h = 2,
		.stride_w = 1,
		.pad_top = 1,
		.pad_left = 2,
		.pad_bottom = 1,
		.pad_right = 1,
		.dil_h = 2,
		.dil_w = 2,
		.epi_op = { VTPU_EPI_BIAS, VTPU_EPI_RELU, forward ? VTPU_EPI_MAXPOOL : 0 },
		.epi_arg = { 262144, forward ? 270000 : 0, forward ? VTPU_EPI_WINDOW(2, 3) : 0 },
	};
}

/* clang-format off */
static const struct change changes[] = {
	C(CONV, payload.mxu.a, 2, BAD_INSN),
	C(CONV, payload.mxu.a, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C(CONV, payload.mxu.b, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C(CONV, payload.mxu.c, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C(CONV, payload.mxu.d, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C(CONV, payload.mxu.d, 0, BAD_INSN),
	C(CONV, payload.mxu.d, 65536, BAD_INSN),
	C(CONV, payload.mxu.d, 131072, BAD_INSN),
	C(CONV, payload.mxu.a_type, VTPU_TYPE_S32, BAD_INSN),
	C(CONV, payload.mxu.b_type, VTPU_TYPE_U8, BAD_INSN),
	C(CONV, payload.mxu.d_type, 0, BAD_INSN),
	C(CONV, payload.mxu.m, 0, BAD_INSN),
	C(CONV, payload.mxu.m, 1u << 28, BAD_INSN),
	C(CONV, payload.mxu.n, 0, BAD_INSN),
	C(CONV, payload.mxu.k, 0, BAD_INSN),
	C(CONV, payload.mxu.g, 0, BAD_INSN),
	C_AT(CONV, payload.mxu.k, 7, BAD_INSN, AT(payload.mxu.lda)),
	C_AT(CONV, payload.mxu.n, 6, BAD_INSN, AT(payload.mxu.ldb)),
	C_AT(CONV, payload.mxu.g, 3, BAD_INSN, AT(payload.mxu.lda)),
	C_AT(CONV, payload.mxu.k, 1u << 28, BAD_INSN, AT(payload.mxu.g)),
	C(CONV, payload.mxu.lda, 44, BAD_INSN),
	C(CONV, payload.mxu.lda, 50, BAD_INSN),
	C(CONV, payload.mxu.ldb, 36, BAD_INSN),
	C(CONV, payload.mxu.ldc, 36, BAD_INSN),
	C(CONV, payload.mxu.ldd, 36, BAD_INSN),
	C(CONV, payload.mxu.a_gstride, 4, BAD_INSN),
	C(CONV, payload.mxu.b_gstride, 4, BAD_INSN),
	C(CONV, payload.mxu.in_h, 0, BAD_INSN),
	C(CONV, payload.mxu.in_w, 0, BAD_INSN),
	C_AT(CONV, payload.mxu.in_h, 2, BAD_INSN, AT(payload.mxu.ker_h)),
	C(CONV, payload.mxu.ker_h, 0, BAD_INSN),
	C(CONV, payload.mxu.ker_h, 7, BAD_INSN),
	C(CONV, payload.mxu.ker_w, 0, BAD_INSN),
	C(CONV, payload.mxu.ker_w, 7, BAD_INSN),
	C(CONV, payload.mxu.stride_h, 0, BAD_INSN),
	C(CONV, payload.mxu.stride_w, 0, BAD_INSN),
	C(CONV, payload.mxu.dil_h, 0, BAD_INSN),
	C(CONV, payload.mxu.dil_w, 0, BAD_INSN),
	C_AT(CONV, payload.mxu.dil_h, 6, BAD_INSN, AT(payload.mxu.ker_h)),
	C(CONV, payload.mxu.lhs_dil_h, 1, BAD_INSN),
	C(CONV, payload.mxu.lhs_dil_w, 2, BAD_INSN),
	C(CONV, payload.mxu.mode, VTPU_MXU_ACCUMULATE | VTPU_MXU_TRANS_A, BAD_INSN),
	C(CONV, payload.mxu.mode, VTPU_MXU_ACCUMULATE | VTPU_MXU_TRANS_B, BAD_INSN),
	C(CONV, payload.mxu.mode, VTPU_MXU_ACCUMULATE | VTPU_MXU_SPLIT_M, OK),
	C_AT(CONV, payload.mxu.mode, 0, BAD_INSN, AT(payload.mxu.c)),
	C(CONV, payload.mxu.passes, 1, UNSUPPORTED),
	C(CONV, payload.mxu.epi_op[0], VTPU_EPI_RESIDUAL, BAD_INSN),
	C_AT(CONV, payload.mxu.epi_op[3], VTPU_EPI_RELU, BAD_INSN, AT(payload.mxu.epi_op[2])),
	C(CONV, payload.mxu.epi_op[2], VTPU_EPI_STORE, UNSUPPORTED),
	C(CONV, payload.mxu.epi_op[2], VTPU_EPI_OPS, BAD_INSN),
	C(CONV, payload.mxu.epi_arg[0], VMEM_BYTES - 4, OUT_OF_BOUNDS),
	C(CONV, payload.mxu.epi_arg[1], VMEM_BYTES - 4, OUT_OF_BOUNDS),
	C_AT(CONV, payload.mxu.epi_arg[1], 196608, BAD_INSN, ANY),
	C(CONV, payload.mxu.epi_arg[1], 262144, BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], 0, BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(2, 0), BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(0, 2), BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(5, 1), BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(4, 9), OK),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(1, 10), BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(16, 16), BAD_INSN),
	C(CONV, payload.mxu.epi_arg[2], VTPU_EPI_WINDOW(2, 2) | 1u << 16, BAD_INSN),
	C(CONV, payload.mxu.epi_arg[3], 1, BAD_INSN),
	C(CONV, flags, VTPU_INSN_ARG_SMEM(0), BAD_INSN),
	C(CONV, flags, VTPU_INSN_ARG_SMEM(1), BAD_INSN),
	C(CONV, flags, VTPU_INSN_ARG_SMEM(2), BAD_INSN),

	C(CONV_DGRAD, payload.mxu.lda, 36, BAD_INSN),
	C(CONV_DGRAD, payload.mxu.ldd, 44, BAD_INSN),
	C(CONV_DGRAD, payload.mxu.d, 131072, OK),
	C(CONV_DGRAD, payload.mxu.d, 131076, BAD_INSN),
	C(CONV_DGRAD, payload.mxu.epi_op[1], VTPU_EPI_RESIDUAL, OK),
	C_AT(CONV_DGRAD, payload.mxu.epi_op[1], VTPU_EPI_MAXPOOL, BAD_INSN, ANY),
	C_AT(CONV_DGRAD, payload.mxu.epi_arg[0], VMEM_BYTES - 44, OUT_OF_BOUNDS, AT(payload.mxu.epi_arg[0])),

	C(CONV_WGRAD, payload.mxu.lda, 44, BAD_INSN),
	C(CONV_WGRAD, payload.mxu.ldb, 36, BAD_INSN),
	C(CONV_WGRAD, payload.mxu.ldd, 36, BAD_INSN),
	C(CONV_WGRAD, payload.mxu.d, 131072, OK),
	C(CONV_WGRAD, payload.mxu.d, 65536, BAD_INSN),
	C(CONV_WGRAD, payload.mxu.d, VMEM_BYTES - 3 * 2 * 6 * 40, OK),
	C(CONV_WGRAD, payload.mxu.d, VMEM_BYTES - 3 * 2 * 6 * 40 + 4, OUT_OF_BOUNDS),
	C_AT(CONV_WGRAD, payload.mxu.epi_op[1], VTPU_EPI_MAXPOOL, BAD_INSN, ANY),
};
/* clang-format on */

/* ---- Cost ------------------------------------------------------------------ */

static struct vtpu_cost cost(uint8_t opcode, uint32_t pool)
{
	struct vtpu_insn insn = { .opcode = opcode, .unit = VTPU_UNIT_MXU };

	/* The second layer of the reference network, 128 images */
	insn.payload.mxu = (struct vtpu_insn_mxu){
		.a_type = VTPU_TYPE_F32,
		.b_type = VTPU_TYPE_F32,
		.d_type = VTPU_TYPE_F32,
		.m = 128,
		.n = 64,
		.k = 32,
		.g = 1,
		.in_h = 13,
		.in_w = 13,
		IB_WINDOW_3X3,
	};
	if (pool) {
		insn.payload.mxu.epi_op[0] = VTPU_EPI_MAXPOOL;
		insn.payload.mxu.epi_arg[1] = pool;
	}
	return vtpu_cost_insn(&geometry, &insn, 1);
}

static void costs(void)
{
	/* v3: f32 takes 6 passes; 288 products are 3 tiles of 128; 64 columns are one tile of an array */
	tap_is(cost(VTPU_OP_CONV, 0).busy, 6 * 3 * 128 * 11 * 11, "conv: taps side by side");
	tap_is(cost(VTPU_OP_CONV, VTPU_EPI_WINDOW(2, 2)).busy, 6 * 3 * 128 * 10 * 10,
	       "conv: MAXPOOL crops what is computed");
	tap_is(cost(VTPU_OP_CONV, VTPU_EPI_WINDOW(2, 2)).macs, 128ULL * 100 * 288 * 64,
	       "conv: its multiply-adds");
	/* 576 products are 5 tiles */
	tap_is(cost(VTPU_OP_CONV_DGRAD, 0).busy, 6 * 5 * 128 * 13 * 13,
	       "conv_dgrad: every pixel of the input, all taps");
	/* 288 rows; 128 * 121 products are 121 tiles */
	tap_is(cost(VTPU_OP_CONV_WGRAD, 0).busy, 6 * 121 * 288,
	       "conv_wgrad: pixels are contracted");
}

int main(void)
{
	static const uint8_t opcodes[] = { VTPU_OP_CONV, VTPU_OP_CONV_DGRAD, VTPU_OP_CONV_WGRAD };

	load_cases(opcodes, sizeof(opcodes), changes, sizeof(changes) / sizeof(changes[0]), 1,
		   VTPU_CAP_CONV);
	costs();
	return tap_done();
}
