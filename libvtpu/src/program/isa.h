/* SPDX-License-Identifier: MIT */
/*
 * isa.h - the table of the instruction set.
 *
 * One row for each opcode and each field of vtpu_isa.h. Assembler,
 * disassembler, checker, load reports and the reference in docs/assembly.md
 * all read this table and hold no names or offsets of their own.
 */
#ifndef VTPU_SRC_PROGRAM_ISA_H
#define VTPU_SRC_PROGRAM_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtpu_hw.h"

/** enum insn_kind - how the text form writes a field */
enum insn_kind {
	INSN_UINT,	/* number */
	INSN_INT,	/* signed number */
	INSN_HEX,	/* number, written in hexadecimal: VMEM addresses, masks */
	INSN_ADDR,	/* DMA address: vmem+n, smem+n, const+n, base+n */
	INSN_NAME,	/* one of names */
	INSN_FLAGS,	/* some of names, separated by | */
	INSN_BITS,	/* argument: 32 bits; may come from SMEM */
	INSN_FLOAT,	/* argument: f32; may come from SMEM */
	INSN_COUNT,	/* number of elements of the field that names it; not written */
	INSN_EPILOGUE,	/* epilogue operations; their arguments are in epi_arg */
	INSN_EPI_ARG,	/* written by INSN_EPILOGUE */
	INSN_MICRO_OPS, /* element-wise operations */
};

/** struct insn_name - a word of the text form, and its value */
struct insn_name {
	const char *name; /* NULL ends a list */
	uint32_t value;
	const char *
		args; /* epilogue: kinds of arguments, 'v' VMEM address, 'f' f32; micro-ops: "1" unary, "2" binary */
};

/** struct insn_field - a field of the instruction, or an array of them */
struct insn_field {
	const char *name; /* NULL ends a list */
	uint8_t offset;	  /* of element 0, from the instruction's start */
	uint8_t bytes;	  /* of an element */
	uint8_t count;	  /* elements */
	uint8_t stride;	  /* from one element to the next */
	uint8_t kind;	  /* enum insn_kind */
	uint8_t fill;	  /* value of elements that are not written */
	uint8_t counter; /* offset of the u8 that holds the number of elements written; 0 is none */
	uint64_t min, max; /* limits of elements that are written; max 0: all that fits */
	const struct insn_name *names; /* INSN_NAME, INSN_FLAGS, INSN_EPILOGUE, INSN_MICRO_OPS */
	const char *what;	       /* a few words for the reference */
};

/** struct insn_op - an opcode */
struct insn_op {
	const char *name; /* NULL ends the list */
	uint8_t opcode;
	uint8_t unit;
	bool built;			 /* devices of this version run it */
	const struct insn_field *fields; /* of its payload */
	const char *uses; /* names of those that it uses, separated by spaces; NULL: all */
};

extern const struct insn_op insn_ops[];

extern const struct insn_name insn_types[];
extern const struct insn_name insn_caps[];

/** insn_op() - row of an opcode, or NULL */
const struct insn_op *insn_op(uint8_t opcode);

/** insn_op_named() - row of a mnemonic of @len bytes, or NULL */
const struct insn_op *insn_op_named(const char *name, size_t len);

/** insn_uses() - does @op use @field? */
bool insn_uses(const struct insn_op *op, const struct insn_field *field);

/** insn_get() - element @i of @field, zero-extended */
uint64_t insn_get(const struct vtpu_insn *insn, const struct insn_field *field, unsigned int i);

/** insn_set() - set it; the value must fit */
void insn_set(struct vtpu_insn *insn, const struct insn_field *field, unsigned int i,
	      uint64_t value);

/** insn_unit_name() - "dma"; "unit 9" is not there: NULL for numbers that are no unit */
const char *insn_unit_name(unsigned int unit);

/** insn_name_of() - name of @value in @names, or NULL */
const char *insn_name_of(const struct insn_name *names, uint32_t value);

/** insn_named() - entry of @names called @name, of @len bytes, or NULL */
const struct insn_name *insn_named(const struct insn_name *names, const char *name, size_t len);

/**
 * insn_field_at() - name of the field that byte @offset of an instruction belongs to
 * @op: its opcode's row; NULL: only what all instructions have
 * @text: gets "count[2]", or "byte 57" where no field is; at least 32 bytes
 *
 * Return: the field if it is one of the payload, else NULL; @index gets the element.
 */
const struct insn_field *insn_field_at(const struct insn_op *op, unsigned int offset, char *text,
				       size_t bytes, unsigned int *index);

#endif /* VTPU_SRC_PROGRAM_ISA_H */
