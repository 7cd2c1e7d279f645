// SPDX-License-Identifier: MIT
/*
 * unit.c - from an instruction to the unit that does it: predicate, arguments,
 * the chip's arithmetic mode, and each worker's scratch memory.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "insn_table.h"
#include "unit.h"

#define HUGE_PAGE ((size_t)2 << 20)
/* Of host time: what an instruction of a throttled core takes longer */
#define SLOW_US 200

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

void vtpu_ctl_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	(void)op;
	(void)part;
	(void)parts;
	(void)s;
}

uint32_t vtpu_op_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct vtpu_insn_row *row;

	if (suppressed(op))
		return 1;
	row = &vtpu_insn_table[op->insn->opcode];
	return row->parts ? row->parts(op, threads) : 1;
}

/* By injection: an instruction of a core that is ill. False: it ends so. */
static bool well(const struct vtpu_op *op, uint32_t part, struct vtpu_scratch *s)
{
	const struct vtpu_run *run = op->run;

	if (run->fault_core != VTPU_NO_CORE && run->fault_core != op->core)
		return true;
	switch (run->fault) {
	case VTPU_FAULT_SLOW:
		if (!part && !vtpu_op_cancelled(op))
			usleep(SLOW_US);
		return true;
	case VTPU_FAULT_ECC:
		if (!vtpu_dma_loads(op, &s->fault_addr))
			return true;
		s->status = VTPU_ST_ECC;
		return false;
	case VTPU_FAULT_LINK_DOWN:
		if (op->insn->opcode != VTPU_OP_SEND)
			return true;
		vtpu_op_fault(s, VTPU_ST_LINK, 0);
		return false;
	default:
		return true;
	}
}

enum vtpu_hw_status vtpu_op_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
				struct vtpu_scratch *s)
{
	const struct vtpu_insn_row *row = &vtpu_insn_table[op->insn->opcode];
	unsigned int fp;

	if (!row->run)
		return VTPU_ST_INTERNAL; /* the loader lets no such opcode through */
	if (suppressed(op))
		return VTPU_ST_OK;
	s->status = VTPU_ST_OK;
	if (op->run->fault != VTPU_FAULT_NONE && !well(op, part, s))
		return s->status;
	fp = vtpu_fp_enter();
	row->run(op, part, parts, s);
	vtpu_fp_leave(fp);
	return s->status;
}
