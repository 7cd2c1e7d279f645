// SPDX-License-Identifier: MIT
/*
 * unit_rows.c - the VPU's row instructions: REDUCE and SOFTMAX.
 *
 * A row reduction is defined over fixed blocks of the row, however long it is,
 * and joins the blocks' results in a tree over their numbers; a column
 * reduction is one chain down the rows. So neither knows of parts.
 */
#include "tree.h"

#define PART_ELEMENTS (1u << 16)
#define SUM_ROWS      1024 /* of a block, between two looks at the cancel flag: some 0.1 ms */

uint32_t vtpu_rows_parts(const struct vtpu_op *op, uint32_t threads)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	bool down = op->insn->opcode == VTPU_OP_REDUCE && x->axis == 0;
	uint64_t most = down ? (x->cols + VTPU_BLOCK - 1) / VTPU_BLOCK : x->rows;
	uint64_t parts = (uint64_t)x->rows * x->cols / PART_ELEMENTS;

	(void)threads;
	if (parts > most)
		parts = most;
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

static void put(const struct vtpu_op *op, uint8_t *out, const float *x, size_t n)
{
	op->run->kernels->narrow(out, x, n, op->insn->payload.rows.out_type);
}

/* ---- Over columns: one result for each row ------------------------------- */

static void reduce_rows(const struct vtpu_op *op, uint32_t row, uint32_t end,
			struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	float *block = vtpu_reg(s, 0);

	for (; row < end; row++) {
		const uint8_t *in = vtpu_op_vmem(op, x->in) + (size_t)row * x->in_pitch;
		struct vtpu_tree t = { .op = x->op };
		float result;

		for (uint32_t col = 0; col < x->cols; col += VTPU_BLOCK) {
			uint32_t n = x->cols - col < VTPU_BLOCK ? x->cols - col : VTPU_BLOCK;

			if (vtpu_op_cancelled(op))
				return;
			op->run->kernels->widen(block,
						in + (size_t)col * vtpu_type_bytes(x->in_type), n,
						x->in_type);
			vtpu_tree_add(&t, op->run->kernels, block, n);
		}
		result = vtpu_tree_end(&t);
		put(op, vtpu_op_vmem(op, x->out) + (size_t)row * x->out_pitch, &result, 1);
	}
}

/* ---- Over rows: one result for each column ------------------------------- */

static unsigned int chain_op(unsigned int op)
{
	switch (op) {
	case VTPU_REDUCE_MAX:
		return VTPU_EW_MAX;
	case VTPU_REDUCE_MIN:
		return VTPU_EW_MIN;
	case VTPU_REDUCE_SUMSQ:
		return VTPU_EW_FMA;
	default:
		return VTPU_EW_ADD;
	}
}

static void reduce_cols(const struct vtpu_op *op, uint32_t col, uint32_t n, struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	const struct vtpu_kernels *k = op->run->kernels;
	const uint8_t *in = vtpu_op_vmem(op, x->in) + (size_t)col * vtpu_type_bytes(x->in_type);
	float *acc = vtpu_reg(s, 0), *row = vtpu_reg(s, 1), *zero = vtpu_reg(s, 2);
	unsigned int step = chain_op(x->op);

	vtpu_splat(acc, vtpu_f32_bits(vtpu_reduce_identity(x->op)), n);
	vtpu_splat(zero, 0, n);
	for (uint32_t i = 0, rows; i < x->rows; i += rows) {
		rows = step == VTPU_EW_ADD ? SUM_ROWS : 1;
		rows = rows < x->rows - i ? rows : x->rows - i;
		if (vtpu_op_cancelled(op))
			return;
		if (step == VTPU_EW_ADD) {
			k->sum_rows(acc, in + (size_t)i * x->in_pitch, x->in_pitch, rows, n,
				    x->in_type);
			continue;
		}
		k->widen(row, in + (size_t)i * x->in_pitch, n, x->in_type);
		k->ew(step, acc, step == VTPU_EW_FMA ? row : acc, row, n);
	}
	k->ew(VTPU_EW_ADD, acc, acc, zero, n);
	put(op, vtpu_op_vmem(op, x->out) + (size_t)col * vtpu_type_bytes(x->out_type), acc, n);
}

