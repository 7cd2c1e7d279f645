// SPDX-License-Identifier: MIT
/*
 * feed.c - batches put together by threads in staging memory, and copied to HBM.
 *
 * Threads take rows of a batch, a few at a time and in ascending order; each
 * row has its place, so who fills it does not matter. Who fills the last row
 * enters the copy. After a failure rows behind it are not taken any more, but those
 * before it are finished: what is reported is the first failure by order.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/random.h"
#include "data/loader.h"
#include "device/device.h"

#define NONE UINT64_MAX

struct feed_thread {
	struct vtpu_loader *loader;
	pthread_t thread;
	void *sample;	  /* room for one, as it is in the data set */
	uint64_t reading; /* sample that it is at, or NONE */
};

struct feed {
	pthread_mutex_t lock;  /* of all below and of the slots' state, taken and filled */
	pthread_mutex_t enter; /* around loader_enter(), inside no other lock */
	pthread_cond_t work, change;
	struct feed_thread *thread;
	uint32_t threads; /* that run */
	uint32_t busy;
	bool quit, open;   /* rows may be taken */
	uint64_t progress; /* counts rows */
	uint64_t failed;   /* position of the first failure, or NONE */
	enum vtpu_status failure;
	char sentence[1024];
};

/** struct rows - what a thread takes at a time */
struct rows {
	struct loader_slot *slot;
	uint32_t first, count;
};

/* ---- Filling ------------------------------------------------------------------------ */

static enum vtpu_status fill_row(struct feed_thread *t, struct loader_slot *slot, uint32_t row)
{
	struct vtpu_loader *l = t->loader;
	uint64_t at = slot->batch * l->options.batch + row;
	uint64_t index = l->options.first + l->order[at];
	uint8_t *out = slot->stage_x + row * l->sample_bytes;
	enum vtpu_status status = VTPU_OK;
	const void *in = NULL;
	const char *why;
	int32_t label = -1;

	__atomic_store_n(&t->reading, index, __ATOMIC_RELAXED);
	if (l->options.map && l->data->samples) {
		in = l->data->samples + index * l->data->sample_bytes;
		status = vtpu_data_read(l->data, index, t->sample, &label);
	} else {
		status = vtpu_data_read(l->data, index, l->options.map ? t->sample : out, &label);
		in = t->sample;
	}
	if (!status && l->options.map) {
		struct vtpu_random random =
			vtpu_random_make(l->options.seed, random_name("map"), index, l->epoch);

		why = l->options.map(l->options.map_arg, in, out, l->label_bytes ? &label : NULL,
				     &random);
		if (why)
			status = vtpu_fail(VTPU_ERROR_IO,
					   "data '%s': sample %" PRIu64 ": map function: %s",
					   l->data->name, index, why);
		else if (l->label_bytes)
			status = data_label_check(l->data->name, index, label, l->data->classes);
	}
	if (!status && l->label_bytes)
		loader_pack_label(l, slot->stage_labels, row, label);
	return status ? vtpu_fail_in(status, "epoch %u", l->epoch) : VTPU_OK;
}

/* Rows that no sample is left for repeat the batch's first. */
static void fill_up(const struct vtpu_loader *l, struct loader_slot *slot)
{
	for (uint32_t row = loader_rows(l, slot->batch); row < l->options.batch; row++) {
		memcpy(slot->stage_x + row * l->sample_bytes, slot->stage_x, l->sample_bytes);
		if (l->label_bytes)
			memcpy(slot->stage_labels + (uint64_t)row * l->label_bytes,
			       slot->stage_labels, l->label_bytes);
	}
}

static enum vtpu_status enter(struct vtpu_loader *l, struct loader_slot *slot)
{
	uint64_t x_bytes = l->options.batch * l->sample_bytes;
	struct vtpu_rows rows[2] = { {
		.dst = slot->x,
		.src = slot->stage,
		.rows = l->options.batch,
		.row_bytes = (uint32_t)l->sample_bytes,
		.dst_stride = (int64_t)l->sample_bytes,
		.src_stride = (int64_t)l->sample_bytes,
	} };
	enum vtpu_status status;

