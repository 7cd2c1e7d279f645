// SPDX-License-Identifier: MIT
/*
 * dense_stream.c - one fused matrix product of any size.
 *
 * Tiles [bm, bk] of x and [bk, bn] of w stream into VMEM slots; a tile of the
 * result is summed over the k tiles in place and leaves in parts, so that its
 * write-back starts before its last product has ended. Loops: m, then n, k
 * innermost. What is used again may stay in VMEM: w for the m loop; of x, whole
 * rows for the n loop, which come in one piece or tile by tile.
 *
 * Four semaphores, each incremented by one queue alone: LOADED by each DMA that
 * brings something in, CONSUMED by each step, READY by each finished part,
 * STORED when a part has left. The DMA queue is one line, so the loads of later
 * steps are written before the stores that would hold them up.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "program/dense.h"

enum {
	LOADED,
	CONSUMED,
	READY,
	STORED,
	SEMS
};

#define MAX_SLOTS     4096
#define MAX_STEPS     4096  /* small tiles of large products are not worth timing */
#define STEP_ELEMENTS 65536 /* what a step costs the host besides, as elements of a result */

enum keep {
	KEEP_NONE,  /* tiles stream through a few slots */
	KEEP_TILES, /* a slot for each tile of the loop that uses them again */
	KEEP_ROWS,  /* x only: a few slots of whole rows */
	KEEPS,
};

/* An operand's slots in VMEM, and which tile is in each. */
struct operand {
	uint32_t slots;
	enum keep keep;
	uint64_t bytes;
	uint32_t addr;
	uint32_t loads;
	uint32_t current;    /* slot of the newest load */
	uint32_t of_step[3]; /* slot that step t reads, at t mod buffers */
	struct {
		uint64_t tile; /* number + 1; 0: empty */
		uint32_t used; /* value of CONSUMED after its last use */
	} slot[MAX_SLOTS];
};

struct stream {
	const struct dense *d;
	const struct dense_layer *l;
	struct vtpu_tiling t;
	uint32_t mt, nt, kt;
	struct operand x, w;
	uint32_t scale, bias;	 /* VMEM addresses */
	uint32_t acc[2], out[2]; /* by block number mod 2 */
	uint32_t res[3];	 /* by block number mod buffers */
	bool sum_in_place;	 /* the f32 result is its own accumulator */
	uint64_t vmem;
	uint32_t need[3]; /* LOADED that step t waits for, at t mod buffers */
};

/* A step: product of one pair of tiles. */
struct step {
	uint32_t m, n, k;	    /* tile numbers */
	uint32_t rows, cols, depth; /* of this tile */
	uint32_t block;		    /* m * nt + n */
};

static uint32_t part(uint64_t total, uint32_t tile, uint32_t index)
{
	uint64_t left = total - (uint64_t)index * tile;

	return left < tile ? left : tile;
}

static struct step step_at(const struct stream *s, uint64_t t)
{
	struct step at;

	at.k = t % s->kt;
	at.block = t / s->kt;
	at.n = at.block % s->nt;
	at.m = at.block / s->nt;
	at.rows = part(s->d->rows, s->t.bm, at.m);
	at.cols = part(s->l->n, s->t.bn, at.n);
	at.depth = part(s->l->k, s->t.bk, at.k);
	return at;
}

static uint32_t place(uint64_t *vmem, uint64_t bytes)
{
	uint32_t addr = *vmem;

	*vmem = vtpu_cost_round(*vmem + bytes, DENSE_TILE);
	return addr;
}

