// SPDX-License-Identifier: MIT
/*
 * emit.c - instructions of a program under construction, one call a kind.
 */
#include <string.h>

#include "program/builder.h"

/* Header of an instruction: everything but the payload. */
static struct vtpu_insn head(uint8_t opcode, uint8_t unit, const struct vtpu_emit *emit)
{
	struct vtpu_insn insn = { .opcode = opcode, .unit = unit };

	if (!emit)
		return insn;
	insn.op_id = emit->op;
	insn.flags = (emit->smem_args & 0xf) * VTPU_INSN_ARG_SMEM(0);
	for (int i = 0; i < 2; i++) {
		if (emit->wait[i].value) {
			insn.flags |= VTPU_INSN_WAIT0 << i;
			insn.wait[i].sem = emit->wait[i].sem;
			insn.wait[i].value = emit->wait[i].value;
		}
		if (emit->signal[i].inc) {
			insn.flags |= VTPU_INSN_SIGNAL0 << i;
			insn.signal[i].sem = emit->signal[i].sem;
			insn.signal[i].core = emit->signal[i].core;
			insn.signal[i].inc = emit->signal[i].inc;
		}
	}
	if (emit->predicated) {
		insn.flags |= VTPU_INSN_PRED;
		insn.wait[0].pad = emit->predicate;
	}
	return insn;
}

static void dma(struct vtpu_builder *b, uint8_t opcode, uint8_t unit, const struct vtpu_emit *emit,
		const struct vtpu_insn_dma *d)
{
	struct vtpu_insn insn = head(opcode, unit, emit);

	insn.payload.dma = *d;
	for (int i = d->ndim; i < 5; i++)
		if (!d->count[i])
			insn.payload.dma.count[i] = 1;
	vtpu_emit_raw(b, &insn);
}

static void rows(struct vtpu_builder *b, uint8_t opcode, uint8_t unit, const struct vtpu_emit *emit,
		 const struct vtpu_insn_rows *r)
{
	struct vtpu_insn insn = head(opcode, unit, emit);

	insn.payload.rows = *r;
	vtpu_emit_raw(b, &insn);
}

