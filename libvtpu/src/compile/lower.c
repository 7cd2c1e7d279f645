// SPDX-License-Identifier: MIT
/*
 * lower.c - from a graph to steps: walks the operations that results or variables need, and
 * has what their hooks share.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/layout.h"
#include "compile/lower.h"

bool lower_fail(struct lower *l, const struct vtpu_node *node, const char *fmt, ...)
{
	char *sentence;
	va_list ap;

	va_start(ap, fmt);
	sentence = arena_vprintf(&l->plan->arena, fmt, ap);
	va_end(ap);
	return plan_fail(l->plan, VTPU_ERROR_UNSUPPORTED, "%s (%s): %s", vtpu_node_name(node),
			 vtpu_node_op(node), sentence ? sentence : "");
}

struct view *lower_view(struct lower *l, const struct vtpu_tensor *t)
{
	return &l->view[t->id];
}

bool lower_batch(struct lower *l, const struct vtpu_tensor *t)
{
	const struct view *view = lower_view(l, t);

	return view->kind == VIEW_VALUE && view->value->class == VALUE_BATCH;
}

uint64_t lower_image_count(const struct lower *l, const struct vtpu_shape *shape)
{
	if (!l->plan->batch || !shape->rank || shape->dim[0] % l->plan->batch)
		return 0;
	return shape_elements(shape) / (uint64_t)l->plan->batch;
}

struct step *lower_elementwise(struct lower *l, const struct vtpu_node *node,
			       const struct ew_expr *e, enum value_class class)
{
	struct step *s = plan_step(l->plan, STEP_EW, node);
	struct value *v = lower_new(l, node->output, class);

	if (!s || !v)
		return NULL;
	s->ew = *e;
	step_leaves(s);
	step_out(s, v);
	return s;
}

struct value *lower_new(struct lower *l, const struct vtpu_tensor *t, enum value_class class)
{
	struct view *view = lower_view(l, t);
	uint64_t count = class == VALUE_BATCH ? lower_image_count(l, &t->shape) :
						shape_elements(&t->shape);
	struct value *v = plan_value(l->plan, t->name, t->type, class, count);

	if (!v)
		return NULL;
	if (class == VALUE_BATCH && t->shape.rank == 4 && t->shape.dim[0] == l->plan->batch) {
		for (int i = 0; i < 3; i++)
			v->dim[i] = (uint32_t)t->shape.dim[i + 1];
		v->box[0] = v->dim[0];
		v->box[1] = v->dim[1];
	}
	*view = (struct view){ .kind = VIEW_VALUE, .value = v, .shape = t->shape };
	return v;
}

struct ew_leaf lower_value_leaf(struct value *v, uint64_t row)
{
	return (struct ew_leaf){
		.kind = LEAF_VALUE,
		.value = v,
		.bcast = row ? VTPU_BCAST_ROW : VTPU_BCAST_FULL,
		.span = row,
	};
}

struct ew_leaf lower_number_leaf(float number)
{
	return (struct ew_leaf){ .kind = LEAF_NUMBER, .number = vtpu_scalar_f32(number) };
}

struct value *lower_ew(struct lower *l, const struct vtpu_node *node, const struct ew_expr *e,
		       const char *name, enum value_class class, uint64_t count)
{
	struct value *v = plan_value(l->plan, name, VTPU_DTYPE_F32, class, count);
	struct step *s = plan_step(l->plan, STEP_EW, node);

	if (!v || !s)
		return NULL;
	s->ew = *e;
	step_leaves(s);
	step_out(s, v);
	for (uint32_t i = 0; i < s->ins; i++) {
		const struct value *in = s->in[i];

		/* an image like its operand */
		if (in->class == class && in->count == count && in->dim[0] && !v->dim[0]) {
			memcpy(v->dim, in->dim, sizeof(v->dim));
			memcpy(v->box, in->box, sizeof(v->box));
		}
	}
	return v;
}

