// SPDX-License-Identifier: MIT
/*
 * safetensors.c - files of named tensors: in memory, and read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "file/safetensors.h"

#define DIGITS 16
#define MARK   "\"" SAFETENSORS_CHECKSUM "\":\"xxh3:"

static const struct {
	enum vtpu_dtype type;
	const char *name;
} types[] = {
	{ VTPU_DTYPE_U8, "U8" },     { VTPU_DTYPE_S8, "I8" },	{ VTPU_DTYPE_S32, "I32" },
	{ VTPU_DTYPE_BF16, "BF16" }, { VTPU_DTYPE_F32, "F32" },
};

const char *safetensors_type(enum vtpu_dtype type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].type == type)
			return types[i].name;
	return NULL;
}

static enum vtpu_dtype type_of(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, name))
			return types[i].type;
	return VTPU_DTYPE_DEFAULT;
}

/* ---- In memory -------------------------------------------------------------- */

/* Room for one more in an array of an arena; old arrays stay in it. */
static bool grow(struct arena *arena, void **array, size_t count, size_t *room, size_t bytes)
{
	void *more;

	if (count < *room)
		return true;
	more = arena_array(arena, *room ? *room * 2 : 16, bytes);
	if (!more)
		return false;
	if (count)
		memcpy(more, *array, count * bytes);
	*room = *room ? *room * 2 : 16;
	*array = more;
	return true;
}

enum vtpu_status safetensors_add(struct safetensors *file, const char *name, enum vtpu_dtype type,
				 const struct vtpu_shape *shape, const void *data, uint64_t bytes)
{
	char *copy = arena_printf(&file->arena, "%s", name);

	if (!copy || !grow(&file->arena, (void **)&file->tensor, file->tensors, &file->room,
			   sizeof(*file->tensor)))
		return vtpu_fail_nomem("a tensor");
	file->tensor[file->tensors++] = (struct safetensor){
		.name = copy, .type = type, .shape = *shape, .data = data, .bytes = bytes
	};
	return VTPU_OK;
}

enum vtpu_status safetensors_set(struct safetensors *file, const char *key, const char *fmt, ...)
{
	char *copy = arena_printf(&file->arena, "%s", key), *value;
	va_list args;

	va_start(args, fmt);
	value = arena_vprintf(&file->arena, fmt, args);
	va_end(args);
	if (!copy || !value ||
	    !grow(&file->arena, (void **)&file->meta, file->metas, &file->meta_room,
		  sizeof(*file->meta)))
		return vtpu_fail_nomem("metadata");
	file->meta[file->metas++] = (struct safetensors_meta){ copy, value };
	return VTPU_OK;
}

const struct safetensor *safetensors_find(const struct safetensors *file, const char *name)
{
	for (size_t i = 0; i < file->tensors; i++)
		if (!strcmp(file->tensor[i].name, name))
			return &file->tensor[i];
	return NULL;
}

const char *safetensors_value(const struct safetensors *file, const char *key)
{
	for (size_t i = 0; i < file->metas; i++)
		if (!strcmp(file->meta[i].key, key))
			return file->meta[i].value;
	return NULL;
}

void safetensors_free(struct safetensors *file)
{
	arena_free(&file->arena);
	free(file->bytes);
	*file = (struct safetensors){ 0 };
}

/* ---- Checksum --------------------------------------------------------------------- */

size_t safetensors_digits(const char *header, size_t bytes)
{
	const char *at = memmem(header, bytes, MARK, strlen(MARK));
	size_t digits;

	if (!at)
		return 0;
	digits = at - header + strlen(MARK);
	return digits + DIGITS <= bytes ? digits : 0;
}

uint64_t safetensors_checksum(const char *header, size_t header_bytes, size_t digits,
			      const struct safetensor *tensor, size_t tensors)
{
	static const char zeros[DIGITS + 1] = "0000000000000000";
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, header, digits);
	XXH3_64bits_update(&state, zeros, DIGITS);
	XXH3_64bits_update(&state, header + digits + DIGITS, header_bytes - digits - DIGITS);
	for (size_t i = 0; i < tensors; i++)
		XXH3_64bits_update(&state, tensor[i].data, tensor[i].bytes);
	return XXH3_64bits_digest(&state);
}

/* ---- Reading ------------------------------------------------------------------------- */

