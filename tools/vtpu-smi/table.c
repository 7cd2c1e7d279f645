// SPDX-License-Identifier: MIT
/* table.c - the default view, at most 80 columns, and -L. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <vtpu/core.h>

#include "smi.h"

#define RULE "+------------------------------------------------------------------------------+"

static void line(const char *text)
{
	printf("| %-76.76s |\n", text);
}

void smi_show_list(const struct smi_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->devices; i++) {
		const struct smi_device *d = &snapshot->device[i];

		if (d->open_error[0])
			printf("TPU %u: (PCI %s, %s: %s)\n", d->index, d->pci, d->node,
			       d->open_error);
		else
			printf("TPU %u: vTPU %s, %u cores, %.1f GiB HBM (PCI %s, serial %016" PRIx64
			       ", %s)\n",
			       d->index, d->model, d->cores, (double)d->hbm_total / (1 << 30),
			       d->pci, d->serial, d->node);
	}
}

static void percent(char *out, size_t room, double share)
{
	if (share < 0)
		snprintf(out, room, "N/A");
	else
		snprintf(out, room, "%.0f%%", share * 100);
}

static void show_device(const struct smi_sample *sample, size_t i)
{
	const struct smi_device *d = &sample->now.device[i];
	char text[160], duty[16], use[16];

	if (d->open_error[0]) {
		snprintf(text, sizeof(text), "%3u  %-12s  %s", d->index, d->pci,
			 "cannot be opened:");
		line(text);
		for (size_t at = 0; at < strlen(d->open_error); at += 70) {
			snprintf(text, sizeof(text), "     %.70s", d->open_error + at);
			line(text);
		}
		return;
	}
	percent(duty, sizeof(duty), smi_duty_cycle(sample, i));
	snprintf(text, sizeof(text),
		 "%3u  vTPU %-8s %-14s %6.0f / %6.0f MiB %6s %8" PRIu64 " %6" PRIu64, d->index,
		 d->model, d->pci, d->hbm_used / 1048576.0, d->hbm_total / 1048576.0, duty,
		 d->jobs_completed, d->jobs_failed);
	line(text);
	if (strcmp(d->state, "OK")) {
		snprintf(text, sizeof(text), "     state: %s", d->state);
		line(text);
	}
	for (uint32_t c = 0; c < d->cores; c += 8) {
		size_t at = snprintf(text, sizeof(text), "     core %2u-%-2u", c,
				     c + 8 < d->cores ? c + 7 : d->cores - 1);

		for (uint32_t k = c; k < d->cores && k < c + 8; k++) {
			percent(use, sizeof(use), smi_core_use(sample, i, k));
			at += snprintf(text + at, sizeof(text) - at, " %6s", use);
		}
		line(text);
	}
}

static uint32_t cores_of(const struct smi_snapshot *snapshot, const struct smi_process *p,
			 unsigned int *index)
{
	for (size_t i = 0; i < snapshot->devices; i++) {
		if (!strcmp(snapshot->device[i].pci, p->pci)) {
			*index = snapshot->device[i].index;
			return snapshot->device[i].cores;
		}
	}
	return 0;
}

void smi_show_table(const struct smi_sample *sample)
{
	const struct smi_snapshot *now = &sample->now;
	char text[160];

	puts(RULE);
	snprintf(text, sizeof(text), "vtpu-smi %-28s driver %s", vtpu_version_string(),
		 now->driver_version[0] ? now->driver_version : "N/A");
	line(text);
	puts(RULE);
	line("TPU  Name          PCI             HBM used / total     Duty     Jobs Failed");
	for (size_t i = 0; i < now->devices; i++)
		show_device(sample, i);
	puts(RULE);
	line("Processes");
	line("TPU       PID  Name                              HBM      Duty");
	if (!now->processes.count)
		line("no process has a device open");
	for (size_t i = 0; i < now->processes.count; i++) {
		const struct smi_process *p = &now->processes.process[i];
		unsigned int index = 0;
		uint32_t cores = cores_of(now, p, &index);

		snprintf(text, sizeof(text), "%3u  %8d  %-28.28s %6.0f MiB   %3.0f%%", index,
			 p->pid, p->name, p->hbm_bytes / 1048576.0,
			 100 * smi_process_use(sample, p, cores ? cores : 1));
		line(text);
	}
	puts(RULE);
}
