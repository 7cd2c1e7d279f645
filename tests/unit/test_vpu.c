// SPDX-License-Identifier: MIT
/*
 * test_vpu.c - pooling, arg-max, cross-entropy, optimisers and random numbers.
 *
 * Random instructions: the scalar kernels against their definition element by element
 * (naive_vpu.h), every instruction set and any parts against the scalar ones, and
 * ordinary numbers against double precision. Then known answers, ties, NaN, padding and
 * labels that are no class.
 */
#include <math.h>

#include "gen_vpu.h"
#include "naive_vpu.h"
#include "philox.h"
#include "reference/ref_vpu.h"
#include "unit/image_builder.h"
#include "unit/op_host.h"

#define CASES 900

static float *sum;

static const struct {
	uint8_t opcode;
	const char *name;
} ops[] = {
	{ VTPU_OP_POOL, "pool" },	  { VTPU_OP_POOL_GRAD, "pool_grad" },
	{ VTPU_OP_ARGMAX, "argmax" },	  { VTPU_OP_SOFTMAX_XENT, "softmax_xent" },
	{ VTPU_OP_OPTIMIZE, "optimize" }, { VTPU_OP_RNG_FILL, "rng_fill" },
};

#define OPS (sizeof(ops) / sizeof(ops[0]))

/* With @k NULL: scalar against definition; else that instruction set against scalar. */
static void compare(const char *name, const struct vtpu_kernels *k)
{
	uint32_t wrong[256] = { 0 }, cases[256] = { 0 }, cut[256] = { 0 };

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct vtpu_op op = { .run = &run };
		struct gen g = { .tame = seed / 6 % 3 == 0 };
		struct vtpu_insn insn;
		uint32_t parts = 1;

		gen_vpu(&g, seed, start, &insn);
		op.insn = &insn;
		if (k) {
			execute(&vtpu_kernels_scalar, &insn, want, 1, 0);
			parts = 1 + gen_below(&g, vtpu_op_parts(&op, 8) + 6);
			execute(k, &insn, got, parts, gen_below(&g, parts));
		} else {
			unsigned int fp = vtpu_fp_enter();

			memcpy(want, start, GEN_VMEM);
			nv_run(&insn, want, 2, sum);
			vtpu_fp_leave(fp);
			execute(&vtpu_kernels_scalar, &insn, got, 1, 0);
		}
		cases[insn.opcode]++;
		cut[insn.opcode] += parts > 1;
		if (!same(name, seed, &insn, parts) && wrong[insn.opcode]++ > 3)
			break;
	}
	for (size_t i = 0; i < OPS; i++)
		tap_ok(cases[ops[i].opcode] && !wrong[ops[i].opcode] && (!k || cut[ops[i].opcode]),
		       "%s: %s, %u cases, %s", name, ops[i].name, cases[ops[i].opcode],
		       k ? "bits of scalar" : "the definition's bits");
}

/* ---- Double precision ------------------------------------------------------------- */

struct tally {
	uint64_t results, wrong;
	double tightest;
};

static void check(struct tally *t, struct ref r, const uint8_t *p, unsigned int type)
{
	double error = fabs(ref_get(p, type) - r.v);

	if (!isfinite(r.e))
		return;
	t->results++;
	if (!(error <= r.e)) {
		if (t->wrong++ < 3)
			printf("# got %.9g, reference %.9g, bound %.3g\n", ref_get(p, type), r.v,
			       r.e);
		return;
	}
	if (r.e > 0)
		t->tightest = fmax(t->tightest, error / r.e);
}

static void check_pool(struct tally *t, const struct vtpu_insn *insn)
{
	const struct vtpu_insn_pool *x = &insn->payload.pool;
	const struct nv_geometry g = nv_geometry(x);
	static struct ref r[1 << 18];
	size_t n = (size_t)x->images * x->in_h * x->in_w * x->channels;

	if (insn->opcode == VTPU_OP_POOL_GRAD) {
		ref_pool_grad(x, start, r);
	} else {
		ref_pool(x, start, r);
		n = (size_t)x->images * g.out_h * g.out_w * x->channels;
	}
	for (size_t i = 0; i < n; i++)
		check(t, r[i], got + x->out + i * g.size, x->type);
}