static enum vtpu_status slurp(const char *path, uint8_t **bytes, uint64_t *count)
{
	struct stat st;
	uint64_t have = 0;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return vtpu_fail(errno == ENOENT ? VTPU_ERROR_NOT_FOUND : VTPU_ERROR_IO,
				 "%s: cannot be opened: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return vtpu_fail(VTPU_ERROR_IO, "%s: is no regular file", path);
	}
	*bytes = malloc(st.st_size + 1);
	if (!*bytes) {
		close(fd);
		return vtpu_fail_nomem(path);
	}
	while (have < (uint64_t)st.st_size) {
		n = read(fd, *bytes + have, st.st_size - have);
		if (n <= 0)
			break;
		have += n;
	}
	if (n < 0) {
		vtpu_fail(VTPU_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
		free(*bytes);
		close(fd);
		return VTPU_ERROR_IO;
	}
	close(fd);
	*count = have;
	return VTPU_OK;
}

static bool number(struct json_object *array, size_t index, int64_t *value)
{
	struct json_object *o = json_object_array_get_idx(array, index);

	if (!json_object_is_type(o, json_type_int))
		return false;
	*value = json_object_get_int64(o);
	return *value >= 0;
}

/* One entry of the header. Sizes are compared, offsets are checked later, all together. */
static enum vtpu_status add_tensor(struct safetensors *file, const char *name,
				   struct json_object *entry, const uint8_t *data, uint64_t bytes)
{
	struct json_object *dtype, *dims, *offsets;
	struct vtpu_shape shape = { 0 };
	enum vtpu_dtype type;
	int64_t begin, end;
	uint64_t want;

	if (!json_object_object_get_ex(entry, "dtype", &dtype) ||
	    !json_object_object_get_ex(entry, "shape", &dims) ||
	    !json_object_object_get_ex(entry, "data_offsets", &offsets) ||
	    !json_object_is_type(dtype, json_type_string) ||
	    !json_object_is_type(dims, json_type_array) ||
	    !json_object_is_type(offsets, json_type_array) ||
	    json_object_array_length(offsets) != 2 || !number(offsets, 0, &begin) ||
	    !number(offsets, 1, &end))
		return vtpu_fail(VTPU_ERROR_IO,
				 "tensor '%s': dtype, shape or data_offsets is missing or malformed",
				 name);
	type = type_of(json_object_get_string(dtype));
	if (!type)
		return vtpu_fail(VTPU_ERROR_UNSUPPORTED,
				 "tensor '%s': dtype '%s'; expected U8, I8, I32, BF16 or F32", name,
				 json_object_get_string(dtype));
	if (json_object_array_length(dims) > VTPU_MAX_RANK)
		return vtpu_fail(VTPU_ERROR_UNSUPPORTED,
				 "tensor '%s': %zu dimensions; expected at most %d", name,
				 json_object_array_length(dims), VTPU_MAX_RANK);
	want = vtpu_dtype_bytes(type);
	for (shape.rank = 0; shape.rank < json_object_array_length(dims); shape.rank++) {
		int64_t *dim = &shape.dim[shape.rank];

		if (!number(dims, shape.rank, dim) ||
		    __builtin_mul_overflow(want, (uint64_t)*dim, &want))
			return vtpu_fail(VTPU_ERROR_IO, "tensor '%s': dimension %u is malformed",
					 name, shape.rank);
	}
	if (end < begin || (uint64_t)end > bytes)
		return vtpu_fail(VTPU_ERROR_IO,
				 "tensor '%s' is at bytes %" PRId64 "..%" PRId64
				 " of the data, and %" PRIu64 " are there: half written or cut off",
				 name, begin, end, bytes);
	if ((uint64_t)(end - begin) != want)
		return vtpu_fail(VTPU_ERROR_IO,
				 "tensor '%s': its shape needs %" PRIu64
				 " bytes, its data_offsets have %" PRId64,
				 name, want, end - begin);
	return safetensors_add(file, name, type, &shape, data + begin, want);
}

static int by_place(const void *a, const void *b)
{
	const struct safetensor *x = a, *y = b;

	return x->data != y->data   ? (x->data < y->data ? -1 : 1) :
	       x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) :
				      0;
}

/* The tensors must cover the data without holes. They end up in its order. */
static enum vtpu_status check_places(struct safetensors *file, const uint8_t *data, uint64_t bytes)
{
	const uint8_t *at = data;

	if (file->tensors)
		qsort(file->tensor, file->tensors, sizeof(*file->tensor), by_place);
	for (size_t i = 0; i < file->tensors; i++) {
		if (file->tensor[i].data != at)
			return vtpu_fail(VTPU_ERROR_IO,
					 "tensor '%s' starts at byte %td of the data; expected %td",
					 file->tensor[i].name,
					 (const uint8_t *)file->tensor[i].data - data, at - data);
		at += file->tensor[i].bytes;
	}
	if ((uint64_t)(at - data) != bytes)
		return vtpu_fail(VTPU_ERROR_IO,
				 "the tensors have %td bytes, the file has %" PRIu64
				 " behind its header",
				 at - data, bytes);
	return VTPU_OK;
}

