/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_props.c - the device's properties and what they mean for the chip.
 *
 * A property out of range is refused with its name, its value and what is
 * allowed. Ranges that the chip owns (cores, geometry, vectors) are checked by
 * vtpu_chip_create().
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "system/replay.h"
#include "vtpu_device.h"

static const Property vtpu_properties[] = {
	DEFINE_PROP_LINK("hbm", VtpuState, backend, TYPE_MEMORY_BACKEND, HostMemoryBackend *),
	DEFINE_PROP_STRING("preset", VtpuState, props.preset),
	DEFINE_PROP_UINT32("cores", VtpuState, props.cores, 0),
	DEFINE_PROP_UINT64("serial", VtpuState, props.serial, 0),
	DEFINE_PROP_UINT32("vectors", VtpuState, props.vectors, VTPU_MAX_VECTORS),
	DEFINE_PROP_UINT32("threads", VtpuState, props.threads, 0),
	DEFINE_PROP_UINT32("watchdog-ms", VtpuState, props.watchdog_ms, 10000),
	DEFINE_PROP_STRING("isa", VtpuState, props.isa),
	DEFINE_PROP_STRING("executor", VtpuState, props.executor),
	DEFINE_PROP_BOOL("dense", VtpuState, props.dense, false),
	DEFINE_PROP_STRING("pace", VtpuState, props.pace),
	DEFINE_PROP_UINT32("custom-clock-khz", VtpuState, props.custom_clock_khz, 0),
	DEFINE_PROP_UINT32("custom-mxu-per-core", VtpuState, props.custom_mxu_per_core, 0),
	DEFINE_PROP_SIZE("custom-vmem-bytes", VtpuState, props.custom_vmem_bytes, 0),
	DEFINE_PROP_UINT32("custom-hbm-gbps", VtpuState, props.custom_hbm_gbps, 0),
	DEFINE_PROP_UINT32("custom-pcie-gbps", VtpuState, props.custom_pcie_gbps, 0),
};

/* What `-device vtpu,help` says of each. */
static const struct {
	const char *name;
	const char *text;
} descriptions[] = {
	{ "hbm",
	  "memory backend that becomes HBM and BAR2, a power of two from 32 MiB to 64 GiB; required" },
	{ "preset", "v3 (default) or custom" },
	{ "cores", "1 to 64; 0: 8" },
	{ "serial", "serial number, in registers and configuration space" },
	{ "vectors", "MSI-X vectors, 2 to 33" },
	{ "threads",
	  "worker threads of the process, 1 to 256; 0: $VTPU_THREADS, else one per host CPU" },
	{ "watchdog-ms", "running host time without progress after which a job fails" },
	{ "isa", "host kernels: auto, scalar, avx2 or avx512; the same bits from all" },
	{ "executor", "parallel, or reference: one instruction at a time" },
	{ "dense", "on: form products with zero that could be skipped; the same bits" },
	{ "pace", "asap: complete when ready" },
	{ "custom-clock-khz", "preset=custom: modelled core clock; 0, as in all of these: as v3" },
	{ "custom-mxu-per-core", "preset=custom: systolic arrays of a core" },
	{ "custom-vmem-bytes", "preset=custom: vector memory of a core" },
	{ "custom-hbm-gbps", "preset=custom: GB/s of one core's share of HBM" },
	{ "custom-pcie-gbps", "preset=custom: GB/s of the board's host link" },
};

void vtpu_props_class_init(ObjectClass *oc)
{
	int i;

	QEMU_BUILD_BUG_ON(ARRAY_SIZE(descriptions) != ARRAY_SIZE(vtpu_properties));
	device_class_set_props_n(DEVICE_CLASS(oc), vtpu_properties, ARRAY_SIZE(vtpu_properties));
	for (i = 0; i < ARRAY_SIZE(descriptions); i++)
		object_class_property_set_description(oc, descriptions[i].name,
						      descriptions[i].text);
}

