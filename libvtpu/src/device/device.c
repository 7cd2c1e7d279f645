// SPDX-License-Identifier: MIT
/*
 * device.c - life of a device, what it is, and its counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"

/* ---- fork() -------------------------------------------------------------------- */

static atomic_uint generation;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
	atomic_fetch_add(&generation, 1);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

bool vtpu_device_forked(const struct vtpu_device *device)
{
	return device->generation != atomic_load_explicit(&generation, memory_order_relaxed);
}

enum vtpu_status vtpu_device_usable(const struct vtpu_device *device, const char *call)
{
	if (!device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "%s: an object is NULL", call);
	if (vtpu_device_forked(device))
		return vtpu_fail(
			VTPU_ERROR_FORKED,
			"%s: %s was opened before fork(), by the parent process; open it again in the child",
			call, device->name);
	return VTPU_OK;
}

/* ---- Life ------------------------------------------------------------------------ */

struct vtpu_device *vtpu_device_get(struct vtpu_device *device)
{
	atomic_fetch_add(&device->refs, 1);
	return device;
}

static void device_free(struct vtpu_device *device)
{
	uint32_t i;

	vtpu_stream_put(device->transfer);
	for (i = 0; i < 2; i++)
		vtpu_buffer_free(device->staging[i]);
	device->backend->ops->close(device->backend);
	vtpu_range_fini(&device->hbm_addresses);
	vtpu_range_fini(&device->host_addresses);
	pthread_mutex_destroy(&device->lock);
	pthread_mutex_destroy(&device->transfer_lock);
	free(device->name);
	free(device->reason);
	free(device);
}

void vtpu_device_put(struct vtpu_device *device)
{
	if (atomic_fetch_sub(&device->refs, 1) == 1)
		device_free(device);
}

void vtpu_close(struct vtpu_device *device)
{
	if (device && !vtpu_device_forked(device))
		vtpu_device_put(device);
}

static int query(struct vtpu_device *device, uint32_t type, uint32_t index, void *out,
		 uint32_t bytes)
{
	struct vtpu_dev_query arg = {
		.type = type,
		.index = index,
		.size = bytes,
		.ptr = (uint64_t)(uintptr_t)out,
	};

	memset(out, 0, bytes);
	return vtpu_ioctl(device->backend, DRM_IOCTL_VTPU_DEV_QUERY, &arg);
}

enum vtpu_status vtpu_device_create(struct vtpu_backend *backend, const char *name,
				    struct vtpu_device **out)
{
	struct vtpu_device *device = calloc(1, sizeof(*device));
	struct vtpu_query_info info;
	int err;

	pthread_once(&watch_once, watch_forks);
	if (!device) {
		backend->ops->close(backend);
		return vtpu_fail_nomem("a device");
	}
	atomic_init(&device->refs, 1);
	device->backend = backend;
	device->generation = atomic_load(&generation);
	device->name = strdup(name);
	pthread_mutex_init(&device->lock, NULL);
	pthread_mutex_init(&device->transfer_lock, NULL);
	if (!device->name ||
	    !vtpu_range_init(&device->hbm_addresses, VTPU_VA_HBM_START,
			     VTPU_VA_HBM_END - VTPU_VA_HBM_START) ||
	    !vtpu_range_init(&device->host_addresses, VTPU_VA_HOST_START,
			     VTPU_VA_HOST_END - VTPU_VA_HOST_START)) {
		device_free(device);
		return vtpu_fail_nomem("a device");
	}
	err = query(device, VTPU_QUERY_GEOMETRY, 0, &device->geometry, sizeof(device->geometry));
	if (!err)
		err = query(device, VTPU_QUERY_INFO, 0, &info, sizeof(info));
	if (!err && info.hw_version >> 16 != VTPU_HW_VERSION_MAJOR) {
		device_free(device);
		return vtpu_fail(VTPU_ERROR_VERSION,
				 "%s: device of version %u.%u, this library knows %d.%d; use a libvtpu and a QEMU device of "
				 "the same release",
				 name, info.hw_version >> 16, info.hw_version & 0xffff,
				 VTPU_HW_VERSION_MAJOR, VTPU_HW_VERSION_MINOR);
	}
	if (err) {
		device_free(device);
		return vtpu_fail_errno(err, "%s: the device does not say what it is", name);
	}
	device->max_depth = info.max_depth;
	*out = device;
	return VTPU_OK;
}

