// SPDX-License-Identifier: MIT
/*
 * insn_conv.c - CONV, CONV_DGRAD, CONV_WGRAD: what must fit together, and which
 * bytes they read and write.
 */
#include <stddef.h>

#include "insn_check.h"

/** struct matrix - an operand or result as rows of contiguous elements */
struct matrix {
	uint64_t rows, cols;
};

/* a, b, d as matrices: images of input and of output, weights; whose is which is the opcode's */
static void matrices(const struct vtpu_insn *insn, struct matrix *a, struct matrix *b,
		     struct matrix *d)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const struct matrix input = {
		vtpu_cost_mul((uint64_t)x->in_h * x->in_w, x->m),
		(uint64_t)x->k * x->g,
	};
	const struct matrix output = {
		vtpu_cost_mul(vtpu_cost_out_h(x) * vtpu_cost_out_w(x), x->m),
		(uint64_t)x->n * x->g,
	};
	const struct matrix weights = {
		(uint64_t)x->ker_h * x->ker_w * x->k,
		(uint64_t)x->n * x->g,
	};

	*a = insn->opcode == VTPU_OP_CONV_DGRAD ? output : input;
	*b = insn->opcode == VTPU_OP_CONV_WGRAD ? output : weights;
	*d = insn->opcode == VTPU_OP_CONV	? output :
	     insn->opcode == VTPU_OP_CONV_DGRAD ? input :
						  weights;
}

/* Of c and d: what the epilogue has; MAXPOOL takes windows of it. */
static struct matrix pooled(const struct vtpu_insn_mxu *x, struct matrix d)
{
	const struct vtpu_insn_maxpool p = vtpu_insn_maxpool(x);

	if (p.on)
		d.rows = vtpu_cost_out_h(x) / p.h * (vtpu_cost_out_w(x) / p.w) * x->m;
	return d;
}

static enum vtpu_hw_status check_matrix(struct vtpu_load_record *r, const struct matrix *m,
					uint32_t field, uint32_t pitch, uint32_t type)
{
	if (m->rows > VTPU_MAX_DIM)
		return vtpu_bad_field(r, PAYLOAD(mxu.m), m->rows, VTPU_MAX_DIM);
	if (m->cols > VTPU_MAX_DIM)
		return vtpu_bad_field(r, PAYLOAD(mxu.g), m->cols, VTPU_MAX_DIM);
	return vtpu_check_pitch(r, field, pitch, m->rows, m->cols, type);
}

/* A window that fits nowhere: its extent against what there is. */
static enum vtpu_hw_status check_windows(const struct vtpu_insn_mxu *x, struct vtpu_load_record *r)
{
	if (!vtpu_cost_out_h(x))
		return vtpu_bad_field(r, PAYLOAD(mxu.ker_h), x->dil_h * (x->ker_h - 1u) + 1,
				      (uint64_t)x->in_h + x->pad_top + x->pad_bottom);
	if (!vtpu_cost_out_w(x))
		return vtpu_bad_field(r, PAYLOAD(mxu.ker_w), x->dil_w * (x->ker_w - 1u) + 1,
				      (uint64_t)x->in_w + x->pad_left + x->pad_right);
	return VTPU_ST_OK;
}

