// SPDX-License-Identifier: MIT
/*
 * region.c - which walk over the batch a step belongs to.
 *
 * A region is executed tile by tile, with everything in VMEM. A step that needs a sum over the whole
 * batch must be in a later region than what is summed. Steps on the batch go as late as possible,
 * so that the forward pass is where the backward pass needs its results; steps without
 * batch go before the first region in which all operands are there. What crosses
 * regions is kept in HBM, and loaded tile by tile.
 */
#include <string.h>

#include "compile/ir.h"

struct regions {
	struct plan *plan;
	uint32_t *early, *late; /* for each step */
};

/* Operand @k of a step, those of its epilogue included; NULL behind the last */
static struct value *operand(const struct step *s, uint32_t k, bool *end)
{
	*end = k >= s->ins + s->epi.count;
	if (*end)
		return NULL;
	return k < s->ins ? s->in[k] : s->epi.value[k - s->ins];
}

static const struct value *made(const struct value *v)
{
	return v->pair ? v->pair : v;
}

/* First region (or stage) in which @s has its operands, by @of: region of the step that makes one. */
static uint32_t first_of(const struct regions *r, const struct step *s, const uint32_t *of,
			 const size_t *place)
{
	uint32_t first = 0;
	bool end;

	for (uint32_t k = 0;; k++) {
		const struct value *v = operand(s, k, &end);
		uint32_t at;

		if (end)
			return first;
		if (!v || !made(v)->def)
			continue;
		at = of[place[made(v)->id]] + (v->class == VALUE_PARTIAL);
		first = at > first ? at : first;
	}
	(void)r;
}

/* Index of the step that makes each value. */
static size_t *places(struct plan *p)
{
	size_t *place = arena_array(&p->arena, p->values + 1, sizeof(*place));

	if (!place) {
		plan_nomem(p);
		return NULL;
	}
	for (size_t i = 0; i < p->steps; i++) {
		for (uint32_t k = 0; k < p->step[i]->outs; k++) {
			if (p->step[i]->out[k])
				place[p->step[i]->out[k]->id] = i;
		}
	}
	return place;
}

static bool assign(struct regions *r, const size_t *place)
{
	struct plan *p = r->plan;
	uint32_t last;
	bool end;

	p->regions = 0;
	for (size_t i = 0; i < p->steps; i++) {
		r->early[i] = first_of(r, p->step[i], r->early, place);
		if (step_on_batch(p->step[i]) && r->early[i] + 1 > p->regions)
			p->regions = r->early[i] + 1;
	}
	last = p->regions;
	for (size_t i = 0; i < p->steps; i++)
		r->late[i] = step_on_batch(p->step[i]) ? last - 1 : last;
	for (size_t i = p->steps; i-- > 0;) {
		for (uint32_t k = 0;; k++) {
			const struct value *v = operand(p->step[i], k, &end);
			uint32_t at = r->late[i];

			if (end)
				break;
			if (!v || !made(v)->def)
				continue;
			if (v->class == VALUE_PARTIAL)
				at--;
			if (at < r->late[place[made(v)->id]])
				r->late[place[made(v)->id]] = at;
		}
	}
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];

		if (!step_on_batch(s) || s->kind == STEP_RESULT)
			r->late[i] = first_of(r, s, r->late, place);
		if (r->late[i] < r->early[i])
			return plan_fail(p, VTPU_ERROR_INTERNAL,
					 "compile: %s must come in region %u at least and %u at most",
					 s->name, r->early[i], r->late[i]);
		s->region = r->late[i];
		for (uint32_t k = 0; k < s->outs; k++) {
			if (s->out[k])
				s->out[k]->region = s->region;
		}
	}
	return true;
}

/* ---- Loads and spills ---------------------------------------------------------------------- */

/* The copy of @v that is loaded in region @region. */
static struct value *loaded(struct plan *p, struct value *v, uint32_t region, struct value **copies)
{
	struct value **copy = &copies[(uint64_t)v->id * p->regions + region];
	struct step *s;

