/* SPDX-License-Identifier: MIT */
/*
 * op_host.h - one instruction on bare memory, with one instruction set of the host after the other.
 *
 * The tests of kernels share it: memory to start from, two results to compare, and who runs.
 */
#ifndef TESTS_UNIT_OP_HOST_H
#define TESTS_UNIT_OP_HOST_H

#include "gen.h"
#include "hand.h"
#include "tap.h"
#include "unit.h"

extern const struct vtpu_kernels vtpu_kernels_avx512_portable;

static uint8_t *start, *want, *got; /* [GEN_VMEM] */
static struct vtpu_program program = { .width = 1 };
static struct vtpu_run run = { .program = &program };
static struct vtpu_scratch scratch;
static uint32_t smem[1024];

static inline bool host_begin(void)
{
	start = hand_alloc(GEN_VMEM + 64);
	want = hand_alloc(GEN_VMEM + 64);
	got = hand_alloc(GEN_VMEM + 64);
	return vtpu_scratch_init(&scratch);
}

static inline void host_end(void)
{
	vtpu_scratch_free(&scratch);
	free(start);
	free(want);
	free(got);
}

/** execute() - on the middle core of the program, from @start in @vmem, in @parts of which @first comes first */
static inline enum vtpu_hw_status execute(const struct vtpu_kernels *k,
					  const struct vtpu_insn *insn, uint8_t *vmem,
					  uint32_t parts, uint32_t first)
{
	struct vtpu_op op = { .run = &run, .insn = insn, .core = program.width / 2 };
	enum vtpu_hw_status st = VTPU_ST_OK;

	run.kernels = k;
	run.core[op.core].vmem = vmem;
	run.core[op.core].smem = smem;
	memcpy(vmem, start, GEN_VMEM);
	for (uint32_t i = 0; i < parts && !st; i++)
		st = vtpu_op_run(&op, (first + i) % parts, parts, &scratch);
	return st;
}

/** same() - is @got what @want is? Shows the first byte that differs if not, after case @seed of @what */
static inline bool same(const char *what, uint64_t seed, const struct vtpu_insn *insn,
			uint32_t parts)
{
	if (!memcmp(want, got, GEN_VMEM))
		return true;
	for (uint32_t i = 0; i < GEN_VMEM; i++) {
		if (want[i] == got[i])
			continue;
		printf("# %s, case %" PRIu64
		       ", opcode %#x, %u parts: VMEM byte %#x is %#x, not %#x\n",
		       what, seed, insn->opcode, parts, i, got[i], want[i]);
		break;
	}
	return false;
}

/** host_sets() - @compare with all kernels that this CPU can run; @scalar: what stands for the scalar ones */
static inline void host_sets(void (*compare)(const char *name, const struct vtpu_kernels *k),
			     const struct vtpu_kernels *scalar)
{
	static const struct {
		const char *name;
		const struct vtpu_kernels *k;
		int isa;
	} sets[] = {
		{ "avx2", &vtpu_kernels_avx2, VTPU_ISA_AVX2 },
		{ "avx512, portable intrinsics", &vtpu_kernels_avx512_portable, VTPU_ISA_AVX2 },
		{ "avx512", &vtpu_kernels_avx512, VTPU_ISA_AVX512 },
	};

	compare("scalar", scalar);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (vtpu_kernels_select(sets[i].isa)->isa == sets[i].isa)
			compare(sets[i].name, sets[i].k);
		else
			tap_ok(true, "%s # SKIP this CPU has it not", sets[i].name);
	}
}

#endif /* TESTS_UNIT_OP_HOST_H */