static enum vtpu_hw_status check_maxpool(const struct vtpu_insn *insn, struct vtpu_load_record *r)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const struct vtpu_insn_maxpool p = vtpu_insn_maxpool(x);
	const uint32_t at = PAYLOAD(mxu.epi_arg[0]) + 4 * (p.arg + 1u);
	uint32_t window;

	for (unsigned int i = 0; i < 4 && x->epi_op[i]; i++) {
		const bool last = i == 3 || !x->epi_op[i + 1];

		if (x->epi_op[i] == VTPU_EPI_MAXPOOL && (insn->opcode != VTPU_OP_CONV || !last))
			return vtpu_bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					      VTPU_EPI_NONE);
		/* A residual has the layout of d, which is not that of what is pooled. */
		if (x->epi_op[i] == VTPU_EPI_RESIDUAL && p.on)
			return vtpu_bad_field(r, PAYLOAD(mxu.epi_op[0]) + i, x->epi_op[i],
					      VTPU_EPI_NONE);
	}
	if (!p.on)
		return VTPU_ST_OK;
	window = x->epi_arg[p.arg + 1];
	if (!VTPU_EPI_WINDOW_H(window) || !VTPU_EPI_WINDOW_W(window) || window >> 16 ||
	    p.h * p.w > UINT8_MAX)
		return vtpu_bad_field(r, at, window, VTPU_EPI_WINDOW(2, 2));
	if (p.h > vtpu_cost_out_h(x) || p.w > vtpu_cost_out_w(x))
		return vtpu_bad_field(r, at, window,
				      VTPU_EPI_WINDOW(vtpu_cost_out_h(x), vtpu_cost_out_w(x)));
	/* The window is part of the shape, which never comes from memory. */
	if (insn->flags & VTPU_INSN_ARG_SMEM(p.arg + 1))
		return vtpu_bad_field(r, FIELD(flags), insn->flags,
				      insn->flags & ~VTPU_INSN_ARG_SMEM(p.arg + 1));
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_shape_conv(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const uint16_t trans = VTPU_MXU_TRANS_A | VTPU_MXU_TRANS_B;
	struct matrix a, b, d, c;
	enum vtpu_hw_status st;

	(void)width;
	if (x->mode & trans)
		return vtpu_bad_field(r, PAYLOAD(mxu.mode), x->mode, x->mode & ~trans);
	if ((st = check_windows(x, r)) || (st = vtpu_check_epilogue(insn, r)) ||
	    (st = check_maxpool(insn, r)))
		return st;
	matrices(insn, &a, &b, &c);
	d = pooled(x, c);
	if ((st = check_matrix(r, &a, PAYLOAD(mxu.lda), x->lda, x->a_type)) ||
	    (st = check_matrix(r, &b, PAYLOAD(mxu.ldb), x->ldb, x->b_type)) ||
	    (st = check_matrix(r, &d, PAYLOAD(mxu.ldd), x->ldd, x->d_type)))
		return st;
	if (x->mode & VTPU_MXU_ACCUMULATE)
		return check_matrix(r, &c, PAYLOAD(mxu.ldc), x->ldc, VTPU_TYPE_F32);
	if (x->c || x->ldc)
		return vtpu_bad_field(r, x->c ? PAYLOAD(mxu.c) : PAYLOAD(mxu.ldc),
				      x->c ? x->c : x->ldc, 0);
	return VTPU_ST_OK;
}

static struct vtpu_box *add(struct vtpu_boxes *boxes, uint32_t field, uint32_t addr, uint32_t type,
			    const struct matrix *m, uint32_t pitch, bool write)
{
	return vtpu_boxes_add(boxes, field, addr, type, (uint32_t)m->cols, (uint32_t)m->rows, pitch,
			      write);
}

void vtpu_boxes_conv(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const struct vtpu_insn_maxpool p = vtpu_insn_maxpool(x);
	struct matrix a, b, d, c;

	matrices(insn, &a, &b, &c);
	d = pooled(x, c);
	add(boxes, PAYLOAD(mxu.a), x->a, x->a_type, &a, x->lda, false);
	add(boxes, PAYLOAD(mxu.b), x->b, x->b_type, &b, x->ldb, false);
	if (x->mode & VTPU_MXU_ACCUMULATE)
		add(boxes, PAYLOAD(mxu.c), x->c, VTPU_TYPE_F32, &c, x->ldc, false)->in_place = true;
	vtpu_boxes_epilogue(boxes, insn, (uint32_t)d.rows, (uint32_t)d.cols);
	add(boxes, PAYLOAD(mxu.d), x->d, x->d_type, &d, x->ldd, true);
	if (p.on)
		vtpu_boxes_add(boxes, PAYLOAD(mxu.epi_arg[0]) + 4 * p.arg, p.index, VTPU_TYPE_U8,
			       (uint32_t)(d.rows * d.cols), 1, 0, true);
}
