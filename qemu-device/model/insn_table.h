/* SPDX-License-Identifier: MIT */
/*
 * insn_table.h - the instruction set as one table.
 *
 * A row for each opcode: its name, unit and fields, with the limits of each
 * field and its words in the text form, and the functions that check and do it.
 * The loader, the executors, libvtpu's assembler, disassembler and reports, and
 * the reference in docs/assembly.md read it and hold no names, offsets or limits
 * of their own. What an instruction costs is in cost.h.
 */
#ifndef VTPU_INSN_TABLE_H
#define VTPU_INSN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "types.h"

struct vtpu_boxes;
struct vtpu_op;
struct vtpu_scratch;

/** struct vtpu_insn_word - a word of the text form, and its value */
struct vtpu_insn_word {
	/** @name: NULL ends a list */
	const char *name;
	uint32_t value;
	/**
	 * @args: epilogue operations: the kinds of their arguments: 'v' VMEM address of an
	 * operand, 'f' f32, 'b' bits. Micro-ops: "1" or "2" operands
	 */
	const char *args;
};

/** enum vtpu_insn_kind - what a field holds, and so how the text form writes it */
enum vtpu_insn_kind {
	VTPU_FIELD_UINT,      /* number */
	VTPU_FIELD_INT,	      /* signed number */
	VTPU_FIELD_HEX,	      /* number, written in hexadecimal: VMEM addresses, masks */
	VTPU_FIELD_ADDR,      /* DMA address: vmem+n, smem+n, const+n, base+n */
	VTPU_FIELD_NAME,      /* one of words */
	VTPU_FIELD_FLAGS,     /* some of words, separated by | */
	VTPU_FIELD_BITS,      /* arguments 0..: 32 bits; may come from SMEM */
	VTPU_FIELD_FLOAT,     /* arguments 0..: f32; may come from SMEM */
	VTPU_FIELD_F32,	      /* f32 that is no argument */
	VTPU_FIELD_COUNT,     /* number of elements of the field that names it; not written */
	VTPU_FIELD_EPILOGUE,  /* epilogue operations; EPI_ARG is the next field */
	VTPU_FIELD_EPI_ARG,   /* arguments 0..3, written by EPILOGUE; may come from SMEM */
	VTPU_FIELD_MICRO_OPS, /* element-wise operations */
	VTPU_FIELD_ARGS,      /* operands of micro-ops, written by MICRO_OPS */
};

/** struct vtpu_insn_field - a field that an opcode uses, or an array of them */
struct vtpu_insn_field {
	/** @name: in text and reports; NULL ends a list */
	const char *name;
	/** @offset: of element 0, from the instruction's start */
	uint8_t offset;
	/** @bytes: of an element: 1, 2, 4 or 8 */
	uint8_t bytes;
	/** @count: elements */
	uint8_t count;
	/** @stride: from one element to the next */
	uint8_t stride;
	/** @kind: enum vtpu_insn_kind */
	uint8_t kind;
	/** @fill: value of elements that the text does not give */
	uint8_t fill;
	/** @counter: offset of the u8 that holds the number of elements given; 0: none */
	uint8_t counter;
	/** @later: values from this on are of later devices; 0: none are */
	uint8_t later;
	/** @here: but from this on this device has them again; 0: no */
	uint8_t here;
	/** @types: element types that it may name, as bits; 0: it is no type, or of a later device */
	uint32_t types;
	/** @min: least value */
	uint64_t min;
	/** @max: largest value; 0: all that fits */
	uint64_t max;
	/** @words: of NAME, FLAGS, EPILOGUE and MICRO_OPS */
	const struct vtpu_insn_word *words;
	/** @what: a few words for the reference */
	const char *what;
};

