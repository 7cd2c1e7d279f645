// SPDX-License-Identifier: MIT
/*
 * programs_train.c - known-answer programs with instructions for training, and of several cores.
 */
#include "programs.h"
#include "steps.h"

/* ---- One core's instructions ------------------------------------------------- */

static struct vtpu_insn_pool *pool(struct builder *p, uint8_t opcode, uint32_t in, uint32_t out,
				   uint32_t index)
{
	struct vtpu_insn_pool *x = &in_order(p, ib_insn(&p->b, opcode))->payload.pool;

	*x = (struct vtpu_insn_pool){
		.in = in,
		.out = out,
		.index = index,
		.images = 3,
		.channels = 37,
		.in_h = 9,
		.in_w = 11,
		IB_MAX_2X2,
	};
	return x;
}

/*
 * Both pools and their gradients over awkward numbers, windows that touch and that overlap; labels by
 * arg-max, cross-entropy of long and of short rows; each optimiser; random numbers.
 */
void *bits_training(size_t *bytes)
{
	enum {
		IMAGES = 3 * 9 * 11 * 37,
		ROWS = 33,
		CLASSES = 1500,
		PARAMS = 40000
	};
	const uint32_t in = 0, out = 512 * KIB, index = 768 * KIB, grad = 1024 * KIB;
	const uint32_t logits = 1536 * KIB, labels = 1792 * KIB, loss = 1800 * KIB,
		       dlogits = 1856 * KIB;
	const uint32_t param = 2560 * KIB, step = 256 * KIB, noise = 4096 * KIB;
	struct vtpu_insn_pool *x;
	struct vtpu_insn_xent *xent;
	struct builder p;

	begin(&p, 2, VTPU_CAP_F32 | VTPU_CAP_CONV);
	ib_base(&p.b, "odd in", IMAGES * 4, 512 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "logits", ROWS * CLASSES * 4, 256 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "odd state", 4 * PARAMS * 4, 0, VTPU_BASE_READ);
	ib_base(&p.b, "out", 8192 * KIB, 8192 * KIB, VTPU_BASE_WRITE);
	load(&p, 0, in, VTPU_TYPE_F32, IMAGES);
	load(&p, 1, logits, VTPU_TYPE_F32, ROWS * CLASSES);
	for (uint32_t i = 0; i < 4; i++)
		load(&p, 2, param + i * step, VTPU_TYPE_F32, PARAMS);

	pool(&p, VTPU_OP_POOL, in, out, index);
	pool(&p, VTPU_OP_POOL_GRAD, out, grad, index);
	save(&p, grad, 3, 0, VTPU_TYPE_F32, IMAGES);
	x = pool(&p, VTPU_OP_POOL, in, out, index);
	x->ker_h = 3;
	x->stride_w = 1;
	x->pad_top = x->pad_bottom = x->pad_left = 1;
	x = pool(&p, VTPU_OP_POOL_GRAD, out, grad, index);
	x->ker_h = 3;
	x->stride_w = 1;
	x->pad_top = x->pad_bottom = x->pad_left = 1;
	save(&p, grad, 3, 512 * KIB, VTPU_TYPE_F32, IMAGES);
	x = pool(&p, VTPU_OP_POOL, in, out, 0);
	x->op = VTPU_POOL_AVERAGE;
	x->mode = 0;
	x->ker_h = x->ker_w = 3;
	x = pool(&p, VTPU_OP_POOL_GRAD, out, grad, 0);
	x->op = VTPU_POOL_AVERAGE;
	x->mode = 0;
	x->ker_h = x->ker_w = 3;
	save(&p, grad, 3, 1024 * KIB, VTPU_TYPE_F32, IMAGES);

	rows(&p, VTPU_OP_ARGMAX, logits, labels, ROWS, 10, VTPU_TYPE_F32, VTPU_TYPE_S32, 4);
	for (uint32_t i = 0; i < 2; i++) {
		xent = &in_order(&p, ib_insn(&p.b, VTPU_OP_SOFTMAX_XENT))->payload.xent;
		*xent = (struct vtpu_insn_xent){
			.in = logits,
			.labels = labels,
			.loss = loss,
			.grad = i ? logits : dlogits,
			.rows = ROWS,
			.cols = i ? CLASSES : 10,
			.in_pitch = CLASSES * 4,
			.grad_pitch = CLASSES * 4,
			.in_type = VTPU_TYPE_F32,
			.grad_type = VTPU_TYPE_F32,
			.label_type = VTPU_TYPE_S32,
			.mode = VTPU_XENT_LOSS | VTPU_XENT_GRAD,
			.imm = { 0x3c000000, 0 },
		};
		save(&p, loss, 3, 1536 * KIB + i * KIB, VTPU_TYPE_F32, ROWS * 2);
	}
	save(&p, logits, 3, 1600 * KIB, VTPU_TYPE_F32, ROWS * CLASSES);
	in_order(&p, ib_copy2d(&p.b, VMEM(dlogits), HBM(3, 2000 * KIB), VTPU_TYPE_F32,
			       VTPU_TYPE_F32, ROWS, 10, CLASSES * 4, 40));

	for (uint8_t kind = VTPU_OPT_SGD; kind <= VTPU_OPT_ADAM; kind++) {
		const bool adam = kind == VTPU_OPT_ADAM, sgd = kind == VTPU_OPT_SGD;

		in_order(&p, ib_insn(&p.b, VTPU_OP_OPTIMIZE))->payload.opt = (struct vtpu_insn_opt){
			.param = param,
			.grad = param + step,
			.m = sgd ? 0 : param + 2 * step,
			.v = adam ? param + 3 * step : 0,
			.count = PARAMS,
			.kind = kind,
			.imm = { 0x3c23d70a, 0x3f000000, adam ? 0x40000000 : 0,
				 adam ? 0x41200000 : 0 },
			.beta1 = sgd ? 0 : 0x3f666666,
			.beta2 = adam ? 0x3f7fbe77 : 0,
			.epsilon = adam ? 0x322bcc77 : 0,
			.decay = 0x3a83126f,
		};
		for (uint32_t i = 0; i < 4; i++)
			save(&p, param + i * step, 3, (2048 + 640 * (kind - 1) + 160 * i) * KIB,
			     VTPU_TYPE_F32, PARAMS);
	}
	in_order(&p, ib_insn(&p.b, VTPU_OP_RNG_FILL))->payload.rng = (struct vtpu_insn_rng){
		.out = noise,
		.rows = 70,
		.cols = 301,
		.out_pitch = 1204,
		.out_type = VTPU_TYPE_F32,
		.kind = VTPU_RNG_UNIFORM,
		.imm = { 1, 2, 3 },
		.index = 0xfffffffffULL,
		.core_step = 70 * 301,
		.row_step = 301,
	};
	save(&p, noise, 3, 5 * 1024 * KIB, VTPU_TYPE_F32, 70 * 301);
	return end(&p, bytes);
}

