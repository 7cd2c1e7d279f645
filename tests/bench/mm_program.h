/* SPDX-License-Identifier: MIT */
/*
 * mm_program.h - tiled matrix products as programs, for measurements.
 *
 * C[m,n] = relu(A[m,k] * B[k,n] + bias), in steps of [bm,bk] x [bk,bn] that
 * stream through a ring of buffers in VMEM while results of the last block leave
 * through another. Tiles lie in HBM as they are used, one contiguous run each,
 * unless @row_major.
 */
#ifndef TESTS_BENCH_MM_PROGRAM_H
#define TESTS_BENCH_MM_PROGRAM_H

#include <stdbool.h>

#include "unit/image_builder.h"

/** struct mm - a product and how it is cut; all sizes divide evenly */
struct mm {
	uint32_t m, n, k;    /* of each core */
	uint32_t bm, bn, bk; /* of a step */
	uint32_t buffers;    /* steps in flight, 1..3 */
	uint32_t split;	     /* pieces, by rows, in which a block's result leaves */
	bool keep_a;	     /* a block of rows of A stays in VMEM for all columns of blocks */
	bool f32_out;
	bool fused;	/* epilogue in the MATMUL, not in an EW */
	bool row_major; /* HBM tensors are plain matrices */
	uint32_t width;
};

enum {
	MM_FULL = 0,
	MM_FREE = 3,
	MM_ACC = 6,
	MM_ACC_FREE,
	MM_OUT,
	MM_OUT_FREE,
	MM_BIAS
};

/** struct mm_place - VMEM addresses */
struct mm_place {
	uint32_t bias, a, a_bytes, b, b_bytes, acc, acc_bytes, out, out_bytes, end;
};

static inline struct mm_place mm_place(const struct mm *p)
{
	struct mm_place v = { 0 };

	v.a_bytes = p->bm * p->bk * 2;
	v.b_bytes = p->bk * p->bn * 2;
	v.acc_bytes = p->bm * p->bn * 4;
	v.out_bytes = p->bm * p->bn * (p->f32_out ? 4 : 2);
	v.a = v.bias + p->n * 4;
	v.b = v.a + v.a_bytes * (p->keep_a ? p->k / p->bk * (p->m > p->bm ? 2 : 1) : p->buffers);
	v.acc = v.b + v.b_bytes * p->buffers;
	v.out = v.acc + 2 * v.acc_bytes;
	v.end = v.out + 2 * v.out_bytes;
	return v;
}

/* Where a step finds its A: its slot, or its part of one of two blocks of rows */
static inline uint32_t mm_a(const struct mm *p, const struct mm_place *v, uint32_t step)
{
	uint32_t ks = p->k / p->bk, mb = step / ks / (p->n / p->bn);

	return v->a + v->a_bytes * (p->keep_a ? mb % 2 * ks + step % ks : step % p->buffers);
}

/* A bf16 tile from HBM, as one run or as rows of a matrix */
static inline struct vtpu_insn *mm_load(struct image_builder *b, const struct mm *p, uint32_t base,
					uint32_t row, uint32_t col, uint32_t rows, uint32_t cols,
					uint32_t all_cols, uint32_t to)
{
	uint64_t offset = p->row_major ? 2 * ((uint64_t)row * all_cols + col) :
					 2 * ((uint64_t)row * all_cols + (uint64_t)col * rows);
	uint64_t src = VTPU_ADDR(VTPU_SPACE_HBM, base, offset),
		 dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0, to);

	if (p->row_major)
		return ib_copy2d(b, src, dst, VTPU_TYPE_BF16, VTPU_TYPE_BF16, rows, cols,
				 2 * all_cols, 2 * cols);
	return ib_copy(b, src, dst, VTPU_TYPE_BF16, rows * cols);
}

