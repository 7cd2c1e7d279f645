/* SPDX-License-Identifier: MIT */
/*
 * select.c - which host kernels run: by request, by environment, by CPU.
 */
#include <stdlib.h>
#include <string.h>

#include "vtpu_model.h"

#include "kernels/kernels.h"
#include "program.h"

static bool cpu_has(int isa)
{
	switch (isa) {
	case VTPU_ISA_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	case VTPU_ISA_AVX512:
		return __builtin_cpu_supports("avx512f");
	default:
		return true;
	}
}

const char *vtpu_isa_name(enum vtpu_isa isa)
{
	switch (isa) {
	case VTPU_ISA_SCALAR:
		return "scalar";
	case VTPU_ISA_AVX2:
		return "avx2";
	case VTPU_ISA_AVX512:
		return "avx512";
	default:
		return "auto";
	}
}

const struct vtpu_kernels *vtpu_kernels_select(int isa)
{
	if (isa == VTPU_ISA_AUTO) {
		const char *name = getenv("VTPU_ISA");

		isa = VTPU_ISA_AVX512;
		for (int i = VTPU_ISA_SCALAR; name && i <= VTPU_ISA_AVX512; i++) {
			if (!strcmp(name, vtpu_isa_name(i)))
				isa = i;
		}
	}
	__builtin_cpu_init();
	if (isa == VTPU_ISA_AVX512 && cpu_has(VTPU_ISA_AVX512))
		return &vtpu_kernels_avx512;
	if (isa >= VTPU_ISA_AVX2 && cpu_has(VTPU_ISA_AVX2))
		return &vtpu_kernels_avx2;
	return &vtpu_kernels_scalar;
}

int vtpu_kernels_isa(const struct vtpu_kernels *kernels)
{
	return kernels->isa;
}
