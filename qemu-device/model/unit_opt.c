// SPDX-License-Identifier: MIT
/*
 * unit_opt.c - OPTIMIZE: each parameter for itself, in place.
 */
#include "unit.h"

#define PART_ELEMENTS (1u << 15)
#define POLL_ELEMENTS (1u << 16)

uint32_t vtpu_opt_parts(const struct vtpu_op *op, uint32_t threads)
{
	uint64_t parts = op->insn->payload.opt.count / PART_ELEMENTS;

	(void)threads;
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

static float value(uint32_t bits)
{
	return vtpu_f32(vtpu_f32_flush(bits));
}

static float *array(const struct vtpu_op *op, uint32_t addr, uint64_t at)
{
	return (float *)vtpu_op_vmem(op, addr) + at;
}

void vtpu_opt_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_opt *x = &op->insn->payload.opt;
	const struct vtpu_optimizer o = {
		.kind = x->kind,
		.lr = value(vtpu_op_arg(op, 0, x->imm[0])),
		.scale = value(vtpu_op_arg(op, 1, x->imm[1])),
		.c1 = value(vtpu_op_arg(op, 2, x->imm[2])),
		.c2 = value(vtpu_op_arg(op, 3, x->imm[3])),
		.beta1 = value(x->beta1),
		.beta2 = value(x->beta2),
		.epsilon = value(x->epsilon),
		.decay = value(x->decay),
	};
	uint64_t at = vtpu_split(x->count, part, parts),
		 end = vtpu_split(x->count, part + 1, parts);

	(void)s;
	while (at < end && !vtpu_op_cancelled(op)) {
		uint64_t n = end - at < POLL_ELEMENTS ? end - at : POLL_ELEMENTS;

		op->run->kernels->optimize(&o, array(op, x->param, at), array(op, x->grad, at),
					   array(op, x->m, at), array(op, x->v, at), n);
		at += n;
	}
}
