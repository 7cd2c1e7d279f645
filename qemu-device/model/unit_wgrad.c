// SPDX-License-Identifier: MIT
/*
 * unit_wgrad.c - CONV_WGRAD: a small result, a long contraction.
 *
 * Rows of the product are (tap, channel of the input), each with its own address in the
 * input; rows of B are the pixels of the output's gradient. Taps that have the
 * same windows inside the input go through the kernel together. A tile of the result
 * passes over an image in registers, and goes on from image to image through memory,
 * which is exact.
 */
#include "conv_wgrad.h"
#include "cost.h"

/** struct band - rows of windows of some images, and where their operands are */
struct band {
	uint64_t image;
	uint32_t images;
	uint32_t p, p_end;
	bool first, last; /* of all */
	/** @a: input: row @a_row of @image; @a_pitch: from a pixel to the next */
	const float *a;
	uint32_t a_row;
	size_t a_pitch;
	/** @b: gradient of window row @b_row of @image */
	const float *b;
	uint32_t b_row;
	size_t b_pitch, b_panel;
};

/** struct taps - taps [y, y_end) x [z, z_end) that have windows [p0, p1) x [q0, q1) */
struct taps {
	uint32_t y, y_end, p0, p1;
	uint32_t z, z_end, q0, q1;
};

/* ---- Operands -------------------------------------------------------------- */

static void load_input(const struct vtpu_wgrad *p, struct band *b)
{
	const struct vtpu_insn_mxu *x = p->x;
	const uint8_t *src = vtpu_wgrad_input(p, b->image);
	float *dst = p->s->b + VTPU_CONV_ROOM;
	int64_t low, high;

	if (!p->widen) {
		b->a = (const float *)src;
		b->a_row = 0;
		b->a_pitch = x->lda / sizeof(float);
		return;
	}
	low = (int64_t)b->p * p->h.stride - p->h.pad;
	high = (int64_t)(b->p_end - 1) * p->h.stride - p->h.pad +
	       (int64_t)(p->h.taps - 1) * p->h.dil + 1;
	low = low < 0 ? 0 : low;
	high = high > p->h.source ? p->h.source : high;
	b->a = dst;
	b->a_row = (uint32_t)low;
	b->a_pitch = x->k;
	src += (size_t)low * p->w.source * x->lda;
	for (int64_t i = low * p->w.source; i < high * p->w.source && !vtpu_op_cancelled(p->op);
	     i++, src += x->lda, dst += x->k)
		p->k->widen(dst, src, x->k, x->a_type);
}

static void load_gradient(const struct vtpu_wgrad *p, struct band *b)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t nr = p->k->nr, pixels = (size_t)(b->p_end - b->p) * p->w.positions;
	const uint8_t *src = vtpu_wgrad_gradient(p, b->image);
	float *const row = vtpu_reg(p->s, 0), *const panels = p->s->b;

	if (!p->panels) {
		b->b = (const float *)src;
		b->b_row = 0;
		b->b_pitch = x->ldb / sizeof(float);
		b->b_panel = nr;
		return;
	}
	b->b = panels;
	b->b_row = b->p;
	b->b_pitch = nr;
	b->b_panel = pixels * nr;
	src += (size_t)b->p * p->w.positions * x->ldb;
	memset(row + p->cols, 0, (vtpu_conv_room(p->k, p->cols) - p->cols) * sizeof(float));
	for (size_t i = 0; i < pixels && !vtpu_op_cancelled(p->op); i++, src += x->ldb) {
		if (x->b_type == VTPU_TYPE_F32)
			memcpy(row, src, p->cols * sizeof(float));
		else
			p->k->widen(row, src, p->cols, x->b_type);
		for (size_t j = 0; j < p->cols; j += nr)
			memcpy(panels + j * pixels + i * nr, row + j, nr * sizeof(float));
	}
}

_Static_assert(VTPU_CONV_NC + VTPU_GEMM_MAX_NR <= VTPU_BLOCK, "a pixel's columns, whole panels");

/* ---- Taps ------------------------------------------------------------------ */

/* The kernel, image by image, for the rows that have been gathered. */
static void flush(const struct vtpu_wgrad *p, const struct band *b, const struct taps *t,
		  struct vtpu_conv_rows *rows)
{
	const uint32_t p0 = t->p0 > b->p ? t->p0 : b->p, p1 = (uint32_t)min_u64(t->p1, b->p_end);
	const bool empty = p0 >= p1 || t->q0 >= t->q1;
	const size_t a_image = (size_t)p->h.source * p->w.source * b->a_pitch;
	const size_t b_image = (size_t)p->h.positions * p->w.positions;
	struct vtpu_taps call = {
		.a = rows->a,
		.a_step = p->w.stride * b->a_pitch,
		.stretch = rows->stretch,
		.b = b->b,
		.b_pitch = b->b_pitch,
		.b_panel = b->b_panel,
		.d = rows->d,
		.m = rows->m,
		.n = p->cols,
		.cancel = &p->op->run->cancel,
	};

