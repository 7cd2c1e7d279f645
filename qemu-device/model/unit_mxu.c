// SPDX-License-Identifier: MIT
/*
 * unit_mxu.c - MATMUL: parts, blocks, packing and accumulators.
 *
 * The contraction is one index over all batch elements, cut into blocks; the
 * chain of an output goes on from block to block through an f32 accumulator,
 * which is exact, so no cut shows in the bits. The inner loops are the
 * kernels', what happens to finished chains is in epilogue.c.
 */
#include "epilogue.h"
#include "transpose.h"
#include "unit.h"

/* Below this many multiply-adds a part is not worth handing over. */
#define PART_MACS (1ULL << 22)
/* A lone thread still takes a breath, for other runs, after about this many. */
#define TURN_MACS (1ULL << 29)
/* With so few rows, packing B would cost more than strided reads do; likewise columns and A. */
#define DIRECT_ROWS 32
#define DIRECT_COLS 32

/** struct part - a rectangle of the result, and how its operands lie in memory */
struct part {
	const struct vtpu_op *op;
	const struct vtpu_insn_mxu *x;
	const struct vtpu_kernels *k;
	struct vtpu_scratch *s;
	struct vtpu_epilogue epi;
	uint32_t row, row_end;
	uint32_t col, col_end;
	uint64_t depth; /* contracted elements of all batch elements */
	bool in_place;	/* accumulators live in the result */
};

/* ---- Cutting ------------------------------------------------------------- */

uint32_t vtpu_mxu_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	uint64_t macs = (uint64_t)x->m * x->n * x->k * x->g;
	uint64_t most = threads > 1 ? macs / threads / 2 : TURN_MACS;
	uint32_t parts = 1;

	most = most < PART_MACS ? PART_MACS : min_u64(most, TURN_MACS);
	while (macs / parts > most && parts < VTPU_MAX_PARTS)
		parts *= 2;
	return parts;
}

/* Where unit-aligned piece @i of @n begins. */
static uint32_t cut(uint32_t total, uint32_t unit, uint32_t i, uint32_t n)
{
	return min_u64(total, vtpu_split((total + (uint64_t)unit - 1) / unit, i, n) * unit);
}

/* @parts is a power of two: halve the longer side until there are that many rectangles. */
static void cut_part(struct part *p, uint32_t part, uint32_t parts)
{
	const struct vtpu_insn_mxu *x = p->x;
	uint32_t down = 1, across = 1;

	while (down * across < parts) {
		if (x->m / down >= x->n / across)
			down *= 2;
		else
			across *= 2;
	}
	p->row = cut(x->m, p->k->mr, part / across, down);
	p->row_end = cut(x->m, p->k->mr, part / across + 1, down);
	p->col = cut(x->n, p->k->nr, part % across, across);
	p->col_end = cut(x->n, p->k->nr, part % across + 1, across);
}

/* ---- Packing ------------------------------------------------------------- */

/* Element (@row, @col) of batch element @g of a matrix at @addr. */
static const uint8_t *element(const struct part *p, uint32_t addr, int32_t gstride, uint32_t pitch,
			      unsigned int type, uint64_t g, uint64_t row, uint64_t col)
{
	int64_t offset =
		(int64_t)g * gstride + (int64_t)(row * pitch + col * vtpu_type_bytes(type));

	return vtpu_op_vmem(p->op, addr) + offset;
}

static const uint8_t *element_a(const struct part *p, uint64_t row, uint64_t kk)
{
	const struct vtpu_insn_mxu *x = p->x;
	uint64_t g = kk / x->k, k = kk % x->k;

	if (x->mode & VTPU_MXU_TRANS_A)
		return element(p, x->a, x->a_gstride, x->lda, x->a_type, g, k, row);
	return element(p, x->a, x->a_gstride, x->lda, x->a_type, g, row, k);
}

static const uint8_t *element_b(const struct part *p, uint64_t kk, uint64_t col)
{
	const struct vtpu_insn_mxu *x = p->x;
	uint64_t g = kk / x->k, k = kk % x->k;

	if (x->mode & VTPU_MXU_TRANS_B)
		return element(p, x->b, x->b_gstride, x->ldb, x->b_type, g, col, k);
	return element(p, x->b, x->b_gstride, x->ldb, x->b_type, g, k, col);
}

static float element_f32(const uint8_t *src, unsigned int type)
{
	uint16_t h;
	float f;

	if (type == VTPU_TYPE_BF16) {
		memcpy(&h, src, sizeof(h));
		return vtpu_bf16_to_f32(h);
	}
	memcpy(&f, src, sizeof(f));
	return f;
}

static void copy_row(const struct part *p, float *dst, const uint8_t *src, size_t n,
		     unsigned int type)
{
	if (type == VTPU_TYPE_F32)
		memcpy(dst, src, n * sizeof(float));
	else
		p->k->widen(dst, src, n, type);
}