uint32_t lower_scalar(struct lower *l, uint32_t source, enum scalar_rule rule, float base)
{
	struct plan *p = l->plan;

	p->scalar_in[source].used = true;
	for (uint32_t i = 0; i < p->scalars; i++) {
		if (p->scalar[i].source == source && p->scalar[i].rule == rule &&
		    p->scalar[i].base == base)
			return i;
	}
	if (p->scalars == VTPU_MAX_SCALARS) {
		plan_fail(p, VTPU_ERROR_TOO_LARGE,
			  "compile: more than %d scalars, with those made of others",
			  VTPU_MAX_SCALARS);
		return UINT32_MAX;
	}
	p->scalar[p->scalars] = (struct plan_scalar){ source, rule, base };
	return p->scalars++;
}

bool lower_smem(struct lower *l, const struct vtpu_node *node, const struct vtpu_tensor *t,
		uint32_t *word, struct value **value)
{
	const struct view *view = lower_view(l, t);

	*value = NULL;
	if (view->kind == VIEW_SCALAR) {
		*word = lower_scalar(l, view->scalar, SCALAR_PLAIN, 0);
		return *word != UINT32_MAX;
	}
	*value = lower_full(l, node, t);
	if (!*value)
		return false;
	if ((*value)->class == VALUE_BATCH || (*value)->type != VTPU_DTYPE_F32)
		return lower_fail(l, node,
				  "'%s' must be a single f32 that is the same for all images",
				  t->name);
	if (!(*value)->smem)
		(*value)->smem = VTPU_MAX_SCALARS + l->plan->smem++;
	*word = (*value)->smem;
	return true;
}

struct value *lower_constant(struct lower *l, const char *name, enum vtpu_dtype type,
			     const void *data, uint64_t count)
{
	struct plan *p = l->plan;
	uint64_t bytes = count * vtpu_dtype_bytes(type), at = (p->constants + 63) / 64 * 64;
	struct value *v = plan_value(p, name, type, VALUE_WHOLE, count);

	if (!v)
		return NULL;
	if (at + bytes > p->constant_room) {
		uint64_t room = 2 * (at + bytes);
		uint8_t *bigger = arena_alloc(&p->arena, room);

		if (!bigger) {
			plan_nomem(p);
			return NULL;
		}
		if (p->constants)
			memcpy(bigger, p->constant, p->constants);
		p->constant = bigger;
		p->constant_room = room;
	}
	memcpy(p->constant + at, data, bytes);
	p->constants = at + bytes;
	v->source = FROM_CONSTANT;
	v->index = at;
	return v;
}

/* ---- Operands ---------------------------------------------------------------------- */

enum pattern {
	PATTERN_FULL,
	PATTERN_ROW,
	PATTERN_COL,
	PATTERN_SCALAR,
	PATTERN_OTHER,
};

/* How a stored shape covers a larger one, and how many elements the covered part has. */
static enum pattern pattern_of(const struct vtpu_shape *small, const struct vtpu_shape *large,
			       uint64_t *span)
{
	uint32_t missing = large->rank - small->rank;
	uint32_t first = large->rank, last = 0; /* dimensions with more than one stored element */
	bool full = true;

	*span = 1;
	for (uint32_t i = 0; i < large->rank; i++) {
		int64_t have = i < missing ? 1 : small->dim[i - missing];

		full &= have == large->dim[i];
		if (have > 1) {
			first = first == large->rank ? i : first;
			last = i;
		}
	}
	if (full)
		return PATTERN_FULL;
	if (first == large->rank)
		return PATTERN_SCALAR;
	for (uint32_t i = first; i <= last; i++) {
		if (small->dim[i - missing] != large->dim[i])
			return PATTERN_OTHER;
		*span *= (uint64_t)large->dim[i];
	}
	for (uint32_t i = last + 1; i < large->rank; i++) {
		if (large->dim[i] != 1)
			goto column;
	}
	return PATTERN_ROW;
column:
	for (uint32_t i = 0; i < first; i++) {
		if (large->dim[i] != 1)
			return PATTERN_OTHER;
	}
	return PATTERN_COL;
}

