/* SPDX-License-Identifier: MIT */
/*
 * sync.h - instructions in program order, and the waits that this order needs.
 *
 * Passes record instructions with the bytes that they touch. From these follow the waits: an
 * instruction starts after the last writers of what it reads, and after the last writers and
 * readers of what it writes. Each unit counts its instructions in a semaphore of its own;
 * what other cores send counts in one semaphore for each exchange.
 */
#ifndef VTPU_SRC_COMPILE_SYNC_H
#define VTPU_SRC_COMPILE_SYNC_H

#include "compile/ir.h"

#define SYNC_EXCHANGES 64
#define SYNC_ACCESSES  24

/** struct access - bytes that an instruction touches */
struct access {
	uint8_t space; /* enum vtpu_space */
	uint8_t base;  /* of HBM */
	bool write;
	uint64_t start, end;
};

/** struct record - an instruction */
struct record {
	struct vtpu_insn insn;
	const struct step *step; /* NULL: the exchange's or the compiler's own */
	const char *name;
	uint32_t order;
	uint32_t index;		   /* in its unit */
	uint32_t need[VTPU_UNITS]; /* instructions of that unit that must be complete */
	uint8_t exchange;	   /* SEND: whose semaphore is signalled at the receiver, plus 1 */
	uint8_t arrival;	   /* waits for all sends of that exchange, plus 1 */
	bool waited;		   /* somebody waits for it */
	uint32_t count;		   /* signals of its unit up to it */
};

struct range_state;

/** struct sync - a program under way */
struct sync {
	struct plan *plan;
	struct record *record;
	size_t records, room;
	uint32_t units[VTPU_UNITS]; /* instructions so far */
	struct access access[SYNC_ACCESSES];
	uint32_t accesses;
	struct range_state *range; /* who touched which bytes last */
	size_t ranges, range_room;
	uint32_t exchanges;
	uint32_t exchange_sends[SYNC_EXCHANGES]; /* of each core */
	uint64_t exchange_bytes;		 /* that a core sends to others */
	uint64_t vmem_end;			 /* highest byte touched */
	bool no_memory;
};

/** sync_begin(), sync_free() - reset, keeping memory; give it back */
void sync_begin(struct sync *y, struct plan *plan);
void sync_free(struct sync *y);

/** sync_vmem(), sync_hbm(), sync_smem() - the next instruction touches these bytes */
void sync_vmem(struct sync *y, bool write, uint64_t start, uint64_t bytes);
void sync_hbm(struct sync *y, bool write, uint32_t base, uint64_t start, uint64_t bytes);
void sync_smem(struct sync *y, bool write, uint32_t word);

/** sync_add() - the next instruction, which touches what was said before; NULL without memory */
struct record *sync_add(struct sync *y, const struct step *step, const char *name, uint32_t order,
			const struct vtpu_insn *insn);

/** sync_arrive() - bytes that an exchange brought: who reads them waits for it */
void sync_arrive(struct sync *y, uint32_t exchange, uint64_t start, uint64_t bytes);

/** sync_finish() - work out waits and write the instructions. Return: false with an error in the plan */
bool sync_finish(struct sync *y, struct vtpu_builder *b);

/** struct sync_time - what a clock says of a program */
struct sync_time {
	uint64_t cycles;
	uint64_t exchange_cycles; /* summed spans: first send to last arrival */
};

#define SYNC_COLUMNS 96

/** struct sync_chart - when units are busy, and sums over cores under way, by columns of time */
struct sync_chart {
	uint64_t column; /* cycles of each: set by the caller, all else zero */
	uint64_t busy[VTPU_UNITS][SYNC_COLUMNS];
	uint64_t first[SYNC_EXCHANGES], last[SYNC_EXCHANGES];
};

/**
 * sync_clock() - modelled time of a core's program
 * @free_ici: sends take no time
 * @chart: filled in; or NULL
 */
bool sync_clock(struct sync *y, bool free_ici, struct sync_time *time, struct sync_chart *chart);

/** sync_timeline() - a chart of a core's program as text; the caller frees. NULL without memory */
char *sync_timeline(struct sync *y, uint64_t cycles);

#endif /* VTPU_SRC_COMPILE_SYNC_H */