/* dst[c * dst_pitch + r] = src[r][c], in strips of rows that fit a cache line of the result. */
static void transpose(float *dst, size_t dst_pitch, const uint8_t *src, size_t pitch, size_t rows,
		      size_t cols, unsigned int type)
{
	size_t size = vtpu_type_bytes(type);

	if (type == VTPU_TYPE_F32) {
		vtpu_transpose(dst, dst_pitch, (const float *)src, pitch / sizeof(float), rows,
			       cols);
		return;
	}
	for (size_t r0 = 0; r0 < rows; r0 += 16) {
		size_t r1 = min_u64(rows, r0 + 16);

		for (size_t c = 0; c < cols; c++) {
			for (size_t r = r0; r < r1; r++)
				dst[c * dst_pitch + r] =
					element_f32(src + r * pitch + c * size, type);
		}
	}
}

/* Rows [row, row + rows) and contracted elements [kk, kk + depth) of A into scratch. */
static void pack_a(const struct part *p, uint64_t row, size_t rows, uint64_t kk, size_t depth)
{
	const struct vtpu_insn_mxu *x = p->x;

	for (size_t done = 0, n; done < depth; done += n) {
		n = min_u64(depth - done, x->k - (kk + done) % x->k);
		if (x->mode & VTPU_MXU_TRANS_A) {
			transpose(p->s->a + done, VTPU_GEMM_PITCH, element_a(p, row, kk + done),
				  x->lda, n, rows, x->a_type);
			continue;
		}
		for (size_t i = 0; i < rows; i++)
			copy_row(p, p->s->a + i * VTPU_GEMM_PITCH + done,
				 element_a(p, row + i, kk + done), n, x->a_type);
	}
}

/* Columns of one row of B into row @t of each panel. */
static void spread_row(const struct part *p, const float *src, size_t cols, size_t t, size_t panel)
{
	const size_t nr = p->k->nr;
	float *dst = p->s->b + t * nr;
	size_t j = 0;

	for (; j + nr <= cols; j += nr, dst += panel) {
		for (size_t v = 0; v < nr; v += 4)
			memcpy(dst + v, src + j + v, 4 * sizeof(float));
	}
	if (j < cols) {
		memcpy(dst, src + j, (cols - j) * sizeof(float));
		memset(dst + cols - j, 0, (nr - (cols - j)) * sizeof(float));
	}
}

/* Contracted elements [kk, kk + depth) and columns [col, col + cols) of B into panels in scratch. */
static void pack_b(const struct part *p, uint64_t kk, size_t depth, uint64_t col, size_t cols)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t nr = p->k->nr, panel = depth * nr;

	if (!(x->mode & VTPU_MXU_TRANS_B)) {
		for (size_t t = 0; t < depth && !vtpu_op_cancelled(p->op); t++) {
			const uint8_t *src = element_b(p, kk + t, col);
			float *row = vtpu_reg(p->s, 0);

			if (x->b_type == VTPU_TYPE_F32)
				row = (float *)src;
			else
				p->k->widen(row, src, cols, x->b_type);
			spread_row(p, row, cols, t, panel);
		}
		return;
	}
	for (size_t j = 0; j < cols && !vtpu_op_cancelled(p->op); j += nr) {
		float *dst = p->s->b + j / nr * panel;

		if (cols - j < nr)
			memset(dst, 0, panel * sizeof(float));
		for (size_t done = 0, n; done < depth; done += n) {
			n = min_u64(depth - done, x->k - (kk + done) % x->k);
			transpose(dst + done * nr, nr, element_b(p, kk + done, col + j), x->ldb,
				  min_u64(nr, cols - j), n, x->b_type);
		}
	}
}

/* ---- Blocks -------------------------------------------------------------- */

/* Whether rows of A can be read where they lie: f32, not transposed, in one batch element. */
static bool direct_a(const struct part *p, uint64_t kk, size_t depth)
{
	const struct vtpu_insn_mxu *x = p->x;

	if (x->a_type != VTPU_TYPE_F32 || x->mode & VTPU_MXU_TRANS_A || kk % x->k + depth > x->k)
		return false;
	/* Rows at a distance of whole pages would all fall into the same few sets of L1. */
	return x->lda % 4096 || p->col_end - p->col <= DIRECT_COLS;
}

/* Whether it pays to read panels of B where they lie: few rows, and no batch element ends in a block. */
static bool direct_b(const struct part *p)
{
	const struct vtpu_insn_mxu *x = p->x;

	return p->row_end - p->row <= DIRECT_ROWS && x->b_type == VTPU_TYPE_F32 &&
	       !(x->mode & VTPU_MXU_TRANS_B) && (x->g == 1 || x->k % p->k->kc == 0);
}

/** struct tile - accumulators of rows [row, row + rows) and columns [col, col + cols), where they live */
struct tile {
	uint32_t row, rows;
	uint32_t col, cols;
	float *acc;
	size_t pitch;
};

