// SPDX-License-Identifier: MIT
/*
 * shrink.c - rows and columns that nobody uses are not computed.
 *
 * Images keep a box of rows and columns from the corner. What is outside is either
 * not used (forward: what windows of a pooling drop, back to the input), or
 * zero (backward: gradients of that). Boxes are the smallest that satisfy all steps:
 * they begin empty and grow until nothing changes. A step that knows nothing of boxes
 * wants its operands whole.
 */
#include <string.h>

#include "compile/ir.h"

struct shrink {
	struct plan *plan;
	uint32_t (*zero)[2]; /* of each value: beyond it there are zeros only */
	bool changed;
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void raise(struct shrink *x, struct value *v, int d, uint32_t to)
{
	if (!v || !v->dim[0] || v->box[d] >= v->dim[d])
		return;
	to = min_u32(to, v->dim[d]);
	if (to > v->box[d]) {
		v->box[d] = to;
		x->changed = true;
	}
}

static void raise_full(struct shrink *x, struct value *v)
{
	for (int d = 0; v && d < 2; d++)
		raise(x, v, d, UINT32_MAX);
}

static uint32_t reach(const struct window_step *w, int d)
{
	return w->dil[d] * (w->ker[d] - 1) + 1;
}

/* Rows of the input that the first @out windows touch. */
static uint32_t touched(const struct window_step *w, int d, uint32_t out)
{
	uint32_t end = out ? (out - 1) * w->stride[d] + reach(w, d) : 0;

	return end > w->before[d] ? end - w->before[d] : 0;
}

/* Windows that fit @in rows without padding behind them. */
static uint32_t fitting(const struct window_step *w, int d, uint32_t in)
{
	return in + w->before[d] < reach(w, d) ?
		       0 :
		       (in + w->before[d] - reach(w, d)) / w->stride[d] + 1;
}

/* Windows that touch one of the first @in rows. */
static uint32_t touching(const struct window_step *w, int d, uint32_t in)
{
	return in ? (in - 1 + w->before[d]) / w->stride[d] + 1 : 0;
}

/* ---- Zeros, forward ------------------------------------------------------------------- */

/* Is the output zero where the leaves marked in @zero are? */
static bool stays_zero(const struct ew_expr *e, const bool *zero, uint32_t out)
{
	bool z[EW_LEAVES + EW_OPS];

	memcpy(z, zero, EW_LEAVES * sizeof(*z));
	for (uint32_t i = 0; i < e->ops; i++) {
		const struct ew_op *op = &e->op[i];
		bool r = false;

		switch (op->op) {
		case VTPU_EW_MUL:
			r = z[op->a] || z[op->b];
			break;
		case VTPU_EW_ADD:
		case VTPU_EW_SUB:
		case VTPU_EW_SELECT:
			r = z[op->a] && z[op->b];
			break;
		case VTPU_EW_MOV:
		case VTPU_EW_NEG:
		case VTPU_EW_ABS:
		case VTPU_EW_RELU:
			r = z[op->a];
			break;
		default:
			break;
		}
		z[EW_OP(i)] = r;
	}
	return z[e->out[out]];
}

static void zero_of_ew(struct shrink *x, const struct step *s, int d)
{
	for (uint32_t o = 0; o < s->outs; o++) {
		uint32_t best = s->out[o]->dim[d];

		for (uint32_t k = 0; k < s->ew.leaves; k++) {
			bool zero[EW_LEAVES] = { false };
			uint32_t edge = 0;

			if (s->ew.leaf[k].kind == LEAF_VALUE && s->ew.leaf[k].value->dim[0])
				edge = x->zero[s->ew.leaf[k].value->id][d];
			if (!edge || edge >= best)
				continue;
			for (uint32_t i = 0; i < s->ew.leaves; i++) {
				const struct ew_leaf *leaf = &s->ew.leaf[i];

				zero[i] = leaf->kind == LEAF_NUMBER ?
						  !leaf->number :
						  leaf->kind == LEAF_VALUE && leaf->value->dim[0] &&
							  !leaf->bcast &&
							  x->zero[leaf->value->id][d] <= edge;
			}
			if (stays_zero(&s->ew, zero, o))
				best = edge;
		}
		x->zero[s->out[o]->id][d] = best;
	}
}

static void find_zeros(struct shrink *x)
{
	struct plan *p = x->plan;

	for (size_t i = 0; i < p->values; i++) {
		for (int d = 0; d < 2; d++)
			x->zero[i][d] = p->value[i]->dim[d];
	}
	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];

		for (int d = 0; d < 2; d++) {
			if (s->kind == STEP_DGRAD || s->kind == STEP_POOL_GRAD)
				x->zero[s->out[0]->id][d] =
					min_u32(s->out[0]->dim[d],
						touched(&s->win, d, x->zero[s->in[0]->id][d]));
			else if (s->kind == STEP_EW && s->out[0]->dim[0])
				zero_of_ew(x, s, d);
		}
	}
}

/* ---- Boxes, until nothing changes ---------------------------------------------------------- */

