// SPDX-License-Identifier: MIT
/*
 * test_ref_bounds.c - results stay within the stated bounds of a double-precision reference.
 *
 * Random instructions on the kernels that this CPU selects; half of them with
 * ordinary numbers only, where the bound says most, half with awkward ones,
 * where NaN must be NaN and infinity infinity. Moves must be exact.
 */
#include <math.h>

#include "gen.h"
#include "hand.h"
#include "reference/ref_ops.h"
#include "tap.h"
#include "unit.h"

#define CASES 1000

static uint8_t *start, *end, *want;
static struct vtpu_program program = { .width = 1 };
static struct vtpu_run run = { .program = &program };
static struct vtpu_scratch scratch;

/** struct tally - results of one kind of instruction */
struct tally {
	const char *name;
	uint64_t results, known, wrong;
	double tightest; /* largest share of its bound that an error took */
};

enum {
	MATMUL,
	EW,
	REDUCE,
	SOFTMAX,
	TRANSPOSE,
	COPY,
	FILL,
	KINDS
};

static struct tally tally[KINDS] = {
	{ .name = "matmul with epilogue" }, { .name = "element-wise chains" },
	{ .name = "reductions" },	    { .name = "softmax" },
	{ .name = "transpose, exactly" },   { .name = "copy, exactly" },
	{ .name = "fill, exactly" },
};

static void check(struct tally *t, uint64_t seed, struct ref r, const uint8_t *p, unsigned int type)
{
	double got = ref_get(p, type), error = fabs(got - r.v);
	bool ok;

	t->results++;
	if (!isfinite(r.e))
		return;
	t->known++;
	if (isnan(r.v))
		ok = isnan(got);
	else if (isinf(r.v))
		ok = got == r.v || (r.e > 0 && isnan(got));
	else
		ok = error <= r.e;
	if (ok && r.e > 0 && isfinite(error))
		t->tightest = fmax(t->tightest, error / r.e);
	if (!ok && t->wrong++ < 3)
		printf("# %s, case %" PRIu64 ": got %.9g, reference %.9g, bound %.3g\n", t->name,
		       seed, got, r.v, r.e);
}

static void check_rows(struct tally *t, uint64_t seed, const struct vtpu_insn_rows *x)
{
	static struct ref row[8192];

	for (uint32_t i = 0; i < x->rows; i++) {
		ref_softmax(x, start, i, row);
		for (uint32_t j = 0; j < x->cols; j++)
			check(t, seed, row[j],
			      end + x->out + i * x->out_pitch + j * vtpu_type_bytes(x->out_type),
			      x->out_type);
	}
}

static void check_memory(struct tally *t, uint64_t seed)
{
	t->results++;
	t->known++;
	if (memcmp(want, end, GEN_VMEM) && t->wrong++ < 3)
		printf("# %s, case %" PRIu64 ": memory differs\n", t->name, seed);
}

static void check_insn(uint64_t seed, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_mxu *m = &insn->payload.mxu;
	const struct vtpu_insn_ew *e = &insn->payload.ew;
	const struct vtpu_insn_rows *x = &insn->payload.rows;

	switch (insn->opcode) {
	case VTPU_OP_MATMUL:
		for (uint32_t i = 0; i < m->m; i++) {
			for (uint32_t j = 0; j < m->n; j++)
				check(&tally[MATMUL], seed, ref_matmul(m, start, i, j),
				      end + m->d + i * m->ldd + j * vtpu_type_bytes(m->d_type),
				      m->d_type);
		}
		break;
	case VTPU_OP_EW:
		for (unsigned int o = 0; o < e->nout; o++) {
			for (uint32_t i = 0; i < e->rows; i++) {
				for (uint32_t j = 0; j < e->cols; j++)
					check(&tally[EW], seed, ref_ew(e, start, o, i, j),
					      end + e->out[o].addr + i * e->out[o].pitch +
						      j * vtpu_type_bytes(e->out_type[o]),
					      e->out_type[o]);
			}
		}
		break;
	case VTPU_OP_REDUCE:
		for (uint32_t i = 0; i < (x->axis ? x->rows : x->cols); i++)
			check(&tally[REDUCE], seed, ref_reduce(x, start, i),
			      end + x->out +
				      i * (x->axis ? x->out_pitch : vtpu_type_bytes(x->out_type)),
			      x->out_type);
		break;
	case VTPU_OP_SOFTMAX:
		check_rows(&tally[SOFTMAX], seed, x);
		break;
	case VTPU_OP_TRANSPOSE:
		memcpy(want, start, GEN_VMEM);
		ref_transpose(x, want);
		check_memory(&tally[TRANSPOSE], seed);
		break;
	default:
		memcpy(want, start, GEN_VMEM);
		ref_dma(insn, want);
		check_memory(&tally[insn->opcode == VTPU_OP_COPY ? COPY : FILL], seed);
		break;
	}
}

int main(void)
{
	static uint32_t smem[1024];

	start = hand_alloc(GEN_VMEM + 64);
	end = hand_alloc(GEN_VMEM + 64);
	want = hand_alloc(GEN_VMEM + 64);
	if (!vtpu_scratch_init(&scratch))
		return 1;
	run.kernels = vtpu_kernels_select(VTPU_ISA_AUTO);
	run.core[0].vmem = end;
	run.core[0].smem = smem;

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct gen g = { .tame = seed / 10 % 2 };
		struct vtpu_insn insn;
		struct vtpu_op op = { .run = &run, .insn = &insn };

		gen_insn(&g, seed, start, &insn);
		memcpy(end, start, GEN_VMEM);
		vtpu_op_run(&op, 0, 1, &scratch);
		check_insn(seed, &insn);
	}
	for (int i = 0; i < KINDS; i++) {
		const struct tally *t = &tally[i];

		tap_ok(t->known && !t->wrong,
		       "%s (%s): %" PRIu64 " results, %" PRIu64
		       " with a bound, error at most %.2f of it",
		       t->name, vtpu_isa_name(vtpu_kernels_isa(run.kernels)), t->results, t->known,
		       t->tightest);
	}
	vtpu_scratch_free(&scratch);
	free(start);
	free(end);
	free(want);
	return tap_done();
}
