// SPDX-License-Identifier: MIT
/*
 * programs_conv.c - known-answer programs of convolutions and their gradients.
 */
#include "programs.h"
#include "steps.h"

static struct vtpu_insn_mxu *conv(struct builder *p, uint8_t opcode, uint32_t a, uint32_t b,
				  uint32_t d, uint8_t type)
{
	struct vtpu_insn_mxu *x = &in_order(p, ib_insn(&p->b, opcode))->payload.mxu;
	const uint32_t size = ib_type_bytes(type);

	*x = (struct vtpu_insn_mxu){
		.a = a,
		.b = b,
		.d = d,
		.a_type = type,
		.b_type = type,
		.d_type = VTPU_TYPE_F32,
		.m = 5,
		.n = 64,
		.k = 32,
		.g = 1,
		.lda = (opcode == VTPU_OP_CONV_DGRAD ? 64 : 32) * size,
		.ldb = 64 * size,
		.ldd = (opcode == VTPU_OP_CONV_DGRAD ? 32 : 64) * 4,
		.in_h = 12,
		.in_w = 12,
		IB_WINDOW_3X3,
	};
	return x;
}

/* The same channels in two groups, by windows that leave nothing out */
static void crooked(struct vtpu_insn_mxu *x)
{
	x->g = 2;
	x->k = 16;
	x->n = 32;
	x->stride_h = 2;
	x->dil_w = 2;
	x->pad_top = x->pad_left = x->pad_right = 2;
	x->pad_bottom = 1;
}

/*
 * A small network's two convolutions with bias, ReLU and maximum; the maximum's gradient, which is
 * mostly zero, back through both gradients of the second, and the dense one too; then the same
 * again over an input with infinities and NaN.
 */
void *bits_convolutions(size_t *bytes)
{
	enum {
		IMAGES = 5,
		IN = IMAGES * 26 * 26,
		MID = IMAGES * 12 * 12 * 32,
		OUT = IMAGES * 5 * 5 * 64,
		FULL = IMAGES * 10 * 10 * 64,
		W1 = 9 * 32,
		W2 = 9 * 32 * 64
	};
	const uint32_t in = 0, w1 = 64 * KIB, w2 = 128 * KIB, bias = 256 * KIB, mid = 512 * KIB;
	const uint32_t out = 1024 * KIB, index1 = 1280 * KIB, index2 = 1536 * KIB, dy = 2048 * KIB;
	const uint32_t dx = 3072 * KIB, dw = 4096 * KIB;
	struct vtpu_insn_pool *pool;
	struct vtpu_insn_mxu *x;
	struct builder p;

	begin(&p, 2, VTPU_CAP_F32 | VTPU_CAP_CONV);
	ib_base(&p.b, "in", IN * 4, 16 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "odd in", IN * 4, 16 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "weights", (W1 + W2 + 96) * 4, 0, VTPU_BASE_READ);
	ib_base(&p.b, "out", 4096 * KIB, 4096 * KIB, VTPU_BASE_WRITE);
	load(&p, 2, w1, VTPU_TYPE_F32, W1);
	in_order(&p, ib_copy(&p.b, HBM(2, W1 * 4), VMEM(w2), VTPU_TYPE_F32, W2));
	in_order(&p, ib_copy(&p.b, HBM(2, (W1 + W2) * 4), VMEM(bias), VTPU_TYPE_F32, 96));
	for (uint32_t odd = 0; odd < 2; odd++) {
		const uint32_t to = odd * 2048 * KIB;

		load(&p, odd, in, VTPU_TYPE_F32, IN);
		x = conv(&p, VTPU_OP_CONV, in, w1, mid, VTPU_TYPE_F32);
		x->n = 32;
		x->k = 1;
		x->lda = 4;
		x->ldb = x->ldd = 128;
		x->in_h = x->in_w = 26;
		x->epi_op[0] = VTPU_EPI_BIAS;
		x->epi_op[1] = VTPU_EPI_RELU;
		x->epi_op[2] = VTPU_EPI_MAXPOOL;
		x->epi_arg[0] = bias;
		x->epi_arg[1] = index1;
		x->epi_arg[2] = VTPU_EPI_WINDOW(2, 2);
		x = conv(&p, VTPU_OP_CONV, mid, w2, out, VTPU_TYPE_F32);
		memcpy(x->epi_op, (uint8_t[]){ VTPU_EPI_BIAS, VTPU_EPI_RELU, VTPU_EPI_MAXPOOL }, 3);
		x->epi_arg[0] = bias + 128;
		x->epi_arg[1] = index2;
		x->epi_arg[2] = VTPU_EPI_WINDOW(2, 2);
		save(&p, out, 3, to, VTPU_TYPE_F32, OUT);
		save(&p, index2, 3, to + 64 * KIB, VTPU_TYPE_U8, OUT);

		pool = &in_order(&p, ib_insn(&p.b, VTPU_OP_POOL_GRAD))->payload.pool;
		*pool = (struct vtpu_insn_pool){
			.in = out,
			.out = dy,
			.index = index2,
			.images = IMAGES,
			.channels = 64,
			.in_h = 10,
			.in_w = 10,
			IB_MAX_2X2,
		};
		conv(&p, VTPU_OP_CONV_DGRAD, dy, w2, dx, VTPU_TYPE_F32);
		save(&p, dx, 3, to + 128 * KIB, VTPU_TYPE_F32, MID);
		conv(&p, VTPU_OP_CONV_WGRAD, mid, dy, dw, VTPU_TYPE_F32);
		save(&p, dw, 3, to + 512 * KIB, VTPU_TYPE_F32, W2);

		/* Dense, padded, strided, in groups, from start values, with an epilogue */
		x = conv(&p, VTPU_OP_CONV, mid, w2, dy, VTPU_TYPE_F32);
		crooked(x);
		x->epi_op[0] = VTPU_EPI_GELU;
		x = conv(&p, VTPU_OP_CONV_DGRAD, dy, w2, dx, VTPU_TYPE_F32);
		crooked(x);
		x->mode = VTPU_MXU_ACCUMULATE;
		x->c = dx;
		x->ldc = x->ldd;
		save(&p, dx, 3, to + 1024 * KIB, VTPU_TYPE_F32, MID);
		x = conv(&p, VTPU_OP_CONV_WGRAD, mid, dy, dw, VTPU_TYPE_F32);
		crooked(x);
		x->mode = VTPU_MXU_ACCUMULATE;
		x->c = dw;
		x->ldc = x->ldd;
		save(&p, dw, 3, to + 1536 * KIB, VTPU_TYPE_F32, W2);
	}
	_Static_assert(FULL * 4 <= 1024 * 1024, "room for a gradient");
	return end(&p, bytes);
}
