// SPDX-License-Identifier: MIT
/*
 * epilogue.c - bias, scale, residual, activation, clamp and cast of a matrix
 * instruction, as element-wise micro-ops on one row at a time.
 */
#include "epilogue.h"
#include "insn_table.h"

/* Working blocks; 0 belongs to the packing of B between two calls. */
enum {
	VALUE = 0,
	OPERAND = 1,
	TEMP = 2,
	ZERO = 3,
	IMM = 4
};

void vtpu_epilogue_init(struct vtpu_epilogue *e, const struct vtpu_op *op, struct vtpu_scratch *s,
			uint32_t n)
{
	const struct vtpu_insn_mxu *x = &op->insn->payload.mxu;
	size_t cols = n < VTPU_BLOCK ? n : VTPU_BLOCK;
	unsigned int slot = 0;

	*e = (struct vtpu_epilogue){ .op = op, .s = s };
	for (; e->ops < 4 && x->epi_op[e->ops] != VTPU_EPI_NONE; e->ops++) {
		unsigned int code = x->epi_op[e->ops];
		const char *kind;

		e->step[e->ops].op = code;
		e->step[e->ops].slot = slot;
		kind = vtpu_insn_epilogue(code)->args;
		if (code == VTPU_EPI_MAXPOOL)
			break; /* the convolution's own */
		if (*kind == 'v') {
			e->step[e->ops].operand = vtpu_op_vmem(op, x->epi_arg[slot]);
			e->reads_result |= code == VTPU_EPI_RESIDUAL;
			slot++;
			continue;
		}
		for (; *kind; kind++, slot++)
			vtpu_splat(vtpu_reg(s, IMM + slot), vtpu_op_arg(op, slot, x->epi_arg[slot]),
				   cols);
	}
	vtpu_splat(vtpu_reg(s, ZERO), 0, cols);
}

/* One step on the row in VALUE. */
static void step(const struct vtpu_epilogue *e, unsigned int i, uint32_t row, uint32_t col,
		 uint32_t cols)
{
	const struct vtpu_insn_mxu *x = &e->op->insn->payload.mxu;
	const struct vtpu_kernels *k = e->op->run->kernels;
	float *value = vtpu_reg(e->s, VALUE), *temp = vtpu_reg(e->s, TEMP);
	const float *imm = vtpu_reg(e->s, IMM + e->step[i].slot);
	const float *zero = vtpu_reg(e->s, ZERO);
	float *operand = vtpu_reg(e->s, OPERAND);

	switch (e->step[i].op) {
	case VTPU_EPI_BIAS:
	case VTPU_EPI_SCALE:
		k->widen(operand, e->step[i].operand + col * sizeof(float), cols, VTPU_TYPE_F32);
		k->ew(e->step[i].op == VTPU_EPI_BIAS ? VTPU_EW_ADD : VTPU_EW_MUL, value, value,
		      operand, cols);
		break;
	case VTPU_EPI_RESIDUAL:
		k->widen(operand,
			 e->step[i].operand + (size_t)row * x->ldd +
				 (size_t)col * vtpu_type_bytes(x->d_type),
			 cols, x->d_type);
		k->ew(VTPU_EW_ADD, value, value, operand, cols);
		break;
	case VTPU_EPI_SCALE_IMM:
		k->ew(VTPU_EW_MUL, value, value, imm, cols);
		break;
	case VTPU_EPI_RELU:
		k->ew(VTPU_EW_RELU, value, value, value, cols);
		break;
	case VTPU_EPI_LEAKY_RELU:
		k->ew(VTPU_EW_CMP_LT, temp, zero, value, cols);
		k->ew(VTPU_EW_MUL, operand, value, imm, cols);
		k->ew(VTPU_EW_SELECT, temp, value, operand, cols);
		k->ew(VTPU_EW_MOV, value, temp, temp, cols);
		break;
	case VTPU_EPI_CLAMP:
		k->ew(VTPU_EW_MAX, value, value, imm, cols);
		k->ew(VTPU_EW_MIN, value, value, imm + VTPU_BLOCK, cols);
		break;
	case VTPU_EPI_SIGMOID:
		k->ew(VTPU_EW_SIGMOID, value, value, value, cols);
		break;
	case VTPU_EPI_TANH:
		k->ew(VTPU_EW_TANH, value, value, value, cols);
		break;
	case VTPU_EPI_GELU:
		k->ew(VTPU_EW_GELU, value, value, value, cols);
		break;
	case VTPU_EPI_SILU:
		k->ew(VTPU_EW_SILU, value, value, value, cols);
		break;
	}
}

void vtpu_epilogue_values(const struct vtpu_epilogue *e, float *acc, size_t pitch, size_t rows,
			  uint32_t col, uint32_t cols)
{
	const struct vtpu_kernels *k = e->op->run->kernels;
	float *value = vtpu_reg(e->s, VALUE);

	for (; rows && e->ops; rows--, acc += pitch) {
		k->widen(value, acc, cols, VTPU_TYPE_F32);
		for (unsigned int i = 0; i < e->ops; i++)
			step(e, i, 0, col, cols);
		memcpy(acc, value, cols * sizeof(float));
	}
}

void vtpu_epilogue_run(const struct vtpu_epilogue *e, const float *acc, size_t pitch, uint32_t row,
		       uint32_t rows, uint32_t col, uint32_t cols)
{
	const struct vtpu_insn_mxu *x = &e->op->insn->payload.mxu;
	const struct vtpu_kernels *k = e->op->run->kernels;
	float *value = vtpu_reg(e->s, VALUE);

	for (uint32_t r = row; r < row + rows; r++, acc += pitch) {
		uint8_t *d = vtpu_op_vmem(e->op, x->d) + (size_t)r * x->ldd +
			     (size_t)col * vtpu_type_bytes(x->d_type);

		if (!e->ops) {
			if (d == (const uint8_t *)acc)
				return;
			k->narrow(d, acc, cols, x->d_type);
			continue;
		}
		k->widen(value, acc, cols, VTPU_TYPE_F32);
		for (unsigned int i = 0; i < e->ops; i++)
			step(e, i, r, col, cols);
		k->ew(VTPU_EW_ADD, value, value, vtpu_reg(e->s, ZERO), cols);
		k->narrow(d, value, cols, x->d_type);
	}
}
