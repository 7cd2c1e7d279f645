// SPDX-License-Identifier: MIT
/*
 * lower_layer.c - layers with a memory: batch normalisation and dropout.
 *
 * Statistics are of the whole batch on all cores: partial sums, so what uses them is in a
 * later region. Random numbers depend on the element's place in the whole batch.
 */
#include <math.h>

#include "compile/lower.h"

/* ---- Batch normalisation -------------------------------------------------------------- */

/* A row of channels computed from others; leaves are set by the caller. */
static struct value *channels(struct lower *l, const struct vtpu_node *node,
			      const struct ew_expr *e, uint64_t n)
{
	return lower_ew(l, node, e, node->name, VALUE_WHOLE, n);
}

static struct value *input_value(struct lower *l, const struct vtpu_node *node, uint32_t i)
{
	return lower_full(l, node, node->input[i]);
}

static bool set_output(struct lower *l, const struct vtpu_node *node, uint32_t i, struct value *v)
{
	struct vtpu_tensor *t = &node->output[i];

	if (!v)
		return false;
	v->name = t->name;
	*lower_view(l, t) = (struct view){ .kind = VIEW_VALUE, .value = v, .shape = t->shape };
	return true;
}

/* 1 / sqrt(variance + epsilon) */
static struct value *rsqrt_of(struct lower *l, const struct vtpu_node *node, struct value *variance,
			      uint64_t n)
{
	const struct vtpu_batch_norm_attrs *a = node->attrs;
	struct ew_expr e = { .leaves = 2,
			     .ops = 2,
			     .out = { EW_OP(1) },
			     .op = { { VTPU_EW_ADD, 0, 1, 0 },
				     { VTPU_EW_RSQRT, EW_OP(0), 0, 0 } } };

	e.leaf[0] = lower_value_leaf(variance, 0);
	e.leaf[1] = lower_number_leaf(a->epsilon);
	return channels(l, node, &e, n);
}

static struct value *product(struct lower *l, const struct vtpu_node *node, struct value *a,
			     struct value *b, uint64_t n)
{
	struct ew_expr e = {
		.leaves = 2, .ops = 1, .out = { EW_OP(0) }, .op = { { VTPU_EW_MUL, 0, 1, 0 } }
	};

	if (!a || !b)
		return NULL;
	e.leaf[0] = lower_value_leaf(a, 0);
	e.leaf[1] = lower_value_leaf(b, 0);
	return channels(l, node, &e, n);
}

static struct value *times(struct lower *l, const struct vtpu_node *node, struct value *a, float by,
			   uint64_t n)
{
	struct ew_expr e = {
		.leaves = 2, .ops = 1, .out = { EW_OP(0) }, .op = { { VTPU_EW_MUL, 0, 1, 0 } }
	};

	if (!a)
		return NULL;
	e.leaf[0] = lower_value_leaf(a, 0);
	e.leaf[1] = lower_number_leaf(by);
	return channels(l, node, &e, n);
}

/* max(sum of squares / rows - mean^2, 0) */
static struct value *variance_of(struct lower *l, const struct vtpu_node *node,
				 struct value *squares, struct value *mean, float by, uint64_t n)
{
	struct ew_expr e = { .leaves = 4,
			     .ops = 4,
			     .out = { EW_OP(3) },
			     .op = { { VTPU_EW_MUL, 0, 2, 0 },
				     { VTPU_EW_MUL, 1, 1, 0 },
				     { VTPU_EW_SUB, EW_OP(0), EW_OP(1), 0 },
				     { VTPU_EW_MAX, EW_OP(2), 3, 0 } } };

	e.leaf[0] = lower_value_leaf(squares, 0);
	e.leaf[1] = lower_value_leaf(mean, 0);
	e.leaf[2] = lower_number_leaf(by);
	e.leaf[3] = lower_number_leaf(0);
	return channels(l, node, &e, n);
}

