/* SPDX-License-Identifier: MIT */
/*
 * insn.h - what the loader asks about an instruction: is it one that this device
 * can run, and which bytes does it access? The table of opcodes (insn_table.h)
 * decides.
 */
#ifndef VTPU_INSN_H
#define VTPU_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"
#include "vtpu_hw.h"

/* The most that one instruction accesses: OPTIMIZE with four scalars, and a predicate. */
#define VTPU_MAX_BOXES 12

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
	/** @used: by opcode: bits of the payload that its fields cover */
	uint64_t used[256][12];
	/** @smem: by opcode: VTPU_INSN_ARG_SMEM() bits of its arguments */
	uint16_t smem[256];
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
