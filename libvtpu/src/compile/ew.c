// SPDX-License-Identifier: MIT
/*
 * ew.c - element-wise expressions: putting two together, and finding registers.
 *
 * An expression is in single assignment form. An instruction has four registers, loaded
 * with the inputs at the start, and two immediates; results must end in r0 and r1. All
 * orders of the inputs are tried, and the shortest code is taken.
 */
#include <string.h>

#include "compile/ir.h"

#define REGISTERS 4
#define NONE	  0xff

static bool takes_c(uint8_t op)
{
	return op == VTPU_EW_FMA || op == VTPU_EW_SELECT;
}

static bool takes_b(uint8_t op)
{
	switch (op) {
	case VTPU_EW_ADD:
	case VTPU_EW_SUB:
	case VTPU_EW_MUL:
	case VTPU_EW_DIV:
	case VTPU_EW_MIN:
	case VTPU_EW_MAX:
	case VTPU_EW_FMA:
	case VTPU_EW_CMP_EQ:
	case VTPU_EW_CMP_LT:
	case VTPU_EW_CMP_LE:
	case VTPU_EW_SELECT:
		return true;
	default:
		return false;
	}
}

/* ---- Registers ------------------------------------------------------------------ */

struct alloc {
	const struct ew_expr *e;
	uint32_t outs;
	uint8_t holds[REGISTERS];	   /* argument that is in a register */
	uint8_t where[EW_LEAVES + EW_OPS]; /* register or immediate of an argument */
	uint32_t last[EW_LEAVES + EW_OPS]; /* op that uses it last; EW_OPS: an output */
	struct ew_code code;
};

static bool put(struct alloc *a, uint8_t op, uint8_t dst, uint8_t x, uint8_t y)
{
	if (a->code.ops == 8)
		return false;
	a->code.op[a->code.ops].op = op;
	a->code.op[a->code.ops++].args = VTPU_EW_ARGS(dst, x, y);
	return true;
}

static void find_last(struct alloc *a)
{
	memset(a->last, 0, sizeof(a->last));
	for (uint32_t i = 0; i < a->e->ops; i++) {
		const struct ew_op *op = &a->e->op[i];

		a->last[EW_OP(i)] = i; /* dead at once, unless used */
		a->last[op->a] = i;
		if (takes_b(op->op))
			a->last[op->b] = i;
		if (takes_c(op->op))
			a->last[op->c] = i;
	}
	for (uint32_t i = 0; i < a->outs; i++)
		a->last[a->e->out[i]] = EW_OPS;
}

/* A register whose content is not needed after op @i (before it: @strict). Wanted: @want. */
static uint8_t free_register(const struct alloc *a, uint32_t i, bool strict, uint8_t want)
{
	uint8_t found = NONE;

	for (uint8_t r = 0; r < REGISTERS; r++) {
		uint8_t held = a->holds[r];
		bool used_now = held != NONE && a->last[held] == i && held < EW_OP(i);

		if (held != NONE && a->last[held] > i)
			continue;
		if (strict && used_now)
			continue;
		if (r == want)
			return r;
		found = r;
	}
	return found;
}

static bool do_op(struct alloc *a, uint32_t i)
{
	const struct ew_op *op = &a->e->op[i];
	uint8_t self = EW_OP(i), dst, want = NONE;
	uint8_t x = a->where[op->a], y = takes_b(op->op) ? a->where[op->b] : 0;

	for (uint32_t o = 0; o < a->outs; o++) {
		if (a->e->out[o] == self)
			want = (uint8_t)o;
	}
	if (takes_c(op->op)) {
		dst = a->where[op->c];
		if (dst >= REGISTERS || a->last[op->c] > i || op->c == op->a || op->c == op->b) {
			uint8_t spare = free_register(a, i, true, want);

			if (spare == NONE || !put(a, VTPU_EW_MOV, spare, dst, 0))
				return false;
			dst = spare;
		}
	} else {
		dst = free_register(a, i, false, want);
	}
	if (dst == NONE || !put(a, op->op, dst, x, y))
		return false;
	a->holds[dst] = self;
	a->where[self] = dst;
	return true;
}

static bool finish(struct alloc *a)
{
	uint8_t first = a->where[a->e->out[0]], second = a->outs > 1 ? a->where[a->e->out[1]] : 1;

	if (a->outs > 1 && second == 0 && first != 0) {
		/* the second is where the first must go */
		if (first == 1) {
			if (!put(a, VTPU_EW_MOV, 2, 1, 0))
				return false;
			first = 2;
		}
		if (!put(a, VTPU_EW_MOV, 1, 0, 0))
			return false;
		second = 1;
	}
	if (first != 0 && !put(a, VTPU_EW_MOV, 0, first, 0))
		return false;
	return second == 1 || put(a, VTPU_EW_MOV, 1, second, 0);
}

/* Code with value leaf order[i] in register i. */
static bool try_order(const struct ew_expr *e, uint32_t outs, const uint8_t *order, uint32_t inputs,
		      struct ew_code *code)
{
	struct alloc a = { .e = e, .outs = outs };
	uint8_t imm = VTPU_EW_IMM0;

