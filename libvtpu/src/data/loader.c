// SPDX-License-Identifier: MIT
/*
 * loader.c - loaders: options, slots, the public calls.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/loader.h"
#include "device/device.h"

#define DEFAULT_STALL_MS 60000
#define AUTO_THREADS	 4

/* ---- Options ------------------------------------------------------------------ */

static enum vtpu_status check_range(struct vtpu_loader_options *o, const struct vtpu_data *data)
{
	if (o->first >= data->count || o->count > data->count - o->first)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "loader: samples %" PRIu64 " and the %" PRIu64
				 " from there on are not all in '%s', which has %" PRIu64,
				 o->first, o->count, data->name, data->count);
	if (!o->count)
		o->count = data->count - o->first;
	if (!o->batch || o->batch > 1u << 24)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "loader: a batch of %u samples; expected 1..%u", o->batch,
				 1u << 24);
	if (o->drop_last && o->count < o->batch)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "loader: '%s' gives %" PRIu64
				 " samples, less than one batch of %u, and "
				 "drop_last leaves out what is not full",
				 data->name, o->count, o->batch);
	return VTPU_OK;
}

static enum vtpu_status check_map(struct vtpu_loader *l)
{
	const struct vtpu_loader_options *o = &l->options;
	uint64_t bytes;

	l->type = l->data->type;
	l->shape = l->data->shape;
	l->sample_bytes = l->data->sample_bytes;
	if (!o->map_type && !o->map_shape)
		return VTPU_OK;
	if (!o->map)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "loader: map_type or map_shape, but no map function");
	if (o->map_type)
		l->type = o->map_type;
	if (o->map_shape)
		l->shape = *o->map_shape;
	bytes = vtpu_dtype_bytes(l->type);
	if (!bytes || l->shape.rank >= VTPU_MAX_RANK)
		return vtpu_fail(
			VTPU_ERROR_INVALID_ARGUMENT,
			"loader: map makes type %d of %u dimensions; expected a type, and less than %d",
			l->type, l->shape.rank, VTPU_MAX_RANK);
	for (uint32_t i = 0; i < l->shape.rank; i++)
		if (l->shape.dim[i] < 1 ||
		    __builtin_mul_overflow(bytes, (uint64_t)l->shape.dim[i], &bytes) ||
		    bytes > DATA_MAX_SAMPLE)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "loader: dimension %u of what map makes is %" PRId64, i,
					 l->shape.dim[i]);
	l->sample_bytes = bytes;
	return VTPU_OK;
}

static enum vtpu_status choose_place(struct vtpu_loader *l)
{
	struct vtpu_memory_info memory = VTPU_INIT(memory);
	bool possible = !l->options.map && l->data->samples;
	enum vtpu_status status;

	if (l->options.place == VTPU_LOADER_HBM && !possible)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "loader: '%s' cannot be kept in HBM: %s; use VTPU_LOADER_HOST",
				 l->data->name,
				 l->options.map ? "a map function makes other samples each epoch" :
						  "a function gives its samples");
	if (l->options.place != VTPU_LOADER_AUTO)
		return VTPU_OK;
	status = vtpu_device_memory(l->device, VTPU_MEMORY_HBM, &memory);
	if (status)
		return status;
	possible &= l->options.count * (l->sample_bytes + l->label_bytes) <=
		    memory.largest_free / 4;
	l->options.place = possible ? VTPU_LOADER_HBM : VTPU_LOADER_HOST;
	return VTPU_OK;
}

static enum vtpu_status check_options(struct vtpu_loader *l)
{
	struct vtpu_loader_options *o = &l->options;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	enum vtpu_status status;

