// SPDX-License-Identifier: MIT
/*
 * emit_dma.c - moves: between HBM and VMEM, within VMEM, into SMEM.
 */
#include "compile/emit.h"

#define HBM(base, offset) VTPU_ADDR(VTPU_SPACE_HBM, base, offset)
#define VMEM(addr)	  VTPU_ADDR(VTPU_SPACE_VMEM, 0, addr)

bool emit_copy(struct emitter *e, const struct step *s, uint64_t dst, uint8_t dst_type,
	       uint64_t src, uint8_t src_type, uint64_t count)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_COPY, .unit = VTPU_UNIT_DMA };

	insn.payload.dma = (struct vtpu_insn_dma){
		.src = src,
		.dst = dst,
		.src_type = src_type,
		.dst_type = dst_type,
		.ndim = 1,
		.count = { (uint32_t)count, 1, 1, 1, 1 },
	};
	insn.payload.dma.src_stride[0] = src_type == VTPU_TYPE_U8 || src_type == VTPU_TYPE_S8 ? 1 :
					 src_type == VTPU_TYPE_BF16			      ? 2 :
												4;
	insn.payload.dma.dst_stride[0] = dst_type == VTPU_TYPE_U8 || dst_type == VTPU_TYPE_S8 ? 1 :
					 dst_type == VTPU_TYPE_BF16			      ? 2 :
												4;
	return emit_add(e, s, &insn);
}

/* ---- Whole values ------------------------------------------------------------------- */

static bool load_variable(struct emitter *e, struct value *v)
{
	const struct layout_variable *var = &e->plan->layout->variable[v->index];
	uint32_t base = var->arena == ARENA_PARAMS ? e->base_params : e->base_states;

	if (v->home) {
		for (uint32_t i = 0; i < e->exchanges; i++) {
			if (e->exchange[i].image == v->home)
				return exchange_image(e, &e->exchange[i]);
		}
	}
	if (var->arena == ARENA_MOMENTS)
		return plan_fail(e->plan, VTPU_ERROR_UNSUPPORTED,
				 "'%s': an optimiser keeps it in shares, so that a graph cannot read it",
				 v->name);
	sync_hbm(&e->sync, false, base, var->offset, var->bytes);
	emit_touch(e, v, true);
	return emit_copy(e, NULL, VMEM(v->addr[0]), hw_type(v->type), HBM(base, var->offset),
			 hw_type(var->type), v->count);
}

static bool fill_ones(struct emitter *e, struct value *v)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_FILL, .unit = VTPU_UNIT_DMA };

	insn.payload.dma = (struct vtpu_insn_dma){
		.dst = VMEM(v->addr[0]),
		.dst_type = hw_type(v->type),
		.ndim = 1,
		.count = { (uint32_t)v->count, 1, 1, 1, 1 },
		.dst_stride = { (int32_t)vtpu_dtype_bytes(v->type) },
		.imm = v->type == VTPU_DTYPE_BF16 ? 0x3f80 : vtpu_scalar_f32(1),
	};
	emit_touch(e, v, true);
	return emit_add(e, NULL, &insn);
}

bool emit_source(struct emitter *e, struct value *v)
{
	const struct plan_io *io;

	if (v->ready)
		return true;
	v->ready = true;
	switch (v->source) {
	case FROM_VARIABLE:
		return load_variable(e, v);
	case FROM_ONES:
		return fill_ones(e, v);
	case FROM_CONSTANT:
		emit_touch(e, v, true);
		return emit_copy(e, NULL, VMEM(v->addr[0]), hw_type(v->type),
				 HBM(VTPU_BASE_CONST, v->index), hw_type(v->type), v->count);
	case FROM_FEED:
		io = &e->plan->feed[v->index];
		sync_hbm(&e->sync, false, io->base, 0, io->core_bytes);
		emit_touch(e, v, true);
		return emit_copy(e, NULL, VMEM(v->addr[0]), hw_type(v->type), HBM(io->base, 0),
				 hw_type(io->type), v->count);
	default:
		return true;
	}
}

