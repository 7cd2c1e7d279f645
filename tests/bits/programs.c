// SPDX-License-Identifier: MIT
/*
 * programs.c - the known-answer programs, each a few instructions that wait for one another.
 *
 * Each instruction of a core waits for the one before it. Executors do not look at
 * semaphores, so they are as free as the data allows.
 */
#include "programs.h"
#include "steps.h"

uint32_t bits_input(uint32_t base, uint64_t i, bool odd)
{
	static const uint32_t special[] = { 0x00000000, 0x80000000, 0x00000001,
					    0x807fffff, 0x7f800000, 0xff800000,
					    0x7fc00000, 0x7f7fffff, 0x00800000 };
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ULL + base * 0xd1b54a32d192ed03ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	if (odd && i % 61 == 60)
		return special[z % 9];
	return (uint32_t)(z >> 63 << 31 | (120 + (z >> 40) % 8) << 23 | (z & 0x7fffff));
}

/* ---- Programs ------------------------------------------------------------- */

/* Four cores classify 64 images of bytes each: 784-128-10, ReLU, softmax. */
static void *mlp(size_t *bytes)
{
	enum {
		IMAGES = 64,
		IN = 784,
		HIDDEN = 128,
		OUT = 10
	};
	enum {
		W1 = 0,
		B1 = W1 + IN * HIDDEN * 4,
		W2 = B1 + HIDDEN * 4,
		B2 = W2 + HIDDEN * OUT * 4,
		END = B2 + OUT * 4
	};
	const uint32_t x = 512 * KIB, h = 1024 * KIB, y = 1280 * KIB;
	struct vtpu_insn_ew *ew;
	struct vtpu_insn *insn;
	struct builder p;

	begin(&p, 4, VTPU_CAP_F32);
	ib_base(&p.b, "images", IMAGES * IN, 50176, VTPU_BASE_READ);
	ib_base(&p.b, "weights", END, 0, VTPU_BASE_READ);
	ib_base(&p.b, "probabilities", IMAGES * OUT * 4, 4096, VTPU_BASE_WRITE);
	load(&p, 1, 0, VTPU_TYPE_F32, END / 4);
	in_order(&p, ib_copy2d(&p.b, HBM(0, 0), VMEM(x), VTPU_TYPE_U8, VTPU_TYPE_F32, IMAGES, IN,
			       IN, IN * 4));
	ew = &in_order(&p, ib_insn(&p.b, VTPU_OP_EW))->payload.ew;
	ew->nin = 1;
	ew->nout = 1;
	ew->nops = 1;
	ew->rows = IMAGES;
	ew->cols = IN;
	ew->in[0].addr = ew->out[0].addr = x;
	ew->in[0].pitch = ew->out[0].pitch = IN * 4;
	ew->in_type[0] = ew->out_type[0] = VTPU_TYPE_F32;
	ew->op[0].op = VTPU_EW_MUL;
	ew->op[0].args = VTPU_EW_ARGS(0, 0, VTPU_EW_IMM0);
	ew->imm[0] = 0x3b808081;
	insn = in_order(&p, ib_matmul(&p.b, x, W1, h, VTPU_TYPE_F32, VTPU_TYPE_F32, IMAGES, HIDDEN,
				      IN));
	insn->payload.mxu.epi_op[0] = VTPU_EPI_BIAS;
	insn->payload.mxu.epi_op[1] = VTPU_EPI_RELU;
	insn->payload.mxu.epi_arg[0] = B1;
	insn = in_order(&p, ib_matmul(&p.b, h, W2, y, VTPU_TYPE_F32, VTPU_TYPE_F32, IMAGES, OUT,
				      HIDDEN));
	insn->payload.mxu.epi_op[0] = VTPU_EPI_BIAS;
	insn->payload.mxu.epi_arg[0] = B2;
	rows(&p, VTPU_OP_SOFTMAX, y, y, IMAGES, OUT, VTPU_TYPE_F32, VTPU_TYPE_F32, OUT * 4)->imm[0] =
		0x3d000000;
	save(&p, y, 2, 0, VTPU_TYPE_F32, IMAGES * OUT);
	return end(&p, bytes);
}

