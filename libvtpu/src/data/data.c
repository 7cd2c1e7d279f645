// SPDX-License-Identifier: MIT
/*
 * data.c - life of data sets, descriptions, samples of the caller's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

static void shape_text(enum vtpu_dtype type, const struct vtpu_shape *shape, char *text,
		       size_t bytes)
{
	int n = snprintf(text, bytes, "%s[", vtpu_dtype_name(type));

	for (uint32_t i = 0; i < shape->rank; i++)
		n += snprintf(text + n, bytes - n, "%s%" PRId64, i ? "," : "", shape->dim[i]);
	snprintf(text + n, bytes - n, "]");
}

enum vtpu_status data_set_origin(struct vtpu_data *data, const char *origin)
{
	char shape[160], classes[48] = "without labels", *text, *copy = strdup(origin);

	shape_text(data->type, &data->shape, shape, sizeof(shape));
	if (data->classes)
		snprintf(classes, sizeof(classes), "in %u classes", data->classes);
	if (!copy || !data->name ||
	    asprintf(&text, "%s: %" PRIu64 " samples %s %s, %.1f MB, from %s", data->name,
		     data->count, shape, classes, data->count * data->sample_bytes * 1e-6,
		     copy) < 0) {
		free(copy);
		return vtpu_fail_nomem("a data set");
	}
	free(data->origin);
	free(data->text);
	data->origin = copy;
	data->text = text;
	return VTPU_OK;
}

static enum vtpu_status check_format(const struct vtpu_data_format *f, uint64_t *sample_bytes)
{
	uint64_t bytes = vtpu_dtype_bytes(f->type);

	if (!bytes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "data '%s': type %d is none", f->name,
				 f->type);
	if (!f->count || f->count >= DATA_MAX_COUNT)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "data '%s': %" PRIu64 " samples; expected 1..%" PRIu64, f->name,
				 f->count, DATA_MAX_COUNT - 1);
	if (f->shape.rank >= VTPU_MAX_RANK)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"data '%s': a sample of %u dimensions; a batch has one more, and at most %d",
			f->name, f->shape.rank, VTPU_MAX_RANK);
	for (uint32_t i = 0; i < f->shape.rank; i++) {
		if (f->shape.dim[i] < 1 ||
		    __builtin_mul_overflow(bytes, (uint64_t)f->shape.dim[i], &bytes) ||
		    bytes > DATA_MAX_SAMPLE)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "data '%s': dimension %u of a sample is %" PRId64
					 "; expected at least 1, and samples of at most 1 GiB",
					 f->name, i, f->shape.dim[i]);
	}
	if (f->classes > DATA_MAX_CLASSES)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "data '%s': %u classes; expected at most %u", f->name, f->classes,
				 DATA_MAX_CLASSES);
	*sample_bytes = bytes;
	return VTPU_OK;
}

enum vtpu_status data_label_check(const char *name, uint64_t index, int64_t value, uint32_t classes)
{
	if (value >= 0 && value < classes)
		return VTPU_OK;
	return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
			 "data '%s': the label of sample %" PRIu64 " is %" PRId64
			 "; expected 0..%u; correct the labels, or say how many classes there are",
			 name, index, value, classes - 1);
}

static enum vtpu_status check_labels(const struct vtpu_data_format *f, const int32_t *labels)
{
	enum vtpu_status status = VTPU_OK;

	for (uint64_t i = 0; labels && i < f->count && !status; i++)
		status = data_label_check(f->name, i, labels[i], f->classes);
	return status;
}

enum vtpu_status data_make(const struct vtpu_data_format *format, const char *origin,
			   const void *samples, void *owned, int32_t *labels,
			   struct vtpu_data **data)
{
	uint64_t sample_bytes = 0;
	struct vtpu_data *d = NULL;
	enum vtpu_status status;

	status = check_format(format, &sample_bytes);
	if (!status)
		status = check_labels(format, labels);
	if (status)
		goto fail;
	d = calloc(1, sizeof(*d));
	if (!d) {
		status = vtpu_fail_nomem("a data set");
		goto fail;
	}
	atomic_init(&d->refs, 1);
	pthread_mutex_init(&d->lock, NULL);
	d->count = format->count;
	d->sample_bytes = sample_bytes;
	d->type = format->type;
	d->shape = format->shape;
	d->classes = format->classes;
	d->label_type = format->classes > 256 ? VTPU_DTYPE_S32 : VTPU_DTYPE_U8;
	d->name = strdup(format->name);
	d->samples = samples;
	d->owned = owned;
	d->labels = labels;
	status = data_set_origin(d, origin);
	if (status)
		vtpu_data_destroy(d);
	else
		*data = d;
	return status;
fail:
	free(owned);
	free(labels);
	return status;
}

struct vtpu_data *data_get(struct vtpu_data *data)
{
	atomic_fetch_add(&data->refs, 1);
	return data;
}

void vtpu_data_destroy(struct vtpu_data *data)
{
	if (!data || atomic_fetch_sub(&data->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&data->lock);
	free(data->name);
	free(data->origin);
	free(data->text);
	free(data->owned);
	free(data->labels);
	free(data);
}

static enum vtpu_status caller_format(const struct vtpu_data_format *format,
				      struct vtpu_data_format *f)
{
	enum vtpu_status status;

	if (!format)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_data_format: NULL");
	status = vtpu_options(f, format, sizeof(*f), "vtpu_data_format");
	if (!f->name)
		f->name = "samples";
	if (f->type == VTPU_DTYPE_DEFAULT)
		f->type = VTPU_DTYPE_F32;
	return status;
}

enum vtpu_status vtpu_data_memory(const struct vtpu_data_format *format, const void *samples,
				  const int32_t *labels, struct vtpu_data **data)
{
	struct vtpu_data_format f;
	enum vtpu_status status = caller_format(format, &f);
	int32_t *copy = NULL;

	if (status)
		return status;
	if (!samples || !data || !labels != !f.classes)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_data_memory '%s': %s", f.name,
				 !samples || !data ? "NULL samples or result" :
				 labels ? "labels, but 0 classes; say how many there are" :
					  "classes, but NULL labels");
	if (labels && f.count < DATA_MAX_COUNT) {
		copy = malloc(f.count * sizeof(*copy) + !f.count);
		if (!copy)
			return vtpu_fail_nomem("labels");
		memcpy(copy, labels, f.count * sizeof(*copy));
	}
	return data_make(&f, "memory", samples, NULL, copy, data);
}

enum vtpu_status vtpu_data_callback(const struct vtpu_data_format *format, vtpu_read_fn read,
				    void *arg, bool parallel, struct vtpu_data **data)
{
	struct vtpu_data_format f;
	enum vtpu_status status = caller_format(format, &f);

	if (status)
		return status;
	if (!read || !data)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_data_callback '%s': NULL function or result", f.name);
	status = data_make(&f, "a function of the program", NULL, NULL, NULL, data);
	if (status)
		return status;
	(*data)->read = read;
	(*data)->arg = arg;
	(*data)->parallel = parallel;
	return VTPU_OK;
}

enum vtpu_status vtpu_data_info(const struct vtpu_data *data, struct vtpu_data_info *info)
{
	struct vtpu_data_info full = { 0 };
	enum vtpu_status status;
	size_t size;

	if (!data || !info)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_data_info: NULL");
	status = vtpu_options(&full, info, sizeof(full), "vtpu_data_info");
	if (status)
		return status;
	size = info->struct_size < sizeof(full) ? info->struct_size : sizeof(full);
	full = (struct vtpu_data_info){
		.struct_size = info->struct_size,
		.name = data->name,
		.origin = data->origin,
		.count = data->count,
		.type = data->type,
		.shape = data->shape,
		.classes = data->classes,
		.label_type = data->label_type,
		.bytes = data->count * data->sample_bytes,
	};
	memcpy(info, &full, size);
	return VTPU_OK;
}

const char *vtpu_data_describe(const struct vtpu_data *data)
{
	return data ? data->text : "";
}

enum vtpu_status vtpu_data_read(const struct vtpu_data *data, uint64_t index, void *sample,
				int32_t *label)
{
	struct vtpu_data *d = (struct vtpu_data *)data; /* for its lock alone */
	const char *why;
	int32_t value = -1;

	if (!data || index >= data->count)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_data_read: sample %" PRIu64 " of %s", index,
				 data ? data->text : "NULL");
	if (!data->read) {
		if (sample)
			memcpy(sample, data->samples + index * data->sample_bytes,
			       data->sample_bytes);
		if (label)
			*label = data->labels ? data->labels[index] : -1;
		return VTPU_OK;
	}
	if (!sample) {
		uint8_t *room = malloc(data->sample_bytes);
		enum vtpu_status status;

		if (!room)
			return vtpu_fail_nomem("a sample");
		status = vtpu_data_read(data, index, room, label);
		free(room);
		return status;
	}
	if (!data->parallel)
		pthread_mutex_lock(&d->lock);
	why = data->read(data->arg, index, sample, &value);
	if (!data->parallel)
		pthread_mutex_unlock(&d->lock);
	if (why)
		return vtpu_fail(VTPU_ERROR_IO, "data '%s': sample %" PRIu64 ": %s", data->name,
				 index, why);
	if (data->classes && data_label_check(data->name, index, value, data->classes))
		return VTPU_ERROR_INVALID_ARGUMENT;
	if (label)
		*label = data->classes ? value : -1;
	return VTPU_OK;
}