	for (uint32_t image = 0; image < b->images; image++) {
		const bool first = b->first && !image, last = b->last && image == b->images - 1;

		call.stretches = 0;
		for (uint32_t q = p0; !empty && q < p1; q++)
			rows->stretch[call.stretches++] = (struct vtpu_stretch){
				.a = image * a_image +
				     (size_t)(q - p0) * p->h.stride * p->w.source * b->a_pitch,
				.b = image * b_image + (size_t)(q - b->b_row) * p->w.positions +
				     t->q0,
				.n = t->q1 - t->q0,
			};
		call.c = (const float *const *)rows->d;
		if (first)
			call.c = p->x->mode & VTPU_MXU_ACCUMULATE ? rows->c : NULL;
		call.last = last;
		if (!empty || first || last)
			p->k->taps(&call);
	}
	rows->m = 0;
}

static void run_taps(const struct vtpu_wgrad *p, const struct band *b, const struct taps *t,
		     struct vtpu_conv_rows *rows)
{
	const uint32_t p0 = t->p0 > b->p ? t->p0 : b->p, k = p->x->k;

	for (uint32_t y = t->y; y < t->y_end; y++) {
		const bool inside = p0 < t->p1 && p0 < b->p_end && t->q0 < t->q1;
		size_t line = inside ? (size_t)p0 * p->h.stride + y * p->h.dil - (size_t)p->h.pad -
					       b->a_row :
				       0;

		for (uint32_t z = t->z; z < t->z_end; z++) {
			uint32_t row = (y * p->w.taps + z) * k;
			size_t at = inside ? (size_t)t->q0 * p->w.stride + z * p->w.dil -
						     (size_t)p->w.pad :
					     0;
			const float *a = b->a + (line * p->w.source + at) * b->a_pitch;

			for (uint32_t c = 0; c < k; c++, row++) {
				if (row < p->row || row >= p->row_end)
					continue;
				rows->a[rows->m] = a + c;
				rows->c[rows->m] = vtpu_wgrad_c(p, row);
				rows->d[rows->m] = vtpu_wgrad_acc(p, row);
				if (++rows->m == VTPU_CONV_ROWS)
					flush(p, b, t, rows);
			}
		}
	}
	if (rows->m)
		flush(p, b, t, rows);
}

static void run_band(const struct vtpu_wgrad *p, struct band *b)
{
	struct vtpu_conv_rows rows;
	struct taps t;
	uint32_t first, end;

	rows.m = 0;
	load_input(p, b);
	load_gradient(p, b);
	for (t.y = 0; t.y < p->h.taps; t.y = t.y_end) {
		vtpu_axis_windows(&p->h, t.y, &t.p0, &t.p1);
		for (t.y_end = t.y + 1; t.y_end < p->h.taps; t.y_end++) {
			vtpu_axis_windows(&p->h, t.y_end, &first, &end);
			if (first != t.p0 || end != t.p1)
				break;
		}
		for (t.z = 0; t.z < p->w.taps; t.z = t.z_end) {
			vtpu_axis_windows(&p->w, t.z, &t.q0, &t.q1);
			for (t.z_end = t.z + 1; t.z_end < p->w.taps; t.z_end++) {
				vtpu_axis_windows(&p->w, t.z_end, &first, &end);
				if (first != t.q0 || end != t.q1)
					break;
			}
			run_taps(p, b, &t, &rows);
			if (vtpu_op_cancelled(p->op))
				return;
		}
	}
}

/* ---- Parts ----------------------------------------------------------------- */

/* Chains that are in their accumulators, but not ended */
static void end_chains(const struct vtpu_wgrad *p)
{
	float *d[VTPU_CONV_ROWS];
	struct vtpu_taps t = {
		.a = (const float *const *)d,
		.c = (const float *const *)d,
		.d = d,
		.n = p->cols,
		.last = true,
		.cancel = &p->op->run->cancel,
	};

	for (uint32_t row = p->row; row < p->row_end; row++) {
		d[t.m++] = vtpu_wgrad_acc(p, row);
		if (t.m == VTPU_CONV_ROWS || row + 1 == p->row_end) {
			p->k->taps(&t);
			t.m = 0;
		}
	}
}

/* Rows of windows that a band may have */
static uint32_t band_rows(const struct vtpu_wgrad *p)
{
	uint64_t most = VTPU_CONV_STRETCHES, line = (uint64_t)p->w.source * p->x->k;

	if (p->panels)
		most = min_u64(most,
			       VTPU_CONV_ROOM / p->w.positions / vtpu_conv_room(p->k, p->cols));
	if (p->widen) {
		uint64_t span = (p->h.taps - 1) * p->h.dil;

		most = min_u64(most, (VTPU_CONV_ROOM / line - span - 1) / p->h.stride + 1);
	}
	return (uint32_t)min_u64(most, p->h.positions);
}

