// SPDX-License-Identifier: MIT
/*
 * lower_pointwise.c - operations that work element by element. Batched operands give a
 * batched result; numbers are computed here.
 */
#include <math.h>
#include <string.h>

#include "compile/lower.h"

struct rule {
	const char *name;
	uint8_t op; /* enum vtpu_ew_op */
};

static const struct rule rules[] = {
	{ "neg", VTPU_EW_NEG },		  { "exp", VTPU_EW_EXP },      { "ln", VTPU_EW_LOG },
	{ "sqrt", VTPU_EW_SQRT },	  { "rsqrt", VTPU_EW_RSQRT },  { "tanh", VTPU_EW_TANH },
	{ "sigmoid", VTPU_EW_SIGMOID },	  { "relu", VTPU_EW_RELU },    { "gelu", VTPU_EW_GELU },
	{ "silu", VTPU_EW_SILU },	  { "add", VTPU_EW_ADD },      { "sub", VTPU_EW_SUB },
	{ "mul", VTPU_EW_MUL },		  { "div", VTPU_EW_DIV },      { "maximum", VTPU_EW_MAX },
	{ "minimum", VTPU_EW_MIN },	  { "equal", VTPU_EW_CMP_EQ }, { "less", VTPU_EW_CMP_LT },
	{ "less_equal", VTPU_EW_CMP_LE },
};

static uint8_t op_of(const struct vtpu_node *node)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!strcmp(rules[i].name, node->op->name))
			return rules[i].op;
	}
	return 0;
}

/* ---- Numbers ------------------------------------------------------------------------ */

static bool number_of(struct lower *l, const struct vtpu_tensor *t, float *x)
{
	const struct view *view = lower_view(l, t);

	*x = view->number;
	return view->kind == VIEW_NUMBER;
}

/* What can be computed here with the device's bits: correctly rounded operations. */
static bool fold(uint8_t op, float a, float b, float *y)
{
	switch (op) {
	case VTPU_EW_NEG:
		*y = -a;
		return true;
	case VTPU_EW_SQRT:
		*y = sqrtf(a);
		return true;
	case VTPU_EW_RELU:
		*y = a > 0 ? a : 0;
		return true;
	case VTPU_EW_ADD:
		*y = a + b;
		return true;
	case VTPU_EW_SUB:
		*y = a - b;
		return true;
	case VTPU_EW_MUL:
		*y = a * b;
		return true;
	case VTPU_EW_DIV:
		*y = a / b;
		return true;
	case VTPU_EW_MAX:
		*y = a > b ? a : b;
		return true;
	case VTPU_EW_MIN:
		*y = a < b ? a : b;
		return true;
	case VTPU_EW_CMP_EQ:
		*y = a == b;
		return true;
	case VTPU_EW_CMP_LT:
		*y = a < b;
		return true;
	case VTPU_EW_CMP_LE:
		*y = a <= b;
		return true;
	default:
		return false;
	}
}

static bool set_number(struct lower *l, const struct vtpu_node *node, float number)
{
	*lower_view(l, node->output) = (struct view){ .kind = VIEW_NUMBER, .number = number };
	return true;
}

/* ---- Expressions ---------------------------------------------------------------------- */

/* Has any input something for each image? Then so has the result, in its first dimension. */
static bool result_class(struct lower *l, const struct vtpu_node *node, enum value_class *class)
{
	const struct vtpu_shape *out = &node->output->shape;

	*class = VALUE_WHOLE;
	for (uint32_t i = 0; i < node->inputs; i++) {
		const struct view *view = lower_view(l, node->input[i]);

		if (!lower_batch(l, node->input[i]))
			continue;
		*class = VALUE_BATCH;
		if (view->shape.rank != out->rank || view->shape.dim[0] != out->dim[0])
			return lower_fail(l, node,
					  "the batch is the first dimension of '%s', and must be that of "
					  "the result; use vtpu_reshape()",
					  node->input[i]->name);
	}
	return true;
}

/* One step that computes @e, whose leaves are there, as the result of @node. */
static bool finish(struct lower *l, const struct vtpu_node *node, const struct ew_expr *e,
		   enum value_class class)
{
	const struct step *s = lower_elementwise(l, node, e, class);

	if (!s)
		return false;
	if (!ew_shape_fits(&s->ew, s->out[0]->count))
		return lower_fail(l, node,
				  "its operands are repeated along rows and columns of "
				  "different matrices; use vtpu_broadcast() on one of them");
	return true;
}

static bool leaf(struct lower *l, const struct vtpu_node *node, uint32_t input,
		 enum value_class class, struct ew_expr *e, uint8_t *arg)
{
	struct ew_leaf x;

	if (!lower_leaf(l, node, node->input[input], &node->output->shape, class == VALUE_BATCH,
			&x))
		return false;
	*arg = ew_leaf(e, &x);
	return true;
}

bool lower_unary(struct lower *l, const struct vtpu_node *node)
{
	struct ew_expr e = { .ops = 1, .op[0].op = op_of(node), .out = { EW_OP(0) } };
	enum value_class class;
	float x, y;

	if (number_of(l, node->input[0], &x) && fold(e.op[0].op, x, 0, &y))
		return set_number(l, node, y);
	return result_class(l, node, &class) && leaf(l, node, 0, class, &e, &e.op[0].a) &&
	       finish(l, node, &e, class);
}