/* A single f32 into its word of SMEM. */
static bool to_smem(struct emitter *e, struct value *v)
{
	uint64_t dst = VTPU_ADDR(VTPU_SPACE_SMEM, 0, 4ULL * v->smem);

	if (v->smem_ready)
		return true;
	v->smem_ready = true;
	emit_touch(e, v, false);
	sync_smem(&e->sync, true, v->smem);
	return emit_copy(e, NULL, dst, VTPU_TYPE_F32, VMEM(emit_address(e, v)), VTPU_TYPE_F32, 1);
}

static bool operand_ready(struct emitter *e, struct value *v)
{
	struct step *made;

	if (!v || v->class == VALUE_BATCH)
		return true;
	made = v->pair ? v->pair->def : v->def;
	if (made && v->class == VALUE_WHOLE && !emit_whole(e, made))
		return false;
	if (v->class == VALUE_PARTIAL && !exchange_complete(e, v))
		return false;
	return emit_source(e, v) && (!v->smem || to_smem(e, v));
}

bool emit_ready(struct emitter *e, const struct step *s)
{
	for (uint32_t i = 0; i < s->ins; i++) {
		if (!operand_ready(e, s->in[i]))
			return false;
	}
	for (uint32_t i = 0; i < s->epi.count; i++) {
		if (!operand_ready(e, s->epi.value[i]))
			return false;
	}
	if (s->kind == STEP_MATMUL && s->mxu.ones)
		return emit_source(e, e->plan->ones[s->in[1]->type == VTPU_DTYPE_BF16]);
	return true;
}

/* ---- Tiles ----------------------------------------------------------------------------- */

/* A tile of a feed: of each image the box of rows and columns that is kept. */
static bool load_feed(struct emitter *e, const struct step *s)
{
	const struct value *from = s->in[0], *to = s->out[0];
	const struct plan_io *io = &e->plan->feed[from->index];
	int32_t src = (int32_t)vtpu_dtype_bytes(io->type),
		dst = (int32_t)vtpu_dtype_bytes(to->type);
	uint64_t offset = (uint64_t)e->first * from->count * (uint32_t)src;
	struct vtpu_insn insn = { .opcode = VTPU_OP_COPY, .unit = VTPU_UNIT_DMA };
	struct vtpu_insn_dma *x = &insn.payload.dma;

	sync_hbm(&e->sync, false, io->base, offset,
		 (uint64_t)e->images * from->count * (uint32_t)src);
	emit_touch(e, to, true);
	if (value_count(to) == to->count)
		return emit_copy(e, s, VMEM(emit_address(e, to)), hw_type(to->type),
				 HBM(io->base, offset), hw_type(io->type), to->count * e->images);
	*x = (struct vtpu_insn_dma){
		.src = HBM(io->base, offset),
		.dst = VMEM(emit_address(e, to)),
		.src_type = hw_type(io->type),
		.dst_type = hw_type(to->type),
		.ndim = 3,
		.count = { to->box[1] * to->dim[2], to->box[0], e->images, 1, 1 },
		.src_stride = { src, src * (int32_t)(to->dim[1] * to->dim[2]),
				src * (int32_t)to->count },
		.dst_stride = { dst, dst * (int32_t)(to->box[1] * to->dim[2]),
				dst * (int32_t)value_count(to) },
	};
	return emit_add(e, s, &insn);
}

static bool temporary(struct emitter *e, const struct step *s, const struct value *kept,
		      const struct value *here, bool load)
{
	uint64_t count = value_count(here), bytes = count * vtpu_dtype_bytes(here->type);
	uint64_t offset = kept->temp - 1 + e->first * bytes;
	uint64_t hbm = HBM(e->base_temp, offset), vmem = VMEM(emit_address(e, here));
	uint8_t type = hw_type(here->type);

	sync_hbm(&e->sync, !load, e->base_temp, offset, bytes * e->images);
	emit_touch(e, here, load);
	return load ? emit_copy(e, s, vmem, type, hbm, type, count * e->images) :
		      emit_copy(e, s, hbm, type, vmem, type, count * e->images);
}

