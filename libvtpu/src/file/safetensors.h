/* SPDX-License-Identifier: MIT */
/*
 * safetensors.h - files of named tensors: 8 bytes length, a JSON header, data.
 *
 * The format is the one that other frameworks read and write. What we add is in
 * its metadata, which they keep: "vtpu.checksum", over header and data. Files without it
 * are read as well.
 *
 * Writing is atomic: the new bytes go to "<path>.tmp", and take the place of <path> only
 * when all of them are on the disk. Whatever happens on the way, <path> is
 * the old file or the new one, whole.
 */
#ifndef VTPU_SRC_FILE_SAFETENSORS_H
#define VTPU_SRC_FILE_SAFETENSORS_H

#include <vtpu/graph.h>

#include "core/arena.h"

/** struct safetensor - a tensor of a file */
struct safetensor {
	const char *name;
	enum vtpu_dtype type;
	struct vtpu_shape shape;
	const void *data; /* when read: maybe not aligned */
	uint64_t bytes;
};

/** struct safetensors_meta - a pair of metadata */
struct safetensors_meta {
	const char *key, *value;
};

/** struct safetensors - a file in memory; zero is an empty one */
struct safetensors {
	struct arena arena; /* of names and arrays */
	void *bytes;	    /* of the whole file, when read */
	struct safetensor *tensor;
	size_t tensors, room;
	struct safetensors_meta *meta;
	size_t metas, meta_room;
};

/** safetensors_read() - @file is empty before, and after a failure */
enum vtpu_status safetensors_read(const char *path, struct safetensors *file);

void safetensors_free(struct safetensors *file);

/** safetensors_find() - the tensor of that name, or NULL */
const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);

/** safetensors_value() - the metadata of that key, or NULL */
const char *safetensors_value(const struct safetensors *file, const char *key);

/** safetensors_add() - one more tensor to write; @data is not copied */
enum vtpu_status safetensors_add(struct safetensors *file, const char *name, enum vtpu_dtype type,
				 const struct vtpu_shape *shape, const void *data, uint64_t bytes);

/** safetensors_set() - one more pair of metadata; the value is copied */
enum vtpu_status safetensors_set(struct safetensors *file, const char *key, const char *fmt, ...)
	VTPU_PRINTF(3, 4);

/** safetensors_write() - atomic, see above */
enum vtpu_status safetensors_write(const char *path, const struct safetensors *file);

/* ---- Between the files of this folder --------------------------------------- */

#define SAFETENSORS_CHECKSUM   "vtpu.checksum"
#define SAFETENSORS_MAX_HEADER 100000000ULL /* as others have it */
#define SAFETENSORS_ALIGN      64

/** safetensors_type() - "F32" for f32; NULL for none */
const char *safetensors_type(enum vtpu_dtype type);

/**
 * safetensors_checksum() - over header and data, with the checksum's own digits taken as zeros
 * @digits: where they are in the header
 */
uint64_t safetensors_checksum(const char *header, size_t header_bytes, size_t digits,
			      const struct safetensor *tensor, size_t tensors);

/** safetensors_digits() - where the checksum's 16 digits are in a header; 0: there are none */
size_t safetensors_digits(const char *header, size_t bytes);

#endif /* VTPU_SRC_FILE_SAFETENSORS_H */