/* Lay out VMEM for s->t and the residency of s->x and s->w. Return: does it fit? */
static bool layout(struct stream *s)
{
	const struct dense_layer *l = s->l;
	uint32_t in = vtpu_type_bytes(l->type), out = vtpu_type_bytes(s->d->y_type);
	uint64_t tile = (uint64_t)s->t.bm * s->t.bn, total = 0;
	uint64_t limit = s->d->geometry->vmem_bytes;

	s->mt = vtpu_cost_div(s->d->rows, s->t.bm);
	s->nt = vtpu_cost_div(l->n, s->t.bn);
	s->kt = vtpu_cost_div(l->k, s->t.bk);
	s->x.slots = s->x.keep == KEEP_TILES ? s->kt : s->t.buffers;
	s->w.slots = s->w.keep == KEEP_TILES ? s->nt * s->kt : s->t.buffers;
	if (s->x.slots > MAX_SLOTS || s->w.slots > MAX_SLOTS)
		return false;
	/* The next panel of x is asked for before the last step that reads this one is written. */
	if (s->x.keep == KEEP_TILES && s->mt > 1 && s->kt < s->t.buffers)
		return false;
	s->x.bytes =
		vtpu_cost_round((uint64_t)s->t.bm * (s->x.keep == KEEP_ROWS ? l->k : s->t.bk) * in,
				DENSE_TILE);
	s->w.bytes = vtpu_cost_round((uint64_t)s->t.bk * s->t.bn * in, DENSE_TILE);
	/* Before any address is cut to 32 bits */
	if (s->x.bytes * s->x.slots > limit || s->w.bytes * s->w.slots > limit || tile * 4 > limit)
		return false;
	s->sum_in_place = s->d->y_type == VTPU_TYPE_F32;
	s->scale = place(&total, l->scale_arg >= 0 ? l->n * 4ULL : 0);
	s->bias = place(&total, l->bias_arg >= 0 ? l->n * 4ULL : 0);
	s->x.addr = place(&total, s->x.bytes * s->x.slots);
	s->w.addr = place(&total, s->w.bytes * s->w.slots);
	for (int i = 0; i < 2; i++)
		s->out[i] = place(&total, tile * out);
	for (uint32_t i = 0; i < s->t.buffers; i++)
		s->res[i] = place(&total, l->residual_arg >= 0 ? tile * out : 0);
	if (s->sum_in_place)
		memcpy(s->acc, s->out, sizeof(s->acc));
	else
		s->acc[0] = s->acc[1] = place(&total, s->kt > 1 ? tile * 4 : 0);
	s->vmem = total;
	return total <= limit;
}

/* Bring tile @number of an operand in, unless it is there. @slot: its slot if all are kept. Return: its slot */
static uint32_t load(struct stream *s, struct sched *c, struct operand *o, uint64_t number,
		     uint32_t slot, const struct sched_matrix *src, uint32_t rows, uint32_t cols)
{
	struct vtpu_emit emit = { .op = s->l->op, .signal[0] = { .sem = LOADED, .inc = 1 } };
	struct sched_matrix dst = { .type = s->l->type,
				    .pitch = (uint64_t)cols * vtpu_type_bytes(s->l->type) };

	if (o->keep != KEEP_TILES) {
		if (o->loads && o->slot[o->current].tile == number + 1)
			return o->current;
		slot = o->loads % o->slots;
	} else if (o->slot[slot].tile == number + 1) {
		return slot;
	}
	if (o->slot[slot].tile) {
		emit.wait[0].sem = CONSUMED;
		emit.wait[0].value = o->slot[slot].used;
	}
	dst.addr = VTPU_ADDR(VTPU_SPACE_VMEM, 0, o->addr + o->bytes * slot);
	sched_copy_matrix(c, &emit, &dst, src, rows, cols);
	o->slot[slot].tile = number + 1;
	o->current = slot;
	o->loads++;
	return slot;
}

