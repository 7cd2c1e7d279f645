// SPDX-License-Identifier: MIT
/*
 * steps.c - steps of the vector unit as instructions.
 */
#include <string.h>

#include "compile/emit.h"

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

void emit_matrix(const struct vtpu_hw_geometry *g, uint64_t count, uint32_t *rows, uint32_t *cols)
{
	uint64_t best = UINT64_MAX;

	*rows = 1;
	*cols = (uint32_t)count;
	if (count % g->lanes == 0) {
		*cols = g->lanes;
		*rows = (uint32_t)(count / g->lanes);
		return;
	}
	for (uint64_t r = 1; r <= 4096 && r <= count; r++) {
		uint64_t vregs = div_up(r, g->sublanes) * div_up(count / r, g->lanes);

		if (count % r == 0 && vregs < best) {
			best = vregs;
			*rows = (uint32_t)r;
			*cols = (uint32_t)(count / r);
		}
	}
}

/* ---- Element-wise ------------------------------------------------------------------ */

/* Rows and columns that suit what is repeated along one of them. */
static void ew_matrix(struct emitter *e, const struct step *s, uint32_t *rows, uint32_t *cols)
{
	const struct value *y = s->out[0];
	uint64_t count = value_count(y), all = emit_elements(e, y);
	bool column = y->pair != NULL;

	for (uint32_t i = 0; i < s->ew.leaves; i++) {
		const struct ew_leaf *leaf = &s->ew.leaf[i];
		uint64_t span;

		if (leaf->kind != LEAF_VALUE)
			continue;
		column |= leaf->value->pair && leaf->bcast == VTPU_BCAST_FULL;
		if (leaf->bcast == VTPU_BCAST_ROW) {
			*cols = (uint32_t)leaf->span;
			*rows = (uint32_t)(all / leaf->span);
			return;
		}
		if (leaf->bcast == VTPU_BCAST_COL) {
			span = leaf->span;
			*cols = (uint32_t)(count / span);
			*rows = (uint32_t)(all / *cols);
			return;
		}
	}
	if (column) {
		*cols = 1;
		*rows = (uint32_t)all;
	} else {
		emit_matrix(e->plan->geometry, all, rows, cols);
	}
}

static bool elementwise(struct emitter *e, const struct step *s)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_EW, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_ew *x = &insn.payload.ew;
	uint32_t rows, cols;
	struct ew_code code;

	if (!ew_assign(&s->ew, s->outs, &code))
		return plan_fail(e->plan, VTPU_ERROR_INTERNAL,
				 "%s: no registers for its expression", s->name);
	ew_matrix(e, s, &rows, &cols);
	x->nin = (uint8_t)code.inputs;
	x->nout = (uint8_t)s->outs;
	x->nops = (uint8_t)code.ops;
	x->rows = rows;
	x->cols = cols;
	for (uint32_t i = 0; i < s->ew.leaves; i++) {
		const struct ew_leaf *leaf = &s->ew.leaf[i];
		uint32_t r = code.reg[i];

		if (leaf->kind == LEAF_VALUE) {
			uint32_t pitch = emit_pitch(leaf->value);

			x->in[r].addr = emit_address(e, leaf->value);
			x->in_type[r] = hw_type(leaf->value->type);
			x->in_bcast[r] = leaf->bcast;
			if (leaf->bcast == VTPU_BCAST_FULL)
				x->in[r].pitch = leaf->value->pair ? 8 : cols * pitch;
			else if (leaf->bcast == VTPU_BCAST_COL)
				x->in[r].pitch = pitch;
			emit_touch(e, leaf->value, false);
		} else if (leaf->kind == LEAF_NUMBER) {
			x->imm[r - VTPU_EW_IMM0] = leaf->number;
		} else {
			x->imm[r - VTPU_EW_IMM0] = leaf->scalar;
			insn.flags |= (uint16_t)VTPU_INSN_ARG_SMEM(r - VTPU_EW_IMM0);
			sync_smem(&e->sync, false, leaf->scalar);
		}
	}
	for (uint32_t i = 0; i < s->outs; i++) {
		x->out[i].addr = emit_address(e, s->out[i]);
		x->out[i].pitch = s->out[i]->pair ? 8 : cols * emit_pitch(s->out[i]);
		x->out_type[i] = hw_type(s->out[i]->type);
		emit_touch(e, s->out[i], true);
	}
	for (uint32_t i = 0; i < code.ops; i++) {
		x->op[i].op = code.op[i].op;
		x->op[i].args = code.op[i].args;
	}
	return emit_add(e, s, &insn);
}

