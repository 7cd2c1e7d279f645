// SPDX-License-Identifier: MIT
/*
 * unit_pool.c - POOL and POOL_GRAD: rows of images, in pieces that a kernel does at once.
 */
#include "cost.h"
#include "unit.h"

#define PART_ELEMENTS (1u << 16)
/* Taps of elements that one call of a kernel goes through, about. */
#define CALL_TAPS (1u << 18)

/** struct rows - how an instruction falls into rows of images */
struct rows {
	uint32_t out_h, out_w;
	uint32_t rows; /* of an image: outputs; gradient: inputs, or windows that touch */
	uint32_t cols; /* of a row */
	bool grad;
	bool spread; /* maxima of windows that touch: each output has its inputs for itself */
};

static void rows_init(struct rows *r, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_pool *x = &insn->payload.pool;

	r->out_h = vtpu_cost_windows(x->in_h, x->pad_top, x->pad_bottom, x->ker_h, x->stride_h);
	r->out_w = vtpu_cost_windows(x->in_w, x->pad_left, x->pad_right, x->ker_w, x->stride_w);
	r->grad = insn->opcode == VTPU_OP_POOL_GRAD;
	r->spread = r->grad && x->op == VTPU_POOL_MAX && x->stride_h == x->ker_h &&
		    x->stride_w == x->ker_w && !x->pad_top && !x->pad_left && !x->pad_bottom &&
		    !x->pad_right;
	r->rows = r->grad && !r->spread ? x->in_h : r->out_h;
	r->cols = r->grad && !r->spread ? x->in_w : r->out_w;
}

uint32_t vtpu_pool_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct vtpu_insn_pool *x = &op->insn->payload.pool;
	uint64_t parts = (uint64_t)x->images * x->in_h * x->in_w * x->channels / PART_ELEMENTS;
	struct rows r;
	uint64_t most;

	(void)threads;
	rows_init(&r, op->insn);
	most = (uint64_t)x->images * r.rows;
	if (parts > most)
		parts = most;
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

/* What no window has, right of and below those of row @row, gets no gradient. */
static void clear_rest(const struct rows *r, const struct vtpu_insn_pool *x, uint8_t *image,
		       uint32_t row)
{
	const size_t pixel = (size_t)x->channels * vtpu_type_bytes(x->type);
	const size_t line = x->in_w * pixel, used = (size_t)r->out_w * x->ker_w * pixel;
	uint8_t *first = image + (size_t)row * x->ker_h * line;

	if (used < line)
		for (uint32_t y = 0; y < x->ker_h; y++)
			memset(first + y * line + used, 0, line - used);
	if (row == r->out_h - 1)
		memset(first + x->ker_h * line, 0, (x->in_h - (size_t)r->out_h * x->ker_h) * line);
}

/* One row of an image, piece by piece. */
static void do_row(const struct vtpu_op *op, const struct rows *r, struct vtpu_pooling *p,
		   uint32_t row)
{
	const struct vtpu_kernels *k = op->run->kernels;
	const size_t most = CALL_TAPS / (p->ker_h * p->ker_w);
	const size_t channels = p->channels < most ? p->channels : most;
	const uint32_t cols = most / channels < r->cols ? most / channels : r->cols;

	for (p->from = 0; p->from < p->channels; p->from = p->to) {
		p->to = p->channels - p->from < channels ? p->channels : p->from + channels;
		for (p->col = 0; p->col < r->cols && !vtpu_op_cancelled(op); p->col = p->col_end) {
			p->col_end = r->cols - p->col < cols ? r->cols : p->col + cols;
			if (r->spread)
				k->pool_spread(p, row);
			else if (r->grad)
				k->pool_grad(p, row);
			else
				k->pool(p, row);
		}
	}
}

void vtpu_pool_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_pool *x = &op->insn->payload.pool;
	const size_t size = vtpu_type_bytes(x->type);
	size_t image, pooled;
	struct rows r;
	uint64_t end;

	(void)s;
	rows_init(&r, op->insn);
	image = (size_t)x->in_h * x->in_w * x->channels;
	pooled = (size_t)r.out_h * r.out_w * x->channels;
	end = vtpu_split((uint64_t)x->images * r.rows, part + 1, parts);
	for (uint64_t i = vtpu_split((uint64_t)x->images * r.rows, part, parts);
	     i < end && !vtpu_op_cancelled(op); i++) {
		const uint64_t n = i / r.rows;
		struct vtpu_pooling p = {
			.in = vtpu_op_vmem(op, x->in) + n * (r.grad ? pooled : image) * size,
			.out = vtpu_op_vmem(op, x->out) + n * (r.grad ? image : pooled) * size,
			.index = x->mode & VTPU_POOL_INDEX ?
					 vtpu_op_vmem(op, x->index) + n * pooled :
					 NULL,
			.type = x->type,
			.average = x->op == VTPU_POOL_AVERAGE,
			.channels = x->channels,
			.in_h = x->in_h,
			.in_w = x->in_w,
			.out_h = r.out_h,
			.out_w = r.out_w,
			.ker_h = x->ker_h,
			.ker_w = x->ker_w,
			.stride_h = x->stride_h,
			.stride_w = x->stride_w,
			.pad_top = x->pad_top,
			.pad_left = x->pad_left,
		};

		do_row(op, &r, &p, (uint32_t)(i % r.rows));
		if (r.spread)
			clear_rest(&r, x, p.out, (uint32_t)(i % r.rows));
	}
}