/* Write the loads of step @t. */
static void load_step(struct stream *s, struct sched *c, uint64_t t)
{
	const struct dense_layer *l = s->l;
	struct step at = step_at(s, t);
	uint64_t xb = vtpu_type_bytes(s->d->x_type), wb = vtpu_type_bytes(l->type);
	uint64_t row = (uint64_t)at.m * s->t.bm, col = (uint64_t)at.n * s->t.bn,
		 deep = (uint64_t)at.k * s->t.bk;
	uint64_t x_tile = (uint64_t)at.m * s->kt + at.k, w_tile = (uint64_t)at.n * s->kt + at.k;
	uint32_t turn = t % s->t.buffers;
	struct sched_matrix src;

	src.type = s->d->x_type;
	src.pitch = l->k * xb;
	src.addr = VTPU_ADDR(VTPU_SPACE_HBM, s->d->x_base, row * src.pitch);
	if (s->x.keep == KEEP_ROWS) {
		s->x.of_step[turn] = load(s, c, &s->x, at.m, 0, &src, at.rows, l->k);
	} else {
		src.addr += deep * xb;
		s->x.of_step[turn] = load(s, c, &s->x, x_tile, at.k, &src, at.rows, at.depth);
	}

	src.type = l->type;
	if (l->user->w_transposed) {
		src.pitch = l->k * wb;
		src.addr = VTPU_ADDR(VTPU_SPACE_HBM, l->w_base, col * src.pitch + deep * wb);
		s->w.of_step[turn] = load(s, c, &s->w, w_tile, w_tile, &src, at.cols, at.depth);
	} else {
		src.pitch = l->n * wb;
		src.addr = VTPU_ADDR(VTPU_SPACE_HBM, l->w_base, deep * src.pitch + col * wb);
		s->w.of_step[turn] = load(s, c, &s->w, w_tile, w_tile, &src, at.depth, at.cols);
	}
	if (l->residual_arg >= 0 && at.k == s->kt - 1) {
		struct vtpu_emit emit = { .op = l->op, .signal[0] = { .sem = LOADED, .inc = 1 } };
		uint64_t yb = vtpu_type_bytes(s->d->y_type);
		struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_VMEM, 0,
						      s->res[at.block % s->t.buffers]),
					    s->d->y_type, at.cols * yb };

		src.type = s->d->y_type;
		src.pitch = l->n * yb;
		src.addr = VTPU_ADDR(VTPU_SPACE_HBM, l->residual_base, row * src.pitch + col * yb);
		if (at.block >= s->t.buffers) {
			emit.wait[0].sem = CONSUMED;
			emit.wait[0].value = (at.block - s->t.buffers + 1) * s->kt;
		}
		sched_copy_matrix(c, &emit, &dst, &src, at.rows, at.cols);
	}
	s->need[turn] = c->sem[LOADED].count;
}

/* Address of the operand that step @t reads; notes that it does. */
static uint32_t operand_of(const struct stream *s, struct operand *o, uint64_t t)
{
	uint32_t slot = o->of_step[t % s->t.buffers];

	o->slot[slot].used = t + 1;
	return o->addr + o->bytes * slot;
}

static uint32_t rows_of_part(const struct stream *s, uint32_t rows)
{
	return vtpu_cost_round(vtpu_cost_div(rows, s->t.epilogue_splits), 8);
}