	if (x_bytes <= DATA_MAX_SAMPLE) {
		rows[0].rows = 1;
		rows[0].row_bytes = (uint32_t)x_bytes;
	}
	rows[1] = (struct vtpu_rows){
		.dst = slot->labels,
		.src = slot->stage,
		.src_offset = slot->stage_labels - slot->stage_x,
		.rows = 1,
		.row_bytes = l->options.batch * l->label_bytes,
	};
	pthread_mutex_lock(&l->feed->enter);
	status = loader_enter(l, slot, rows, l->label_bytes ? 2 : 1);
	pthread_mutex_unlock(&l->feed->enter);
	return status;
}

/* ---- Threads ---------------------------------------------------------------------------- */

/* Take rows of the batch that is being filled, else begin the next; with the lock held. */
static bool take(struct vtpu_loader *l, struct rows *rows)
{
	struct feed *feed = l->feed;
	struct loader_slot *slot = NULL;
	uint32_t have, chunk;

	if (!feed->open || feed->failed != NONE)
		return false;
	if (l->entered > 0) {
		slot = &l->slot[(l->entered - 1) % l->options.depth];
		if (slot->state != SLOT_BUSY || slot->batch != l->entered - 1 ||
		    slot->taken == loader_rows(l, slot->batch))
			slot = NULL;
	}
	if (!slot) {
		if (l->entered == l->batches)
			return false;
		slot = &l->slot[l->entered % l->options.depth];
		if (slot->state != SLOT_FREE)
			return false;
		slot->state = SLOT_BUSY;
		slot->batch = l->entered++;
		slot->taken = slot->filled = 0;
	}
	have = loader_rows(l, slot->batch);
	chunk = have / (feed->threads * 4) + 1;
	if (chunk > have - slot->taken)
		chunk = have - slot->taken;
	*rows = (struct rows){ .slot = slot, .first = slot->taken, .count = chunk };
	slot->taken += chunk;
	return true;
}

/* With the lock held, from a thread whose sentence it is. */
static void fail(struct vtpu_loader *l, uint64_t at, enum vtpu_status status)
{
	struct feed *feed = l->feed;

	if (at >= feed->failed)
		return;
	feed->failed = at;
	feed->failure = status;
	strncpy(feed->sentence, vtpu_last_error(), sizeof(feed->sentence) - 1);
}

/* Fill the rows that were taken. With the lock held, which is let go of in between. */
static void fill(struct feed_thread *t, const struct rows *rows)
{
	struct vtpu_loader *l = t->loader;
	struct feed *feed = l->feed;
	struct loader_slot *slot = rows->slot;
	enum vtpu_status status = VTPU_OK;
	uint64_t at = slot->batch * l->options.batch + rows->first;
	uint32_t row = rows->first;
	bool last;

	pthread_mutex_unlock(&feed->lock);
	/* The former copy may still read the staging memory. */
	if (slot->ready)
		status = vtpu_stream_cause(l->stream, vtpu_event_wait(slot->ready, VTPU_FOREVER));
	while (!status && row < rows->first + rows->count) {
		status = fill_row(t, slot, row);
		if (!status) {
			row++;
			__atomic_fetch_add(&feed->progress, 1, __ATOMIC_RELAXED);
		} else {
			at = slot->batch * l->options.batch + row;
		}
	}
	__atomic_store_n(&t->reading, NONE, __ATOMIC_RELAXED);
	atomic_fetch_add(&l->host_bytes, rows->count * (l->sample_bytes + l->label_bytes));
	pthread_mutex_lock(&feed->lock);
	if (status) {
		fail(l, at, status);
		return;
	}
	slot->filled += rows->count;
	last = slot->filled == loader_rows(l, slot->batch);
	if (!last)
		return;
	pthread_mutex_unlock(&feed->lock);
	fill_up(l, slot);
	status = enter(l, slot);
	pthread_mutex_lock(&feed->lock);
	if (status)
		fail(l, at, status);
	else
		slot->state = SLOT_READY;
}

