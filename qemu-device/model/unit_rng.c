// SPDX-License-Identifier: MIT
/*
 * unit_rng.c - RNG_FILL: numbers by their place in a sequence, so neither parts nor cores show.
 */
#include "philox.h"
#include "unit.h"

#define PART_ELEMENTS (1u << 14)
#define POLL_ELEMENTS (1u << 14)

uint32_t vtpu_rng_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct vtpu_insn_rng *x = &op->insn->payload.rng;
	uint64_t parts = (uint64_t)x->rows * x->cols / PART_ELEMENTS;

	(void)threads;
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

/* Numbers @n on of the sequence, @count of them, 24 bits each, in [0, 1). */
static void uniform(float *out, uint64_t n, uint64_t count, const uint32_t arg[3])
{
	while (count) {
		uint32_t x[4] = { (uint32_t)(n / 4), (uint32_t)(n / 4 >> 32), arg[2], 0 };

		vtpu_philox(x, arg[0], arg[1]);
		for (unsigned int i = n % 4; i < 4 && count; i++, n++, count--)
			*out++ = (float)(x[i] >> 8) * 0x1p-24f;
	}
}

void vtpu_rng_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_rng *x = &op->insn->payload.rng;
	const uint64_t total = (uint64_t)x->rows * x->cols;
	uint64_t at = vtpu_split(total, part, parts), end = vtpu_split(total, part + 1, parts), n;
	uint32_t arg[3];

	(void)s;
	for (unsigned int i = 0; i < 3; i++)
		arg[i] = vtpu_op_arg(op, i, x->imm[i]);
	for (; at < end && !vtpu_op_cancelled(op); at += n) {
		const uint64_t row = at / x->cols, col = at % x->cols;
		uint8_t *out = vtpu_op_vmem(op, x->out) + row * x->out_pitch + col * sizeof(float);

		n = x->cols - col;
		if (n > end - at)
			n = end - at;
		if (n > POLL_ELEMENTS)
			n = POLL_ELEMENTS;
		uniform((float *)out, x->index + op->core * x->core_step + row * x->row_step + col,
			n, arg);
	}
}
