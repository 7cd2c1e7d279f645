// SPDX-License-Identifier: MIT
/*
 * precision.c - the bf16 policy: operands of matrix products and convolutions are stored as bf16.
 *
 * What an operand is made of stays f32: sums, epilogues, statistics, losses. Variables stay
 * f32 in HBM, and become bf16 on the way into VMEM.
 */
#include "compile/fuse.h"

static bool is_mxu(const struct step *s)
{
	return s->kind == STEP_MATMUL || s->kind == STEP_CONV || s->kind == STEP_DGRAD ||
	       s->kind == STEP_WGRAD;
}

/* Can what makes it store bf16? */
static bool can_narrow(const struct value *v)
{
	const struct step *s = v->def;

	if (v->pair || v->smem || v->class != VALUE_BATCH)
		return false;
	if (!s)
		return v->source == FROM_FEED;
	switch (s->kind) {
	case STEP_RANDOM:
		return false;
	case STEP_POOL:
		return s->in[0]->type == VTPU_DTYPE_BF16 || can_narrow(s->in[0]);
	case STEP_POOL_GRAD:
		return s->in[0]->type == VTPU_DTYPE_BF16 || can_narrow(s->in[0]);
	default:
		return true;
	}
}

/* Pooling has one type for both of its values. */
static void narrow(struct plan *p, struct value *v)
{
	if (v->type == VTPU_DTYPE_BF16)
		return;
	v->type = VTPU_DTYPE_BF16;
	if (v->def && (v->def->kind == STEP_POOL || v->def->kind == STEP_POOL_GRAD) &&
	    v != v->def->out[1])
		narrow(p, v->def->in[0]);
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];

		if ((s->kind == STEP_POOL || s->kind == STEP_POOL_GRAD) && s->in[0] == v)
			narrow(p, s->out[0]);
	}
}

/* A value as bf16 for products alone. */
static struct value *copy_of(struct plan *p, struct value *v, struct value **copies, size_t at)
{
	struct value *copy = copies[v->id];
	struct step *s;

	if (copy)
		return copy;
	copy = plan_value(p, v->name, VTPU_DTYPE_BF16, v->class, v->count);
	if (!copy)
		return NULL;
	for (int i = 0; i < 3; i++)
		copy->dim[i] = v->dim[i];
	copy->box[0] = v->box[0];
	copy->box[1] = v->box[1];
	copies[v->id] = copy;
	if (v->source != FROM_STEP && v->class == VALUE_WHOLE) {
		copy->source = v->source;
		copy->index = v->index;
		return copy;
	}
	s = plan_step(p, STEP_EW, NULL);
	if (!s)
		return NULL;
	if (copy->class == VALUE_PARTIAL)
		copy->class = VALUE_WHOLE;
	s->name = v->name;
	s->order = v->def ? v->def->order : 0;
	s->ew = (struct ew_expr){ .leaves = 1, .leaf[0] = { .kind = LEAF_VALUE, .value = v } };
	step_leaves(s);
	step_out(s, copy);
	for (size_t i = p->steps - 1; i > at; i--)
		p->step[i] = p->step[i - 1];
	p->step[at] = s;
	return copy;
}

bool pass_precision(struct plan *p)
{
	struct value **copies;
	size_t values = p->values;

	if (p->options.precision != VTPU_PRECISION_BF16)
		return true;
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];

		for (uint32_t k = 0; k < 2 && is_mxu(s); k++) {
			if (s->in[k] && s->in[k]->type == VTPU_DTYPE_F32 && can_narrow(s->in[k]) &&
			    !(s->kind == STEP_MATMUL && s->mxu.ones))
				narrow(p, s->in[k]);
		}
	}
	copies = arena_array(&p->arena, values + 1, sizeof(struct value *));
	if (!copies)
		return plan_nomem(p);
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];

		for (uint32_t k = 0; k < 2 && is_mxu(s) && !(s->kind == STEP_MATMUL && s->mxu.ones);
		     k++) {
			struct value *copy;
			size_t before = p->steps;

			if (!s->in[k] || s->in[k]->type != VTPU_DTYPE_F32 || s->in[k]->id >= values)
				continue;
			copy = copy_of(p, s->in[k], copies, i);
			if (!copy)
				return false;
			s->in[k] = copy;
			i += p->steps - before;
		}
	}
	return true;
}
