// SPDX-License-Identifier: MIT
/*
 * insn.c - the table of opcodes, and the checks that it drives.
 *
 * First the fields, each against its row; then what must fit together (shape),
 * then the operands, which must lie inside their memories and not overlap where
 * the order of reading and writing would show. insn_boxes.c lists the operands.
 */
#include <stddef.h>
#include <string.h>

#include "cost.h"
#include "insn.h"
#include "insn_table.h"

/* ---- Records -------------------------------------------------------------- */

static enum vtpu_hw_status bad_field(struct vtpu_load_record *r, uint32_t field, uint64_t have,
				     uint64_t need)
{
	r->kind = VTPU_REC_FIELD;
	r->field = (uint16_t)field;
	r->have = have;
	r->need = need;
	return VTPU_ST_BAD_INSN;
}

static enum vtpu_hw_status unsupported(struct vtpu_load_record *r, uint32_t field, uint64_t have)
{
	r->kind = VTPU_REC_UNSUPPORTED;
	r->field = (uint16_t)field;
	r->have = have;
	return VTPU_ST_UNSUPPORTED;
}

#define FIELD(path)   offsetof(struct vtpu_insn, path)
#define PAYLOAD(path) offsetof(struct vtpu_insn, payload.path)

/* ---- Fields --------------------------------------------------------------- */

static uint64_t get(const struct vtpu_insn *insn, uint32_t offset, unsigned int bytes)
{
	const uint8_t *p = (const uint8_t *)insn + offset;
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	switch (bytes) {
	case 1:
		return *p;
	case 2:
		memcpy(&half, p, 2);
		return half;
	case 4:
		memcpy(&word, p, 4);
		return word;
	default:
		memcpy(&wide, p, 8);
		return wide;
	}
}

static enum vtpu_hw_status check_fields(const struct vtpu_insn_env *env, unsigned int row,
					const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	for (unsigned int i = env->first[row]; i < env->first[row + 1]; i++) {
		const struct vtpu_insn_limit *f = &env->limit[i];
		uint64_t value = get(insn, f->offset, f->bytes);

		if (f->types) {
			if (value > 31 || !(f->types >> value & 1))
				return bad_field(r, f->offset, value, f->types);
		} else if (value < f->min || value > f->max) {
			return bad_field(r, f->offset, value, value < f->min ? f->min : f->max);
		} else if (value > f->built) {
			return unsupported(r, f->offset, value);
		}
	}
	return VTPU_ST_OK;
}

/* One field of a row, or one element of an array. */
static void add_field(struct vtpu_insn_env *env, unsigned int row, const struct vtpu_isa_field *f,
		      uint32_t offset)
{
	memset((uint8_t *)env->used[row] + offset - FIELD(payload), 0xff, f->bytes);
	if (!f->types && !f->min && f->built == UINT64_MAX)
		return;
	env->limit[env->first[row + 1]++] = (struct vtpu_insn_limit){
		.min = f->min,
		.max = f->max,
		.built = f->built,
		.types = f->types,
		.offset = (uint8_t)offset,
		.bytes = f->bytes,
	};
}

