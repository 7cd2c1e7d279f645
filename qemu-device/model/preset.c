// SPDX-License-Identifier: MIT
/*
 * preset.c - TPU v3's numbers, and chips that differ from it by property.
 *
 * Each constant says where it is from, or that it is ours. How they combine
 * into cycles is in cost.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "preset.h"

/* @bytes_per_us a cycle of @khz, times 65536 */
static uint32_t per_cycle_q16(uint64_t bytes_per_us, uint64_t khz)
{
	return (uint32_t)((bytes_per_us * 1000 * 65536 + khz / 2) / khz);
}

/* @ns in cycles of @khz */
static uint32_t cycles(uint64_t ns, uint64_t khz)
{
	return (uint32_t)((ns * khz + 500000) / 1000000);
}

static struct vtpu_hw_geometry v3(uint32_t cores)
{
	const uint32_t khz = 940000; /* Norrie et al., IEEE Micro 2021; Jouppi et al., CACM 2020 */

	return (struct vtpu_hw_geometry){
		.preset = VTPU_PRESET_V3,
		.cores = cores,
		.clock_khz = khz,
		/* CACM 2020: two 128 x 128 arrays a core; 123 TFLOP/s of two cores is one row a cycle */
		.mxu_per_core = 2,
		.mxu_dim = 128,
		.mxu_rows_q8 = 256,
		/* CACM 2020: registers of 8 sublanes x 128 lanes, two vector ALU slots in the bundle */
		.lanes = 128,
		.sublanes = 8,
		.valu_slots = 2,
		.semaphores = 256, /* ours: real sync flags are more, and count in another way */
		/* IEEE Micro 2021: 16 MiB of vector and 4 Ki words of scalar memory a core */
		.vmem_bytes = 16u << 20,
		.smem_bytes = 16u << 10,
		.dma_setup =
			16, /* ours; "How to scale your model": one request a cycle from the scalar core */
		/* Cloud TPU documentation: 900 GB/s a chip of two cores; each core has its half */
		.hbm_q16 = per_cycle_q16(450000, khz),
		.hbm_latency =
			cycles(400,
			       khz), /* ours: engine and HBM access; bare HBM is said to take 250 ns */
		/* "How to scale your model": PCIe 3.0 x16, about 15 GB/s; a board of any size has one such link here */
		.pcie_q16 = per_cycle_q16(15000, khz),
		.pcie_latency = cycles(1500, khz), /* ours */
		/* CACM 2020: four links of 656 Gbit/s; "How to scale your model": a hop takes about 1 us */
		.ici_q16 = per_cycle_q16(82000, khz),
		.ici_hop = cycles(1000, khz),
		.ici_links = 4,
		.matmul_passes_f32 =
			6, /* XLA: f32 from bf16 parts takes six passes at highest precision */
		.max_instances = 1000000, /* ours */
	};
}

/* What a custom chip may be: wide enough to be interesting, too narrow for cycle counts to wrap. */
/* clang-format off */
static const struct limit {
	const char *name;
	size_t offset, size;
	uint64_t min, max, multiple;
} limits[] = {
#define LIMIT(field, min, max, multiple) \
	{ #field, offsetof(struct vtpu_hw_geometry, field), sizeof(((struct vtpu_hw_geometry *)0)->field), \
	  min, max, multiple }
	LIMIT(clock_khz, 1000, 10000000, 1),
	LIMIT(mxu_per_core, 1, 64, 1),
	LIMIT(mxu_dim, 8, 1024, 8),
	LIMIT(mxu_rows_q8, 16, 16384, 1),
	LIMIT(lanes, 8, 1024, 8),
	LIMIT(sublanes, 1, 64, 1),
	LIMIT(valu_slots, 1, 64, 1),
	LIMIT(semaphores, 1, 256, 1),
	LIMIT(vmem_bytes, 65536, 1u << 28, 4096),
	LIMIT(smem_bytes, 2048, 1u << 20, 64),
	LIMIT(dma_setup, 1, 1000000, 1),
	LIMIT(hbm_q16, 65536, UINT32_MAX, 1),
	LIMIT(hbm_latency, 1, 1000000, 1),
	LIMIT(pcie_q16, 256, UINT32_MAX, 1),
	LIMIT(pcie_latency, 1, 100000000, 1),
	LIMIT(ici_q16, 256, UINT32_MAX, 1),
	LIMIT(ici_hop, 1, 1000000, 1),
	LIMIT(ici_links, 1, 16, 1),
	LIMIT(matmul_passes_f32, 1, 16, 1),
	LIMIT(max_instances, 1, 1000000, 1),
#undef LIMIT
};
/* clang-format on */

static uint64_t get(const struct vtpu_hw_geometry *geometry, const struct limit *limit)
{
	uint32_t narrow;
	uint64_t wide;

	if (limit->size == sizeof(wide)) {
		memcpy(&wide, (const char *)geometry + limit->offset, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, (const char *)geometry + limit->offset, sizeof(narrow));
	return narrow;
}

static bool apply(const struct vtpu_hw_geometry *custom, struct vtpu_hw_geometry *out, char *err,
		  size_t n)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct limit *limit = &limits[i];
		uint64_t value = get(custom, limit);

		if (!value)
			continue;
		if (value < limit->min || value > limit->max || value % limit->multiple) {
			snprintf(err, n,
				 "%s=%" PRIu64 " is not possible: %" PRIu64 " to %" PRIu64
				 " in steps of %" PRIu64 " (0: as v3)",
				 limit->name, value, limit->min, limit->max, limit->multiple);
			return false;
		}
		memcpy((char *)out + limit->offset, (const char *)custom + limit->offset,
		       limit->size);
	}
	return true;
}

bool vtpu_preset_geometry(const char *name, uint32_t cores, const struct vtpu_hw_geometry *custom,
			  struct vtpu_hw_geometry *out, char *err, size_t n)
{
	bool is_custom = name && !strcmp(name, "custom");

	if (name && !is_custom && strcmp(name, "v3") != 0) {
		snprintf(err, n, "preset=%.32s is not known: \"v3\" or \"custom\"", name);
		return false;
	}
	if (!cores || cores > VTPU_MAX_CORES) {
		snprintf(err, n, "cores=%" PRIu32 " is not possible: 1 to %d", cores,
			 VTPU_MAX_CORES);
		return false;
	}
	*out = v3(cores);
	if (!custom)
		return true;
	if (!is_custom) {
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			if (!get(custom, &limits[i]))
				continue;
			snprintf(err, n, "%s=%" PRIu64 " needs preset=custom", limits[i].name,
				 get(custom, &limits[i]));
			return false;
		}
		return true;
	}
	out->preset = VTPU_PRESET_CUSTOM;
	return apply(custom, out, err, n);
}
