// SPDX-License-Identifier: MIT
/*
 * conv.c - the window generator, and convolutions element by element.
 */
#include "conv.h"
#include "cost.h"

/* ---- Axes ------------------------------------------------------------------ */

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

struct vtpu_axis_run vtpu_axis_taps(const struct vtpu_axis *ax, uint32_t position)
{
	const int64_t base = (int64_t)position * ax->stride - ax->pad;
	const uint32_t by = ax->lhs / gcd(ax->lhs, ax->dil);
	struct vtpu_axis_run run = { .first = position, .step = 1, .count = 1, .tap_step = by };
	int64_t tap = 0, at, room;

	while (tap < by && (base + tap * ax->dil) % (int64_t)ax->lhs)
		tap++;
	if (tap == by)
		return run;
	at = base + tap * ax->dil;
	if (at < 0) {
		int64_t stride = (int64_t)by * ax->dil, skip = (-at + stride - 1) / stride;

		tap += skip * by;
		at += skip * stride;
	}
	room = (int64_t)(ax->source - 1) * ax->lhs - at;
	if (room < 0 || tap >= ax->taps)
		return run;
	room /= ax->dil;
	if (room > ax->taps - 1 - tap)
		room = ax->taps - 1 - tap;
	run.tap = (uint32_t)tap;
	run.taps = (uint32_t)(room / by) + 1;
	run.source = (uint32_t)(at / ax->lhs);
	run.by_tap = by * ax->dil / ax->lhs;
	return run;
}

bool vtpu_axis_next(const struct vtpu_axis *ax, struct vtpu_axis_walk *w, struct vtpu_axis_run *run)
{
	const uint32_t step = ax->lhs / gcd(ax->lhs, ax->stride);
	uint64_t at;

	while ((at = w->from + w->residue + (uint64_t)w->next * step) >= w->end) {
		if (++w->residue >= step)
			return false;
		w->next = 0;
	}
	*run = vtpu_axis_taps(ax, (uint32_t)at);
	run->step = step;
	run->by_position = step * ax->stride / ax->lhs;
	for (at += step; at < w->end; at += step, run->count++) {
		struct vtpu_axis_run other = vtpu_axis_taps(ax, (uint32_t)at);

		if (other.tap != run->tap || other.taps != run->taps)
			break;
	}
	w->next += run->count;
	return true;
}

void vtpu_axis_windows(const struct vtpu_axis *ax, uint32_t tap, uint32_t *first, uint32_t *end)
{
	int64_t at = (int64_t)tap * ax->dil - ax->pad, last = (int64_t)ax->source - 1 - at;

	*first = at < 0 ? (uint32_t)((-at + ax->stride - 1) / ax->stride) : 0;
	*end = last < 0 ? 0 : (uint32_t)(last / ax->stride) + 1;
	if (*end > ax->positions)
		*end = ax->positions;
	if (*first >= *end)
		*first = *end = 0;
}

static struct vtpu_axis forward(uint32_t in, uint32_t ker, uint32_t stride, uint32_t dil,
				uint32_t before, uint32_t after)
{
	return (struct vtpu_axis){
		.positions = (uint32_t)vtpu_cost_conv_windows(in, ker, stride, dil, before + after),
		.source = in,
		.taps = ker,
		.stride = stride,
		.dil = dil,
		.lhs = 1,
		.pad = (int32_t)before,
	};
}

static struct vtpu_axis reversed(struct vtpu_axis ax)
{
	return (struct vtpu_axis){
		.positions = ax.source,
		.source = ax.positions,
		.taps = ax.taps,
		.stride = 1,
		.dil = ax.dil,
		.lhs = ax.stride,
		.pad = (int32_t)((ax.taps - 1) * ax.dil) - ax.pad,
	};
}

void vtpu_conv_axes(const struct vtpu_insn *insn, struct vtpu_axis *h, struct vtpu_axis *w)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;

	*h = forward(x->in_h, x->ker_h, x->stride_h, x->dil_h, x->pad_top, x->pad_bottom);
	*w = forward(x->in_w, x->ker_w, x->stride_w, x->dil_w, x->pad_left, x->pad_right);
	if (insn->opcode == VTPU_OP_CONV_DGRAD) {
		*h = reversed(*h);
		*w = reversed(*w);
	}
}

/* ---- Element by element ---------------------------------------------------- */

