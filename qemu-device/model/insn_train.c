// SPDX-License-Identifier: MIT
/*
 * insn_train.c - what must fit together in POOL, ARGMAX, SOFTMAX_XENT, OPTIMIZE, RNG_FILL and
 * SEND, and which bytes they touch.
 */
#include <stddef.h>

#include "cost.h"
#include "insn_check.h"

/* An address, pitch or value that has no meaning here */
static enum vtpu_hw_status check_zero(struct vtpu_load_record *r, uint32_t field, uint64_t value)
{
	return value ? vtpu_bad_field(r, field, value, 0) : VTPU_ST_OK;
}

/* ---- Pooling ------------------------------------------------------------------- */

/** struct pooled - numbers of elements; outputs are not counted when there are too many inputs */
struct pooled {
	uint64_t in, out;
};

static struct pooled count_pooled(const struct vtpu_insn_pool *x)
{
	uint64_t each = vtpu_cost_mul(x->images, x->channels);
	uint32_t h = vtpu_cost_windows(x->in_h, x->pad_top, x->pad_bottom, x->ker_h, x->stride_h);
	uint32_t w = vtpu_cost_windows(x->in_w, x->pad_left, x->pad_right, x->ker_w, x->stride_w);

	return (struct pooled){
		.in = vtpu_cost_mul(each, (uint64_t)x->in_h * x->in_w),
		.out = vtpu_cost_mul(each, (uint64_t)h * w),
	};
}

static enum vtpu_hw_status check_axis(struct vtpu_load_record *r, uint32_t in_field, uint32_t in,
				      uint32_t before_field, uint32_t before, uint32_t after_field,
				      uint32_t after, uint32_t ker)
{
	if (before >= ker)
		return vtpu_bad_field(r, before_field, before, ker - 1);
	if (after >= ker)
		return vtpu_bad_field(r, after_field, after, ker - 1);
	if (in + before + after < ker)
		return vtpu_bad_field(r, in_field, in, ker - before - after);
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_shape_pool(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_pool *x = &insn->payload.pool;
	const bool max = x->op == VTPU_POOL_MAX, index = x->mode & VTPU_POOL_INDEX;
	enum vtpu_hw_status st;
	struct pooled n;

	(void)width;
	if (x->ker_h * x->ker_w > UINT8_MAX)
		return vtpu_bad_field(r, PAYLOAD(pool.ker_w), x->ker_w, UINT8_MAX / x->ker_h);
	if ((st = check_axis(r, PAYLOAD(pool.in_h), x->in_h, PAYLOAD(pool.pad_top), x->pad_top,
			     PAYLOAD(pool.pad_bottom), x->pad_bottom, x->ker_h)) ||
	    (st = check_axis(r, PAYLOAD(pool.in_w), x->in_w, PAYLOAD(pool.pad_left), x->pad_left,
			     PAYLOAD(pool.pad_right), x->pad_right, x->ker_w)))
		return st;
	if (!max && index)
		return vtpu_bad_field(r, PAYLOAD(pool.mode), x->mode, 0);
	if (max && !index && insn->opcode == VTPU_OP_POOL_GRAD)
		return vtpu_bad_field(r, PAYLOAD(pool.mode), x->mode, VTPU_POOL_INDEX);
	if (!index && x->index)
		return vtpu_bad_field(r, PAYLOAD(pool.index), x->index, 0);
	n = count_pooled(x);
	if (n.in > VTPU_MAX_DIM || n.out > VTPU_MAX_DIM)
		return vtpu_bad_field(r, PAYLOAD(pool.images), n.in > n.out ? n.in : n.out,
				      VTPU_MAX_DIM);
	return VTPU_ST_OK;
}

void vtpu_boxes_pool(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_pool *x = &insn->payload.pool;
	const bool grad = insn->opcode == VTPU_OP_POOL_GRAD, index = x->mode & VTPU_POOL_INDEX;
	const struct pooled n = count_pooled(x);

	vtpu_boxes_add(boxes, PAYLOAD(pool.in), x->in, x->type, (uint32_t)(grad ? n.out : n.in), 1,
		       0, false);
	if (index && grad)
		vtpu_boxes_add(boxes, PAYLOAD(pool.index), x->index, VTPU_TYPE_U8, (uint32_t)n.out,
			       1, 0, false);
	vtpu_boxes_add(boxes, PAYLOAD(pool.out), x->out, x->type, (uint32_t)(grad ? n.in : n.out),
		       1, 0, true);
	if (index && !grad)
		vtpu_boxes_add(boxes, PAYLOAD(pool.index), x->index, VTPU_TYPE_U8, (uint32_t)n.out,
			       1, 0, true);
}

/* ---- Rows ------------------------------------------------------------------------ */

enum vtpu_hw_status vtpu_shape_argmax(uint32_t width, const struct vtpu_insn *insn,
				      struct vtpu_load_record *r)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;
	enum vtpu_hw_status st;

	(void)width;
	st = vtpu_check_pitch(r, PAYLOAD(rows.in_pitch), x->in_pitch, x->rows, x->cols, x->in_type);
	return st ? st :
		    vtpu_check_pitch(r, PAYLOAD(rows.out_pitch), x->out_pitch, x->rows, 1,
				     x->out_type);
}

