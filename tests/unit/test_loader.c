// SPDX-License-Identifier: MIT
/*
 * test_loader.c - loaders: the order of samples, batches in HBM, sources that
 * fail or stall.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <vtpu/vtpu.h>

#include "unit/status.h"

#define COUNT 1000
#define SIDE  6
#define BYTES (SIDE * SIDE)
#define BATCH 96

/* Pixel @at of image @index */
static uint8_t pixel(uint64_t index, uint64_t at)
{
	return (uint8_t)(index * 37 + at * 11 + (index >> 8));
}

static int32_t label_of(uint64_t index)
{
	return (int32_t)((index * 7 + index / 10) % 10);
}

/* ---- Order and random numbers -------------------------------------------------------- */

static void sequences(void)
{
	struct vtpu_random a = vtpu_random_make(1, 2, 3, 4), b = a, c;
	uint32_t count[7] = { 0 }, least = UINT32_MAX;
	double sum = 0;

	/* Known values: they may never change, or no run can be repeated. */
	tap_is(vtpu_random_bits(&a), 0x6d237696u, "first word of sequence 1, 2, 3, 4");
	for (int i = 0; i < 3; i++)
		vtpu_random_bits(&a);
	tap_is(vtpu_random_bits(&a), 0x5d44bce0u, "its fifth word");
	c = vtpu_random_make(1, 2, 3, 5);
	tap_ok(vtpu_random_bits(&b) != vtpu_random_bits(&c), "another epoch is another sequence");
	for (int i = 0; i < 70000; i++)
		count[vtpu_random_below(&a, 7)]++;
	for (int i = 0; i < 7; i++)
		least = count[i] < least ? count[i] : least;
	tap_ok(least > 9600, "below(7) gives all seven about as often");
	for (int i = 0; i < 10000; i++)
		sum += vtpu_random_float(&a);
	tap_ok(sum > 4900 && sum < 5100, "float is uniform over 0..1");
}

/* ---- Loaders --------------------------------------------------------------------------- */

static struct vtpu_device *device;
static struct vtpu_data *set;

static uint64_t checksum(const void *data, size_t bytes, uint64_t sum)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ p[i]) * 0x100000001b3ull;
	return sum;
}

static const char *to_float(void *arg, const void *in, void *out, int32_t *label,
			    struct vtpu_random *random)
{
	const uint8_t *x = in;
	float *y = out, shift = vtpu_random_float(random);

	(void)arg;
	(void)label;
	for (int i = 0; i < BYTES; i++)
		y[i] = x[i] + shift;
	return NULL;
}

/*
 * One epoch; Return: a checksum over all that came into HBM, 0 if something is
 * not as it must be.
 */
static uint64_t epoch(struct vtpu_loader *loader, uint32_t number, uint64_t first)
{
	struct vtpu_shape shape;
	enum vtpu_dtype type;
	size_t bytes;
	uint8_t *x, y[BATCH], seen[COUNT] = { 0 };
	uint64_t sum = 1, index[BATCH], samples = 0, batches = 0;
	struct vtpu_batch batch;
	float w[BATCH];
	bool good = true;

	shape = vtpu_loader_shape(loader, &type);
	good &= shape.dim[0] == BATCH && shape.dim[1] == SIDE;
	bytes = BYTES * vtpu_dtype_bytes(type);
	x = malloc(BATCH * bytes);
	if (vtpu_loader_begin(loader, number, first)) {
		printf("# begin: %s\n", vtpu_last_error());
		good = false;
	}
	for (;;) {
		if (vtpu_loader_next(loader, &batch)) {
			printf("# next: %s\n", vtpu_last_error());
			good = false;
			break;
		}
		if (!batch.count)
			break;
		good &= !vtpu_event_wait(batch.ready, VTPU_FOREVER);
		good &= !vtpu_buffer_read(batch.x, 0, x, BATCH * bytes);
		good &= !vtpu_buffer_read(batch.labels, 0, y, BATCH);
		good &= !vtpu_buffer_read(batch.weights, 0, w, sizeof(w));
		good &= vtpu_loader_samples(loader, number, batch.index, index) == batch.count;
		for (uint32_t i = 0; i < BATCH; i++) {
			good &= w[i] == (i < batch.count);
			if (i >= batch.count) {
				good &= y[i] < 10;
				continue;
			}
			good &= y[i] == label_of(index[i]) && !seen[index[i]]++;
			if (type == VTPU_DTYPE_U8)
				for (int k = 0; k < BYTES; k++)
					good &= x[i * BYTES + k] == pixel(index[i], k);
			sum = checksum(x + i * bytes, bytes, sum);
		}
		good &= batch.index == first + batches++;
		samples += batch.count;
		vtpu_loader_release(loader, &batch, NULL);
	}
	free(x);
	good &= batches == vtpu_loader_batches(loader) - first;
	good &= first || samples == COUNT;
	return good ? sum : 0;
}