	status = check_range(o, l->data);
	if (status)
		return status;
	if (!o->depth)
		o->depth = 2;
	if (!o->threads)
		o->threads = cpus < 1 ? 1 : cpus > AUTO_THREADS ? AUTO_THREADS : (uint32_t)cpus;
	if (!o->stall_ms)
		o->stall_ms = DEFAULT_STALL_MS;
	if (o->depth < 2 || o->depth > LOADER_MAX_SLOTS || o->threads > LOADER_MAX_THREADS)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "loader: depth %u and %u threads; expected 2..%d and at most %d",
				 o->depth, o->threads, LOADER_MAX_SLOTS, LOADER_MAX_THREADS);
	l->batches = o->count / o->batch + (!o->drop_last && o->count % o->batch);
	if (o->drop_last)
		o->count = l->batches * o->batch;
	l->label_bytes = l->data->classes ? vtpu_dtype_bytes(l->data->label_type) : 0;
	status = check_map(l);
	if (!status)
		status = choose_place(l);
	o->map_shape = NULL;
	return status;
}

/* ---- Life ------------------------------------------------------------------------ */

enum vtpu_status loader_alloc(struct vtpu_loader *loader, uint64_t bytes, const char *label,
			      struct vtpu_buffer **buffer)
{
	const struct vtpu_buffer_options hbm = VTPU_INIT(hbm, .label = label);
	enum vtpu_status status = vtpu_buffer_alloc(loader->device, bytes, &hbm, buffer);

	if (status)
		return vtpu_fail_in(status, "loader of '%s'", loader->data->name);
	loader->hbm_bytes += bytes;
	return VTPU_OK;
}

uint32_t loader_rows(const struct vtpu_loader *loader, uint64_t batch)
{
	uint64_t left;

	if (batch >= loader->batches)
		return 0;
	left = loader->options.count - batch * loader->options.batch;
	return left < loader->options.batch ? (uint32_t)left : loader->options.batch;
}

void loader_pack_label(const struct vtpu_loader *loader, void *labels, uint64_t row, int32_t value)
{
	if (loader->label_bytes == 1)
		((uint8_t *)labels)[row] = (uint8_t)value;
	else
		((int32_t *)labels)[row] = value;
}

static enum vtpu_status make_weights(struct vtpu_loader *l, uint32_t rows,
				     struct vtpu_buffer **buffer)
{
	uint32_t batch = l->options.batch;
	float *w = malloc(batch * sizeof(*w));
	enum vtpu_status status;

	if (!w)
		return vtpu_fail_nomem("weights");
	for (uint32_t i = 0; i < batch; i++)
		w[i] = i < rows;
	status = loader_alloc(l, batch * sizeof(*w), "data/weights", buffer);
	if (!status)
		status = vtpu_buffer_write(*buffer, 0, w, batch * sizeof(*w));
	free(w);
	return status;
}

static enum vtpu_status make_slots(struct vtpu_loader *l)
{
	uint32_t last = loader_rows(l, l->batches - 1);
	enum vtpu_status status;

	status = make_weights(l, l->options.batch, &l->weights);
	if (!status && last < l->options.batch)
		status = make_weights(l, last, &l->last_weights);
	for (uint32_t i = 0; i < l->options.depth && !status; i++) {
		struct loader_slot *slot = &l->slot[i];

		status =
			loader_alloc(l, l->options.batch * l->sample_bytes, "data/batch", &slot->x);
		if (!status && l->label_bytes)
			status = loader_alloc(l, (uint64_t)l->options.batch * l->label_bytes,
					      "data/batch labels", &slot->labels);
	}
	return status;
}

static enum vtpu_status make_stream(struct vtpu_loader *l)
{
	vtpu_stream_destroy(l->stream);
	l->stream = NULL;
	l->broken = false;
	return vtpu_stream_create(l->device, NULL, &l->stream);
}

enum vtpu_status vtpu_loader_create(struct vtpu_device *device, struct vtpu_data *data,
				    const struct vtpu_loader_options *options,
				    struct vtpu_loader **loader)
{
	enum vtpu_status status = vtpu_device_usable(device, "vtpu_loader_create");
	struct vtpu_loader *l;

