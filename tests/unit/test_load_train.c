// SPDX-License-Identifier: MIT
/*
 * test_load_train.c - POOL, ARGMAX, SOFTMAX_XENT, OPTIMIZE, RNG_FILL and SEND that lie.
 *
 * A valid instruction of each is changed in one field; the load must refuse it with the
 * right status and a record that names the field.
 */
#include "unit/load_case.h"

#define VMEM(at) VTPU_ADDR(VTPU_SPACE_VMEM, 0, at)
#define WIDTH	 4

static void fill(struct vtpu_insn *insn)
{
	switch (insn->opcode) {
	case VTPU_OP_POOL:
	case VTPU_OP_POOL_GRAD:
		insn->payload.pool = (struct vtpu_insn_pool){
			.in = 0,
			.out = 65536,
			.index = 131072,
			.images = 2,
			.channels = 8,
			.in_h = 6,
			.in_w = 7,
			.ker_h = 3,
			.ker_w = 2,
			.stride_h = 2,
			.stride_w = 2,
			.pad_top = 1,
			.pad_left = 1,
			.type = VTPU_TYPE_F32,
			.op = VTPU_POOL_MAX,
			.mode = VTPU_POOL_INDEX,
		};
		break;
	case VTPU_OP_ARGMAX:
		insn->payload.rows = (struct vtpu_insn_rows){
			.out = 65536,
			.rows = 8,
			.cols = 10,
			.in_pitch = 40,
			.out_pitch = 4,
			.in_type = VTPU_TYPE_F32,
			.out_type = VTPU_TYPE_S32,
		};
		break;
	case VTPU_OP_SOFTMAX_XENT:
		insn->payload.xent = (struct vtpu_insn_xent){
			.labels = 65536,
			.weights = 70000,
			.loss = 80000,
			.grad = 90000,
			.rows = 8,
			.cols = 10,
			.in_pitch = 40,
			.grad_pitch = 40,
			.in_type = VTPU_TYPE_F32,
			.grad_type = VTPU_TYPE_F32,
			.label_type = VTPU_TYPE_U8,
			.mode = VTPU_XENT_MODE,
		};
		break;
	case VTPU_OP_OPTIMIZE:
		insn->payload.opt = (struct vtpu_insn_opt){
			.param = 0,
			.grad = 65536,
			.m = 131072,
			.v = 196608,
			.count = 1000,
			.kind = VTPU_OPT_ADAM,
			.beta1 = 0x3f666666,
			.beta2 = 0x3f7fbe77,
			.epsilon = 0x322bcc77,
			.imm = { 0, 0, 0x3f800000, 0x3f800000 },
		};
		break;
	case VTPU_OP_RNG_FILL:
		insn->payload.rng = (struct vtpu_insn_rng){
			.rows = 8,
			.cols = 10,
			.out_pitch = 40,
			.out_type = VTPU_TYPE_F32,
			.kind = VTPU_RNG_UNIFORM,
		};
		break;
	default:
		insn->payload.dma = (struct vtpu_insn_dma){
			.src = VMEM(0),
			.dst = VMEM(65536),
			.src_type = VTPU_TYPE_F32,
			.dst_type = VTPU_TYPE_F32,
			.ndim = 2,
			.count = { 16, 4, 1, 1, 1 },
			.src_stride = { 4, 64, 0, 0, 256 },
			.dst_stride = { 4, 64, 0, 0, 256 },
			.core = 1,
		};
		break;
	}
}