int64_t vtpu_deadline(int64_t timeout_ns)
{
	struct timespec ts;
	int64_t now;

	if (timeout_ns < 0)
		return INT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (int64_t)ts.tv_sec * VTPU_NS_PER_S + ts.tv_nsec;
	return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

/* ---- What it is ------------------------------------------------------------------------ */

const char *vtpu_device_name(const struct vtpu_device *device)
{
	return device ? device->name : "";
}

const char *vtpu_device_reason(const struct vtpu_device *device)
{
	return device && device->reason ? device->reason : "";
}

const struct vtpu_hw_geometry *vtpu_device_geometry(const struct vtpu_device *device)
{
	return device ? &device->geometry : NULL;
}

static const char *preset_name(uint32_t preset)
{
	switch ((enum vtpu_preset)preset) {
	case VTPU_PRESET_CUSTOM:
		return "custom";
	case VTPU_PRESET_V2:
		return "v2";
	case VTPU_PRESET_V3:
		return "v3";
	case VTPU_PRESET_V4:
		return "v4";
	case VTPU_PRESET_V5E:
		return "v5e";
	case VTPU_PRESET_V5P:
		return "v5p";
	case VTPU_PRESET_V6E:
		return "v6e";
	case VTPU_PRESET_7X:
		return "7x";
	}
	return "unknown";
}

static void feature_names(uint64_t caps, char *text, size_t bytes)
{
	static const struct {
		uint64_t cap;
		const char *name;
	} names[] = {
		{ VTPU_CAP_F32, "f32" },
		{ VTPU_CAP_BF16, "bf16" },
		{ VTPU_CAP_INT8, "int8" },
		{ VTPU_CAP_FP8, "fp8" },
		{ VTPU_CAP_CONV, "conv" },
		{ VTPU_CAP_ICI, "ici" },
		{ VTPU_CAP_GATHER, "gather" },
		{ VTPU_CAP_FAST, "fast" },
		{ VTPU_CAP_PACE_MODEL, "pace-model" },
	};
	size_t i, used = 0;

	text[0] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(*names) && used < bytes; i++) {
		if (caps & names[i].cap)
			used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " " : "",
						 names[i].name);
	}
}

/* Copy to a caller's struct what its struct_size has room for. */
static enum vtpu_status give(void *to, void *from, size_t known, const char *what)
{
	size_t size;

	memcpy(&size, to, sizeof(size));
	if (size < 2 * sizeof(size))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: struct_size is %zu; initialise the struct with VTPU_INIT()",
				 what, size);
	memcpy(from, &size, sizeof(size));
	memcpy(to, from, size < known ? size : known);
	return VTPU_OK;
}

enum vtpu_status vtpu_device_info(struct vtpu_device *device, struct vtpu_device_info *out)
{
	const struct vtpu_hw_geometry *g;
	struct vtpu_device_info info;
	struct vtpu_query_info hw;
	enum vtpu_status status;
	int err;

