// SPDX-License-Identifier: MIT
/*
 * copy.c - copy and fill jobs.
 */
#include <string.h>

#include "device/device.h"

/* One row of a plain copy; longer ones are several rows on end. */
#define ROW_BYTES (1ULL << 30)

static enum vtpu_status submit_descs(struct vtpu_stream *stream, const struct vtpu_copy_desc *desc,
				     uint32_t count, struct vtpu_event **event)
{
	struct vtpu_job job = {
		.args = (uint64_t)(uintptr_t)desc,
		.args_size = (uint32_t)(count * sizeof(*desc)),
	};

	return vtpu_stream_submit(stream, VTPU_QUEUE_COPY, &job, NULL, event);
}

static enum vtpu_status check_device(const struct vtpu_stream *stream,
				     const struct vtpu_buffer *buffer, const char *what)
{
	char name[96];

	if (!buffer)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "copy: the %s buffer is NULL", what);
	if (buffer->device != stream->device)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "copy: %s is of %s, the stream of %s",
				 vtpu_buffer_describe(buffer, name, sizeof(name)),
				 buffer->device->name, stream->device->name);
	return VTPU_OK;
}

/* The bytes that rows of @stride touch, relative to the first row: does all of it lie in the buffer? */
static enum vtpu_status check_rows(const struct vtpu_buffer *buffer, uint64_t offset, uint64_t rows,
				   uint64_t row_bytes, int64_t stride, const char *what)
{
	uint64_t step = stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
	uint64_t span;
	char name[96];

	if (__builtin_mul_overflow(rows - 1, step, &span) || span > INT64_MAX ||
	    (stride < 0 && span > offset))
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"%s: %llu rows %lld bytes apart from offset %llu on leave %s of %llu bytes",
			what, (unsigned long long)rows, (long long)stride,
			(unsigned long long)offset,
			vtpu_buffer_describe(buffer, name, sizeof(name)),
			(unsigned long long)buffer->bytes);
	return vtpu_buffer_check(buffer, stride < 0 ? offset - span : offset, span + row_bytes,
				 what);
}

static enum vtpu_status make_desc(const struct vtpu_stream *stream, const struct vtpu_rows *rows,
				  uint32_t at, struct vtpu_copy_desc *desc)
{
	enum vtpu_status status;

	if (!rows->rows || !rows->row_bytes || rows->pad)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"copy %u: rows and row_bytes are at least 1 and pad is 0; got %u, %u, %u",
			at, rows->rows, rows->row_bytes, rows->pad);
	status = check_device(stream, rows->dst, "destination");
	if (!status)
		status = check_device(stream, rows->src, "source");
	if (!status)
		status = check_rows(rows->dst, rows->dst_offset, rows->rows, rows->row_bytes,
				    rows->dst_stride, "copy destination");
	if (!status && rows->index) {
		if (!rows->index_limit || rows->index_offset % 4)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "copy %u: with an index, index_limit is at least 1 and index_offset a multiple of "
					 "4; got %u and %llu",
					 at, rows->index_limit,
					 (unsigned long long)rows->index_offset);
		status = check_device(stream, rows->index, "index");
		if (!status)
			status = vtpu_buffer_check(rows->index, rows->index_offset,
						   rows->rows * 4ULL, "copy index");
		if (!status)
			status = check_rows(rows->src, rows->src_offset, rows->index_limit,
					    rows->row_bytes, rows->src_stride, "copy source");
	} else if (!status) {
		status = check_rows(rows->src, rows->src_offset, rows->rows, rows->row_bytes,
				    rows->src_stride, "copy source");
	}
	if (status)
		return status;
	*desc = (struct vtpu_copy_desc){
		.op = VTPU_COPY_COPY,
		.src = rows->src->va + rows->src_offset,
		.dst = rows->dst->va + rows->dst_offset,
		.rows = rows->rows,
		.row_bytes = rows->row_bytes,
		.src_stride = rows->src_stride,
		.dst_stride = rows->dst_stride,
		.index = rows->index ? rows->index->va + rows->index_offset : 0,
		.index_limit = rows->index ? rows->index_limit : 0,
	};
	return VTPU_OK;
}

