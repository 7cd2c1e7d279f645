// SPDX-License-Identifier: MIT
/*
 * idx.c - idx files: MNIST and its kin.
 *
 * Big endian: two zero bytes, a type (8: u8), the number of dimensions, their
 * sizes as u32, then the elements.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "data/data.h"

#define IDX_U8	8
#define MAX_IDX ((uint64_t)1 << 36) /* bytes of a file */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static enum vtpu_status read_header(struct data_file *f, const char *path, uint32_t least,
				    uint32_t most, struct vtpu_shape *shape, uint64_t *bytes)
{
	enum vtpu_status status;
	uint8_t h[4];

	status = data_file_read(f, h, 4, "the idx header");
	if (status)
		return status;
	if (h[0] || h[1] || h[2] != IDX_U8 || h[3] < least || h[3] > most)
		return vtpu_fail(VTPU_ERROR_IO,
				 "%s: magic number 0x%08x; expected 0x%08x, idx of bytes in %u dimensions; is it "
				 "the right file?",
				 path, be32(h), IDX_U8 << 8 | least, least);
	shape->rank = h[3];
	*bytes = 1;
	for (uint32_t i = 0; i < shape->rank; i++) {
		status = data_file_read(f, h, 4, "the idx header");
		if (status)
			return status;
		shape->dim[i] = be32(h);
		if (!shape->dim[i])
			return vtpu_fail(VTPU_ERROR_IO, "%s: empty: dimension %u is 0", path, i);
		if (__builtin_mul_overflow(*bytes, (uint64_t)shape->dim[i], bytes) ||
		    *bytes > MAX_IDX)
			return vtpu_fail(VTPU_ERROR_TOO_LARGE,
					 "%s: announces more than %" PRIu64 " bytes", path,
					 MAX_IDX);
	}
	return VTPU_OK;
}

/* *bytes, if not NULL, is the caller's also after a failure */
static enum vtpu_status read_idx(const char *path, uint32_t least, uint32_t most,
				 struct vtpu_shape *shape, uint8_t **bytes)
{
	struct data_file *f;
	enum vtpu_status status;
	uint64_t count = 0;

	status = data_file_open(path, &f);
	if (status)
		return status;
	status = read_header(f, path, least, most, shape, &count);
	if (!status)
		status = data_file_load(f, count, "the data that its header announces", bytes);
	if (!status)
		status = data_file_end(f, "its header");
	data_file_close(f);
	return status;
}

static int32_t *widen(const uint8_t *bytes, uint64_t count, uint32_t *classes)
{
	int32_t *labels = malloc(count * sizeof(*labels));
	uint32_t largest = 0;

	for (uint64_t i = 0; labels && i < count; i++) {
		labels[i] = bytes[i];
		if (bytes[i] > largest)
			largest = bytes[i];
	}
	if (!*classes)
		*classes = largest + 1;
	return labels;
}

enum vtpu_status vtpu_data_idx(const char *name, const char *images, const char *labels,
			       uint32_t classes, struct vtpu_data **data)
{
	struct vtpu_shape shape = { 0 }, list = { 0 };
	struct vtpu_data_format format;
	uint8_t *x = NULL, *y = NULL;
	enum vtpu_status status;
	int32_t *wide;

	if (!images || !labels || !data)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_data_idx: NULL path or result");
	status = read_idx(images, 3, VTPU_MAX_RANK, &shape, &x);
	if (!status)
		status = read_idx(labels, 1, 1, &list, &y);
	if (!status && list.dim[0] != shape.dim[0])
		status = vtpu_fail(VTPU_ERROR_SHAPE_MISMATCH,
				   "%s has %" PRId64 " labels, but %s has %" PRId64
				   " images; do they belong together?",
				   labels, list.dim[0], images, shape.dim[0]);
	if (status)
		goto fail;
	format = (struct vtpu_data_format){
		.name = name ? name : images,
		.count = shape.dim[0],
		.type = VTPU_DTYPE_U8,
		.classes = classes,
	};
	for (uint32_t i = 1; i < shape.rank; i++)
		format.shape.dim[format.shape.rank++] = shape.dim[i];
	if (shape.rank == 3)
		format.shape.dim[format.shape.rank++] = 1;
	wide = widen(y, format.count, &format.classes);
	if (!wide) {
		status = vtpu_fail_nomem("labels");
		goto fail;
	}
	free(y);
	return data_make(&format, images, x, x, wide, data);
fail:
	free(x);
	free(y);
	return status;
}
