// SPDX-License-Identifier: MIT
/*
 * insn_shape.c - fields of an instruction that are good alone but must fit
 * together: pitches and rows, casts, counts and what they count.
 */
#include <stddef.h>
#include <string.h>

#include "cost.h"
#include "insn_check.h"

/* ---- What must fit together: by opcode ------------------------------------- */

enum vtpu_hw_status vtpu_shape_barrier(uint32_t width, const struct vtpu_insn *insn,
				       struct vtpu_load_record *r)
{
	/* The text is every core's: a core that runs a barrier must be in its mask, so all are. */
	uint64_t all = width < 64 ? (1ULL << width) - 1 : ~0ULL;
	uint64_t mask = insn->payload.ctl.core_mask;

	return mask == all ? VTPU_ST_OK : vtpu_bad_field(r, PAYLOAD(ctl.core_mask), mask, all);
}

static bool may_cast(uint32_t from, uint32_t to)
{
	return from == to || (from == VTPU_TYPE_U8 && to >= VTPU_TYPE_BF16) ||
	       (from >= VTPU_TYPE_BF16 && to >= VTPU_TYPE_BF16);
}

enum vtpu_hw_status vtpu_shape_dma(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;
	const bool copy = insn->opcode != VTPU_OP_FILL;
	/* The fifth of a send displaces it. */
	const unsigned int dims = insn->opcode == VTPU_OP_SEND ? 4 : 5;
	const uint32_t dst_bytes = vtpu_type_bytes(x->dst_type);
	const uint32_t src_bytes = copy ? vtpu_type_bytes(x->src_type) : 1;
	uint64_t elements = 1;

	(void)width;
	if (copy && !may_cast(x->src_type, x->dst_type))
		return vtpu_bad_field(r, PAYLOAD(dma.dst_type), x->dst_type, x->src_type);
	if (!copy && !(insn->flags & VTPU_INSN_ARG_SMEM(0)) && dst_bytes < 4 &&
	    x->imm >> 8 * dst_bytes)
		return vtpu_bad_field(r, PAYLOAD(dma.imm), x->imm, (1u << 8 * dst_bytes) - 1);
	for (unsigned int d = 0; d < dims; d++) {
		uint64_t pad = d < 4 ? x->pad_before[d] + x->pad_after[d] : 0;

		if (d >= x->ndim) {
			if (x->count[d] != 1)
				return vtpu_bad_field(r, PAYLOAD(dma.count[0]) + 4 * d, x->count[d],
						      1);
			if (x->src_stride[d] || x->dst_stride[d])
				return vtpu_bad_field(r,
						      (x->src_stride[d] ?
							       PAYLOAD(dma.src_stride[0]) :
							       PAYLOAD(dma.dst_stride[0])) +
							      4 * d,
						      (uint32_t)(x->src_stride[d] |
								 x->dst_stride[d]),
						      0);
			if (pad)
				return vtpu_bad_field(r,
						      (x->pad_before[d] ?
							       PAYLOAD(dma.pad_before[0]) :
							       PAYLOAD(dma.pad_after[0])) +
							      d,
						      pad, 0);
			continue;
		}
		if (x->src_stride[d] % (int32_t)src_bytes)
			return vtpu_bad_field(r, PAYLOAD(dma.src_stride[0]) + 4 * d,
					      (uint32_t)x->src_stride[d], src_bytes);
		if (x->dst_stride[d] % (int32_t)dst_bytes)
			return vtpu_bad_field(r, PAYLOAD(dma.dst_stride[0]) + 4 * d,
					      (uint32_t)x->dst_stride[d], dst_bytes);
		elements = vtpu_cost_mul(elements, x->count[d] + pad);
	}
	if (elements > 1ULL << 40)
		return vtpu_bad_field(r, PAYLOAD(dma.count[0]), elements, 1ULL << 40);
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_check_epilogue(const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	unsigned int args = 0, from_smem = 0, i;

	for (i = 0; i < 4 && x->epi_op[i]; i++) {
		unsigned int takes = (unsigned int)strlen(vtpu_insn_epilogue(x->epi_op[i])->args);

		if (args + takes > 4)
			return vtpu_bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					      VTPU_EPI_NONE);
		if (!vtpu_insn_epilogue_address(x->epi_op[i]))
			from_smem |= ((1u << takes) - 1) << args;
		args += takes;
	}
	for (; i < 4; i++)
		if (x->epi_op[i])
			return vtpu_bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					      VTPU_EPI_NONE);
	for (i = args; i < 4; i++)
		if (x->epi_arg[i])
			return vtpu_bad_field(r, PAYLOAD(mxu.epi_arg[0]) + 4 * i, x->epi_arg[i], 0);
	/* An address is never taken from memory: the hazards must be known now. */
	if (insn->flags >> 8 & ~from_smem)
		return vtpu_bad_field(r, FIELD(flags), insn->flags,
				      (insn->flags & 0xffu) | from_smem << 8);
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_shape_matmul(uint32_t width, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const bool ta = x->mode & VTPU_MXU_TRANS_A, tb = x->mode & VTPU_MXU_TRANS_B;
	const bool acc = x->mode & VTPU_MXU_ACCUMULATE;
	enum vtpu_hw_status st;

	(void)width;
	if (!acc && (x->c || x->ldc))
		return vtpu_bad_field(r, x->c ? PAYLOAD(mxu.c) : PAYLOAD(mxu.ldc),
				      x->c ? x->c : x->ldc, 0);
	if ((st = vtpu_check_pitch(r, PAYLOAD(mxu.lda), x->lda, ta ? x->k : x->m, ta ? x->m : x->k,
				   x->a_type)) ||
	    (st = vtpu_check_pitch(r, PAYLOAD(mxu.ldb), x->ldb, tb ? x->n : x->k, tb ? x->k : x->n,
				   x->b_type)) ||
	    (st = vtpu_check_pitch(r, PAYLOAD(mxu.ldd), x->ldd, x->m, x->n, x->d_type)) ||
	    (acc &&
	     (st = vtpu_check_pitch(r, PAYLOAD(mxu.ldc), x->ldc, x->m, x->n, VTPU_TYPE_F32))))
		return st;
	if (x->a_gstride % (int32_t)vtpu_type_bytes(x->a_type))
		return vtpu_bad_field(r, PAYLOAD(mxu.a_gstride), (uint32_t)x->a_gstride,
				      vtpu_type_bytes(x->a_type));
	if (x->b_gstride % (int32_t)vtpu_type_bytes(x->b_type))
		return vtpu_bad_field(r, PAYLOAD(mxu.b_gstride), (uint32_t)x->b_gstride,
				      vtpu_type_bytes(x->b_type));
	for (unsigned int i = 0; i < 4; i++)
		if (x->epi_op[i] == VTPU_EPI_MAXPOOL)
			return vtpu_bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					      VTPU_EPI_NONE);
	return vtpu_check_epilogue(insn, r);
}

