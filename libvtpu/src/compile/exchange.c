// SPDX-License-Identifier: MIT
/*
 * exchange.c - sums over the cores, and optimisers.
 *
 * Gradients: each core sends each other core that one's share, adds what it got in ascending order
 * of senders, updates its share of the parameters, and sends that to all. Other sums
 * are small: each core sends all of them to all, and adds them up itself. So bits depend on
 * the number of cores alone. What arrives has bytes of its own that nothing else uses.
 */
#include <string.h>

#include "compile/emit.h"

#define VMEM(addr)	  VTPU_ADDR(VTPU_SPACE_VMEM, 0, addr)
#define HBM(base, offset) VTPU_ADDR(VTPU_SPACE_HBM, base, offset)

static const struct step *speaker(const struct emitter *e, const struct exchange *x)
{
	if (x->update)
		return x->update;
	for (size_t i = 0; i < e->plan->values; i++) {
		if (e->plan->value[i]->home == x->partial && e->plan->value[i]->def)
			return e->plan->value[i]->def;
	}
	return NULL;
}

/* Send @bytes to the core @core further on; src moves with the receiver, dst with the sender. */
static bool send(struct emitter *e, const struct exchange *x, uint32_t core, uint64_t src,
		 uint64_t src_step, uint64_t dst, uint64_t dst_step, uint64_t bytes,
		 uint32_t exchange)
{
	uint32_t cores = e->plan->cores;
	struct vtpu_insn insn = { .opcode = VTPU_OP_SEND, .unit = VTPU_UNIT_ICI };
	const struct step *s = speaker(e, x);
	struct record *r;

	insn.payload.dma = (struct vtpu_insn_dma){
		.src = VMEM(src),
		.dst = VMEM(dst),
		.src_type = VTPU_TYPE_F32,
		.dst_type = VTPU_TYPE_F32,
		.ndim = 1,
		.count = { (uint32_t)(bytes / 4), 1, 1, 1, 1 },
		.src_stride = { 4, 0, 0, 0, (int32_t)src_step },
		.dst_stride = { 4, 0, 0, 0, (int32_t)dst_step },
		.core = (uint16_t)core,
	};
	sync_vmem(&e->sync, false, src, bytes + src_step * (cores - 1));
	if (exchange == UINT32_MAX)
		sync_vmem(&e->sync, true, dst, bytes + dst_step * (cores - 1));
	r = sync_add(&e->sync, s, s ? s->name : "sum over cores", s ? s->order : 0, &insn);
	if (!r)
		return plan_nomem(e->plan);
	if (exchange != UINT32_MAX)
		r->exchange = (uint8_t)(exchange + 1);
	if (core)
		e->sync.exchange_bytes += bytes;
	return true;
}

/* The same to all, the own core last, and what that brings from all. */
static bool send_all(struct emitter *e, const struct exchange *x, const struct value *src,
		     uint64_t src_step, const struct value *dst, uint64_t dst_step, uint64_t bytes)
{
	uint32_t id = e->sync.exchanges++;

	e->sync.exchange_sends[id] = 1;
	for (uint32_t i = 1; i <= e->plan->cores; i++) {
		if (!send(e, x, i % e->plan->cores, src->addr[0], src_step, dst->addr[0], dst_step,
			  bytes, id))
			return false;
	}
	sync_arrive(&e->sync, id, dst->addr[0], bytes + dst_step * (e->plan->cores - 1));
	return true;
}

/* to = sum of @n arrays of @bytes at @from, @step bytes apart, in ascending order */
static bool add_up(struct emitter *e, const struct exchange *x, uint32_t to, uint32_t from,
		   uint64_t step, uint64_t bytes)
{
	uint32_t done = 0, n = e->plan->cores;

	while (done < n) {
		struct vtpu_insn insn = { .opcode = VTPU_OP_EW, .unit = VTPU_UNIT_VPU };
		struct vtpu_insn_ew *ew = &insn.payload.ew;

		emit_matrix(e->plan->geometry, bytes / 4, &ew->rows, &ew->cols);
		ew->nout = 1;
		ew->out[0].addr = to;
		ew->out[0].pitch = ew->cols * 4;
		ew->out_type[0] = VTPU_TYPE_F32;
		if (done)
			ew->in[ew->nin++].addr = to;
		while (ew->nin < 4 && done < n)
			ew->in[ew->nin++].addr = from + (uint32_t)(step * done++);
		for (uint32_t i = 0; i < ew->nin; i++) {
			ew->in[i].pitch = ew->cols * 4;
			ew->in_type[i] = VTPU_TYPE_F32;
			sync_vmem(&e->sync, false, ew->in[i].addr, bytes);
			if (!i)
				continue;
			ew->op[ew->nops].op = VTPU_EW_ADD;
			ew->op[ew->nops++].args = VTPU_EW_ARGS(0, 0, i);
		}
		sync_vmem(&e->sync, true, to, bytes);
		if (!emit_add(e, speaker(e, x), &insn))
			return false;
	}
	return true;
}