static void run_bands(const struct vtpu_wgrad *p)
{
	const struct vtpu_insn_mxu *x = p->x;
	const uint32_t rows = band_rows(p);
	const size_t image = (size_t)p->h.source * p->w.source * x->k +
			     (size_t)p->h.positions * p->w.positions * p->cols;
	struct band b = { .images = 1 };

	if (!p->panels && !p->widen && rows == p->h.positions && 2 * VTPU_CONV_L2 > image)
		b.images = (uint32_t)(2 * VTPU_CONV_L2 / image);
	for (; b.image < x->m; b.image += b.images) {
		b.images = (uint32_t)min_u64(b.images, x->m - b.image);
		for (b.p = 0; b.p < p->h.positions; b.p = b.p_end) {
			b.p_end = (uint32_t)min_u64((uint64_t)b.p + rows, p->h.positions);
			b.first = !b.image && !b.p;
			b.last = b.image + b.images == x->m && b.p_end == p->h.positions;
			run_band(p, &b);
			if (vtpu_op_cancelled(p->op))
				return;
		}
	}
}

/* The rows and columns under way */
static void run_tile(const struct vtpu_wgrad *p)
{
	const uint32_t first = p->group * p->x->n + p->col;

	if (p->plain) {
		for (uint32_t row = p->row; row < p->row_end; row++)
			vtpu_conv_plain(p->op, row, first, p->cols, vtpu_wgrad_acc(p, row));
		end_chains(p);
	} else if (vtpu_wgrad_sparse(p)) {
		end_chains(p);
	} else {
		run_bands(p);
	}
	if (!p->direct && !vtpu_op_cancelled(p->op))
		vtpu_epilogue_run(&p->epi, p->s->acc, vtpu_conv_room(p->k, p->cols), p->row,
				  p->row_end - p->row, first, p->cols);
}

static void run_columns(struct vtpu_wgrad *p, uint32_t row, uint32_t end)
{
	const size_t most = (size_t)VTPU_MXU_PM * VTPU_MXU_NC / vtpu_conv_room(p->k, p->cols);

	p->panels = p->x->b_type != VTPU_TYPE_F32 || p->cols % p->k->nr;
	for (p->row = row; p->row < end && !vtpu_op_cancelled(p->op); p->row = p->row_end) {
		p->row_end = p->direct ? end : (uint32_t)min_u64(end, p->row + most);
		run_tile(p);
	}
}

/* Few parts, of whole filters, if that gives all threads something to do: each part looks for zeros by itself. */
uint32_t vtpu_wgrad_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	const uint32_t nr = op->run->kernels->nr, parts = vtpu_conv_parts(op, threads);
	const uint64_t wide = (x->n + (uint64_t)nr - 1) / nr * x->g;

	if (parts <= threads || wide < threads ||
	    vtpu_cost_conv_shape(op->insn).macs / threads > VTPU_CONV_TURN)
		return parts;
	return threads;
}

void vtpu_wgrad_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	const uint32_t nr = op->run->kernels->nr, rows = (uint32_t)x->ker_h * x->ker_w * x->k;
	const uint64_t panels = (x->n + (uint64_t)nr - 1) / nr, wide = panels * x->g;
	/* Parts are groups of panels; if these are too few, pieces of one. */
	const uint64_t pieces = parts > wide ? (parts + wide - 1) / wide : 1;
	/* These are whole rows of taps, where there are enough. */
	const uint32_t unit = pieces <= x->ker_h ? x->ker_w * x->k : 1;
	uint64_t at = vtpu_split(wide * pieces, part, parts);
	const uint64_t end = vtpu_split(wide * pieces, part + 1, parts);
	struct vtpu_wgrad p = {
		.op = op,
		.x = x,
		.k = op->run->kernels,
		.s = s,
		.direct = x->d_type == VTPU_TYPE_F32 && !x->epi_op[0],
		.widen = x->a_type != VTPU_TYPE_F32,
	};

	vtpu_conv_axes(op->insn, &p.h, &p.w);
	p.plain = p.w.positions * (uint64_t)nr > VTPU_CONV_ROOM ||
		  (p.widen &&
		   ((p.h.taps - 1) * (uint64_t)p.h.dil + 1) * p.w.source * x->k > VTPU_CONV_ROOM);
	vtpu_epilogue_init(&p.epi, op, s, x->n);
	for (uint64_t n; at < end && !vtpu_op_cancelled(op); at += n) {
		uint64_t panel = at / pieces % panels, piece = at % pieces;
		uint64_t most = min_u64(VTPU_CONV_NC / nr, VTPU_CONV_ROOM / nr / p.w.positions);

		most = min_u64(min_u64(panels - panel, most ? most : 1), end - at);
		n = pieces > 1 ? 1 : most;
		p.group = (uint32_t)(at / pieces / panels);
		p.col = (uint32_t)(panel * nr);
		p.cols = (uint32_t)min_u64(n * nr, x->n - p.col);
		run_columns(&p, (uint32_t)(rows / unit * piece / pieces * unit),
			    (uint32_t)(rows / unit * (piece + 1) / pieces * unit));
	}
}
