// SPDX-License-Identifier: MIT
/*
 * unit_conv.c - CONV and CONV_DGRAD: parts, blocks and runs.
 *
 * Both gather: a position of the result meets taps at elements of the source. All
 * positions of a block that have the same taps go through the kernel together, each
 * with its own address, so that padding costs nothing and forms no product.
 */
#include "conv_gather.h"
#include "cost.h"

/* Below this many multiply-adds a part is not worth handing over. */
#define PART_MACS (1ULL << 22)

uint32_t vtpu_conv_parts(const struct vtpu_op *op, uint32_t threads)
{
	uint64_t macs = vtpu_cost_conv_shape(op->insn).macs;
	uint64_t parts = threads > 1 ? min_u64(macs / PART_MACS, 2 * (uint64_t)threads) : 1;

	if (macs / VTPU_CONV_TURN >= parts)
		parts = macs / VTPU_CONV_TURN + 1;
	return parts ? (uint32_t)min_u64(parts, VTPU_MAX_PARTS) : 1;
}

/* ---- Runs ------------------------------------------------------------------ */

/** struct run - positions with the same taps */
struct run {
	const struct vtpu_gather *p;
	const struct vtpu_gather_block *b;
	struct vtpu_axis_run h, w;
	/** @joint: the taps of a row are neighbours in memory, here and in the panels */
	bool joint;
	struct vtpu_conv_rows *rows;
};

/* Stretches [from, ...) of a run into @rows; returns how many */
static size_t stretches(const struct run *r, size_t from)
{
	const struct vtpu_gather *p = r->p;
	const size_t across = r->joint ? 1 : r->w.taps;
	const size_t line = p->w.source * r->b->pitch;
	size_t n = (size_t)r->h.taps * across - from;

	if (!r->w.taps)
		return 0;
	if (n > VTPU_CONV_STRETCHES)
		n = VTPU_CONV_STRETCHES;
	for (size_t i = 0; i < n; i++) {
		size_t y = (from + i) / across, z = (from + i) % across;
		size_t tap = (size_t)(r->h.tap + y * r->h.tap_step) * p->w.taps + r->w.tap +
			     z * r->w.tap_step;

		r->rows->stretch[i] = (struct vtpu_stretch){
			.a = y * r->h.by_tap * line + z * r->w.by_tap * r->b->pitch,
			.b = tap * p->ins,
			.n = (size_t)p->ins * (r->joint ? r->w.taps : 1),
		};
	}
	return n;
}

/* The kernel for the rows that have been gathered. */
static void flush(const struct run *r, size_t ready)
{
	const struct vtpu_gather *p = r->p;
	const size_t depth = (size_t)p->h.taps * p->w.taps * p->ins;
	const size_t total = r->w.taps ? (size_t)r->h.taps * (r->joint ? 1 : r->w.taps) : 0;
	struct vtpu_taps t = {
		.a = r->rows->a,
		.a_step = 1,
		.stretch = r->rows->stretch,
		.b = p->panels,
		.b_pitch = p->k->nr,
		.b_panel = depth * p->k->nr,
		.c = p->x->mode & VTPU_MXU_ACCUMULATE ? r->rows->c : NULL,
		.d = r->rows->d,
		.m = r->rows->m,
		.n = p->cols,
		.relu = p->relu,
		.bias = p->bias_f32,
		.cancel = &p->op->run->cancel,
	};
	size_t from = 0;

	do {
		t.stretches = total <= VTPU_CONV_STRETCHES ? ready : stretches(r, from);
		from += t.stretches;
		t.last = from >= total;
		p->k->taps(&t);
		t.c = (const float *const *)r->rows->d;
	} while (from < total && !vtpu_op_cancelled(p->op));
	r->rows->m = 0;
}

/* Accumulators of a position of a block */
static float *accumulators(const struct vtpu_gather *p, const struct vtpu_gather_block *b,
			   uint64_t image, uint32_t row, uint32_t col)
{
	size_t at = ((image - b->image) * (b->row_end - b->row) + row - b->row) *
			    (b->col_end - b->col) +
		    col - b->col;

	return p->s->acc + at * vtpu_conv_room(p->k, p->cols);
}