void vtpu_boxes_argmax(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_rows *x = &insn->payload.rows;

	vtpu_boxes_add(boxes, PAYLOAD(rows.in), x->in, x->in_type, x->cols, x->rows, x->in_pitch,
		       false);
	vtpu_boxes_add(boxes, PAYLOAD(rows.out), x->out, x->out_type, 1, x->rows, x->out_pitch,
		       true);
}

enum vtpu_hw_status vtpu_shape_xent(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_xent *x = &insn->payload.xent;
	const bool loss = x->mode & VTPU_XENT_LOSS, grad = x->mode & VTPU_XENT_GRAD;
	enum vtpu_hw_status st;

	(void)width;
	if (!loss && !grad)
		return vtpu_bad_field(r, PAYLOAD(xent.mode), x->mode, VTPU_XENT_MODE);
	st = vtpu_check_pitch(r, PAYLOAD(xent.in_pitch), x->in_pitch, x->rows, x->cols, x->in_type);
	if (st)
		return st;
	if (!(x->mode & VTPU_XENT_WEIGHTS) &&
	    (st = check_zero(r, PAYLOAD(xent.weights), x->weights)))
		return st;
	if (!loss && (st = check_zero(r, PAYLOAD(xent.loss), x->loss)))
		return st;
	if (!grad) {
		if ((st = check_zero(r, PAYLOAD(xent.grad), x->grad)) ||
		    (st = check_zero(r, PAYLOAD(xent.grad_pitch), x->grad_pitch)))
			return st;
		return check_zero(r, PAYLOAD(xent.grad_type), x->grad_type);
	}
	if (!x->grad_type)
		return vtpu_bad_field(r, PAYLOAD(xent.grad_type), 0, VTPU_TYPES_FLOAT);
	return vtpu_check_pitch(r, PAYLOAD(xent.grad_pitch), x->grad_pitch, x->rows, x->cols,
				x->grad_type);
}

void vtpu_boxes_xent(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_xent *x = &insn->payload.xent;

	vtpu_boxes_args(boxes, insn, x->imm, PAYLOAD(xent.imm[0]), 1);
	vtpu_boxes_add(boxes, PAYLOAD(xent.in), x->in, x->in_type, x->cols, x->rows, x->in_pitch,
		       false);
	if (x->mode & VTPU_XENT_GRAD)
		boxes->box[boxes->n - 1].in_place = true;
	vtpu_boxes_add(boxes, PAYLOAD(xent.labels), x->labels, x->label_type, x->rows, 1, 0, false);
	if (x->mode & VTPU_XENT_WEIGHTS)
		vtpu_boxes_add(boxes, PAYLOAD(xent.weights), x->weights, VTPU_TYPE_F32, x->rows, 1,
			       0, false);
	if (x->mode & VTPU_XENT_LOSS)
		vtpu_boxes_add(boxes, PAYLOAD(xent.loss), x->loss, VTPU_TYPE_F32, 2, x->rows, 8,
			       true);
	if (x->mode & VTPU_XENT_GRAD)
		vtpu_boxes_add(boxes, PAYLOAD(xent.grad), x->grad, x->grad_type, x->cols, x->rows,
			       x->grad_pitch, true);
}

/* ---- Optimiser and random numbers ------------------------------------------------- */

enum vtpu_hw_status vtpu_shape_opt(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r)
{
	const struct vtpu_insn_opt *x = &insn->payload.opt;
	const bool adam = x->kind == VTPU_OPT_ADAM, sgd = x->kind == VTPU_OPT_SGD;
	const uint32_t smem = adam ? 0xf : 0x3;
	enum vtpu_hw_status st;

