/* SPDX-License-Identifier: MIT */
/*
 * insn_check.h - between the files that check instructions: records of what is
 * wrong, and the functions that the table of opcodes names.
 */
#ifndef VTPU_INSN_CHECK_H
#define VTPU_INSN_CHECK_H

#include "insn.h"
#include "insn_table.h"

#define FIELD(path)   offsetof(struct vtpu_insn, path)
#define PAYLOAD(path) offsetof(struct vtpu_insn, payload.path)

static inline enum vtpu_hw_status vtpu_bad_field(struct vtpu_load_record *r, uint32_t field,
						 uint64_t have, uint64_t need)
{
	r->kind = VTPU_REC_FIELD;
	r->field = (uint16_t)field;
	r->have = have;
	r->need = need;
	return VTPU_ST_BAD_INSN;
}

static inline enum vtpu_hw_status vtpu_unsupported(struct vtpu_load_record *r, uint32_t field,
						   uint64_t have)
{
	r->kind = VTPU_REC_UNSUPPORTED;
	r->field = (uint16_t)field;
	r->have = have;
	return VTPU_ST_UNSUPPORTED;
}

/** vtpu_insn_epilogue_address() - is an operation's argument the VMEM address of an operand? */
static inline bool vtpu_insn_epilogue_address(enum vtpu_epi_op op)
{
	return vtpu_insn_epilogue(op)->args[0] == 'v';
}

/* insn_shape.c: see struct vtpu_insn_row.shape; fields are in their limits */
enum vtpu_hw_status vtpu_shape_barrier(uint32_t width, const struct vtpu_insn *insn,
				       struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_dma(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_matmul(uint32_t width, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_ew(uint32_t width, const struct vtpu_insn *insn,
				  struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_rows(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r);

/* insn_boxes.c: see struct vtpu_insn_row.boxes */
void vtpu_boxes_copy(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_fill(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_matmul(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_ew(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_rows(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);

#endif /* VTPU_INSN_CHECK_H */
