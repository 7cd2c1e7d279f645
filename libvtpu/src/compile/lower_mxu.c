// SPDX-License-Identifier: MIT
/*
 * lower_mxu.c - matrix products and convolutions.
 *
 * A product with rows of the batch in its rows gives rows of the batch; one that contracts over the
 * batch gives a partial value, and its chains go on from tile to tile. The same for
 * convolutions: forward and input gradient image by image, weight gradient over all.
 */
#include <string.h>

#include "compile/lower.h"

static bool fits(struct lower *l, const struct vtpu_node *node, uint64_t a, uint64_t b, uint64_t c)
{
	return (a < 1u << 30 && b < 1u << 30 && c < 1u << 30) ||
	       lower_fail(l, node,
			  "a matrix of %llu x %llu x %llu is more than an instruction can say",
			  (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
}

bool lower_matmul(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_matmul_attrs *t = node->attrs;
	const struct vtpu_tensor *a = node->input[0], *b = node->input[1], *y = node->output;
	uint32_t r = y->shape.rank;
	uint64_t m = (uint64_t)y->shape.dim[r - 2], n = (uint64_t)y->shape.dim[r - 1];
	uint64_t k = (uint64_t)a->shape.dim[r - 1 - t->transpose_a], products = 1;
	bool batch_a, batch_b;
	enum value_class class = VALUE_WHOLE;
	struct value *va = lower_full(l, node, a), *vb = lower_full(l, node, b), *vy;
	struct step *s;

	if (!va || !vb || !fits(l, node, m, n, k))
		return false;
	batch_a = va->class == VALUE_BATCH;
	batch_b = vb->class == VALUE_BATCH;
	for (uint32_t i = 0; i + 2 < r; i++)
		products *= (uint64_t)y->shape.dim[i];
	s = plan_step(l->plan, STEP_MATMUL, node);
	if (!s)
		return false;
	s->mxu = (struct mxu_step){ .trans_a = t->transpose_a, .trans_b = t->transpose_b };
	if (batch_a || batch_b) {
		uint64_t batch = (uint64_t)l->plan->batch;

		class = VALUE_BATCH;
		if (r > 2) {
			if (!batch_a || !batch_b)
				return lower_fail(l, node,
						  "'%s' is the same for all images and '%s' is not; use "
						  "vtpu_reshape() to bring the batch into the rows",
						  (batch_a ? b : a)->name, (batch_a ? a : b)->name);
			s->mxu.each = true;
			products /= batch;
		} else if (batch_a && !batch_b && !t->transpose_a) {
			s->mxu.batch_m = true;
			m /= batch;
		} else if (batch_a && batch_b && t->transpose_a && !t->transpose_b) {
			s->mxu.batch_k = true;
			class = VALUE_PARTIAL;
			k /= batch;
		} else {
			return lower_fail(l, node,
					  "the batch is in the %s of '%s'; it can be in the rows of the first "
					  "operand, or be summed over by transposing the first",
					  batch_a ? "rows" : "contracted dimension",
					  (batch_a ? a : b)->name);
		}
	}
	s->mxu.m = (uint32_t)m;
	s->mxu.n = (uint32_t)n;
	s->mxu.k = (uint32_t)k;
	s->mxu.products = (uint32_t)products;
	vy = lower_new(l, y, class);
	if (!vy)
		return false;
	step_in(s, va);
	step_in(s, vb);
	step_out(s, vy);
	return true;
}

/* ---- Convolution -------------------------------------------------------------------------- */

static bool window_of(struct lower *l, const struct vtpu_node *node,
		      const struct vtpu_conv2d_attrs *a, const struct vtpu_shape *weights,
		      struct window_step *w)
{
	for (int i = 0; i < 2; i++) {
		w->ker[i] = (uint32_t)weights->dim[i];
		w->stride[i] = (uint32_t)a->stride[i];
		w->dil[i] = (uint32_t)a->dilation[i];
		w->before[i] = (uint32_t)a->pad[2 * i];
		if (w->ker[i] > 255 || w->stride[i] > 255 || w->dil[i] > 255 ||
		    a->pad[2 * i] > 255 || a->pad[2 * i + 1] > 255)
			return lower_fail(
				l, node,
				"kernel sizes, strides, dilations and paddings can be 255 at most");
	}
	w->groups = (uint32_t)a->groups;
	return true;
}

static struct value *image_of(struct lower *l, const struct vtpu_node *node,
			      const struct vtpu_tensor *t)
{
	struct value *v = lower_full(l, node, t);

	if (!v)
		return NULL;
	if (v->class != VALUE_BATCH || !v->dim[0]) {
		/* The same elements, known under another shape. */
		struct ew_expr e = { .leaves = 1, .out = { 0 } };
		struct value *image;
		struct step *s;

		if (v->class != VALUE_BATCH || t->shape.dim[0] != l->plan->batch) {
			lower_fail(l, node, "'%s' must have the batch as its first dimension",
				   t->name);
			return NULL;
		}
		s = plan_step(l->plan, STEP_EW, node);
		image = plan_value(l->plan, t->name, v->type, VALUE_BATCH, v->count);
		if (!s || !image)
			return NULL;
		for (int i = 0; i < 3; i++)
			image->dim[i] = (uint32_t)t->shape.dim[i + 1];
		image->box[0] = image->dim[0];
		image->box[1] = image->dim[1];
		e.leaf[0] = lower_value_leaf(v, 0);
		s->ew = e;
		step_leaves(s);
		step_out(s, image);
		return image;
	}
	if (v->dim[0] != t->shape.dim[1] || v->dim[1] != t->shape.dim[2]) {
		lower_fail(l, node,
			   "'%s' was reshaped from images to other images, which is not done yet",
			   t->name);
		return NULL;
	}
	return v;
}

static struct value *weights_of(struct lower *l, const struct vtpu_node *node,
				const struct vtpu_tensor *t)
{
	struct value *v = lower_full(l, node, t);

	if (v && v->class == VALUE_BATCH) {
		lower_fail(l, node, "weights '%s' must be the same for all images", t->name);
		return NULL;
	}
	return v;
}

static bool conv(struct lower *l, const struct vtpu_node *node, enum step_kind kind,
		 struct value *a, struct value *b, const struct window_step *w,
		 enum value_class class)
{
	struct step *s = a && b ? plan_step(l->plan, kind, node) : NULL;
	struct value *y = s ? lower_new(l, node->output, class) : NULL;

	if (!y)
		return false;
	s->win = *w;
	step_in(s, a);
	step_in(s, b);
	step_out(s, y);
	return true;
}

bool lower_conv2d(struct lower *l, const struct vtpu_node *node)
{
	struct window_step w = { 0 };

	return window_of(l, node, node->attrs, &node->input[1]->shape, &w) &&
	       conv(l, node, STEP_CONV, image_of(l, node, node->input[0]),
		    weights_of(l, node, node->input[1]), &w, VALUE_BATCH);
}

bool lower_conv2d_input_grad(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_conv2d_grad_attrs *a = node->attrs;
	struct window_step w = { 0 };

	return window_of(l, node, &a->conv, &node->input[1]->shape, &w) &&
	       conv(l, node, STEP_DGRAD, image_of(l, node, node->input[0]),
		    weights_of(l, node, node->input[1]), &w, VALUE_BATCH);
}

bool lower_conv2d_weight_grad(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_conv2d_grad_attrs *a = node->attrs;
	struct window_step w = { 0 };

	return window_of(l, node, &a->conv, &a->shape, &w) &&
	       conv(l, node, STEP_WGRAD, image_of(l, node, node->input[0]),
		    image_of(l, node, node->input[1]), &w, VALUE_PARTIAL);
}

/* ---- Pooling -------------------------------------------------------------------------------- */

static bool pool_window(struct lower *l, const struct vtpu_node *node,
			const struct vtpu_pool_attrs *a, bool average, struct window_step *w)
{
	for (int i = 0; i < 2; i++) {
		w->ker[i] = (uint32_t)a->window[i];
		w->stride[i] = (uint32_t)a->stride[i];
		w->dil[i] = 1;
		w->before[i] = (uint32_t)a->pad[2 * i];
		if (a->stride[i] > 255 || a->window[i] > 255)
			return lower_fail(l, node, "window and stride can be 255 at most");
	}
	w->average = average;
	return w->ker[0] * w->ker[1] <= 255 ||
	       lower_fail(l, node, "a window can have 255 elements at most, and has %u",
			  w->ker[0] * w->ker[1]);
}

bool lower_pool(struct lower *l, const struct vtpu_node *node)
{
	bool average = node->outputs == 1;
	struct window_step w = { 0 };
	struct value *x, *y, *index = NULL;
	struct step *s;

	if (!pool_window(l, node, node->attrs, average, &w))
		return false;
	x = image_of(l, node, node->input[0]);
	s = x ? plan_step(l->plan, STEP_POOL, node) : NULL;
	y = s ? lower_new(l, node->output, VALUE_BATCH) : NULL;
	if (y && !average)
		index = lower_new(l, &node->output[1], VALUE_BATCH);
	if (!y || (!average && !index))
		return false;
	s->win = w;
	step_in(s, x);
	step_out(s, y);
	step_out(s, index);
	return true;
}

bool lower_pool_grad(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_pool_grad_attrs *a = node->attrs;
	bool average = node->inputs == 1;
	struct window_step w = { 0 };
	struct value *dy, *index = NULL, *dx;
	struct step *s;

	if (!pool_window(l, node, &a->pool, average, &w))
		return false;
	dy = image_of(l, node, node->input[0]);
	if (!average)
		index = image_of(l, node, node->input[1]);
	if (!dy || (!average && !index))
		return false;
	s = plan_step(l->plan, STEP_POOL_GRAD, node);
	dx = s ? lower_new(l, node->output, VALUE_BATCH) : NULL;
	if (!dx)
		return false;
	s->win = w;
	step_in(s, dy);
	step_in(s, index);
	step_out(s, dx);
	return true;
}