static void raise_nonzero(struct shrink *x, struct value *v, int d, uint32_t to)
{
	raise(x, v, d, min_u32(to, v->dim[0] ? x->zero[v->id][d] : 0));
}

/* Windows over in[0] that give out[0]. */
static void forward(struct shrink *x, struct step *s, int d)
{
	uint32_t pool = s->win.pool[d] ? s->win.pool[d] : 1;

	raise_nonzero(x, s->in[0], d, touched(&s->win, d, s->out[0]->box[d] * pool));
	raise(x, s->out[0], d, fitting(&s->win, d, s->in[0]->box[d]) / pool);
	if (s->out[1]) {
		raise(x, s->out[1], d, s->out[0]->box[d]);
		raise(x, s->out[0], d, s->out[1]->box[d]);
	}
}

/* Windows whose gradients in[0] go to out[0]. */
static void backward(struct shrink *x, struct step *s, int d)
{
	raise_nonzero(x, s->in[0], d, touching(&s->win, d, s->out[0]->box[d]));
	raise(x, s->in[0], d, fitting(&s->win, d, s->out[0]->box[d]));
	if (s->kind == STEP_POOL_GRAD && s->in[1]) {
		raise(x, s->in[1], d, s->in[0]->box[d]);
		raise(x, s->in[0], d, s->in[1]->box[d]);
	}
}

static void weights(struct shrink *x, struct step *s, int d)
{
	raise_nonzero(x, s->in[1], d, UINT32_MAX);
	raise_nonzero(x, s->in[0], d, touched(&s->win, d, s->in[1]->box[d]));
	raise(x, s->in[1], d, fitting(&s->win, d, s->in[0]->box[d]));
}

/* Everything of the same shape has the same box. */
static void pointwise(struct shrink *x, struct step *s)
{
	const struct value *like = s->out[0];
	bool full = !like->dim[0];

	for (uint32_t i = 0; i < s->ew.leaves; i++) {
		const struct ew_leaf *leaf = &s->ew.leaf[i];

		if (leaf->kind != LEAF_VALUE)
			continue;
		if (leaf->bcast == VTPU_BCAST_ROW)
			full |= leaf->span != like->dim[2];
		else if (leaf->bcast == VTPU_BCAST_COL)
			full |= leaf->span != 1;
		else if (leaf->bcast == VTPU_BCAST_FULL)
			full |= memcmp(leaf->value->dim, like->dim, sizeof(like->dim)) != 0;
	}
	for (int d = 0; d < 2; d++) {
		uint32_t most = full ? UINT32_MAX : 0;

		for (uint32_t i = 0; i < s->outs && !full; i++)
			most = s->out[i]->box[d] > most ? s->out[i]->box[d] : most;
		for (uint32_t i = 0; i < s->ew.leaves && !full; i++) {
			const struct ew_leaf *leaf = &s->ew.leaf[i];

			if (leaf->kind == LEAF_VALUE && !leaf->bcast && leaf->value->box[d] > most)
				most = leaf->value->box[d];
		}
		for (uint32_t i = 0; i < s->outs; i++)
			raise(x, s->out[i], d, most);
		for (uint32_t i = 0; i < s->ins; i++) {
			if (s->in[i]->dim[0])
				raise(x, s->in[i], d, most);
		}
	}
}

static void visit(struct shrink *x, struct step *s)
{
	switch (s->kind) {
	case STEP_CONV:
	case STEP_POOL:
		forward(x, s, 0);
		forward(x, s, 1);
		break;
	case STEP_DGRAD:
	case STEP_POOL_GRAD:
		backward(x, s, 0);
		backward(x, s, 1);
		break;
	case STEP_WGRAD:
		weights(x, s, 0);
		weights(x, s, 1);
		break;
	case STEP_EW:
		pointwise(x, s);
		break;
	default:
		if (s->kind == STEP_REDUCE && s->rows.down && s->in[0]->dim[0] &&
		    (s->rows.cols == s->in[0]->dim[2] || s->rows.cols == 1)) {
			raise_nonzero(x, s->in[0], 0, UINT32_MAX);
			raise_nonzero(x, s->in[0], 1, UINT32_MAX);
			break;
		}
		for (uint32_t i = 0; i < s->ins; i++)
			raise_full(x, s->in[i]);
		for (uint32_t i = 0; i < s->outs; i++)
			raise_full(x, s->out[i]);
		break;
	}
}

bool pass_shrink(struct plan *p)
{
	struct shrink x = { .plan = p };

	if (p->options.no_shrink)
		return true;
	x.zero = arena_array(&p->arena, p->values + 1, sizeof(*x.zero));
	if (!x.zero)
		return plan_nomem(p);
	find_zeros(&x);
	for (size_t i = 0; i < p->values; i++)
		p->value[i]->box[0] = p->value[i]->box[1] = 0;
	do {
		x.changed = false;
		for (size_t i = p->steps; i-- > 0;)
			visit(&x, p->step[i]);
	} while (x.changed);
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];

		if (v->dim[0] && (!v->box[0] || !v->box[1])) {
			v->box[0] = v->dim[0];
			v->box[1] = v->dim[1];
		}
	}
	return true;
}