static enum vtpu_status read_header(struct safetensors *file, struct json_object *root,
				    const uint8_t *data, uint64_t bytes)
{
	enum vtpu_status status = VTPU_OK;

	if (!json_object_is_type(root, json_type_object))
		return vtpu_fail(VTPU_ERROR_IO, "the header is no JSON object");
	json_object_object_foreach(root, key, value)
	{
		if (!json_object_is_type(value, json_type_object))
			return vtpu_fail(VTPU_ERROR_IO, "header entry '%s' is no object", key);
		if (strcmp(key, "__metadata__")) {
			status = add_tensor(file, key, value, data, bytes);
			if (status)
				return status;
			continue;
		}
		json_object_object_foreach(value, name, text)
		{
			if (!json_object_is_type(text, json_type_string))
				return vtpu_fail(VTPU_ERROR_IO, "metadata '%s' is no string", name);
			status = safetensors_set(file, name, "%s", json_object_get_string(text));
			if (status)
				return status;
		}
	}
	return check_places(file, data, bytes);
}

static enum vtpu_status check_sum(const struct safetensors *file, const char *header, size_t bytes)
{
	size_t digits = safetensors_digits(header, bytes);
	uint64_t sum;
	char want[DIGITS + 1];

	if (!digits) {
		/* A file of another program; or the checksum itself is damaged. */
		for (size_t i = 0; i < file->metas; i++)
			if (!strcmp(file->meta[i].key, SAFETENSORS_CHECKSUM) ||
			    !strncmp(file->meta[i].value, "xxh3:", 5))
				return vtpu_fail(VTPU_ERROR_IO,
						 "the checksum is malformed: the file is damaged");
		return VTPU_OK;
	}
	sum = safetensors_checksum(header, bytes, digits, file->tensor, file->tensors);
	snprintf(want, sizeof(want), "%016" PRIx64, sum);
	if (memcmp(want, header + digits, DIGITS))
		return vtpu_fail(VTPU_ERROR_IO,
				 "the checksum is %.*s in the file and %s over its bytes: the file is damaged; "
				 "use another copy",
				 DIGITS, header + digits, want);
	return VTPU_OK;
}

static enum vtpu_status parse(struct safetensors *file, uint8_t *bytes, uint64_t count)
{
	struct json_tokener *tokener;
	struct json_object *root;
	enum vtpu_status status;
	uint64_t length = 0;

	for (int i = 7; i >= 0 && count >= 8; i--)
		length = length << 8 | bytes[i];
	if (count <= 8)
		return vtpu_fail(VTPU_ERROR_IO,
				 "%" PRIu64 " bytes: empty or cut off, no safetensors file", count);
	if (!length || length > SAFETENSORS_MAX_HEADER || bytes[8] != '{')
		return vtpu_fail(
			VTPU_ERROR_IO,
			"not a safetensors file, which starts with the length of a JSON header");
	if (length > count - 8)
		return vtpu_fail(VTPU_ERROR_IO,
				 "the header has %" PRIu64 " bytes, and %" PRIu64
				 " are there: half written or cut off",
				 length, count - 8);
	tokener = json_tokener_new();
	if (!tokener)
		return vtpu_fail_nomem("a JSON parser");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tokener, (const char *)bytes + 8, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success)
		status = vtpu_fail(VTPU_ERROR_IO, "the JSON header is malformed at byte %zu: %s",
				   json_tokener_get_parse_end(tokener),
				   json_tokener_error_desc(json_tokener_get_error(tokener)));
	else
		status = read_header(file, root, bytes + 8 + length, count - 8 - length);
	json_object_put(root);
	json_tokener_free(tokener);
	return status ? status : check_sum(file, (const char *)bytes + 8, length);
}

enum vtpu_status safetensors_read(const char *path, struct safetensors *file)
{
	enum vtpu_status status;
	uint8_t *bytes;
	uint64_t count = 0;

	*file = (struct safetensors){ 0 };
	status = slurp(path, &bytes, &count);
	if (status)
		return status;
	file->bytes = bytes;
	status = parse(file, bytes, count);
	if (status) {
		safetensors_free(file);
		return vtpu_fail_in(status, "%s", path);
	}
	return VTPU_OK;
}
