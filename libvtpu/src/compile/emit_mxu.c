// SPDX-License-Identifier: MIT
/*
 * emit_mxu.c - matrix products and convolutions as instructions.
 */
#include <string.h>

#include "compile/emit.h"
#include "cost.h"

static uint8_t epilogue_type(const struct value *v)
{
	return hw_type(v->type);
}

static void set_epilogue(struct emitter *e, const struct step *s, struct vtpu_insn_mxu *x,
			 uint32_t *args)
{
	for (uint32_t i = 0; i < s->epi.count; i++) {
		x->epi_op[i] = s->epi.op[i];
		switch (s->epi.op[i]) {
		case VTPU_EPI_BIAS:
		case VTPU_EPI_SCALE:
			x->epi_arg[(*args)++] = emit_address(e, s->epi.value[i]);
			emit_touch(e, s->epi.value[i], false);
			break;
		case VTPU_EPI_SCALE_IMM:
			x->epi_arg[(*args)++] = s->epi.bits[i];
			break;
		default:
			break;
		}
	}
}

/* Rows or columns of the result over the arrays, whichever is faster. */
static bool add_fastest(struct emitter *e, const struct step *s, struct vtpu_insn *insn)
{
	struct vtpu_insn split = *insn;

	split.payload.mxu.mode |= VTPU_MXU_SPLIT_M;
	if (vtpu_cost_insn(e->plan->geometry, &split, e->plan->cores).busy <
	    vtpu_cost_insn(e->plan->geometry, insn, e->plan->cores).busy)
		*insn = split;
	return emit_add(e, s, insn);
}

static bool ones(struct emitter *e, const struct step *s)
{
	const struct value *b = s->in[1], *y = s->out[0];
	struct value *a = e->plan->ones[b->type == VTPU_DTYPE_BF16];
	uint32_t k = s->mxu.k * (s->mxu.batch_k ? e->images : 1), bytes = vtpu_dtype_bytes(a->type);
	struct vtpu_insn insn = { .opcode = VTPU_OP_MATMUL, .unit = VTPU_UNIT_MXU };
	struct vtpu_insn_mxu *x = &insn.payload.mxu;

	*x = (struct vtpu_insn_mxu){
		.a = a->addr[0],
		.b = emit_address(e, b),
		.d = emit_address(e, y),
		.a_type = hw_type(a->type),
		.b_type = hw_type(b->type),
		.d_type = hw_type(y->type),
		.m = 1,
		.n = s->mxu.n,
		.k = k,
		.g = 1,
		.lda = k * bytes,
		.ldb = b->pair ? 8 : s->mxu.n * vtpu_dtype_bytes(b->type),
		.ldd = s->mxu.n * vtpu_dtype_bytes(y->type),
	};
	if (s->mxu.batch_k && e->tile) {
		x->mode = VTPU_MXU_ACCUMULATE;
		x->c = x->d;
		x->ldc = x->ldd;
		emit_touch(e, y, false);
	}
	sync_vmem(&e->sync, false, a->addr[0], (uint64_t)k * bytes);
	emit_touch(e, b, false);
	emit_touch(e, y, true);
	return emit_add(e, s, &insn);
}

static bool product(struct emitter *e, const struct step *s)
{
	const struct mxu_step *t = &s->mxu;
	const struct value *a = s->in[0], *b = s->in[1], *y = s->out[0];
	uint64_t count = (uint64_t)t->products * (t->each ? e->images : 1);
	uint32_t m = t->m * (t->batch_m ? e->images : 1), k = t->k * (t->batch_k ? e->images : 1);
	uint32_t bytes_a = vtpu_dtype_bytes(a->type), bytes_b = vtpu_dtype_bytes(b->type),
		 bytes_y = vtpu_dtype_bytes(y->type);

	for (uint64_t i = 0; i < count; i++) {
		struct vtpu_insn insn = { .opcode = VTPU_OP_MATMUL, .unit = VTPU_UNIT_MXU };
		struct vtpu_insn_mxu *x = &insn.payload.mxu;
		uint64_t size_a = (uint64_t)m * k * bytes_a, size_b = (uint64_t)k * t->n * bytes_b,
			 size_y = (uint64_t)m * t->n * bytes_y;
		uint32_t args = 0;

		*x = (struct vtpu_insn_mxu){
			.a = emit_address(e, a) + (uint32_t)(i * size_a),
			.b = emit_address(e, b) + (uint32_t)(i * size_b),
			.d = emit_address(e, y) + (uint32_t)(i * size_y),
			.a_type = hw_type(a->type),
			.b_type = hw_type(b->type),
			.d_type = epilogue_type(y),
			.m = m,
			.n = t->n,
			.k = k,
			.g = 1,
			.lda = (t->trans_a ? m : k) * bytes_a,
			.ldb = (t->trans_b ? k : t->n) * bytes_b,
			.ldd = t->n * bytes_y,
			.mode = (uint16_t)((t->trans_a ? VTPU_MXU_TRANS_A : 0) |
					   (t->trans_b ? VTPU_MXU_TRANS_B : 0)),
		};
		sync_vmem(&e->sync, false, x->a, size_a);
		sync_vmem(&e->sync, false, x->b, size_b);
		sync_vmem(&e->sync, true, x->d, size_y);
		if (t->batch_k && e->tile) {
			x->mode |= VTPU_MXU_ACCUMULATE;
			x->c = x->d;
			x->ldc = x->ldd;
			sync_vmem(&e->sync, false, x->d, size_y);
		}
		set_epilogue(e, s, x, &args);
		if (!add_fastest(e, s, &insn))
			return false;
	}
	return true;
}