static void *run(void *arg)
{
	struct feed_thread *t = arg;
	struct feed *feed = t->loader->feed;
	struct rows rows;

	pthread_mutex_lock(&feed->lock);
	while (!feed->quit) {
		if (!take(t->loader, &rows)) {
			pthread_cond_wait(&feed->work, &feed->lock);
			continue;
		}
		feed->busy++;
		fill(t, &rows);
		feed->busy--;
		pthread_cond_broadcast(&feed->change);
	}
	pthread_mutex_unlock(&feed->lock);
	return NULL;
}

static enum vtpu_status start(struct vtpu_loader *l)
{
	struct feed *feed = l->feed;
	enum vtpu_status status = VTPU_OK;
	sigset_t all, old;

	/* Signals are the program's own threads' business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (uint32_t i = 0; i < l->options.threads; i++) {
		struct feed_thread *t = &feed->thread[i];

		t->loader = l;
		t->reading = NONE;
		t->sample = l->options.map ? malloc(l->data->sample_bytes) : NULL;
		if ((l->options.map && !t->sample) || pthread_create(&t->thread, NULL, run, t)) {
			free(t->sample);
			status = vtpu_fail(VTPU_ERROR_OUT_OF_HOST_MEMORY,
					   "loader: thread %u of %u cannot be made", i + 1,
					   l->options.threads);
			break;
		}
		pthread_mutex_lock(&feed->lock);
		feed->threads++;
		pthread_mutex_unlock(&feed->lock);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return status;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static enum vtpu_status make_stage(struct vtpu_loader *l, struct loader_slot *slot)
{
	const struct vtpu_buffer_options host =
		VTPU_INIT(host, .memory = VTPU_MEMORY_HOST, .label = "data/staging");
	uint64_t x = (l->options.batch * l->sample_bytes + 63) & ~63ULL;
	enum vtpu_status status;

	status = vtpu_buffer_alloc(l->device, x + (uint64_t)l->options.batch * l->label_bytes,
				   &host, &slot->stage);
	if (!status)
		status = vtpu_buffer_map(slot->stage, (void **)&slot->stage_x);
	slot->stage_labels = slot->stage_x + x;
	return status;
}

enum vtpu_status feed_create(struct vtpu_loader *l)
{
	pthread_condattr_t monotonic;
	enum vtpu_status status = VTPU_OK;
	struct feed *feed;

	for (uint32_t i = 0; i < l->options.depth && !status; i++)
		status = make_stage(l, &l->slot[i]);
	if (status)
		return status;
	feed = calloc(1, sizeof(*feed));
	if (feed)
		feed->thread = calloc(l->options.threads, sizeof(*feed->thread));
	if (!feed || !feed->thread) {
		free(feed);
		return vtpu_fail_nomem("a loader");
	}
	feed->failed = NONE;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&feed->lock, NULL);
	pthread_mutex_init(&feed->enter, NULL);
	pthread_cond_init(&feed->work, &monotonic);
	pthread_cond_init(&feed->change, &monotonic);
	pthread_condattr_destroy(&monotonic);
	l->feed = feed;
	return start(l);
}

void feed_destroy(struct vtpu_loader *l)
{
	struct feed *feed = l->feed;

	pthread_mutex_lock(&feed->lock);
	feed->quit = true;
	feed->open = false;
	pthread_cond_broadcast(&feed->work);
	pthread_mutex_unlock(&feed->lock);
	for (uint32_t i = 0; i < feed->threads; i++) {
		pthread_join(feed->thread[i].thread, NULL);
		free(feed->thread[i].sample);
	}
	pthread_mutex_destroy(&feed->lock);
	pthread_mutex_destroy(&feed->enter);
	pthread_cond_destroy(&feed->work);
	pthread_cond_destroy(&feed->change);
	free(feed->thread);
	free(feed);
	l->feed = NULL;
}

/* ---- The caller's side ------------------------------------------------------------------------ */

static struct timespec stall_deadline(const struct vtpu_loader *l)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += l->options.stall_ms / 1000;
	t.tv_nsec += l->options.stall_ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_nsec -= 1000000000L;
		t.tv_sec++;
	}
	return t;
}

