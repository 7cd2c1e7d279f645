// SPDX-License-Identifier: MIT
/*
 * test_load_conv.c - CONV, CONV_DGRAD and CONV_WGRAD that lie, and what true ones cost.
 *
 * A valid instruction of each is changed in one field; the load must refuse it with the
 * right status and a record that names the field.
 */
#include "cost.h"
#include "preset.h"
#include "program.h"
#include "tap.h"
#include "unit/image_builder.h"

#define VMEM_BYTES (16u << 20)

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;

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

struct change {
	uint8_t opcode, bytes;
	uint16_t offset, field;
	uint64_t value;
	enum vtpu_hw_status want;
	const char *name;
};

#define ANY	   0xffff
#define AT(path)   offsetof(struct vtpu_insn, path)
#define SIZE(path) sizeof(((struct vtpu_insn *)0)->path)
#define C_AT(op, path, to, st, at) \
	{ \
		VTPU_OP_##op, SIZE(path), AT(path), at, (uint64_t)(to), VTPU_ST_##st, \
			#op " " #path " = " #to \
	}
#define C(op, path, to, st) C_AT(op, path, to, st, AT(path))

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

static enum vtpu_hw_status load(uint8_t opcode, const struct change *c)
{
	struct image_builder b;
	struct vtpu_insn *insn;
	struct vtpu_load_request req = { .geometry = &geometry, .caps = VTPU_CAP_CONV };
	struct vtpu_program *program;
	void *image;

	ib_begin(&b, 1);
	insn = ib_insn(&b, opcode);
	fill(insn);
	if (c)
		memcpy((uint8_t *)insn + c->offset, &c->value, c->bytes);
	image = ib_finish(&b, &req.bytes);
	req.image = image;
	vtpu_program_load(&req, &program, &result, records);
	vtpu_program_put(program);
	free(image);
	return result.status;
}

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
		.ker_h = 3,
		.ker_w = 3,
		.stride_h = 1,
		.stride_w = 1,
		.dil_h = 1,
		.dil_w = 1,
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
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	for (size_t i = 0; i < sizeof(opcodes); i++)
		tap_is(load(opcodes[i], NULL), VTPU_ST_OK, "a valid one loads");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];
		enum vtpu_hw_status st = load(c->opcode, c);

		if (!tap_ok(st == c->want && (!st || c->field == ANY ||
					      (result.found == 1 && records[0].field == c->field)),
			    "%s", c->name))
			printf("# status %#x, found %u, field %u, have %#llx, need %#llx; want %#x, field %u\n",
			       st, result.found, records[0].field, records[0].have, records[0].need,
			       c->want, c->field);
	}
	costs();
	return tap_done();
}
