/* SPDX-License-Identifier: MIT */
/*
 * select.c - which host kernels run: by request, by environment, by CPU.
 */
#include <stdio.h>
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

const char *const vtpu_isa_names[] = {
	[VTPU_ISA_AUTO] = "auto",
	[VTPU_ISA_SCALAR] = "scalar",
	[VTPU_ISA_AVX2] = "avx2",
	[VTPU_ISA_AVX512] = "avx512",
	NULL,
};

const char *vtpu_isa_name(enum vtpu_isa isa)
{
	return vtpu_isa_names[isa <= VTPU_ISA_AVX512 ? isa : VTPU_ISA_AUTO];
}

/* The widest up to @isa that this CPU has */
static const struct vtpu_kernels *widest(int isa)
{
	__builtin_cpu_init();
	if (isa >= VTPU_ISA_AVX512 && cpu_has(VTPU_ISA_AVX512))
		return &vtpu_kernels_avx512;
	if (isa >= VTPU_ISA_AVX2 && cpu_has(VTPU_ISA_AVX2))
		return &vtpu_kernels_avx2;
	return &vtpu_kernels_scalar;
}

const struct vtpu_kernels *vtpu_kernels_choose(int isa, char *err, size_t err_bytes)
{
	const char *asked = "isa", *name = getenv("VTPU_ISA");
	const struct vtpu_kernels *k;

	if (isa == VTPU_ISA_AUTO && name && *name) {
		asked = "VTPU_ISA";
		while (isa <= VTPU_ISA_AVX512 && strcmp(name, vtpu_isa_name(isa)))
			isa++;
		if (isa > VTPU_ISA_AVX512) {
			snprintf(err, err_bytes,
				 "VTPU_ISA=%s: expected auto, scalar, avx2 or avx512", name);
			return NULL;
		}
	}
	if (isa < VTPU_ISA_AUTO || isa > VTPU_ISA_AVX512) {
		snprintf(err, err_bytes, "isa=%d: no such instruction set", isa);
		return NULL;
	}
	k = widest(isa == VTPU_ISA_AUTO ? VTPU_ISA_AVX512 : isa);
	if (isa != VTPU_ISA_AUTO && k->isa != isa) {
		snprintf(err, err_bytes, "%s=%s: this host's CPU has only %s; %s=auto takes that",
			 asked, vtpu_isa_name(isa), vtpu_isa_name(k->isa), asked);
		return NULL;
	}
	return k;
}

const struct vtpu_kernels *vtpu_kernels_select(int isa)
{
	char err[128];
	const struct vtpu_kernels *k = vtpu_kernels_choose(isa, err, sizeof(err));

	return k ? k : widest(isa == VTPU_ISA_AUTO ? VTPU_ISA_AVX512 : isa);
}

bool vtpu_kernels_dense(void)
{
	const char *value = getenv("VTPU_DENSE");

	return value && *value && strcmp(value, "0");
}

int vtpu_kernels_isa(const struct vtpu_kernels *kernels)
{
	return kernels->isa;
}