bool lower_batch_norm(struct lower *l, const struct vtpu_node *node)
{
	struct value *x = input_value(l, node, 0), *gamma = input_value(l, node, 1);
	struct value *beta = input_value(l, node, 2), *square, *sum, *squares, *mean, *variance, *k;
	struct ew_expr sq = {
		.leaves = 1, .ops = 1, .out = { EW_OP(0) }, .op = { { VTPU_EW_MUL, 0, 0, 0 } }
	};
	struct ew_expr apply = { .leaves = 4,
				 .ops = 3,
				 .out = { EW_OP(2) },
				 .op = { { VTPU_EW_SUB, 0, 1, 0 },
					 { VTPU_EW_MUL, EW_OP(0), 2, 0 },
					 { VTPU_EW_ADD, EW_OP(1), 3, 0 } } };
	uint64_t n;
	float by;

	if (!x || !gamma || !beta)
		return false;
	n = gamma->count;
	by = (float)(1 / ((double)shape_elements(&node->input[0]->shape) / (double)n));
	sq.leaf[0] = lower_value_leaf(x, 0);
	square = lower_ew(l, node, &sq, node->name, x->class, x->count);
	sum = square ? lower_column_sums(l, node, x, n) : NULL;
	squares = sum ? lower_column_sums(l, node, square, n) : NULL;
	mean = squares ? times(l, node, sum, by, n) : NULL;
	variance = mean ? variance_of(l, node, squares, mean, by, n) : NULL;
	k = variance ? product(l, node, rsqrt_of(l, node, variance, n), gamma, n) : NULL;
	if (!k)
		return false;
	apply.leaf[0] = lower_value_leaf(x, 0);
	apply.leaf[1] = lower_value_leaf(mean, n);
	apply.leaf[2] = lower_value_leaf(k, n);
	apply.leaf[3] = lower_value_leaf(beta, n);
	return lower_elementwise(l, node, &apply, x->class) && set_output(l, node, 1, mean) &&
	       set_output(l, node, 2, variance);
}

/*
 * dgamma = sum(dy * xhat), dbeta = sum(dy),
 * dx = gamma * r * (dy - dbeta / rows - xhat * dgamma / rows), xhat = (x - mean) * r
 */
bool lower_batch_norm_grad(struct lower *l, const struct vtpu_node *node)
{
	struct value *dy = input_value(l, node, 0), *x = input_value(l, node, 1);
	struct value *gamma = input_value(l, node, 2), *mean = input_value(l, node, 3);
	struct value *variance = input_value(l, node, 4), *r, *k, *u, *t, *dgamma, *dbeta, *c1, *c2;
	struct ew_expr with_xhat = { .leaves = 4,
				     .ops = 3,
				     .out = { EW_OP(2) },
				     .op = { { VTPU_EW_SUB, 1, 2, 0 },
					     { VTPU_EW_MUL, EW_OP(0), 3, 0 },
					     { VTPU_EW_MUL, EW_OP(1), 0, 0 } } };
	struct ew_expr shift = { .leaves = 4,
				 .ops = 3,
				 .out = { EW_OP(2) },
				 .op = { { VTPU_EW_SUB, 0, 1, 0 },
					 { VTPU_EW_MUL, EW_OP(0), 2, 0 },
					 { VTPU_EW_ADD, EW_OP(1), 3, 0 } } };
	struct ew_expr apply = { .leaves = 3,
				 .ops = 2,
				 .out = { EW_OP(1) },
				 .op = { { VTPU_EW_SUB, 0, 1, 0 },
					 { VTPU_EW_MUL, EW_OP(0), 2, 0 } } };
	uint64_t n;
	float by;

	if (!dy || !x || !gamma || !mean || !variance)
		return false;
	n = gamma->count;
	by = (float)(1 / ((double)shape_elements(&node->input[0]->shape) / (double)n));
	r = rsqrt_of(l, node, variance, n);
	k = r ? product(l, node, r, gamma, n) : NULL;
	if (!k)
		return false;
	with_xhat.leaf[0] = lower_value_leaf(dy, 0);
	with_xhat.leaf[1] = lower_value_leaf(x, 0);
	with_xhat.leaf[2] = lower_value_leaf(mean, n);
	with_xhat.leaf[3] = lower_value_leaf(r, n);
	u = lower_ew(l, node, &with_xhat, node->name, x->class, x->count);
	dgamma = u ? lower_column_sums(l, node, u, n) : NULL;
	dbeta = dgamma ? lower_column_sums(l, node, dy, n) : NULL;
	c1 = dbeta ? times(l, node, dbeta, by, n) : NULL;
	c2 = c1 ? times(l, node, product(l, node, r, dgamma, n), by, n) : NULL;
	if (!c2)
		return false;
	shift.leaf[0] = lower_value_leaf(x, 0);
	shift.leaf[1] = lower_value_leaf(mean, n);
	shift.leaf[2] = lower_value_leaf(c2, n);
	shift.leaf[3] = lower_value_leaf(c1, n);
	t = lower_ew(l, node, &shift, node->name, x->class, x->count);
	if (!t)
		return false;
	apply.leaf[0] = lower_value_leaf(dy, 0);
	apply.leaf[1] = lower_value_leaf(t, 0);
	apply.leaf[2] = lower_value_leaf(k, n);
	return lower_elementwise(l, node, &apply, x->class) && set_output(l, node, 1, dgamma) &&
	       set_output(l, node, 2, dbeta);
}

