// SPDX-License-Identifier: MIT
/*
 * unit_vpu.c - EW: chains of element-wise micro-ops.
 *
 * A chain is interpreted over blocks: inputs are widened into blocks that stand
 * for r0..r3, each micro-op runs over its whole block, results are narrowed out
 * of them. A block holds many short rows or a piece of a long one.
 */
#include "insn_table.h"
#include "unit.h"

#define PART_BLOCKS 64

/* Working blocks: registers 0..3, then the immediates where micro-op operands number them. */
_Static_assert(VTPU_EW_IMM1 < VTPU_REGS, "immediates have blocks");

/** struct shape - the matrix of an EW, in the units that are done at once */
struct shape {
	uint64_t rows, cols; /* one long row when all operands are without gaps */
	uint64_t block_rows; /* rows in a block */
	uint64_t row_blocks; /* blocks in a row, when rows are longer than a block */
	uint64_t blocks;
};

static bool contiguous(const struct vtpu_insn_ew *x)
{
	for (unsigned int i = 0; i < x->nin; i++) {
		if (x->in_bcast[i] == VTPU_BCAST_SCALAR)
			continue;
		if (x->in_bcast[i] != VTPU_BCAST_FULL ||
		    x->in[i].pitch != (uint64_t)x->cols * vtpu_type_bytes(x->in_type[i]))
			return false;
	}
	for (unsigned int i = 0; i < x->nout; i++) {
		if (x->out[i].pitch != (uint64_t)x->cols * vtpu_type_bytes(x->out_type[i]))
			return false;
	}
	return true;
}

static void shape_init(struct shape *s, const struct vtpu_insn_ew *x)
{
	s->rows = x->rows;
	s->cols = x->cols;
	if (contiguous(x)) {
		s->cols *= s->rows;
		s->rows = 1;
	}
	s->block_rows = s->cols < VTPU_BLOCK ? VTPU_BLOCK / s->cols : 1;
	s->row_blocks = (s->cols + VTPU_BLOCK - 1) / VTPU_BLOCK;
	s->blocks = (s->rows + s->block_rows - 1) / s->block_rows * s->row_blocks;
}

uint32_t vtpu_ew_parts(const struct vtpu_op *op, uint32_t threads)
{
	struct shape s;
	uint64_t parts;

	(void)threads;
	shape_init(&s, &op->insn->payload.ew);
	parts = s.blocks / PART_BLOCKS;
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

/* Rows [row, row + rows), columns [col, col + cols) of an input, packed into @r. */
static void load(const struct vtpu_op *op, unsigned int i, float *r, uint64_t row, uint64_t rows,
		 uint64_t col, uint64_t cols)
{
	const struct vtpu_insn_ew *x = &op->insn->payload.ew;
	const struct vtpu_kernels *k = op->run->kernels;
	const uint8_t *in = vtpu_op_vmem(op, x->in[i].addr);
	unsigned int type = x->in_type[i];
	size_t size = vtpu_type_bytes(type);

	for (uint64_t n = 0; n < rows; n++, r += cols) {
		const uint8_t *src = in + (row + n) * x->in[i].pitch;

		switch (x->in_bcast[i]) {
		case VTPU_BCAST_ROW:
			src = in;
			/* fall through */
		case VTPU_BCAST_FULL:
			k->widen(r, src + col * size, cols, type);
			break;
		default:
			k->widen(r, x->in_bcast[i] == VTPU_BCAST_COL ? src : in, 1, type);
			for (uint64_t j = 1; j < cols; j++)
				r[j] = r[0];
			break;
		}
	}
}

static void store(const struct vtpu_op *op, unsigned int i, const float *r, uint64_t row,
		  uint64_t rows, uint64_t col, uint64_t cols)
{
	const struct vtpu_insn_ew *x = &op->insn->payload.ew;
	size_t size = vtpu_type_bytes(x->out_type[i]);
	uint8_t *out = vtpu_op_vmem(op, x->out[i].addr) + row * x->out[i].pitch + col * size;

	for (uint64_t n = 0; n < rows; n++, r += cols, out += x->out[i].pitch)
		op->run->kernels->narrow(out, r, cols, x->out_type[i]);
}

/* Registers and immediates of which something wants the first value: a bit for each */
static unsigned int wanted(const struct vtpu_insn_ew *x)
{
	unsigned int written = 0, found = 0;

	for (unsigned int i = 0; i < x->nops; i++) {
		unsigned int op = x->op[i].op, args = x->op[i].args, d = 1u << VTPU_EW_DST(args);
		unsigned int reads = 1u << VTPU_EW_A(args);

		if (!vtpu_insn_unary(op))
			reads |= 1u << VTPU_EW_B(args);
		if (op == VTPU_EW_FMA || op == VTPU_EW_SELECT)
			reads |= d;
		found |= reads & ~written;
		written |= d;
	}
	return found | (((1u << x->nout) - 1) & ~written);
}

static void block(const struct vtpu_op *op, struct vtpu_scratch *s, unsigned int want, uint64_t row,
		  uint64_t rows, uint64_t col, uint64_t cols)
{
	const struct vtpu_insn_ew *x = &op->insn->payload.ew;

	for (unsigned int i = 0; i < 4; i++) {
		if (!(want >> i & 1))
			continue;
		if (i < x->nin)
			load(op, i, vtpu_reg(s, i), row, rows, col, cols);
		else
			vtpu_splat(vtpu_reg(s, i), 0, rows * cols);
	}
	for (unsigned int i = 0; i < x->nops; i++) {
		unsigned int args = x->op[i].args;

		op->run->kernels->ew(x->op[i].op, vtpu_reg(s, VTPU_EW_DST(args)),
				     vtpu_reg(s, VTPU_EW_A(args)), vtpu_reg(s, VTPU_EW_B(args)),
				     rows * cols);
	}
	for (unsigned int i = 0; i < x->nout; i++)
		store(op, i, vtpu_reg(s, i), row, rows, col, cols);
}

void vtpu_ew_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_ew *x = &op->insn->payload.ew;
	const unsigned int want = wanted(x);
	struct shape shape;
	uint64_t end;

	shape_init(&shape, x);
	end = vtpu_split(shape.blocks, part + 1, parts);
	for (unsigned int i = 0; i < 2; i++)
		if (want >> (VTPU_EW_IMM0 + i) & 1)
			vtpu_splat(vtpu_reg(s, VTPU_EW_IMM0 + i), vtpu_op_arg(op, i, x->imm[i]),
				   shape.rows * shape.cols);

	for (uint64_t n = vtpu_split(shape.blocks, part, parts); n < end; n++) {
		uint64_t row = n / shape.row_blocks * shape.block_rows;
		uint64_t col = n % shape.row_blocks * VTPU_BLOCK;
		uint64_t rows = shape.rows - row < shape.block_rows ? shape.rows - row :
								      shape.block_rows;
		uint64_t cols = shape.cols - col < VTPU_BLOCK ? shape.cols - col : VTPU_BLOCK;

		if (vtpu_op_cancelled(op))
			return;
		block(op, s, want, row, rows, col, cols);
	}
}
