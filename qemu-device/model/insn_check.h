/* SPDX-License-Identifier: MIT */
/*
 * insn_check.h - between the files that check instructions: records of what is
 * wrong, and the functions that the table of opcodes names.
 */
#ifndef VTPU_INSN_CHECK_H
#define VTPU_INSN_CHECK_H

#include "cost.h"
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

/** vtpu_check_pitch() - is a row pitch whole elements, and do rows not overlap? */
static inline enum vtpu_hw_status vtpu_check_pitch(struct vtpu_load_record *r, uint32_t field,
						   uint64_t pitch, uint64_t rows, uint64_t cols,
						   uint32_t type)
{
	uint32_t bytes = vtpu_type_bytes(type);

	if (pitch % bytes)
		return vtpu_bad_field(r, field, pitch, bytes);
	if (rows > 1 && pitch < cols * bytes)
		return vtpu_bad_field(r, field, pitch, cols * bytes);
	return VTPU_ST_OK;
}

/** vtpu_check_epilogue() - operations and arguments of a matrix instruction's epilogue, its kind not asked */
enum vtpu_hw_status vtpu_check_epilogue(const struct vtpu_insn *insn, struct vtpu_load_record *r);

/**
 * vtpu_boxes_epilogue() - what an epilogue reads
 * @rows: of d
 * @cols: of d
 */
void vtpu_boxes_epilogue(struct vtpu_boxes *boxes, const struct vtpu_insn *insn, uint32_t rows,
			 uint32_t cols);

/* insn_shape.c, insn_conv.c, insn_train.c: see struct vtpu_insn_row.shape; fields are in their limits */
enum vtpu_hw_status vtpu_shape_barrier(uint32_t width, const struct vtpu_insn *insn,
				       struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_dma(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_conv(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_matmul(uint32_t width, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_ew(uint32_t width, const struct vtpu_insn *insn,
				  struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_rows(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r);

enum vtpu_hw_status vtpu_shape_argmax(uint32_t width, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_opt(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_pool(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_rng(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_send(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r);
enum vtpu_hw_status vtpu_shape_xent(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r);

/**
 * vtpu_boxes_add() - add a VMEM operand: @inner elements next to each other, @outer times @pitch apart
 *
 * Return: its box.
 */
struct vtpu_box *vtpu_boxes_add(struct vtpu_boxes *boxes, uint32_t field, uint32_t addr,
				uint32_t type, uint32_t inner, uint32_t outer, uint32_t pitch,
				bool write);

/** vtpu_boxes_args() - add those of @n arguments that SMEM words hold */
void vtpu_boxes_args(struct vtpu_boxes *boxes, const struct vtpu_insn *insn, const uint32_t *arg,
		     uint32_t field, unsigned int n);

/* insn_boxes.c, insn_train.c: see struct vtpu_insn_row.boxes */
void vtpu_boxes_copy(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_fill(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_conv(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_matmul(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_ew(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_rows(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_argmax(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_opt(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_pool(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_rng(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
void vtpu_boxes_xent(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);

#endif /* VTPU_INSN_CHECK_H */