static void check_xent(struct tally *t, const struct vtpu_insn_xent *x)
{
	static struct ref grad[4096];

	for (uint32_t i = 0; i < x->rows; i++) {
		struct ref loss = ref_xent(x, start, i, grad);

		if (x->mode & VTPU_XENT_LOSS)
			check(t, loss, got + x->loss + 8 * i, VTPU_TYPE_F32);
		for (uint32_t j = 0; j < x->cols && x->mode & VTPU_XENT_GRAD; j++)
			check(t, grad[j],
			      got + x->grad + i * x->grad_pitch + j * vtpu_type_bytes(x->grad_type),
			      x->grad_type);
	}
}

static void check_opt(struct tally *t, const struct vtpu_insn_opt *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		struct ref m, v, p = ref_opt(x, start, i, &m, &v);

		check(t, p, got + x->param + 4 * i, VTPU_TYPE_F32);
		if (x->kind != VTPU_OPT_SGD)
			check(t, m, got + x->m + 4 * i, VTPU_TYPE_F32);
		if (x->kind == VTPU_OPT_ADAM)
			check(t, v, got + x->v + 4 * i, VTPU_TYPE_F32);
	}
}

static void bounds(void)
{
	struct tally tally[256] = { 0 };

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct gen g = { .tame = true };
		struct vtpu_insn insn;

		gen_vpu(&g, seed, start, &insn);
		execute(vtpu_kernels_select(VTPU_ISA_AUTO), &insn, got, 1, 0);
		switch (insn.opcode) {
		case VTPU_OP_POOL:
		case VTPU_OP_POOL_GRAD:
			check_pool(&tally[insn.opcode], &insn);
			break;
		case VTPU_OP_SOFTMAX_XENT:
			check_xent(&tally[insn.opcode], &insn.payload.xent);
			break;
		case VTPU_OP_OPTIMIZE:
			check_opt(&tally[insn.opcode], &insn.payload.opt);
			break;
		}
	}
	for (size_t i = 0; i < OPS; i++) {
		const struct tally *t = &tally[ops[i].opcode];

		if (ops[i].opcode != VTPU_OP_ARGMAX && ops[i].opcode != VTPU_OP_RNG_FILL)
			tap_ok(t->results > 1000 && !t->wrong,
			       "%s: %" PRIu64
			       " results within the bound of double precision, at most %.2f of it",
			       ops[i].name, t->results, t->tightest);
	}
}

/* ---- Known answers ------------------------------------------------------------------ */