static void run_positions(struct run *r)
{
	const struct vtpu_gather *p = r->p;
	const struct vtpu_gather_block *b = r->b;
	struct vtpu_conv_rows *rows = r->rows;
	const size_t ready = stretches(r, 0);

	for (uint64_t image = b->image; image < b->image + b->images; image++) {
		for (uint32_t i = 0; i < r->h.count; i++) {
			uint32_t row = r->h.first + i * r->h.step;
			size_t line = (image - b->image) * b->rows + r->h.source +
				      i * r->h.by_position - (r->h.taps ? b->source_row : 0);

			for (uint32_t j = 0; j < r->w.count; j++) {
				uint32_t col = r->w.first + j * r->w.step;
				uint64_t pixel = vtpu_gather_pixel(p, image, row, col);

				rows->a[rows->m] = b->source + (line * p->w.source + r->w.source +
								j * r->w.by_position) *
								       b->pitch;
				rows->c[rows->m] = vtpu_gather_c(p, pixel);
				rows->d[rows->m] = p->direct ? (float *)vtpu_gather_d(p, pixel) :
							       accumulators(p, b, image, row, col);
				if (++rows->m == VTPU_CONV_ROWS)
					flush(r, ready);
				if (vtpu_op_cancelled(p->op))
					return;
			}
		}
	}
	if (rows->m)
		flush(r, ready);
}

/* One channel, 3 x 3 taps, 2 x 2 windows: no accumulators in memory */
static void patches(const struct vtpu_gather *p, const struct vtpu_gather_block *b)
{
	const uint32_t down = p->h.positions / 2, across = p->w.positions / 2;
	const uint32_t channels = p->outs * p->x->g, first = p->group * p->outs + p->col;
	struct vtpu_patch patch = {
		.a_pitch = p->w.source,
		.count = (b->col_end - b->col) / 2,
		.b = p->panels,
		.b_panel = 9 * (size_t)p->k->nr,
		.bias = p->bias_f32,
		.relu = p->relu,
		.n = p->cols,
		.d_pitch = p->x->ldd / sizeof(float),
		.index_pitch = channels,
	};

	for (uint32_t image = 0; image < b->images && !vtpu_op_cancelled(p->op); image++) {
		for (uint32_t row = b->row; row < b->row_end; row += 2) {
			uint64_t pixel =
				((b->image + image) * down + row / 2) * across + b->col / 2;

			patch.a =
				b->source + ((size_t)image * b->rows + row) * p->w.source + b->col;
			patch.d = (float *)vtpu_gather_d(p, pixel);
			patch.index = vtpu_op_vmem(p->op, p->pool.index) + pixel * channels + first;
			p->k->patch(&patch);
		}
	}
}

/* Would they, and may they? */
static bool patchable(const struct vtpu_gather *p)
{
	const struct vtpu_insn_mxu *x = p->x;

	return p->pool.on && p->pool.h == 2 && p->pool.w == 2 && p->fused && !p->plain &&
	       !(x->mode & VTPU_MXU_ACCUMULATE) && x->a_type == VTPU_TYPE_F32 &&
	       x->d_type == VTPU_TYPE_F32 && x->lda == sizeof(float) && x->ker_h == 3 &&
	       x->ker_w == 3 && x->stride_h == 1 && x->stride_w == 1 && x->dil_h == 1 &&
	       x->dil_w == 1 && !(x->pad_top | x->pad_left | x->pad_bottom | x->pad_right);
}

/* ---- Blocks ---------------------------------------------------------------- */

/* Accumulators that hold chains already: start values for a kernel without products, which ends them. */
static void end_chains(const struct vtpu_gather *p, const struct vtpu_gather_block *b,
		       struct vtpu_conv_rows *rows, float *first, size_t line)
{
	struct vtpu_taps t = {
		.a = rows->c,
		.c = rows->c,
		.d = rows->d,
		.n = p->cols,
		.last = true,
		.relu = p->relu,
		.bias = p->bias_f32,
		.cancel = &p->op->run->cancel,
	};
	const size_t pitch = line ? p->cols : vtpu_conv_room(p->k, p->cols);
	const float *from = first;

