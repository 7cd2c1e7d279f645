/* SPDX-License-Identifier: MIT */
/*
 * loader.h - what loader.c, resident.c and feed.c share.
 *
 * A loader has a few slots, each with HBM buffers for a batch; batch b of an
 * epoch is in slot b modulo their number. A slot goes FREE -> BUSY (being
 * filled; on the host only) -> READY (its copy is entered) -> OUT (the caller has
 * it) -> FREE.
 */
#ifndef VTPU_SRC_DATA_LOADER_H
#define VTPU_SRC_DATA_LOADER_H

#include "data/data.h"

#define LOADER_MAX_SLOTS   16
#define LOADER_MAX_THREADS 64

enum slot_state {
	SLOT_FREE,
	SLOT_BUSY,
	SLOT_READY,
	SLOT_OUT,
};

struct loader_slot {
	struct vtpu_buffer *x, *labels;
	struct vtpu_event *ready; /* of the last copy into it, or NULL */
	struct vtpu_event *done;  /* of the job that used it last, or NULL */
	enum slot_state state;
	bool out;		   /* the caller has it; for its thread alone */
	struct vtpu_buffer *stage; /* on the host: samples, then labels */
	uint8_t *stage_x, *stage_labels;
	uint64_t batch;
	uint32_t taken, filled; /* rows */
};

struct feed;

struct vtpu_loader {
	struct vtpu_device *device;
	struct vtpu_data *data;
	struct vtpu_loader_options options; /* defaults filled in */
	enum vtpu_dtype type;		    /* of what the device gets */
	struct vtpu_shape shape;
	uint64_t sample_bytes;
	uint32_t label_bytes; /* 0: no labels */
	uint64_t batches;
	struct vtpu_stream *stream;
	bool broken; /* the stream must be made anew */
	struct vtpu_buffer *weights, *last_weights;
	struct loader_slot slot[LOADER_MAX_SLOTS];

	bool active; /* an epoch was begun */
	uint32_t epoch;
	uint32_t *order;  /* positions to samples, options.count of them */
	uint64_t next;	  /* batch to give out */
	uint64_t entered; /* batch whose copy is entered next, or whose filling begins next */

	struct vtpu_buffer *all_x, *all_labels, *index; /* in HBM only */
	uint32_t *index_list; /* index, mapped: order with the last batch filled up */
	struct feed *feed;    /* on the host only */

	uint64_t out, samples, waited_ns;
	atomic_ullong host_bytes;
	uint64_t hbm_bytes;
};

/** loader_alloc() - HBM of a loader, counted */
enum vtpu_status loader_alloc(struct vtpu_loader *loader, uint64_t bytes, const char *label,
			      struct vtpu_buffer **buffer);

/** loader_rows() - samples of a batch: less than options.batch for the last */
uint32_t loader_rows(const struct vtpu_loader *loader, uint64_t batch);

/** loader_pack_label() - @value as the device gets it */
void loader_pack_label(const struct vtpu_loader *loader, void *labels, uint64_t row, int32_t value);

/**
 * loader_enter() - enter the copy that fills a slot, behind the job that used it last
 * @rows: one or two copies
 */
enum vtpu_status loader_enter(struct vtpu_loader *loader, struct loader_slot *slot,
			      const struct vtpu_rows *rows, uint32_t count);

/* Batches gathered in HBM. */
enum vtpu_status resident_create(struct vtpu_loader *loader);
void resident_destroy(struct vtpu_loader *loader);
void resident_begin(struct vtpu_loader *loader);
/** resident_next() - enter gathers into all free slots */
enum vtpu_status resident_next(struct vtpu_loader *loader);

/* Batches put together by threads. */
enum vtpu_status feed_create(struct vtpu_loader *loader);
void feed_destroy(struct vtpu_loader *loader);
/** feed_pause() - take no more rows, and wait for the threads; TIMEOUT: one does not come back */
enum vtpu_status feed_pause(struct vtpu_loader *loader);
void feed_begin(struct vtpu_loader *loader);
/** feed_next() - wait until batch loader->next is READY */
enum vtpu_status feed_next(struct vtpu_loader *loader);
void feed_release(struct vtpu_loader *loader, struct loader_slot *slot, struct vtpu_event *done);

#endif /* VTPU_SRC_DATA_LOADER_H */