/** struct vtpu_insn_row - an opcode */
struct vtpu_insn_row {
	/** @name: mnemonic; NULL: no such opcode */
	const char *name;
	uint8_t opcode;
	/** @unit: enum vtpu_unit: the one that runs it */
	uint8_t unit;
	/** @fields: of its payload; a byte that none of them covers must be zero */
	const struct vtpu_insn_field *fields;
	/** @shape: do the fields fit together? NULL: nothing to check */
	enum vtpu_hw_status (*shape)(uint32_t width, const struct vtpu_insn *insn,
				     struct vtpu_load_record *r);
	/** @boxes: add what it reads, then what it writes; NULL: nothing */
	void (*boxes)(struct vtpu_boxes *boxes, const struct vtpu_insn *insn);
	/** @parts: as vtpu_op_parts(); NULL: 1 */
	uint32_t (*parts)(const struct vtpu_op *op, uint32_t threads);
	/** @run: do part @part of @parts; NULL: no device of this version has it */
	void (*run)(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		    struct vtpu_scratch *s);
};

#define VTPU_INSN_OPCODES 256

/** vtpu_insn_table - by opcode */
extern const struct vtpu_insn_row vtpu_insn_table[VTPU_INSN_OPCODES];

extern const struct vtpu_insn_word vtpu_insn_types[];
extern const char *const vtpu_insn_units[VTPU_UNITS];

extern const struct vtpu_insn_word vtpu_insn_epilogue_ops[];
extern const struct vtpu_insn_word vtpu_insn_micro_ops[];

/** vtpu_insn_epilogue() - word of an epilogue operation: any but NONE */
static inline const struct vtpu_insn_word *vtpu_insn_epilogue(enum vtpu_epi_op op)
{
	return &vtpu_insn_epilogue_ops[op - 1];
}

/** struct vtpu_insn_maxpool - the MAXPOOL of an epilogue; a window of 1 x 1 without one */
struct vtpu_insn_maxpool {
	bool on;
	/** @relu: the operation before is RELU */
	bool relu;
	/** @arg: number of its first argument */
	uint8_t arg;
	uint32_t h, w;
	/** @index: VMEM address of the index bytes */
	uint32_t index;
};

/** vtpu_insn_maxpool() - find it; sizes of zero, which the loader refuses, are given as 1 */
static inline struct vtpu_insn_maxpool vtpu_insn_maxpool(const struct vtpu_insn_mxu *x)
{
	struct vtpu_insn_maxpool p = { .h = 1, .w = 1 };
	unsigned int arg = 0;

	for (unsigned int i = 0; i < 4 && x->epi_op[i] && x->epi_op[i] < VTPU_EPI_OPS; i++) {
		if (x->epi_op[i] == VTPU_EPI_MAXPOOL && arg < 3) {
			p.on = true;
			p.relu = i && x->epi_op[i - 1] == VTPU_EPI_RELU;
			p.arg = (uint8_t)arg;
			p.index = x->epi_arg[arg];
			p.h = VTPU_EPI_WINDOW_H(x->epi_arg[arg + 1]);
			p.w = VTPU_EPI_WINDOW_W(x->epi_arg[arg + 1]);
			break;
		}
		arg += (unsigned int)strlen(
			vtpu_insn_epilogue((enum vtpu_epi_op)x->epi_op[i])->args);
	}
	p.h += !p.h;
	p.w += !p.w;
	return p;
}

/** vtpu_insn_unary() - does a micro-op take a alone? */
static inline bool vtpu_insn_unary(enum vtpu_ew_op op)
{
	return vtpu_insn_micro_ops[op - 1].args[0] == '1';
}

/** vtpu_insn_later() - is the value of a field one that later devices have? */
static inline bool vtpu_insn_later(const struct vtpu_insn_field *field, uint64_t value)
{
	return field->later && value >= field->later && !(field->here && value >= field->here);
}

/** vtpu_insn_get() - the @bytes (1, 2, 4 or 8) of a field at @offset, zero-extended */
static inline uint64_t vtpu_insn_get(const struct vtpu_insn *insn, uint32_t offset,
				     unsigned int bytes)
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

#endif /* VTPU_INSN_TABLE_H */
