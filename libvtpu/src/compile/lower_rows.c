// SPDX-License-Identifier: MIT
/*
 * lower_rows.c - operations on rows: reductions, softmax, cross-entropy, arg-max.
 *
 * Sums that leave the batch out are by row. Sums over the batch are a product with ones, whose chains
 * go on from tile to tile, so that their bits do not depend on the tile.
 */
#include <string.h>

#include "compile/lower.h"

/* A value as type @type. */
static struct value *typed(struct lower *l, const struct vtpu_node *node, struct value *v,
			   enum vtpu_dtype type)
{
	struct ew_expr e = { .leaves = 1 };

	if (!v || v->type == type)
		return v;
	e.leaf[0] = lower_value_leaf(v, 0);
	v = lower_ew(l, node, &e, v->name, v->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE,
		     v->count);
	if (v)
		v->type = type;
	return v;
}

static struct value *scaled(struct lower *l, const struct vtpu_node *node, struct value *v,
			    float by)
{
	struct ew_expr e = { .ops = 1, .op[0] = { VTPU_EW_MUL, 0, 1, 0 }, .out = { EW_OP(0) } };

	if (!v)
		return NULL;
	e.leaf[0] = lower_value_leaf(v, 0);
	e.leaf[1] = lower_number_leaf(by);
	e.leaves = 2;
	return lower_ew(l, node, &e, v->name, v->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE,
			v->count);
}

static struct value *reduce_rows(struct lower *l, const struct vtpu_node *node, struct value *v,
				 uint64_t cols, uint8_t op)
{
	enum value_class class = v->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE;
	struct value *y = plan_value(l->plan, node->name, VTPU_DTYPE_F32, class, v->count / cols);
	struct step *s = plan_step(l->plan, STEP_REDUCE, node);

	if (!y || !s)
		return NULL;
	s->rows.cols = cols;
	s->rows.op = op;
	step_in(s, v);
	step_out(s, y);
	return y;
}

/* Bring the dimensions of @set to the front or to the end of @v, unless they are there. */
static struct value *gather(struct lower *l, const struct vtpu_node *node, struct value *v,
			    const struct vtpu_shape *shape, uint32_t set, bool front)
{
	uint32_t order[VTPU_MAX_RANK], n = 0;
	bool moved = false;

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < shape->rank; i++) {
			if (!!(set & VTPU_AXIS(i)) == (front == !pass))
				order[n++] = i;
		}
	}
	/* Dimensions of 1 may be anywhere. */
	for (uint32_t i = 0, last = 0; i < shape->rank; i++) {
		if (shape->dim[order[i]] == 1)
			continue;
		moved |= order[i] < last;
		last = order[i];
	}
	return moved ? lower_permute(l, node, v, shape, order) : v;
}

static bool set_view(struct lower *l, const struct vtpu_node *node, struct value *v)
{
	if (!v)
		return false;
	v->name = node->output->name;
	*lower_view(l, node->output) =
		(struct view){ .kind = VIEW_VALUE, .value = v, .shape = node->output->shape };
	return true;
}

/* The value of the tensor; a column of a pair stays one. */
static struct value *column_or_full(struct lower *l, const struct vtpu_node *node,
				    const struct vtpu_tensor *t)
{
	const struct view *view = lower_view(l, t);

	if (view->kind == VIEW_VALUE && view->value->pair &&
	    shape_elements(&view->shape) == shape_elements(&t->shape))
		return view->value;
	return lower_full(l, node, t);
}

bool lower_reduce(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_reduce_attrs *a = node->attrs;
	const struct vtpu_tensor *x = node->input[0];
	const struct view *view = lower_view(l, x);
	uint64_t kept = shape_elements(&node->output->shape), all = shape_elements(&x->shape);
	bool mean = !strcmp(node->op->name, "reduce_mean"),
	     max = !strcmp(node->op->name, "reduce_max");
	bool over_batch = lower_batch(l, x) && a->axes & VTPU_AXIS(0);
	float factor = (float)(1 / ((double)all / (double)kept));
	struct value *v;

	if (view->kind == VIEW_NUMBER) {
		float n = max || mean ? view->number :
					view->number * (float)((double)all / (double)kept);

		*lower_view(l, node->output) = (struct view){ .kind = VIEW_NUMBER, .number = n };
		return true;
	}
	if (over_batch && max)
		return lower_fail(l, node,
				  "a maximum over the batch is not done yet; take it over other "
				  "dimensions, or on the host");
	v = over_batch ? column_or_full(l, node, x) : lower_full(l, node, x);
	if (!v)
		return false;
	if (over_batch) {
		v = gather(l, node, v, &x->shape, a->axes, true);
		v = v ? lower_column_sums(l, node, v, kept) : NULL;
	} else if (kept == all) {
		return set_view(l, node, v); /* dimensions of 1 alone */
	} else {
		v = gather(l, node, v, &x->shape, a->axes, false);
		v = v ? reduce_rows(l, node, v, all / kept,
				    max ? VTPU_REDUCE_MAX : VTPU_REDUCE_SUM) :
			NULL;
	}
	if (mean)
		v = scaled(l, node, v, factor);
	return set_view(l, node, typed(l, node, v, node->output->type));
}