static struct vtpu_loader *make(struct vtpu_data *data, struct vtpu_loader_options options)
{
	struct vtpu_loader *loader = NULL;

	options.struct_size = sizeof(options);
	if (!options.batch)
		options.batch = BATCH;
	if (vtpu_loader_create(device, data, &options, &loader))
		printf("# %s\n", vtpu_last_error());
	return loader;
}

static uint64_t sum_of(struct vtpu_loader_options options, uint32_t number, uint64_t first)
{
	struct vtpu_loader *loader = make(set, options);
	uint64_t sum = loader ? epoch(loader, number, first) : 0;

	vtpu_loader_destroy(loader);
	return sum;
}

static void orders(void)
{
	const struct vtpu_loader_options hbm = { .shuffle = true,
						 .seed = 5,
						 .place = VTPU_LOADER_HBM },
					 host = { .shuffle = true,
						  .seed = 5,
						  .place = VTPU_LOADER_HOST,
						  .threads = 1 };
	struct vtpu_loader_options o = host;
	uint64_t want = sum_of(hbm, 0, 0), part = sum_of(hbm, 0, 3), mapped;

	tap_ok(want != 0, "an epoch in HBM: all samples once, labels, weights");
	tap_is(sum_of(host, 0, 0), want, "the same from the host, one thread");
	o.threads = 7;
	tap_is(sum_of(o, 0, 0), want, "seven threads");
	o.depth = 5;
	tap_is(sum_of(o, 0, 0), want, "five batches ahead");
	tap_ok(part != 0, "an epoch from batch 3 on");
	tap_is(sum_of(o, 0, 3), part, "the same from the host");
	tap_ok(sum_of(hbm, 1, 0) != want, "the next epoch has another order");
	o.seed = 6;
	tap_ok(sum_of(o, 0, 0) != want, "another seed, too");
	o = host;
	o.map = to_float;
	o.map_type = VTPU_DTYPE_F32;
	mapped = sum_of(o, 2, 0);
	tap_ok(mapped != 0, "through a map function, to f32");
	o.threads = 6;
	tap_is(sum_of(o, 2, 0), mapped, "six threads map to the same bits");
	tap_ok(sum_of(o, 3, 0) != mapped, "another epoch draws other random numbers");
}

static void order_is_known(void)
{
	struct vtpu_loader *loader =
		make(set, (struct vtpu_loader_options){
				  .batch = 8, .shuffle = true, .seed = 1, .count = 8 });
	static const uint64_t want[8] = { 2, 5, 4, 0, 6, 1, 7, 3 };
	uint64_t index[8];

	tap_is(vtpu_loader_samples(loader, 0, 0, index), 8, "eight samples, seed 1, epoch 0");
	if (!tap_ok(!memcmp(index, want, sizeof(want)), "in the order they always had"))
		for (int i = 0; i < 8; i++)
			printf("# %" PRIu64 "\n", index[i]);
	vtpu_loader_destroy(loader);
}

/* A batch stays as it is until it is released, and its buffers are not filled before "done". */
static void slots(enum vtpu_loader_place place, const char *name)
{
	struct vtpu_loader *loader = make(set, (struct vtpu_loader_options){ .place = place });
	struct vtpu_batch a, b, c;
	struct vtpu_loader_stats stats = VTPU_INIT(stats);
	uint8_t before, after;

	ok_call(vtpu_loader_begin(loader, 0, 0), name);
	vtpu_loader_next(loader, &a);
	vtpu_loader_next(loader, &b);
	vtpu_event_wait(b.ready, VTPU_FOREVER);
	vtpu_buffer_read(a.x, 0, &before, 1);
	refused(vtpu_loader_next(loader, &c), VTPU_ERROR_BUSY, "2 batches are out",
		"no third batch while two are out");
	refused(vtpu_loader_begin(loader, 1, 0), VTPU_ERROR_BUSY, "batch 0 is not released",
		"no new epoch either");
	vtpu_buffer_read(a.x, 0, &after, 1);
	tap_ok(before == pixel(0, 0) && after == before && a.x != b.x, "the first is untouched");
	vtpu_loader_release(loader, &a, b.ready);
	ok_call(vtpu_loader_next(loader, &c), "a third after release");
	tap_ok(c.x != b.x && c.index == 2, "in the first one's place");
	vtpu_loader_release(loader, &b, NULL);
	vtpu_loader_release(loader, &c, NULL);
	ok_call(vtpu_loader_begin(loader, 1, 0), "an epoch may be broken off");
	ok_call(vtpu_loader_stats(loader, &stats), "stats");
	tap_ok(stats.place == place && stats.batches == 3 && stats.samples == 3 * BATCH &&
		       !stats.host_bytes == (place == VTPU_LOADER_HBM) && stats.hbm_bytes > 0,
	       "count batches, samples and bytes");
	vtpu_loader_destroy(loader);
}

