// SPDX-License-Identifier: MIT
/*
 * cifar.c - CIFAR-10's binary layout: records of a label byte and 32x32 red,
 * then green, then blue bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

#define SIDE	    32
#define PIXELS	    (SIDE * SIDE)
#define CHANNELS    3
#define RECORD	    (1 + CHANNELS * PIXELS)
#define CLASSES	    10
#define MAX_RECORDS 1000000ULL

struct images {
	uint8_t *x;
	int32_t *y;
	uint64_t count;
};

static bool grow(struct images *all, uint64_t more)
{
	uint8_t *x = realloc(all->x, (all->count + more) * CHANNELS * PIXELS);
	int32_t *y;

	if (!x)
		return false;
	all->x = x;
	y = realloc(all->y, (all->count + more) * sizeof(*y));
	if (!y)
		return false;
	all->y = y;
	return true;
}

static enum vtpu_status add_records(struct images *all, const char *path, const uint8_t *record,
				    uint64_t records)
{
	if (!grow(all, records))
		return vtpu_fail_nomem("images");
	for (uint64_t i = 0; i < records; i++, record += RECORD) {
		uint8_t *x = all->x + all->count * CHANNELS * PIXELS;

		if (record[0] >= CLASSES)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "%s: the label of sample %" PRIu64
					 " is %u; expected 0..%d; is it "
					 "CIFAR-10's binary layout?",
					 path, i, record[0], CLASSES - 1);
		all->y[all->count++] = record[0];
		for (int p = 0; p < PIXELS; p++)
			for (int c = 0; c < CHANNELS; c++)
				*x++ = record[1 + c * PIXELS + p];
	}
	return VTPU_OK;
}

static enum vtpu_status add_file(struct images *all, const char *path)
{
	enum vtpu_status status;
	struct data_file *f;
	uint8_t *bytes;
	uint64_t count;

	status = data_file_open(path, &f);
	if (status)
		return status;
	status = data_file_rest(f, MAX_RECORDS * RECORD + 1, &bytes, &count);
	data_file_close(f);
	if (status)
		return status;
	if (!count)
		status = vtpu_fail(VTPU_ERROR_IO, "%s: empty", path);
	else if (count % RECORD)
		status = vtpu_fail(VTPU_ERROR_IO,
				   "%s: truncated: %" PRIu64 " bytes are %" PRIu64
				   " records of %d and %" PRIu64
				   " bytes left over; get the file again",
				   path, count, count / RECORD, RECORD, count % RECORD);
	else
		status = add_records(all, path, bytes, count / RECORD);
	free(bytes);
	return status;
}

enum vtpu_status vtpu_data_cifar10_files(const char *name, const char *const *paths, size_t count,
					 struct vtpu_data **data)
{
	struct vtpu_data_format format = {
		.name = name ? name : "CIFAR-10",
		.type = VTPU_DTYPE_U8,
		.shape = { 3, { SIDE, SIDE, CHANNELS } },
		.classes = CLASSES,
	};
	enum vtpu_status status = VTPU_OK;
	struct images all = { 0 };
	char origin[4096];

	if (!paths || !count || !data)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_data_cifar10_files: NULL or no paths");
	for (size_t i = 0; i < count && !status; i++)
		status = add_file(&all, paths[i]);
	if (status) {
		free(all.x);
		free(all.y);
		return status;
	}
	format.count = all.count;
	snprintf(origin, sizeof(origin), count > 1 ? "%s and %zu more" : "%s", paths[0], count - 1);
	return data_make(&format, origin, all.x, all.x, all.y, data);
}
