// SPDX-License-Identifier: MIT
/*
 * insn.c - the checks of an instruction, driven by the table of opcodes.
 *
 * First the fields, each against its row; then what must fit together
 * (insn_shape.c); then the operands (insn_boxes.c lists them), which must lie
 * inside their memories and not overlap where the order of reading and writing
 * would show.
 */
#include <stddef.h>
#include <string.h>

#include "cost.h"
#include "insn_check.h"
#include "send.h"

/* ---- Fields --------------------------------------------------------------- */

static enum vtpu_hw_status check_value(const struct vtpu_insn_field *f, uint32_t offset,
				       uint64_t value, struct vtpu_load_record *r)
{
	if (f->types)
		return value <= 31 && f->types >> value & 1 ?
			       VTPU_ST_OK :
			       vtpu_bad_field(r, offset, value, f->types);
	if (value < f->min || value > f->max)
		return vtpu_bad_field(r, offset, value, value < f->min ? f->min : f->max);
	return vtpu_insn_later(f, value) ? vtpu_unsupported(r, offset, value) : VTPU_ST_OK;
}

static enum vtpu_hw_status check_fields(const struct vtpu_insn_row *row,
					const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	for (const struct vtpu_insn_field *f = row->fields; f->name; f++) {
		if (!f->types && !f->max)
			continue;
		for (unsigned int i = 0; i < f->count; i++) {
			uint32_t offset = f->offset + i * f->stride;
			enum vtpu_hw_status st =
				check_value(f, offset, vtpu_insn_get(insn, offset, f->bytes), r);

			if (st)
				return st;
		}
	}
	return VTPU_ST_OK;
}

void vtpu_insn_env_init(struct vtpu_insn_env *env)
{
	memset(env->used, 0, sizeof(env->used));
	memset(env->smem, 0, sizeof(env->smem));
	for (unsigned int op = 0; op < VTPU_INSN_OPCODES; op++) {
		const struct vtpu_insn_field *f = vtpu_insn_table[op].fields;
		uint8_t *used = (uint8_t *)env->used[op];

		for (; f && f->name; f++) {
			for (unsigned int i = 0; i < f->count; i++)
				memset(used + f->offset - FIELD(payload) + i * f->stride, 0xff,
				       f->bytes);
			if (f->kind == VTPU_FIELD_BITS || f->kind == VTPU_FIELD_FLOAT ||
			    f->kind == VTPU_FIELD_EPI_ARG)
				env->smem[op] =
					VTPU_INSN_ARG_SMEM(f->count) - VTPU_INSN_ARG_SMEM(0);
		}
	}
}

static enum vtpu_hw_status check_unused(const uint64_t *used, const struct vtpu_insn *insn,
					struct vtpu_load_record *r)
{
	const uint8_t *payload = insn->payload.byte, *mask = (const uint8_t *)used;
	uint64_t word[12], bad = 0;

	memcpy(word, payload, sizeof(word));
	for (unsigned int i = 0; i < 12; i++)
		bad |= word[i] & ~used[i];
	if (!bad)
		return VTPU_ST_OK;
	for (unsigned int i = 0;; i++)
		if (payload[i] & ~mask[i])
			return vtpu_bad_field(r, FIELD(payload) + i, payload[i], 0);
}

/* ---- Waits, signals, flags ------------------------------------------------- */

static enum vtpu_hw_status check_sync(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r)
{
	const uint32_t sems = env->geometry->semaphores, words = env->geometry->smem_bytes / 4;
	const uint32_t allowed = (VTPU_INSN_FLAGS & 0xffu) | env->smem[insn->opcode];