/* ---- Buckets ------------------------------------------------------------------------- */

static bool fill(struct emitter *e, const struct step *s, uint64_t addr, uint64_t bytes)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_FILL, .unit = VTPU_UNIT_DMA };

	if (!bytes)
		return true;
	insn.payload.dma = (struct vtpu_insn_dma){
		.dst = VMEM(addr),
		.dst_type = VTPU_TYPE_F32,
		.ndim = 1,
		.count = { (uint32_t)bytes / 4, 1, 1, 1, 1 },
		.dst_stride = { 4 },
	};
	sync_vmem(&e->sync, true, addr, bytes);
	return emit_add(e, s, &insn);
}

/* Zeros between gradients, so that nothing comes of what is between parameters. */
static bool fill_gaps(struct emitter *e, struct exchange *x)
{
	const struct layout *l = e->plan->layout;
	const struct layout_bucket *b = &l->bucket[x->bucket];

	for (size_t i = 0; i < l->variables; i++) {
		const struct layout_variable *v = &l->variable[i];
		uint64_t start = v->offset + v->bytes, end = b->offset + b->bytes;

		if (v->bucket != x->bucket)
			continue;
		for (size_t k = 0; k < l->variables; k++) {
			if (l->variable[k].bucket == x->bucket && l->variable[k].offset >= start &&
			    l->variable[k].offset < end)
				end = l->variable[k].offset;
		}
		if (!fill(e, x->update, x->partial->addr[0] + start - b->offset, end - start))
			return false;
	}
	return true;
}

/* The same between small sums: a program that sends what it never wrote makes the device clear VMEM for it. */
static bool fill_small_gaps(struct emitter *e, struct exchange *x)
{
	const struct plan *p = e->plan;

	for (size_t i = 0; i < p->values; i++) {
		const struct value *v = p->value[i];
		uint64_t start = v->home_offset + value_count(v) * 4, end = x->bytes;

		if (v->home != x->partial)
			continue;
		for (size_t k = 0; k < p->values; k++) {
			const struct value *o = p->value[k];

			if (o->home == x->partial && o->home_offset >= start &&
			    o->home_offset < end)
				end = o->home_offset;
		}
		if (start < end &&
		    !fill(e, speaker(e, x), x->partial->addr[0] + start, end - start))
			return false;
	}
	return true;
}

bool exchange_image(struct emitter *e, struct exchange *x)
{
	const struct layout_bucket *b = &e->plan->layout->bucket[x->bucket];

	if (x->image->ready)
		return true;
	x->image->ready = true;
	for (size_t i = 0; i < e->plan->values; i++) {
		if (e->plan->value[i]->home == x->image)
			e->plan->value[i]->ready = true;
	}
	sync_hbm(&e->sync, false, e->base_params, b->offset, b->bytes);
	sync_vmem(&e->sync, true, x->image->addr[0], b->bytes);
	return emit_copy(e, NULL, VMEM(x->image->addr[0]), VTPU_TYPE_F32,
			 HBM(e->base_params, b->offset), VTPU_TYPE_F32, b->bytes / 4);
}

static bool move_moments(struct emitter *e, struct exchange *x, bool load)
{
	const struct layout_bucket *b = &e->plan->layout->bucket[x->bucket];

	for (uint32_t m = 0; m < b->moments; m++) {
		uint64_t vmem = VMEM(x->moment[m]->addr[0]), hbm = HBM(x->moment_base[m], 0);

		sync_hbm(&e->sync, !load, x->moment_base[m], 0, x->share);
		sync_vmem(&e->sync, load, x->moment[m]->addr[0], x->share);
		if (!emit_copy(e, x->update, load ? vmem : hbm, VTPU_TYPE_F32, load ? hbm : vmem,
			       VTPU_TYPE_F32, x->share / 4))
			return false;
	}
	return true;
}