/* ---- Sources that fail ------------------------------------------------------------------- */

static struct source {
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint64_t fail_at, stall_at, label_at;
	bool go;
} source = { .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER };

static const char *read_sample(void *arg, uint64_t index, void *sample, int32_t *label)
{
	struct source *s = arg;
	uint8_t *x = sample;

	pthread_mutex_lock(&s->lock);
	while (index == s->stall_at && !s->go)
		pthread_cond_wait(&s->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (index >= s->fail_at)
		return "the disk is on fire";
	for (int k = 0; k < BYTES; k++)
		x[k] = pixel(index, k);
	*label = index == s->label_at ? -3 : label_of(index);
	return NULL;
}

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int batches_until_error(struct vtpu_loader *loader, enum vtpu_status *status)
{
	struct vtpu_batch batch;
	int n = 0;

	while (!(*status = vtpu_loader_next(loader, &batch)) && batch.count) {
		vtpu_loader_release(loader, &batch, NULL);
		n++;
	}
	return n;
}

static void bad_sources(void)
{
	struct vtpu_data_format format =
		VTPU_INIT(format, .name = "camera", .count = COUNT, .type = VTPU_DTYPE_U8,
			  .shape = VTPU_SHAPE(SIDE, SIDE, 1), .classes = 10);
	const struct vtpu_loader_options hbm = VTPU_INIT(hbm, .batch = 8, .place = VTPU_LOADER_HBM);
	struct vtpu_loader *loader;
	struct vtpu_data *data = NULL;
	enum vtpu_status status;
	int before = threads(), n;

	source.fail_at = source.stall_at = source.label_at = UINT64_MAX;
	ok_call(vtpu_data_callback(&format, read_sample, &source, true, &data),
		"a callback source");
	loader = make(data, (struct vtpu_loader_options){ .threads = 5, .stall_ms = 300 });
	tap_ok(threads() == before + 5, "its threads");
	tap_ok(epoch(loader, 0, 0) != 0, "an epoch from a function");
	source.fail_at = 4 * BATCH + 17;
	vtpu_loader_begin(loader, 7, 0);
	n = batches_until_error(loader, &status);
	tap_is(n, 4, "four batches come before the source fails");
	refused(status, VTPU_ERROR_IO, "epoch 7: data 'camera': sample 401: the disk is on fire",
		"then a sentence with epoch, sample and reason");
	refused(vtpu_loader_next(loader, &(struct vtpu_batch){ 0 }), VTPU_ERROR_INVALID_ARGUMENT,
		"no epoch was begun", "no more batches after that");
	source.fail_at = UINT64_MAX;
	source.label_at = 100;
	vtpu_loader_begin(loader, 8, 0);
	n = batches_until_error(loader, &status);
	tap_is(n, 1, "one batch comes before the bad label");
	refused(status, VTPU_ERROR_INVALID_ARGUMENT, "the label of sample 100 is -3; expected 0..9",
		"index and value of the label");
	source.label_at = UINT64_MAX;
	source.stall_at = 2 * BATCH + 5;
	vtpu_loader_begin(loader, 9, 0);
	n = batches_until_error(loader, &status);
	tap_is(n, 2, "two batches come before the source stalls");
	refused(status, VTPU_ERROR_TIMEOUT,
		"no sample came for 300 ms, epoch 9; the source is at sample 197",
		"and the stall has a time limit");
	refused(vtpu_loader_begin(loader, 10, 0), VTPU_ERROR_TIMEOUT, "197",
		"no new epoch while a call hangs");
	pthread_mutex_lock(&source.lock);
	source.go = true;
	pthread_cond_broadcast(&source.change);
	pthread_mutex_unlock(&source.lock);
	tap_ok(epoch(loader, 10, 0) != 0, "when it answers again all goes on");
	vtpu_loader_begin(loader, 11, 0);
	vtpu_loader_destroy(loader);
	tap_ok(threads() == before, "no thread is left");
	refused(vtpu_loader_create(device, data, &hbm, &loader), VTPU_ERROR_INVALID_ARGUMENT,
		"a function gives its samples", "a function's samples cannot be kept in HBM");
	vtpu_data_destroy(data);
}

static void bad_options(void)
{
	static const struct {
		struct vtpu_loader_options o;
		const char *words;
	} list[] = {
		{ { .batch = 0 }, "a batch of 0" },
		{ { .batch = 8, .first = COUNT }, "not all in" },
		{ { .batch = 8, .first = 10, .count = COUNT }, "not all in" },
		{ { .batch = 8, .depth = 1 }, "depth 1" },
		{ { .batch = 8, .depth = 17 }, "depth 17" },
		{ { .batch = 8, .threads = 65 }, "65 threads" },
		{ { .batch = COUNT + 1, .drop_last = true }, "less than one batch" },
		{ { .batch = 8, .map_type = VTPU_DTYPE_F32 }, "no map function" },
	};
	struct vtpu_loader *loader = NULL;

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct vtpu_loader_options o = list[i].o;

		o.struct_size = sizeof(o);
		refused(vtpu_loader_create(device, set, &o, &loader), VTPU_ERROR_INVALID_ARGUMENT,
			list[i].words, list[i].words);
	}
	tap_ok(!loader, "no loader was made");
}