static inline void mm_load_step(struct image_builder *b, const struct mm *p,
				const struct mm_place *v, uint32_t step)
{
	uint32_t ks = p->k / p->bk, ns = p->n / p->bn, slot = step % p->buffers;
	uint32_t kb = step % ks, nb = step / ks % ns, mb = step / ks / ns;
	struct vtpu_insn *insn;

	if (!p->keep_a || nb == 0) {
		/* The step that used this place last */
		uint32_t last = p->keep_a ? ((mb - 1) * ns - 1) * ks + kb : step - p->buffers;

		insn = mm_load(b, p, 0, mb * p->bm, kb * p->bk, p->bm, p->bk, p->k,
			       mm_a(p, v, step));
		if (p->keep_a ? mb >= 2 : step >= p->buffers)
			ib_wait(insn, MM_FREE + last % p->buffers, last / p->buffers + 1);
	}
	insn = mm_load(b, p, 1, kb * p->bk, nb * p->bn, p->bk, p->bn, p->n,
		       v->b + v->b_bytes * slot);
	if (step >= p->buffers)
		ib_wait(insn, MM_FREE + slot, step / p->buffers);
	ib_signal(insn, MM_FULL + slot, 0, 1);
}

static inline void mm_store_block(struct image_builder *b, const struct mm *p,
				  const struct mm_place *v, uint32_t block)
{
	uint32_t ns = p->n / p->bn, rows = p->bm / p->split, size = p->f32_out ? 4 : 2;
	uint8_t type = p->f32_out ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;

	for (uint32_t i = 0; i < p->split; i++) {
		uint64_t from =
			v->out + block % 2 * v->out_bytes + (uint64_t)i * rows * p->bn * size;
		uint64_t row = (uint64_t)(block / ns) * p->bm + i * rows, col = block % ns * p->bn;
		uint64_t to = p->row_major ? size * (row * p->n + col) :
					     size * ((uint64_t)block * p->bm * p->bn +
						     (uint64_t)i * rows * p->bn);
		uint64_t src = VTPU_ADDR(VTPU_SPACE_VMEM, 0, from),
			 dst = VTPU_ADDR(VTPU_SPACE_HBM, 3, to);
		struct vtpu_insn *insn = p->row_major ?
						 ib_copy2d(b, src, dst, type, type, rows, p->bn,
							   p->bn * size, p->n * size) :
						 ib_copy(b, src, dst, type, rows * p->bn);

		ib_wait(insn, MM_OUT, block * p->split + i + 1);
		ib_signal(insn, MM_OUT_FREE, 0, 1);
	}
}

/* One product of @rows rows from @row on */
static inline struct vtpu_insn *mm_product(struct image_builder *b, const struct mm *p,
					   const struct mm_place *v, uint32_t step, uint32_t row,
					   uint32_t rows)
{
	uint32_t ks = p->k / p->bk, slot = step % p->buffers, block = step / ks;
	uint32_t a = mm_a(p, v, step) + row * p->bk * 2;
	uint32_t acc = v->acc + block % 2 * v->acc_bytes + row * p->bn * 4;
	struct vtpu_insn *insn = ib_matmul(b, a, v->b + v->b_bytes * slot, acc, VTPU_TYPE_BF16,
					   VTPU_TYPE_F32, rows, p->bn, p->bk);

	if (step % ks) {
		insn->payload.mxu.mode |= VTPU_MXU_ACCUMULATE;
		insn->payload.mxu.c = acc;
		insn->payload.mxu.ldc = p->bn * 4;
	}
	return insn;
}

static inline void mm_fuse(struct vtpu_insn *insn, const struct mm *p, const struct mm_place *v,
			   uint32_t block, uint32_t row)
{
	struct vtpu_insn_mxu *x = &insn->payload.mxu;
	uint32_t size = p->f32_out ? 4 : 2;

	x->d = v->out + block % 2 * v->out_bytes + row * p->bn * size;
	x->d_type = p->f32_out ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;
	x->ldd = p->bn * size;
	x->epi_op[0] = VTPU_EPI_BIAS;
	x->epi_op[1] = VTPU_EPI_RELU;
	x->epi_arg[0] = v->bias + block % (p->n / p->bn) * p->bn * 4;
}

static inline void mm_compute_step(struct image_builder *b, const struct mm *p,
				   const struct mm_place *v, uint32_t step)
{
	uint32_t ks = p->k / p->bk, slot = step % p->buffers, block = step / ks;
	bool first = step % ks == 0, last = step % ks == ks - 1;
	uint32_t pieces = last && p->fused ? p->split : 1, rows = p->bm / pieces;

	for (uint32_t i = 0; i < pieces; i++) {
		struct vtpu_insn *insn = mm_product(b, p, v, step, i * rows, rows);

		if (i == 0)
			ib_wait(insn, MM_FULL + slot, step / p->buffers + 1);
		if (first && !p->fused && block >= 2)
			ib_wait(insn, MM_ACC_FREE, (block - 1) * p->split);
		if (last && p->fused) {
			mm_fuse(insn, p, v, block, i * rows);
			if (block >= 2)
				ib_wait(insn, MM_OUT_FREE, (block - 2) * p->split + i + 1);
			ib_signal(insn, MM_OUT, 0, 1);
		}
		if (last && !p->fused)
			ib_signal(insn, MM_ACC, 0, 1);
		if (i == pieces - 1)
			ib_signal(insn, MM_FREE + slot, 0, 1);
	}
}

