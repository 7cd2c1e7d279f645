/* SPDX-License-Identifier: MIT */
/*
 * smi.h - what vtpu-smi knows of a machine at one moment.
 *
 * device.c and process.c fill these in, table.c, dmon.c and json.c show them.
 * Counters are cumulative; a rate needs two snapshots (struct smi_sample).
 */
#ifndef VTPU_SMI_H
#define VTPU_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SMI_MAX_CORES	64
#define SMI_JSON_SCHEMA 1

/** struct smi_core - counters of a core since power-on; cycles and bytes are modelled */
struct smi_core {
	uint64_t busy_ns, cycles, mxu_cycles, macs, hbm_bytes, jobs, jobs_failed, resets;
};

/** struct smi_device - one device */
struct smi_device {
	/** @index: N of /dev/accel/accelN */
	unsigned int index;
	/** @node: "/dev/accel/accelN" */
	char node[64];
	/** @pci: PCI address as sysfs spells it */
	char pci[32];
	/** @open_error: sentence when the node could not be opened; the rest is then unknown */
	char open_error[512];
	/** @model: preset name, "v3" */
	char model[16];
	/** @state: "OK", "RESETTING", "WEDGED" */
	const char *state;
	uint64_t serial, hbm_total, hbm_used;
	uint64_t clock_hz, time_ns;
	uint64_t jobs_submitted, jobs_completed, jobs_failed;
	uint32_t hw_version, cores, resets, clients;
	struct smi_core core[SMI_MAX_CORES];
};

/** struct smi_process - a client of a device */
struct smi_process {
	pid_t pid;
	char name[32];
	char pci[32];
	uint64_t client, compute_ns, copy_ns, hbm_bytes;
};

struct smi_processes {
	struct smi_process *process;
	size_t count;
};

/** struct smi_snapshot - everything, read close together */
struct smi_snapshot {
	struct smi_device *device;
	size_t devices;
	struct smi_processes processes;
	/** @time_ns: CLOCK_MONOTONIC */
	uint64_t time_ns;
	/** @driver_version: the driver and its version in words; empty when unknown */
	char driver_version[64];
};

/** struct smi_sample - two snapshots; rates are over the time between them */
struct smi_sample {
	struct smi_snapshot before, now;
};

/**
 * smi_snapshot_read() - look at the machine
 *
 * Return: 0, or an exit code after a sentence on standard error (no device, no
 * module, no permission).
 */
int smi_snapshot_read(struct smi_snapshot *snapshot);

/** smi_snapshot_free() - give it back */
void smi_snapshot_free(struct smi_snapshot *snapshot);

/** smi_sample_take() - two snapshots @ms apart; the return value is smi_snapshot_read()'s */
int smi_sample_take(struct smi_sample *sample, unsigned int ms);

/** smi_sample_next() - the second snapshot becomes the first, @ms later comes a new second */
int smi_sample_next(struct smi_sample *sample, unsigned int ms);

/** smi_sample_free() - give both back */
void smi_sample_free(struct smi_sample *sample);

/**
 * smi_core_use() - share of the interval in which core @core of device @i was busy, 0..1; negative:
 * unknown
 */
double smi_core_use(const struct smi_sample *sample, size_t i, uint32_t core);

/** smi_duty_cycle() - mean of all cores, 0..1; negative: unknown */
double smi_duty_cycle(const struct smi_sample *sample, size_t i);

/**
 * smi_process_use() - share of the interval that process @p kept cores busy, 0..1 of the whole
 * device
 */
double smi_process_use(const struct smi_sample *sample, const struct smi_process *p,
		       uint32_t cores);

int smi_processes_read(struct smi_processes *list);
const struct smi_process *smi_process_find(const struct smi_processes *list,
					   const struct smi_process *p);
void smi_processes_free(struct smi_processes *list);

/* The ways to show a sample */
void smi_show_list(const struct smi_snapshot *snapshot);
void smi_show_table(const struct smi_sample *sample);
int smi_show_json(const struct smi_sample *sample, bool pretty);
int smi_run_dmon(unsigned int ms, unsigned long count);

/* Exit codes, as nvidia-smi has them where it has them */
enum smi_exit {
	SMI_OK = 0,
	SMI_USAGE = 2,
	SMI_NO_PERMISSION = 4,
	SMI_NO_DEVICE = 6,
	SMI_NO_MODULE = 9,
	SMI_FAILED = 255,
};

#endif /* VTPU_SMI_H */
