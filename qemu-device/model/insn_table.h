/* SPDX-License-Identifier: MIT */
/*
 * insn_table.h - shape of the table of opcodes, for the files that check with it.
 */
#ifndef VTPU_INSN_TABLE_H
#define VTPU_INSN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtpu_hw.h"

/** struct vtpu_isa_field - a field, or an array of them, that an opcode uses */
struct vtpu_isa_field {
	/** @offset: of the first, from the instruction's start */
	uint8_t offset;
	/** @bytes: of one: 1, 2, 4 or 8; 0 ends a list */
	uint8_t bytes;
	/** @count: how many */
	uint8_t count;
	/** @step: from one to the next */
	uint8_t step;
	/** @types: not 0: one of these values, as bits */
	uint32_t types;
	/** @min: least value */
	uint64_t min;
	/** @max: most that the format allows */
	uint64_t max;
	/** @built: most that this device has */
	uint64_t built;
};

/** struct vtpu_isa_op - an opcode */
struct vtpu_isa_op {
	uint8_t opcode;
	uint8_t unit;
	/** @args: bit i: argument i may come from SMEM */
	uint8_t args;
	/** @fields: of its payload; NULL: not built yet */
	const struct vtpu_isa_field *fields;
};

/* Rows of the table; the built opcodes come first. */
#define VTPU_ISA_BUILT 11
#define VTPU_ISA_OPS   35

extern const struct vtpu_isa_op vtpu_isa_table[VTPU_ISA_OPS];

#define VTPU_ISA_BIT(type) (1u << (type))
#define VTPU_ISA_FLOATS	   (VTPU_ISA_BIT(VTPU_TYPE_F32) | VTPU_ISA_BIT(VTPU_TYPE_BF16))
#define VTPU_ISA_EW_TYPES  (VTPU_ISA_FLOATS | VTPU_ISA_BIT(VTPU_TYPE_U8))
#define VTPU_ISA_COPY_TYPES \
	(VTPU_ISA_EW_TYPES | VTPU_ISA_BIT(VTPU_TYPE_S8) | VTPU_ISA_BIT(VTPU_TYPE_S32))

/** vtpu_isa_epilogue_args() - arguments that an epilogue operation takes */
unsigned int vtpu_isa_epilogue_args(uint32_t op);

/** vtpu_isa_epilogue_address() - is its argument the VMEM address of an operand? */
static inline bool vtpu_isa_epilogue_address(uint32_t op)
{
	return op == VTPU_EPI_BIAS || op == VTPU_EPI_SCALE || op == VTPU_EPI_RESIDUAL;
}

/** vtpu_isa_ew_unary() - does a micro-op take a alone? */
bool vtpu_isa_ew_unary(uint32_t op);

/**
 * vtpu_insn_check_shape() - do the fields of an instruction fit together?
 * @width: cores of the gang
 * @insn: instruction whose fields are in their limits
 * @r: gets what is wrong
 */
enum vtpu_hw_status vtpu_insn_check_shape(uint32_t width, const struct vtpu_insn *insn,
					  struct vtpu_load_record *r);

/* ---- Records -------------------------------------------------------------- */

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

#define FIELD(path)   offsetof(struct vtpu_insn, path)
#define PAYLOAD(path) offsetof(struct vtpu_insn, payload.path)

#endif /* VTPU_INSN_TABLE_H */
