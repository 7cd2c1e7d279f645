// SPDX-License-Identifier: MIT
/*
 * list.c - what devices this machine has, from sysfs, and why one of them
 * cannot be opened.
 */
#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device.h"

#define PCI_DEVICES "/sys/bus/pci/devices"

/* First line of a small file; empty when there is none */
static void read_line(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (!file)
		return;
	if (!fgets(text, (int)bytes, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static unsigned long read_hex(const char *pci, const char *name)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), PCI_DEVICES "/%.15s/%.15s", pci, name);
	read_line(path, text, sizeof(text));
	return strtoul(text, NULL, 16);
}

/* "accel0" of a PCI device whose driver has made a node; else empty */
static void find_node(const char *pci, char *name, size_t bytes)
{
	char path[96];
	struct dirent *entry;
	DIR *dir;

	name[0] = '\0';
	snprintf(path, sizeof(path), PCI_DEVICES "/%.15s/accel", pci);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "accel", 5) && strlen(entry->d_name) < bytes) {
			strcpy(name, entry->d_name);
			break;
		}
	}
	closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	const struct vtpu_list_entry *x = a, *y = b;

	/* accel2 before accel10; those without a node last, by their place on the bus */
	if (!*x->name != !*y->name)
		return *x->name ? -1 : 1;
	if (strlen(x->name) != strlen(y->name))
		return strlen(x->name) < strlen(y->name) ? -1 : 1;
	return strcmp(*x->name ? x->name : x->pci, *x->name ? y->name : y->pci);
}

/* All of them, in one allocation; the number, or -1 without memory */
static ssize_t scan(struct vtpu_list_entry **out)
{
	struct vtpu_list_entry *list = NULL;
	struct dirent *entry;
	ssize_t n = 0;
	DIR *dir = opendir(PCI_DEVICES);

	*out = NULL;
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		struct vtpu_list_entry *more;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(list->pci))
			continue;
		if (read_hex(entry->d_name, "vendor") != VTPU_PCI_VENDOR_ID ||
		    read_hex(entry->d_name, "device") != VTPU_PCI_DEVICE_ID)
			continue;
		more = realloc(list, (size_t)(n + 1) * sizeof(*list));
		if (!more) {
			free(list);
			closedir(dir);
			return -1;
		}
		list = more;
		memset(&list[n], 0, sizeof(list[n]));
		strcpy(list[n].pci, entry->d_name);
		find_node(list[n].pci, list[n].name, sizeof(list[n].name));
		if (*list[n].name)
			snprintf(list[n].path, sizeof(list[n].path), "/dev/accel/%s", list[n].name);
		n++;
	}
	closedir(dir);
	if (n)
		qsort(list, (size_t)n, sizeof(*list), by_name);
	*out = list;
	return n;
}

enum vtpu_status vtpu_list(struct vtpu_list_entry *entries, size_t *count)
{
	struct vtpu_list_entry *list;
	ssize_t n, i;

	if (!count)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_list: count is NULL");
	n = scan(&list);
	if (n < 0)
		return vtpu_fail_nomem("the list of devices");
	for (i = 0; entries && i < n && (size_t)i < *count; i++)
		entries[i] = list[i];
	*count = (size_t)n;
	free(list);
	return VTPU_OK;
}

int vtpu_node_numa(const char *name)
{
	char path[PATH_MAX], text[32];

	if (snprintf(path, sizeof(path), "/sys/class/accel/%s/device/numa_node", name) >=
	    (int)sizeof(path))
		return -1;
	read_line(path, text, sizeof(text));
	return *text ? atoi(text) : -1;
}

/* ---- Why not ------------------------------------------------------------------- */

static enum vtpu_status fail_permission(const char *path)
{
	char group[64] = "?", mode[16] = "?";
	const char *who = getenv("USER");
	struct group *entry;
	struct stat st;

	if (!who || !*who)
		who = "$USER";
	if (stat(path, &st))
		return vtpu_fail(
			VTPU_ERROR_PERMISSION,
			"no permission to look into /dev/accel, so %s cannot be opened; ask who runs this machine",
			path);
	entry = getgrgid(st.st_gid);
	if (entry)
		snprintf(group, sizeof(group), "%s", entry->gr_name);
	else
		snprintf(group, sizeof(group), "%u", (unsigned int)st.st_gid);
	snprintf(mode, sizeof(mode), "%04o", (unsigned int)(st.st_mode & 07777));
	if (!st.st_gid || !(st.st_mode & S_IWGRP))
		return vtpu_fail(
			VTPU_ERROR_PERMISSION,
			"no permission for %s: it belongs to group '%s' with mode %s, so only root may open it; "
			"run: sudo chgrp render %s && sudo chmod 0660 %s && sudo usermod -aG render %s, then log in "
			"again",
			path, group, mode, path, path, who);
	return vtpu_fail(VTPU_ERROR_PERMISSION,
			 "no permission for %s: it belongs to group '%s' with mode %s; run: sudo usermod -aG %s %s, then "
			 "log in again",
			 path, group, mode, group, who);
}

static enum vtpu_status fail_missing(const char *path)
{
	struct vtpu_list_entry *list;
	ssize_t n = scan(&list), i, nodes = 0;
	char names[256] = "";
	enum vtpu_status status;

	for (i = 0; i < n; i++) {
		if (!*list[i].name)
			continue;
		if (strlen(names) + strlen(list[i].name) + 3 < sizeof(names)) {
			strcat(names, nodes ? ", " : "");
			strcat(names, list[i].name);
		}
		nodes++;
	}
	if (n <= 0)
		status =
			vtpu_fail(VTPU_ERROR_NO_DEVICE,
				  "no vTPU in this machine: there is no PCI device %04x:%04x; start QEMU with -device vtpu "
				  "(tools/vtpu-vm does that), or use the device name model:v3",
				  VTPU_PCI_VENDOR_ID, VTPU_PCI_DEVICE_ID);
	else if (nodes)
		status = vtpu_fail(VTPU_ERROR_NO_DEVICE, "%s does not exist; there is %s", path,
				   names);
	else if (access("/sys/module/vtpu", F_OK))
		status =
			vtpu_fail(VTPU_ERROR_NO_MODULE,
				  "the vTPU at PCI address %s has no driver: kernel module vtpu is not loaded; run: sudo "
				  "modprobe vtpu (or sudo insmod vtpu.ko where it was built)",
				  list[0].pci);
	else
		status =
			vtpu_fail(VTPU_ERROR_NO_MODULE,
				  "kernel module vtpu is loaded, but did not bind to the vTPU at PCI address %s; run: sudo "
				  "dmesg | grep vtpu, to see why",
				  list[0].pci);
	free(list);
	return status;
}

enum vtpu_status vtpu_fail_open(const char *path, int err)
{
	switch (err) {
	case EACCES:
	case EPERM:
		return fail_permission(path);
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENODEV:
		return fail_missing(path);
	case EDQUOT:
	case EMFILE:
	case ENFILE:
		return vtpu_fail(VTPU_ERROR_QUOTA, "%s: %s; close other devices or files", path,
				 strerror(err));
	default:
		return vtpu_fail_errno(-err, "%s", path);
	}
}
