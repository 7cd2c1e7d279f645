// SPDX-License-Identifier: MIT
/*
 * json.c - the stable view: numbers in base units, null for what is unknown.
 *
 * Fields are only ever added; SMI_JSON_SCHEMA changes when one changes its
 * meaning. docs/vtpu-smi.md lists them.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include <vtpu/core.h>

#include "smi.h"

static void put(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add(o, key, value);
}

static void put_u64(struct json_object *o, const char *key, uint64_t value)
{
	put(o, key, json_object_new_uint64(value));
}

static void put_text(struct json_object *o, const char *key, const char *value)
{
	put(o, key, value && *value ? json_object_new_string(value) : NULL);
}

static void put_ratio(struct json_object *o, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4f", value);
	put(o, key, value < 0 ? NULL : json_object_new_double_s(value, text));
}

static struct json_object *core_json(const struct smi_sample *sample, size_t i, uint32_t c)
{
	const struct smi_core *core = &sample->now.device[i].core[c];
	struct json_object *o = json_object_new_object();

	put_u64(o, "index", c);
	put_ratio(o, "utilization", smi_core_use(sample, i, c));
	put_u64(o, "busy_ns", core->busy_ns);
	put_u64(o, "model_cycles", core->cycles);
	put_u64(o, "model_mxu_cycles", core->mxu_cycles);
	put_u64(o, "model_macs", core->macs);
	put_u64(o, "model_hbm_bytes", core->hbm_bytes);
	put_u64(o, "jobs", core->jobs);
	put_u64(o, "jobs_failed", core->jobs_failed);
	put_u64(o, "resets", core->resets);
	return o;
}

static struct json_object *device_json(const struct smi_sample *sample, size_t i)
{
	const struct smi_device *d = &sample->now.device[i];
	struct json_object *o = json_object_new_object(), *cores = json_object_new_array();
	char serial[32];

	put_u64(o, "index", d->index);
	put_text(o, "node", d->node);
	put_text(o, "pci", d->pci);
	put_text(o, "error", d->open_error);
	if (d->open_error[0]) {
		json_object_put(cores);
		return o;
	}
	snprintf(serial, sizeof(serial), "%016" PRIx64, d->serial);
	put_text(o, "model", d->model);
	put_text(o, "serial", serial);
	put_text(o, "state", d->state);
	put_u64(o, "hw_version", d->hw_version);
	put_u64(o, "clock_hz", d->clock_hz);
	put_u64(o, "hbm_total_bytes", d->hbm_total);
	put_u64(o, "hbm_used_bytes", d->hbm_used);
	put_ratio(o, "duty_cycle", smi_duty_cycle(sample, i));
	put_u64(o, "jobs_submitted", d->jobs_submitted);
	put_u64(o, "jobs_completed", d->jobs_completed);
	put_u64(o, "jobs_failed", d->jobs_failed);
	put_u64(o, "resets", d->resets);
	put_u64(o, "clients", d->clients);
	for (uint32_t c = 0; c < d->cores; c++)
		json_object_array_add(cores, core_json(sample, i, c));
	put(o, "cores", cores);
	return o;
}

static struct json_object *process_json(const struct smi_sample *sample,
					const struct smi_process *p)
{
	struct json_object *o = json_object_new_object();
	uint32_t cores = 1;

	for (size_t i = 0; i < sample->now.devices; i++)
		if (!strcmp(sample->now.device[i].pci, p->pci) && sample->now.device[i].cores)
			cores = sample->now.device[i].cores;
	put_u64(o, "pid", p->pid);
	put_text(o, "name", p->name);
	put_text(o, "pci", p->pci);
	put_u64(o, "client_id", p->client);
	put_ratio(o, "utilization", smi_process_use(sample, p, cores));
	put_u64(o, "compute_ns", p->compute_ns);
	put_u64(o, "copy_ns", p->copy_ns);
	put_u64(o, "hbm_bytes", p->hbm_bytes);
	return o;
}

int smi_show_json(const struct smi_sample *sample, bool pretty)
{
	struct json_object *root = json_object_new_object(), *devices = json_object_new_array();
	struct json_object *processes = json_object_new_array();

	put_u64(root, "schema", SMI_JSON_SCHEMA);
	put_text(root, "library_version", vtpu_version_string());
	put_text(root, "driver_version", sample->now.driver_version);
	put_u64(root, "time_ns", sample->now.time_ns);
	put_u64(root, "interval_ns", sample->now.time_ns - sample->before.time_ns);
	for (size_t i = 0; i < sample->now.devices; i++)
		json_object_array_add(devices, device_json(sample, i));
	for (size_t i = 0; i < sample->now.processes.count; i++)
		json_object_array_add(processes,
				      process_json(sample, &sample->now.processes.process[i]));
	put(root, "devices", devices);
	put(root, "processes", processes);
	puts(json_object_to_json_string_ext(root, pretty ? JSON_C_TO_STRING_PRETTY |
								   JSON_C_TO_STRING_SPACED :
							   JSON_C_TO_STRING_PLAIN));
	json_object_put(root);
	return fflush(stdout) ? SMI_FAILED : SMI_OK;
}