static void memory_sources(void)
{
	struct vtpu_data_format format =
		VTPU_INIT(format, .count = 4, .shape = VTPU_SHAPE(2), .classes = 300);
	static const float x[4][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } };
	const int32_t y[4] = { 299, 0, 256, 7 }, bad[4] = { 0, 1, 300, 0 };
	struct vtpu_loader *loader;
	struct vtpu_batch batch;
	struct vtpu_data *data = NULL;
	float got[4][2];
	int32_t label[4];

	refused(vtpu_data_memory(&format, x, bad, &data), VTPU_ERROR_INVALID_ARGUMENT,
		"the label of sample 2 is 300; expected 0..299", "labels in memory are checked");
	refused(vtpu_data_memory(&format, x, NULL, &data), VTPU_ERROR_INVALID_ARGUMENT,
		"NULL labels", "classes without labels");
	ok_call(vtpu_data_memory(&format, x, y, &data), "floats in memory, 300 classes");
	loader = make(data, (struct vtpu_loader_options){ .batch = 4 });
	vtpu_loader_begin(loader, 0, 0);
	ok_call(vtpu_loader_next(loader, &batch), "a batch");
	vtpu_event_wait(batch.ready, VTPU_FOREVER);
	vtpu_buffer_read(batch.x, 0, got, sizeof(got));
	vtpu_buffer_read(batch.labels, 0, label, sizeof(label));
	tap_ok(!memcmp(got, x, sizeof(x)) && !memcmp(label, y, sizeof(y)),
	       "samples in order, labels as s32");
	vtpu_loader_release(loader, &batch, NULL);
	vtpu_loader_destroy(loader);
	vtpu_data_destroy(data);
	format.count = 0;
	refused(vtpu_data_memory(&format, x, y, &data), VTPU_ERROR_INVALID_ARGUMENT, "0 samples",
		"an empty source");
}

int main(void)
{
	struct vtpu_data_format format =
		VTPU_INIT(format, .name = "set", .count = COUNT, .type = VTPU_DTYPE_U8,
			  .shape = VTPU_SHAPE(SIDE, SIDE, 1), .classes = 10);
	static uint8_t images[COUNT][BYTES];
	static int32_t labels[COUNT];

	for (uint64_t i = 0; i < COUNT; i++) {
		labels[i] = label_of(i);
		for (uint64_t k = 0; k < BYTES; k++)
			images[i][k] = pixel(i, k);
	}
	sequences();
	if (!ok_call(vtpu_open("model:v3,hbm=128M,cores=1", &device), "a device") ||
	    !ok_call(vtpu_data_memory(&format, images, labels, &set), "a data set"))
		return 1;
	orders();
	order_is_known();
	slots(VTPU_LOADER_HBM, "slots in HBM");
	slots(VTPU_LOADER_HOST, "slots from the host");
	bad_sources();
	bad_options();
	memory_sources();
	vtpu_data_destroy(set);
	vtpu_close(device);
	return tap_done();
}