	for (uint64_t image = b->image; image < b->image + b->images; image++) {
		for (uint32_t row = b->row; row < b->row_end; row++) {
			for (uint32_t col = b->col; col < b->col_end; col++) {
				uint64_t pixel = vtpu_gather_pixel(p, image, row, col);

				rows->c[t.m] = from + (col - b->col) * pitch;
				rows->d[t.m] = p->direct ? (float *)vtpu_gather_d(p, pixel) :
							   accumulators(p, b, image, row, col);
				if (++t.m == VTPU_CONV_ROWS) {
					p->k->taps(&t);
					t.m = 0;
				}
			}
			from += line ? line : (b->col_end - b->col) * pitch;
		}
	}
	if (t.m)
		p->k->taps(&t);
}

static void plain_block(const struct vtpu_gather *p, const struct vtpu_gather_block *b)
{
	for (uint64_t image = b->image; image < b->image + b->images; image++) {
		for (uint32_t row = b->row; row < b->row_end; row++) {
			for (uint32_t col = b->col; col < b->col_end; col++)
				vtpu_conv_plain(p->op, vtpu_gather_pixel(p, image, row, col),
						p->group * p->outs + p->col, p->cols,
						accumulators(p, b, image, row, col));
		}
	}
}

static void block(const struct vtpu_gather *p, struct vtpu_gather_block *b, bool sparse)
{
	struct vtpu_conv_rows rows;
	struct run r = { .p = p, .b = b, .rows = &rows };
	struct vtpu_axis_walk h = { .from = b->row, .end = b->row_end };

	rows.m = 0;
	vtpu_gather_source(p, b);
	if (p->patch) {
		patches(p, b);
		return;
	}
	if (p->plain) {
		plain_block(p, b);
		end_chains(p, b, &rows, p->s->acc, 0);
	} else if (sparse) {
		end_chains(p, b, &rows, vtpu_gather_sparse(p, b), vtpu_gather_sparse_line(p));
	} else {
		while (vtpu_axis_next(&p->h, &h, &r.h)) {
			struct vtpu_axis_walk w = { .from = b->col, .end = b->col_end };

			while (vtpu_axis_next(&p->w, &w, &r.w) && !vtpu_op_cancelled(p->op)) {
				r.joint = r.w.tap_step == 1 && r.w.by_tap == 1 &&
					  b->pitch == p->ins;
				run_positions(&r);
			}
		}
	}
	if (!p->direct && !vtpu_op_cancelled(p->op))
		vtpu_gather_finish(p, b);
}

/* ---- From accumulators to results ------------------------------------------ */

static void finish_pool(const struct vtpu_gather *p, const struct vtpu_gather_block *b)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t pitch = vtpu_conv_room(p->k, p->cols), line = (b->col_end - b->col) * pitch;
	const uint32_t down = p->h.positions / p->pool.h, across = p->w.positions / p->pool.w;
	const uint32_t channels = p->outs * x->g, first = p->group * p->outs + p->col;
	const bool f32 = x->d_type == VTPU_TYPE_F32;
	struct vtpu_window w = {
		.pitch = line,
		.step = pitch,
		.h = p->pool.h,
		.w = p->pool.w,
		.n = p->cols,
		.d_pitch = x->ldd / sizeof(float),
		.index_pitch = channels,
		.relu = p->pool.relu,
		.count = f32 ? (b->col_end - b->col) / p->pool.w : 1,
	};

	for (uint64_t image = b->image; image < b->image + b->images; image++) {
		for (uint32_t row = b->row; row < b->row_end; row += p->pool.h) {
			for (uint32_t col = b->col; col < b->col_end; col += w.count * p->pool.w) {
				uint64_t pixel =
					(image * down + row / p->pool.h) * across + col / p->pool.w;
				uint8_t *d = vtpu_gather_d(p, pixel);

				w.x = accumulators(p, b, image, row, col);
				w.d = f32 ? (float *)d : vtpu_reg(p->s, 0);
				w.index = vtpu_op_vmem(p->op, p->pool.index) + pixel * channels +
					  first;
				p->k->window(&w);
				if (!f32)
					p->k->narrow(d, w.d, p->cols, x->d_type);
			}
		}
	}
}

