// SPDX-License-Identifier: MIT
/*
 * test_kernels.c - every instruction set gives the bits of the scalar one.
 *
 * Random instructions of all opcodes over awkward numbers, cut into random
 * numbers of parts that run in random order; and the scalar product against a
 * plain loop of fmaf(). AVX-512 is also run where the CPU has none, through
 * SIMDe's portable intrinsics (avx512_portable.c).
 */
#include <math.h>
#include <stdlib.h>

#include "unit/op_host.h"

#define CASES 1000

/* A number of parts that the executor could have chosen, or fewer. */
static uint32_t some_parts(struct gen *g, const struct vtpu_kernels *k,
			   const struct vtpu_insn *insn)
{
	struct vtpu_op op = { .run = &run, .insn = insn };
	uint32_t most;

	run.kernels = k;
	most = vtpu_op_parts(&op, 8);
	if (insn->opcode == VTPU_OP_MATMUL)
		return 1u << gen_below(g, 6);
	if (insn->opcode == VTPU_OP_COPY || insn->opcode == VTPU_OP_FILL)
		return most;
	return 1 + gen_below(g, insn->opcode == VTPU_OP_EW ? 9 : most + 4);
}

/*
 * A DMA whose boxes overlap may not be cut; vtpu_op_parts() says 1 for it, so
 * its parts are what the executor would use.
 */
static void compare(const char *isa, const struct vtpu_kernels *k)
{
	uint32_t wrong[256] = { 0 }, cases[256] = { 0 };
	static const struct {
		uint8_t opcode;
		const char *name;
	} ops[] = {
		{ VTPU_OP_MATMUL, "matmul" },	    { VTPU_OP_EW, "element-wise chains" },
		{ VTPU_OP_REDUCE, "reductions" },   { VTPU_OP_SOFTMAX, "softmax" },
		{ VTPU_OP_TRANSPOSE, "transpose" }, { VTPU_OP_COPY, "copy" },
		{ VTPU_OP_FILL, "fill" },
	};

	for (uint64_t seed = 0; seed < CASES; seed++) {
		struct vtpu_insn insn;
		struct gen g = { 0 };
		uint32_t parts;
		bool ok;

		gen_insn(&g, seed, start, &insn);
		ok = execute(&vtpu_kernels_scalar, &insn, want, 1, 0) == VTPU_ST_OK;
		parts = some_parts(&g, k, &insn);
		ok &= execute(k, &insn, got, parts, gen_below(&g, parts)) == VTPU_ST_OK;
		cases[insn.opcode]++;
		wrong[insn.opcode] += !ok;
		if (!same(isa, seed, &insn, parts) && wrong[insn.opcode]++ > 3)
			break;
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		tap_ok(cases[ops[i].opcode] && !wrong[ops[i].opcode],
		       "%s: %s, %u cases, bits of scalar", isa, ops[i].name, cases[ops[i].opcode]);
}

/* ---- The scalar product against its definition ---------------------------- */

static float get(const uint8_t *p, unsigned int type)
{
	uint16_t h;
	float f;

	if (type == VTPU_TYPE_BF16) {
		memcpy(&h, p, 2);
		return vtpu_bf16_to_f32(h);
	}
	memcpy(&f, p, 4);
	return f;
}

static float chain(const struct vtpu_insn_mxu *x, uint32_t i, uint32_t j)
{
	float acc = 0.0f;

	if (x->mode & VTPU_MXU_ACCUMULATE)
		acc = get(start + x->c + i * x->ldc + j * 4, VTPU_TYPE_F32);
	for (int g = 0; g < x->g; g++) {
		const uint8_t *a = start + x->a + g * x->a_gstride,
			      *b = start + x->b + g * x->b_gstride;
		uint32_t as = vtpu_type_bytes(x->a_type), bs = vtpu_type_bytes(x->b_type);

		for (uint32_t k = 0; k < x->k; k++) {
			float av = get(x->mode & VTPU_MXU_TRANS_A ? a + k * x->lda + i * as :
								    a + i * x->lda + k * as,
				       x->a_type);
			float bv = get(x->mode & VTPU_MXU_TRANS_B ? b + j * x->ldb + k * bs :
								    b + k * x->ldb + j * bs,
				       x->b_type);

			acc = fmaf(av, bv, acc);
		}
	}
	return acc != acc ? vtpu_f32(VTPU_NAN_F32) : acc + 0.0f;
}

static void definition(void)
{
	uint32_t wrong = 0, outputs = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct vtpu_insn insn;
		struct vtpu_insn_mxu *x = &insn.payload.mxu;
		struct gen g = { 0 };
		unsigned int fp;

		gen_matmul(&g, seed, start, &insn);
		memset(x->epi_op, 0, sizeof(x->epi_op));
		memset(x->epi_arg, 0, sizeof(x->epi_arg));
		execute(&vtpu_kernels_scalar, &insn, want, 1, 0);
		fp = vtpu_fp_enter();
		for (uint32_t i = 0; i < x->m; i++) {
			for (uint32_t j = 0; j < x->n; j++, outputs++) {
				const uint8_t *d =
					want + x->d + i * x->ldd + j * vtpu_type_bytes(x->d_type);
				float c = chain(x, i, j);
				uint16_t h = vtpu_bf16_from_f32(c);

				wrong += x->d_type == VTPU_TYPE_F32 ? memcmp(d, &c, 4) != 0 :
								      memcmp(d, &h, 2) != 0;
			}
		}
		vtpu_fp_leave(fp);
	}
	tap_ok(!wrong, "scalar: each output is the fmaf() chain of its definition (%u outputs)",
	       outputs);
}

int main(void)
{
	if (!host_begin())
		return 1;
	definition();
	host_sets(compare, &vtpu_kernels_scalar);
	host_end();
	return tap_done();
}
