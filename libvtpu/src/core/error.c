// SPDX-License-Identifier: MIT
/*
 * error.c - status codes, the thread's error sentence, option structs.
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"

static _Thread_local char sentence[VTPU_ERROR_BYTES];

const char *vtpu_status_string(enum vtpu_status status)
{
	switch (status) {
#define STATUS_CASE(name, value, words) \
	case VTPU_##name: \
		return words;
		VTPU_STATUS_CODES(STATUS_CASE)
#undef STATUS_CASE
	}
	return "unknown status";
}

const char *vtpu_status_id(enum vtpu_status status)
{
	switch (status) {
#define STATUS_CASE(name, value, words) \
	case VTPU_##name: \
		return "VTPU_" #name;
		VTPU_STATUS_CODES(STATUS_CASE)
#undef STATUS_CASE
	}
	return "VTPU_STATUS_UNKNOWN";
}

const char *vtpu_last_error(void)
{
	return sentence;
}

enum vtpu_status vtpu_vfail(enum vtpu_status status, const char *fmt, va_list ap)
{
	char text[VTPU_ERROR_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	memcpy(sentence, text, strlen(text) + 1);
	return status;
}

enum vtpu_status vtpu_fail(enum vtpu_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vtpu_vfail(status, fmt, ap);
	va_end(ap);
	return status;
}

enum vtpu_status vtpu_fail_in(enum vtpu_status status, const char *fmt, ...)
{
	char context[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	return vtpu_fail(status, "%s: %s", context, sentence);
}

enum vtpu_status vtpu_fail_nomem(const char *what)
{
	return vtpu_fail(VTPU_ERROR_OUT_OF_HOST_MEMORY, "no host memory for %s", what);
}

enum vtpu_status vtpu_options(void *dst, const void *src, size_t known, const char *what)
{
	const unsigned char *byte = src;
	size_t size, i;

	memset(dst, 0, known);
	if (!src)
		return VTPU_OK;
	memcpy(&size, src, sizeof(size));
	if (size < sizeof(size))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "%s: struct_size is %zu; initialise the struct with VTPU_INIT()",
				 what, size);
	for (i = known; i < size; i++) {
		if (byte[i])
			return vtpu_fail(
				VTPU_ERROR_VERSION,
				"%s: the caller sets a field at byte %zu that this library (version %s, %zu bytes) "
				"does not know; use a newer libvtpu or leave the field zero",
				what, i, vtpu_version_string(), known);
	}
	memcpy(dst, src, size < known ? size : known);
	return VTPU_OK;
}