/* ---- Rows ------------------------------------------------------------------------------ */

static struct vtpu_insn rows_insn(struct emitter *e, const struct step *s, uint8_t opcode)
{
	struct vtpu_insn insn = { .opcode = opcode, .unit = VTPU_UNIT_VPU };
	const struct value *a = s->in[0], *y = s->out[0];

	insn.payload.rows = (struct vtpu_insn_rows){
		.in = emit_address(e, a),
		.out = emit_address(e, y),
		.rows = (uint32_t)(emit_elements(e, a) / s->rows.cols),
		.cols = (uint32_t)s->rows.cols,
		.in_pitch = (uint32_t)s->rows.cols * emit_pitch(a),
		.out_pitch = emit_pitch(y),
		.in_type = hw_type(a->type),
		.out_type = hw_type(y->type),
	};
	return insn;
}

/* Sums of each image's rows: an instruction an image. */
static bool reduce_down(struct emitter *e, const struct step *s)
{
	const struct value *a = s->in[0], *y = s->out[0];
	uint64_t size_a = value_count(a) * emit_pitch(a), size_y = value_count(y) * emit_pitch(y);
	uint32_t images = step_on_batch(s) ? e->images : 1;

	for (uint32_t i = 0; i < images; i++) {
		struct vtpu_insn insn = rows_insn(e, s, VTPU_OP_REDUCE);
		struct vtpu_insn_rows *x = &insn.payload.rows;

		x->op = s->rows.op;
		x->rows /= images;
		x->out_pitch = 0;
		x->in += (uint32_t)(i * size_a);
		x->out += (uint32_t)(i * size_y);
		sync_vmem(&e->sync, false, x->in, size_a);
		sync_vmem(&e->sync, true, x->out, size_y);
		if (!emit_add(e, s, &insn))
			return false;
	}
	return true;
}

static bool rows(struct emitter *e, const struct step *s)
{
	static const uint8_t opcode[] = { [STEP_REDUCE] = VTPU_OP_REDUCE,
					  [STEP_SOFTMAX] = VTPU_OP_SOFTMAX,
					  [STEP_ARGMAX] = VTPU_OP_ARGMAX };
	struct vtpu_insn insn = rows_insn(e, s, opcode[s->kind]);
	struct vtpu_insn_rows *x = &insn.payload.rows;

	if (s->kind == STEP_REDUCE) {
		if (s->rows.down)
			return reduce_down(e, s);
		x->op = s->rows.op;
		x->axis = 1;
	} else if (s->kind == STEP_SOFTMAX) {
		x->out_pitch = (uint32_t)s->rows.cols * emit_pitch(s->out[0]);
		x->imm[0] = vtpu_scalar_f32(1);
	}
	emit_touch(e, s->in[0], false);
	emit_touch(e, s->out[0], true);
	return emit_add(e, s, &insn);
}

static bool xent(struct emitter *e, const struct step *s)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_SOFTMAX_XENT, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_xent *x = &insn.payload.xent;
	const struct value *logits = s->in[0], *labels = s->in[1];
	uint64_t rows_n = emit_elements(e, labels), cols = emit_elements(e, logits) / rows_n;

	*x = (struct vtpu_insn_xent){
		.in = emit_address(e, logits),
		.labels = emit_address(e, labels),
		.rows = (uint32_t)rows_n,
		.cols = (uint32_t)cols,
		.in_pitch = (uint32_t)cols * emit_pitch(logits),
		.in_type = hw_type(logits->type),
		.label_type = hw_type(labels->type),
	};
	emit_touch(e, logits, false);
	emit_touch(e, labels, false);
	if (s->in[2]) {
		x->mode |= VTPU_XENT_WEIGHTS;
		x->weights = emit_address(e, s->in[2]);
		emit_touch(e, s->in[2], false);
	}
	if (s->out[0]) {
		x->mode |= VTPU_XENT_LOSS;
		x->loss = emit_address(e, s->out[0]);
		emit_touch(e, s->out[0], true);
	}
	if (s->outs > 1 && s->out[1]) {
		x->mode |= VTPU_XENT_GRAD;
		x->grad = emit_address(e, s->out[1]);
		x->grad_pitch = (uint32_t)cols * emit_pitch(s->out[1]);
		x->grad_type = hw_type(s->out[1]->type);
		emit_touch(e, s->out[1], true);
		if (s->xent.smem) {
			x->imm[0] = s->xent.word;
			insn.flags |= VTPU_INSN_ARG_SMEM(0);
			sync_smem(&e->sync, false, s->xent.word);
		} else {
			x->imm[0] = vtpu_scalar_f32(s->xent.factor);
		}
	}
	return emit_add(e, s, &insn);
}