bool lower_argmax(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_argmax_attrs *a = node->attrs;
	const struct vtpu_tensor *x = node->input[0];
	struct value *v = lower_full(l, node, x), *y;
	struct step *s;

	if (!v)
		return false;
	if (v->class == VALUE_BATCH && !a->axis)
		return lower_fail(l, node, "an arg-max over the batch cannot be cut over cores");
	v = gather(l, node, v, &x->shape, VTPU_AXIS(a->axis), false);
	s = v ? plan_step(l->plan, STEP_ARGMAX, node) : NULL;
	y = s ? lower_new(l, node->output, v->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE) :
		NULL;
	if (!y)
		return false;
	s->rows.cols = (uint64_t)x->shape.dim[a->axis];
	step_in(s, v);
	step_out(s, y);
	return true;
}

bool lower_softmax(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_tensor *x = node->input[0];
	struct value *v = lower_full(l, node, x), *y;
	struct step *s = v ? plan_step(l->plan, STEP_SOFTMAX, node) : NULL;

	y = s ? lower_new(l, node->output, v->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE) :
		NULL;
	if (!y)
		return false;
	if (v->class == VALUE_BATCH && x->shape.rank < 2)
		return lower_fail(l, node, "the last dimension is the batch");
	s->rows.cols = (uint64_t)x->shape.dim[x->shape.rank - 1];
	step_in(s, v);
	step_out(s, y);
	return true;
}

/* ---- Cross-entropy ------------------------------------------------------------------------ */

struct step *lower_xent_step(struct lower *l, const struct vtpu_node *node, struct value *x,
			     struct value *labels, struct value *weights)
{
	struct step *s = plan_step(l->plan, STEP_XENT, node);

	if (!s)
		return NULL;
	s->xent.factor = 1;
	step_in(s, x);
	step_in(s, labels);
	step_in(s, weights);
	step_in(s, NULL);
	return s;
}

/* log(sum(exp(x))) - mean(x) of each row: what smoothing adds to the loss. */
static struct value *flat_loss(struct lower *l, const struct vtpu_node *node, struct value *x,
			       uint64_t cols)
{
	struct ew_expr shift = { .ops = 2,
				 .leaves = 2,
				 .out = { EW_OP(1) },
				 .op = { { VTPU_EW_SUB, 0, 1, 0 },
					 { VTPU_EW_EXP, EW_OP(0), 0, 0 } } };
	struct ew_expr end = { .ops = 4,
			       .leaves = 4,
			       .out = { EW_OP(3) },
			       .op = { { VTPU_EW_LOG, 0, 0, 0 },
				       { VTPU_EW_ADD, EW_OP(0), 1, 0 },
				       { VTPU_EW_MUL, 2, 3, 0 },
				       { VTPU_EW_SUB, EW_OP(1), EW_OP(2), 0 } } };
	struct value *top = reduce_rows(l, node, x, cols, VTPU_REDUCE_MAX), *e, *sum, *total;

	if (!top)
		return NULL;
	shift.leaf[0] = lower_value_leaf(x, 0);
	shift.leaf[1] = lower_value_leaf(top, 0);
	shift.leaf[1].bcast = VTPU_BCAST_COL;
	shift.leaf[1].span = x->count / cols;
	e = lower_ew(l, node, &shift, node->name, x->class, x->count);
	sum = e ? reduce_rows(l, node, e, cols, VTPU_REDUCE_SUM) : NULL;
	total = sum ? reduce_rows(l, node, x, cols, VTPU_REDUCE_SUM) : NULL;
	if (!total)
		return NULL;
	end.leaf[0] = lower_value_leaf(sum, 0);
	end.leaf[1] = lower_value_leaf(top, 0);
	end.leaf[2] = lower_value_leaf(total, 0);
	end.leaf[3] = lower_number_leaf(1 / (float)cols);
	return lower_ew(l, node, &end, node->name, x->class, x->count / cols);
}

bool lower_xent(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_xent_attrs *a = node->attrs;
	struct value *x = lower_full(l, node, node->input[0]);
	struct value *labels = lower_full(l, node, node->input[1]);
	uint64_t cols = (uint64_t)node->input[0]->shape.dim[1];
	struct value *pair, *loss, *flat;
	struct ew_expr e = { .ops = 3,
			     .leaves = 4,
			     .out = { EW_OP(2) },
			     .op = { { VTPU_EW_MUL, 0, 1, 0 },
				     { VTPU_EW_MUL, 2, 3, 0 },
				     { VTPU_EW_ADD, EW_OP(0), EW_OP(1), 0 } } };
	struct step *s;

	if (!x || !labels)
		return false;
	s = lower_xent_step(l, node, x, labels, NULL);
	loss = s ? lower_new(l, node->output, x->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE) :
		   NULL;
	pair = loss ? plan_value(l->plan, node->name, VTPU_DTYPE_F32, loss->class,
				 2 * loss->count) :
		      NULL;
	if (!pair)
		return false;
	step_out(s, pair);
	step_out(s, NULL);
	loss->pair = pair;
	loss->def = s;
	if (a->smoothing == 0)
		return true;
	flat = flat_loss(l, node, x, cols);
	if (!flat)
		return false;
	e.leaf[0] = lower_value_leaf(loss, 0);
	e.leaf[1] = lower_number_leaf(1 - a->smoothing);
	e.leaf[2] = lower_value_leaf(flat, 0);
	e.leaf[3] = lower_number_leaf(a->smoothing);
	return set_view(l, node, lower_ew(l, node, &e, node->name, loss->class, loss->count));
}

