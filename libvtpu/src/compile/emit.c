// SPDX-License-Identifier: MIT
/*
 * emit.c - the order of instructions: regions, tiles, steps.
 *
 * The next tile is loaded while one is computed. What a region sums is exchanged as soon as its last
 * tile has it, and finished when the region has ended.
 */
#include "compile/emit.h"

bool emit_add(struct emitter *e, const struct step *s, struct vtpu_insn *insn)
{
	const char *name = s ? s->name : "load variables";
	uint32_t order = s ? s->order : (uint32_t)vtpu_graph_size(e->plan->graph);

	return sync_add(&e->sync, s, name, order, insn) || plan_nomem(e->plan);
}

uint32_t emit_address(const struct emitter *e, const struct value *v)
{
	if (v->pair)
		return emit_address(e, v->pair) + 4 * v->column;
	return v->addr[v->slots > 1 ? e->tile & 1 : 0];
}

void emit_touch(struct emitter *e, const struct value *v, bool write)
{
	if (v->pair)
		v = v->pair;
	sync_vmem(&e->sync, write, emit_address(e, v),
		  emit_elements(e, v) * vtpu_dtype_bytes(v->type));
}

static void set_tile(struct emitter *e, uint32_t tile)
{
	uint32_t size = e->tiles[e->region], left;

	e->tile = tile;
	e->first = tile * size;
	left = e->plan->images - e->first;
	e->images = left < size ? left : size;
}

static bool load_tile(struct emitter *e, uint32_t tile)
{
	struct plan *p = e->plan;
	uint32_t now = e->tile;
	bool ok = true;

	set_tile(e, tile);
	for (size_t i = 0; i < p->steps && ok; i++) {
		if (p->step[i]->kind == STEP_LOAD && p->step[i]->region == e->region)
			ok = emit_step(e, p->step[i]);
	}
	set_tile(e, now);
	return ok;
}

static bool run_tile(struct emitter *e, uint32_t tile, uint32_t tiles)
{
	struct plan *p = e->plan;
	bool loaded = tile + 1 == tiles;

	set_tile(e, tile);
	for (size_t i = 0; i < p->steps; i++) {
		struct step *s = p->step[i];

		if (s->region != e->region || !step_on_batch(s) || s->kind == STEP_LOAD)
			continue;
		if (!emit_ready(e, s) || !emit_step(e, s))
			return false;
		if (!loaded && !load_tile(e, tile + 1))
			return false;
		loaded = true;
		for (uint32_t k = 0; k < s->outs && tile + 1 == tiles; k++) {
			if (s->out[k] && s->out[k]->class == VALUE_PARTIAL &&
			    !exchange_made(e, s->out[k]))
				return false;
		}
	}
	return true;
}

static bool run_region(struct emitter *e)
{
	uint32_t size = e->tiles[e->region], tiles = (e->plan->images + size - 1) / size;

	set_tile(e, 0);
	if (!load_tile(e, 0))
		return false;
	for (uint32_t tile = 0; tile < tiles; tile++) {
		if (!run_tile(e, tile, tiles))
			return false;
	}
	return exchange_region(e);
}

/* What nothing asked for: results, assignments, optimisers. */
static bool run_rest(struct emitter *e)
{
	struct plan *p = e->plan;

	for (size_t i = 0; i < p->steps; i++) {
		if (!step_on_batch(p->step[i]) && !emit_whole(e, p->step[i]))
			return false;
	}
	return true;
}

/* Once, when something asks for it, so that nothing waits for sums that it does not need. */
bool emit_whole(struct emitter *e, struct step *s)
{
	const struct emitter now = *e;
	bool ok;

	if (s->emitted)
		return true;
	s->emitted = true;
	e->tile = 0;
	e->first = 0;
	e->images = 1;
	ok = emit_ready(e, s) && emit_step(e, s);
	e->tile = now.tile;
	e->first = now.first;
	e->images = now.images;
	return ok;
}

bool emit_program(struct emitter *e)
{
	struct plan *p = e->plan;

	sync_begin(&e->sync, p);
	for (size_t i = 0; i < p->values; i++)
		p->value[i]->ready = p->value[i]->smem_ready = false;
	for (size_t i = 0; i < p->steps; i++)
		p->step[i]->emitted = false;
	exchange_begin(e);
	for (e->region = 0; e->region < p->regions; e->region++) {
		if (!run_region(e))
			return false;
	}
	if (!run_rest(e))
		return false;
	return !p->status && !(e->sync.no_memory && !plan_nomem(p));
}
