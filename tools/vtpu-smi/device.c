// SPDX-License-Identifier: MIT
/*
 * device.c - the devices of this machine, by libvtpu's public calls.
 *
 * A device that cannot be opened is still listed, with the reason; only when
 * no device can be shown at all is that the whole answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vtpu/vtpu.h>

#include "smi.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static const char *state_name(enum vtpu_health health)
{
	switch (health) {
	case VTPU_HEALTH_OK:
		return "OK";
	case VTPU_HEALTH_RESETTING:
		return "RESETTING";
	default:
		return "WEDGED";
	}
}

static enum vtpu_status read_cores(struct vtpu_device *dev, struct smi_device *d)
{
	for (uint32_t c = 0; c < d->cores; c++) {
		struct vtpu_core_counters k = VTPU_INIT(k);
		enum vtpu_status st = vtpu_device_counters(dev, c, &k);

		if (st)
			return st;
		d->time_ns = k.sampled_ns;
		d->core[c] = (struct smi_core){
			.busy_ns = k.busy_ns,
			.cycles = k.cycles,
			.mxu_cycles = k.mxu_cycles,
			.macs = k.macs,
			.hbm_bytes = k.hbm_bytes,
			.jobs = k.jobs,
			.jobs_failed = k.jobs_failed,
			.resets = k.resets,
		};
	}
	return VTPU_OK;
}

static enum vtpu_status read_device(struct vtpu_device *dev, struct smi_device *d, char *driver,
				    size_t room)
{
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_memory_info hbm = VTPU_INIT(hbm);
	enum vtpu_status st = vtpu_device_info(dev, &info);

	if (!st)
		st = vtpu_device_memory(dev, VTPU_MEMORY_HBM, &hbm);
	if (st)
		return st;
	snprintf(driver, room, "%s", info.driver);
	snprintf(d->model, sizeof(d->model), "%s", info.preset);
	d->state = state_name(info.health);
	d->serial = info.serial;
	d->hbm_total = info.hbm_bytes;
	d->hbm_used = hbm.used;
	d->clock_hz = info.clock_khz * 1000ull;
	d->jobs_submitted = info.jobs_submitted;
	d->jobs_completed = info.jobs_completed;
	d->jobs_failed = info.jobs_failed;
	d->hw_version = info.hw_version;
	d->cores = info.cores < SMI_MAX_CORES ? info.cores : SMI_MAX_CORES;
	d->resets = info.reset_count;
	d->clients = info.clients - 1; /* less this program */
	return read_cores(dev, d);
}

static int exit_code(enum vtpu_status st)
{
	switch (st) {
	case VTPU_ERROR_NO_DEVICE:
		return SMI_NO_DEVICE;
	case VTPU_ERROR_NO_MODULE:
		return SMI_NO_MODULE;
	case VTPU_ERROR_PERMISSION:
		return SMI_NO_PERMISSION;
	default:
		return SMI_FAILED;
	}
}

static int complain(enum vtpu_status st)
{
	fprintf(stderr, "vtpu-smi: %s\n", vtpu_last_error());
	return exit_code(st);
}

/* Fills in @d from a listed device; the status tells why it cannot be opened. */
static enum vtpu_status look_at(const struct vtpu_list_entry *entry, struct smi_device *d,
				char *driver, size_t room)
{
	struct vtpu_device *dev;
	enum vtpu_status st;

	snprintf(d->node, sizeof(d->node), "%s", entry->path);
	snprintf(d->pci, sizeof(d->pci), "%s", entry->pci);
	sscanf(entry->name, "accel%u", &d->index);
	st = vtpu_open(entry->name, &dev);
	if (!st) {
		st = read_device(dev, d, driver, room);
		vtpu_close(dev);
	}
	if (st)
		snprintf(d->open_error, sizeof(d->open_error), "%s", vtpu_last_error());
	return st;
}

int smi_snapshot_read(struct smi_snapshot *s)
{
	struct vtpu_list_entry entry[64];
	size_t count = sizeof(entry) / sizeof(entry[0]), opened = 0;
	enum vtpu_status st, last = VTPU_OK;
	struct vtpu_device *dev;

	*s = (struct smi_snapshot){ 0 };
	st = vtpu_list(entry, &count);
	if (st)
		return complain(st);
	s->device = calloc(count ? count : 1, sizeof(*s->device));
	if (!s->device) {
		fprintf(stderr, "vtpu-smi: out of memory\n");
		return SMI_FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		if (!entry[i].name[0])
			continue; /* no driver is bound */
		st = look_at(&entry[i], &s->device[s->devices++], s->driver_version,
			     sizeof(s->driver_version));
		opened += !st;
		if (st)
			last = st;
	}
	if (!s->devices) {
		/* Opening the first says which of the layers below is missing. */
		st = vtpu_open("accel0", &dev);
		if (st)
			return complain(st);
		vtpu_close(dev);
		fprintf(stderr, "vtpu-smi: a device came while looking; run it again\n");
		return SMI_FAILED;
	}
	if (!opened)
		return complain(last);
	if (smi_processes_read(&s->processes)) {
		fprintf(stderr, "vtpu-smi: /proc cannot be read\n");
		return SMI_FAILED;
	}
	s->time_ns = now_ns();
	return SMI_OK;
}

void smi_snapshot_free(struct smi_snapshot *s)
{
	free(s->device);
	smi_processes_free(&s->processes);
	*s = (struct smi_snapshot){ 0 };
}
