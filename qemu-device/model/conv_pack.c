// SPDX-License-Identifier: MIT
/*
 * conv_pack.c - operands of CONV and CONV_DGRAD where the kernel wants them.
 */
#include "conv_gather.h"
#include "transpose.h"

/* ---- Weights --------------------------------------------------------------- */

static const uint8_t *weight(const struct vtpu_gather *p, size_t tap, size_t row, size_t col)
{
	return vtpu_op_vmem(p->op, p->x->b) + (tap * p->x->k + row) * p->x->ldb +
	       col * vtpu_type_bytes(p->x->b_type);
}

static void widen(const struct vtpu_gather *p, float *dst, const uint8_t *src, size_t n,
		  unsigned int type)
{
	if (type == VTPU_TYPE_F32)
		memcpy(dst, src, n * sizeof(float));
	else
		p->k->widen(dst, src, n, type);
}

/* Forward: a row of weights is a row of each panel. */
static void pack_rows(const struct vtpu_gather *p)
{
	const size_t nr = p->k->nr, depth = (size_t)p->h.taps * p->w.taps * p->ins;
	const size_t whole = p->cols / nr * nr;

	for (size_t row = 0; row < depth && !vtpu_op_cancelled(p->op); row++) {
		const uint8_t *src = weight(p, 0, row, (size_t)p->group * p->outs + p->col);
		const float *line = (const float *)src;
		float *dst = p->panels + row * nr;

		if (p->x->b_type != VTPU_TYPE_F32) {
			p->k->widen(vtpu_reg(p->s, 0), src, p->cols, p->x->b_type);
			line = vtpu_reg(p->s, 0);
		}
		for (size_t j = 0; j < whole; j += nr, dst += depth * nr) {
			for (size_t v = 0; v < nr; v += 4)
				memcpy(dst + v, line + j + v, 4 * sizeof(float));
		}
		if (whole < p->cols) {
			memcpy(dst, line + whole, (p->cols - whole) * sizeof(float));
			memset(dst + p->cols - whole, 0, (nr - (p->cols - whole)) * sizeof(float));
		}
	}
}

/* Backward: taps in reverse, and each tap's matrix transposed. */
static void pack_transposed(const struct vtpu_gather *p)
{
	const size_t nr = p->k->nr, taps = (size_t)p->h.taps * p->w.taps, depth = taps * p->ins;

	for (size_t tap = 0; tap < taps && !vtpu_op_cancelled(p->op); tap++) {
		for (size_t j = 0; j < p->cols; j += nr) {
			size_t cols = p->cols - j < nr ? p->cols - j : nr;
			float *dst = p->panels + j * depth + tap * p->ins * nr;

			for (size_t c = 0, n; c < p->ins; c += n) {
				const uint8_t *src = weight(p, taps - 1 - tap, p->col + j,
							    (size_t)p->group * p->ins + c);
				const float *line = (const float *)src;
				size_t pitch = p->x->ldb / sizeof(float);

				n = p->ins - c < VTPU_BLOCK / 32 ? p->ins - c : VTPU_BLOCK / 32;
				if (p->x->b_type != VTPU_TYPE_F32) {
					pitch = VTPU_BLOCK / 32;
					for (size_t i = 0; i < cols; i++)
						p->k->widen(vtpu_reg(p->s, 0) + i * pitch,
							    src + i * p->x->ldb, n, p->x->b_type);
					line = vtpu_reg(p->s, 0);
				}
				if (cols < nr)
					memset(dst + c * nr, 0, n * nr * sizeof(float));
				vtpu_transpose(dst + c * nr, nr, line, pitch, cols, n);
			}
		}
	}
}

_Static_assert(VTPU_GEMM_MAX_NR *(VTPU_BLOCK / 32) <= VTPU_BLOCK, "widened weights of a panel");

void vtpu_gather_pack(const struct vtpu_gather *p)
{
	if (p->plain)
		return;
	if (p->back)
		pack_transposed(p);
	else
		pack_rows(p);
}

/* ---- Source ---------------------------------------------------------------- */

uint64_t vtpu_gather_source_rows(const struct vtpu_gather *p, uint64_t rows)
{
	uint64_t span =
		((rows - 1) * p->h.stride + (p->h.taps - 1) * (uint64_t)p->h.dil) / p->h.lhs + 1;

	return span < p->h.source ? span : p->h.source;
}

/* Rows [*first, *end) of the source that rows of the result may meet */
static void source_rows(const struct vtpu_gather *p, const struct vtpu_gather_block *b,
			uint32_t *first, uint32_t *end)
{
	int64_t low = (int64_t)b->row * p->h.stride - p->h.pad;
	int64_t high = (int64_t)(b->row_end - 1) * p->h.stride - p->h.pad +
		       (int64_t)(p->h.taps - 1) * p->h.dil;

	*first = low > 0 ? (uint32_t)((low + p->h.lhs - 1) / p->h.lhs) : 0;
	*end = high < 0 ? 0 : (uint32_t)(high / p->h.lhs) + 1;
	if (*end > p->h.source)
		*end = p->h.source;
	if (*first > *end)
		*first = *end;
}

void vtpu_gather_source(const struct vtpu_gather *p, struct vtpu_gather_block *b)
{
	const struct vtpu_insn_mxu *x = p->x;
	const uint8_t *src =
		vtpu_op_vmem(p->op, x->a) + (size_t)p->group * p->ins * vtpu_type_bytes(x->a_type);
	float *dst = p->s->b + VTPU_CONV_ROOM;
	uint32_t first, end;

	if (x->a_type == VTPU_TYPE_F32) {
		b->source_row = 0;
		b->rows = p->h.source;
		b->pitch = x->lda / sizeof(float);
		b->source = (const float *)(src + b->image * p->h.source * p->w.source * x->lda);
		return;
	}
	source_rows(p, b, &first, &end);
	b->source = dst;
	b->source_row = first;
	b->rows = end - first;
	b->pitch = p->ins;
	if (p->plain)
		return;
	for (uint64_t image = b->image; image < b->image + b->images; image++) {
		size_t pixel = (image * p->h.source + first) * p->w.source;
		size_t pixels = (size_t)b->rows * p->w.source;

		if (x->lda == p->ins * vtpu_type_bytes(x->a_type)) {
			widen(p, dst, src + pixel * x->lda, pixels * p->ins, x->a_type);
			dst += pixels * p->ins;
			continue;
		}
		for (size_t i = 0; i < pixels && !vtpu_op_cancelled(p->op); i++, dst += p->ins)
			widen(p, dst, src + (pixel + i) * x->lda, p->ins, x->a_type);
	}
}