void vtpu_insn_env_init(struct vtpu_insn_env *env)
{
	memset(env->row, 0, sizeof(env->row));
	memset(env->used, 0, sizeof(env->used));
	for (unsigned int row = 0; row < VTPU_ISA_OPS; row++)
		env->row[vtpu_isa_table[row].opcode] = (uint8_t)(row + 1);
	env->first[0] = 0;
	for (unsigned int row = 0; row < VTPU_ISA_BUILT; row++) {
		env->first[row + 1] = env->first[row];
		for (const struct vtpu_isa_field *f = vtpu_isa_table[row].fields; f->bytes; f++)
			for (unsigned int i = 0; i < f->count; i++)
				add_field(env, row, f, f->offset + i * f->step);
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
			return bad_field(r, FIELD(payload) + i, payload[i], 0);
}

/* ---- Waits, signals, flags ------------------------------------------------- */

static enum vtpu_hw_status check_sync(const struct vtpu_insn_env *env, const struct vtpu_isa_op *op,
				      const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	const uint32_t sems = env->geometry->semaphores, words = env->geometry->smem_bytes / 4;
	const uint32_t allowed = (VTPU_INSN_FLAGS & 0xffu) | (uint32_t)op->args << 8;

	if (insn->flags & ~allowed || (insn->unit == VTPU_UNIT_CTL && insn->flags & VTPU_INSN_PRED))
		return bad_field(r, FIELD(flags), insn->flags, allowed);
	for (unsigned int i = 0; i < 2; i++) {
		const struct vtpu_wait *w = &insn->wait[i];
		const struct vtpu_signal *s = &insn->signal[i];
		uint32_t at = FIELD(wait[0]) + i * sizeof(*w);

		if (insn->flags & VTPU_INSN_WAIT0 << i) {
			if (w->sem >= sems)
				return bad_field(r, at + offsetof(struct vtpu_wait, sem), w->sem,
						 sems - 1);
			if (!w->value || w->value > INT32_MAX)
				return bad_field(r, at + offsetof(struct vtpu_wait, value),
						 w->value, w->value ? INT32_MAX : 1);
		} else if (w->sem || w->value) {
			return bad_field(r, at + (w->sem ? 0 : offsetof(struct vtpu_wait, value)),
					 w->sem ? w->sem : w->value, 0);
		}
		if (w->cmp)
			return bad_field(r, at + offsetof(struct vtpu_wait, cmp), w->cmp, 0);
		if (i == 0 && insn->flags & VTPU_INSN_PRED) {
			if (w->pad >= words)
				return bad_field(r, at + offsetof(struct vtpu_wait, pad), w->pad,
						 words - 1);
		} else if (w->pad) {
			return bad_field(r, at + offsetof(struct vtpu_wait, pad), w->pad, 0);
		}
		at = FIELD(signal[0]) + i * sizeof(*s);
		if (insn->flags & VTPU_INSN_SIGNAL0 << i) {
			if (s->sem >= sems)
				return bad_field(r, at + offsetof(struct vtpu_signal, sem), s->sem,
						 sems - 1);
			if (s->core >= env->width)
				return bad_field(r, at + offsetof(struct vtpu_signal, core),
						 s->core, env->width - 1);
			if (!s->inc)
				return bad_field(r, at + offsetof(struct vtpu_signal, inc), 0, 1);
		} else if (s->sem || s->core || s->inc) {
			return bad_field(r,
					 at + (s->sem  ? 0 :
					       s->core ? 1 :
							 2),
					 s->sem	 ? s->sem :
					 s->core ? s->core :
						   s->inc,
					 0);
		}
	}
	return VTPU_ST_OK;
}

/* ---- What must fit together: by opcode ------------------------------------- */

static enum vtpu_hw_status shape_barrier(const struct vtpu_insn_env *env,
					 const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	/* The text is every core's: a core that runs a barrier must be in its mask, so all are. */
	uint64_t all = env->width < 64 ? (1ULL << env->width) - 1 : ~0ULL;
	uint64_t mask = insn->payload.ctl.core_mask;

	return mask == all ? VTPU_ST_OK : bad_field(r, PAYLOAD(ctl.core_mask), mask, all);
}

static bool may_cast(uint32_t from, uint32_t to)
{
	return from == to || (from == VTPU_TYPE_U8 && to >= VTPU_TYPE_BF16) ||
	       (from >= VTPU_TYPE_BF16 && to >= VTPU_TYPE_BF16);
}

static enum vtpu_hw_status shape_dma(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				     struct vtpu_load_record *r)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;
	const bool copy = insn->opcode == VTPU_OP_COPY;
	const uint32_t dst_bytes = vtpu_cost_type_bytes(x->dst_type);
	const uint32_t src_bytes = copy ? vtpu_cost_type_bytes(x->src_type) : 1;
	uint64_t elements = 1;

	(void)env;
	if (copy && !may_cast(x->src_type, x->dst_type))
		return bad_field(r, PAYLOAD(dma.dst_type), x->dst_type, x->src_type);
	if (!copy && !(insn->flags & VTPU_INSN_ARG_SMEM(0)) && dst_bytes < 4 &&
	    x->imm >> 8 * dst_bytes)
		return bad_field(r, PAYLOAD(dma.imm), x->imm, (1u << 8 * dst_bytes) - 1);
	for (unsigned int d = 0; d < 5; d++) {
		uint64_t pad = d < 4 ? x->pad_before[d] + x->pad_after[d] : 0;

		if (d >= x->ndim) {
			if (x->count[d] != 1)
				return bad_field(r, PAYLOAD(dma.count[0]) + 4 * d, x->count[d], 1);
			if (x->src_stride[d] || x->dst_stride[d])
				return bad_field(r,
						 (x->src_stride[d] ? PAYLOAD(dma.src_stride[0]) :
								     PAYLOAD(dma.dst_stride[0])) +
							 4 * d,
						 (uint32_t)(x->src_stride[d] | x->dst_stride[d]),
						 0);
			if (pad)
				return bad_field(r,
						 (x->pad_before[d] ? PAYLOAD(dma.pad_before[0]) :
								     PAYLOAD(dma.pad_after[0])) +
							 d,
						 pad, 0);
			continue;
		}
		if (x->src_stride[d] % (int32_t)src_bytes)
			return bad_field(r, PAYLOAD(dma.src_stride[0]) + 4 * d,
					 (uint32_t)x->src_stride[d], src_bytes);
		if (x->dst_stride[d] % (int32_t)dst_bytes)
			return bad_field(r, PAYLOAD(dma.dst_stride[0]) + 4 * d,
					 (uint32_t)x->dst_stride[d], dst_bytes);
		elements = vtpu_cost_mul(elements, x->count[d] + pad);
	}
	if (elements > 1ULL << 40)
		return bad_field(r, PAYLOAD(dma.count[0]), elements, 1ULL << 40);
	return VTPU_ST_OK;
}