static bool prepare(struct emitter *e, struct exchange *x)
{
	if (!exchange_image(e, x) || !fill_gaps(e, x) || !move_moments(e, x, true))
		return false;
	/* The own share, to a place that does not depend on the core. */
	return e->plan->cores == 1 ||
	       send(e, x, 0, x->image->addr[0], x->share, x->own->addr[0], 0, x->share, UINT32_MAX);
}

/* g += decay * p */
static bool decay_gradient(struct emitter *e, struct exchange *x)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_EW, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_ew *ew = &insn.payload.ew;

	emit_matrix(e->plan->geometry, x->share / 4, &ew->rows, &ew->cols);
	ew->nin = 2;
	ew->nout = 1;
	ew->nops = 1;
	ew->in[0].addr = ew->out[0].addr = x->sum->addr[0];
	ew->in[1].addr = x->own->addr[0];
	ew->in[0].pitch = ew->in[1].pitch = ew->out[0].pitch = ew->cols * 4;
	ew->in_type[0] = ew->in_type[1] = ew->out_type[0] = VTPU_TYPE_F32;
	ew->op[0].op = VTPU_EW_FMA;
	ew->op[0].args = VTPU_EW_ARGS(0, 1, VTPU_EW_IMM0);
	ew->imm[0] = vtpu_scalar_f32(x->update->update.coupled_decay);
	sync_vmem(&e->sync, false, x->sum->addr[0], x->share);
	sync_vmem(&e->sync, false, x->own->addr[0], x->share);
	sync_vmem(&e->sync, true, x->sum->addr[0], x->share);
	return emit_add(e, x->update, &insn);
}

