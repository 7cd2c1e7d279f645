// SPDX-License-Identifier: MIT
/*
 * unit_xent.c - ARGMAX, and SOFTMAX_XENT: loss of rows of logits against labels, and its gradient.
 */
#include "tree.h"

#define PART_ELEMENTS (1u << 15)

/* Working blocks */
enum {
	X = 0,
	SCALAR = 1,
	TEMP = 2
};

static uint32_t parts_of(uint64_t rows, uint64_t cols)
{
	uint64_t parts = rows * cols / PART_ELEMENTS;

	if (parts > rows)
		parts = rows;
	return parts < 1 ? 1 : parts > VTPU_MAX_PARTS ? VTPU_MAX_PARTS : (uint32_t)parts;
}

/** struct walk - along a row of logits, block by block */
struct walk {
	const struct vtpu_op *op;
	struct vtpu_scratch *s;
	const uint8_t *in;
	unsigned int type;
	uint32_t cols;
};

/* The next block into X; its size, 0 at the end or when cancelled. */
static uint32_t next(const struct walk *w, uint32_t col)
{
	uint32_t n = w->cols - col < VTPU_BLOCK ? w->cols - col : VTPU_BLOCK;

	if (!n || vtpu_op_cancelled(w->op))
		return 0;
	w->op->run->kernels->widen(vtpu_reg(w->s, X),
				   w->in + (size_t)col * vtpu_type_bytes(w->type), n, w->type);
	return n;
}

/* ---- Largest ------------------------------------------------------------------ */

/* Number of the first of the largest; the first NaN, if there is one. */
static uint32_t largest(const struct walk *w)
{
	const float *x = vtpu_reg(w->s, X);
	uint32_t first = 0, n;
	float best = 0.0f;

	for (uint32_t col = 0; (n = next(w, col)); col += n) {
		size_t i = w->op->run->kernels->argmax(x, n);

		if (!col || (best == best && (x[i] != x[i] || x[i] > best))) {
			best = x[i];
			first = col + (uint32_t)i;
		}
	}
	return first;
}

uint32_t vtpu_argmax_parts(const struct vtpu_op *op, uint32_t threads)
{
	(void)threads;
	return parts_of(op->insn->payload.rows.rows, op->insn->payload.rows.cols);
}

void vtpu_argmax_run(const struct vtpu_op *op, uint32_t part, uint32_t parts,
		     struct vtpu_scratch *s)
{
	const struct vtpu_insn_rows *x = &op->insn->payload.rows;
	struct walk w = { .op = op, .s = s, .type = x->in_type, .cols = x->cols };
	uint32_t end = vtpu_split(x->rows, part + 1, parts);

	for (uint32_t i = vtpu_split(x->rows, part, parts); i < end && !vtpu_op_cancelled(op);
	     i++) {
		uint32_t most;

		w.in = vtpu_op_vmem(op, x->in) + (size_t)i * x->in_pitch;
		most = largest(&w);
		memcpy(vtpu_op_vmem(op, x->out) + (size_t)i * x->out_pitch, &most, sizeof(most));
	}
}

/* ---- Cross-entropy --------------------------------------------------------------- */

/** struct row - one row, and what is known of it */
struct row {
	struct walk walk;
	const struct vtpu_insn_xent *x;
	uint32_t number;
	int64_t label;
	float weight;
	float max, sum;
};

static int64_t label_of(const struct vtpu_op *op, uint32_t row)
{
	const struct vtpu_insn_xent *x = &op->insn->payload.xent;
	const uint8_t *labels = vtpu_op_vmem(op, x->labels);
	int32_t label;

	if (x->label_type == VTPU_TYPE_U8)
		return labels[row];
	memcpy(&label, labels + (size_t)row * sizeof(label), sizeof(label));
	return label;
}

static float weight_of(const struct vtpu_op *op, uint32_t row)
{
	const struct vtpu_insn_xent *x = &op->insn->payload.xent;
	uint32_t bits;

	if (!(x->mode & VTPU_XENT_WEIGHTS))
		return 1.0f;
	memcpy(&bits, vtpu_op_vmem(op, x->weights) + (size_t)row * sizeof(bits), sizeof(bits));
	return vtpu_f32(vtpu_f32_flush(bits));
}

/* e[j] = exp(x[j] - max) in X; @scalar's block holds max. */
static void exponentials(const struct row *r, uint32_t n)
{
	const struct vtpu_kernels *k = r->walk.op->run->kernels;
	float *x = vtpu_reg(r->walk.s, X);

	k->ew(VTPU_EW_SUB, x, x, vtpu_reg(r->walk.s, SCALAR), n);
	k->ew(VTPU_EW_EXP, x, x, x, n);
}

static void splat(const struct row *r, unsigned int block, float x)
{
	vtpu_splat(vtpu_reg(r->walk.s, block), vtpu_f32_bits(x), r->walk.cols);
}