/* One contraction of 700 in one piece and in three, with residual and GELU, to bf16. */
static void *matmul_f32(size_t *bytes)
{
	enum {
		M = 133,
		N = 205,
		K = 700
	};
	const uint32_t a = 0, b = 512 * KIB, c = 2048 * KIB, d = 2560 * KIB, r = 3072 * KIB;
	struct builder p;

	begin(&p, 2, VTPU_CAP_F32 | VTPU_CAP_BF16);
	ib_base(&p.b, "a", M * K * 4, 512 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "b", K * N * 4, 0, VTPU_BASE_READ);
	ib_base(&p.b, "odd residual bf16", M * N * 2, 0, VTPU_BASE_READ);
	ib_base(&p.b, "whole", M * N * 4, 128 * KIB, VTPU_BASE_WRITE);
	ib_base(&p.b, "pieces", M * N * 2, 128 * KIB, VTPU_BASE_WRITE);
	load(&p, 0, a, VTPU_TYPE_F32, M * K);
	load(&p, 1, b, VTPU_TYPE_F32, K * N);
	load(&p, 2, r, VTPU_TYPE_BF16, M * N);
	in_order(&p, ib_matmul(&p.b, a, b, c, VTPU_TYPE_F32, VTPU_TYPE_F32, M, N, K));
	save(&p, c, 3, 0, VTPU_TYPE_F32, M * N);
	for (uint32_t k = 0; k < K; k += 300) {
		bool last = k + 300 >= K;
		struct vtpu_insn_mxu *x =
			&in_order(&p,
				  ib_matmul(&p.b, a + k * 4, b + k * N * 4, last ? d : c,
					    VTPU_TYPE_F32, last ? VTPU_TYPE_BF16 : VTPU_TYPE_F32, M,
					    N, last ? K - k : 300))
				 ->payload.mxu;

		x->lda = K * 4;
		if (k) {
			x->mode = VTPU_MXU_ACCUMULATE;
			x->c = c;
			x->ldc = N * 4;
		}
		if (last) {
			x->epi_op[0] = VTPU_EPI_RESIDUAL;
			x->epi_op[1] = VTPU_EPI_GELU;
			x->epi_arg[0] = r;
		}
	}
	save(&p, d, 4, 0, VTPU_TYPE_BF16, M * N);
	return end(&p, bytes);
}

/* bf16, both operands transposed, five of them summed, every activation. */
static void *matmul_bf16(size_t *bytes)
{
	enum {
		M = 67,
		N = 90,
		K = 129,
		G = 5
	};
	static const uint8_t acts[] = { VTPU_EPI_SIGMOID,    VTPU_EPI_TANH,  VTPU_EPI_SILU,
					VTPU_EPI_LEAKY_RELU, VTPU_EPI_CLAMP, VTPU_EPI_SCALE };
	const uint32_t a = 0, b = 256 * KIB, s = 512 * KIB, d = 1024 * KIB;
	struct builder p;

	begin(&p, 1, VTPU_CAP_BF16);
	ib_base(&p.b, "a bf16", G * K * M * 2, 0, VTPU_BASE_READ);
	ib_base(&p.b, "b bf16", G * N * K * 2, 0, VTPU_BASE_READ);
	ib_base(&p.b, "scale", N * 4, 0, VTPU_BASE_READ);
	ib_base(&p.b, "d", 6 * M * N * 4, 0, VTPU_BASE_WRITE);
	load(&p, 0, a, VTPU_TYPE_BF16, G * K * M);
	load(&p, 1, b, VTPU_TYPE_BF16, G * N * K);
	load(&p, 2, s, VTPU_TYPE_F32, N);
	for (uint32_t i = 0; i < 6; i++) {
		struct vtpu_insn_mxu *x =
			&in_order(&p, ib_matmul(&p.b, a, b, d + i * M * N * 4, VTPU_TYPE_BF16,
						VTPU_TYPE_F32, M, N, K))
				 ->payload.mxu;

		x->g = G;
		x->mode = VTPU_MXU_TRANS_A | VTPU_MXU_TRANS_B;
		x->lda = M * 2;
		x->ldb = K * 2;
		x->a_gstride = K * M * 2;
		x->b_gstride = N * K * 2;
		x->epi_op[0] = VTPU_EPI_SCALE_IMM;
		x->epi_arg[0] = 0x3e000000;
		x->epi_op[1] = acts[i];
		x->epi_arg[1] = acts[i] == VTPU_EPI_SCALE ? s :
				acts[i] == VTPU_EPI_CLAMP ? 0xbf000000 :
							    0;
		if (acts[i] == VTPU_EPI_LEAKY_RELU)
			x->epi_arg[1] = 0x3dcccccd;
		if (acts[i] == VTPU_EPI_CLAMP)
			x->epi_arg[2] = 0x3f400000;
	}
	save(&p, d, 3, 0, VTPU_TYPE_F32, 6 * M * N);
	return end(&p, bytes);
}

