// SPDX-License-Identifier: MIT
/*
 * lower_move.c - where values come from and go to, and operations that only move elements.
 *
 * Inputs are cut over the cores in their first dimension; scalars and variables are the same on all.
 */
#include <string.h>

#include "compile/layout.h"
#include "compile/lower.h"
#include "graph/ops/source.h"

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static struct plan_io io_of(const struct plan *p, const char *name, const struct vtpu_tensor *t,
			    bool batch)
{
	uint64_t bytes = shape_elements(&t->shape) * vtpu_dtype_bytes(t->type);

	return (struct plan_io){
		.name = name,
		.type = t->type,
		.shape = t->shape,
		.batch = batch,
		.bytes = bytes,
		.core_bytes = batch ? bytes / p->cores : bytes,
		.stride = batch ? bytes / p->cores : round_up(bytes),
	};
}

bool lower_input(struct lower *l, const struct vtpu_node *node)
{
	struct plan *p = l->plan;
	const struct vtpu_tensor *t = node->output;
	struct plan_io *io = &p->feed[p->feeds];
	bool batch = t->shape.rank > 0;
	struct value *v;

	*io = io_of(p, node->name, t, batch && l->live[node->id]);
	io->used = l->live[node->id];
	io->order = node->id;
	if (!batch)
		io->stride = 0; /* all cores read the one */
	if (io->used) {
		v = lower_new(l, t, batch ? VALUE_BATCH : VALUE_WHOLE);
		if (!v)
			return false;
		v->source = FROM_FEED;
		v->index = p->feeds;
		io->value = v;
	}
	p->feeds++;
	return true;
}

bool lower_scalar_in(struct lower *l, const struct vtpu_node *node)
{
	struct plan *p = l->plan;

	p->scalar_in[p->scalars_in] = io_of(p, node->name, node->output, false);
	*lower_view(l, node->output) =
		(struct view){ .kind = VIEW_SCALAR, .scalar = (uint32_t)p->scalars_in };
	p->scalars_in++;
	return true;
}

/* All elements the same? Then it is a number. */
bool lower_constant_node(struct lower *l, const struct vtpu_node *node)
{
	const struct constant_attrs *a = node->attrs;
	const struct vtpu_tensor *t = node->output;
	uint32_t bytes = vtpu_dtype_bytes(t->type), bits = 0;
	struct view *view = lower_view(l, t);
	uint64_t count = shape_elements(&t->shape);

	if (dtype_is_float(t->type) &&
	    (count == 1 || !memcmp(a->data, (const char *)a->data + bytes, (count - 1) * bytes))) {
		memcpy(t->type == VTPU_DTYPE_BF16 ? (char *)&bits + 2 : (char *)&bits, a->data,
		       bytes);
		view->kind = VIEW_NUMBER;
		memcpy(&view->number, &bits, sizeof(bits));
		return true;
	}
	*view = (struct view){ .kind = VIEW_VALUE, .shape = t->shape };
	view->value = lower_constant(l, t->name, t->type, a->data, count);
	return view->value != NULL;
}

bool lower_parameter(struct lower *l, const struct vtpu_node *node)
{
	struct value *v = lower_new(l, node->output, VALUE_WHOLE);

	if (!v)
		return false;
	v->source = FROM_VARIABLE;
	v->index = layout_find(l->plan->layout, node->name);
	return true;
}

bool lower_output(struct lower *l, const struct vtpu_node *node)
{
	struct plan *p = l->plan;
	struct value *v = lower_full(l, node, node->input[0]);
	struct step *s;

	if (!v)
		return false;
	s = plan_step(p, STEP_RESULT, node);
	if (!s)
		return false;
	p->result[p->results] = io_of(p, node->name, node->input[0], v->class == VALUE_BATCH);
	p->result[p->results].value = v;
	p->result[p->results].used = true;
	s->index = (uint32_t)p->results++;
	step_in(s, v);
	return true;
}

bool lower_assign(struct lower *l, const struct vtpu_node *node)
{
	uint32_t variable = layout_find(l->plan->layout, node->input[0]->node->name);
	const struct vtpu_node *update = layout_update(node->input[0]->node);
	struct value *v;
	struct step *s;

	if (update && update == node->input[1]->node)
		return true; /* the optimiser's step writes it */
	if (l->plan->layout->variable[variable].arena == ARENA_MOMENTS) {
		if (lower_view(l, node->input[1])->kind == VIEW_NONE)
			return true; /* likewise */
		return lower_fail(l, node, "'%s' is an optimiser's, and cannot be assigned",
				  node->input[0]->name);
	}
	v = lower_full(l, node, node->input[1]);
	if (!v)
		return false;
	if (v->class == VALUE_BATCH)
		return lower_fail(l, node,
				  "'%s' differs from core to core: a variable must be the same on all; "
				  "sum over the batch before",
				  node->input[1]->name);
	s = plan_step(l->plan, STEP_ASSIGN, node);
	if (!s)
		return false;
	s->index = variable;
	step_in(s, v);
	return true;
}

/* ---- Shapes ------------------------------------------------------------------------- */

bool lower_reshape(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_tensor *x = node->input[0], *y = node->output;
	struct view *from = lower_view(l, x), *to = lower_view(l, y);
	struct value *v;

	if (from->kind != VIEW_VALUE) {
		*to = *from;
		return true;
	}
	if (from->value->pair && y->shape.dim[0] == x->shape.dim[0] &&
	    shape_elements(&from->shape) == shape_elements(&x->shape)) {
		*to = *from;
		to->shape = y->shape;
		return true;
	}
	v = lower_full(l, node, x);
	if (!v)
		return false;
	if (v->class == VALUE_BATCH && lower_image_count(l, &y->shape) != v->count)
		return lower_fail(
			l, node,
			"a batch of %lld must stay in front: the first dimension of the result is %lld",
			(long long)l->plan->batch,
			(long long)(y->shape.rank ? y->shape.dim[0] : 1));
	*to = (struct view){ .kind = VIEW_VALUE, .value = v, .shape = y->shape };
	return true;
}

bool lower_broadcast(struct lower *l, const struct vtpu_node *node)
{
	/* What uses it repeats it, or has it spread. */
	*lower_view(l, node->output) = *lower_view(l, node->input[0]);
	return true;
}

bool lower_transpose(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_transpose_attrs *a = node->attrs;
	const struct vtpu_tensor *x = node->input[0], *y = node->output;
	uint32_t order[VTPU_MAX_RANK];
	struct value *v;

	if (lower_view(l, x)->kind == VIEW_NUMBER || lower_view(l, x)->kind == VIEW_SCALAR) {
		*lower_view(l, y) = *lower_view(l, x);
		return true;
	}
	for (uint32_t i = 0; i < x->shape.rank; i++)
		order[i] = (uint32_t)a->order[i];
	v = lower_full(l, node, x);
	v = v ? lower_permute(l, node, v, &x->shape, order) : NULL;
	if (!v)
		return false;
	v->name = y->name;
	*lower_view(l, y) = (struct view){ .kind = VIEW_VALUE, .value = v, .shape = y->shape };
	return true;
}
