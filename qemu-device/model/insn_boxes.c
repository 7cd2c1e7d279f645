// SPDX-License-Identifier: MIT
/*
 * insn_boxes.c - which bytes an instruction reads and writes.
 *
 * Reads are listed before writes. A predicated instruction is listed as if it
 * acts.
 */
#include <stddef.h>
#include <string.h>

#include "cost.h"
#include "insn_check.h"

struct vtpu_box *vtpu_boxes_add(struct vtpu_boxes *boxes, uint32_t field, uint32_t addr,
				uint32_t type, uint32_t inner, uint32_t outer, uint32_t pitch,
				bool write)
{
	struct vtpu_box *b = &boxes->box[boxes->n++];
	uint32_t element = vtpu_type_bytes(type);
	const uint32_t count[2] = { inner, outer };
	const int64_t stride[2] = { element, pitch };

	b->space = VTPU_SPACE_VMEM;
	b->base = 0;
	b->element = (uint8_t)element;
	b->write = write;
	b->in_place = false;
	b->field = (uint16_t)field;
	vtpu_box_shape(b, addr, element, 2, count, stride);
	return b;
}

static void add_word(struct vtpu_boxes *boxes, uint32_t field, uint32_t word)
{
	struct vtpu_box *b = &boxes->box[boxes->n++];

	b->space = VTPU_SPACE_SMEM;
	b->base = 0;
	b->element = 4;
	b->write = false;
	b->in_place = false;
	b->field = (uint16_t)field;
	vtpu_box_shape(b, (int64_t)word * 4, 4, 0, NULL, NULL);
}

void vtpu_boxes_args(struct vtpu_boxes *boxes, const struct vtpu_insn *insn, const uint32_t *arg,
		     uint32_t field, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (insn->flags & VTPU_INSN_ARG_SMEM(i))
			add_word(boxes, field + 4 * i, arg[i]);
}

static void add_dma(struct vtpu_boxes *boxes, const struct vtpu_insn_dma *x, bool dst)
{
	struct vtpu_box *b = &boxes->box[boxes->n++];
	uint64_t addr = dst ? x->dst : x->src;
	uint32_t count[5];
	int64_t stride[5];

	for (unsigned int d = 0; d < 5; d++) {
		count[d] = x->count[d] + (dst && d < 4 ? x->pad_before[d] + x->pad_after[d] : 0);
		stride[d] = dst ? x->dst_stride[d] : x->src_stride[d];
	}
	b->space = (uint8_t)VTPU_ADDR_SPACE(addr);
	b->base = (uint8_t)VTPU_ADDR_BASE(addr);
	b->element = (uint8_t)vtpu_type_bytes(dst ? x->dst_type : x->src_type);
	b->write = dst;
	b->in_place = false;
	b->field = dst ? PAYLOAD(dma.dst) : PAYLOAD(dma.src);
	vtpu_box_shape(b, (int64_t)VTPU_ADDR_OFFSET(addr), b->element, 5, count, stride);
}

void vtpu_boxes_copy(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	add_dma(boxes, &insn->payload.dma, false);
	add_dma(boxes, &insn->payload.dma, true);
}

void vtpu_boxes_fill(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	vtpu_boxes_args(boxes, insn, &insn->payload.dma.imm, PAYLOAD(dma.imm), 1);
	add_dma(boxes, &insn->payload.dma, true);
}

/* A or B: @inner contiguous elements, @outer rows, g of them. */
static void add_factor(struct vtpu_boxes *boxes, uint32_t field, uint32_t addr, uint32_t type,
		       uint32_t inner, uint32_t outer, uint32_t pitch, uint32_t g, int32_t gstride)
{
	struct vtpu_box *b = vtpu_boxes_add(boxes, field, addr, type, 1, 1, 0, false);
	const uint32_t count[3] = { inner, outer, g };
	const int64_t stride[3] = { b->element, pitch, gstride };

	vtpu_box_shape(b, addr, b->element, 3, count, stride);
}

