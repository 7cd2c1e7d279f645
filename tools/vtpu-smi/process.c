// SPDX-License-Identifier: MIT
/*
 * process.c - who uses the devices: /proc/PID/fdinfo of files on an accel node.
 *
 * Nothing here opens a device. A client that several descriptors or processes
 * share is counted once, by its drm-client-id.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smi.h"

/* A value in bytes: the kernel prints "N", "N KiB" or "N MiB". */
static uint64_t bytes_of(const char *value)
{
	char *end;
	uint64_t n = strtoull(value, &end, 10);

	while (*end == ' ')
		end++;
	if (!strncmp(end, "KiB", 3))
		return n << 10;
	if (!strncmp(end, "MiB", 3))
		return n << 20;
	return n;
}

/* Fills @p from an fdinfo file; false when it is not one of our driver's. */
static bool read_fdinfo(const char *path, struct smi_process *p)
{
	bool ours = false;
	char line[256];
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		*value++ = '\0';
		value += strspn(value, " \t");
		value[strcspn(value, "\n")] = '\0';
		if (!strcmp(line, "drm-driver"))
			ours = !strcmp(value, "vtpu");
		else if (!strcmp(line, "drm-client-id"))
			p->client = strtoull(value, NULL, 10);
		else if (!strcmp(line, "drm-pdev"))
			snprintf(p->pci, sizeof(p->pci), "%s", value);
		else if (!strcmp(line, "drm-engine-compute"))
			p->compute_ns = strtoull(value, NULL, 10);
		else if (!strcmp(line, "drm-engine-copy"))
			p->copy_ns = strtoull(value, NULL, 10);
		else if (!strcmp(line, "drm-total-hbm"))
			p->hbm_bytes = bytes_of(value);
	}
	fclose(f);
	return ours;
}

/* Process names come from their owners: nothing in them may reach the terminal as control. */
static void read_name(const char *pid, char *name, size_t room)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "r");
	if (!f || !fgets(name, room, f))
		snprintf(name, room, "?");
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = '\0';
	for (char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
}

static int add(struct smi_processes *list, const struct smi_process *p)
{
	struct smi_process *more;

	for (size_t i = 0; i < list->count; i++)
		if (list->process[i].client == p->client && !strcmp(list->process[i].pci, p->pci))
			return 0;
	more = realloc(list->process, (list->count + 1) * sizeof(*more));
	if (!more)
		return -1;
	list->process = more;
	list->process[list->count++] = *p;
	return 0;
}

static int scan_pid(const char *pid, struct smi_processes *list)
{
	char dir[300], path[600];
	struct dirent *e;
	DIR *d;
	int ret = 0;

	snprintf(dir, sizeof(dir), "/proc/%s/fdinfo", pid);
	d = opendir(dir);
	if (!d)
		return 0; /* gone, or another user's: neither is ours to report */
	while (!ret && (e = readdir(d))) {
		struct smi_process p = { 0 };

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (!read_fdinfo(path, &p))
			continue;
		p.pid = atoi(pid);
		read_name(pid, p.name, sizeof(p.name));
		ret = add(list, &p);
	}
	closedir(d);
	return ret;
}

int smi_processes_read(struct smi_processes *list)
{
	struct dirent *e;
	DIR *d = opendir("/proc");
	int ret = 0;

	*list = (struct smi_processes){ 0 };
	if (!d)
		return -1;
	while (!ret && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			ret = scan_pid(e->d_name, list);
	closedir(d);
	return ret;
}

const struct smi_process *smi_process_find(const struct smi_processes *list,
					   const struct smi_process *p)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->process[i].client == p->client && !strcmp(list->process[i].pci, p->pci))
			return &list->process[i];
	return NULL;
}

void smi_processes_free(struct smi_processes *list)
{
	free(list->process);
	*list = (struct smi_processes){ 0 };
}
