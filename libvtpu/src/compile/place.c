// SPDX-License-Identifier: MIT
/*
 * place.c - addresses in VMEM: values that are never alive together share bytes.
 *
 * Time is the order of steps. What is loaded tile by tile has two slots that live
 * through the region, so that the next tile comes in while this one is computed.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/emit.h"

static void use(struct value *v, uint32_t at)
{
	if (!v)
		return;
	if (v->pair) {
		use(v->pair, at);
		return;
	}
	if (v->home) {
		use(v->home, at);
		return;
	}
	if (at < v->first)
		v->first = at;
	if (at > v->last)
		v->last = at;
}

/* First and last step of each region, counting the whole ones before it. */
static void spans(const struct plan *p, uint32_t region, uint32_t *first, uint32_t *last)
{
	*first = UINT32_MAX;
	*last = 0;
	for (uint32_t i = 0; i < p->steps; i++) {
		if (p->step[i]->region != region || !step_on_batch(p->step[i]))
			continue;
		if (*first == UINT32_MAX)
			*first = i;
		*last = i;
	}
}

static void find_lives(struct emitter *e)
{
	struct plan *p = e->plan;

	for (size_t i = 0; i < p->values; i++) {
		p->value[i]->first = UINT32_MAX;
		p->value[i]->last = 0;
	}
	for (uint32_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];

		for (uint32_t k = 0; k < s->ins; k++)
			use(s->in[k], i);
		for (uint32_t k = 0; k < s->epi.count; k++)
			use(s->epi.value[k], i);
		for (uint32_t k = 0; k < s->outs; k++)
			use(s->out[k], i);
	}
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];
		uint32_t first, last;

		if (v->first == UINT32_MAX || v->home)
			continue;
		/*
		 * Steps without batch run when they are asked for, perhaps later than their place:
		 * what they read and write lives to the end. Sources live from the start.
		 */
		if (v->class == VALUE_WHOLE) {
			if (v->source != FROM_STEP)
				v->first = 0;
			v->last = UINT32_MAX;
		} else if (v->class == VALUE_PARTIAL || v->slots > 1) {
			spans(p, v->region, &first, &last);
			v->first = first < v->first ? first : v->first;
			v->last = last > v->last ? last : v->last;
			if (v->class == VALUE_PARTIAL)
				v->last = UINT32_MAX;
		}
	}
	for (int i = 0; i < 2; i++) {
		if (p->ones[i]) {
			p->ones[i]->first = 0;
			p->ones[i]->last = UINT32_MAX;
		}
	}
	for (uint32_t i = 0; i < e->exchanges; i++) {
		struct exchange *x = &e->exchange[i];
		struct value *area[] = { x->partial, x->received,  x->sum,	 x->image,
					 x->own,     x->moment[0], x->moment[1], x->gathered };

		for (size_t k = 0; k < sizeof(area) / sizeof(area[0]); k++) {
			if (area[k]) {
				area[k]->first = 0;
				area[k]->last = UINT32_MAX;
			}
		}
	}
}

static int by_size(const void *a, const void *b)
{
	const struct value *x = *(struct value *const *)a, *y = *(struct value *const *)b;
	uint64_t s = x->bytes * x->slots, t = y->bytes * y->slots;

	if (s != t)
		return s > t ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool alive_together(const struct value *a, const struct value *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The lowest address where @v meets none of the @n values that are placed and alive with it. */
static uint64_t lowest(const struct value *v, struct value *const *placed, size_t n)
{
	uint64_t bytes = v->bytes * v->slots, at = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			const struct value *o = placed[i];
			uint64_t end = o->addr[0] + o->bytes * o->slots;

			if (alive_together(v, o) && at < end && o->addr[0] < at + bytes) {
				at = end;
				moved = true;
			}
		}
	}
	return at;
}

static uint64_t bytes_of(const struct emitter *e, const struct value *v)
{
	uint64_t count = value_count(v);

	if (v->class == VALUE_BATCH)
		count *= e->tiles[v->region];
	return (count * vtpu_dtype_bytes(v->type) + EMIT_LINE - 1) / EMIT_LINE * EMIT_LINE;
}

bool emit_place(struct emitter *e, const char **largest, uint64_t *need)
{
	struct plan *p = e->plan;
	struct value **list = malloc((p->values + 1) * sizeof(*list));
	size_t n = 0;
	uint64_t most = 0, biggest = 0;

	if (!list)
		return plan_nomem(p);
	find_lives(e);
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];

		if (v->first == UINT32_MAX || v->home || v->pair ||
		    (v->class == VALUE_BATCH && v->source == FROM_FEED))
			continue;
		v->bytes = bytes_of(e, v);
		list[n++] = v;
	}
	qsort(list, n, sizeof(*list), by_size);
	for (size_t i = 0; i < n; i++) {
		struct value *v = list[i];
		uint64_t at = lowest(v, list, i), end = at + v->bytes * v->slots;

		if (v->bytes * v->slots > biggest) {
			biggest = v->bytes * v->slots;
			*largest = v->name;
		}
		most = end > most ? end : most;
		v->addr[0] = (uint32_t)at;
		v->addr[1] = (uint32_t)(v->slots > 1 ? at + v->bytes : at);
		if (end > UINT32_MAX)
			break;
	}
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];

		if (v->home)
			v->addr[0] = v->addr[1] = v->home->addr[0] + (uint32_t)v->home_offset;
	}
	free(list);
	*need = most;
	e->vmem = most;
	return most <= p->geometry->vmem_bytes;
}