/* Write the product of step @t; of the last k in parts with the epilogue. @stores: STORED that its result waits for */
static void compute_step(struct stream *s, struct sched *c, uint64_t t, uint32_t stores)
{
	const struct dense_layer *l = s->l;
	struct step at = step_at(s, t);
	bool first = !at.k, last = at.k == s->kt - 1;
	uint32_t in = vtpu_type_bytes(l->type), out = vtpu_type_bytes(s->d->y_type);
	uint32_t x = operand_of(s, &s->x, t), w = operand_of(s, &s->w, t);
	uint32_t rows = last ? rows_of_part(s, at.rows) : at.rows;
	struct vtpu_insn_mxu mxu = {
		.b = w,
		.a_type = l->type,
		.b_type = l->type,
		.n = at.cols,
		.k = at.depth,
		.g = 1,
		.lda = (s->x.keep == KEEP_ROWS ? l->k : at.depth) * in,
		.ldb = (l->user->w_transposed ? at.depth : at.cols) * in,
		.mode = l->user->w_transposed ? VTPU_MXU_TRANS_B : 0,
	};

	if (s->x.keep == KEEP_ROWS)
		x += at.k * s->t.bk * in;
	if (!first)
		mxu.mode |= VTPU_MXU_ACCUMULATE;
	if (sched_split_rows(s->d->geometry, &mxu, rows))
		mxu.mode |= VTPU_MXU_SPLIT_M;
	for (uint32_t row = 0; row < at.rows; row += rows) {
		struct vtpu_emit emit = { .op = l->op };

		mxu.m = at.rows - row < rows ? at.rows - row : rows;
		mxu.a = x + row * mxu.lda;
		mxu.c = 0;
		if (!first) {
			mxu.ldc = at.cols * 4;
			mxu.c = s->acc[at.block % 2] + row * mxu.ldc;
		}
		mxu.d_type = last ? s->d->y_type : VTPU_TYPE_F32;
		mxu.ldd = at.cols * (last ? out : 4);
		mxu.d = (last ? s->out : s->acc)[at.block % 2] + row * mxu.ldd;
		if (last) {
			memcpy(mxu.epi_op, l->epi_op, sizeof(mxu.epi_op));
			memcpy(mxu.epi_arg, l->epi_arg, sizeof(mxu.epi_arg));
			if (l->scale_arg >= 0)
				mxu.epi_arg[l->scale_arg] = s->scale + at.n * s->t.bn * 4;
			if (l->bias_arg >= 0)
				mxu.epi_arg[l->bias_arg] = s->bias + at.n * s->t.bn * 4;
			if (l->residual_arg >= 0)
				mxu.epi_arg[l->residual_arg] =
					s->res[at.block % s->t.buffers] + row * mxu.ldd;
			emit.signal[0].sem = READY;
			emit.signal[0].inc = 1;
		}
		if (!row) {
			emit.wait[0].sem = LOADED;
			emit.wait[0].value = s->need[t % s->t.buffers];
			/* Whichever comes first writes where an earlier result lies. */
			if (s->sum_in_place ? first : last) {
				emit.wait[1].sem = STORED;
				emit.wait[1].value = stores;
			}
		}
		if (row + mxu.m == at.rows) {
			emit.signal[1].sem = CONSUMED;
			emit.signal[1].inc = 1;
		}
		sched_matmul(c, &emit, &mxu);
	}
}

/* Write the stores of a finished block. @ready: READY before its first part */
static void store_block(struct stream *s, struct sched *c, const struct step *at, uint32_t ready)
{
	uint64_t yb = vtpu_type_bytes(s->d->y_type);
	uint32_t rows = rows_of_part(s, at->rows);
	struct vtpu_emit emit = {
		.op = s->l->op,
		.wait[0] = { .sem = READY },
		.signal[0] = { .sem = STORED, .inc = 1 },
	};
	struct sched_matrix src = { .type = s->d->y_type, .pitch = at->cols * yb };
	struct sched_matrix dst = { .type = s->d->y_type, .pitch = s->l->n * yb };

	for (uint32_t row = 0; row < at->rows; row += rows) {
		emit.wait[0].value = ++ready;
		src.addr = VTPU_ADDR(VTPU_SPACE_VMEM, 0, s->out[at->block % 2] + row * src.pitch);
		dst.addr = VTPU_ADDR(VTPU_SPACE_HBM, s->d->y_base,
				     ((uint64_t)at->m * s->t.bm + row) * dst.pitch +
					     (uint64_t)at->n * s->t.bn * yb);
		sched_copy_matrix(c, &emit, &dst, &src,
				  at->rows - row < rows ? at->rows - row : rows, at->cols);
	}
}

static void load_vector(const struct stream *s, struct sched *c, uint32_t base, uint32_t addr)
{
	struct vtpu_emit emit = { .op = s->l->op, .signal[0] = { .sem = LOADED, .inc = 1 } };
	struct sched_matrix src = { VTPU_ADDR(VTPU_SPACE_HBM, base, 0), VTPU_TYPE_F32,
				    s->l->n * 4ULL };
	struct sched_matrix dst = { VTPU_ADDR(VTPU_SPACE_VMEM, 0, addr), VTPU_TYPE_F32,
				    s->l->n * 4ULL };

	sched_copy_matrix(c, &emit, &dst, &src, 1, s->l->n);
}

