/* SPDX-License-Identifier: MIT */
/*
 * data.h - what the files of the data layer share.
 *
 *   data.c      life of data sets, descriptions, samples of the caller's
 *   file.c      bytes of a file, unpacked on the way
 *   idx.c       idx files: MNIST and its kin
 *   cifar.c     CIFAR-10's binary layout
 *   find.c      which folder a well-known data set is in
 *   random.c    random sequences, and the order of samples
 *   loader.c    loaders: batches, slots, the public calls
 *   resident.c  batches gathered in HBM by the copy queue
 *   feed.c      batches put together by threads and copied to HBM
 */
#ifndef VTPU_SRC_DATA_DATA_H
#define VTPU_SRC_DATA_DATA_H

#include <pthread.h>
#include <stdatomic.h>

#include <vtpu/data.h>

#include "core/error.h"

#define DATA_MAX_COUNT	 ((uint64_t)1 << 31) /* index lists are of u32 */
#define DATA_MAX_CLASSES (1u << 24)
#define DATA_MAX_SAMPLE	 ((uint64_t)1 << 30)

/* ---- data.c ------------------------------------------------------------------ */

struct vtpu_data {
	atomic_uint refs;
	char *name, *origin, *text;
	uint64_t count, sample_bytes;
	enum vtpu_dtype type, label_type;
	struct vtpu_shape shape;
	uint32_t classes;
	const uint8_t *samples; /* NULL: ask read */
	void *owned;		/* samples, if they are ours */
	int32_t *labels;	/* ours; NULL: no classes, or ask read */
	vtpu_read_fn read;
	void *arg;
	bool parallel;
	pthread_mutex_t lock; /* around read, unless parallel */
};

/**
 * data_make() - a data set of checked format
 * @origin: where its samples come from, in words
 * @samples: NULL if a callback is set afterwards
 * @owned: freed with the data set, also when this fails
 * @labels: the same
 */
enum vtpu_status data_make(const struct vtpu_data_format *format, const char *origin,
			   const void *samples, void *owned, int32_t *labels,
			   struct vtpu_data **data);

/** data_set_origin() - say better where the samples come from */
enum vtpu_status data_set_origin(struct vtpu_data *data, const char *origin);

struct vtpu_data *data_get(struct vtpu_data *data);

/** data_label_check() - is label @value of sample @index in range? */
enum vtpu_status data_label_check(const char *name, uint64_t index, int64_t value,
				  uint32_t classes);

/* ---- file.c ------------------------------------------------------------------- */

struct data_file;

/** data_file_open() - a file that is plain, or packed by gzip or xz, whatever its name says */
enum vtpu_status data_file_open(const char *path, struct data_file **file);
void data_file_close(struct data_file *file);

/** data_file_read() - exactly @bytes; a sentence says "truncated" if there are fewer. @what: "header" */
enum vtpu_status data_file_read(struct data_file *file, void *bytes, size_t count,
				const char *what);

/**
 * data_file_load() - the next @count bytes in memory that grows as they come, so that a header that lies
 * costs nothing; free() them
 */
enum vtpu_status data_file_load(struct data_file *file, uint64_t count, const char *what,
				uint8_t **bytes);

/** data_file_rest() - all that is left, at most @most bytes */
enum vtpu_status data_file_rest(struct data_file *file, uint64_t most, uint8_t **bytes,
				uint64_t *count);

/** data_file_end() - a sentence unless there are no more bytes */
enum vtpu_status data_file_end(struct data_file *file, const char *what);

/** data_path() - "folder/name", or that with .gz or .xz behind it, whichever can be read; else false */
bool data_path(const char *folder, const char *name, char *path, size_t bytes);

/* ---- random.c -------------------------------------------------------------------- */

/** data_order() - the order of @count samples in an epoch: @order[i] is the number of the i-th */
void data_order(uint32_t seed, uint32_t epoch, bool shuffle, uint32_t *order, uint64_t count);

#endif /* VTPU_SRC_DATA_DATA_H */
