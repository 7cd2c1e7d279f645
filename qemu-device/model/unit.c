// SPDX-License-Identifier: MIT
/*
 * unit.c - from an instruction to the unit that does it: predicate, arguments,
 * the chip's arithmetic mode, and each worker's scratch memory.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "unit.h"

#define HUGE_PAGE ((size_t)2 << 20)

bool vtpu_scratch_init(struct vtpu_scratch *s)
{
	const size_t a = VTPU_MXU_MC * VTPU_GEMM_PITCH;
	const size_t b = (size_t)VTPU_MXU_DEPTH * VTPU_MXU_NC;
	const size_t acc = (size_t)VTPU_MXU_PM * VTPU_MXU_NC;
	const size_t reg = VTPU_REGS * VTPU_BLOCK;

	size_t bytes = ((a + b + acc + reg) * sizeof(float) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

	/* Untouched pages cost nothing: most programs use a fraction of this. */
	s->a = aligned_alloc(HUGE_PAGE, bytes);
	if (!s->a)
		return false;
#ifdef MADV_HUGEPAGE
	madvise(s->a, bytes, MADV_HUGEPAGE);
#endif
	s->b = s->a + a;
	s->acc = s->b + b;
	s->reg = s->acc + acc;
	return true;
}

void vtpu_scratch_free(struct vtpu_scratch *s)
{
	free(s->a);
}

void vtpu_op_init(struct vtpu_op *op, struct vtpu_run *run, uint32_t node)
{
	const struct vtpu_instance *i = &run->program->instance[node];

	op->run = run;
	op->insn = &run->program->text[i->unit][i->index];
	op->core = i->core;
}

uint32_t vtpu_op_arg(const struct vtpu_op *op, unsigned int i, uint32_t imm)
{
	return op->insn->flags & VTPU_INSN_ARG_SMEM(i) ? op->run->core[op->core].smem[imm] : imm;
}

/* A false predicate suppresses all writes. */
static bool suppressed(const struct vtpu_op *op)
{
	return op->insn->flags & VTPU_INSN_PRED &&
	       !op->run->core[op->core].smem[op->insn->wait[0].pad];
}

uint32_t vtpu_op_parts(const struct vtpu_op *op, uint32_t threads)
{
	if (suppressed(op))
		return 1;
	switch (op->insn->opcode) {
	case VTPU_OP_MATMUL:
		return vtpu_mxu_parts(op, threads);
	case VTPU_OP_COPY:
	case VTPU_OP_FILL:
		return vtpu_dma_parts(op);
	case VTPU_OP_EW:
		return vtpu_ew_parts(op);
	case VTPU_OP_REDUCE:
	case VTPU_OP_SOFTMAX:
	case VTPU_OP_TRANSPOSE:
		return vtpu_rows_parts(op);
	default:
		return 1;
	}
}

static enum vtpu_hw_status dispatch(const struct vtpu_op *op, uint32_t part, uint32_t parts,
				    struct vtpu_scratch *s)
{
	switch (op->insn->opcode) {
	case VTPU_OP_NOP:
	case VTPU_OP_HALT:
	case VTPU_OP_BARRIER:
	case VTPU_OP_MARK:
		break;
	case VTPU_OP_COPY:
		vtpu_dma_copy(op, part, parts, s);
		break;
	case VTPU_OP_FILL:
		vtpu_dma_fill(op, part, parts);
		break;
	case VTPU_OP_MATMUL:
		vtpu_mxu_matmul(op, part, parts, s);
		break;
	case VTPU_OP_EW:
		vtpu_ew_run(op, part, parts, s);
		break;
	case VTPU_OP_REDUCE:
		vtpu_reduce_run(op, part, parts, s);
		break;
	case VTPU_OP_SOFTMAX:
		vtpu_softmax_run(op, part, parts, s);
		break;
	case VTPU_OP_TRANSPOSE:
		vtpu_xlu_transpose(op, part, parts);
		break;
	default:
		/* The loader lets no other opcode through. */
		return VTPU_ST_INTERNAL;
	}
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_op_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
				struct vtpu_scratch *s)
{
	enum vtpu_hw_status status;
	unsigned int fp;

	if (suppressed(op))
		return VTPU_ST_OK;
	fp = vtpu_fp_enter();
	status = dispatch(op, part, parts, s);
	vtpu_fp_leave(fp);
	return status;
}