/* A row pitch in whole elements, and such that rows do not overlap. */
static enum vtpu_hw_status check_pitch(struct vtpu_load_record *r, uint32_t field, uint64_t pitch,
				       uint64_t rows, uint64_t cols, uint32_t type)
{
	uint32_t bytes = vtpu_cost_type_bytes(type);

	if (pitch % bytes)
		return bad_field(r, field, pitch, bytes);
	if (rows > 1 && pitch < cols * bytes)
		return bad_field(r, field, pitch, cols * bytes);
	return VTPU_ST_OK;
}

static enum vtpu_hw_status shape_matmul(const struct vtpu_insn_env *env,
					const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const bool ta = x->mode & VTPU_MXU_TRANS_A, tb = x->mode & VTPU_MXU_TRANS_B;
	const bool acc = x->mode & VTPU_MXU_ACCUMULATE;
	unsigned int args = 0, from_smem = 0, i;
	enum vtpu_hw_status st;

	(void)env;
	if (!acc && (x->c || x->ldc))
		return bad_field(r, x->c ? PAYLOAD(mxu.c) : PAYLOAD(mxu.ldc), x->c ? x->c : x->ldc,
				 0);
	if ((st = check_pitch(r, PAYLOAD(mxu.lda), x->lda, ta ? x->k : x->m, ta ? x->m : x->k,
			      x->a_type)) ||
	    (st = check_pitch(r, PAYLOAD(mxu.ldb), x->ldb, tb ? x->n : x->k, tb ? x->k : x->n,
			      x->b_type)) ||
	    (st = check_pitch(r, PAYLOAD(mxu.ldd), x->ldd, x->m, x->n, x->d_type)) ||
	    (acc && (st = check_pitch(r, PAYLOAD(mxu.ldc), x->ldc, x->m, x->n, VTPU_TYPE_F32))))
		return st;
	if (x->a_gstride % (int32_t)vtpu_cost_type_bytes(x->a_type))
		return bad_field(r, PAYLOAD(mxu.a_gstride), (uint32_t)x->a_gstride,
				 vtpu_cost_type_bytes(x->a_type));
	if (x->b_gstride % (int32_t)vtpu_cost_type_bytes(x->b_type))
		return bad_field(r, PAYLOAD(mxu.b_gstride), (uint32_t)x->b_gstride,
				 vtpu_cost_type_bytes(x->b_type));
	for (i = 0; i < 4 && x->epi_op[i]; i++) {
		unsigned int takes = vtpu_isa_epilogue_args(x->epi_op[i]);

		if (args + takes > 4)
			return bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					 VTPU_EPI_NONE);
		if (!vtpu_isa_epilogue_address(x->epi_op[i]))
			from_smem |= ((1u << takes) - 1) << args;
		args += takes;
	}
	for (; i < 4; i++)
		if (x->epi_op[i])
			return bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					 VTPU_EPI_NONE);
	for (i = args; i < 4; i++)
		if (x->epi_arg[i])
			return bad_field(r, PAYLOAD(mxu.epi_arg[0]) + 4 * i, x->epi_arg[i], 0);
	/* An address is never taken from memory: the hazards must be known now. */
	if (insn->flags >> 8 & ~from_smem)
		return bad_field(r, FIELD(flags), insn->flags,
				 (insn->flags & 0xffu) | from_smem << 8);
	return VTPU_ST_OK;
}