	memset(a.holds, NONE, sizeof(a.holds));
	a.code.inputs = inputs;
	a.code.outs = outs;
	for (uint32_t i = 0; i < inputs; i++) {
		a.holds[i] = order[i];
		a.where[order[i]] = (uint8_t)i;
	}
	for (uint32_t i = 0; i < e->leaves; i++) {
		if (e->leaf[i].kind != LEAF_VALUE)
			a.where[i] = imm++;
		a.code.reg[i] = a.where[i];
	}
	find_last(&a);
	for (uint32_t i = 0; i < e->ops; i++) {
		if (!do_op(&a, i))
			return false;
	}
	if (!finish(&a))
		return false;
	*code = a.code;
	return true;
}

/* All orders of the first @n of @order, from place @at on; keeps the shortest code. */
static void permute(const struct ew_expr *e, uint32_t outs, uint8_t *order, uint32_t n, uint32_t at,
		    struct ew_code *best, bool *found)
{
	struct ew_code code;

	if (at == n) {
		if (try_order(e, outs, order, n, &code) && (!*found || code.ops < best->ops)) {
			*best = code;
			*found = true;
		}
		return;
	}
	for (uint32_t i = at; i < n; i++) {
		uint8_t t = order[at];

		order[at] = order[i];
		order[i] = t;
		permute(e, outs, order, n, at + 1, best, found);
		order[i] = order[at];
		order[at] = t;
	}
}

bool ew_assign(const struct ew_expr *e, uint32_t outs, struct ew_code *code)
{
	uint8_t order[EW_LEAVES];
	uint32_t inputs = 0, imms = 0;
	bool found = false;

	for (uint32_t i = 0; i < e->leaves; i++) {
		if (e->leaf[i].kind == LEAF_VALUE)
			order[inputs++] = (uint8_t)i;
		else
			imms++;
	}
	if (inputs > REGISTERS || imms > 2)
		return false;
	permute(e, outs, order, inputs, 0, code, &found);
	return found;
}

/* ---- Putting together ------------------------------------------------------------- */

static bool same_leaf(const struct ew_leaf *a, const struct ew_leaf *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case LEAF_VALUE:
		return a->value == b->value && a->bcast == b->bcast && a->span == b->span;
	case LEAF_NUMBER:
		return a->number == b->number;
	default:
		return a->scalar == b->scalar;
	}
}

uint8_t ew_leaf(struct ew_expr *e, const struct ew_leaf *leaf)
{
	for (uint32_t i = 0; i < e->leaves; i++) {
		if (same_leaf(&e->leaf[i], leaf))
			return (uint8_t)i;
	}
	if (e->leaves == EW_LEAVES)
		return EW_LEAVES + EW_OPS;
	e->leaf[e->leaves] = *leaf;
	return (uint8_t)e->leaves++;
}

bool ew_shape_fits(const struct ew_expr *e, uint64_t count)
{
	uint64_t cols = 0;

	for (uint32_t i = 0; i < e->leaves; i++) {
		const struct ew_leaf *leaf = &e->leaf[i];
		uint64_t want;

		if (leaf->kind != LEAF_VALUE ||
		    (leaf->bcast != VTPU_BCAST_ROW && leaf->bcast != VTPU_BCAST_COL))
			continue;
		want = leaf->bcast == VTPU_BCAST_ROW ? leaf->span : count / leaf->span;
		if (cols && cols != want)
			return false;
		cols = want;
	}
	return true;
}

static bool append(struct ew_expr *to, const struct ew_expr *from, uint32_t replaced,
		   uint8_t replacement, uint8_t *map)
{
	for (uint32_t i = 0; i < from->leaves; i++) {
		map[i] = i == replaced ? replacement : ew_leaf(to, &from->leaf[i]);
		if (map[i] == EW_LEAVES + EW_OPS)
			return false;
	}
	for (uint32_t i = 0; i < from->ops; i++) {
		struct ew_op op = from->op[i];

		if (to->ops == EW_OPS)
			return false;
		op.a = map[op.a];
		op.b = takes_b(op.op) ? map[op.b] : 0;
		op.c = takes_c(op.op) ? map[op.c] : 0;
		map[EW_OP(i)] = EW_OP(to->ops);
		to->op[to->ops++] = op;
	}
	return true;
}

bool ew_merge(struct ew_expr *into, uint32_t into_outs, uint32_t leaf, const struct ew_expr *from,
	      uint32_t out, bool keep_out, struct ew_expr *merged)
{
	uint8_t first[EW_LEAVES + EW_OPS], second[EW_LEAVES + EW_OPS];
	uint32_t outs = into_outs + keep_out;
	struct ew_code code;
	uint32_t values = 0;

	memset(merged, 0, sizeof(*merged));
	if (outs > 2 || !append(merged, from, EW_LEAVES + EW_OPS, 0, first) ||
	    !append(merged, into, leaf, first[from->out[out]], second))
		return false;
	for (uint32_t i = 0; i < into_outs; i++)
		merged->out[i] = second[into->out[i]];
	if (keep_out)
		merged->out[into_outs] = first[from->out[out]];
	for (uint32_t i = 0; i < merged->leaves; i++)
		values += merged->leaf[i].kind == LEAF_VALUE;
	return values <= REGISTERS && ew_assign(merged, outs, &code);
}
