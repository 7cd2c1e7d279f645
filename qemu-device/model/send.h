/* SPDX-License-Identifier: MIT */
/*
 * send.h - where a SEND reads and writes: its boxes are displaced from core to core.
 */
#ifndef VTPU_SEND_H
#define VTPU_SEND_H

#include "box.h"
#include "vtpu_hw.h"

/** vtpu_send_to() - the core that gets what @core sends */
static inline uint32_t vtpu_send_to(const struct vtpu_insn *insn, uint32_t core, uint32_t width)
{
	return (core + insn->payload.dma.core) % width;
}

/** vtpu_send_shift() - bytes by which a box is displaced when @core sends */
static inline uint64_t vtpu_send_shift(const struct vtpu_insn *insn, bool write, uint32_t core,
				       uint32_t width)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;

	return write ? (uint64_t)core * (uint32_t)x->dst_stride[4] :
		       (uint64_t)vtpu_send_to(insn, core, width) * (uint32_t)x->src_stride[4];
}

/** vtpu_send_most() - the largest such displacement of all cores; 0 for other instructions */
static inline uint64_t vtpu_send_most(const struct vtpu_insn *insn, bool write, uint32_t width)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;

	if (insn->opcode != VTPU_OP_SEND)
		return 0;
	return (uint64_t)(width - 1) * (uint32_t)(write ? x->dst_stride[4] : x->src_stride[4]);
}

/** vtpu_send_place() - move a VMEM box to where it is when @core sends. Return: the core whose VMEM that is */
static inline uint32_t vtpu_send_place(const struct vtpu_insn *insn, struct vtpu_box *box,
				       uint32_t core, uint32_t width)
{
	int64_t shift = (int64_t)vtpu_send_shift(insn, box->write, core, width);

	if (box->space != VTPU_SPACE_VMEM)
		return core;
	box->start += shift;
	box->end += shift;
	return box->write ? vtpu_send_to(insn, core, width) : core;
}

#endif /* VTPU_SEND_H */
