// SPDX-License-Identifier: MIT
/*
 * conv_sparse.c - CONV_DGRAD by what is not zero alone.
 *
 * After a maximum over windows, at most a quarter of the output's gradient is not
 * zero. A product with zero changes no chain when the weight is finite, but for the
 * sign of a zero, and that is taken away when chains end. So each element that is not
 * zero adds its multiple of a row of weights to the pixels of its window.
 *
 * Of a pixel's windows, those of the last tap row come first: with taps descending
 * outermost, and all else ascending, chains grow in their order.
 */
#include "conv_gather.h"

/* Skipping pays up to about this share of non-zero elements, in percent. */
#define MOST_DENSITY 40
/* Images that tell for all. */
#define SAMPLE 4

size_t vtpu_gather_sparse_line(const struct vtpu_gather *p)
{
	return ((size_t)p->x->in_w + p->x->pad_left + p->x->pad_right) * p->outs;
}

static size_t mask_words(const struct vtpu_gather *p)
{
	return (p->ins + 63) / 64;
}

uint32_t vtpu_gather_sparse_images(const struct vtpu_gather *p, uint32_t rows)
{
	size_t masks = (size_t)p->h.source * p->w.source * mask_words(p);
	size_t acc = rows * vtpu_gather_sparse_line(p), most = VTPU_CONV_L2 / acc;

	if (acc > VTPU_GATHER_SPARSE || masks > VTPU_GATHER_WORDS)
		return 0;
	if (most > VTPU_GATHER_WORDS / masks)
		most = VTPU_GATHER_WORDS / masks;
	return most ? (uint32_t)most : 1;
}

/* Row of weights of tap row @y and channel @c of the gradient: taps of the row, and channels */
static float *weights(const struct vtpu_gather *p, size_t y, size_t c)
{
	return p->panels + (y * p->ins + c) * p->w.taps * p->outs;
}

static bool pack(const struct vtpu_gather *p)
{
	const struct vtpu_insn_mxu *x = p->x;
	float *const row = vtpu_reg(p->s, 0);

	for (size_t tap = 0; tap < (size_t)p->h.taps * p->w.taps; tap++) {
		float *dst = weights(p, tap / p->w.taps, 0) + tap % p->w.taps * p->outs;

		for (size_t i = 0; i < p->outs; i += 4) {
			const uint8_t *src = vtpu_op_vmem(p->op, x->b) + (tap * x->k + i) * x->ldb +
					     (size_t)p->group * p->ins * vtpu_type_bytes(x->b_type);

			for (size_t n = 0; n < 4; n++)
				p->k->widen(row + n * p->ins, src + n * x->ldb, p->ins, x->b_type);
			for (size_t c = 0; c < p->ins; c++) {
				float *to = dst + c * p->w.taps * p->outs + i;

				to[0] = row[c];
				to[1] = row[p->ins + c];
				to[2] = row[2 * p->ins + c];
				to[3] = row[3 * p->ins + c];
			}
		}
	}
	return p->k->finite(p->panels, (size_t)p->h.taps * p->w.taps * p->ins * p->outs);
}

/* Non-zero elements of @pixels pixels; their masks, if @mask is not NULL */
static size_t scan(const struct vtpu_gather *p, const float *src, size_t pitch, size_t pixels,
		   uint64_t *mask)
{
	uint64_t none[VTPU_BLOCK / 64];
	size_t found = 0;

	for (size_t i = 0; i < pixels; i++, src += pitch) {
		found += p->k->nonzero(mask ? mask : none, src, p->ins);
		mask = mask ? mask + mask_words(p) : NULL;
	}
	return found;
}

bool vtpu_gather_sparse_pack(const struct vtpu_gather *p, uint64_t image, uint64_t end)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t pixels = (size_t)p->h.source * p->w.source;
	struct vtpu_gather_block b = { .image = image };

	if (p->op->run->dense || x->a_type != VTPU_TYPE_F32 || x->dil_w != 1 ||
	    p->cols != p->outs || p->outs % 4 || p->w.taps * p->outs % p->k->vw ||
	    p->ins > VTPU_BLOCK / 4 || !vtpu_gather_sparse_images(p, p->h.positions) ||
	    p->outs < p->k->vw)
		return false;
	if (end > image + SAMPLE)
		end = image + SAMPLE;
	vtpu_gather_source(p, &b);
	if (scan(p, b.source, b.pitch, (end - image) * pixels, NULL) * 100 >
	    (end - image) * pixels * p->ins * MOST_DENSITY)
		return false;
	return pack(p);
}

/* Start values, with room for what falls into the padding */
static void start(const struct vtpu_gather *p, const struct vtpu_gather_block *b, float *acc)
{
	const size_t line = vtpu_gather_sparse_line(p), rows = b->row_end - b->row;

	memset(acc, 0, b->images * rows * line * sizeof(float));
	if (!(p->x->mode & VTPU_MXU_ACCUMULATE))
		return;
	for (size_t i = 0; i < b->images * rows; i++) {
		for (uint32_t col = 0; col < p->w.positions; col++)
			memcpy(acc + i * line + ((size_t)p->x->pad_left + col) * p->outs,
			       vtpu_gather_c(p,
					     vtpu_gather_pixel(p, b->image + i / rows,
							       b->row + (uint32_t)(i % rows), col)),
			       p->outs * sizeof(float));
	}
}

float *vtpu_gather_sparse(const struct vtpu_gather *p, const struct vtpu_gather_block *b)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t line = vtpu_gather_sparse_line(p), width = (size_t)p->w.taps * p->outs;
	const size_t words = mask_words(p), across = p->w.source, pixels = p->h.source * across;
	uint32_t *off = (uint32_t *)(p->s->a + VTPU_GATHER_OFFSETS);
	uint64_t *mask = (uint64_t *)(p->s->a + VTPU_GATHER_MASKS);
	float *acc = p->s->acc + VTPU_GATHER_SPARSE;
	struct vtpu_sparse s = {
		.acc_step = (size_t)x->stride_w * p->outs,
		.items = across,
		.width = width,
		.words = words,
		.v_item = b->pitch,
		.v_step = 1,
		.off = off,
	};

	for (uint32_t c = 0; c < p->ins; c++)
		off[c] = c * (uint32_t)width;
	scan(p, b->source, b->pitch, b->images * pixels, mask);
	start(p, b, acc);
	for (uint32_t y = p->h.taps; y-- > 0;) {
		s.rows = weights(p, y, 0);
		for (size_t image = 0; image < b->images; image++) {
			for (size_t q = 0; q < p->h.source; q++) {
				int64_t row = (int64_t)q * x->stride_h - x->pad_top +
					      (int64_t)y * x->dil_h;

				if (row < b->row || row >= b->row_end)
					continue;
				s.acc = acc +
					(image * (b->row_end - b->row) + (size_t)row - b->row) *
						line;
				s.mask = mask + (image * pixels + q * across) * words;
				s.v = b->source + (image * pixels + q * across) * b->pitch;
				p->k->sparse(&s);
			}
			if (vtpu_op_cancelled(p->op))
				break;
		}
	}
	return acc + (size_t)x->pad_left * p->outs;
}
