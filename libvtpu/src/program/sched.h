/* SPDX-License-Identifier: MIT */
/*
 * sched.h - a schedule that is timed while it is written.
 *
 * The ready-made operations walk their loops once for each candidate tiling
 * with a clock alone, and once more with a builder for the best. Both walks are
 * the same code, so what was timed is what is built. An instruction's waits must
 * have been signalled by instructions that were written before it.
 */
#ifndef VTPU_SRC_PROGRAM_SCHED_H
#define VTPU_SRC_PROGRAM_SCHED_H

#include <vtpu/program.h>

#include "vtpu_hw.h"

#define SCHED_SEMS 8

/** struct sched_sem - times of a semaphore's increments; one queue alone increments it */
struct sched_sem {
	uint64_t *time;
	uint32_t count;
	uint32_t room;
};

/** struct sched - clock of one core */
struct sched {
	struct vtpu_builder *builder; /* NULL: only the clock */
	const struct vtpu_hw_geometry *geometry;
	uint64_t limit;		    /* stop counting beyond this time */
	uint64_t issue[VTPU_UNITS]; /* when the unit takes its next instruction */
	uint64_t hbm;		    /* when the HBM share is free */
	uint64_t end;		    /* last completion so far */
	struct sched_sem sem[SCHED_SEMS];
	bool no_memory;
};

/** sched_begin() - reset the clock; keeps memory of earlier walks */
void sched_begin(struct sched *s, const struct vtpu_hw_geometry *geometry,
		 struct vtpu_builder *builder);

/** sched_free() - give the memory back */
void sched_free(struct sched *s);

/** sched_over() - has the walk failed, or passed its limit? Then the rest need not be walked */
bool sched_over(const struct sched *s);

void sched_copy(struct sched *s, const struct vtpu_emit *emit, const struct vtpu_insn_dma *dma);
void sched_matmul(struct sched *s, const struct vtpu_emit *emit, const struct vtpu_insn_mxu *mxu);
void sched_softmax(struct sched *s, const struct vtpu_emit *emit,
		   const struct vtpu_insn_rows *rows);

/** sched_split_rows() - is a product of @rows rows faster with VTPU_MXU_SPLIT_M? */
bool sched_split_rows(const struct vtpu_hw_geometry *geometry, const struct vtpu_insn_mxu *mxu,
		      uint32_t rows);

/** sched_product_cycles() - cycles of the arrays for a product of @rows rows, split as is best */
uint64_t sched_product_cycles(const struct vtpu_hw_geometry *geometry,
			      const struct vtpu_insn_mxu *mxu, uint32_t rows);

/** sched_ideal_cycles() - cycles of a product on arrays that are never idle or padded */
uint64_t sched_ideal_cycles(const struct vtpu_hw_geometry *geometry, uint64_t m, uint32_t n,
			    uint32_t k, uint8_t type);

/** struct sched_matrix - a dense or strided matrix for a DMA */
struct sched_matrix {
	uint64_t addr; /* VTPU_ADDR() */
	uint8_t type;
	uint64_t pitch; /* bytes */
};

/** sched_copy_matrix() - copy [rows, cols]; one dimension where both sides are contiguous */
void sched_copy_matrix(struct sched *s, const struct vtpu_emit *emit,
		       const struct sched_matrix *dst, const struct sched_matrix *src,
		       uint32_t rows, uint32_t cols);

#endif /* VTPU_SRC_PROGRAM_SCHED_H */