/* ---- Pooling and random numbers ------------------------------------------------------------ */

static bool pool(struct emitter *e, const struct step *s)
{
	bool forward = s->kind == STEP_POOL;
	struct vtpu_insn insn = { .opcode = forward ? VTPU_OP_POOL : VTPU_OP_POOL_GRAD,
				  .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_pool *x = &insn.payload.pool;
	const struct window_step *w = &s->win;
	const struct value *in = forward ? s->in[0] : s->out[0],
			   *out = forward ? s->out[0] : s->in[0];
	const struct value *index = forward ? s->out[1] : s->in[1];
	uint32_t behind[2];

	for (int d = 0; d < 2; d++) {
		uint32_t end = (out->box[d] - 1) * w->stride[d] + w->ker[d];

		behind[d] = end > in->box[d] + w->before[d] ? end - in->box[d] - w->before[d] : 0;
	}
	*x = (struct vtpu_insn_pool){
		.in = emit_address(e, s->in[0]),
		.out = emit_address(e, s->out[0]),
		.index = index ? emit_address(e, index) : 0,
		.images = e->images,
		.channels = in->dim[2],
		EMIT_WINDOW(w, in),
		.pad_bottom = (uint8_t)behind[0],
		.pad_right = (uint8_t)behind[1],
		.type = hw_type(in->type),
		.op = w->average ? VTPU_POOL_AVERAGE : VTPU_POOL_MAX,
		.mode = index ? VTPU_POOL_INDEX : 0,
	};
	emit_touch(e, s->in[0], false);
	emit_touch(e, s->out[0], true);
	if (index)
		emit_touch(e, index, forward);
	return emit_add(e, s, &insn);
}

static bool random_numbers(struct emitter *e, const struct step *s)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_RNG_FILL, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_rng *x = &insn.payload.rng;
	const struct value *u = s->out[0];
	bool batch = u->class == VALUE_BATCH;

	emit_matrix(e->plan->geometry, emit_elements(e, u), &x->rows, &x->cols);
	x->out = emit_address(e, u);
	x->out_pitch = x->cols * 4;
	x->out_type = VTPU_TYPE_F32;
	x->kind = VTPU_RNG_UNIFORM;
	x->imm[0] = s->random.seed;
	x->imm[1] = s->random.stream;
	x->imm[2] = s->random.step;
	insn.flags |= VTPU_INSN_ARG_SMEM(0) | VTPU_INSN_ARG_SMEM(2);
	x->index = batch ? e->first * u->count : 0;
	x->core_step = batch ? e->plan->images * u->count : 0;
	x->row_step = x->cols;
	emit_touch(e, u, true);
	return emit_add(e, s, &insn);
}

bool emit_step(struct emitter *e, const struct step *s)
{
	switch (s->kind) {
	case STEP_EW:
		return elementwise(e, s);
	case STEP_MATMUL:
	case STEP_CONV:
	case STEP_DGRAD:
	case STEP_WGRAD:
		return emit_mxu(e, s);
	case STEP_REDUCE:
	case STEP_SOFTMAX:
	case STEP_ARGMAX:
		return rows(e, s);
	case STEP_XENT:
		return xent(e, s);
	case STEP_POOL:
	case STEP_POOL_GRAD:
		return pool(e, s);
	case STEP_RANDOM:
		return random_numbers(e, s);
	case STEP_UPDATE:
		return exchange_update(e, s);
	default:
		return emit_dma_step(e, s);
	}
}
