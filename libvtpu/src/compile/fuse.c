// SPDX-License-Identifier: MIT
/*
 * fuse.c - fewer, larger instructions: element-wise chains, what goes into an MXU instruction's
 * epilogue, maxima of windows behind convolutions. The loss is loss.c's.
 *
 * A step that takes in the one behind it moves to that one's place, where all operands are there.
 */
#include <string.h>

#include "compile/fuse.h"

/* ---- Dead steps ------------------------------------------------------------------- */

static bool needed(const struct plan *p, const struct step *s)
{
	if (s->kind == STEP_UPDATE || s->kind == STEP_ASSIGN || s->kind == STEP_RESULT)
		return true;
	for (uint32_t i = 0; i < s->outs; i++) {
		if (s->out[i] && plan_uses(p, s->out[i], NULL))
			return true;
	}
	return false;
}

void pass_clean(struct plan *p)
{
	size_t n = 0;

	for (size_t i = p->steps; i-- > 0;)
		p->step[i]->dead |= !needed(p, p->step[i]);
	for (size_t i = 0; i < p->steps; i++) {
		if (!p->step[i]->dead)
			p->step[n++] = p->step[i];
	}
	p->steps = n;
}

/* ---- Order ---------------------------------------------------------------------------- */

struct sorting {
	struct plan *plan;
	struct step **sorted;
	size_t n;
};

static void visit(struct sorting *o, struct step *s);

static void visit_maker(struct sorting *o, const struct value *v)
{
	if (v && v->pair)
		v = v->pair;
	if (v && v->def && !v->def->dead)
		visit(o, v->def);
}

static void visit(struct sorting *o, struct step *s)
{
	if (s->sorted)
		return;
	s->sorted = true;
	for (uint32_t i = 0; i < s->ins; i++)
		visit_maker(o, s->in[i]);
	for (uint32_t i = 0; i < s->epi.count; i++)
		visit_maker(o, s->epi.value[i]);
	o->sorted[o->n++] = s;
}

/* Makers before users, else as it was: a step that took others in has operands of theirs. */
static bool sort(struct plan *p)
{
	struct sorting o = { p, arena_array(&p->arena, p->steps + 1, sizeof(struct step *)), 0 };

	if (!o.sorted)
		return plan_nomem(p);
	for (size_t i = 0; i < p->steps; i++)
		p->step[i]->sorted = false;
	for (size_t i = 0; i < p->steps; i++)
		visit(&o, p->step[i]);
	p->step = o.sorted;
	p->step_room = o.n;
	p->steps = o.n;
	return true;
}

static bool depends(const struct value *v, const struct step *on)
{
	struct step *s;

	if (v && v->pair)
		v = v->pair;
	s = v ? v->def : NULL;
	if (!s || s == on)
		return s == on && s;
	if (s->sorted)
		return false; /* looked at already */
	s->sorted = true;
	for (uint32_t i = 0; i < s->ins; i++) {
		if (depends(s->in[i], on))
			return true;
	}
	for (uint32_t i = 0; i < s->epi.count; i++) {
		if (depends(s->epi.value[i], on))
			return true;
	}
	return false;
}

bool step_depends(struct plan *p, const struct value *v, const struct step *on)
{
	for (size_t i = 0; i < p->steps; i++)
		p->step[i]->sorted = false;
	return depends(v, on);
}

size_t step_place(const struct plan *p, const struct step *s)
{
	size_t i = 0;

	while (i < p->steps && p->step[i] != s)
		i++;
	return i;
}

/* @s takes the place of @there, which is dead. */
void step_replace(struct plan *p, struct step *s, struct step *there)
{
	size_t from = step_place(p, s), to = step_place(p, there);

	p->step[to] = s;
	p->step[from] = there;
	there->dead = true;
}

/* ---- Epilogues ------------------------------------------------------------------------ */

static uint8_t activation_of(uint8_t op)
{
	switch (op) {
	case VTPU_EW_RELU:
		return VTPU_EPI_RELU;
	case VTPU_EW_SIGMOID:
		return VTPU_EPI_SIGMOID;
	case VTPU_EW_TANH:
		return VTPU_EPI_TANH;
	case VTPU_EW_GELU:
		return VTPU_EPI_GELU;
	case VTPU_EW_SILU:
		return VTPU_EPI_SILU;
	default:
		return 0;
	}
}

static uint64_t channels_of(const struct step *s)
{
	switch (s->kind) {
	case STEP_MATMUL:
		return s->mxu.n;
	case STEP_CONV:
	case STEP_DGRAD:
		return s->out[0]->dim[2];
	default:
		return 0;
	}
}

/* The operation that an element-wise step is on @v, as an epilogue; false if it is none. */
static bool as_epilogue(const struct step *s, const struct step *e, const struct value *v,
			struct step_epilogue *epi)
{
	const struct ew_op *op = &e->ew.op[0];
	const struct ew_leaf *x, *y;
	uint32_t n = epi->count;