	if (status)
		return status;
	if (!data || !loader)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_loader_create: NULL data set or result");
	l = calloc(1, sizeof(*l));
	if (!l)
		return vtpu_fail_nomem("a loader");
	l->device = vtpu_device_get(device);
	l->data = data_get(data);
	status = vtpu_options(&l->options, options, sizeof(l->options), "vtpu_loader_options");
	if (!status)
		status = check_options(l);
	if (!status) {
		l->order = malloc(l->options.count * sizeof(*l->order));
		if (!l->order)
			status = vtpu_fail_nomem("the order of samples");
	}
	if (!status)
		status = make_stream(l);
	if (!status)
		status = make_slots(l);
	if (!status)
		status = l->options.place == VTPU_LOADER_HBM ? resident_create(l) : feed_create(l);
	if (status) {
		vtpu_loader_destroy(l);
		return status;
	}
	*loader = l;
	return VTPU_OK;
}

static void forget_events(struct loader_slot *slot)
{
	vtpu_event_destroy(slot->ready);
	vtpu_event_destroy(slot->done);
	slot->ready = NULL;
	slot->done = NULL;
}

void vtpu_loader_destroy(struct vtpu_loader *loader)
{
	struct vtpu_loader *l = loader;

	if (!l)
		return;
	if (l->feed)
		feed_destroy(l);
	if (l->stream)
		vtpu_stream_sync(l->stream,
				 VTPU_FOREVER); /* however it ends: copies must not touch freed buffers */
	for (uint32_t i = 0; i < LOADER_MAX_SLOTS; i++) {
		struct loader_slot *slot = &l->slot[i];

		forget_events(slot);
		vtpu_buffer_free(slot->x);
		vtpu_buffer_free(slot->labels);
		vtpu_buffer_free(slot->stage);
	}
	resident_destroy(l);
	vtpu_buffer_free(l->weights);
	vtpu_buffer_free(l->last_weights);
	vtpu_stream_destroy(l->stream);
	free(l->order);
	vtpu_data_destroy(l->data);
	vtpu_device_put(l->device);
	free(l);
}

/* ---- Epochs and batches ------------------------------------------------------------ */

uint64_t vtpu_loader_batches(const struct vtpu_loader *loader)
{
	return loader ? loader->batches : 0;
}

struct vtpu_shape vtpu_loader_shape(const struct vtpu_loader *loader, enum vtpu_dtype *type)
{
	struct vtpu_shape shape = { .rank = loader->shape.rank + 1,
				    .dim = { loader->options.batch } };

	memcpy(shape.dim + 1, loader->shape.dim, loader->shape.rank * sizeof(*shape.dim));
	if (type)
		*type = loader->type;
	return shape;
}

/* Samples first .. first + count - 1 in the epoch's order, as numbers from first on. */
static void set_order(const struct vtpu_loader *l, uint32_t epoch, uint32_t *order)
{
	data_order(l->options.seed, epoch, l->options.shuffle, order, l->options.count);
}

enum vtpu_status vtpu_loader_begin(struct vtpu_loader *loader, uint32_t epoch, uint64_t first)
{
	struct vtpu_loader *l = loader;
	enum vtpu_status status;

	if (!l || first > l->batches)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
				 "vtpu_loader_begin: batch %" PRIu64 " of an epoch of %" PRIu64,
				 first, l ? l->batches : 0);
	for (uint32_t i = 0; i < l->options.depth; i++)
		if (l->slot[i].out)
			return vtpu_fail(VTPU_ERROR_BUSY,
					 "vtpu_loader_begin: batch %" PRIu64 " is not released",
					 l->slot[i].batch);
	status = l->feed ? feed_pause(l) : VTPU_OK;
	if (status)
		return status;
	if (vtpu_stream_sync(l->stream, VTPU_FOREVER) || l->broken) {
		status = make_stream(l);
		if (status)
			return status;
	}
	for (uint32_t i = 0; i < l->options.depth; i++) {
		vtpu_event_destroy(l->slot[i].ready);
		l->slot[i].ready = NULL;
		l->slot[i].state = SLOT_FREE;
	}
	set_order(l, epoch, l->order);
	l->epoch = epoch;
	l->next = l->entered = first;
	l->active = true;
	if (l->feed)
		feed_begin(l);
	else
		resident_begin(l);
	return VTPU_OK;
}