/* A view of a value, whose stored shape is smaller, as a dense value of @shape. */
static struct value *spread(struct lower *l, const struct vtpu_node *node, const struct view *view,
			    const struct vtpu_tensor *t)
{
	const struct vtpu_shape *shape = &t->shape;
	struct value *from = view->value, *v;
	uint32_t missing = shape->rank - view->shape.rank;
	bool batch = from->class == VALUE_BATCH;
	struct step *s = plan_step(l->plan, STEP_MOVE, node);
	int64_t stride = 1, dense = 1;

	v = plan_value(l->plan, t->name, from->type,
		       from->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE,
		       batch ? lower_image_count(l, shape) : shape_elements(shape));
	if (!v || !s)
		return NULL;
	if (batch && !v->count) {
		lower_fail(l, node, "the batch of '%s' is not the first dimension", t->name);
		return NULL;
	}
	for (uint32_t i = shape->rank; i-- > 0;) {
		int64_t have = i < missing ? 1 : view->shape.dim[i - missing],
			count = shape->dim[i];

		if (batch && !i) {
			count /= l->plan->batch;
			have /= l->plan->batch;
		}
		if (count == 1)
			continue;
		s->move.count[s->move.ndim] = (uint64_t)count;
		s->move.src[s->move.ndim] = have > 1 ? stride : 0;
		s->move.dst[s->move.ndim++] = dense;
		stride *= have;
		dense *= count;
	}
	step_in(s, from);
	step_out(s, v);
	return v;
}

/* A number or scalar as a dense value of a tensor's shape. */
static struct value *fill(struct lower *l, const struct vtpu_node *node, const struct view *view,
			  const struct vtpu_tensor *t)
{
	uint64_t images = lower_image_count(l, &t->shape);
	struct ew_expr e = { .leaves = 1 };
	struct value *v;

	(void)images;
	if (view->kind == VIEW_SCALAR) {
		uint32_t word = lower_scalar(l, view->scalar, SCALAR_PLAIN, 0);

		if (word == UINT32_MAX)
			return NULL;
		if (l->plan->scalar_in[view->scalar].type != VTPU_DTYPE_F32) {
			lower_fail(l, node,
				   "scalar '%s' is s32, which this operation cannot take; use vtpu_cast()",
				   t->name);
			return NULL;
		}
		e.leaf[0] = (struct ew_leaf){ .kind = LEAF_SCALAR, .scalar = word };
	} else {
		e.leaf[0] = lower_number_leaf(view->number);
	}
	v = lower_ew(l, node, &e, t->name, VALUE_WHOLE, shape_elements(&t->shape));
	if (v)
		v->type = t->type;
	return v;
}

struct value *lower_full(struct lower *l, const struct vtpu_node *node, const struct vtpu_tensor *t)
{
	struct view *view = lower_view(l, t);

	switch (view->kind) {
	case VIEW_VALUE:
		if (shape_elements(&view->shape) == shape_elements(&t->shape) && !view->value->pair)
			return view->value;
		if (view->value->pair) {
			/* out of its pair */
			struct ew_expr e = { .leaves = 1 };
			struct value *v;

			e.leaf[0] = lower_value_leaf(view->value, 0);
			v = lower_ew(l, node, &e, t->name, view->value->class, view->value->count);
			if (!v)
				return NULL;
			view->value = v;
			return lower_full(l, node, t);
		}
		return spread(l, node, view, t);
	case VIEW_NUMBER:
	case VIEW_SCALAR:
		return fill(l, node, view, t);
	default:
		lower_fail(l, node,
			   "'%s' is what %s makes, which other operations of the step cannot use",
			   t->name, t->node->op->name);
		return NULL;
	}
}