/* A gradient of the loss that is one number for all rows: the instruction's factor. */
static bool is_factor(struct lower *l, const struct vtpu_tensor *t)
{
	const struct view *view = lower_view(l, t);

	return view->kind == VIEW_NUMBER ||
	       (view->kind == VIEW_SCALAR &&
		l->plan->scalar_in[view->scalar].type == VTPU_DTYPE_F32) ||
	       (view->kind == VIEW_VALUE && view->value->class != VALUE_BATCH &&
		shape_elements(&view->shape) == 1);
}

static bool set_factor(struct lower *l, const struct vtpu_node *node, struct step *s,
		       const struct vtpu_tensor *t)
{
	const struct view *view = lower_view(l, t);
	struct vtpu_tensor one = *t;

	if (view->kind == VIEW_NUMBER) {
		s->xent.factor = view->number;
		return true;
	}
	s->xent.smem = true;
	if (view->kind == VIEW_SCALAR) {
		s->xent.word = lower_scalar(l, view->scalar, SCALAR_PLAIN, 0);
		return s->xent.word != UINT32_MAX;
	}
	one.shape = view->shape;
	return lower_smem(l, node, &one, &s->xent.word, &s->in[3]);
}

/* dy as weights, one a row, times a factor. */
static bool weigh(struct lower *l, const struct vtpu_node *node, struct step *s)
{
	const struct vtpu_tensor *dy = node->input[0];
	const struct vtpu_node *mul = dy->node;

	if (is_factor(l, dy))
		return set_factor(l, node, s, dy);
	for (uint32_t i = 0; i < 2 && !strcmp(mul->op->name, "mul"); i++) {
		const struct view *other = lower_view(l, mul->input[!i]);

		if (is_factor(l, mul->input[i]) && other->kind == VIEW_VALUE &&
		    !other->value->pair && shape_equal(&other->shape, &dy->shape)) {
			s->in[2] = other->value;
			return set_factor(l, node, s, mul->input[i]);
		}
	}
	s->in[2] = lower_full(l, node, dy);
	return s->in[2] != NULL;
}

bool lower_xent_grad(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_xent_attrs *a = node->attrs;
	struct value *x = lower_full(l, node, node->input[1]);
	struct value *labels = lower_full(l, node, node->input[2]), *g, *p, *dy;
	uint64_t cols = (uint64_t)node->input[1]->shape.dim[1];
	struct ew_expr e = { .ops = 4,
			     .leaves = 5,
			     .out = { EW_OP(3) },
			     .op = { { VTPU_EW_MUL, 1, 3, 0 },
				     { VTPU_EW_SUB, EW_OP(0), 4, 0 },
				     { VTPU_EW_MUL, EW_OP(1), 2, 0 },
				     { VTPU_EW_ADD, EW_OP(2), 0, 0 } } };
	struct step how = { .xent.factor = 1 }, *s, *soft;
	bool smooth = a->smoothing != 0;

	if (!x || !labels)
		return false;
	dy = smooth ? lower_full(l, node, node->input[0]) : NULL;
	if (smooth && !dy)
		return false;
	if (!smooth && !weigh(l, node, &how))
		return false;
	s = lower_xent_step(l, node, x, labels, smooth ? dy : how.in[2]);
	if (!s)
		return false;
	s->in[3] = how.in[3];
	s->xent = how.xent;
	g = lower_new(l, node->output, x->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE);
	if (!g)
		return false;
	step_out(s, NULL);
	step_out(s, g);
	if (!smooth)
		return true;
	s->xent.factor = 1 - a->smoothing;
	soft = plan_step(l->plan, STEP_SOFTMAX, node);
	p = soft ? plan_value(l->plan, node->name, VTPU_DTYPE_F32, g->class, g->count) : NULL;
	if (!p)
		return false;
	soft->rows.cols = cols;
	step_in(soft, x);
	step_out(soft, p);
	e.leaf[0] = lower_value_leaf(g, 0);
	e.leaf[1] = lower_value_leaf(p, 0);
	e.leaf[2] = lower_value_leaf(dy, 0);
	e.leaf[2].bcast = VTPU_BCAST_COL;
	e.leaf[2].span = g->count / cols;
	e.leaf[3] = lower_number_leaf(a->smoothing);
	e.leaf[4] = lower_number_leaf(a->smoothing / (float)cols);
	return set_view(l, node,
			typed(l, node, lower_ew(l, node, &e, node->name, g->class, g->count),
			      g->type));
}