	if (e->kind != STEP_EW || e->outs != 1 || e->ew.ops != 1 || n == 3 ||
	    e->ew.out[0] != EW_OP(0) || op->a >= e->ew.leaves)
		return false;
	x = &e->ew.leaf[op->a];
	if (activation_of(op->op) && x->value == v) {
		epi->op[epi->count++] = activation_of(op->op);
		return true;
	}
	if ((op->op != VTPU_EW_ADD && op->op != VTPU_EW_MUL) || op->b >= e->ew.leaves)
		return false;
	y = &e->ew.leaf[op->b];
	if (x->kind != LEAF_VALUE || x->value != v) {
		y = x;
		x = &e->ew.leaf[op->b];
	}
	if (x->kind != LEAF_VALUE || x->value != v || x->bcast != VTPU_BCAST_FULL)
		return false;
	if (y->kind == LEAF_NUMBER && op->op == VTPU_EW_MUL) {
		epi->op[n] = VTPU_EPI_SCALE_IMM;
		epi->bits[n] = y->number;
	} else if (y->kind == LEAF_VALUE && y->bcast == VTPU_BCAST_ROW && y->value != v &&
		   y->span == channels_of(s) && y->value->type == VTPU_DTYPE_F32 &&
		   y->value->class != VALUE_BATCH) {
		epi->op[n] = op->op == VTPU_EW_ADD ? VTPU_EPI_BIAS : VTPU_EPI_SCALE;
		epi->value[n] = y->value;
	} else {
		return false;
	}
	epi->count++;
	return true;
}

static bool takes_epilogue(const struct step *s)
{
	return (s->kind == STEP_MATMUL && !s->mxu.batch_k && !s->mxu.ones) ||
	       s->kind == STEP_CONV || s->kind == STEP_DGRAD;
}

static void fuse_epilogue(struct plan *p, struct step *s)
{
	struct step *e;

	while (plan_uses(p, s->out[0], &e) == 1 && !s->out[0]->smem && e->out[0] &&
	       value_count(e->out[0]) == value_count(s->out[0]) &&
	       e->out[0]->class == s->out[0]->class && as_epilogue(s, e, s->out[0], &s->epi)) {
		s->outs = 0;
		step_out(s, e->out[0]);
		step_replace(p, s, e);
	}
}

/* ---- Convolution, ReLU, maximum ---------------------------------------------------------- */

static bool is_less_than(const struct step *s, const struct value *y)
{
	const struct ew_op *op = &s->ew.op[0];

	return s->kind == STEP_EW && s->outs == 1 && s->ew.ops == 1 && op->op == VTPU_EW_CMP_LT &&
	       op->a < s->ew.leaves && op->b < s->ew.leaves &&
	       s->ew.leaf[op->a].kind == LEAF_NUMBER && !s->ew.leaf[op->a].number &&
	       s->ew.leaf[op->b].kind == LEAF_VALUE && s->ew.leaf[op->b].value == y;
}

/* select(less(0, y), g, 0), of which @s is the comparison and @g a gradient through @pool: the select, or NULL. */
static struct step *mask_of(struct plan *p, struct step *s, const struct value *index)
{
	const struct ew_op *op;
	struct step *select, *grad;
	const struct ew_leaf *g, *zero, *mask;

	if (plan_uses(p, s->out[0], &select) != 1 || select->kind != STEP_EW || select->outs != 1 ||
	    select->ew.ops != 1)
		return NULL;
	op = &select->ew.op[0];
	if (op->op != VTPU_EW_SELECT || op->a >= select->ew.leaves || op->b >= select->ew.leaves ||
	    op->c >= select->ew.leaves)
		return NULL;
	g = &select->ew.leaf[op->a];
	zero = &select->ew.leaf[op->b];
	mask = &select->ew.leaf[op->c];
	if (g->kind != LEAF_VALUE || zero->kind != LEAF_NUMBER || zero->number ||
	    mask->kind != LEAF_VALUE || mask->value != s->out[0])
		return NULL;
	grad = g->value->def;
	if (!grad || grad->kind != STEP_POOL_GRAD || grad->in[1] != index ||
	    plan_uses(p, g->value, NULL) != 1 || g->value->type != select->out[0]->type)
		return NULL;
	return select;
}

/* All that reads @y besides @pool: do they but mask gradients that come through the pool? */
static bool masks_only(struct plan *p, const struct value *y, const struct step *pool)
{
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];

		if (s->dead || s == pool)
			continue;
		for (uint32_t k = 0; k < s->ins; k++) {
			if (s->in[k] == y && !(is_less_than(s, y) && mask_of(p, s, pool->out[1])))
				return false;
		}
	}
	return true;
}

static void drop_masks(struct plan *p, const struct value *y, const struct step *pool)
{
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i], *select, *grad;

		if (s->dead || !is_less_than(s, y))
			continue;
		select = mask_of(p, s, pool->out[1]);
		grad = select->ew.leaf[select->ew.op[0].a].value->def;
		grad->outs = 0;
		step_out(grad, select->out[0]);
		select->dead = s->dead = true;
	}
}