/* The vectors that come with the authors' implementation: counter, key, result */
static void known_philox(void)
{
	static const uint32_t vector[][10] = {
		{ 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
		{ ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
		{ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
		  0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
	};
	struct vtpu_insn insn = { .opcode = VTPU_OP_RNG_FILL, .unit = VTPU_UNIT_VPU };
	struct vtpu_insn_rng *x = &insn.payload.rng;
	bool ok = true;

	for (int i = 0; i < 3; i++) {
		uint32_t word[4];

		memcpy(word, vector[i], sizeof(word));
		vtpu_philox(word, vector[i][4], vector[i][5]);
		ok &= !memcmp(word, vector[i] + 6, sizeof(word));
	}
	tap_ok(ok, "Philox4x32-10 gives its authors' numbers");

	*x = (struct vtpu_insn_rng){ .rows = 1,
				     .cols = 4,
				     .out_pitch = 16,
				     .out_type = VTPU_TYPE_F32,
				     .kind = VTPU_RNG_UNIFORM };
	execute(&vtpu_kernels_scalar, &insn, got, 1, 0);
	for (int i = 0; i < 4; i++)
		ok &= nv_get(got + 4 * i, VTPU_TYPE_F32) ==
		      (float)(vector[0][6 + i] >> 8) / 16777216.0f;
	tap_ok(ok, "and so does the instruction");

	smem[300] = 7;
	smem[301] = 8;
	smem[302] = 9;
	insn.flags = VTPU_INSN_ARG_SMEM(0) | VTPU_INSN_ARG_SMEM(1) | VTPU_INSN_ARG_SMEM(2);
	for (int i = 0; i < 3; i++)
		x->imm[i] = 300 + i;
	execute(&vtpu_kernels_scalar, &insn, got, 1, 0);
	insn.flags = 0;
	for (int i = 0; i < 3; i++)
		x->imm[i] = 7 + i;
	execute(&vtpu_kernels_scalar, &insn, want, 1, 0);
	tap_ok(!memcmp(want, got, GEN_VMEM), "seed, stream and step may come from SMEM");
}

static void put(uint32_t at, float f)
{
	memcpy(start + at, &f, 4);
}

static void known_pool(void)
{
	static const struct {
		float in[4], out;
		uint8_t place;
	} cases[] = {
		{ { 1, 2, 3, 4 }, 4, 3 },
		{ { 5, 5, 5, 5 }, 5, 0 },
		{ { -1, -3, -1, -2 }, -1, 0 },
		{ { 0.0f, -0.0f, 0, 0 }, 0, 0 },
		{ { 1, NAN, INFINITY, 2 }, NAN, 1 },
		{ { NAN, 1, NAN, 2 }, NAN, 2 },
	};
	struct vtpu_insn insn = { .opcode = VTPU_OP_POOL, .unit = VTPU_UNIT_VPU };
	bool ok = true;

	insn.payload.pool = (struct vtpu_insn_pool){
		.in = 0,
		.out = 1024,
		.index = 2048,
		.images = 6,
		.channels = 1,
		.in_h = 2,
		.in_w = 2,
		IB_MAX_2X2,
	};
	for (int i = 0; i < 6; i++)
		for (int t = 0; t < 4; t++)
			put(16 * i + 4 * t, cases[i].in[t]);
	execute(vtpu_kernels_select(VTPU_ISA_AUTO), &insn, got, 1, 0);
	for (int i = 0; i < 6; i++) {
		float out = nv_get(got + 1024 + 4 * i, VTPU_TYPE_F32);

		ok &= got[2048 + i] == cases[i].place &&
		      (cases[i].out == out || (out != out && cases[i].out != cases[i].out));
	}
	tap_ok(ok, "pool: the first of the largest, of NaNs the last");
}

static void known_argmax(void)
{
	static const struct {
		float in[5];
		int32_t at;
	} cases[] = {
		{ { 1, 3, 2, 3, 0 }, 1 },
		{ { NAN, NAN, 1, 2, 3 }, 0 },
		{ { INFINITY, 1, 2, NAN, NAN }, 3 },
		{ { -0.0f, 0.0f, 0, 0, 0 }, 0 },
		{ { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY }, 0 },
	};
	struct vtpu_insn insn = { .opcode = VTPU_OP_ARGMAX, .unit = VTPU_UNIT_VPU };
	bool ok = true;

	insn.payload.rows = (struct vtpu_insn_rows){ .out = 1024,
						     .rows = 5,
						     .cols = 5,
						     .in_pitch = 20,
						     .out_pitch = 4,
						     .in_type = VTPU_TYPE_F32,
						     .out_type = VTPU_TYPE_S32 };
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++)
			put(20 * i + 4 * j, cases[i].in[j]);
	execute(vtpu_kernels_select(VTPU_ISA_AUTO), &insn, got, 1, 0);
	for (int i = 0; i < 5; i++)
		ok &= !memcmp(got + 1024 + 4 * i, &cases[i].at, 4);
	tap_ok(ok, "argmax: the first of the largest; NaN is larger than any number");
}

#define ROWS	4096
#define LABELS	262144
#define WEIGHTS 327680
#define LOSS	393216
#define GRAD	524288

static struct vtpu_insn xent_insn(uint32_t rows)
{
	struct vtpu_insn insn = { .opcode = VTPU_OP_SOFTMAX_XENT,
				  .unit = VTPU_UNIT_VPU,
				  .op_id = 9 };

	insn.payload.xent = (struct vtpu_insn_xent){
		.labels = LABELS,
		.weights = WEIGHTS,
		.loss = LOSS,
		.grad = GRAD,
		.rows = rows,
		.cols = 10,
		.in_pitch = 40,
		.grad_pitch = 40,
		.in_type = VTPU_TYPE_F32,
		.grad_type = VTPU_TYPE_F32,
		.label_type = VTPU_TYPE_S32,
		.mode = VTPU_XENT_MODE,
		.imm = { 0x3f800000, 0 },
	};
	return insn;
}

static void set_label(uint8_t *vmem, uint32_t row, int32_t label)
{
	memcpy(vmem + LABELS + 4 * row, &label, 4);
}

static void padding_rows(void)
{
	struct vtpu_insn insn = xent_insn(3);
	static const uint8_t zeros[40];
	bool ok;

	for (int j = 0; j < 10; j++) {
		put(4 * j, (float)j);
		put(40 + 4 * j, j % 2 ? NAN : INFINITY);
		put(80 + 4 * j, (float)-j);
	}
	put(WEIGHTS, 1);
	put(WEIGHTS + 4, 0);
	put(WEIGHTS + 8, 2);
	set_label(start, 0, 9);
	set_label(start, 1, -77); /* of no weight, so not looked at */
	set_label(start, 2, 3);
	memset(start + LOSS, 0xff, 24);
	memset(start + GRAD, 0xff, 120);
	ok = execute(vtpu_kernels_select(VTPU_ISA_AUTO), &insn, got, 1, 0) == VTPU_ST_OK;
	tap_ok(ok && !memcmp(got + LOSS + 8, zeros, 8) && !memcmp(got + GRAD + 40, zeros, 40),
	       "a row of no weight gives zeros, whatever it holds");
	tap_ok(nv_get(got + LOSS + 4, VTPU_TYPE_F32) == 1.0f &&
		       nv_get(got + LOSS + 20, VTPU_TYPE_F32) == 0.0f &&
		       fabs(nv_get(got + LOSS, VTPU_TYPE_F32) - 0.4586297) < 1e-6 &&
		       fabs(nv_get(got + LOSS + 16, VTPU_TYPE_F32) - 2 * 3.4586297) < 1e-5,
	       "losses and hits of the others, weighed");
	set_label(start, 2, 10);
	tap_is(execute(vtpu_kernels_select(VTPU_ISA_AUTO), &insn, got, 1, 0), VTPU_ST_INDEX,
	       "class 10 of 10 is none");
	tap_is(scratch.fault_addr, 10, "and named");
}

/* The lowest row counts, and the first instruction, on any number of threads. */
static void label_faults(unsigned int threads, bool reference)
{
	struct vtpu_pool *pool = vtpu_pool_create(threads, NULL, NULL, NULL);
	uint32_t wrong = 0;

	for (uint32_t round = 0; round < 20; round++) {
		struct hand h;
		struct hand_run r;

		hand_begin(&h, 1, 8);
		for (uint32_t i = 0; i < 3; i++) {
			struct vtpu_insn *insn = hand_insn(&h, VTPU_OP_SOFTMAX_XENT, 0);

			insn->payload.xent = xent_insn(ROWS).payload.xent;
			insn->payload.xent.mode &= ~VTPU_XENT_WEIGHTS;
			insn->payload.xent.weights = 0;
			if (i == 0)
				insn->payload.xent.rows = 5;
		}
		hand_end(&h);
		hand_run_init(&r, &h.p, vtpu_kernels_select(VTPU_ISA_AUTO));
		r.run.reference = reference;
		for (uint32_t row = 0; row < ROWS; row++)
			set_label(r.run.core[0].vmem, row,
				  row > 5 + round && row % 3 == 0 ? -(int32_t)row :
								    (int32_t)row % 10);
		hand_start(&r, pool);
		hand_wait(&r);
		for (uint32_t row = 6 + round;; row++) {
			if (row % 3)
				continue;
			wrong += r.run.status != VTPU_ST_INDEX || r.run.op_id != 2 ||
				 r.run.fault_addr != (uint64_t) - (int64_t)row;
			break;
		}
		hand_run_free(&r);
		hand_free(&h);
	}
	vtpu_pool_destroy(pool);
	tap_ok(!wrong, "the first wrong label is the fault, %u threads, %s executor", threads,
	       reference ? "reference" : "parallel");
}

int main(void)
{
	program.width = 4;
	sum = hand_alloc(GEN_VMEM * sizeof(float));
	if (!host_begin())
		return 1;
	host_sets(compare, NULL);
	bounds();
	memset(start, 0, GEN_VMEM);
	known_philox();
	known_pool();
	known_argmax();
	padding_rows();
	label_faults(1, true);
	label_faults(1, false);
	label_faults(4, false);
	host_end();
	free(sum);
	return tap_done();
}