/* The whole schedule of s->t, timed and, with a builder in @c, written. */
static void walk(struct stream *s, struct sched *c)
{
	uint64_t steps = (uint64_t)s->mt * s->nt * s->kt, loaded = 0;
	uint32_t stored[2] = { 0, 0 };

	s->x.loads = s->w.loads = 0;
	memset(s->x.slot, 0, s->x.slots * sizeof(s->x.slot[0]));
	memset(s->w.slot, 0, s->w.slots * sizeof(s->w.slot[0]));
	if (s->l->scale_arg >= 0)
		load_vector(s, c, s->l->scale_base, s->scale);
	if (s->l->bias_arg >= 0)
		load_vector(s, c, s->l->bias_base, s->bias);
	for (uint64_t t = 0; t < steps && !sched_over(c); t++) {
		struct step at = step_at(s, t);
		uint32_t ready = c->sem[READY].count;

		for (; loaded < steps && loaded < t + s->t.buffers; loaded++)
			load_step(s, c, loaded);
		compute_step(s, c, t, stored[at.block % 2]);
		if (at.k < s->kt - 1)
			continue;
		store_block(s, c, &at, ready);
		stored[at.block % 2] = c->sem[STORED].count;
	}
}

/* ---- Choice ------------------------------------------------------------------ */

/* A plan that was timed. */
struct candidate {
	struct vtpu_tiling t;
	enum keep x, w;
	uint64_t cycles;
	uint64_t host;
};

struct choice {
	struct candidate *list;
	uint32_t count, room;
	uint64_t best; /* cycles */
};

/*
 * Plans this close to the best are as good; the one that costs the host least is
 * taken. Where a product takes many passes of the array, its cycles are cheap for
 * the host, so more of them may go.
 */
static uint64_t near(const struct stream *s, uint64_t cycles)
{
	return cycles + cycles / (s->l->type == VTPU_TYPE_F32 ? 64 : 512);
}

/* What a plan costs the host besides multiply-adds: operands packed and results added to, in elements */
static uint64_t host_cost(const struct stream *s)
{
	uint64_t m = s->d->rows, n = s->l->n, k = s->l->k;

	return s->mt * k * n + s->nt * m * k + s->kt * m * n +
	       (uint64_t)s->mt * s->nt * s->kt * STEP_ELEMENTS;
}

/* Cycles of the products of whole tiles, which no schedule can go below */
static uint64_t least_cycles(const struct stream *s)
{
	struct vtpu_insn_mxu tile = {
		.a_type = s->l->type, .b_type = s->l->type, .n = s->t.bn, .k = s->t.bk, .g = 1
	};
	uint64_t steps = s->d->rows / s->t.bm * (s->l->n / s->t.bn) * (s->l->k / s->t.bk);

	return steps * sched_product_cycles(s->d->geometry, &tile, s->t.bm);
}

/* Time the plan that is laid out and keep it if it may be the one. */
static void consider(struct stream *s, struct sched *c, struct choice *choice)
{
	struct candidate *new;

	/* Large tiles come first. */
	if (choice->best && ((uint64_t)s->mt * s->nt * s->kt > MAX_STEPS ||
			     least_cycles(s) > near(s, choice->best)))
		return;
	sched_begin(c, s->d->geometry, NULL);
	c->limit = choice->best ? near(s, choice->best) : UINT64_MAX;
	walk(s, c);
	if (sched_over(c))
		return;
	if (choice->count == choice->room) {
		choice->room = choice->room ? 2 * choice->room : 64;
		new = realloc(choice->list, choice->room * sizeof(*new));
		if (!new) {
			c->no_memory = true;
			return;
		}
		choice->list = new;
	}
	new = &choice->list[choice->count++];
	new->t = s->t;
	new->x = s->x.keep;
	new->w = s->w.keep;
	new->cycles = c->end;
	new->host = host_cost(s);
	if (!choice->best || c->end < choice->best)
		choice->best = c->end;
}