bool lower_leaf(struct lower *l, const struct vtpu_node *node, const struct vtpu_tensor *t,
		const struct vtpu_shape *out, bool batch, struct ew_leaf *leaf)
{
	const struct view *view = lower_view(l, t);
	enum pattern pattern;
	struct value *v;
	uint64_t span;

	if (view->kind == VIEW_NUMBER) {
		*leaf = lower_number_leaf(view->number);
		return true;
	}
	if (view->kind == VIEW_SCALAR) {
		enum vtpu_dtype type = l->plan->scalar_in[view->scalar].type;
		uint32_t word = lower_scalar(l, view->scalar,
					     type == VTPU_DTYPE_S32 ? SCALAR_FLOAT : SCALAR_PLAIN,
					     0);

		*leaf = (struct ew_leaf){ .kind = LEAF_SCALAR, .scalar = word };
		return word != UINT32_MAX;
	}
	if (view->kind == VIEW_NONE)
		return lower_full(l, node, t);
	v = view->value;
	if (v->type == VTPU_DTYPE_S32 || v->type == VTPU_DTYPE_S8)
		return lower_fail(l, node,
				  "the device computes with u8, bf16 and f32, and '%s' is %s",
				  t->name, vtpu_dtype_name(v->type));
	pattern = pattern_of(&view->shape, out, &span);
	if (v->class == VALUE_BATCH && (pattern == PATTERN_SCALAR || pattern == PATTERN_ROW)) {
		/* a batch of one image */
		pattern = PATTERN_COL;
		span = shape_elements(&view->shape);
	}
	if (pattern == PATTERN_OTHER ||
	    (pattern == PATTERN_COL && batch && v->class != VALUE_BATCH)) {
		struct vtpu_shape shape = *out;

		if (v->class != VALUE_BATCH && batch) {
			/* the same for all images: spread to one, which rows of images repeat */
			struct vtpu_tensor one = *t;
			struct view part = *view;

			shape.dim[0] /= l->plan->batch;
			if (part.shape.rank == out->rank && part.shape.dim[0] != 1 &&
			    shape.dim[0] == 1)
				return lower_fail(l, node,
						  "'%s' has something for each image, but is no input; make it "
						  "one, so that each core has its part",
						  t->name);
			one.shape = shape;
			v = spread(l, node, &part, &one);
			if (!v)
				return false;
			*leaf = lower_value_leaf(v, shape_elements(&shape));
			return true;
		}
		{
			struct vtpu_tensor one = *t;

			one.shape = shape;
			v = spread(l, node, view, &one);
			if (!v)
				return false;
			*leaf = lower_value_leaf(v, 0);
			return true;
		}
	}
	if (pattern == PATTERN_FULL && batch && v->class != VALUE_BATCH)
		return lower_fail(l, node,
				  "'%s' has something for each image, but is no input; make it one, so that "
				  "each core has its part",
				  t->name);
	*leaf = (struct ew_leaf){ .kind = LEAF_VALUE, .value = v };
	switch (pattern) {
	case PATTERN_ROW:
		leaf->bcast = VTPU_BCAST_ROW;
		leaf->span = span;
		break;
	case PATTERN_COL:
		leaf->bcast = VTPU_BCAST_COL;
		leaf->span = v->class == VALUE_BATCH ? span / (uint64_t)l->plan->batch : span;
		break;
	case PATTERN_SCALAR:
		leaf->bcast = VTPU_BCAST_SCALAR;
		break;
	default:
		leaf->bcast = VTPU_BCAST_FULL;
		break;
	}
	return true;
}

/* ---- Shared steps --------------------------------------------------------------------- */

struct value *lower_column_sums(struct lower *l, const struct vtpu_node *node, struct value *v,
				uint64_t cols)
{
	bool batch = v->class == VALUE_BATCH;
	struct value *sums;
	struct step *s;

	if (batch && v->count > cols) {
		/* of each image by the VPU, in order of its rows; then the images' */
		s = plan_step(l->plan, STEP_REDUCE, node);
		sums = plan_value(l->plan, v->name, VTPU_DTYPE_F32, VALUE_BATCH, cols);
		if (!s || !sums)
			return NULL;
		s->rows.cols = cols;
		s->rows.op = VTPU_REDUCE_SUM;
		s->rows.down = true;
		step_in(s, v);
		step_out(s, sums);
		v = sums;
	}
	sums = plan_value(l->plan, v->name, VTPU_DTYPE_F32, batch ? VALUE_PARTIAL : VALUE_WHOLE,
			  cols);
	s = plan_step(l->plan, STEP_MATMUL, node);
	if (!s || !sums)
		return NULL;
	s->mxu = (struct mxu_step){
		.m = 1,
		.n = (uint32_t)cols,
		.k = (uint32_t)(v->count / cols),
		.batch_k = batch,
		.ones = true,
		.products = 1,
	};
	step_in(s, NULL);
	step_in(s, v);
	step_out(s, sums);
	return sums;
}