/* Each micro-op once, four chains of six over awkward numbers, f32 and bf16 results. */
static void *elementwise(size_t *bytes)
{
	enum {
		ROWS = 37,
		COLS = 1112,
		COUNT = ROWS * COLS
	};
	const uint32_t in = 0, row = 256 * KIB, out = 512 * KIB;
	struct builder p;

	begin(&p, 2, VTPU_CAP_F32 | VTPU_CAP_BF16);
	ib_base(&p.b, "odd in", COUNT * 4, 256 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "odd row", COLS * 4, 0, VTPU_BASE_READ);
	ib_base(&p.b, "out", 5 * COUNT * 6, 2048 * KIB, VTPU_BASE_WRITE);
	load(&p, 0, in, VTPU_TYPE_F32, COUNT);
	load(&p, 1, row, VTPU_TYPE_F32, COLS);
	for (uint32_t i = 0; i < 5; i++) {
		struct vtpu_insn_ew *x = &in_order(&p, ib_insn(&p.b, VTPU_OP_EW))->payload.ew;

		x->nin = 2;
		x->nout = 2;
		x->nops = 6;
		x->rows = ROWS;
		x->cols = COLS;
		x->in[0].addr = in;
		x->in[0].pitch = COLS * 4;
		x->in[1].addr = row;
		x->in_type[0] = x->in_type[1] = VTPU_TYPE_F32;
		x->in_bcast[1] = VTPU_BCAST_ROW;
		x->out[0].addr = out + i * COUNT * 6;
		x->out[0].pitch = COLS * 4;
		x->out_type[0] = VTPU_TYPE_F32;
		x->out[1].addr = out + i * COUNT * 6 + COUNT * 4;
		x->out[1].pitch = COLS * 2;
		x->out_type[1] = VTPU_TYPE_BF16;
		for (uint32_t n = 0; n < 6; n++) {
			uint8_t op = VTPU_EW_MOV + (i * 5 + n) % VTPU_EW_SILU;
			bool unary = op == VTPU_EW_MOV || op >= VTPU_EW_NEG;

			/* r0 and r1 in turn, each from both. */
			x->op[n].op = op;
			x->op[n].args = VTPU_EW_ARGS(n & 1, n & 1,
						     unary  ? 0 :
						     n == 3 ? VTPU_EW_IMM0 :
							      ~n & 1);
		}
		x->imm[0] = 0x3fc00000;
	}
	save(&p, out, 2, 0, VTPU_TYPE_BF16, 5 * COUNT * 3);
	return end(&p, bytes);
}