enum vtpu_status vtpu_copy_rows(struct vtpu_stream *stream, const struct vtpu_rows *rows,
				uint32_t count, struct vtpu_event **event)
{
	struct vtpu_copy_desc desc[VTPU_MAX_COPY_DESCS];
	enum vtpu_status status;
	uint32_t i;

	_Static_assert(VTPU_MAX_ROWS == VTPU_MAX_COPY_DESCS, "rows of a job");
	status = vtpu_device_usable(stream && rows ? stream->device : NULL, "vtpu_copy_rows");
	if (status)
		return status;
	if (!count || count > VTPU_MAX_ROWS)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_copy_rows: %u copies; a job has 1..%d", count,
				 VTPU_MAX_ROWS);
	for (i = 0; i < count; i++) {
		status = make_desc(stream, &rows[i], i, &desc[i]);
		if (status)
			return status;
	}
	return submit_descs(stream, desc, count, event);
}

enum vtpu_status vtpu_copy(struct vtpu_stream *stream, struct vtpu_buffer *dst, uint64_t dst_offset,
			   struct vtpu_buffer *src, uint64_t src_offset, uint64_t bytes,
			   struct vtpu_event **event)
{
	struct vtpu_rows rows[2];
	enum vtpu_status status;
	uint32_t n = 0;

	status = vtpu_device_usable(stream ? stream->device : NULL, "vtpu_copy");
	if (status)
		return status;
	if (!bytes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_copy: at least 1 byte is copied");
	memset(rows, 0, sizeof(rows));
	if (bytes / ROW_BYTES) {
		rows[n].dst = dst;
		rows[n].src = src;
		rows[n].dst_offset = dst_offset;
		rows[n].src_offset = src_offset;
		rows[n].rows = (uint32_t)(bytes / ROW_BYTES);
		rows[n].row_bytes = ROW_BYTES;
		rows[n].dst_stride = ROW_BYTES;
		rows[n].src_stride = ROW_BYTES;
		n++;
	}
	if (bytes % ROW_BYTES) {
		rows[n].dst = dst;
		rows[n].src = src;
		rows[n].dst_offset = dst_offset + bytes / ROW_BYTES * ROW_BYTES;
		rows[n].src_offset = src_offset + bytes / ROW_BYTES * ROW_BYTES;
		rows[n].rows = 1;
		rows[n].row_bytes = (uint32_t)(bytes % ROW_BYTES);
		n++;
	}
	return vtpu_copy_rows(stream, rows, n, event);
}

enum vtpu_status vtpu_fill(struct vtpu_stream *stream, struct vtpu_buffer *buffer, uint64_t offset,
			   uint64_t bytes, uint32_t pattern, struct vtpu_event **event)
{
	struct vtpu_copy_desc desc[2];
	enum vtpu_status status;
	uint32_t n = 0;

	status = vtpu_device_usable(stream ? stream->device : NULL, "vtpu_fill");
	if (!status)
		status = check_device(stream, buffer, "filled");
	if (!status)
		status = vtpu_buffer_check(buffer, offset, bytes, "fill");
	if (status)
		return status;
	if (!bytes || (offset | bytes) % 4)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"fill: offset %llu and length %llu must be multiples of 4, and the length not 0",
			(unsigned long long)offset, (unsigned long long)bytes);
	memset(desc, 0, sizeof(desc));
	if (bytes / ROW_BYTES) {
		desc[n].dst = buffer->va + offset;
		desc[n].rows = (uint32_t)(bytes / ROW_BYTES);
		desc[n].row_bytes = ROW_BYTES;
		desc[n].dst_stride = ROW_BYTES;
		n++;
	}
	if (bytes % ROW_BYTES) {
		desc[n].dst = buffer->va + offset + bytes / ROW_BYTES * ROW_BYTES;
		desc[n].rows = 1;
		desc[n].row_bytes = (uint32_t)(bytes % ROW_BYTES);
		n++;
	}
	desc[0].op = VTPU_COPY_FILL;
	desc[0].pattern = pattern;
	if (n == 2) {
		desc[1].op = VTPU_COPY_FILL;
		desc[1].pattern = pattern;
	}
	return submit_descs(stream, desc, n, event);
}
