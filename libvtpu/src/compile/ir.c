// SPDX-License-Identifier: MIT
/*
 * ir.c - values and steps of a compilation: making them, looking at them.
 */
#include <stdlib.h>

#include "compile/ir.h"

bool plan_fail(struct plan *p, enum vtpu_status status, const char *fmt, ...)
{
	va_list ap;

	if (p->status)
		return false;
	va_start(ap, fmt);
	p->status = vtpu_vfail(status, fmt, ap);
	va_end(ap);
	return false;
}

bool plan_nomem(struct plan *p)
{
	return plan_fail(p, VTPU_ERROR_OUT_OF_HOST_MEMORY,
			 "compile: no host memory for a graph of %zu operations",
			 vtpu_graph_size(p->graph));
}

/* Room for one more pointer; the old array stays in the arena. */
static bool grow(struct plan *p, void ***array, size_t n, size_t *room)
{
	size_t want = *room ? 2 * *room : 64;
	void **bigger;

	if (n < *room)
		return true;
	bigger = arena_array(&p->arena, want, sizeof(void *));
	if (!bigger)
		return plan_nomem(p);
	for (size_t i = 0; i < n; i++)
		bigger[i] = (*array)[i];
	*array = bigger;
	*room = want;
	return true;
}

struct value *plan_value(struct plan *p, const char *name, enum vtpu_dtype type,
			 enum value_class class, uint64_t count)
{
	struct value *v;

	if (!grow(p, (void ***)&p->value, p->values, &p->value_room))
		return NULL;
	v = arena_alloc(&p->arena, sizeof(*v));
	if (!v) {
		plan_nomem(p);
		return NULL;
	}
	v->name = name;
	v->id = (uint32_t)p->values;
	v->type = type;
	v->class = class;
	v->count = count;
	v->slots = 1;
	p->value[p->values++] = v;
	return v;
}

struct step *plan_step(struct plan *p, enum step_kind kind, const struct vtpu_node *node)
{
	struct step *s;

	if (!grow(p, (void ***)&p->step, p->steps, &p->step_room))
		return NULL;
	s = arena_alloc(&p->arena, sizeof(*s));
	if (!s) {
		plan_nomem(p);
		return NULL;
	}
	s->kind = kind;
	s->name = node ? vtpu_node_name(node) : "compiler";
	s->order = node ? (uint32_t)vtpu_node_index(node) : 0;
	p->step[p->steps++] = s;
	return s;
}

void step_in(struct step *s, struct value *v)
{
	s->in[s->ins++] = v;
}

void step_out(struct step *s, struct value *v)
{
	s->out[s->outs++] = v;
	if (v)
		v->def = s;
}

void step_leaves(struct step *s)
{
	s->ins = 0;
	for (uint32_t i = 0; i < s->ew.leaves; i++) {
		if (s->ew.leaf[i].kind == LEAF_VALUE)
			step_in(s, s->ew.leaf[i].value);
	}
}

static bool same_value(const struct value *a, const struct value *b)
{
	return a && (a == b || (a->pair && a->pair == b));
}

size_t plan_uses(const struct plan *p, const struct value *v, struct step **last)
{
	size_t uses = 0;

	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];
		bool reads = false;

		if (s->dead)
			continue;
		for (uint32_t k = 0; k < s->ins; k++)
			reads |= same_value(s->in[k], v);
		for (uint32_t k = 0; k < s->epi.count; k++)
			reads |= same_value(s->epi.value[k], v);
		if (reads) {
			uses++;
			if (last)
				*last = s;
		}
	}
	return uses;
}

bool step_on_batch(const struct step *s)
{
	for (uint32_t i = 0; i < s->ins; i++) {
		if (s->in[i] && s->in[i]->class == VALUE_BATCH)
			return true;
	}
	for (uint32_t i = 0; i < s->outs; i++) {
		if (s->out[i] && s->out[i]->class == VALUE_BATCH)
			return true;
	}
	return false;
}

uint8_t hw_type(enum vtpu_dtype type)
{
	switch (type) {
	case VTPU_DTYPE_U8:
		return VTPU_TYPE_U8;
	case VTPU_DTYPE_S8:
		return VTPU_TYPE_S8;
	case VTPU_DTYPE_S32:
		return VTPU_TYPE_S32;
	case VTPU_DTYPE_BF16:
		return VTPU_TYPE_BF16;
	default:
		return VTPU_TYPE_F32;
	}
}

const char *step_kind_name(enum step_kind kind)
{
	static const char *const name[] = {
		[STEP_EW] = "ew",
		[STEP_MATMUL] = "matmul",
		[STEP_CONV] = "conv",
		[STEP_DGRAD] = "conv_dgrad",
		[STEP_WGRAD] = "conv_wgrad",
		[STEP_REDUCE] = "reduce",
		[STEP_SOFTMAX] = "softmax",
		[STEP_XENT] = "softmax_xent",
		[STEP_ARGMAX] = "argmax",
		[STEP_POOL] = "pool",
		[STEP_POOL_GRAD] = "pool_grad",
		[STEP_RANDOM] = "random",
		[STEP_MOVE] = "move",
		[STEP_UPDATE] = "update",
		[STEP_ASSIGN] = "assign",
		[STEP_RESULT] = "result",
		[STEP_LOAD] = "load",
		[STEP_SPILL] = "spill",
	};

	return name[kind];
}