	(void)width;
	if (insn->flags >> 8 & ~smem)
		return vtpu_bad_field(r, FIELD(flags), insn->flags,
				      (insn->flags & 0xffu) | smem << 8);
	if (sgd && ((st = check_zero(r, PAYLOAD(opt.m), x->m)) ||
		    (st = check_zero(r, PAYLOAD(opt.beta1), x->beta1))))
		return st;
	if (!adam && ((st = check_zero(r, PAYLOAD(opt.v), x->v)) ||
		      (st = check_zero(r, PAYLOAD(opt.beta2), x->beta2)) ||
		      (st = check_zero(r, PAYLOAD(opt.epsilon), x->epsilon)) ||
		      (st = check_zero(r, PAYLOAD(opt.imm[2]), x->imm[2])) ||
		      (st = check_zero(r, PAYLOAD(opt.imm[3]), x->imm[3]))))
		return st;
	return VTPU_ST_OK;
}

void vtpu_boxes_opt(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_opt *x = &insn->payload.opt;
	const struct {
		uint32_t addr, field;
		bool has;
	} state[] = {
		{ x->param, PAYLOAD(opt.param), true },
		{ x->m, PAYLOAD(opt.m), x->kind != VTPU_OPT_SGD },
		{ x->v, PAYLOAD(opt.v), x->kind == VTPU_OPT_ADAM },
	};

	vtpu_boxes_args(boxes, insn, x->imm, PAYLOAD(opt.imm[0]), 4);
	vtpu_boxes_add(boxes, PAYLOAD(opt.grad), x->grad, VTPU_TYPE_F32, x->count, 1, 0, false);
	for (int write = 0; write < 2; write++)
		for (unsigned int i = 0; i < 3; i++)
			if (state[i].has)
				vtpu_boxes_add(boxes, state[i].field, state[i].addr, VTPU_TYPE_F32,
					       x->count, 1, 0, write)
					->in_place = !write;
}

enum vtpu_hw_status vtpu_shape_rng(uint32_t width, const struct vtpu_insn *insn,
				   struct vtpu_load_record *r)
{
	const struct vtpu_insn_rng *x = &insn->payload.rng;

	(void)width;
	return vtpu_check_pitch(r, PAYLOAD(rng.out_pitch), x->out_pitch, x->rows, x->cols,
				x->out_type);
}

void vtpu_boxes_rng(struct vtpu_boxes *boxes, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_rng *x = &insn->payload.rng;

	vtpu_boxes_args(boxes, insn, x->imm, PAYLOAD(rng.imm[0]), 3);
	vtpu_boxes_add(boxes, PAYLOAD(rng.out), x->out, x->out_type, x->cols, x->rows, x->out_pitch,
		       true);
}

/* ---- Sends -------------------------------------------------------------------------- */

static enum vtpu_hw_status check_displacement(struct vtpu_load_record *r, uint32_t field,
					      int32_t stride, uint32_t element)
{
	if (stride < 0)
		return vtpu_bad_field(r, field, (uint32_t)stride, 0);
	return stride % (int32_t)element ? vtpu_bad_field(r, field, (uint32_t)stride, element) :
					   VTPU_ST_OK;
}

static enum vtpu_hw_status check_vmem(struct vtpu_load_record *r, uint32_t field, uint64_t addr)
{
	if (VTPU_ADDR_SPACE(addr) == VTPU_SPACE_VMEM)
		return VTPU_ST_OK;
	return vtpu_bad_field(r, field, addr,
			      VTPU_ADDR(VTPU_SPACE_VMEM, 0, VTPU_ADDR_OFFSET(addr)));
}

enum vtpu_hw_status vtpu_shape_send(uint32_t width, const struct vtpu_insn *insn,
				    struct vtpu_load_record *r)
{
	const struct vtpu_insn_dma *x = &insn->payload.dma;
	const uint32_t element = vtpu_type_bytes(x->dst_type);
	enum vtpu_hw_status st;

	if ((st = check_vmem(r, PAYLOAD(dma.src), x->src)) ||
	    (st = check_vmem(r, PAYLOAD(dma.dst), x->dst)))
		return st;
	/* As a set of types, of one: there are no casts. */
	if (x->src_type != x->dst_type)
		return vtpu_bad_field(r, PAYLOAD(dma.dst_type), x->dst_type,
				      1u << 31 | 1u << x->src_type);
	if (x->core >= width)
		return vtpu_bad_field(r, PAYLOAD(dma.core), x->core, width - 1);
	if (x->count[4] != 1)
		return vtpu_bad_field(r, PAYLOAD(dma.count[4]), x->count[4], 1);
	if ((st = check_displacement(r, PAYLOAD(dma.src_stride[4]), x->src_stride[4], element)) ||
	    (st = check_displacement(r, PAYLOAD(dma.dst_stride[4]), x->dst_stride[4], element)))
		return st;
	return vtpu_shape_dma(width, insn, r);
}