enum vtpu_status loader_enter(struct vtpu_loader *loader, struct loader_slot *slot,
			      const struct vtpu_rows *rows, uint32_t count)
{
	enum vtpu_status status = VTPU_OK;
	struct vtpu_event *ready;

	if (slot->done)
		status = vtpu_stream_wait(loader->stream, slot->done);
	if (!status)
		status = vtpu_copy_rows(loader->stream, rows, count, &ready);
	if (status) {
		loader->broken = true;
		return vtpu_stream_cause(loader->stream, status);
	}
	forget_events(slot);
	slot->ready = ready;
	return VTPU_OK;
}

enum vtpu_status vtpu_loader_next(struct vtpu_loader *loader, struct vtpu_batch *batch)
{
	struct vtpu_loader *l = loader;
	struct loader_slot *slot;
	enum vtpu_status status;

	if (!l || !batch || !l->active)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_loader_next: %s",
				 l && batch ? "no epoch was begun" : "NULL");
	if (l->next == l->batches) {
		*batch = (struct vtpu_batch){ .index = l->next };
		return VTPU_OK;
	}
	slot = &l->slot[l->next % l->options.depth];
	if (slot->out)
		return vtpu_fail(VTPU_ERROR_BUSY,
				 "vtpu_loader_next: %u batches are out; release one, or set depth",
				 l->options.depth);
	status = l->feed ? feed_next(l) : resident_next(l);
	if (status) {
		l->active = false;
		return status;
	}
	slot->out = true;
	*batch = (struct vtpu_batch){
		.x = slot->x,
		.labels = slot->labels,
		.count = loader_rows(l, l->next),
		.ready = slot->ready,
		.slot = (uint32_t)(slot - l->slot),
		.index = l->next,
	};
	batch->weights = batch->count < l->options.batch ? l->last_weights : l->weights;
	l->next++;
	l->out++;
	l->samples += batch->count;
	return VTPU_OK;
}

void vtpu_loader_release(struct vtpu_loader *loader, struct vtpu_batch *batch,
			 struct vtpu_event *done)
{
	struct loader_slot *slot;

	if (!loader || !batch || !batch->count || batch->slot >= loader->options.depth)
		return;
	slot = &loader->slot[batch->slot];
	if (done)
		atomic_fetch_add(&done->refs, 1);
	batch->count = 0;
	slot->out = false;
	if (loader->feed) {
		feed_release(loader, slot, done);
		return;
	}
	slot->done = done;
	slot->state = SLOT_FREE;
}

uint32_t vtpu_loader_samples(const struct vtpu_loader *loader, uint32_t epoch, uint64_t batch,
			     uint64_t *index)
{
	uint32_t rows = loader && index ? loader_rows(loader, batch) : 0, *order;

	if (!rows)
		return 0;
	order = malloc(loader->options.count * sizeof(*order));
	if (!order)
		return 0;
	set_order(loader, epoch, order);
	for (uint32_t i = 0; i < rows; i++)
		index[i] = loader->options.first + order[batch * loader->options.batch + i];
	free(order);
	return rows;
}

enum vtpu_status vtpu_loader_stats(const struct vtpu_loader *loader,
				   struct vtpu_loader_stats *stats)
{
	struct vtpu_loader_stats full = { 0 };
	enum vtpu_status status;
	size_t size;

	if (!loader || !stats)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_loader_stats: NULL");
	status = vtpu_options(&full, stats, sizeof(full), "vtpu_loader_stats");
	if (status)
		return status;
	size = stats->struct_size < sizeof(full) ? stats->struct_size : sizeof(full);
	full = (struct vtpu_loader_stats){
		.struct_size = stats->struct_size,
		.place = loader->options.place,
		.threads = loader->feed ? loader->options.threads : 0,
		.batches = loader->out,
		.samples = loader->samples,
		.host_bytes = loader->host_bytes,
		.hbm_bytes = loader->hbm_bytes,
		.waited_ns = loader->waited_ns,
	};
	memcpy(stats, &full, size);
	return VTPU_OK;
}