/* Contracted elements [kk, kk + depth) of a tile; @b is that row of the first panel. */
static void block(const struct part *p, const struct tile *t, uint64_t kk, size_t depth,
		  const float *b, size_t b_pitch, size_t b_panel)
{
	const struct vtpu_insn_mxu *x = p->x;
	struct vtpu_gemm g = {
		.b = b,
		.b_pitch = b_pitch,
		.b_panel = b_panel,
		.c = t->acc,
		.c_pitch = t->pitch,
		.d = t->acc,
		.d_pitch = t->pitch,
		.m = t->rows,
		.n = t->cols,
		.k = depth,
		.start = kk || x->mode & VTPU_MXU_ACCUMULATE,
		.last = kk + depth == p->depth,
		.cancel = &p->op->run->cancel,
	};

	if (direct_a(p, kk, depth)) {
		g.a = (const float *)element_a(p, t->row, kk);
		g.a_pitch = x->lda / sizeof(float);
	} else {
		pack_a(p, t->row, t->rows, kk, depth);
		g.a = p->s->a;
		g.a_pitch = VTPU_GEMM_PITCH;
	}
	if (!kk && g.start) {
		g.c = (const float *)(vtpu_op_vmem(p->op, x->c) + (size_t)t->row * x->ldc) + t->col;
		g.c_pitch = x->ldc / sizeof(float);
	}
	p->k->gemm(&g);
}

/* Contracted elements [kk, end) of a tile, B where it lies or packed for all of them. */
static void tile_depth(const struct part *p, const struct tile *t, uint64_t kk, uint64_t end,
		       bool packed)
{
	const size_t nr = p->k->nr;
	const uint64_t from = kk;
	size_t n;

	for (; kk < end && !vtpu_op_cancelled(p->op); kk += n) {
		n = min_u64(p->k->kc, end - kk);
		if (packed)
			block(p, t, kk, n, p->s->b + (kk - from) * nr, nr, (end - from) * nr);
		else
			block(p, t, kk, n, (const float *)element_b(p, kk, t->col),
			      p->x->ldb / sizeof(float), nr);
	}
}

/* All rows of the part, of some columns and some of the contraction. */
static void rows_of(const struct part *p, uint32_t row, uint32_t end, uint32_t col, uint32_t cols,
		    uint64_t kk, uint64_t kk_end, bool packed)
{
	const struct vtpu_insn_mxu *x = p->x;

	for (uint32_t i = row; i < end && !vtpu_op_cancelled(p->op); i += VTPU_MXU_MC) {
		struct tile t = {
			.row = i,
			.rows = min_u64(VTPU_MXU_MC, end - i),
			.col = col,
			.cols = cols,
		};

		if (p->in_place) {
			t.acc = (float *)(vtpu_op_vmem(p->op, x->d) + (size_t)i * x->ldd) + col;
			t.pitch = x->ldd / sizeof(float);
		} else {
			/* Accumulators of several tiles must wait only if the depth comes in several goes. */
			t.acc = p->s->acc +
				(p->depth > VTPU_MXU_DEPTH ? (size_t)(i - row) * VTPU_MXU_NC : 0);
			t.pitch = VTPU_MXU_NC;
		}
		tile_depth(p, &t, kk, kk_end, packed);
		if (kk_end == p->depth)
			vtpu_epilogue_run(&p->epi, t.acc, t.pitch, i, t.rows, col, cols);
	}
}

/* Columns [col, col + cols), at most VTPU_MXU_NC, of rows [row, end). */
static void columns(const struct part *p, uint32_t row, uint32_t end, uint32_t col, uint32_t cols)
{
	for (uint64_t kk = 0; kk < p->depth && !vtpu_op_cancelled(p->op); kk += VTPU_MXU_DEPTH) {
		uint64_t kk_end = min_u64(p->depth, kk + VTPU_MXU_DEPTH);

		pack_b(p, kk, kk_end - kk, col, cols);
		rows_of(p, row, end, col, cols, kk, kk_end, true);
	}
}

void vtpu_mxu_matmul(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		     struct vtpu_scratch *s)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	struct part p = {
		.op = op,
		.x = x,
		.k = op->run->kernels,
		.s = s,
		.depth = (uint64_t)x->k * x->g,
	};
	uint32_t most_rows = UINT32_MAX;

	cut_part(&p, part, parts);
	vtpu_epilogue_init(&p.epi, op, s, x->n);
	p.in_place = x->d_type == VTPU_TYPE_F32 && !p.epi.reads_result;
	if (!p.in_place && p.depth > VTPU_MXU_DEPTH)
		most_rows = VTPU_MXU_PM;

	for (uint64_t col = p.col; col < p.col_end; col += VTPU_MXU_NC) {
		uint32_t cols = min_u64(VTPU_MXU_NC, p.col_end - col);
		uint32_t whole = direct_b(&p) ? cols / p.k->nr * p.k->nr : 0;

		if (whole)
			rows_of(&p, p.row, p.row_end, col, whole, 0, p.depth, false);
		if (whole == cols)
			continue;
		for (uint64_t row = p.row; row < p.row_end; row += most_rows)
			columns(&p, row, min_u64(p.row_end, row + most_rows), col + whole,
				cols - whole);
	}
}