static enum vtpu_status stalled(const struct vtpu_loader *l)
{
	const struct feed *feed = l->feed;
	uint64_t at = NONE, reading;

	for (uint32_t i = 0; i < feed->threads; i++) {
		reading = __atomic_load_n(&feed->thread[i].reading, __ATOMIC_RELAXED);
		if (reading < at)
			at = reading;
	}
	if (at == NONE)
		return vtpu_fail(VTPU_ERROR_TIMEOUT,
				 "data '%s': batch %" PRIu64
				 " of epoch %u has not come within %u ms; the device copies "
				 "nothing",
				 l->data->name, l->next, l->epoch, l->options.stall_ms);
	return vtpu_fail(VTPU_ERROR_TIMEOUT,
			 "data '%s': no sample came for %u ms, epoch %u; the source is at sample %" PRIu64
			 " and does not answer; mend it, or raise stall_ms",
			 l->data->name, l->options.stall_ms, l->epoch, at);
}

/* Wait for a change; TIMEOUT with a sentence when no row was filled for long. With the lock held. */
static enum vtpu_status wait_change(struct vtpu_loader *l, uint64_t *progress,
				    struct timespec *deadline)
{
	uint64_t now;

	if (!pthread_cond_timedwait(&l->feed->change, &l->feed->lock, deadline))
		return VTPU_OK;
	now = __atomic_load_n(&l->feed->progress, __ATOMIC_RELAXED);
	if (now == *progress)
		return stalled(l);
	*progress = now;
	*deadline = stall_deadline(l);
	return VTPU_OK;
}

enum vtpu_status feed_pause(struct vtpu_loader *l)
{
	struct timespec deadline = stall_deadline(l);
	struct feed *feed = l->feed;
	enum vtpu_status status = VTPU_OK;
	uint64_t progress = __atomic_load_n(&feed->progress, __ATOMIC_RELAXED);

	pthread_mutex_lock(&feed->lock);
	feed->open = false;
	while (feed->busy && !status)
		status = wait_change(l, &progress, &deadline);
	pthread_mutex_unlock(&feed->lock);
	return status;
}

void feed_begin(struct vtpu_loader *l)
{
	struct feed *feed = l->feed;

	pthread_mutex_lock(&feed->lock);
	feed->failed = NONE;
	feed->open = true;
	pthread_cond_broadcast(&feed->work);
	pthread_mutex_unlock(&feed->lock);
}

enum vtpu_status feed_next(struct vtpu_loader *l)
{
	struct loader_slot *slot = &l->slot[l->next % l->options.depth];
	struct timespec deadline = stall_deadline(l), from, to;
	struct feed *feed = l->feed;
	enum vtpu_status status = VTPU_OK;
	uint64_t progress;

	clock_gettime(CLOCK_MONOTONIC, &from);
	pthread_mutex_lock(&feed->lock);
	progress = __atomic_load_n(&feed->progress, __ATOMIC_RELAXED);
	while (!status && (slot->state != SLOT_READY || slot->batch != l->next)) {
		if (feed->failed != NONE && !feed->busy)
			status = vtpu_fail(feed->failure, "%s", feed->sentence);
		else
			status = wait_change(l, &progress, &deadline);
	}
	if (!status)
		slot->state = SLOT_OUT;
	pthread_mutex_unlock(&feed->lock);
	clock_gettime(CLOCK_MONOTONIC, &to);
	l->waited_ns += (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec;
	return status;
}

void feed_release(struct vtpu_loader *l, struct loader_slot *slot, struct vtpu_event *done)
{
	struct feed *feed = l->feed;

	pthread_mutex_lock(&feed->lock);
	slot->done = done;
	slot->state = SLOT_FREE;
	pthread_cond_broadcast(&feed->work);
	pthread_mutex_unlock(&feed->lock);
}
