// SPDX-License-Identifier: MIT
/*
 * open.c - device names, and lists of them tried in order.
 */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Does a name begin here? After a comma only such words do; all others are properties of a model. */
static bool name_begins(const char *text)
{
	return starts(text, "accel") || starts(text, "model:") || starts(text, "/") ||
	       !strcmp(text, "model") || starts(text, "model,") || starts(text, "model;");
}

/* Length of the first name in @list; @list moves on to the next one, or to the end */
static size_t name_length(const char **list)
{
	const char *start = *list, *at;

	for (at = start; *at; at++) {
		if (*at == ';' || (*at == ',' && name_begins(at + 1))) {
			*list = at + 1;
			return (size_t)(at - start);
		}
	}
	*list = at;
	return (size_t)(at - start);
}

static enum vtpu_status open_one(const char *name, struct vtpu_device **device)
{
	struct vtpu_backend *backend;
	enum vtpu_status status;

	if (starts(name, "model:"))
		status = vtpu_inproc_open(name + strlen("model:"), &backend);
	else if (!strcmp(name, "model"))
		status = vtpu_inproc_open("", &backend);
	else if (starts(name, "accel") || starts(name, "/"))
		status = vtpu_kernel_open(name, &backend);
	else
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "'%s' is no device name; names are accel0, /dev/accel/accel0, model:v3,cores=8, or several "
				 "of these with ; between",
				 name);
	return status ? status : vtpu_device_create(backend, name, device);
}

/* "took X; Y: why not; Z: why not" */
static char *append(char *text, const char *more)
{
	size_t old = text ? strlen(text) : 0;
	char *longer = realloc(text, old + strlen(more) + 1);

	if (!longer) {
		free(text);
		return NULL;
	}
	strcpy(longer + old, more);
	return longer;
}

static char *add_refusal(char *text, const char *name)
{
	text = append(text, "; ");
	text = text ? append(text, name) : NULL;
	text = text ? append(text, ": ") : NULL;
	return text ? append(text, vtpu_last_error()) : NULL;
}

static enum vtpu_status open_list(const char *list, struct vtpu_device **device)
{
	enum vtpu_status first = VTPU_OK, status = VTPU_OK;
	char *refused = append(NULL, "");
	const char *at = list;
	unsigned int tried = 0;
	char *name = NULL;

	while (*at) {
		const char *start = at;
		size_t length = name_length(&at);

		if (!length)
			continue;
		free(name);
		name = strndup(start, length);
		if (!name || !refused) {
			status = vtpu_fail_nomem("a device name");
			goto out;
		}
		tried++;
		status = open_one(name, device);
		if (!status)
			break;
		if (!first)
			first = status;
		vtpu_message(VTPU_MESSAGE_INFO, "not %s: %s", name, vtpu_last_error());
		refused = add_refusal(refused, name);
	}
	if (!tried) {
		status = vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"the device name is empty; names are accel0, model:v3, or a list of these");
	} else if (status && tried > 1) {
		status = vtpu_fail(first, "no device of '%s' could be opened%s", list,
				   refused ? refused : "");
	} else if (!status) {
		(*device)->reason =
			append(append(append(NULL, "took "), name), refused ? refused : "");
		vtpu_message(VTPU_MESSAGE_INFO, "%s", vtpu_device_reason(*device));
	}
out:
	free(refused);
	free(name);
	return status;
}

enum vtpu_status vtpu_open(const char *name, struct vtpu_device **device)
{
	const char *env = getenv("VTPU_DEVICE");
	struct vtpu_device *opened = NULL;
	enum vtpu_status status;

	if (!device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_open: device is NULL");
	if (!name)
		name = env && *env ? env : "accel0";
	status = open_list(name, &opened);
	if (!status)
		*device = opened;
	return status;
}
