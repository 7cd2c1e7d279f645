// SPDX-License-Identifier: MIT
/*
 * write.c - safetensors files, written so that a good file is never lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "file/safetensors.h"

/* ---- Header ------------------------------------------------------------------ */

static bool add(struct json_object *to, const char *key, struct json_object *value)
{
	if (value && !json_object_object_add(to, key, value))
		return true;
	json_object_put(value);
	return false;
}

static bool push(struct json_object *to, uint64_t value)
{
	struct json_object *number = json_object_new_int64((int64_t)value);

	if (number && !json_object_array_add(to, number))
		return true;
	json_object_put(number);
	return false;
}

static bool header_tensor(struct json_object *root, const struct safetensor *t, uint64_t offset)
{
	struct json_object *entry = json_object_new_object(), *shape = json_object_new_array(),
			   *place = json_object_new_array();
	bool good = entry && shape && place;

	for (uint32_t i = 0; good && i < t->shape.rank; i++)
		good = push(shape, (uint64_t)t->shape.dim[i]);
	good = good && push(place, offset) && push(place, offset + t->bytes);
	if (!good) {
		json_object_put(entry);
		json_object_put(shape);
		json_object_put(place);
		return false;
	}
	/* Each of these takes its value over, also when it fails. */
	good = add(entry, "dtype", json_object_new_string(safetensors_type(t->type)));
	good &= add(entry, "shape", shape);
	good &= add(entry, "data_offsets", place);
	if (!good) {
		json_object_put(entry);
		return false;
	}
	return add(root, t->name, entry);
}

static struct json_object *header_object(const struct safetensors *file)
{
	struct json_object *root = json_object_new_object(), *meta = json_object_new_object();
	uint64_t offset = 0;
	bool good = root && meta;

	for (size_t i = 0; good && i < file->metas; i++)
		good = add(meta, file->meta[i].key, json_object_new_string(file->meta[i].value));
	good = good &&
	       add(meta, SAFETENSORS_CHECKSUM, json_object_new_string("xxh3:0000000000000000"));
	if (!good || !add(root, "__metadata__", meta)) {
		if (!good)
			json_object_put(meta);
		json_object_put(root);
		return NULL;
	}
	for (size_t i = 0; good && i < file->tensors; i++) {
		good = header_tensor(root, &file->tensor[i], offset);
		offset += file->tensor[i].bytes;
	}
	if (!good) {
		json_object_put(root);
		return NULL;
	}
	return root;
}

/* Length and header, padded with blanks so that the data is aligned; free() it. */
static char *make_header(const struct safetensors *file, size_t *bytes)
{
	struct json_object *root = header_object(file);
	size_t length, padded, digits;
	const char *text;
	char *header, sum[17];

	if (!root)
		return NULL;
	text = json_object_to_json_string_length(root,
						 JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE,
						 &length);
	padded = (8 + length + SAFETENSORS_ALIGN - 1) / SAFETENSORS_ALIGN * SAFETENSORS_ALIGN;
	header = text ? malloc(padded) : NULL;
	if (header) {
		memset(header, ' ', padded);
		for (int i = 0; i < 8; i++)
			header[i] = (char)((padded - 8) >> (8 * i));
		memcpy(header + 8, text, length);
		digits = safetensors_digits(header + 8, padded - 8);
		snprintf(sum, sizeof(sum), "%016" PRIx64,
			 safetensors_checksum(header + 8, padded - 8, digits, file->tensor,
					      file->tensors));
		memcpy(header + 8 + digits, sum, 16);
		*bytes = padded;
	}
	json_object_put(root);
	return header;
}

/* ---- The file ------------------------------------------------------------------- */

/*
 * Open @path for ourselves alone. Another writer may rename it away between open
 * and lock: what is locked then is no longer @path, and must not be touched.
 */
static int open_alone(const char *path)
{
	struct stat here, there;
	int fd;

	for (;;) {
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &here)) {
			int err = errno;

			close(fd);
			errno = err;
			return -1;
		}
		if (!stat(path, &there) && there.st_ino == here.st_ino &&
		    there.st_dev == here.st_dev)
			break;
		close(fd);
	}
	if (ftruncate(fd, 0)) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

static bool write_all(int fd, const void *data, uint64_t bytes)
{
	const char *p = data;

	while (bytes) {
		ssize_t n = write(fd, p, bytes < 1u << 30 ? bytes : 1u << 30);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		bytes -= n;
	}
	return true;
}

static bool write_file(int fd, const struct safetensors *file, const char *header, size_t bytes)
{
	if (!write_all(fd, header, bytes))
		return false;
	for (size_t i = 0; i < file->tensors; i++)
		if (!write_all(fd, file->tensor[i].data, file->tensor[i].bytes))
			return false;
	return !fsync(fd);
}

/* The new name is on the disk only when its folder is. */
static void sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

static enum vtpu_status fail_write(const char *path, int err, uint64_t bytes)
{
	struct statvfs fs;
	char *copy = strdup(path), room[96] = "";

	if (copy && err == ENOSPC && !statvfs(dirname(copy), &fs))
		snprintf(room, sizeof(room), "; %" PRIu64 " bytes are needed and %" PRIu64 " free",
			 bytes, (uint64_t)fs.f_bavail * fs.f_frsize);
	free(copy);
	if (err == EWOULDBLOCK)
		return vtpu_fail(VTPU_ERROR_BUSY,
				 "%s: another program is writing it (%s.tmp is locked)", path,
				 path);
	return vtpu_fail(err == EACCES || err == EPERM ? VTPU_ERROR_PERMISSION : VTPU_ERROR_IO,
			 "%s: cannot be written: %s%s; what was there before is as it was", path,
			 strerror(err), room);
}

static enum vtpu_status check(const char *path, const struct safetensors *file, uint64_t *bytes)
{
	for (size_t i = 0; i < file->tensors; i++) {
		const struct safetensor *t = &file->tensor[i];

		if (!safetensors_type(t->type))
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "%s: tensor '%s' has no type",
					 path, t->name);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(file->tensor[k].name, t->name))
				return vtpu_fail(VTPU_ERROR_EXISTS, "%s: two tensors '%s'", path,
						 t->name);
		*bytes += t->bytes;
	}
	return VTPU_OK;
}

enum vtpu_status safetensors_write(const char *path, const struct safetensors *file)
{
	enum vtpu_status status;
	uint64_t bytes = 0;
	size_t header_bytes = 0;
	char *header, *temporary;
	int fd, err;

	status = check(path, file, &bytes);
	if (status)
		return status;
	header = make_header(file, &header_bytes);
	if (!header || asprintf(&temporary, "%s.tmp", path) < 0) {
		free(header);
		return vtpu_fail_nomem(path);
	}
	fd = open_alone(temporary);
	if (fd < 0) {
		status = fail_write(path, errno, bytes + header_bytes);
	} else {
		/* Renamed while it is locked: see open_alone(). */
		err = write_file(fd, file, header, header_bytes) && !rename(temporary, path) ?
			      0 :
			      errno;
		if (err) {
			unlink(temporary);
			status = fail_write(path, err, bytes + header_bytes);
		} else {
			sync_folder(path);
		}
		close(fd);
	}
	free(temporary);
	free(header);
	return status;
}