static float element(const struct vtpu_op *op, uint32_t addr, uint64_t row, uint32_t pitch,
		     uint32_t col, unsigned int type)
{
	const uint8_t *p =
		vtpu_op_vmem(op, addr) + row * pitch + (size_t)col * vtpu_type_bytes(type);
	uint16_t half;
	float f;

	if (type == VTPU_TYPE_BF16) {
		memcpy(&half, p, sizeof(half));
		return vtpu_bf16_to_f32(half);
	}
	memcpy(&f, p, sizeof(f));
	return f;
}

/* CONV: taps and channels of the input. CONV_DGRAD: taps, reversed, and channels of the gradient. */
static float gather_chain(const struct vtpu_op *op, const struct vtpu_axis *h,
			  const struct vtpu_axis *w, uint64_t pixel, uint32_t col, float acc)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	const bool back = op->insn->opcode == VTPU_OP_CONV_DGRAD;
	const uint32_t outs = back ? x->k : x->n, ins = back ? x->n : x->k, group = col / outs;
	const uint64_t image = pixel / w->positions / h->positions;
	struct vtpu_axis_run r = vtpu_axis_taps(h, (uint32_t)(pixel / w->positions % h->positions));
	struct vtpu_axis_run q = vtpu_axis_taps(w, (uint32_t)(pixel % w->positions));

	for (uint32_t i = 0; i < r.taps; i++) {
		for (uint32_t j = 0; j < q.taps; j++) {
			uint64_t from = (image * h->source + r.source + i * r.by_tap) * w->source +
					q.source + j * q.by_tap;
			uint32_t y = r.tap + i * r.tap_step, z = q.tap + j * q.tap_step;
			uint64_t tap =
				back ? (uint64_t)(h->taps - 1 - y) * w->taps + w->taps - 1 - z :
				       (uint64_t)y * w->taps + z;

			for (uint32_t c = 0; c < ins; c++) {
				float a =
					element(op, x->a, from, x->lda, group * ins + c, x->a_type);
				float b = back ? element(op, x->b, tap * x->k + col % outs, x->ldb,
							 group * ins + c, x->b_type) :
						 element(op, x->b, tap * x->k + c, x->ldb, col,
							 x->b_type);

				acc = __builtin_fmaf(a, b, acc);
			}
		}
	}
	return acc;
}

static float wgrad_chain(const struct vtpu_op *op, const struct vtpu_axis *h,
			 const struct vtpu_axis *w, uint64_t row, uint32_t col, float acc)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	const uint32_t c = (uint32_t)(row % x->k) + col / x->n * x->k;
	const uint32_t y = (uint32_t)(row / x->k / w->taps), z = (uint32_t)(row / x->k % w->taps);
	uint32_t p0, p1, q0, q1;

	vtpu_axis_windows(h, y, &p0, &p1);
	vtpu_axis_windows(w, z, &q0, &q1);
	for (uint64_t image = 0; image < x->m && !vtpu_op_cancelled(op); image++) {
		for (uint32_t p = p0; p < p1; p++) {
			uint64_t line = image * h->source + p * h->stride - h->pad + y * h->dil;

			for (uint32_t q = q0; q < q1; q++) {
				uint64_t from =
					line * w->source + q * w->stride - w->pad + z * w->dil;
				uint64_t to = (image * h->positions + p) * w->positions + q;

				acc = __builtin_fmaf(element(op, x->a, from, x->lda, c, x->a_type),
						     element(op, x->b, to, x->ldb, col, x->b_type),
						     acc);
			}
		}
	}
	return acc;
}

void vtpu_conv_plain(const struct vtpu_op *op, uint64_t pixel, uint32_t col, uint32_t cols,
		     float *out)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	struct vtpu_axis h, w;

	vtpu_conv_axes(op->insn, &h, &w);
	for (uint32_t j = 0; j < cols && !vtpu_op_cancelled(op); j++) {
		float acc = x->mode & VTPU_MXU_ACCUMULATE ?
				    element(op, x->c, pixel, x->ldc, col + j, VTPU_TYPE_F32) :
				    0.0f;

		out[j] = op->insn->opcode == VTPU_OP_CONV_WGRAD ?
				 wgrad_chain(op, &h, &w, pixel, col + j, acc) :
				 gather_chain(op, &h, &w, pixel, col + j, acc);
	}
}