/* Padding behind, so that @out windows fit @in rows. */
static uint8_t behind(const struct window_step *w, int d, uint32_t in, uint32_t out)
{
	uint32_t end = (out - 1) * w->stride[d] + w->dil[d] * (w->ker[d] - 1) + 1;

	return end > in + w->before[d] ? (uint8_t)(end - in - w->before[d]) : 0;
}

/* Windows of the convolution: those of the result, or where a maximum follows as many as fit. */
static uint32_t windows(const struct step *s, int d, uint32_t in, uint32_t out)
{
	const struct window_step *w = &s->win;
	uint32_t reach = w->dil[d] * (w->ker[d] - 1) + 1, fit = 0;

	if (!w->pool[d])
		return out;
	if (in + w->before[d] >= reach)
		fit = (in + w->before[d] - reach) / w->stride[d] + 1;
	return fit > out * w->pool[d] ? fit : out * w->pool[d];
}

static bool convolution(struct emitter *e, const struct step *s)
{
	static const uint8_t opcode[] = { [STEP_CONV] = VTPU_OP_CONV,
					  [STEP_DGRAD] = VTPU_OP_CONV_DGRAD,
					  [STEP_WGRAD] = VTPU_OP_CONV_WGRAD };
	const struct window_step *w = &s->win;
	const struct value *a = s->in[0], *b = s->in[1], *d = s->out[0];
	const struct value *in = s->kind == STEP_DGRAD ? d : a;
	const struct value *out = s->kind == STEP_CONV ? d : s->kind == STEP_DGRAD ? a : b;
	struct vtpu_insn insn = { .opcode = opcode[s->kind], .unit = VTPU_UNIT_MXU };
	struct vtpu_insn_mxu *x = &insn.payload.mxu;
	uint32_t oh = windows(s, 0, in->box[0], out->box[0]),
		 ow = windows(s, 1, in->box[1], out->box[1]);
	uint32_t args = 0;

	*x = (struct vtpu_insn_mxu){
		.a = emit_address(e, a),
		.b = emit_address(e, b),
		.d = emit_address(e, d),
		.a_type = hw_type(a->type),
		.b_type = hw_type(b->type),
		.d_type = hw_type(d->type),
		.m = e->images,
		.n = out->dim[2] / w->groups,
		.k = in->dim[2] / w->groups,
		.g = (uint16_t)w->groups,
		.lda = a->dim[2] * vtpu_dtype_bytes(a->type),
		.ldb = out->dim[2] * vtpu_dtype_bytes(b->type),
		.ldd = (s->kind == STEP_WGRAD ? out->dim[2] : d->dim[2]) *
		       vtpu_dtype_bytes(d->type),
		EMIT_WINDOW(w, in),
		.pad_bottom = behind(w, 0, in->box[0], oh),
		.pad_right = behind(w, 1, in->box[1], ow),
		.dil_h = (uint8_t)w->dil[0],
		.dil_w = (uint8_t)w->dil[1],
	};
	emit_touch(e, a, false);
	emit_touch(e, b, false);
	emit_touch(e, d, true);
	if (s->kind == STEP_WGRAD && e->tile) {
		x->mode = VTPU_MXU_ACCUMULATE;
		x->c = x->d;
		x->ldc = x->ldd;
		emit_touch(e, d, false);
	}
	set_epilogue(e, s, x, &args);
	if (w->pool[0]) {
		x->epi_op[s->epi.count] = VTPU_EPI_MAXPOOL;
		x->epi_arg[args++] = emit_address(e, s->out[1]);
		x->epi_arg[args] = VTPU_EPI_WINDOW(w->pool[0], w->pool[1]);
		emit_touch(e, s->out[1], true);
	}
	return add_fastest(e, s, &insn);
}

bool emit_mxu(struct emitter *e, const struct step *s)
{
	if (s->kind != STEP_MATMUL)
		return convolution(e, s);
	return s->mxu.ones ? ones(e, s) : product(e, s);
}