void vtpu_boxes_epilogue(struct vtpu_boxes *boxes, const struct vtpu_insn *insn, uint32_t rows,
			 uint32_t cols)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	unsigned int arg = 0;

	for (unsigned int i = 0; i < 4 && x->epi_op[i] && x->epi_op[i] != VTPU_EPI_MAXPOOL; i++) {
		uint32_t field = PAYLOAD(mxu.epi_arg[0]) + 4 * arg;

		if (x->epi_op[i] == VTPU_EPI_RESIDUAL)
			vtpu_boxes_add(boxes, field, x->epi_arg[arg], x->d_type, cols, rows, x->ldd,
				       false)
				->in_place = true;
		else if (vtpu_insn_epilogue_address(x->epi_op[i]))
			vtpu_boxes_add(boxes, field, x->epi_arg[arg], VTPU_TYPE_F32, cols, 1, 0,
				       false);
		arg += (unsigned int)strlen(vtpu_insn_epilogue(x->epi_op[i])->args);
	}
	vtpu_boxes_args(boxes, insn, x->epi_arg, PAYLOAD(mxu.epi_arg[0]), 4);
}

void vtpu_boxes_matmul(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const bool ta = x->mode & VTPU_MXU_TRANS_A, tb = x->mode & VTPU_MXU_TRANS_B;

	add_factor(boxes, PAYLOAD(mxu.a), x->a, x->a_type, ta ? x->m : x->k, ta ? x->k : x->m,
		   x->lda, x->g, x->a_gstride);
	add_factor(boxes, PAYLOAD(mxu.b), x->b, x->b_type, tb ? x->k : x->n, tb ? x->n : x->k,
		   x->ldb, x->g, x->b_gstride);
	if (x->mode & VTPU_MXU_ACCUMULATE)
		vtpu_boxes_add(boxes, PAYLOAD(mxu.c), x->c, VTPU_TYPE_F32, x->n, x->m, x->ldc,
			       false)
			->in_place = true;
	vtpu_boxes_epilogue(boxes, insn, x->m, x->n);
	vtpu_boxes_add(boxes, PAYLOAD(mxu.d), x->d, x->d_type, x->n, x->m, x->ldd, true);
}

void vtpu_boxes_ew(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_ew *x = &insn->payload.ew;

	for (unsigned int i = 0; i < x->nin; i++) {
		uint32_t field = PAYLOAD(ew.in[0].addr) + i * sizeof(x->in[0]);
		bool cols = x->in_bcast[i] == VTPU_BCAST_FULL || x->in_bcast[i] == VTPU_BCAST_ROW;
		bool rows = x->in_bcast[i] == VTPU_BCAST_FULL || x->in_bcast[i] == VTPU_BCAST_COL;

		vtpu_boxes_add(boxes, field, x->in[i].addr, x->in_type[i], cols ? x->cols : 1,
			       rows ? x->rows : 1, x->in[i].pitch, false)
			->in_place = true;
	}
	vtpu_boxes_args(boxes, insn, x->imm, PAYLOAD(ew.imm[0]), 2);
	for (unsigned int i = 0; i < x->nout; i++)
		vtpu_boxes_add(boxes, PAYLOAD(ew.out[0].addr) + i * sizeof(x->out[0]),
			       x->out[i].addr, x->out_type[i], x->cols, x->rows, x->out[i].pitch,
			       true);
}

void vtpu_boxes_rows(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;
	uint32_t inner = x->cols, outer = x->rows;

	vtpu_boxes_add(boxes, PAYLOAD(rows.in), x->in, x->in_type, x->cols, x->rows, x->in_pitch,
		       false)
		->in_place = insn->opcode == VTPU_OP_SOFTMAX;
	if (insn->opcode == VTPU_OP_SOFTMAX)
		vtpu_boxes_args(boxes, insn, x->imm, PAYLOAD(rows.imm[0]), 1);
	if (insn->opcode == VTPU_OP_TRANSPOSE) {
		inner = x->rows;
		outer = x->cols;
	} else if (insn->opcode == VTPU_OP_REDUCE) {
		inner = x->axis ? 1 : x->cols;
		outer = x->axis ? x->rows : 1;
	}
	vtpu_boxes_add(boxes, PAYLOAD(rows.out), x->out, x->out_type, inner, outer, x->out_pitch,
		       true);
}

void vtpu_insn_boxes(const struct vtpu_insn *insn, struct vtpu_boxes *boxes)
{
	boxes->n = 0;
	if (insn->flags & VTPU_INSN_PRED)
		add_word(boxes, offsetof(struct vtpu_insn, wait[0].pad), insn->wait[0].pad);
	if (vtpu_insn_table[insn->opcode].boxes)
		vtpu_insn_table[insn->opcode].boxes(boxes, insn);
}