/* clang-format off */
static const struct change changes[] = {
	C(POOL, payload.pool.in, 2, BAD_INSN),
	C(POOL, payload.pool.in, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C(POOL, payload.pool.out, 64, BAD_INSN),
	C(POOL, payload.pool.out, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C(POOL, payload.pool.index, VMEM_BYTES - 64, OUT_OF_BOUNDS),
	C_AT(POOL, payload.pool.index, 65536, BAD_INSN, ANY),
	C(POOL, payload.pool.images, 0, BAD_INSN),
	C(POOL, payload.pool.images, 1u << 28, BAD_INSN),
	C(POOL, payload.pool.channels, 0, BAD_INSN),
	C_AT(POOL, payload.pool.channels, 1u << 28, BAD_INSN, AT(payload.pool.images)),
	C(POOL, payload.pool.in_h, 0, BAD_INSN),
	C(POOL, payload.pool.in_h, 1, BAD_INSN),
	C(POOL, payload.pool.in_w, 0, BAD_INSN),
	C(POOL, payload.pool.ker_h, 0, BAD_INSN),
	C_AT(POOL, payload.pool.ker_h, 255, BAD_INSN, AT(payload.pool.ker_w)),
	C_AT(POOL, payload.pool.ker_h, 9, BAD_INSN, AT(payload.pool.in_h)),
	C(POOL, payload.pool.ker_w, 0, BAD_INSN),
	C(POOL, payload.pool.stride_h, 0, BAD_INSN),
	C(POOL, payload.pool.stride_w, 0, BAD_INSN),
	C(POOL, payload.pool.pad_top, 3, BAD_INSN),
	C(POOL, payload.pool.pad_bottom, 3, BAD_INSN),
	C(POOL, payload.pool.pad_left, 2, BAD_INSN),
	C(POOL, payload.pool.pad_right, 2, BAD_INSN),
	C(POOL, payload.pool.type, VTPU_TYPE_U8, BAD_INSN),
	C(POOL, payload.pool.op, 0, BAD_INSN),
	C(POOL, payload.pool.op, 3, BAD_INSN),
	C_AT(POOL, payload.pool.op, VTPU_POOL_AVERAGE, BAD_INSN, AT(payload.pool.mode)),
	C(POOL, payload.pool.mode, 2, BAD_INSN),
	C_AT(POOL, payload.pool.mode, 0, BAD_INSN, AT(payload.pool.index)),
	C(POOL, payload.pool.rsvd[0], 1, BAD_INSN),
	C(POOL, flags, VTPU_INSN_ARG_SMEM(0), BAD_INSN),
	C(POOL_GRAD, payload.pool.mode, 0, BAD_INSN),
	C(POOL_GRAD, payload.pool.out, 0, BAD_INSN),
	C_AT(POOL_GRAD, payload.pool.index, 65536, BAD_INSN, AT(payload.pool.out)),
	C_AT(POOL_GRAD, payload.pool.op, VTPU_POOL_AVERAGE, BAD_INSN, AT(payload.pool.mode)),

	C(ARGMAX, payload.rows.in_pitch, 36, BAD_INSN),
	C(ARGMAX, payload.rows.out_pitch, 2, BAD_INSN),
	C(ARGMAX, payload.rows.out_pitch, 0, BAD_INSN),
	C(ARGMAX, payload.rows.out_type, VTPU_TYPE_F32, BAD_INSN),
	C(ARGMAX, payload.rows.in_type, VTPU_TYPE_S32, BAD_INSN),
	C(ARGMAX, payload.rows.out, 16, BAD_INSN),
	C(ARGMAX, payload.rows.out, VMEM_BYTES - 16, OUT_OF_BOUNDS),
	C(ARGMAX, payload.rows.op, 1, BAD_INSN),
	C(ARGMAX, payload.rows.aux, 4, BAD_INSN),
	C(ARGMAX, payload.rows.imm[0], 1, BAD_INSN),

	C(SOFTMAX_XENT, payload.xent.mode, 0, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.mode, VTPU_XENT_WEIGHTS, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.mode, 8, BAD_INSN),
	C_AT(SOFTMAX_XENT, payload.xent.mode, VTPU_XENT_LOSS | VTPU_XENT_WEIGHTS, BAD_INSN, AT(payload.xent.grad)),
	C_AT(SOFTMAX_XENT, payload.xent.mode, VTPU_XENT_GRAD | VTPU_XENT_WEIGHTS, BAD_INSN, AT(payload.xent.loss)),
	C_AT(SOFTMAX_XENT, payload.xent.mode, VTPU_XENT_GRAD | VTPU_XENT_LOSS, BAD_INSN, AT(payload.xent.weights)),
	C(SOFTMAX_XENT, payload.xent.in, VMEM_BYTES - 40, OUT_OF_BOUNDS),
	C(SOFTMAX_XENT, payload.xent.labels, VMEM_BYTES - 4, OUT_OF_BOUNDS),
	C(SOFTMAX_XENT, payload.xent.weights, 70002, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.loss, VMEM_BYTES - 32, OUT_OF_BOUNDS),
	C(SOFTMAX_XENT, payload.xent.loss, 40, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.grad, 4, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.grad, 0, OK),
	C_AT(SOFTMAX_XENT, payload.xent.grad, 79996, BAD_INSN, ANY),
	C(SOFTMAX_XENT, payload.xent.in_pitch, 36, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.grad_pitch, 38, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.grad_type, 0, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.grad_type, VTPU_TYPE_U8, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.label_type, VTPU_TYPE_F32, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.imm[1], 1, BAD_INSN),
	C(SOFTMAX_XENT, payload.xent.pad, 1, BAD_INSN),
	C(SOFTMAX_XENT, flags, VTPU_INSN_ARG_SMEM(0), OK),
	C(SOFTMAX_XENT, flags, VTPU_INSN_ARG_SMEM(1), BAD_INSN),

	C(OPTIMIZE, payload.opt.count, 0, BAD_INSN),
	C_AT(OPTIMIZE, payload.opt.count, 1u << 28, OUT_OF_BOUNDS, AT(payload.opt.grad)),
	C(OPTIMIZE, payload.opt.kind, 0, BAD_INSN),
	C(OPTIMIZE, payload.opt.kind, 5, BAD_INSN),
	C_AT(OPTIMIZE, payload.opt.kind, VTPU_OPT_SGD, BAD_INSN, AT(payload.opt.m)),
	C_AT(OPTIMIZE, payload.opt.kind, VTPU_OPT_MOMENTUM, BAD_INSN, AT(payload.opt.v)),
	C(OPTIMIZE, payload.opt.param, 2, BAD_INSN),
	C(OPTIMIZE, payload.opt.param, 65536, BAD_INSN),
	C_AT(OPTIMIZE, payload.opt.m, 4, BAD_INSN, ANY),
	C_AT(OPTIMIZE, payload.opt.m, 0, BAD_INSN, ANY),
	C_AT(OPTIMIZE, payload.opt.v, 131072, BAD_INSN, ANY),
	C_AT(OPTIMIZE, payload.opt.grad, 131072, BAD_INSN, ANY),
	C(OPTIMIZE, payload.opt.pad[1], 1, BAD_INSN),
	C(OPTIMIZE, flags, VTPU_INSN_ARG_SMEM(0) | VTPU_INSN_ARG_SMEM(1), OK),

	C(RNG_FILL, payload.rng.out, 2, BAD_INSN),
	C(RNG_FILL, payload.rng.out, VMEM_BYTES - 40, OUT_OF_BOUNDS),
	C(RNG_FILL, payload.rng.out_pitch, 36, BAD_INSN),
	C(RNG_FILL, payload.rng.out_type, VTPU_TYPE_BF16, BAD_INSN),
	C(RNG_FILL, payload.rng.kind, 2, BAD_INSN),
	C(RNG_FILL, payload.rng.pad, 1, BAD_INSN),
	C(RNG_FILL, flags, VTPU_INSN_ARG_SMEM(2), OK),
	C(RNG_FILL, flags, VTPU_INSN_ARG_SMEM(3), BAD_INSN),

	C(SEND, payload.dma.core, WIDTH, BAD_INSN),
	C(SEND, payload.dma.core, 0, OK),
	C(SEND, payload.dma.src, VTPU_ADDR(VTPU_SPACE_SMEM, 0, 0), BAD_INSN),
	C(SEND, payload.dma.dst, VTPU_ADDR(VTPU_SPACE_HBM, 0, 0), BAD_INSN),
	C(SEND, payload.dma.dst, VMEM(65538), BAD_INSN),
	C(SEND, payload.dma.dst_type, VTPU_TYPE_S32, BAD_INSN),
	C(SEND, payload.dma.ndim, 5, BAD_INSN),
	C(SEND, payload.dma.count[4], 2, BAD_INSN),
	C(SEND, payload.dma.count[2], 2, BAD_INSN),
	C(SEND, payload.dma.src_stride[2], 4, BAD_INSN),
	C(SEND, payload.dma.src_stride[4], -256, BAD_INSN),
	C(SEND, payload.dma.dst_stride[4], 2, BAD_INSN),
	C(SEND, payload.dma.src, VMEM(VMEM_BYTES - 256 * WIDTH), OK),
	C(SEND, payload.dma.src, VMEM(VMEM_BYTES - 256 * WIDTH + 4), OUT_OF_BOUNDS),
	C(SEND, payload.dma.dst, VMEM(VMEM_BYTES - 256 * WIDTH), OK),
	C(SEND, payload.dma.dst, VMEM(VMEM_BYTES - 256 * WIDTH + 4), OUT_OF_BOUNDS),
	C_AT(SEND, payload.dma.dst_stride[4], 1 << 28, OUT_OF_BOUNDS, AT(payload.dma.dst)),
	C(SEND, payload.dma.pad_before[0], 1, BAD_INSN),
	C(SEND, payload.dma.mode, VTPU_DMA_ADD, BAD_INSN),
	C(SEND, payload.dma.imm, 1, BAD_INSN),
};
/* clang-format on */

int main(void)
{
	static const uint8_t opcodes[] = { VTPU_OP_POOL,     VTPU_OP_POOL_GRAD,
					   VTPU_OP_ARGMAX,   VTPU_OP_SOFTMAX_XENT,
					   VTPU_OP_OPTIMIZE, VTPU_OP_RNG_FILL,
					   VTPU_OP_SEND };

	load_cases(opcodes, sizeof(opcodes), changes, sizeof(changes) / sizeof(changes[0]), WIDTH,
		   VTPU_CAP_CONV | VTPU_CAP_ICI);
	return tap_done();
}
