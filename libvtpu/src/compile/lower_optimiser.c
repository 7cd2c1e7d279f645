// SPDX-License-Identifier: MIT
/*
 * lower_optimiser.c - steps of optimisers. They are collected by bucket when the program is emitted:
 * each core adds up and updates its share (exchange.c).
 */
#include <string.h>

#include "compile/layout.h"
#include "compile/lower.h"

static struct step *update_of(struct lower *l, const struct vtpu_node *node, uint32_t rate)
{
	const struct vtpu_node *parameter = node->input[0]->node;
	struct value *gradient, *value;
	struct step *s;
	uint32_t variable, word;

	if (!(parameter->op->flags & OP_VARIABLE) || layout_update(parameter) != node) {
		lower_fail(l, node,
			   "'%s' must be a parameter that gets the result, with moments that nothing else "
			   "uses, as vtpu_%s() makes them",
			   node->input[0]->name, node->op->name[0] == 'a' ? "adam" : "sgd");
		return NULL;
	}
	variable = layout_find(l->plan->layout, parameter->name);
	if (l->plan->layout->variable[variable].bucket == LAYOUT_NONE) {
		lower_fail(l, node,
			   "the variables were not made of this graph; make them of the graph that trains");
		return NULL;
	}
	gradient = lower_full(l, node, node->input[1]);
	if (!gradient)
		return NULL;
	if (gradient->class == VALUE_BATCH) {
		lower_fail(l, node,
			   "the gradient differs from image to image; sum it over the batch");
		return NULL;
	}
	if (!lower_smem(l, node, node->input[rate], &word, &value))
		return NULL;
	s = plan_step(l->plan, STEP_UPDATE, node);
	if (!s)
		return NULL;
	s->update.rate = word;
	s->update.rate_value = value;
	s->update.variable = variable;
	step_in(s, gradient);
	if (s->update.rate_value)
		step_in(s, s->update.rate_value);
	return s;
}

bool lower_sgd(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_sgd_attrs *a = node->attrs;
	bool momentum = !strcmp(node->op->name, "sgd_momentum");
	struct step *s = update_of(l, node, momentum ? 3 : 2);

	if (!s)
		return false;
	s->update.insn.kind = !momentum	  ? VTPU_OPT_SGD :
			      a->nesterov ? VTPU_OPT_NESTEROV :
					    VTPU_OPT_MOMENTUM;
	s->update.insn.beta1 = momentum ? vtpu_scalar_f32(a->momentum) : 0;
	s->update.insn.decay = vtpu_scalar_f32(a->weight_decay);
	return true;
}

bool lower_adam(struct lower *l, const struct vtpu_node *node)
{
	const struct vtpu_adam_attrs *a = node->attrs;
	const struct view *step = lower_view(l, node->input[5]);
	struct step *s = update_of(l, node, 4);

	if (!s)
		return false;
	if (step->kind != VIEW_SCALAR)
		return lower_fail(l, node, "the step '%s' must be made by vtpu_scalar()",
				  node->input[5]->name);
	s->update.c1 = lower_scalar(l, step->scalar, SCALAR_CORRECTION, a->beta1);
	s->update.c2 = lower_scalar(l, step->scalar, SCALAR_CORRECTION, a->beta2);
	s->update.insn.kind = VTPU_OPT_ADAM;
	s->update.insn.beta1 = vtpu_scalar_f32(a->beta1);
	s->update.insn.beta2 = vtpu_scalar_f32(a->beta2);
	s->update.insn.epsilon = vtpu_scalar_f32(a->epsilon);
	if (a->decoupled)
		s->update.insn.decay = vtpu_scalar_f32(a->weight_decay);
	else
		s->update.coupled_decay = a->weight_decay;
	return s->update.c1 != UINT32_MAX && s->update.c2 != UINT32_MAX;
}