static enum vtpu_hw_status shape_ew(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_ew *x = &insn->payload.ew;
	enum vtpu_hw_status st = VTPU_ST_OK;

	(void)env;
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t pitch = PAYLOAD(ew.in[0].pitch) + i * sizeof(x->in[0]);

		if (i >= x->nin) {
			if (x->in[i].addr || x->in[i].pitch)
				return bad_field(r, x->in[i].addr ? pitch - 4 : pitch,
						 x->in[i].addr ? x->in[i].addr : x->in[i].pitch, 0);
			if (x->in_type[i] || x->in_bcast[i])
				return bad_field(r,
						 (x->in_type[i] ? PAYLOAD(ew.in_type[0]) :
								  PAYLOAD(ew.in_bcast[0])) +
							 i,
						 x->in_type[i] ? x->in_type[i] : x->in_bcast[i], 0);
			continue;
		}
		if (!x->in_type[i])
			return bad_field(r, PAYLOAD(ew.in_type[0]) + i, 0, VTPU_ISA_EW_TYPES);
		if (x->in_bcast[i] == VTPU_BCAST_FULL)
			st = check_pitch(r, pitch, x->in[i].pitch, x->rows, x->cols, x->in_type[i]);
		else if (x->in_bcast[i] == VTPU_BCAST_COL)
			st = check_pitch(r, pitch, x->in[i].pitch, x->rows, 1, x->in_type[i]);
		else if (x->in[i].pitch)
			st = bad_field(r, pitch, x->in[i].pitch, 0);
		if (st)
			return st;
	}
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t pitch = PAYLOAD(ew.out[0].pitch) + i * sizeof(x->out[0]);

		if (i >= x->nout) {
			if (x->out[i].addr || x->out[i].pitch)
				return bad_field(r, x->out[i].addr ? pitch - 4 : pitch,
						 x->out[i].addr ? x->out[i].addr : x->out[i].pitch,
						 0);
			if (x->out_type[i])
				return bad_field(r, PAYLOAD(ew.out_type[0]) + i, x->out_type[i], 0);
			continue;
		}
		if (!x->out_type[i])
			return bad_field(r, PAYLOAD(ew.out_type[0]) + i, 0, VTPU_ISA_FLOATS);
		st = check_pitch(r, pitch, x->out[i].pitch, x->rows, x->cols, x->out_type[i]);
		if (st)
			return st;
	}
	for (unsigned int i = 0; i < 8; i++) {
		uint32_t at = PAYLOAD(ew.op[0]) + 2 * i;

		if (i >= x->nops) {
			if (x->op[i].op || x->op[i].args)
				return bad_field(r, x->op[i].op ? at : at + 1,
						 x->op[i].op ? x->op[i].op : x->op[i].args, 0);
			continue;
		}
		if (!x->op[i].op)
			return bad_field(r, at, 0, 1);
		if (VTPU_EW_A(x->op[i].args) > VTPU_EW_IMM1 ||
		    VTPU_EW_B(x->op[i].args) > VTPU_EW_IMM1 ||
		    (vtpu_isa_ew_unary(x->op[i].op) && VTPU_EW_B(x->op[i].args)))
			return bad_field(r, at + 1, x->op[i].args,
					 VTPU_EW_ARGS(3, VTPU_EW_IMM1,
						      vtpu_isa_ew_unary(x->op[i].op) ?
							      0 :
							      VTPU_EW_IMM1));
	}
	return VTPU_ST_OK;
}

static enum vtpu_hw_status shape_rows(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;
	const uint32_t out = PAYLOAD(rows.out_pitch);
	enum vtpu_hw_status st;

	(void)env;
	st = check_pitch(r, PAYLOAD(rows.in_pitch), x->in_pitch, x->rows, x->cols, x->in_type);
	if (st)
		return st;
	switch (insn->opcode) {
	case VTPU_OP_TRANSPOSE:
		if (x->in_type != x->out_type)
			return bad_field(r, PAYLOAD(rows.out_type), x->out_type, x->in_type);
		return check_pitch(r, out, x->out_pitch, x->cols, x->rows, x->out_type);
	case VTPU_OP_REDUCE:
		if (!x->axis)
			return x->out_pitch ? bad_field(r, out, x->out_pitch, 0) : VTPU_ST_OK;
		return check_pitch(r, out, x->out_pitch, x->rows, 1, x->out_type);
	default:
		return check_pitch(r, out, x->out_pitch, x->rows, x->cols, x->out_type);
	}
}