	status = vtpu_device_usable(out ? device : NULL, "vtpu_device_info");
	if (status)
		return status;
	err = query(device, VTPU_QUERY_INFO, 0, &hw, sizeof(hw));
	if (err)
		return vtpu_fail_errno(err, "%s: query", device->name);
	g = &device->geometry;
	memset(&info, 0, sizeof(info));
	snprintf(info.preset, sizeof(info.preset), "%s", preset_name(g->preset));
	feature_names(hw.caps, info.features, sizeof(info.features));
	snprintf(info.driver, sizeof(info.driver), "%s", device->backend->driver);
	info.serial = hw.serial;
	info.hw_version = hw.hw_version;
	info.cores = g->cores;
	info.clock_khz = g->clock_khz;
	info.mxu_per_core = g->mxu_per_core;
	info.mxu_dim = g->mxu_dim;
	info.lanes = g->lanes;
	info.sublanes = g->sublanes;
	info.smem_bytes = g->smem_bytes;
	info.vmem_bytes = g->vmem_bytes;
	info.hbm_bytes = hw.hbm_bytes;
	info.hbm_usable = hw.hbm_usable;
	info.hbm_bandwidth = (uint64_t)g->cores * g->hbm_q16 / 65536 * g->clock_khz * 1000;
	info.flops = 2 * (uint64_t)g->cores * g->mxu_per_core * g->mxu_dim * g->mxu_dim *
		     g->mxu_rows_q8 / 256 * g->clock_khz * 1000;
	info.max_queues = hw.max_queues;
	info.max_depth = hw.max_depth;
	info.max_instances = g->max_instances;
	/* enum vtpu_priority has a default in front of the hardware's classes */
	info.priorities = hw.priorities << 1 | 1;
	info.pci = hw.pci;
	info.numa_node = device->backend->numa_node;
	info.health = (enum vtpu_health)hw.state;
	info.reset_count = hw.reset_count;
	info.clients = hw.clients;
	info.in_process = device->backend->in_process;
	info.jobs_submitted = hw.jobs_submitted;
	info.jobs_completed = hw.jobs_completed;
	info.jobs_failed = hw.jobs_failed;
	return give(out, &info, sizeof(info), "struct vtpu_device_info");
}

enum vtpu_status vtpu_device_counters(struct vtpu_device *device, uint32_t core,
				      struct vtpu_core_counters *out)
{
	struct vtpu_core_counters counters;
	struct vtpu_query_core hw;
	enum vtpu_status status;
	int err;

	status = vtpu_device_usable(out ? device : NULL, "vtpu_device_counters");
	if (status)
		return status;
	if (core >= device->geometry.cores)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s has no core %u; it has %u cores, from 0", device->name, core,
				 device->geometry.cores);
	err = query(device, VTPU_QUERY_CORE, core, &hw, sizeof(hw));
	if (err)
		return vtpu_fail_errno(err, "%s: counters of core %u", device->name, core);
	memset(&counters, 0, sizeof(counters));
	counters.sampled_ns = hw.sampled_ns;
	counters.busy_ns = hw.stats.busy_ns;
	counters.cycles = hw.stats.cycles;
	counters.mxu_cycles = hw.stats.mxu_cycles;
	counters.macs = hw.stats.macs;
	counters.hbm_bytes = hw.stats.hbm_bytes;
	counters.jobs = hw.stats.jobs;
	counters.jobs_failed = hw.stats.jobs_failed;
	counters.resets = hw.stats.resets;
	return give(out, &counters, sizeof(counters), "struct vtpu_core_counters");
}

enum vtpu_status vtpu_device_memory(struct vtpu_device *device, enum vtpu_memory memory,
				    struct vtpu_memory_info *out)
{
	struct vtpu_memory_info info;
	struct vtpu_query_memory hw;
	struct vtpu_query_quota quota;
	enum vtpu_status status;
	int err;

	_Static_assert((int)VTPU_MEMORY_HBM == (int)VTPU_REGION_HBM &&
			       (int)VTPU_MEMORY_HOST == (int)VTPU_REGION_HOST,
		       "memories");
	status = vtpu_device_usable(out ? device : NULL, "vtpu_device_memory");
	if (status)
		return status;
	if (memory != VTPU_MEMORY_HBM && memory != VTPU_MEMORY_HOST)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_device_memory: there is no memory %d", (int)memory);
	err = query(device, VTPU_QUERY_MEMORY, memory, &hw, sizeof(hw));
	if (!err)
		err = query(device, VTPU_QUERY_QUOTA,
			    memory == VTPU_MEMORY_HBM ? VTPU_QUOTA_HBM_BYTES :
							VTPU_QUOTA_HOST_BYTES,
			    &quota, sizeof(quota));
	if (err)
		return vtpu_fail_errno(err, "%s: state of its memory", device->name);
	memset(&info, 0, sizeof(info));
	info.size = hw.size;
	info.used = hw.used;
	info.largest_free = hw.largest_free;
	info.reserved = hw.reserved;
	info.mine = quota.file_used;
	info.my_limit = quota.file_limit;
	return give(out, &info, sizeof(info), "struct vtpu_memory_info");
}
