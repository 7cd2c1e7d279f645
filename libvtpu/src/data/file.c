// SPDX-License-Identifier: MIT
/*
 * file.c - bytes of a file, unpacked on the way: plain, gzip (zlib), xz (liblzma).
 */
#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/data.h"

#define CHUNK	  (1u << 16)
#define XZ_MEMORY (1ULL << 30) /* that its decoder may take */

struct data_file {
	char *path;
	FILE *raw; /* of xz; else NULL */
	gzFile gz; /* plain files too */
	lzma_stream xz;
	bool ended;
	uint8_t in[CHUNK];
};

static enum vtpu_status open_xz(struct data_file *f)
{
	f->raw = fopen(f->path, "rbe");
	if (!f->raw)
		return vtpu_fail(VTPU_ERROR_IO, "%s: cannot be opened: %s", f->path,
				 strerror(errno));
	f->xz = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&f->xz, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return vtpu_fail_nomem("an xz decoder");
	return VTPU_OK;
}

enum vtpu_status data_file_open(const char *path, struct data_file **file)
{
	static const uint8_t magic[6] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
	struct data_file *f = calloc(1, sizeof(*f));
	enum vtpu_status status = VTPU_OK;
	uint8_t head[6];
	FILE *probe;
	bool xz;

	if (!f || !(f->path = strdup(path))) {
		free(f);
		return vtpu_fail_nomem("a file");
	}
	probe = fopen(path, "rbe");
	if (!probe) {
		status = vtpu_fail(errno == ENOENT ? VTPU_ERROR_NOT_FOUND : VTPU_ERROR_IO,
				   "%s: cannot be opened: %s", path, strerror(errno));
		goto fail;
	}
	xz = fread(head, 1, sizeof(head), probe) == sizeof(head) &&
	     !memcmp(head, magic, sizeof(magic));
	if (ferror(probe))
		status = vtpu_fail(VTPU_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
	fclose(probe);
	if (!status && xz) {
		status = open_xz(f);
	} else if (!status) {
		f->gz = gzopen(path, "rbe");
		if (!f->gz)
			status = vtpu_fail(VTPU_ERROR_IO, "%s: cannot be opened: %s", path,
					   strerror(errno));
		else
			gzbuffer(f->gz, CHUNK);
	}
	if (status)
		goto fail;
	*file = f;
	return VTPU_OK;
fail:
	data_file_close(f);
	return status;
}

void data_file_close(struct data_file *file)
{
	if (!file)
		return;
	if (file->gz)
		gzclose(file->gz);
	if (file->raw) {
		lzma_end(&file->xz);
		fclose(file->raw);
	}
	free(file->path);
	free(file);
}

static const char *xz_words(lzma_ret ret)
{
	switch (ret) {
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR:
		return "no memory";
	case LZMA_FORMAT_ERROR:
		return "not xz";
	case LZMA_OPTIONS_ERROR:
		return "options that this liblzma does not know";
	case LZMA_BUF_ERROR:
		return "ends in the middle";
	default:
		return "damaged";
	}
}

/* As many of @count bytes as there are; a packed file that ends in the middle is an error. */
static enum vtpu_status read_xz(struct data_file *f, uint8_t *bytes, size_t count, size_t *got)
{
	f->xz.next_out = bytes;
	f->xz.avail_out = count;
	while (f->xz.avail_out && !f->ended) {
		lzma_ret ret;

		if (!f->xz.avail_in) {
			f->xz.next_in = f->in;
			f->xz.avail_in = fread(f->in, 1, sizeof(f->in), f->raw);
			if (ferror(f->raw))
				return vtpu_fail(VTPU_ERROR_IO, "%s: cannot be read: %s", f->path,
						 strerror(errno));
		}
		ret = lzma_code(&f->xz, f->xz.avail_in ? LZMA_RUN : LZMA_FINISH);
		if (ret == LZMA_STREAM_END)
			f->ended = true;
		else if (ret != LZMA_OK)
			return vtpu_fail(VTPU_ERROR_IO, "%s: cannot be unpacked by xz: %s", f->path,
					 xz_words(ret));
	}
	*got = count - f->xz.avail_out;
	return VTPU_OK;
}

static enum vtpu_status read_some(struct data_file *f, uint8_t *bytes, size_t count, size_t *got)
{
	const char *words;
	int n, err;