	if (insn->flags & ~allowed || (insn->unit == VTPU_UNIT_CTL && insn->flags & VTPU_INSN_PRED))
		return vtpu_bad_field(r, FIELD(flags), insn->flags, allowed);
	for (unsigned int i = 0; i < 2; i++) {
		const struct vtpu_wait *w = &insn->wait[i];
		const struct vtpu_signal *s = &insn->signal[i];
		uint32_t at = FIELD(wait[0]) + i * sizeof(*w);

		if (insn->flags & VTPU_INSN_WAIT0 << i) {
			if (w->sem >= sems)
				return vtpu_bad_field(r, at + offsetof(struct vtpu_wait, sem),
						      w->sem, sems - 1);
			if (!w->value || w->value > INT32_MAX)
				return vtpu_bad_field(r, at + offsetof(struct vtpu_wait, value),
						      w->value, w->value ? INT32_MAX : 1);
		} else if (w->sem || w->value) {
			return vtpu_bad_field(r,
					      at + (w->sem ? 0 : offsetof(struct vtpu_wait, value)),
					      w->sem ? w->sem : w->value, 0);
		}
		if (w->cmp)
			return vtpu_bad_field(r, at + offsetof(struct vtpu_wait, cmp), w->cmp, 0);
		if (i == 0 && insn->flags & VTPU_INSN_PRED) {
			if (w->pad >= words)
				return vtpu_bad_field(r, at + offsetof(struct vtpu_wait, pad),
						      w->pad, words - 1);
		} else if (w->pad) {
			return vtpu_bad_field(r, at + offsetof(struct vtpu_wait, pad), w->pad, 0);
		}
		at = FIELD(signal[0]) + i * sizeof(*s);
		if (insn->flags & VTPU_INSN_SIGNAL0 << i) {
			if (s->sem >= sems)
				return vtpu_bad_field(r, at + offsetof(struct vtpu_signal, sem),
						      s->sem, sems - 1);
			if (s->core >= env->width)
				return vtpu_bad_field(r, at + offsetof(struct vtpu_signal, core),
						      s->core, env->width - 1);
			if (!s->inc)
				return vtpu_bad_field(r, at + offsetof(struct vtpu_signal, inc), 0,
						      1);
		} else if (s->sem || s->core || s->inc) {
			return vtpu_bad_field(r,
					      at + (s->sem  ? 0 :
						    s->core ? 1 :
							      2),
					      s->sem  ? s->sem :
					      s->core ? s->core :
							s->inc,
					      0);
		}
	}
	return VTPU_ST_OK;
}

/* ---- Operands -------------------------------------------------------------- */

/* Units that move boxes between memories: addresses are wide, and elements act strictly in order. */
static bool moves(const struct vtpu_insn *insn)
{
	return insn->unit == VTPU_UNIT_DMA || insn->unit == VTPU_UNIT_ICI;
}

static enum vtpu_hw_status check_address(const struct vtpu_insn_env *env,
					 const struct vtpu_insn *insn, const struct vtpu_box *b,
					 struct vtpu_load_record *r)
{
	const bool wide = moves(insn) &&
			  (b->field == PAYLOAD(dma.src) || b->field == PAYLOAD(dma.dst));
	const uint64_t address = vtpu_insn_get(insn, b->field, wide ? 8 : 4);
	const struct vtpu_image_base *base = b->base < env->nbases ? &env->base[b->base] : NULL;

	if (!wide)
		return b->start % b->element ? vtpu_bad_field(r, b->field, address, b->element) :
					       VTPU_ST_OK;
	if (address & VTPU_ADDR_RSVD || b->space > VTPU_SPACE_SMEM ||
	    (b->space != VTPU_SPACE_HBM && b->base))
		return vtpu_bad_field(r, b->field, address,
				      VTPU_ADDR(b->space > VTPU_SPACE_SMEM ? 0 : b->space, 0,
						VTPU_ADDR_OFFSET(address)));
	if (b->space == VTPU_SPACE_SMEM && b->element != 4)
		return vtpu_bad_field(r, b->field, b->element, 4);
	if (VTPU_ADDR_OFFSET(address) % b->element)
		return vtpu_bad_field(r, b->field, address, b->element);
	if (b->space != VTPU_SPACE_HBM || b->base == VTPU_BASE_CONST)
		return VTPU_ST_OK;
	if (!base)
		return vtpu_bad_field(r, b->field, b->base, env->nbases);
	if (base->core_stride % b->element)
		return vtpu_bad_field(r, b->field, base->core_stride, b->element);
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_range(const struct vtpu_insn_env *env, const struct vtpu_box *b,
				       struct vtpu_load_record *r)
{
	int64_t low = 0, size;
	uint32_t need = b->write ? VTPU_BASE_WRITE : VTPU_BASE_READ, have = VTPU_BASE_READ;