static enum vtpu_hw_status check_shape(const struct vtpu_insn_env *env,
				       const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	switch (insn->opcode) {
	case VTPU_OP_BARRIER:
		return shape_barrier(env, insn, r);
	case VTPU_OP_COPY:
	case VTPU_OP_FILL:
		return shape_dma(env, insn, r);
	case VTPU_OP_MATMUL:
		return shape_matmul(env, insn, r);
	case VTPU_OP_EW:
		return shape_ew(env, insn, r);
	case VTPU_OP_REDUCE:
	case VTPU_OP_SOFTMAX:
	case VTPU_OP_TRANSPOSE:
		return shape_rows(env, insn, r);
	default:
		return VTPU_ST_OK;
	}
}

/* ---- Operands -------------------------------------------------------------- */

static enum vtpu_hw_status check_address(const struct vtpu_insn_env *env,
					 const struct vtpu_insn *insn, const struct vtpu_box *b,
					 struct vtpu_load_record *r)
{
	const bool wide = insn->unit == VTPU_UNIT_DMA &&
			  (b->field == PAYLOAD(dma.src) || b->field == PAYLOAD(dma.dst));
	const uint64_t address = get(insn, b->field, wide ? 8 : 4);
	const struct vtpu_image_base *base = b->base < env->nbases ? &env->base[b->base] : NULL;

	if (!wide)
		return b->start % b->element ? bad_field(r, b->field, address, b->element) :
					       VTPU_ST_OK;
	if (address & VTPU_ADDR_RSVD || b->space > VTPU_SPACE_SMEM ||
	    (b->space != VTPU_SPACE_HBM && b->base))
		return bad_field(r, b->field, address,
				 VTPU_ADDR(b->space > VTPU_SPACE_SMEM ? 0 : b->space, 0,
					   VTPU_ADDR_OFFSET(address)));
	if (b->space == VTPU_SPACE_SMEM && b->element != 4)
		return bad_field(r, b->field, b->element, 4);
	if (VTPU_ADDR_OFFSET(address) % b->element)
		return bad_field(r, b->field, address, b->element);
	if (b->space != VTPU_SPACE_HBM || b->base == VTPU_BASE_CONST)
		return VTPU_ST_OK;
	if (!base)
		return bad_field(r, b->field, b->base, env->nbases);
	if (base->core_stride % b->element)
		return bad_field(r, b->field, base->core_stride, b->element);
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
			return bad_field(r, b->field, have, need);
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
			return bad_field(r, w->field, (uint64_t)w->start, (uint64_t)b->end);
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
		st = check_address(env, insn, &boxes->box[i], r);
		if (!st)
			st = check_range(env, &boxes->box[i], r);
		if (st)
			return st;
	}
	return insn->unit == VTPU_UNIT_DMA ? VTPU_ST_OK : check_own_overlap(boxes, r);
}

enum vtpu_hw_status vtpu_insn_check(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				    uint32_t unit, struct vtpu_boxes *boxes,
				    struct vtpu_load_record *r)
{
	const unsigned int row = env->row[insn->opcode] - 1u;
	const struct vtpu_isa_op *op;
	enum vtpu_hw_status st;
	struct vtpu_cost cost;

	if (row >= VTPU_ISA_OPS)
		return bad_field(r, FIELD(opcode), insn->opcode, 0);
	op = &vtpu_isa_table[row];
	if (insn->unit != unit || op->unit != unit)
		return bad_field(r, FIELD(unit), insn->unit, op->unit != unit ? op->unit : unit);
	if (row >= VTPU_ISA_BUILT)
		return unsupported(r, FIELD(opcode), insn->opcode);
	if ((st = check_sync(env, op, insn, r)) || (st = check_fields(env, row, insn, r)) ||
	    (st = check_unused(env->used[row], insn, r)) || (st = check_shape(env, insn, r)))
		return st;
	vtpu_insn_boxes(insn, boxes);
	st = check_operands(env, insn, boxes, r);
	if (st)
		return st;
	cost = vtpu_cost_insn(env->geometry, insn, env->width);
	if (cost.busy > VTPU_MAX_INSN_CYCLES)
		return bad_field(r, FIELD(payload), cost.busy, VTPU_MAX_INSN_CYCLES);
	if (cost.macs > VTPU_MAX_INSN_MACS)
		return bad_field(r, FIELD(payload), cost.macs, VTPU_MAX_INSN_MACS);
	return VTPU_ST_OK;
}