void vtpu_gather_finish(const struct vtpu_gather *p, const struct vtpu_gather_block *b)
{
	const size_t pitch = vtpu_conv_room(p->k, p->cols);
	const uint32_t first = p->group * p->outs + p->col, width = b->col_end - b->col;
	const uint32_t rows = b->row_end - b->row;

	if (p->pool.on) {
		if (!p->fused)
			vtpu_epilogue_values(&p->epi, p->s->acc, pitch,
					     (size_t)b->images * rows * width, first, p->cols);
		finish_pool(p, b);
		return;
	}
	for (uint64_t image = b->image; image < b->image + b->images; image++) {
		for (uint32_t row = b->row; row < b->row_end && !vtpu_op_cancelled(p->op); row++) {
			uint64_t pixel = vtpu_gather_pixel(p, image, row, b->col);
			const float *acc = accumulators(p, b, image, row, b->col);

			if (!p->fused)
				vtpu_epilogue_run(&p->epi, acc, pitch, pixel, width, first,
						  p->cols);
			for (uint32_t i = 0; p->fused && i < width; i++)
				p->k->narrow(vtpu_gather_d(p, pixel + i), acc + i * pitch, p->cols,
					     p->x->d_type);
		}
	}
}

/* ---- Parts ----------------------------------------------------------------- */

/** struct sizes - of blocks: images, or rows of one, or columns of a row or window */
struct sizes {
	uint32_t images, rows, cols;
};

static struct sizes choose(const struct vtpu_gather *p)
{
	const size_t room = vtpu_conv_room(p->k, p->cols), most = (size_t)VTPU_GATHER_SPARSE / room;
	const size_t line = p->w.positions, source = p->w.source * (size_t)p->ins;
	struct sizes s = { .images = 1, .rows = p->h.positions, .cols = p->w.positions };
	size_t fit = VTPU_CONV_L2 / room / line;

	if (fit >= s.rows) {
		s.images = (uint32_t)min_u64(fit / s.rows, 16);
	} else {
		s.rows = (uint32_t)(fit < p->pool.h ? p->pool.h : fit - fit % p->pool.h);
		if (s.rows * line > most)
			s.cols = (uint32_t)(most / s.rows / p->pool.w * p->pool.w);
	}
	if (p->x->a_type == VTPU_TYPE_F32)
		return s;
	while (s.images > 1 &&
	       s.images * vtpu_gather_source_rows(p, s.rows) * source > VTPU_CONV_ROOM)
		s.images--;
	while (s.rows > p->pool.h && vtpu_gather_source_rows(p, s.rows) * source > VTPU_CONV_ROOM)
		s.rows -= p->pool.h;
	return s;
}

/* Rows [row, end) of the part, in units of a window of MAXPOOL, of the columns under way */
static void blocks(const struct vtpu_gather *p, uint64_t row, uint64_t end)
{
	const uint32_t units = p->h.positions / p->pool.h;
	const bool sparse = p->back && !p->plain &&
			    vtpu_gather_sparse_pack(p, row / units, (end - 1) / units + 1);
	struct sizes s = choose(p);
	uint64_t next;

	if (!sparse)
		vtpu_gather_pack(p);
	for (; row < end && !vtpu_op_cancelled(p->op); row = next) {
		struct vtpu_gather_block b = {
			.image = row / units,
			.images = 1,
			.row = row % units * p->pool.h,
		};
		uint64_t whole = b.row ? 0 : (end - row) / units;
		uint32_t images = sparse ? vtpu_gather_sparse_images(p, s.rows) : s.images;

		if (whole && s.rows == p->h.positions) {
			b.images = (uint32_t)min_u64(whole, images);
			b.row_end = p->h.positions;
			next = row + (uint64_t)b.images * units;
		} else {
			uint64_t left = (whole ? units : min_u64(end - row, units - row % units)) *
					p->pool.h;

			b.row_end = b.row + (uint32_t)min_u64(left, s.rows);
			next = row + (b.row_end - b.row) / p->pool.h;
		}
		for (; b.col < p->w.positions; b.col = b.col_end) {
			b.col_end = (uint32_t)min_u64(p->w.positions, (uint64_t)b.col + s.cols);
			block(p, &b, sparse);
		}
	}
}