static bool result(struct emitter *e, const struct step *s)
{
	const struct value *v = s->in[0];
	const struct plan_io *io = &e->plan->result[s->index];
	uint64_t count = emit_elements(e, v), bytes = count * vtpu_dtype_bytes(io->type);
	uint64_t offset = v->class == VALUE_BATCH ? bytes / e->images * e->first : 0;

	sync_hbm(&e->sync, true, io->base, offset, bytes);
	emit_touch(e, v, false);
	if (v->pair) {
		struct vtpu_insn insn = { .opcode = VTPU_OP_COPY, .unit = VTPU_UNIT_DMA };

		insn.payload.dma = (struct vtpu_insn_dma){
			.src = VMEM(emit_address(e, v)),
			.dst = HBM(io->base, offset),
			.src_type = VTPU_TYPE_F32,
			.dst_type = VTPU_TYPE_F32,
			.ndim = 1,
			.count = { (uint32_t)count, 1, 1, 1, 1 },
			.src_stride = { 8 },
			.dst_stride = { 4 },
		};
		return emit_add(e, s, &insn);
	}
	return emit_copy(e, s, HBM(io->base, offset), hw_type(io->type), VMEM(emit_address(e, v)),
			 hw_type(v->type), count);
}

static bool assign(struct emitter *e, const struct step *s)
{
	const struct value *v = s->in[0];
	const struct layout_variable *var = &e->plan->layout->variable[s->index];
	uint32_t base = var->arena == ARENA_PARAMS ? e->base_params : e->base_states;

	sync_hbm(&e->sync, true, base, var->offset, var->bytes);
	emit_touch(e, v, false);
	return emit_copy(e, s, HBM(base, var->offset), hw_type(var->type), VMEM(emit_address(e, v)),
			 hw_type(v->type), v->count);
}

/* ---- Within VMEM ------------------------------------------------------------------------- */

static bool move(struct emitter *e, const struct step *s)
{
	const struct value *from = s->in[0], *to = s->out[0];
	int32_t src = (int32_t)vtpu_dtype_bytes(from->type),
		dst = (int32_t)vtpu_dtype_bytes(to->type);
	struct vtpu_insn insn = { .opcode = VTPU_OP_COPY, .unit = VTPU_UNIT_DMA };
	struct vtpu_insn_dma *x = &insn.payload.dma;
	bool batch = to->class == VALUE_BATCH && e->images > 1;
	uint32_t n = s->move.ndim, last = n + batch;
	uint32_t images = 1;

	*x = (struct vtpu_insn_dma){
		.src = VMEM(emit_address(e, from)),
		.dst = VMEM(emit_address(e, to)),
		.src_type = hw_type(from->type),
		.dst_type = hw_type(to->type),
		.count = { 1, 1, 1, 1, 1 },
	};
	for (uint32_t i = 0; i < n; i++) {
		x->count[i] = (uint32_t)s->move.count[i];
		x->src_stride[i] = (int32_t)s->move.src[i] * src;
		x->dst_stride[i] = (int32_t)s->move.dst[i] * dst;
	}
	if (batch && last <= 5) {
		x->count[n] = e->images;
		x->src_stride[n] = (int32_t)from->count * src;
		x->dst_stride[n] = (int32_t)to->count * dst;
	} else if (batch) {
		images = e->images;
		last = n;
	}
	x->ndim = (uint8_t)(last ? last : 1);
	if (!last)
		x->src_stride[0] = src, x->dst_stride[0] = dst;
	for (uint32_t i = 0; i < images; i++) {
		struct vtpu_insn one = insn;

		one.payload.dma.src += (uint64_t)i * from->count * (uint32_t)src;
		one.payload.dma.dst += (uint64_t)i * to->count * (uint32_t)dst;
		emit_touch(e, from, false);
		emit_touch(e, to, true);
		if (!emit_add(e, s, &one))
			return false;
	}
	return true;
}

bool emit_dma_step(struct emitter *e, const struct step *s)
{
	switch (s->kind) {
	case STEP_LOAD:
		return s->in[0]->source == FROM_FEED ? load_feed(e, s) :
						       temporary(e, s, s->in[0], s->out[0], true);
	case STEP_SPILL:
		return temporary(e, s, s->in[0], s->in[0], false);
	case STEP_RESULT:
		return result(e, s);
	case STEP_ASSIGN:
		return assign(e, s);
	default:
		return move(e, s);
	}
}