static inline void mm_epilogue(struct image_builder *b, const struct mm *p,
			       const struct mm_place *v, uint32_t block)
{
	uint32_t rows = p->bm / p->split, size = p->f32_out ? 4 : 2;

	for (uint32_t i = 0; i < p->split; i++) {
		struct vtpu_insn *insn = ib_insn(b, VTPU_OP_EW);
		struct vtpu_insn_ew *x = &insn->payload.ew;

		x->nin = 2;
		x->nout = 1;
		x->nops = 2;
		x->rows = rows;
		x->cols = p->bn;
		x->in[0].addr = v->acc + block % 2 * v->acc_bytes + i * rows * p->bn * 4;
		x->in[0].pitch = p->bn * 4;
		x->in_type[0] = x->in_type[1] = VTPU_TYPE_F32;
		x->in[1].addr = v->bias + block % (p->n / p->bn) * p->bn * 4;
		x->in_bcast[1] = VTPU_BCAST_ROW;
		x->out[0].addr = v->out + block % 2 * v->out_bytes + i * rows * p->bn * size;
		x->out[0].pitch = p->bn * size;
		x->out_type[0] = p->f32_out ? VTPU_TYPE_F32 : VTPU_TYPE_BF16;
		x->op[0].op = VTPU_EW_ADD;
		x->op[0].args = VTPU_EW_ARGS(0, 0, 1);
		x->op[1].op = VTPU_EW_RELU;
		x->op[1].args = VTPU_EW_ARGS(0, 0, 0);
		ib_wait(insn, MM_ACC, block + 1);
		if (block >= 2)
			ib_wait(insn, MM_OUT_FREE, (block - 2) * p->split + i + 1);
		ib_signal(insn, MM_OUT, 0, 1);
		ib_signal(insn, MM_ACC_FREE, 0, 1);
	}
}

/** mm_image() - the program; free() it */
static inline void *mm_image(const struct mm *p, size_t *bytes)
{
	uint32_t ks = p->k / p->bk, blocks = p->m / p->bm * (p->n / p->bn), steps = blocks * ks,
		 stored = 0;
	uint64_t a = (uint64_t)p->m * p->k * 2, bb = (uint64_t)p->k * p->n * 2;
	uint64_t c = (uint64_t)p->m * p->n * (p->f32_out ? 4 : 2);
	struct mm_place v = mm_place(p);
	struct image_builder b;

	ib_begin(&b, p->width);
	b.caps = VTPU_CAP_BF16;
	ib_base(&b, "a", a, a, VTPU_BASE_READ);
	ib_base(&b, "b", bb, 0, VTPU_BASE_READ);
	ib_base(&b, "bias", p->n * 4ull, 0, VTPU_BASE_READ);
	ib_base(&b, "c", c, c, VTPU_BASE_WRITE);
	ib_copy(&b, VTPU_ADDR(VTPU_SPACE_HBM, 2, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, v.bias),
		VTPU_TYPE_F32, p->n);
	for (uint32_t step = 0; step < steps; step++) {
		mm_load_step(&b, p, &v, step);
		mm_compute_step(&b, p, &v, step);
		/* A store goes into the queue where its data will just be ready, so as not to hold up loads. */
		if (step > p->buffers && (step - p->buffers) / ks > stored)
			mm_store_block(&b, p, &v, stored++);
		if (!p->fused && step % ks == ks - 1)
			mm_epilogue(&b, p, &v, step / ks);
	}
	while (stored < blocks)
		mm_store_block(&b, p, &v, stored++);
	ib_insn(&b, VTPU_OP_HALT);
	return ib_finish(&b, bytes);
}

#endif /* TESTS_BENCH_MM_PROGRAM_H */
