// SPDX-License-Identifier: MIT
/* sample.c - the helpers of sample.h. */
#include "sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void sample_fail(const char *why)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
	exit(1);
}

double sample_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

bool sample_option(int opt, const char **device, uint32_t *cores, uint32_t *epochs)
{
	if (opt == 'd')
		*device = optarg;
	else if (opt == 'c')
		*cores = (uint32_t)atoi(optarg);
	else if (opt == 'e')
		*epochs = (uint32_t)atoi(optarg);
	else
		return false;
	return true;
}

struct vtpu_device *sample_open(const char *device, uint32_t *cores)
{
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_device *dev;

	setvbuf(stdout, NULL, _IOLBF, 0); /* lines come as they are printed, in a pipe too */
	CHECK(vtpu_open(device, &dev));
	CHECK(vtpu_device_info(dev, &info));
	if (!*cores)
		*cores = info.cores;
	printf("TPU initialized with %u cores (%s, %s)\n", *cores, vtpu_device_name(dev),
	       info.preset);
	return dev;
}

struct vtpu_buffer *sample_buffer(struct vtpu_device *dev, uint64_t room, const void *data,
				  uint64_t bytes)
{
	struct vtpu_buffer *buffer;

	CHECK(vtpu_buffer_alloc(dev, room, NULL, &buffer));
	if (bytes)
		CHECK(vtpu_buffer_write(buffer, 0, data, bytes));
	return buffer;
}

static void __attribute__((noreturn)) fail_file(const char *path, const char *why)
{
	char text[4300];

	snprintf(text, sizeof(text), "%s: %s", path, why);
	sample_fail(text);
}

void sample_read(const char *path, void *data, size_t bytes)
{
	FILE *f = fopen(path, "rb");

	if (!f)
		fail_file(path, strerror(errno));
	if (fread(data, 1, bytes, f) != bytes || fgetc(f) != EOF)
		fail_file(path, "is not as long as it must be; is it the right file?");
	fclose(f);
}

void sample_write(const char *prefix, const char *what, const void *data, size_t bytes)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s", prefix, what);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
		fail_file(path, strerror(errno));
}