static void fuse_pool(struct plan *p, struct step *conv)
{
	const struct value *y = conv->out[0];
	struct step *pool = NULL;
	bool relu = conv->epi.count && conv->epi.op[conv->epi.count - 1] == VTPU_EPI_RELU;
	uint32_t args = 2;

	for (size_t i = 0; i < p->steps; i++) {
		if (!p->step[i]->dead && p->step[i]->kind == STEP_POOL && p->step[i]->in[0] == y)
			pool = p->step[i];
	}
	for (uint32_t i = 0; i < conv->epi.count; i++)
		args += conv->epi.op[i] != VTPU_EPI_RELU;
	if (!pool || pool->win.average || !pool->out[1] || args > 4 || conv->epi.count > 3)
		return;
	for (int i = 0; i < 2; i++) {
		if (pool->win.ker[i] != pool->win.stride[i] || pool->win.before[i] ||
		    pool->out[0]->dim[i] != y->dim[i] / pool->win.ker[i])
			return;
	}
	if (relu ? !masks_only(p, y, pool) : plan_uses(p, y, NULL) != 1)
		return;
	if (relu)
		drop_masks(p, y, pool);
	conv->win.pool[0] = pool->win.ker[0];
	conv->win.pool[1] = pool->win.ker[1];
	conv->outs = 0;
	step_out(conv, pool->out[0]);
	step_out(conv, pool->out[1]);
	step_replace(p, conv, pool);
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static uint32_t leaf_of(const struct step *s, const struct value *v)
{
	for (uint32_t i = 0; s->kind == STEP_EW && i < s->ew.leaves; i++) {
		if (s->ew.leaf[i].kind == LEAF_VALUE && s->ew.leaf[i].value == v &&
		    s->ew.leaf[i].bcast == VTPU_BCAST_FULL)
			return i;
	}
	return EW_LEAVES;
}

/* Put element-wise step @s into the first one behind it that reads it. */
static bool fuse_chain(struct plan *p, size_t at)
{
	struct step *s = p->step[at], *into = NULL;
	struct value *v = s->out[0];
	struct ew_expr merged;
	size_t uses = 0;
	uint32_t leaf;

	if (s->kind != STEP_EW || s->outs != 1 || v->type != VTPU_DTYPE_F32)
		return false;
	for (size_t i = at + 1; i < p->steps; i++) {
		bool reads = false;

		for (uint32_t k = 0; k < p->step[i]->ins; k++)
			reads |= p->step[i]->in[k] == v;
		for (uint32_t k = 0; k < p->step[i]->epi.count; k++)
			reads |= p->step[i]->epi.value[k] == v;
		if (p->step[i]->dead || !reads)
			continue;
		if (!uses++)
			into = p->step[i];
	}
	if (!uses || (uses > 1 && into->outs != 1))
		return false;
	leaf = leaf_of(into, v);
	if (leaf == EW_LEAVES || into->out[0]->count != v->count ||
	    into->out[0]->class != v->class ||
	    (v->dim[0] && memcmp(v->dim, into->out[0]->dim, sizeof(v->dim))) ||
	    (!v->dim[0] && into->out[0]->dim[0]))
		return false;
	for (uint32_t i = 0; i < into->ew.leaves; i++) {
		if (i != leaf && into->ew.leaf[i].kind == LEAF_VALUE && into->ew.leaf[i].value == v)
			return false; /* also repeated along rows or columns */
	}
	if (uses > 1 && (v->smem || into->out[0]->pair))
		return false;
	if (v->smem || !ew_merge(&into->ew, into->outs, leaf, &s->ew, 0, uses > 1, &merged) ||
	    !ew_shape_fits(&merged, v->count))
		return false;
	into->ew = merged;
	step_leaves(into);
	if (uses > 1)
		step_out(into, v);
	s->dead = true;
	return true;
}

bool pass_fuse(struct plan *p)
{
	bool again = true;

	pass_clean(p);
	if (p->options.no_fuse)
		return true;
	fuse_loss(p);
	pass_clean(p);
	if (!sort(p))
		return false;
	for (size_t i = 0; i < p->steps; i++) {
		if (!p->step[i]->dead && takes_epilogue(p->step[i]))
			fuse_epilogue(p, p->step[i]);
	}
	for (size_t i = 0; i < p->steps; i++) {
		if (!p->step[i]->dead && p->step[i]->kind == STEP_CONV && !p->step[i]->win.pool[0])
			fuse_pool(p, p->step[i]);
	}
	pass_clean(p);
	while (again) {
		again = false;
		for (size_t i = 0; i < p->steps; i++) {
			if (!p->step[i]->dead)
				again |= fuse_chain(p, i);
		}
		pass_clean(p);
	}
	return true;
}