/* The kernel adds a bias and takes what is above zero by itself, in this order. */
static bool fuse(struct vtpu_gather *p)
{
	const uint8_t *op = p->x->epi_op;
	unsigned int i = 0;

	if (op[i] == VTPU_EPI_BIAS)
		p->bias = vtpu_op_vmem(p->op, p->x->epi_arg[i++]);
	p->relu = op[i] == VTPU_EPI_RELU;
	i += p->relu;
	if (i == 4 || !op[i] || op[i] == VTPU_EPI_MAXPOOL)
		return true;
	p->bias = NULL;
	p->relu = false;
	return false;
}

static void begin(struct vtpu_gather *p)
{
	const struct vtpu_insn_mxu *x = p->x;
	const size_t depth = (size_t)x->ker_h * x->ker_w;
	uint64_t source;

	vtpu_conv_axes(p->op->insn, &p->h, &p->w);
	p->pool = vtpu_insn_maxpool(x);
	p->rows = p->h.positions;
	p->columns = p->w.positions;
	p->h.positions -= p->h.positions % p->pool.h;
	p->w.positions -= p->w.positions % p->pool.w;
	p->ins = p->back ? x->n : x->k;
	p->outs = p->back ? x->k : x->n;
	p->fused = fuse(p);
	p->direct = p->fused && !p->pool.on && x->d_type == VTPU_TYPE_F32;
	p->panels = p->s->b;
	source = vtpu_gather_source_rows(p, p->pool.h) * p->w.source * p->ins;
	p->plain = depth * p->ins * p->k->nr > VTPU_CONV_ROOM ||
		   (x->a_type != VTPU_TYPE_F32 && source > VTPU_CONV_ROOM);
	p->patch = patchable(p);
	vtpu_epilogue_init(&p->epi, p->op, p->s, p->outs);
}

/* The bias of the columns under way, whole panels */
static void load_bias(struct vtpu_gather *p)
{
	size_t room = vtpu_conv_room(p->k, p->cols);

	p->bias_f32 = p->patch ? p->s->a : NULL;
	if (p->patch)
		memset(p->s->a, 0, room * sizeof(float));
	if (!p->bias)
		return;
	memcpy(p->s->a, p->bias + ((size_t)p->group * p->outs + p->col) * sizeof(float),
	       p->cols * sizeof(float));
	memset(p->s->a + p->cols, 0, (room - p->cols) * sizeof(float));
	p->bias_f32 = p->s->a;
}

void vtpu_conv_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	struct vtpu_gather p = {
		.op = op,
		.x = x,
		.k = op->run->kernels,
		.s = s,
		.back = op->insn->opcode == VTPU_OP_CONV_DGRAD,
	};
	uint64_t rows, row, end, most;

	begin(&p);
	rows = (uint64_t)x->m * (p.h.positions / p.pool.h);
	row = vtpu_split(rows, part, parts);
	end = vtpu_split(rows, part + 1, parts);
	if (row == end)
		return;
	most = p.plain ? VTPU_CONV_NC :
			 min_u64(VTPU_CONV_NC, VTPU_CONV_ROOM /
						       ((size_t)x->ker_h * x->ker_w * p.ins) /
						       p.k->nr * p.k->nr);
	for (p.group = 0; p.group < x->g; p.group++) {
		for (p.col = 0; p.col < p.outs; p.col += p.cols) {
			p.cols = (uint32_t)min_u64(most, p.outs - p.col);
			load_bias(&p);
			blocks(&p, row, end);
			if (vtpu_op_cancelled(op))
				return;
		}
	}
}
