// SPDX-License-Identifier: MIT
/*
 * loss.c - cross-entropy, its gradient and the number of right rows, of the same logits and
 * labels, as one step; weights that each row's loss is multiplied with go into it.
 */
#include "compile/fuse.h"

/* The value that each use of the columns of @s is multiplied with: one for all, or NULL. */
static struct value *common_weight(struct plan *p, const struct step *s, bool *plain)
{
	struct value *weight = NULL;

	*plain = false;
	for (size_t i = 0; i < p->steps; i++) {
		const struct step *m = p->step[i];

		for (uint32_t k = 0; k < m->ins && !m->dead; k++) {
			const struct ew_op *op = &m->ew.op[0];
			struct value *other;

			if (!m->in[k] || m->in[k]->pair != s->out[0])
				continue;
			if (m->kind != STEP_EW || m->outs != 1 || m->ew.ops != 1 ||
			    op->op != VTPU_EW_MUL || m->ins != 2 || m->in[0] == m->in[1]) {
				*plain = true;
				return NULL;
			}
			other = m->in[!k];
			if (other->pair || other->class != m->in[k]->class ||
			    other->type != VTPU_DTYPE_F32 || other->count != m->in[k]->count ||
			    m->ew.leaf[0].bcast || m->ew.leaf[1].bcast ||
			    (weight && weight != other)) {
				*plain = true;
				return NULL;
			}
			weight = other;
		}
	}
	return weight;
}

/* Columns and rows alone may be read in steps of 8 bytes. */
static bool reads_columns(const struct plan *p, const struct value *v)
{
	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];

		for (uint32_t k = 0; k < s->ins && !s->dead; k++) {
			if (s->in[k] == v && s->kind != STEP_EW && s->kind != STEP_RESULT &&
			    !(s->kind == STEP_MATMUL && s->mxu.ones))
				return false;
		}
	}
	return true;
}

/* The products of @s's columns with the weight become the columns. */
static bool absorb_weight(struct plan *p, struct step *s, struct value *weight)
{
	struct step *product[16];
	uint32_t n = 0;

	for (size_t i = 0; i < p->steps; i++) {
		for (uint32_t k = 0; k < p->step[i]->ins && !p->step[i]->dead; k++) {
			if (!p->step[i]->in[k] || p->step[i]->in[k]->pair != s->out[0])
				continue;
			if (n == 16 || !reads_columns(p, p->step[i]->out[0]))
				return false;
			product[n++] = p->step[i];
		}
	}
	if (weight->def && step_place(p, weight->def) > step_place(p, s))
		return false;
	s->in[2] = weight;
	for (uint32_t i = 0; i < n; i++) {
		const struct value *column = product[i]->in[0]->pair == s->out[0] ?
						     product[i]->in[0] :
						     product[i]->in[1];

		product[i]->out[0]->pair = s->out[0];
		product[i]->out[0]->column = column->column;
		product[i]->out[0]->def = s;
		product[i]->dead = true;
	}
	return true;
}

/* @b, behind @a, becomes part of it, if both have the same operands. */
static bool join(struct plan *p, struct step *a, struct step *b)
{
	if (a->in[0] != b->in[0] || a->in[1] != b->in[1] || a->in[2] != b->in[2] ||
	    (a->out[1] && b->out[1]) || step_depends(p, b->in[3], a))
		return false;
	if (b->out[1]) {
		a->in[3] = b->in[3];
		a->xent = b->xent;
		a->out[1] = b->out[1];
		a->out[1]->def = a;
	}
	if (b->out[0] && !a->out[0]) {
		a->out[0] = b->out[0];
		a->out[0]->def = a;
	} else if (b->out[0]) {
		for (size_t i = 0; i < p->values; i++) {
			if (p->value[i]->pair == b->out[0])
				p->value[i]->pair = a->out[0];
		}
	}
	for (size_t i = 0; i < p->values; i++) {
		if (p->value[i]->pair && p->value[i]->pair == a->out[0])
			p->value[i]->def = a;
	}
	b->dead = true;
	return true;
}

void fuse_loss(struct plan *p)
{
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];
		struct value *weight;
		bool plain;

		if (s->dead || s->kind != STEP_XENT || !s->out[0] || s->in[2])
			continue;
		weight = common_weight(p, s, &plain);
		if (weight && !plain)
			absorb_weight(p, s, weight);
	}
	for (size_t i = 0; i < p->steps; i++) {
		for (size_t k = i + 1; k < p->steps; k++) {
			struct step *a = p->step[i], *b = p->step[k];

			if (!a->dead && !b->dead && a->kind == STEP_XENT && b->kind == STEP_XENT)
				join(p, a, b);
		}
	}
}