/* ---- Several cores -------------------------------------------------------------- */

enum {
	WIDTH = 8,
	PIECE = 1003, /* elements of the array that each core adds up */
	ALL = WIDTH * PIECE
};

/* Piece by piece to, and from, every core: d further on, d = 0 included */
static void to_all(struct builder *p, uint32_t src, int32_t src_step, uint32_t dst, uint8_t arrived)
{
	for (uint32_t d = 0; d < WIDTH; d++) {
		struct vtpu_insn *insn = in_order(p, ib_insn(&p->b, VTPU_OP_SEND));

		ib_signal(insn, arrived, (uint8_t)d, 1);
		insn->payload.dma = (struct vtpu_insn_dma){
			.src = VMEM(src),
			.dst = VMEM(dst),
			.src_type = VTPU_TYPE_F32,
			.dst_type = VTPU_TYPE_F32,
			.ndim = 1,
			.count = { PIECE, 1, 1, 1, 1 },
			.src_stride = { 4, 0, 0, 0, src_step },
			.dst_stride = { 4, 0, 0, 0, PIECE * 4 },
			.core = (uint16_t)d,
		};
	}
}

/*
 * Eight cores add their arrays up: each gets its piece of all of them, adds in the order of the
 * cores, and sends the sum to all.
 */