enum vtpu_hw_status vtpu_shape_ew(uint32_t width, const struct vtpu_insn *insn,
				  struct vtpu_load_record *r)
{
	const struct vtpu_insn_ew *x = &insn->payload.ew;
	enum vtpu_hw_status st = VTPU_ST_OK;

	(void)width;
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t pitch = PAYLOAD(ew.in[0].pitch) + i * sizeof(x->in[0]);

		if (i >= x->nin) {
			if (x->in[i].addr || x->in[i].pitch)
				return vtpu_bad_field(r, x->in[i].addr ? pitch - 4 : pitch,
						      x->in[i].addr ? x->in[i].addr :
								      x->in[i].pitch,
						      0);
			if (x->in_type[i] || x->in_bcast[i])
				return vtpu_bad_field(r,
						      (x->in_type[i] ? PAYLOAD(ew.in_type[0]) :
								       PAYLOAD(ew.in_bcast[0])) +
							      i,
						      x->in_type[i] ? x->in_type[i] :
								      x->in_bcast[i],
						      0);
			continue;
		}
		if (!x->in_type[i])
			return vtpu_bad_field(r, PAYLOAD(ew.in_type[0]) + i, 0, VTPU_TYPES_EW);
		if (x->in_bcast[i] == VTPU_BCAST_FULL)
			st = vtpu_check_pitch(r, pitch, x->in[i].pitch, x->rows, x->cols,
					      x->in_type[i]);
		else if (x->in_bcast[i] == VTPU_BCAST_COL)
			st = vtpu_check_pitch(r, pitch, x->in[i].pitch, x->rows, 1, x->in_type[i]);
		else if (x->in[i].pitch)
			st = vtpu_bad_field(r, pitch, x->in[i].pitch, 0);
		if (st)
			return st;
	}
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t pitch = PAYLOAD(ew.out[0].pitch) + i * sizeof(x->out[0]);

		if (i >= x->nout) {
			if (x->out[i].addr || x->out[i].pitch)
				return vtpu_bad_field(r, x->out[i].addr ? pitch - 4 : pitch,
						      x->out[i].addr ? x->out[i].addr :
								       x->out[i].pitch,
						      0);
			if (x->out_type[i])
				return vtpu_bad_field(r, PAYLOAD(ew.out_type[0]) + i,
						      x->out_type[i], 0);
			continue;
		}
		if (!x->out_type[i])
			return vtpu_bad_field(r, PAYLOAD(ew.out_type[0]) + i, 0, VTPU_TYPES_FLOAT);
		st = vtpu_check_pitch(r, pitch, x->out[i].pitch, x->rows, x->cols, x->out_type[i]);
		if (st)
			return st;
	}
	for (unsigned int i = 0; i < 8; i++) {
		uint32_t at = PAYLOAD(ew.op[0]) + 2 * i;

		if (i >= x->nops) {
			if (x->op[i].op || x->op[i].args)
				return vtpu_bad_field(r, x->op[i].op ? at : at + 1,
						      x->op[i].op ? x->op[i].op : x->op[i].args, 0);
			continue;
		}
		if (!x->op[i].op)
			return vtpu_bad_field(r, at, 0, 1);
		if (VTPU_EW_A(x->op[i].args) > VTPU_EW_IMM1 ||
		    VTPU_EW_B(x->op[i].args) > VTPU_EW_IMM1 ||
		    (vtpu_insn_unary(x->op[i].op) && VTPU_EW_B(x->op[i].args)))
			return vtpu_bad_field(r, at + 1, x->op[i].args,
					      VTPU_EW_ARGS(3, VTPU_EW_IMM1,
							   vtpu_insn_unary(x->op[i].op) ?
								   0 :
								   VTPU_EW_IMM1));
	}
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_shape_rows(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;
	const uint32_t out = PAYLOAD(rows.out_pitch);
	enum vtpu_hw_status st;

	(void)width;
	st = vtpu_check_pitch(r, PAYLOAD(rows.in_pitch), x->in_pitch, x->rows, x->cols, x->in_type);
	if (st)
		return st;
	switch (insn->opcode) {
	case VTPU_OP_TRANSPOSE:
		if (x->in_type != x->out_type)
			return vtpu_bad_field(r, PAYLOAD(rows.out_type), x->out_type, x->in_type);
		return vtpu_check_pitch(r, out, x->out_pitch, x->cols, x->rows, x->out_type);
	case VTPU_OP_REDUCE:
		if (!x->axis)
			return x->out_pitch ? vtpu_bad_field(r, out, x->out_pitch, 0) : VTPU_ST_OK;
		return vtpu_check_pitch(r, out, x->out_pitch, x->rows, 1, x->out_type);
	default:
		return vtpu_check_pitch(r, out, x->out_pitch, x->rows, x->cols, x->out_type);
	}
}
