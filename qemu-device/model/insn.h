/* SPDX-License-Identifier: MIT */
/*
 * insn.h - what the loader knows of each opcode: unit, fields, operands.
 *
 * One table (in insn.c) says for each opcode which unit runs it, whether this
 * device has it, which fields it uses with which limits, and which function
 * lists its operands. What it computes is the executor's, what it costs is in
 * cost.h.
 */
#ifndef VTPU_INSN_H
#define VTPU_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"
#include "vtpu_hw.h"

/* The most that one instruction accesses: MATMUL with four epilogue operands or scalars, and a predicate. */
#define VTPU_MAX_BOXES 10

/* Work of one instruction: enough for an hour, too little for sums over a program to wrap. */
#define VTPU_MAX_INSN_CYCLES (1ULL << 42)
#define VTPU_MAX_INSN_MACS   (1ULL << 43)
/* Elements of one dimension of a DMA, padding not counted. */
#define VTPU_MAX_DIM (1u << 28)

/** struct vtpu_boxes - accesses of an instruction: reads and writes of its own core's memories and of HBM */
struct vtpu_boxes {
	unsigned int n;
	struct vtpu_box box[VTPU_MAX_BOXES];
};

/** struct vtpu_insn_env - what instructions are checked against */
struct vtpu_insn_env {
	const struct vtpu_hw_geometry *geometry;
	uint32_t width;
	uint32_t nbases;
	const struct vtpu_image_base *base;
	uint64_t const_bytes;
	/** @row: by opcode: row of the table plus 1; 0: no such opcode */
	uint8_t row[256];
	/** @used: by row: bits of the payload that the opcode may set */
	uint64_t used[16][12];
	/** @limit: fields that not every value will do for, row after row */
	struct vtpu_insn_limit {
		uint64_t min, max, built;
		uint32_t types; /* not 0: one of these values, as bits */
		uint8_t offset;
		uint8_t bytes;
	} limit[160];
	/** @first: by row: its first limit; the next row's ends them */
	uint8_t first[17];
};

/** vtpu_insn_env_init() - prepare the table's part; the other fields are the caller's */
void vtpu_insn_env_init(struct vtpu_insn_env *env);

/**
 * vtpu_insn_check() - is an instruction one that this device can run?
 * @env: program and device
 * @insn: instruction
 * @unit: unit of the queue that it is in
 * @boxes: gets its accesses
 * @record: gets kind, field, have, need and range of what is wrong with it
 *
 * Return: OK, UNSUPPORTED, BAD_INSN or OUT_OF_BOUNDS.
 */
enum vtpu_hw_status vtpu_insn_check(const struct vtpu_insn_env *env, const struct vtpu_insn *insn,
				    uint32_t unit, struct vtpu_boxes *boxes,
				    struct vtpu_load_record *record);

/** vtpu_insn_boxes() - accesses of an instruction that passed the check */
void vtpu_insn_boxes(const struct vtpu_insn *insn, struct vtpu_boxes *boxes);

#endif /* VTPU_INSN_H */
