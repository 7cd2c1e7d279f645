/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * vtpu_load.h - what the device reports of a program that it was given to load.
 *
 * The part of the hardware contract between the loader and whoever makes
 * sentences of its findings. Included by vtpu_isa.h, which has the names of
 * units, spaces and fields that the records carry.
 */
#ifndef _UAPI_VTPU_LOAD_H_
#define _UAPI_VTPU_LOAD_H_

#include <linux/types.h>

/**
 * struct vtpu_load_result - what a load found; @records struct vtpu_load_record follow
 */
struct vtpu_load_result {
	/** @status: enum vtpu_hw_status, as in the completion */
	__u32 status;
	/** @records: records written behind this */
	__u32 records;
	/**
	 * @found: findings in all; more than @records when room or the limit of %VTPU_MAX_RECORDS
	 * ended the list
	 */
	__u32 found;
	/** @races: of these, races and possible races */
	__u32 races;
	/** @cycles: modelled cycles of a run */
	__u64 cycles;
	/** @mxu_cycles: of all cores together, cycles with the matrix unit busy */
	__u64 mxu_cycles;
	/** @macs: multiply-adds of all cores together */
	__u64 macs;
	/** @hbm_bytes: HBM bytes moved by all cores together */
	__u64 hbm_bytes;
	/** @instances: instructions times width */
	__u32 instances;
	/** @edges: edges of the hazard graph */
	__u32 edges;
	/** @vmem_bytes: highest VMEM byte used, plus 1 */
	__u64 vmem_bytes;
};

#define VTPU_MAX_RECORDS 64

/** enum vtpu_record_kind - struct vtpu_load_record.kind */
enum vtpu_record_kind {
	VTPU_REC_IMAGE =
		1, /* @index: section (or ~0: header), @field: byte offset there, @have, @need */
	VTPU_REC_FIELD = 2, /* instruction field at byte @field has @have, limit @need */
	VTPU_REC_RANGE =
		3, /* operand [@start, @start + @bytes) leaves @space (of size @need), or @base */
	VTPU_REC_DEADLOCK = 4, /* blocked on @sem: @have of @need; one for each blocked queue */
	VTPU_REC_RACE =
		5, /* overlaps the other instruction in [@start, + @bytes) with no order between */
	VTPU_REC_POSSIBLE_RACE = 6, /* the same, but the exact overlap was not decided */
	VTPU_REC_OVERFLOW = 7,	    /* @sem would pass 2^31 - 1 */
	VTPU_REC_UNSUPPORTED = 8,   /* opcode or capability @have */
	VTPU_REC_BARRIER = 9,	    /* blocked in a barrier that core @have never reaches */
};

/** struct vtpu_load_record - one finding */
struct vtpu_load_record {
	/** @kind: enum vtpu_record_kind */
	__u16 kind;
	/** @core: core of the instruction */
	__u8 core;
	/** @unit: its unit */
	__u8 unit;
	/** @index: its position in the unit's queue */
	__u32 index;
	/** @op_id: its operation */
	__u32 op_id;
	/** @sem: semaphore */
	__u16 sem;
	/** @space: enum vtpu_space of @start */
	__u8 space;
	/** @base: base register of @start */
	__u8 base;
	/** @have: value found */
	__u64 have;
	/** @need: value needed, or limit */
	__u64 need;
	/** @start: first byte of the range */
	__u64 start;
	/** @bytes: length of the range */
	__u64 bytes;
	/** @other_core: core of the second instruction */
	__u8 other_core;
	/** @other_unit: its unit */
	__u8 other_unit;
	/** @field: byte offset of the field */
	__u16 field;
	/** @other_index: its position */
	__u32 other_index;
	/** @other_op_id: its operation */
	__u32 other_op_id;
	/** @pad: zero */
	__u32 pad;
};

#if defined(__KERNEL__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
_Static_assert(sizeof(struct vtpu_load_result) == 64, "vtpu_load_result");
_Static_assert(sizeof(struct vtpu_load_record) == 64, "vtpu_load_record");
#endif

#endif /* _UAPI_VTPU_LOAD_H_ */
