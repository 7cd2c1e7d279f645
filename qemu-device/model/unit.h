/* SPDX-License-Identifier: MIT */
/*
 * unit.h - what an instruction does to memory, in parts that may run in parallel.
 *
 * Between the executors, which decide when and where an instruction runs, and
 * the units (unit_*.c), which know what it computes. The loader has proven
 * every operand to be in bounds; nothing here checks that again.
 */
#ifndef VTPU_UNIT_H
#define VTPU_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "numerics.h"
#include "program.h"

/*
 * Blocks of a matrix product: rows of A and of the result that are done with one
 * contraction block of B before the next one, and columns that B is packed for,
 * for VTPU_MXU_DEPTH contracted elements at once. Accumulators that cannot live in the
 * result wait in VTPU_MXU_PM rows from one such depth to the next. Measured: larger
 * blocks gain nothing, and half of either costs a few per cent.
 */
#define VTPU_MXU_MC    96
#define VTPU_MXU_NC    1024
#define VTPU_MXU_DEPTH 2048
#define VTPU_MXU_PM    480

_Static_assert(VTPU_MXU_NC <= VTPU_BLOCK, "a row of a tile of accumulators is at most one block");
_Static_assert(VTPU_MXU_PM % VTPU_MXU_MC == 0, "whole tiles");

/* The most parts that an instruction is cut into. */
#define VTPU_MAX_PARTS 1024

/** struct vtpu_scratch - working memory of one worker; no instruction leaves anything in it */
struct vtpu_scratch {
	/** @a: packed rows of A: [VTPU_MXU_MC][VTPU_GEMM_PITCH] */
	float *a;
	/** @b: packed panels of B: [VTPU_MXU_DEPTH][VTPU_MXU_NC] */
	float *b;
	/** @acc: accumulators that cannot live in the result: [VTPU_MXU_PM][VTPU_MXU_NC] */
	float *acc;
	/** @reg: blocks for registers, operands and immediates of chains: [VTPU_REGS][VTPU_BLOCK] */
	float *reg;
	/** @status: what went wrong in the part that ran last, with @fault_addr; else OK */
	enum vtpu_hw_status status;
	uint64_t fault_addr;
};

/** vtpu_op_fault() - a part has met data that it cannot work with, and ends */
static inline void vtpu_op_fault(struct vtpu_scratch *s, enum vtpu_hw_status status, uint64_t addr)
{
	s->status = status;
	s->fault_addr = addr;
}

#define VTPU_REGS 8

/** vtpu_reg() - working block @i of @s */
static inline float *vtpu_reg(const struct vtpu_scratch *s, unsigned int i)
{
	return s->reg + (size_t)i * VTPU_BLOCK;
}

/** vtpu_splat() - the first @n elements of a block (rounded up to whole vectors) all the value with these bits */
static inline void vtpu_splat(float *block, uint32_t bits, size_t n)
{
	float x = vtpu_f32(vtpu_f32_flush(bits));

	for (size_t i = 0; i < VTPU_BLOCK && i < n + VTPU_BLOCK_ALIGN; i++)
		block[i] = x;
}

/** vtpu_scratch_init() - false without memory */
bool vtpu_scratch_init(struct vtpu_scratch *s);
void vtpu_scratch_free(struct vtpu_scratch *s);

/** struct vtpu_op - one instruction of a run, about to act */
struct vtpu_op {
	struct vtpu_run *run;
	const struct vtpu_insn *insn;
	/** @core: core of the gang */
	uint32_t core;
};

/** vtpu_op_init() - instance @node of a run */
void vtpu_op_init(struct vtpu_op *op, struct vtpu_run *run, uint32_t node);

/**
 * vtpu_op_parts() - into how many parts an instruction may be cut
 * @threads: workers there are
 *
 * At least 1. Parts write disjoint memory and may run in any order, at once, or
 * all by the same thread; how many there are never changes a bit.
 */
uint32_t vtpu_op_parts(const struct vtpu_op *op, uint32_t threads);

/**
 * vtpu_op_run() - do part @part of @parts
 *
 * Ends early, with its results undefined, when the run is cancelled.
 * Return: OK, or a fault; then @s says where.
 */
enum vtpu_hw_status vtpu_op_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
				struct vtpu_scratch *s);

/* ---- For the units ------------------------------------------------------- */

/** vtpu_op_arg() - argument @i: @imm, or the SMEM word that it numbers */
uint32_t vtpu_op_arg(const struct vtpu_op *op, unsigned int i, uint32_t imm);

/** vtpu_op_vmem() - host address of a VMEM address */
static inline uint8_t *vtpu_op_vmem(const struct vtpu_op *op, uint32_t addr)
{
	return op->run->core[op->core].vmem + addr;
}

static inline bool vtpu_op_cancelled(const struct vtpu_op *op)
{
	return atomic_load_explicit(&op->run->cancel, memory_order_relaxed);
}

/** vtpu_dma_loads() - does the instruction read HBM? And where, as base and offset (VTPU_ADDR_*) */
bool vtpu_dma_loads(const struct vtpu_op *op, uint64_t *addr);

/** vtpu_dma_wrong_bit() - by injection: a bit of the largest piece that core @run->fault_core stored to HBM, the last of them, flips */
void vtpu_dma_wrong_bit(struct vtpu_run *run);

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** vtpu_split() - start of part @part of @total things cut into @parts; part @parts ends the last */
static inline uint64_t vtpu_split(uint64_t total, uint32_t part, uint32_t parts)
{
	return total / parts * part + total % parts * part / parts;
}

/*
 * What the table of opcodes names: into how many parts an instruction may be cut,
 * and one part of it.
 */
uint32_t vtpu_dma_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_mxu_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_conv_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_wgrad_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_ew_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_argmax_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_opt_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_pool_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_rng_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_xent_parts(const struct vtpu_op *op, uint32_t threads);
uint32_t vtpu_rows_parts(const struct vtpu_op *op, uint32_t threads);

/** vtpu_ctl_run() - of instructions that touch no memory: nothing */
void vtpu_ctl_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_dma_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_conv_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_wgrad_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		    struct vtpu_scratch *s);
void vtpu_mxu_matmul(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		     struct vtpu_scratch *s);
void vtpu_ew_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_argmax_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		     struct vtpu_scratch *s);
void vtpu_opt_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_pool_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_rng_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_xent_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s);
void vtpu_reduce_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		     struct vtpu_scratch *s);
void vtpu_softmax_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		      struct vtpu_scratch *s);
void vtpu_xlu_transpose(const struct vtpu_op *op, uint32_t part, uint32_t parts,
			struct vtpu_scratch *s);

#endif /* VTPU_UNIT_H */