static void consider_keeps(struct stream *s, struct sched *c, struct choice *choice)
{
	uint32_t want = s->d->want.buffers;

	for (int i = 0; i < 2 * KEEPS; i++) {
		s->x.keep = i % KEEPS;
		s->w.keep = i / KEEPS ? KEEP_TILES : KEEP_NONE;
		/* Tiles are only worth keeping where they come again; a single tile of k is whole rows. */
		if ((s->x.keep == KEEP_TILES && s->t.bn >= s->l->n) ||
		    (s->x.keep != KEEP_ROWS && s->t.bk >= s->l->k) ||
		    (s->w.keep == KEEP_TILES && s->t.bm >= s->d->rows))
			continue;
		for (s->t.buffers = want ? want : 3; s->t.buffers; s->t.buffers--) {
			if (layout(s)) {
				consider(s, c, choice);
				break;
			}
			if (want)
				break;
		}
	}
}

/* Sizes to try for one side: what the caller wants, else powers of two up to all of it. */
static uint32_t sizes(uint32_t want, uint64_t total, uint32_t least, uint32_t most, uint32_t *size)
{
	uint32_t n = 0;

	if (want) {
		size[n++] = want < total ? want : total;
		return n;
	}
	for (uint64_t v = least; v < total && v <= most; v *= 2)
		size[n++] = v;
	if (total <= 2 * most)
		size[n++] = total;
	return n;
}

static const struct candidate *choose(struct stream *s, struct sched *c, struct choice *choice)
{
	const struct vtpu_tiling *want = &s->d->want;
	uint32_t bm[16], bn[16], bk[16], nm, nn, nk;
	const struct candidate *best = NULL;

	nm = sizes(want->bm, s->d->rows, 64, 2048, bm);
	nn = sizes(want->bn, s->l->n, 128, 2048, bn);
	nk = sizes(want->bk, s->l->k, 128, 2048, bk);
	for (uint32_t i = nm * nn * nk; i-- && !c->no_memory;) {
		s->t.bm = want->bm ? bm[0] : dense_rows(s->d->rows, bm[i / nk / nn]);
		s->t.bn = bn[i / nk % nn];
		s->t.bk = bk[i % nk];
		s->t.epilogue_splits = want->epilogue_splits ? want->epilogue_splits :
				       s->t.bm >= 512	     ? 4 :
							       1;
		consider_keeps(s, c, choice);
	}
	for (uint32_t i = 0; i < choice->count; i++) {
		const struct candidate *this = &choice->list[i];

		if (this->cycles <= near(s, choice->best) && (!best || this->host < best->host))
			best = this;
	}
	return best;
}

enum vtpu_status dense_stream(const struct dense *d, struct vtpu_builder *b, struct vtpu_plan *plan)
{
	struct stream *s = calloc(1, sizeof(*s));
	const struct candidate *best;
	struct choice choice = { 0 };
	struct sched clock = { 0 };
	enum vtpu_status status = VTPU_OK;

	if (!s)
		return vtpu_fail_nomem("a matrix product's plan");
	s->d = d;
	s->l = &d->layer[0];
	best = choose(s, &clock, &choice);
	if (clock.no_memory) {
		status = vtpu_fail_nomem("a matrix product's plan");
	} else if (!best) {
		status = vtpu_fail(VTPU_ERROR_UNSUPPORTED,
				   "layer '%s': no tiling of [%" PRIu64 ", %" PRIu32 "] x [%" PRIu32
				   ", %" PRIu32 "] with the wishes given fits %" PRIu64
				   " bytes of VMEM; leave tiling zero or ask for smaller tiles",
				   s->l->user->name, d->rows, s->l->k, s->l->k, s->l->n,
				   (uint64_t)d->geometry->vmem_bytes);
	} else {
		s->t = best->t;
		s->x.keep = best->x;
		s->w.keep = best->w;
		layout(s);
		sched_begin(&clock, d->geometry, b);
		for (int i = 0; i < SEMS; i++)
			vtpu_builder_semaphore(b);
		vtpu_builder_vmem(b, s->vmem, DENSE_TILE);
		walk(s, &clock);
		plan->tiling = s->t;
		plan->vmem_bytes = s->vmem;
		plan->cycles = clock.end;
		if (clock.no_memory)
			status = vtpu_fail_nomem("a matrix product's plan");
	}
	free(choice.list);
	sched_free(&clock);
	free(s);
	return status;
}