struct value *lower_permute(struct lower *l, const struct vtpu_node *node, struct value *v,
			    const struct vtpu_shape *shape, const uint32_t *order)
{
	bool batch = v->class == VALUE_BATCH;
	int64_t stride[VTPU_MAX_RANK], size[VTPU_MAX_RANK], n = 1, dense = 1;
	struct step *s = plan_step(l->plan, STEP_MOVE, node);
	struct value *to;

	if (!s)
		return NULL;
	if (batch && order[0] != 0) {
		lower_fail(l, node, "the batch must stay the first dimension");
		return NULL;
	}
	for (uint32_t i = shape->rank; i-- > 0;) {
		size[i] = batch && !i ? shape->dim[i] / l->plan->batch : shape->dim[i];
		stride[i] = n;
		n *= size[i];
	}
	to = plan_value(l->plan, v->name, v->type, batch ? VALUE_BATCH : VALUE_WHOLE, v->count);
	if (!to)
		return NULL;
	for (uint32_t i = shape->rank; i-- > 0;) {
		if (size[order[i]] == 1)
			continue;
		s->move.count[s->move.ndim] = (uint64_t)size[order[i]];
		s->move.src[s->move.ndim] = stride[order[i]];
		s->move.dst[s->move.ndim++] = dense;
		dense *= size[order[i]];
	}
	step_in(s, v);
	step_out(s, to);
	return to;
}

/* ---- The walk ---------------------------------------------------------------------------- */

/* What results, assignments and effects need. */
static void find_live(const struct vtpu_graph *g, bool *live)
{
	for (size_t i = g->nodes; i-- > 0;) {
		const struct vtpu_node *node = g->node[i];

		live[i] |= !!(node->op->flags & OP_EFFECT);
		for (uint32_t k = 0; live[i] && k < node->inputs; k++)
			live[node->input[k]->node->id] = true;
	}
}

static bool count_io(struct plan *p, const bool *live)
{
	const struct vtpu_graph *g = p->graph;

	p->feed = arena_array(&p->arena, g->nodes + 1, sizeof(*p->feed));
	p->scalar_in = arena_array(&p->arena, g->nodes + 1, sizeof(*p->scalar_in));
	p->result = arena_array(&p->arena, g->nodes + 1, sizeof(*p->result));
	if (!p->feed || !p->scalar_in || !p->result)
		return plan_nomem(p);
	for (size_t i = 0; i < g->nodes; i++) {
		const struct vtpu_node *node = g->node[i];

		if (strcmp(node->op->name, "input") || !node->output->shape.rank || !live[i])
			continue;
		if (!p->batch)
			p->batch = node->output->shape.dim[0];
		if (node->output->shape.dim[0] != p->batch)
			return plan_fail(
				p, VTPU_ERROR_SHAPE_MISMATCH,
				"%s (input): dimension 0 of %s is %lld, but that of the inputs "
				"before it is %lld; it is the batch, and must be the same for all",
				node->name, node->output->name,
				(long long)node->output->shape.dim[0], (long long)p->batch);
	}
	if (p->batch % p->cores)
		return plan_fail(
			p, VTPU_ERROR_SHAPE_MISMATCH,
			"compile: a batch of %lld cannot be dealt to %u cores; make it %lld or %lld",
			(long long)p->batch, p->cores,
			(long long)(p->batch / p->cores ? p->batch / p->cores * p->cores :
							  p->cores),
			(long long)((p->batch / p->cores + 1) * p->cores));
	p->images = (uint32_t)(p->batch / p->cores);
	return true;
}

bool pass_lower(struct plan *p)
{
	const struct vtpu_graph *g = p->graph;
	struct lower l = { .plan = p };
	bool *live = arena_array(&p->arena, g->nodes + 1, sizeof(*live));

	l.view = arena_array(&p->arena, g->tensors + 1, sizeof(*l.view));
	if (!l.view || !live)
		return plan_nomem(p);
	l.live = live;
	find_live(g, live);
	if (!count_io(p, live))
		return false;
	for (size_t i = 0; i < g->nodes && !p->status; i++) {
		const struct vtpu_node *node = g->node[i];

		/* Inputs and scalars that nobody uses are still known by name. */
		if (!live[i] && !(node->op->flags & OP_FED))
			continue;
		if (!node->op->lower)
			return lower_fail(&l, node, "the compiler has no instructions for it yet");
		if (!node->op->lower(&l, node))
			return false;
	}
	return !p->status;
}