/* equal(cast(argmax(logits)), cast(labels)): is the row right? */
static bool is_hit(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_node *a = node->input[0]->node, *b = node->input[1]->node;
	const struct vtpu_node *top;
	const struct vtpu_tensor *labels;

	if (strcmp(node->op->name, "equal") || strcmp(a->op->name, "cast") ||
	    strcmp(b->op->name, "cast"))
		return false;
	top = a->input[0]->node;
	labels = b->input[0];
	if (strcmp(top->op->name, "argmax") || top->input[0]->shape.rank != 2 ||
	    ((const struct vtpu_argmax_attrs *)top->attrs)->axis != 1)
		return false;
	return (labels->type == VTPU_DTYPE_U8 || labels->type == VTPU_DTYPE_S32) &&
	       lower_view(l, labels)->kind == VIEW_VALUE &&
	       shape_equal(&lower_view(l, labels)->shape, &labels->shape);
}

static bool hit(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_tensor *logits = node->input[0]->node->input[0]->node->input[0];
	struct value *x = lower_full(l, node, logits);
	struct value *labels = lower_full(l, node, node->input[1]->node->input[0]);
	struct step *s;
	struct value *pair, *v;

	if (!x || !labels)
		return false;
	s = lower_xent_step(l, node, x, labels, NULL);
	v = lower_new(l, node->output, x->class == VALUE_BATCH ? VALUE_BATCH : VALUE_WHOLE);
	if (!s || !v)
		return false;
	pair = plan_value(l->plan, node->name, VTPU_DTYPE_F32, v->class, 2 * v->count);
	if (!pair)
		return false;
	step_out(s, pair);
	step_out(s, NULL);
	v->pair = pair;
	v->column = 1;
	v->def = s;
	return true;
}

bool lower_binary(struct lower *l, const struct vtpu_node *node)
{
	struct ew_expr e = { .ops = 1, .op[0].op = op_of(node), .out = { EW_OP(0) } };
	enum value_class class;
	float x, y, z;

	if (number_of(l, node->input[0], &x) && number_of(l, node->input[1], &y) &&
	    fold(e.op[0].op, x, y, &z))
		return set_number(l, node, z);
	if (is_hit(l, node))
		return hit(l, node);
	return result_class(l, node, &class) && leaf(l, node, 0, class, &e, &e.op[0].a) &&
	       leaf(l, node, 1, class, &e, &e.op[0].b) && finish(l, node, &e, class);
}

bool lower_bias_add(struct lower *l, const struct vtpu_node *node)
{
	struct ew_expr e = { .ops = 1, .op[0].op = VTPU_EW_ADD, .out = { EW_OP(0) } };
	enum value_class class;

	return result_class(l, node, &class) && leaf(l, node, 0, class, &e, &e.op[0].a) &&
	       leaf(l, node, 1, class, &e, &e.op[0].b) && finish(l, node, &e, class);
}

bool lower_select(struct lower *l, const struct vtpu_node *node)
{
	struct ew_expr e = { .ops = 1, .op[0].op = VTPU_EW_SELECT, .out = { EW_OP(0) } };
	enum value_class class;
	float mask;

	if (number_of(l, node->input[0], &mask)) {
		uint32_t chosen = mask != 0 ? 1 : 2;

		e = (struct ew_expr){ 0 };
		return result_class(l, node, &class) &&
		       leaf(l, node, chosen, class, &e, &e.out[0]) && finish(l, node, &e, class);
	}
	return result_class(l, node, &class) && leaf(l, node, 0, class, &e, &e.op[0].c) &&
	       leaf(l, node, 1, class, &e, &e.op[0].a) && leaf(l, node, 2, class, &e, &e.op[0].b) &&
	       finish(l, node, &e, class);
}

bool lower_cast(struct lower *l, const struct vtpu_node *node)
{
	const struct view *view = lower_view(l, node->input[0]);
	enum vtpu_dtype type = node->output->type;
	struct ew_expr e = { 0 };
	enum value_class class;

	if (type == node->input[0]->type) {
		*lower_view(l, node->output) = *view;
		return true;
	}
	if (view->kind == VIEW_NUMBER && dtype_is_float(type) &&
	    dtype_is_float(node->input[0]->type)) {
		uint32_t bits = vtpu_scalar_f32(view->number);

		if (type == VTPU_DTYPE_BF16)
			bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
		return set_number(l, node,
				  ((union {
					  uint32_t u;
					  float f;
				  }){ bits })
					  .f);
	}
	if (view->kind == VIEW_VALUE &&
	    (view->value->type == VTPU_DTYPE_S32 || view->value->type == VTPU_DTYPE_S8))
		return true; /* of use in vtpu_correct() only, which looks through it; else an error where it is used */
	if (!dtype_is_float(type))
		return lower_fail(l, node, "the device makes no %s of %s", vtpu_dtype_name(type),
				  vtpu_dtype_name(node->input[0]->type));
	return result_class(l, node, &class) && leaf(l, node, 0, class, &e, &e.out[0]) &&
	       finish(l, node, &e, class);
}

bool lower_affine(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_affine_attrs *a = node->attrs;
	struct ew_expr e = { 0 };
	struct ew_leaf scale = lower_number_leaf(a->scale), shift = lower_number_leaf(a->shift);
	enum value_class class;
	uint8_t x, y;
	float number;

	if (number_of(l, node->input[0], &number))
		return set_number(l, node, number * a->scale + a->shift);
	if (!result_class(l, node, &class) || !leaf(l, node, 0, class, &e, &x))
		return false;
	y = x;
	if (a->scale != 1) {
		e.op[e.ops] = (struct ew_op){ VTPU_EW_MUL, y, ew_leaf(&e, &scale), 0 };
		y = EW_OP(e.ops++);
	}
	if (a->shift != 0) {
		e.op[e.ops] = (struct ew_op){ VTPU_EW_ADD, y, ew_leaf(&e, &shift), 0 };
		y = EW_OP(e.ops++);
	}
	e.out[0] = y;
	return finish(l, node, &e, class);
}