static void find_sums(struct row *r)
{
	struct vtpu_tree max = { .op = VTPU_REDUCE_MAX }, sum = { .op = VTPU_REDUCE_SUM };
	const struct vtpu_kernels *k = r->walk.op->run->kernels;
	float *x = vtpu_reg(r->walk.s, X);
	uint32_t n;

	for (uint32_t col = 0; (n = next(&r->walk, col)); col += n)
		vtpu_tree_add(&max, k, x, n);
	r->max = vtpu_tree_end(&max);
	splat(r, SCALAR, r->max);
	for (uint32_t col = 0; (n = next(&r->walk, col)); col += n) {
		exponentials(r, n);
		vtpu_tree_add(&sum, k, x, n);
	}
	r->sum = vtpu_tree_end(&sum);
}

/* w * (log(sum) - (x[label] - max)), and whether the label has the largest logit */
static void put_loss(const struct row *r)
{
	const struct vtpu_op *op = r->walk.op;
	const struct vtpu_kernels *k = op->run->kernels;
	uint8_t *out = vtpu_op_vmem(op, r->x->loss) + (size_t)r->number * 2 * sizeof(float);
	float *t = vtpu_reg(r->walk.s, TEMP), loss[2];

	k->widen(t, r->walk.in + (size_t)r->label * vtpu_type_bytes(r->x->in_type), 1,
		 r->x->in_type);
	loss[0] = t[0] - r->max;
	t[0] = r->sum;
	k->ew(VTPU_EW_LOG, t, t, t, 1);
	loss[0] = r->weight * (t[0] - loss[0]);
	loss[1] = largest(&r->walk) == r->label ? r->weight : 0.0f;
	k->narrow(out, loss, 2, VTPU_TYPE_F32);
}

/* (p[j] - (j == label)) * (w * scale); a block is read before it is replaced */
static void put_grad(const struct row *r, float scale)
{
	const struct vtpu_op *op = r->walk.op;
	const struct vtpu_kernels *k = op->run->kernels;
	uint8_t *out = vtpu_op_vmem(op, r->x->grad) + (size_t)r->number * r->x->grad_pitch;
	const size_t size = vtpu_type_bytes(r->x->grad_type);
	float *x = vtpu_reg(r->walk.s, X);
	uint32_t n;

	for (uint32_t col = 0; (n = next(&r->walk, col)); col += n) {
		splat(r, SCALAR, r->max);
		exponentials(r, n);
		splat(r, SCALAR, r->sum);
		k->ew(VTPU_EW_DIV, x, x, vtpu_reg(r->walk.s, SCALAR), n);
		if (r->label >= col && r->label < (int64_t)col + n)
			x[r->label - col] -= 1.0f;
		splat(r, SCALAR, r->weight * scale);
		k->ew(VTPU_EW_MUL, x, x, vtpu_reg(r->walk.s, SCALAR), n);
		k->narrow(out + col * size, x, n, r->x->grad_type);
	}
}

/* A row of no weight is padding: zeros, whatever it holds. */
static void put_zeros(const struct row *r)
{
	const struct vtpu_op *op = r->walk.op;

	if (r->x->mode & VTPU_XENT_LOSS)
		memset(vtpu_op_vmem(op, r->x->loss) + (size_t)r->number * 2 * sizeof(float), 0,
		       2 * sizeof(float));
	if (r->x->mode & VTPU_XENT_GRAD)
		memset(vtpu_op_vmem(op, r->x->grad) + (size_t)r->number * r->x->grad_pitch, 0,
		       (size_t)r->x->cols * vtpu_type_bytes(r->x->grad_type));
}

uint32_t vtpu_xent_parts(const struct vtpu_op *op, uint32_t threads)
{
	(void)threads;
	return parts_of(op->insn->payload.xent.rows, op->insn->payload.xent.cols);
}

void vtpu_xent_run(const struct vtpu_op *op, uint32_t part, uint32_t parts, struct vtpu_scratch *s)
{
	const struct vtpu_insn_xent *x = &op->insn->payload.xent;
	const float scale = vtpu_f32(vtpu_f32_flush(vtpu_op_arg(op, 0, x->imm[0])));
	struct row r = {
		.walk = { .op = op, .s = s, .type = x->in_type, .cols = x->cols },
		.x = x,
	};
	uint32_t end = vtpu_split(x->rows, part + 1, parts);

	for (r.number = vtpu_split(x->rows, part, parts); r.number < end && !vtpu_op_cancelled(op);
	     r.number++) {
		r.walk.in = vtpu_op_vmem(op, x->in) + (size_t)r.number * x->in_pitch;
		r.weight = weight_of(op, r.number);
		if (r.weight == 0.0f) {
			put_zeros(&r);
			continue;
		}
		r.label = label_of(op, r.number);
		if (r.label < 0 || r.label >= x->cols) {
			vtpu_op_fault(s, VTPU_ST_INDEX, (uint64_t)r.label);
			return;
		}
		find_sums(&r);
		if (x->mode & VTPU_XENT_LOSS)
			put_loss(&r);
		if (x->mode & VTPU_XENT_GRAD)
			put_grad(&r, scale);
	}
}