void vtpu_reduce_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		     struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	uint64_t blocks = ((uint64_t)x->cols + VTPU_BLOCK - 1) / VTPU_BLOCK, end;

	if (x->axis == 1) {
		reduce_rows(op, vtpu_split(x->rows, part, parts),
			    vtpu_split(x->rows, part + 1, parts), s);
		return;
	}
	end = vtpu_split(blocks, part + 1, parts);
	for (uint64_t b = vtpu_split(blocks, part, parts); b < end; b++) {
		uint32_t col = b * VTPU_BLOCK;

		reduce_cols(op, col, x->cols - col < VTPU_BLOCK ? x->cols - col : VTPU_BLOCK, s);
	}
}

/* ---- Softmax ------------------------------------------------------------- */

enum softmax_pass {
	PASS_MAX,
	PASS_SUM,
	PASS_DIVIDE
};

/* Working blocks of a softmax */
enum {
	S_X = 0,
	S_SCALE = 1,
	S_MAX = 2,
	S_SUM = 3
};

/*
 * One walk along a row: the maximum of the scaled input, the sum of the
 * exponentials below it, or the quotients. The exponentials are computed twice
 * rather than kept, so a row may have any length and may be replaced in place.
 */
static float softmax_pass(const struct vtpu_op *op, uint32_t row, enum softmax_pass pass,
			  struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	const struct vtpu_kernels *k = op->run->kernels;
	const uint8_t *in = vtpu_op_vmem(op, x->in) + (size_t)row * x->in_pitch;
	uint8_t *out = vtpu_op_vmem(op, x->out) + (size_t)row * x->out_pitch;
	struct vtpu_tree t = { .op = pass == PASS_MAX ? VTPU_REDUCE_MAX : VTPU_REDUCE_SUM };
	float *block = vtpu_reg(s, S_X);

	for (uint32_t col = 0; col < x->cols; col += VTPU_BLOCK) {
		uint32_t n = x->cols - col < VTPU_BLOCK ? x->cols - col : VTPU_BLOCK;

		if (vtpu_op_cancelled(op))
			return 0.0f;
		k->widen(block, in + (size_t)col * vtpu_type_bytes(x->in_type), n, x->in_type);
		k->ew(VTPU_EW_MUL, block, block, vtpu_reg(s, S_SCALE), n);
		if (pass != PASS_MAX) {
			k->ew(VTPU_EW_SUB, block, block, vtpu_reg(s, S_MAX), n);
			k->ew(VTPU_EW_EXP, block, block, block, n);
		}
		if (pass == PASS_DIVIDE) {
			k->ew(VTPU_EW_DIV, block, block, vtpu_reg(s, S_SUM), n);
			put(op, out + (size_t)col * vtpu_type_bytes(x->out_type), block, n);
		} else {
			vtpu_tree_add(&t, op->run->kernels, block, n);
		}
	}
	return pass == PASS_DIVIDE ? 0.0f : vtpu_tree_end(&t);
}

void vtpu_softmax_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		      struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	uint32_t end = vtpu_split(x->rows, part + 1, parts);

	vtpu_splat(vtpu_reg(s, S_SCALE), vtpu_op_arg(op, 0, x->imm[0]), x->cols);
	for (uint32_t row = vtpu_split(x->rows, part, parts); row < end && !vtpu_op_cancelled(op);
	     row++) {
		float max = softmax_pass(op, row, PASS_MAX, s), sum;

		vtpu_splat(vtpu_reg(s, S_MAX), vtpu_f32_bits(max), x->cols);
		sum = softmax_pass(op, row, PASS_SUM, s);
		vtpu_splat(vtpu_reg(s, S_SUM), vtpu_f32_bits(sum), x->cols);
		softmax_pass(op, row, PASS_DIVIDE, s);
	}
}