static bool optimise(struct emitter *e, struct exchange *x)
{
	const struct update_step *u = &x->update->update;
	struct vtpu_insn insn = { .opcode = VTPU_OP_OPTIMIZE, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_opt *opt = &insn.payload.opt;

	if (u->coupled_decay != 0 && !decay_gradient(e, x))
		return false;
	if (u->rate_value) {
		struct step rate = { .name = x->update->name, .ins = 1, .in = { u->rate_value } };

		if (!emit_ready(e, &rate))
			return false;
	}
	*opt = u->insn;
	opt->param = x->own->addr[0];
	opt->grad = x->sum->addr[0];
	opt->count = (uint32_t)(x->share / 4);
	opt->imm[0] = u->rate;
	opt->imm[1] = vtpu_scalar_f32(1);
	insn.flags |= VTPU_INSN_ARG_SMEM(0);
	sync_smem(&e->sync, false, u->rate);
	if (opt->kind == VTPU_OPT_ADAM) {
		opt->imm[2] = u->c1;
		opt->imm[3] = u->c2;
		insn.flags |= VTPU_INSN_ARG_SMEM(2) | VTPU_INSN_ARG_SMEM(3);
	}
	sync_vmem(&e->sync, false, opt->grad, x->share);
	sync_vmem(&e->sync, false, opt->param, x->share);
	sync_vmem(&e->sync, true, opt->param, x->share);
	if (x->moment[0]) {
		opt->m = x->moment[0]->addr[0];
		sync_vmem(&e->sync, false, opt->m, x->share);
		sync_vmem(&e->sync, true, opt->m, x->share);
	}
	if (x->moment[1]) {
		opt->v = x->moment[1]->addr[0];
		sync_vmem(&e->sync, false, opt->v, x->share);
		sync_vmem(&e->sync, true, opt->v, x->share);
	}
	return emit_add(e, x->update, &insn);
}

/* From the sum of the own share's gradients to parameters everywhere. */
static bool finish_bucket(struct emitter *e, struct exchange *x)
{
	const struct layout_bucket *b = &e->plan->layout->bucket[x->bucket];
	const struct value *after = e->plan->cores > 1 ? x->gathered : x->image;

	if (!optimise(e, x))
		return false;
	if (e->plan->cores > 1 && !send_all(e, x, x->own, 0, x->gathered, x->share, x->share))
		return false;
	if (!move_moments(e, x, false))
		return false;
	sync_hbm(&e->sync, true, e->base_params, b->offset, b->bytes);
	sync_vmem(&e->sync, false, after->addr[0], b->bytes);
	return emit_copy(e, x->update, HBM(e->base_params, b->offset), VTPU_TYPE_F32,
			 VMEM(after->addr[0]), VTPU_TYPE_F32, b->bytes / 4);
}

/* ---- When ------------------------------------------------------------------------------- */

static bool send_partial(struct emitter *e, struct exchange *x)
{
	x->sent = true;
	if (x->bucket == LAYOUT_NONE)
		return fill_small_gaps(e, x) &&
		       send_all(e, x, x->partial, 0, x->received, x->bytes, x->bytes);
	if (!prepare(e, x))
		return false;
	return e->plan->cores == 1 ||
	       send_all(e, x, x->partial, x->share, x->received, x->share, x->share);
}

static bool finish(struct emitter *e, struct exchange *x)
{
	if (x->bucket == LAYOUT_NONE)
		return add_up(e, x, x->partial->addr[0], x->received->addr[0], x->bytes, x->bytes);
	if (e->plan->cores > 1 &&
	    !add_up(e, x, x->sum->addr[0], x->received->addr[0], x->share, x->share))
		return false;
	return finish_bucket(e, x);
}

static bool of_region(const struct emitter *e, const struct exchange *x)
{
	return x->region == e->region && (x->bucket == LAYOUT_NONE || x->direct);
}

/*
 * What was sent before @x has arrived by now, or soon will: its update and what goes back to
 * all cores are hidden too. Whoever still reads these parameters has the old ones: with more
 * than one core, new ones have a place of their own.
 */
static bool finish_earlier(struct emitter *e, const struct exchange *x)
{
	for (uint32_t i = e->exchanges; i-- > 0 && e->plan->cores > 1;) {
		struct exchange *y = &e->exchange[i];

		if (y == x || !of_region(e, y) || y->bucket == LAYOUT_NONE || !y->sent ||
		    y->finished)
			continue;
		y->finished = true;
		if (!finish(e, y))
			return false;
	}
	return true;
}

bool exchange_made(struct emitter *e, const struct value *v)
{
	for (uint32_t i = 0; i < e->exchanges; i++) {
		struct exchange *x = &e->exchange[i];

		if (!of_region(e, x) || v->home != x->partial)
			continue;
		x->left--;
		if (!x->left && !e->plan->options.no_overlap)
			return send_partial(e, x) && finish_earlier(e, x);
	}
	return true;
}

void exchange_begin(struct emitter *e)
{
	for (uint32_t i = 0; i < e->exchanges; i++) {
		struct exchange *x = &e->exchange[i];

		x->sent = x->finished = false;
		x->left = x->direct ? 0 : x->updates;
		for (size_t k = 0; k < e->plan->values; k++)
			x->left += e->plan->value[k]->home == x->partial &&
				   e->plan->value[k]->class == VALUE_PARTIAL;
	}
}

bool exchange_complete(struct emitter *e, const struct value *v)
{
	for (uint32_t i = 0; i < e->exchanges; i++) {
		struct exchange *x = &e->exchange[i];

		if (v->home != x->partial || x->bucket != LAYOUT_NONE || x->finished)
			continue;
		x->finished = true;
		return finish(e, x);
	}
	return true;
}

bool exchange_region(struct emitter *e)
{
	for (uint32_t i = 0; i < e->exchanges; i++) {
		if (of_region(e, &e->exchange[i]) && !e->exchange[i].sent &&
		    e->exchange[i].bucket == LAYOUT_NONE && !send_partial(e, &e->exchange[i]))
			return false;
	}
	/* Buckets of late layers are behind, and ready first. */
	for (uint32_t i = e->exchanges; i-- > 0;) {
		struct exchange *x = &e->exchange[i];

		if (!of_region(e, x) || x->bucket == LAYOUT_NONE || x->finished)
			continue;
		if ((!x->sent && !send_partial(e, x)) || !finish(e, x))
			return false;
	}
	return true;
}

bool exchange_update(struct emitter *e, const struct step *s)
{
	const struct layout_variable *var = &e->plan->layout->variable[s->update.variable];
	const struct layout_bucket *b = &e->plan->layout->bucket[var->bucket];
	struct exchange *x = exchange_of(e, var->bucket);
	const struct value *g = s->in[0];
	uint32_t to;

	if (x->direct)
		return true;
	to = x->partial->addr[0] + (uint32_t)(var->offset - b->offset);
	emit_touch(e, g, false);
	sync_vmem(&e->sync, true, to, var->bytes);
	if (!emit_copy(e, s, VMEM(to), VTPU_TYPE_F32, VMEM(emit_address(e, g)), hw_type(g->type),
		       g->count))
		return false;
	if (--x->left)
		return true;
	if (!prepare(e, x))
		return false;
	if (e->plan->cores > 1 &&
	    !send(e, x, 0, x->partial->addr[0], x->share, x->sum->addr[0], 0, x->share, UINT32_MAX))
		return false;
	return finish_bucket(e, x);
}