	switch (b->space) {
	case VTPU_SPACE_VMEM:
		size = (int64_t)env->geometry->vmem_bytes;
		break;
	case VTPU_SPACE_SMEM:
		size = env->geometry->smem_bytes;
		if (b->write)
			low = 4 * VTPU_MAX_SCALARS; /* the job's scalars are read-only */
		break;
	default:
		size = (int64_t)(b->base == VTPU_BASE_CONST ? env->const_bytes :
							      env->base[b->base].extent);
		if (b->base != VTPU_BASE_CONST)
			have = env->base[b->base].flags;
		if (!(have & need)) {
			r->space = b->space;
			r->base = b->base;
			return vtpu_bad_field(r, b->field, have, need);
		}
	}
	if (b->start >= low && b->end <= size)
		return VTPU_ST_OK;
	r->kind = VTPU_REC_RANGE;
	r->field = b->field;
	r->space = b->space;
	r->base = b->base;
	r->start = (uint64_t)b->start;
	r->bytes = (uint64_t)(b->end - b->start);
	r->have = (uint64_t)b->end;
	r->need = (uint64_t)size;
	return VTPU_ST_OUT_OF_BOUNDS;
}

/*
 * An instruction's parts may run in any order, so a result may lie on an operand
 * only element by element. DMA moves its elements strictly in order instead.
 */
static enum vtpu_hw_status check_own_overlap(const struct vtpu_boxes *boxes,
					     struct vtpu_load_record *r)
{
	for (unsigned int i = 0; i < boxes->n; i++) {
		const struct vtpu_box *w = &boxes->box[i], *b;

		if (!w->write)
			continue;
		for (unsigned int j = 0; j < boxes->n; j++) {
			b = &boxes->box[j];
			if (i == j || b->space != w->space || b->start >= w->end ||
			    w->start >= b->end)
				continue;
			if (b->in_place && vtpu_box_same(b, w))
				continue;
			if (vtpu_box_overlap(b, w) == VTPU_OVERLAP_NO)
				continue;
			r->space = b->space;
			r->start = (uint64_t)b->start;
			r->bytes = (uint64_t)(b->end - b->start);
			return vtpu_bad_field(r, w->field, (uint64_t)w->start, (uint64_t)b->end);
		}
	}
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_operands(const struct vtpu_insn_env *env,
					  const struct vtpu_insn *insn,
					  const struct vtpu_boxes *boxes,
					  struct vtpu_load_record *r)
{
	enum vtpu_hw_status st;

	for (unsigned int i = 0; i < boxes->n; i++) {
		struct vtpu_box all = boxes->box[i]; /* cores' */

		all.end += (int64_t)vtpu_send_most(insn, all.write, env->width);
		st = check_address(env, insn, &all, r);
		if (!st)
			st = check_range(env, &all, r);
		if (st)
			return st;
	}
	return moves(insn) ? VTPU_ST_OK : check_own_overlap(boxes, r);
}

enum vtpu_hw_status vtpu_insn_check(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				    uint32_t unit, struct vtpu_boxes *boxes,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_row *row = &vtpu_insn_table[insn->opcode];
	enum vtpu_hw_status st;
	struct vtpu_cost cost;

	if (!row->name)
		return vtpu_bad_field(r, FIELD(opcode), insn->opcode, 0);
	if (insn->unit != unit || row->unit != unit)
		return vtpu_bad_field(r, FIELD(unit), insn->unit,
				      row->unit != unit ? row->unit : unit);
	if (!row->run)
		return vtpu_unsupported(r, FIELD(opcode), insn->opcode);
	if ((st = check_sync(env, insn, r)) || (st = check_fields(row, insn, r)) ||
	    (st = check_unused(env->used[insn->opcode], insn, r)) ||
	    (row->shape && (st = row->shape(env->width, insn, r))))
		return st;
	vtpu_insn_boxes(insn, boxes);
	st = check_operands(env, insn, boxes, r);
	if (st)
		return st;
	cost = vtpu_cost_insn(env->geometry, insn, env->width);
	if (cost.busy > VTPU_MAX_INSN_CYCLES)
		return vtpu_bad_field(r, FIELD(payload), cost.busy, VTPU_MAX_INSN_CYCLES);
	if (cost.macs > VTPU_MAX_INSN_MACS)
		return vtpu_bad_field(r, FIELD(payload), cost.macs, VTPU_MAX_INSN_MACS);
	return VTPU_ST_OK;
}