/* Reductions both ways, softmax of long rows, transpose. */
static void *row_ops(size_t *bytes)
{
	enum {
		ROWS = 50,
		COLS = 3001,
		COUNT = ROWS * COLS
	};
	const uint32_t in = 0, half = 768 * KIB, result = 1280 * KIB, soft = 1536 * KIB,
		       turned = 2304 * KIB;
	uint32_t to = result;
	struct builder p;

	begin(&p, 2, VTPU_CAP_F32 | VTPU_CAP_BF16);
	ib_base(&p.b, "in", COUNT * 4, 1024 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "odd half bf16", COUNT * 2, 0, VTPU_BASE_READ);
	ib_base(&p.b, "reduced", 4 * (ROWS + COLS) * 4, 64 * KIB, VTPU_BASE_WRITE);
	ib_base(&p.b, "softmax", COUNT * 4, 1024 * KIB, VTPU_BASE_WRITE);
	ib_base(&p.b, "transposed", COUNT * 2, 512 * KIB, VTPU_BASE_WRITE);
	load(&p, 0, in, VTPU_TYPE_F32, COUNT);
	load(&p, 1, half, VTPU_TYPE_BF16, COUNT);
	for (uint8_t op = VTPU_REDUCE_SUM; op <= VTPU_REDUCE_SUMSQ; op++) {
		struct vtpu_insn_rows *x = rows(&p, VTPU_OP_REDUCE, in, to, ROWS, COLS,
						VTPU_TYPE_F32, VTPU_TYPE_F32, 4);

		x->op = op;
		x->axis = 1;
		to += ROWS * 4;
		x = rows(&p, VTPU_OP_REDUCE, half, to, ROWS, COLS, VTPU_TYPE_BF16, VTPU_TYPE_F32,
			 0);
		x->op = op;
		to += COLS * 4;
	}
	save(&p, result, 2, 0, VTPU_TYPE_F32, 4 * (ROWS + COLS));
	rows(&p, VTPU_OP_SOFTMAX, in, soft, ROWS, COLS, VTPU_TYPE_F32, VTPU_TYPE_F32, COLS * 4)
		->imm[0] = 0x3f000000;
	save(&p, soft, 3, 0, VTPU_TYPE_F32, COUNT);
	rows(&p, VTPU_OP_TRANSPOSE, half, turned, ROWS, COLS, VTPU_TYPE_BF16, VTPU_TYPE_BF16,
	     ROWS * 2);
	save(&p, turned, 4, 0, VTPU_TYPE_BF16, COUNT);
	return end(&p, bytes);
}

/* A padded five-dimensional box, casts each way, a fill, and a copy onto itself. */
static void *moves(size_t *bytes)
{
	const uint32_t box = 0, cast = 256 * KIB, back = 512 * KIB, filled = 768 * KIB;
	struct vtpu_insn_dma *x;
	struct builder p;

	begin(&p, 3, VTPU_CAP_F32 | VTPU_CAP_BF16);
	ib_base(&p.b, "odd in", 7 * 6 * 5 * 4 * 3 * 4, 64 * KIB, VTPU_BASE_READ);
	ib_base(&p.b, "out", 1024 * KIB, 1024 * KIB, VTPU_BASE_WRITE);
	in_order(&p, ib_insn(&p.b, VTPU_OP_FILL))->payload.dma = (struct vtpu_insn_dma){
		.dst = VMEM(0),
		.dst_type = VTPU_TYPE_S32,
		.ndim = 1,
		.count = { 256 * KIB, 1, 1, 1, 1 },
		.dst_stride = { 4 },
		.imm = 0x01020304,
	};
	x = &in_order(&p, ib_insn(&p.b, VTPU_OP_COPY))->payload.dma;
	*x = (struct vtpu_insn_dma){
		.src = HBM(0, 0),
		.dst = VMEM(box),
		.src_type = VTPU_TYPE_F32,
		.dst_type = VTPU_TYPE_F32,
		.ndim = 5,
		.count = { 7, 6, 5, 4, 3 },
		.src_stride = { 4, 28, 168, 840, 3360 },
		.dst_stride = { 4, 48, 48 * 8, 48 * 8 * 9, 48 * 8 * 9 * 5 },
		.pad_before = { 1, 2, 0, 1 },
		.pad_after = { 2, 0, 3, 0 },
	};
	in_order(&p, ib_copy2d(&p.b, HBM(0, 0), VMEM(cast), VTPU_TYPE_F32, VTPU_TYPE_BF16, 36, 70,
			       280, 150));
	in_order(&p, ib_copy2d(&p.b, VMEM(cast), VMEM(back), VTPU_TYPE_BF16, VTPU_TYPE_F32, 36, 70,
			       150, 280));
	in_order(&p, ib_copy2d(&p.b, HBM(0, 0), VMEM(back + 128 * KIB), VTPU_TYPE_U8, VTPU_TYPE_F32,
			       100, 99, 100, 400));
	in_order(&p, ib_copy2d(&p.b, HBM(0, 0), VMEM(filled), VTPU_TYPE_U8, VTPU_TYPE_BF16, 100, 99,
			       100, 200));
	in_order(&p, ib_copy(&p.b, VMEM(filled), VMEM(filled + 6), VTPU_TYPE_BF16, 5000));
	save(&p, 0, 1, 0, VTPU_TYPE_S32, 256 * KIB);
	return end(&p, bytes);
}