/* ---- Dropout ------------------------------------------------------------------------------ */

static bool word_of(struct lower *l, const struct vtpu_node *node, uint32_t input, uint32_t *word)
{
	const struct view *view = lower_view(l, node->input[input]);

	if (view->kind != VIEW_SCALAR)
		return lower_fail(l, node, "'%s' must be made by vtpu_scalar()",
				  node->input[input]->name);
	*word = lower_scalar(l, view->scalar, SCALAR_PLAIN, 0);
	return *word != UINT32_MAX;
}

/* u < threshold ? 0 : x * scale; the zero is threshold - threshold, for want of a third number */
bool lower_dropout(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_dropout_attrs *a = node->attrs;
	struct ew_expr e = { .leaves = 4,
			     .ops = 4,
			     .out = { EW_OP(3) },
			     .op = { { VTPU_EW_CMP_LT, 1, 2, 0 },
				     { VTPU_EW_MUL, 0, 3, 0 },
				     { VTPU_EW_SUB, 2, 2, 0 },
				     { VTPU_EW_SELECT, EW_OP(2), EW_OP(1), EW_OP(0) } } };
	struct value *x = input_value(l, node, 0), *u;
	double threshold = rint((double)a->rate * 16777216) / 16777216;
	struct step *s;

	if (!x)
		return false;
	if (a->rate == 0) {
		*lower_view(l, node->output) = *lower_view(l, node->input[0]);
		return true;
	}
	s = plan_step(l->plan, STEP_RANDOM, node);
	u = s ? plan_value(l->plan, node->name, VTPU_DTYPE_F32,
			   x->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE, x->count) :
		NULL;
	if (!u || !word_of(l, node, 1, &s->random.seed) || !word_of(l, node, 2, &s->random.step))
		return false;
	s->random.stream = a->stream;
	if (x->dim[0]) {
		for (int i = 0; i < 3; i++)
			u->dim[i] = x->dim[i];
		u->box[0] = x->box[0];
		u->box[1] = x->box[1];
	}
	step_out(s, u);
	e.leaf[0] = lower_value_leaf(x, 0);
	e.leaf[1] = lower_value_leaf(u, 0);
	e.leaf[2] = lower_number_leaf((float)threshold);
	e.leaf[3] = lower_number_leaf((float)(1 / (1 - (double)a->rate)));
	return lower_elementwise(l, node, &e, u->class);
}