void *bits_all_reduce(size_t *bytes)
{
	enum {
		DEALT = 200,
		GATHERED = 201
	};
	const uint32_t array = 0, inbox = 64 * KIB, sum = 128 * KIB, result = 192 * KIB;
	struct builder p;

	begin(&p, WIDTH, VTPU_CAP_ICI);
	ib_base(&p.b, "odd in", ALL * 4, 64 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "out", ALL * 4, 64 * KIB, VTPU_BASE_WRITE);
	load(&p, 0, array, VTPU_TYPE_F32, ALL);
	to_all(&p, array, PIECE * 4, inbox, DEALT);
	for (uint32_t core = 1; core < WIDTH; core++) {
		struct vtpu_insn *insn = in_order(&p, ib_insn(&p.b, VTPU_OP_EW));
		struct vtpu_insn_ew *x = &insn->payload.ew;

		if (core == 1)
			ib_wait(insn, DEALT, WIDTH);
		x->nin = 2;
		x->nout = x->nops = 1;
		x->rows = 1;
		x->cols = PIECE;
		x->in[0].addr = core == 1 ? inbox : sum;
		x->in[1].addr = inbox + core * PIECE * 4;
		x->out[0].addr = sum;
		x->in[0].pitch = x->in[1].pitch = x->out[0].pitch = PIECE * 4;
		x->in_type[0] = x->in_type[1] = x->out_type[0] = VTPU_TYPE_F32;
		x->op[0].op = VTPU_EW_ADD;
		x->op[0].args = VTPU_EW_ARGS(0, 0, 1);
	}
	to_all(&p, sum, 0, result, GATHERED);
	save(&p, result, 1, 0, VTPU_TYPE_F32, ALL);
	ib_wait(&p.b.queue[VTPU_UNIT_DMA].insn[p.b.queue[VTPU_UNIT_DMA].count - 1], GATHERED,
		WIDTH);
	return end(&p, bytes);
}

/* Sends to the same places, while the receiver works on them: the event order decides. */
void *bits_send_race(size_t *bytes)
{
	enum {
		N = 2048
	};
	struct builder p;

	begin(&p, 4, VTPU_CAP_ICI);
	ib_base(&p.b, "in", N * 4, N * 4, VTPU_BASE_READ);
	ib_base(&p.b, "out", N * 4, N * 4, VTPU_BASE_WRITE);
	ib_signal(ib_copy(&p.b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, N), 1, 0, 1);
	for (uint32_t i = 0; i < 48; i++) {
		struct vtpu_insn *insn = ib_insn(&p.b, VTPU_OP_SEND);
		struct vtpu_insn_ew *x;

		ib_wait(insn, 1, 1);
		ib_signal(insn, 2, 0, 1);
		insn->payload.dma = (struct vtpu_insn_dma){
			.src = VMEM(4 * (i * 29 % 700)),
			.dst = VMEM(4 * (i * 53 % 800)),
			.src_type = VTPU_TYPE_F32,
			.dst_type = VTPU_TYPE_F32,
			.ndim = 2,
			.count = { 20 + i, 5, 1, 1, 1 },
			.src_stride = { 4, 4 * 80, 0, 0, 4 * (i % 40) },
			.dst_stride = { 4, 4 * 70, 0, 0, 4 * (i % 70) },
			.core = i % 4,
		};
		insn = ib_insn(&p.b, VTPU_OP_EW);
		ib_wait(insn, 1, 1);
		ib_signal(insn, 2, 0, 1);
		x = &insn->payload.ew;
		x->nin = x->nout = x->nops = 1;
		x->rows = 1;
		x->cols = 100 + i * 31;
		x->in[0].addr = x->out[0].addr = 4 * (i * 7 % 300);
		x->in[0].pitch = x->out[0].pitch = x->cols * 4;
		x->in_type[0] = x->out_type[0] = VTPU_TYPE_F32;
		x->op[0].op = VTPU_EW_FMA;
		x->op[0].args = VTPU_EW_ARGS(0, 0, VTPU_EW_IMM0);
		x->imm[0] = 0x3f000000;
	}
	ib_wait(ib_copy(&p.b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, N), 2, 96);
	return end(&p, bytes);
}
