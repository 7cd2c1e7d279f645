/* SPDX-License-Identifier: MIT */
/*
 * steps.h - programs whose instructions wait for one another, in a few lines each.
 */
#ifndef TESTS_BITS_STEPS_H
#define TESTS_BITS_STEPS_H

#include "unit/image_builder.h"

#define HBM(base, offset) VTPU_ADDR(VTPU_SPACE_HBM, base, offset)
#define VMEM(offset)	  VTPU_ADDR(VTPU_SPACE_VMEM, 0, offset)

#define KIB 1024u

struct builder {
	struct image_builder b;
	uint32_t steps;
};

static inline struct vtpu_insn *in_order(struct builder *p, struct vtpu_insn *insn)
{
	if (p->steps)
		ib_wait(insn, p->steps - 1, 1);
	ib_signal(insn, p->steps++, 0, 1);
	return insn;
}

static inline void *end(struct builder *p, size_t *bytes)
{
	ib_insn(&p->b, VTPU_OP_HALT);
	return ib_finish(&p->b, bytes);
}

static inline void begin(struct builder *p, uint32_t width, uint64_t caps)
{
	p->steps = 0;
	ib_begin(&p->b, width);
	p->b.caps = caps;
}

static inline void load(struct builder *p, uint32_t base, uint32_t to, uint8_t type, uint32_t count)
{
	in_order(p, ib_copy(&p->b, HBM(base, 0), VMEM(to), type, count));
}

static inline void save(struct builder *p, uint32_t from, uint32_t base, uint64_t offset,
			uint8_t type, uint32_t count)
{
	in_order(p, ib_copy(&p->b, VMEM(from), HBM(base, offset), type, count));
}

static inline struct vtpu_insn_rows *rows(struct builder *p, uint8_t opcode, uint32_t in,
					  uint32_t out, uint32_t n, uint32_t cols, uint8_t in_type,
					  uint8_t out_type, uint32_t out_pitch)
{
	struct vtpu_insn_rows *x = &in_order(p, ib_insn(&p->b, opcode))->payload.rows;

	x->in = in;
	x->out = out;
	x->rows = n;
	x->cols = cols;
	x->in_pitch = cols * ib_type_bytes(in_type);
	x->out_pitch = out_pitch;
	x->in_type = in_type;
	x->out_type = out_type;
	return x;
}

#endif /* TESTS_BITS_STEPS_H */
