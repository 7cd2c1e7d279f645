// SPDX-License-Identifier: MIT
/*
 * areas.c - which partial values cores exchange together, and room for that in VMEM.
 *
 * Gradients that only an optimiser uses lie in their bucket's order, so that a share is one
 * range; other sums of a region lie one behind the other.
 */
#include "compile/emit.h"

static struct value *area(struct plan *p, const char *name, uint64_t bytes)
{
	return plan_value(p, name, VTPU_DTYPE_U8, VALUE_WHOLE, bytes);
}

static void set_home(struct value *v, struct value *home, uint64_t offset)
{
	v->home = home;
	v->home_offset = offset;
}

/* Do gradients of the bucket go from their accumulators straight to the optimiser? */
static bool is_direct(const struct plan *p, uint32_t bucket, uint32_t *region)
{
	bool first = true;

	for (size_t i = 0; i < p->steps; i++) {
		const struct step *s = p->step[i];
		const struct value *g = s->in[0];

		if (s->kind != STEP_UPDATE ||
		    p->layout->variable[s->update.variable].bucket != bucket)
			continue;
		if (first)
			*region = g->region;
		first = false;
		if (g->class != VALUE_PARTIAL || g->type != VTPU_DTYPE_F32 || g->smem || g->pair ||
		    g->region != *region || plan_uses(p, g, NULL) != 1)
			return false;
		if (s->update.rate_value && (s->update.rate_value->class != VALUE_WHOLE ||
					     s->update.rate_value->region > *region))
			return false;
	}
	return true;
}

static bool bucket_areas(struct plan *p, struct exchange *x, const struct layout_bucket *b)
{
	bool many = p->cores > 1;

	x->bytes = b->bytes;
	x->share = b->bytes / p->cores;
	x->partial = area(p, "gradients", x->bytes);
	x->image = area(p, "parameters", x->bytes);
	x->sum = many ? area(p, "sum of gradients", x->share) : x->partial;
	x->own = many ? area(p, "share of parameters", x->share) : x->image;
	for (uint32_t m = 0; m < b->moments; m++)
		x->moment[m] = area(p, "share of moments", x->share);
	if (many) {
		x->received = x->direct ? area(p, "received gradients", x->bytes) : NULL;
		x->gathered = area(p, "updated parameters", x->bytes);
	}
	return !p->status;
}

static bool add_bucket(struct emitter *e, uint32_t bucket)
{
	struct plan *p = e->plan;
	const struct layout_bucket *b = &p->layout->bucket[bucket];
	struct exchange *x = &e->exchange[e->exchanges];
	uint32_t variables = 0;

	*x = (struct exchange){ .bucket = bucket };
	for (size_t i = 0; i < p->steps; i++) {
		if (p->step[i]->kind == STEP_UPDATE &&
		    p->layout->variable[p->step[i]->update.variable].bucket == bucket) {
			x->update = p->step[i];
			x->updates++;
		}
	}
	if (!x->updates)
		return true;
	for (size_t i = 0; i < p->layout->variables; i++)
		variables += p->layout->variable[i].bucket == bucket;
	if (variables != x->updates)
		return plan_fail(p, VTPU_ERROR_UNSUPPORTED,
				 "%s: the graph updates %u of %u parameters that the variables keep together; "
				 "make the variables of this graph",
				 x->update->name, x->updates, variables);
	x->direct = is_direct(p, bucket, &x->region);
	e->exchanges++;
	if (!bucket_areas(p, x, b))
		return false;
	for (size_t i = 0; i < p->steps && x->direct; i++) {
		const struct step *s = p->step[i];

		if (s->kind == STEP_UPDATE &&
		    p->layout->variable[s->update.variable].bucket == bucket)
			set_home(s->in[0], x->partial,
				 p->layout->variable[s->update.variable].offset - b->offset);
	}
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];
		const struct layout_variable *var;

		if (v->source != FROM_VARIABLE || v->type != VTPU_DTYPE_F32)
			continue;
		var = &p->layout->variable[v->index];
		if (var->bucket == bucket)
			set_home(v, x->image, var->offset - b->offset);
	}
	return true;
}

/* Everything else that a region sums. */
static bool add_sums(struct emitter *e, uint32_t region)
{
	struct plan *p = e->plan;
	struct exchange *x = &e->exchange[e->exchanges];

	*x = (struct exchange){ .bucket = LAYOUT_NONE, .region = region };
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];

		if (v->class == VALUE_PARTIAL && v->region == region && !v->home && v->def &&
		    plan_uses(p, v, NULL))
			x->bytes += (v->count * 4 + EMIT_LINE - 1) / EMIT_LINE * EMIT_LINE;
	}
	if (!x->bytes)
		return true;
	x->partial = area(p, "sums", x->bytes);
	x->received = area(p, "received sums", x->bytes * p->cores);
	if (p->status)
		return false;
	x->bytes = 0;
	for (size_t i = 0; i < p->values; i++) {
		struct value *v = p->value[i];

		if (v->class != VALUE_PARTIAL || v->region != region || v->home || !v->def ||
		    !plan_uses(p, v, NULL))
			continue;
		set_home(v, x->partial, x->bytes);
		x->bytes += (v->count * 4 + EMIT_LINE - 1) / EMIT_LINE * EMIT_LINE;
	}
	e->exchanges++;
	return true;
}

bool emit_areas(struct emitter *e)
{
	struct plan *p = e->plan;

	e->exchange =
		arena_array(&p->arena, p->layout->buckets + p->regions + 1, sizeof(*e->exchange));
	if (!e->exchange)
		return plan_nomem(p);
	for (uint32_t b = 0; b < p->layout->buckets; b++) {
		if (!add_bucket(e, b))
			return false;
	}
	for (uint32_t r = 0; r < p->regions && p->cores > 1; r++) {
		if (!add_sums(e, r))
			return false;
	}
	return e->exchanges < SYNC_EXCHANGES / 2 ||
	       plan_fail(p, VTPU_ERROR_UNSUPPORTED,
			 "compile: %u sums over the cores, one after the other; at most %d",
			 e->exchanges, SYNC_EXCHANGES / 2);
}

struct exchange *exchange_of(struct emitter *e, uint32_t bucket)
{
	for (uint32_t i = 0; i < e->exchanges; i++) {
		if (e->exchange[i].bucket == bucket)
			return &e->exchange[i];
	}
	return NULL;
}