	if (*copy)
		return *copy;
	*copy = plan_value(p, v->name, v->type, VALUE_BATCH, v->count);
	s = plan_step(p, STEP_LOAD, NULL);
	if (!*copy || !s)
		return NULL;
	memcpy((*copy)->dim, v->dim, sizeof(v->dim));
	memcpy((*copy)->box, v->box, sizeof(v->box));
	(*copy)->region = region;
	(*copy)->slots = 2;
	s->name = v->def ? v->def->name : v->name;
	s->order = v->def ? v->def->order : p->feed[v->index].order;
	s->region = region;
	step_in(s, v);
	step_out(s, *copy);
	if (v->source == FROM_FEED)
		return *copy;
	if (!v->temp) {
		uint64_t bytes = value_count(v) * vtpu_dtype_bytes(v->type) * p->images;
		struct step *spill = plan_step(p, STEP_SPILL, NULL);

		if (!spill)
			return NULL;
		v->temp = p->temp_bytes + 1;
		p->temp_bytes += (bytes + 63) / 64 * 64;
		spill->name = v->def->name;
		spill->order = v->def->order;
		spill->region = v->region;
		step_in(spill, v);
	}
	return *copy;
}

/* Operands that are made in another region, or fed. */
static bool cross(struct plan *p)
{
	size_t steps = p->steps, values = p->values;
	struct value **copies =
		arena_array(&p->arena, values * p->regions + 1, sizeof(struct value *));

	if (!copies)
		return plan_nomem(p);
	for (size_t i = 0; i < steps; i++) {
		struct step *s = p->step[i];

		for (uint32_t k = 0; k < s->ins; k++) {
			struct value *v = s->in[k], *from, *to;

			if (!v || v->class != VALUE_BATCH)
				continue;
			from = v->pair ? v->pair : v;
			if (from->def && from->region == s->region)
				continue;
			to = loaded(p, from, s->region, copies);
			if (!to)
				return false;
			if (v->pair) {
				struct value *column =
					plan_value(p, v->name, v->type, v->class, v->count);

				if (!column)
					return false;
				column->pair = to;
				column->column = v->column;
				to = column;
			}
			s->in[k] = to;
			for (uint32_t l = 0; s->kind == STEP_EW && l < s->ew.leaves; l++) {
				if (s->ew.leaf[l].kind == LEAF_VALUE && s->ew.leaf[l].value == v)
					s->ew.leaf[l].value = to;
			}
		}
	}
	return true;
}

/* Rank within a region: steps without batch, loads, the rest. Spills go behind what they spill. */
static int rank(const struct step *s)
{
	return !step_on_batch(s) ? 0 : s->kind == STEP_LOAD ? 1 : 2;
}

static bool order(struct plan *p)
{
	struct step **sorted = arena_array(&p->arena, p->steps + 1, sizeof(struct step *));
	size_t n = 0;

	if (!sorted)
		return plan_nomem(p);
	for (uint32_t region = 0; region <= p->regions; region++) {
		for (int at = 0; at < 3; at++) {
			for (size_t i = 0; i < p->steps; i++) {
				struct step *s = p->step[i];

				if (s->region != region || rank(s) != at || s->kind == STEP_SPILL)
					continue;
				sorted[n++] = s;
				for (size_t k = 0; k < p->steps; k++) {
					if (p->step[k]->kind == STEP_SPILL &&
					    p->step[k]->in[0]->def == s)
						sorted[n++] = p->step[k];
				}
			}
		}
	}
	p->step = sorted;
	p->step_room = n;
	p->steps = n;
	return true;
}

bool pass_regions(struct plan *p)
{
	struct regions r = { .plan = p };
	size_t *place = places(p);

	if (!place)
		return false;
	r.early = arena_array(&p->arena, p->steps + 1, sizeof(*r.early));
	r.late = arena_array(&p->arena, p->steps + 1, sizeof(*r.late));
	if (!r.early || !r.late)
		return plan_nomem(p);
	return assign(&r, place) && cross(p) && order(p);
}
