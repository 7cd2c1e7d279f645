// SPDX-License-Identifier: MIT
/*
 * unit_xlu.c - TRANSPOSE: bits move as they are.
 */
#include "unit.h"

/* Square tiles whose lines stay in L1 on both sides. */
#define TILE 16

void vtpu_xlu_transpose(const struct vtpu_op *op, uint32_t part, uint32_t parts,
			struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	const uint8_t *in = vtpu_op_vmem(op, x->in);
	uint8_t *out = vtpu_op_vmem(op, x->out);
	uint32_t size = vtpu_type_bytes(x->in_type);
	uint32_t end = vtpu_split(x->rows, part + 1, parts);

	(void)s;
	for (uint32_t i0 = vtpu_split(x->rows, part, parts); i0 < end; i0 += TILE) {
		uint32_t i1 = end - i0 < TILE ? end : i0 + TILE;

		if (vtpu_op_cancelled(op))
			return;
		for (uint32_t j = 0; j < x->cols; j++) {
			for (uint32_t i = i0; i < i1; i++) {
				const uint8_t *from =
					in + (size_t)i * x->in_pitch + (size_t)j * size;
				uint8_t *to = out + (size_t)j * x->out_pitch + (size_t)i * size;

				if (size == sizeof(uint32_t))
					memcpy(to, from, sizeof(uint32_t));
				else
					memcpy(to, from, sizeof(uint16_t));
			}
		}
	}
}