/* Index of a word in a list that ends with NULL; the first one is the default. */
static bool choose(const char *prop, const char *value, const char *const *words, int *index,
		   Error **errp)
{
	g_autofree char *all = g_strjoinv(", ", (char **)words);

	for (*index = 0; value && words[*index]; (*index)++) {
		if (g_str_equal(value, words[*index]))
			return true;
	}
	if (!value) {
		*index = 0;
		return true;
	}
	error_setg(errp, "property %s=%s: expected one of %s", prop, value, all);
	return false;
}

/* GB/s as bytes a cycle, times 65536, at that clock. */
static bool bandwidth(const char *prop, uint32_t gbps, uint32_t clock_khz, uint32_t *q16,
		      Error **errp)
{
	const uint32_t max_gbps = 100000;
	uint64_t value;

	if (!gbps)
		return true;
	if (!clock_khz) {
		error_setg(errp,
			   "property %s=%u: needs custom-clock-khz too, a bandwidth is bytes a cycle",
			   prop, gbps);
		return false;
	}
	value = gbps > max_gbps ? UINT64_MAX : 1000000ULL * 65536 * gbps / clock_khz;
	if (!value || value > UINT32_MAX) {
		error_setg(errp,
			   "property %s=%u: expected 1 to %u GB/s, and less than 65536 bytes a cycle "
			   "of %u kHz",
			   prop, gbps, max_gbps, clock_khz);
		return false;
	}
	*q16 = value;
	return true;
}

static bool custom_geometry(const struct vtpu_props *props, struct vtpu_hw_geometry *geometry,
			    Error **errp)
{
	bool custom = props->preset && g_str_equal(props->preset, "custom");

	if (!custom &&
	    (props->custom_clock_khz || props->custom_mxu_per_core || props->custom_vmem_bytes ||
	     props->custom_hbm_gbps || props->custom_pcie_gbps)) {
		error_setg(errp, "properties custom-* need preset=custom, got preset=%s",
			   props->preset ?: "v3");
		return false;
	}
	geometry->clock_khz = props->custom_clock_khz;
	geometry->mxu_per_core = props->custom_mxu_per_core;
	geometry->vmem_bytes = props->custom_vmem_bytes;
	return bandwidth("custom-hbm-gbps", props->custom_hbm_gbps, props->custom_clock_khz,
			 &geometry->hbm_q16, errp) &&
	       bandwidth("custom-pcie-gbps", props->custom_pcie_gbps, props->custom_clock_khz,
			 &geometry->pcie_q16, errp);
}

/**
 * vtpu_props_config() - the chip that the properties describe
 * @config: filled in but for HBM and the pool
 */
bool vtpu_props_config(VtpuState *s, struct vtpu_chip_config *config, Error **errp)
{
	static const char *const executors[] = { "parallel", "reference", NULL };
	static const char *const paces[] = { "asap", "model", NULL };
	const struct vtpu_props *props = &s->props;
	int isa, executor, pace;

	if (!choose("isa", props->isa, vtpu_isa_names, &isa, errp) ||
	    !choose("executor", props->executor, executors, &executor, errp) ||
	    !choose("pace", props->pace, paces, &pace, errp) ||
	    !custom_geometry(props, &config->custom, errp))
		return false;
	if (pace) {
		error_setg(errp,
			   "property pace=model: this version completes jobs as soon as they are ready; "
			   "leave pace out or say pace=asap");
		return false;
	}
	if (props->vectors < 2 || props->vectors > VTPU_MAX_VECTORS) {
		error_setg(errp, "property vectors=%u: expected 2 to %d", props->vectors,
			   VTPU_MAX_VECTORS);
		return false;
	}
	if (!props->watchdog_ms) {
		error_setg(errp, "property watchdog-ms=0: expected at least 1");
		return false;
	}
	if (replay_mode != REPLAY_MODE_NONE) {
		error_setg(errp,
			   "record/replay (-icount rr=) cannot reproduce vtpu: jobs complete as soon "
			   "as host threads have computed them");
		return false;
	}
	config->preset = props->preset;
	config->cores = props->cores;
	config->serial = props->serial;
	config->vectors = props->vectors;
	config->watchdog_ms = props->watchdog_ms;
	config->isa = isa;
	config->reference = executor;
	config->dense = props->dense;
	return true;
}