	if (f->raw)
		return read_xz(f, bytes, count, got);
	for (*got = 0; *got < count; *got += n) {
		size_t want = count - *got < (1u << 30) ? count - *got : 1u << 30;

		n = gzread(f->gz, bytes + *got, (unsigned int)want);
		words = gzerror(f->gz, &err);
		if (n < 0 || (err && err != Z_STREAM_END))
			return vtpu_fail(VTPU_ERROR_IO, "%s: cannot be read: %s", f->path,
					 err == Z_ERRNO ?
						 strerror(errno) :
					 err == Z_BUF_ERROR ?
						 "truncated: the gzip data ends in the middle" :
						 words);
		if (!n)
			break;
	}
	return VTPU_OK;
}

static enum vtpu_status truncated(struct data_file *f, const char *what, uint64_t count,
				  uint64_t got)
{
	return vtpu_fail(VTPU_ERROR_IO,
			 "%s: truncated: %s should have %" PRIu64 " bytes, and %" PRIu64
			 " are there; get the file again",
			 f->path, what, count, got);
}

enum vtpu_status data_file_read(struct data_file *file, void *bytes, size_t count, const char *what)
{
	enum vtpu_status status;
	size_t got;

	status = read_some(file, bytes, count, &got);
	if (!status && got < count)
		status = truncated(file, what, count, got);
	return status;
}

/* Grow *@bytes up to @most bytes, as long as more come. */
static enum vtpu_status load(struct data_file *f, uint64_t most, uint8_t **bytes, uint64_t *count)
{
	uint64_t room = 0, have = 0;
	uint8_t *data = NULL, *more;
	enum vtpu_status status;
	size_t got;

	do {
		room = room ? room * 2 : 1u << 20;
		if (room > most)
			room = most;
		more = realloc(data, room + !room);
		if (!more) {
			free(data);
			return vtpu_fail(VTPU_ERROR_OUT_OF_HOST_MEMORY,
					 "%s: no host memory for %" PRIu64 " bytes", f->path, room);
		}
		data = more;
		status = read_some(f, data + have, room - have, &got);
		if (status) {
			free(data);
			return status;
		}
		have += got;
	} while (have == room && room < most);
	*bytes = data;
	*count = have;
	return VTPU_OK;
}

enum vtpu_status data_file_load(struct data_file *file, uint64_t count, const char *what,
				uint8_t **bytes)
{
	enum vtpu_status status;
	uint8_t *data = NULL;
	uint64_t got;

	status = load(file, count, &data, &got);
	if (!status && got < count) {
		free(data);
		status = truncated(file, what, count, got);
	}
	if (!status)
		*bytes = data;
	return status;
}

enum vtpu_status data_file_rest(struct data_file *file, uint64_t most, uint8_t **bytes,
				uint64_t *count)
{
	enum vtpu_status status = load(file, most, bytes, count);

	if (!status && *count == most) {
		free(*bytes);
		status = vtpu_fail(VTPU_ERROR_TOO_LARGE, "%s: more than %" PRIu64 " bytes",
				   file->path, most - 1);
	}
	return status;
}

enum vtpu_status data_file_end(struct data_file *file, const char *what)
{
	enum vtpu_status status;
	uint8_t byte;
	size_t got;

	status = read_some(file, &byte, 1, &got);
	if (!status && got)
		status = vtpu_fail(VTPU_ERROR_IO, "%s: more bytes than %s announces; is it whole?",
				   file->path, what);
	return status;
}

bool data_path(const char *folder, const char *name, char *path, size_t bytes)
{
	static const char *const ends[] = { "", ".gz", ".xz" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		int n = snprintf(path, bytes, "%s/%s%s", folder, name, ends[i]);

		if (n > 0 && (size_t)n < bytes && !access(path, R_OK))
			return true;
	}
	return false;
}