static void ctl(struct vtpu_builder *b, uint8_t opcode, const struct vtpu_emit *emit, uint64_t mask,
		uint32_t value)
{
	struct vtpu_insn insn = head(opcode, VTPU_UNIT_CTL, emit);

	insn.payload.ctl.core_mask = mask;
	insn.payload.ctl.value = value;
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_copy(struct vtpu_builder *b, const struct vtpu_emit *emit,
		    const struct vtpu_insn_dma *d)
{
	dma(b, VTPU_OP_COPY, VTPU_UNIT_DMA, emit, d);
}

void vtpu_emit_fill(struct vtpu_builder *b, const struct vtpu_emit *emit,
		    const struct vtpu_insn_dma *d)
{
	dma(b, VTPU_OP_FILL, VTPU_UNIT_DMA, emit, d);
}

void vtpu_emit_matmul(struct vtpu_builder *b, const struct vtpu_emit *emit,
		      const struct vtpu_insn_mxu *mxu)
{
	struct vtpu_insn insn = head(VTPU_OP_MATMUL, VTPU_UNIT_MXU, emit);

	insn.payload.mxu = *mxu;
	vtpu_emit_raw(b, &insn);
}

static void conv(struct vtpu_builder *b, uint8_t opcode, const struct vtpu_emit *emit,
		 const struct vtpu_insn_mxu *mxu)
{
	struct vtpu_insn insn = head(opcode, VTPU_UNIT_MXU, emit);

	insn.payload.mxu = *mxu;
	vtpu_builder_caps(b, VTPU_CAP_CONV);
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_conv(struct vtpu_builder *b, const struct vtpu_emit *emit,
		    const struct vtpu_insn_mxu *mxu)
{
	conv(b, VTPU_OP_CONV, emit, mxu);
}

void vtpu_emit_conv_dgrad(struct vtpu_builder *b, const struct vtpu_emit *emit,
			  const struct vtpu_insn_mxu *mxu)
{
	conv(b, VTPU_OP_CONV_DGRAD, emit, mxu);
}

void vtpu_emit_conv_wgrad(struct vtpu_builder *b, const struct vtpu_emit *emit,
			  const struct vtpu_insn_mxu *mxu)
{
	conv(b, VTPU_OP_CONV_WGRAD, emit, mxu);
}

void vtpu_emit_ew(struct vtpu_builder *b, const struct vtpu_emit *emit,
		  const struct vtpu_insn_ew *ew)
{
	struct vtpu_insn insn = head(VTPU_OP_EW, VTPU_UNIT_VPU, emit);

	insn.payload.ew = *ew;
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_reduce(struct vtpu_builder *b, const struct vtpu_emit *emit,
		      const struct vtpu_insn_rows *r)
{
	rows(b, VTPU_OP_REDUCE, VTPU_UNIT_VPU, emit, r);
}

void vtpu_emit_softmax(struct vtpu_builder *b, const struct vtpu_emit *emit,
		       const struct vtpu_insn_rows *r)
{
	rows(b, VTPU_OP_SOFTMAX, VTPU_UNIT_VPU, emit, r);
}

void vtpu_emit_argmax(struct vtpu_builder *b, const struct vtpu_emit *emit,
		      const struct vtpu_insn_rows *r)
{
	rows(b, VTPU_OP_ARGMAX, VTPU_UNIT_VPU, emit, r);
}

static void pool(struct vtpu_builder *b, uint8_t opcode, const struct vtpu_emit *emit,
		 const struct vtpu_insn_pool *p)
{
	struct vtpu_insn insn = head(opcode, VTPU_UNIT_VPU, emit);

	insn.payload.pool = *p;
	vtpu_builder_caps(b, VTPU_CAP_CONV);
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_pool(struct vtpu_builder *b, const struct vtpu_emit *emit,
		    const struct vtpu_insn_pool *p)
{
	pool(b, VTPU_OP_POOL, emit, p);
}

void vtpu_emit_pool_grad(struct vtpu_builder *b, const struct vtpu_emit *emit,
			 const struct vtpu_insn_pool *p)
{
	pool(b, VTPU_OP_POOL_GRAD, emit, p);
}

void vtpu_emit_softmax_xent(struct vtpu_builder *b, const struct vtpu_emit *emit,
			    const struct vtpu_insn_xent *xent)
{
	struct vtpu_insn insn = head(VTPU_OP_SOFTMAX_XENT, VTPU_UNIT_VPU, emit);

	insn.payload.xent = *xent;
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_optimize(struct vtpu_builder *b, const struct vtpu_emit *emit,
			const struct vtpu_insn_opt *opt)
{
	struct vtpu_insn insn = head(VTPU_OP_OPTIMIZE, VTPU_UNIT_VPU, emit);

	insn.payload.opt = *opt;
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_rng_fill(struct vtpu_builder *b, const struct vtpu_emit *emit,
			const struct vtpu_insn_rng *rng)
{
	struct vtpu_insn insn = head(VTPU_OP_RNG_FILL, VTPU_UNIT_VPU, emit);

	insn.payload.rng = *rng;
	vtpu_emit_raw(b, &insn);
}

void vtpu_emit_send(struct vtpu_builder *b, const struct vtpu_emit *emit,
		    const struct vtpu_insn_dma *d)
{
	vtpu_builder_caps(b, VTPU_CAP_ICI);
	dma(b, VTPU_OP_SEND, VTPU_UNIT_ICI, emit, d);
}

void vtpu_emit_transpose(struct vtpu_builder *b, const struct vtpu_emit *emit,
			 const struct vtpu_insn_rows *r)
{
	rows(b, VTPU_OP_TRANSPOSE, VTPU_UNIT_XLU, emit, r);
}

void vtpu_emit_nop(struct vtpu_builder *b, const struct vtpu_emit *emit)
{
	ctl(b, VTPU_OP_NOP, emit, 0, 0);
}

void vtpu_emit_halt(struct vtpu_builder *b, const struct vtpu_emit *emit, uint32_t code)
{
	ctl(b, VTPU_OP_HALT, emit, 0, code);
}

void vtpu_emit_barrier(struct vtpu_builder *b, const struct vtpu_emit *emit, uint64_t mask)
{
	ctl(b, VTPU_OP_BARRIER, emit, mask, 0);
}

void vtpu_emit_mark(struct vtpu_builder *b, const struct vtpu_emit *emit, uint32_t value)
{
	ctl(b, VTPU_OP_MARK, emit, 0, value);
}