/* Two units and two cores' worth of them write the same places without a semaphore: the event order decides. */
static void *race(size_t *bytes)
{
	enum {
		N = 4096
	};
	struct vtpu_insn *insn;
	struct builder p;

	begin(&p, 2, VTPU_CAP_F32);
	ib_base(&p.b, "in", 3 * N * 4, 0, VTPU_BASE_READ);
	ib_base(&p.b, "out", N * 4, N * 4, VTPU_BASE_WRITE);
	ib_signal(ib_copy(&p.b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, 3 * N), 1, 0, 1);
	for (uint32_t i = 0; i < 40; i++) {
		struct vtpu_insn_ew *x;

		insn = ib_insn(&p.b, VTPU_OP_EW);
		ib_wait(insn, 1, 1);
		ib_signal(insn, 2, 0, 1);
		x = &insn->payload.ew;
		x->nin = 2;
		x->nout = 1;
		x->nops = 1;
		x->rows = 1;
		x->cols = 64 + i * 96;
		x->in[0].addr = 4 * (i * 7 % 300);
		x->in[1].addr = 8 * N;
		x->in[0].pitch = x->in[1].pitch = x->out[0].pitch = x->cols * 4;
		x->in_type[0] = x->in_type[1] = x->out_type[0] = VTPU_TYPE_F32;
		x->out[0].addr = x->in[0].addr;
		x->op[0].op = VTPU_EW_FMA;
		x->op[0].args = VTPU_EW_ARGS(0, 1, VTPU_EW_IMM0);
		x->imm[0] = 0x3f000000;
		insn = ib_copy(&p.b, VMEM(4 * N + 4 * (i * 31 % 512)), VMEM(4 * (i * 53 % 2048)),
			       VTPU_TYPE_F32, 100 + i * 40);
		ib_wait(insn, 1, 1);
		ib_signal(insn, 2, 0, 1);
	}
	insn = ib_copy(&p.b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, N);
	ib_wait(insn, 2, 80);
	return end(&p, bytes);
}

const struct bits_program bits_programs[] = {
	{ "mlp", mlp, false, 0x42c4d3eb4defa4a9 },
	{ "matmul-f32", matmul_f32, false, 0x03bb0c903af055f5 },
	{ "matmul-bf16", matmul_bf16, false, 0x7f0403b0726454be },
	{ "elementwise", elementwise, false, 0x7820bc6969ea5028 },
	{ "rows", row_ops, false, 0xe4cd00e5e23abf3b },
	{ "moves", moves, false, 0x9ebb604b1ec78e7f },
	{ "race", race, true, 0x7d9cd4aa5b6bf68a },
	{ "conv", bits_convolutions, false, 0x5002192ad92ef3cd },
	{ "training", bits_training, false, 0x4646566c9e73d97a },
	{ "all-reduce", bits_all_reduce, false, 0x1495fcfcec1d2601 },
	{ "send-race", bits_send_race, true, 0xc411c56a998ae441 },
};

const size_t bits_count = sizeof(bits_programs) / sizeof(bits_programs[0]);
