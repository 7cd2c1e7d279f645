/* SPDX-License-Identifier: MIT */
/*
 * isa.h - look-up in the table of the instruction set, which is the chip model's
 * (insn_table.h).
 */
#ifndef VTPU_SRC_PROGRAM_ISA_H
#define VTPU_SRC_PROGRAM_ISA_H

#include "insn_table.h"

extern const struct vtpu_insn_word insn_caps[];
extern const struct vtpu_insn_word insn_rights[]; /* of bases */

/** insn_op() - row of an opcode, or NULL */
const struct vtpu_insn_row *insn_op(uint8_t opcode);

/** insn_op_named() - row of a mnemonic of @len bytes, or NULL */
const struct vtpu_insn_row *insn_op_named(const char *name, size_t len);

/** insn_next() - row after @op, by opcode; the first for NULL; NULL after the last */
const struct vtpu_insn_row *insn_next(const struct vtpu_insn_row *op);

/** insn_written() - does the text form write @field itself, not as a part of another? */
bool insn_written(const struct vtpu_insn_field *field);

/** insn_get() - element @i of @field, zero-extended */
uint64_t insn_get(const struct vtpu_insn *insn, const struct vtpu_insn_field *field,
		  unsigned int i);

/** insn_set() - set it; the value must fit */
void insn_set(struct vtpu_insn *insn, const struct vtpu_insn_field *field, unsigned int i,
	      uint64_t value);

/** insn_unit_name() - "dma"; NULL for numbers that are no unit */
const char *insn_unit_name(unsigned int unit);

/** insn_name_of() - name of @value in @names, or NULL */
const char *insn_name_of(const struct vtpu_insn_word *names, uint32_t value);

/** insn_named() - entry of @names called @name, of @len bytes, or NULL */
const struct vtpu_insn_word *insn_named(const struct vtpu_insn_word *names, const char *name,
					size_t len);

/**
 * insn_field_at() - name of the field that byte @offset of an instruction belongs to
 * @op: its opcode's row; NULL: only what all instructions have
 * @text: gets "count[2]", or "byte 57" where no field is; at least 32 bytes
 *
 * Return: the field if it is one of the payload, else NULL; @index gets the element.
 */
const struct vtpu_insn_field *insn_field_at(const struct vtpu_insn_row *op, unsigned int offset,
					    char *text, size_t bytes, unsigned int *index);

#endif /* VTPU_SRC_PROGRAM_ISA_H */
