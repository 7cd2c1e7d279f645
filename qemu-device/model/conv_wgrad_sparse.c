// SPDX-License-Identifier: MIT
/*
 * conv_wgrad_sparse.c - CONV_WGRAD by what is not zero in the output's gradient alone.
 *
 * As in conv_sparse.c; here the other operand is the input. For each channel of
 * the gradient, the list of pixels that are not zero, as a mask, and its whole filter
 * in registers, one tap row after the other.
 */
#include "conv_wgrad.h"

#define MOST_DENSITY 40
#define SAMPLE	     4

/* Working memory in @a of the scratch, in floats: offsets of pixels, masks by pixel, masks by channel. */
#define MOST_PIXELS 4096
#define MASKS	    (2 * MOST_PIXELS)

/* Bit j of word i becomes bit i of word j. */
static void transpose64(uint64_t *x)
{
	uint64_t mask = 0xffffffffULL;

	for (unsigned int j = 32; j; j >>= 1, mask ^= mask << j) {
		for (unsigned int k = 0; k < 64; k = (k + j + 1) & ~j) {
			uint64_t t = (x[k] >> j ^ x[k + j]) & mask;

			x[k] ^= t << j;
			x[k + j] ^= t;
		}
	}
}

/* Masks of the pixels by channel, [channel][words], from the columns under way of an image */
static void masks(const struct vtpu_wgrad *p, const float *gradient, size_t pitch, size_t pixels,
		  size_t words, uint64_t *mask)
{
	const size_t groups = (p->cols + 63) / 64;
	uint64_t bits[VTPU_CONV_NC / 64 * 64];

	for (size_t word = 0; word < words; word++) {
		size_t n = pixels - word * 64 < 64 ? pixels - word * 64 : 64;
		uint64_t line[VTPU_CONV_NC / 64];

		memset(bits, 0, sizeof(bits));
		for (size_t i = 0; i < n; i++) {
			p->k->nonzero(line, gradient + (word * 64 + i) * pitch, p->cols);
			for (size_t g = 0; g < groups; g++)
				bits[g * 64 + i] = line[g];
		}
		for (size_t g = 0; g < groups; g++) {
			transpose64(bits + g * 64);
			for (size_t c = g * 64; c < p->cols && c < g * 64 + 64; c++)
				mask[c * words + word] = bits[c];
		}
	}
}

static bool pays(const struct vtpu_wgrad *p, size_t words)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t pixels = (size_t)p->h.positions * p->w.positions;
	const size_t filter = p->row_end - p->row;
	const uint64_t images = x->m < SAMPLE ? x->m : SAMPLE;
	const float *gradient = (const float *)vtpu_wgrad_gradient(p, 0);
	uint64_t line[VTPU_CONV_NC / 64];
	size_t found = 0;

	if (p->op->run->dense || p->widen || x->b_type != VTPU_TYPE_F32 || x->dil_w != 1 ||
	    x->lda != x->k * sizeof(float) || p->h.pad || p->w.pad || x->pad_bottom ||
	    x->pad_right || p->w.taps * x->k % p->k->vw || p->w.taps * x->k < p->k->vw ||
	    pixels > MOST_PIXELS || p->row % (p->w.taps * x->k) ||
	    p->row_end % (p->w.taps * x->k) ||
	    p->cols * filter > (size_t)VTPU_MXU_PM * VTPU_MXU_NC / 2 ||
	    MASKS + 2 * words * p->cols > VTPU_MXU_MC * VTPU_GEMM_PITCH)
		return false;
	for (size_t i = 0; i < images * pixels; i++)
		found += p->k->nonzero(line, gradient + i * (x->ldb / sizeof(float)), p->cols);
	return found * 100 <= images * pixels * p->cols * MOST_DENSITY;
}

/* Is all of the input finite? Else 0 * infinity must be NaN. */
static bool finite_input(const struct vtpu_wgrad *p)
{
	const size_t image = (size_t)p->h.source * p->w.source * p->x->k;

	for (uint64_t i = 0; i < p->x->m && !vtpu_op_cancelled(p->op); i++) {
		if (!p->k->finite((const float *)vtpu_wgrad_input(p, i), image))
			return false;
	}
	return true;
}

bool vtpu_wgrad_sparse(const struct vtpu_wgrad *p)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t pixels = (size_t)p->h.positions * p->w.positions, words = (pixels + 63) / 64;
	const size_t width = (size_t)p->w.taps * x->k, filter = p->row_end - p->row;
	const size_t pitch = x->ldb / sizeof(float);
	float *acc = p->s->acc + (size_t)VTPU_MXU_PM * VTPU_MXU_NC / 2;
	uint32_t *off = (uint32_t *)p->s->a;
	uint64_t *mask = (uint64_t *)(p->s->a + MASKS);
	struct vtpu_sparse s = {
		.acc_step = filter,
		.items = p->cols,
		.width = width,
		.mask = mask,
		.words = words,
		.v_item = 1,
		.v_step = pitch,
		.off = off,
	};

	if (!pays(p, words) || !finite_input(p))
		return false;
	for (uint32_t i = 0; i < pixels; i++)
		off[i] = (i / p->w.positions * p->h.stride * p->w.source +
			  i % p->w.positions * p->w.stride) *
			 x->k;
	memset(acc, 0, p->cols * filter * sizeof(float));
	for (uint32_t row = 0; x->mode & VTPU_MXU_ACCUMULATE && row < filter; row++) {
		for (uint32_t c = 0; c < p->cols; c++)
			acc[c * filter + row] = vtpu_wgrad_c(p, p->row + row)[c];
	}
	for (uint64_t image = 0; image < x->m && !vtpu_op_cancelled(p->op); image++) {
		s.v = (const float *)vtpu_wgrad_gradient(p, image);
		masks(p, s.v, pitch, pixels, words, mask);
		for (size_t y = p->row / width; y < p->row_end / width; y++) {
			s.rows = (const float *)vtpu_wgrad_input(p, image) +
				 y * p->h.dil * p->w.source * x->k;
			s.acc = acc + y * width - p->row;
			p->k->sparse(&s);
		}
	}
	for (uint32_t row = 0; row < filter; row++) {
		for (uint32_t c = 0; c < p->cols; c++)
			vtpu_wgrad_acc(p, p->row + row)[c] = acc[c * filter + row];
	}
	return true;
}
