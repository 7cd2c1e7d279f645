// SPDX-License-Identifier: MIT
/*
 * resident.c - the whole data set in HBM; the copy queue gathers batches.
 *
 * The CPU writes a list of sample numbers an epoch, and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"

/* Labels in pieces, so that a large set needs no second copy of them all. */
#define PIECE 65536

static enum vtpu_status upload_labels(struct vtpu_loader *l)
{
	uint64_t count = l->options.count, n;
	enum vtpu_status status = VTPU_OK;
	void *piece = malloc((size_t)PIECE * l->label_bytes);

	if (!piece)
		return vtpu_fail_nomem("labels");
	for (uint64_t i = 0; i < count && !status; i += n) {
		n = count - i < PIECE ? count - i : PIECE;
		for (uint64_t k = 0; k < n; k++)
			loader_pack_label(l, piece, k, l->data->labels[l->options.first + i + k]);
		status = vtpu_buffer_write(l->all_labels, i * l->label_bytes, piece,
					   n * l->label_bytes);
	}
	free(piece);
	return status;
}

enum vtpu_status resident_create(struct vtpu_loader *l)
{
	const struct vtpu_buffer_options host =
		VTPU_INIT(host, .memory = VTPU_MEMORY_HOST, .label = "data/order");
	uint64_t bytes = l->options.count * l->sample_bytes;
	enum vtpu_status status;

	status = loader_alloc(l, bytes, "data/samples", &l->all_x);
	if (!status)
		status = vtpu_buffer_write(l->all_x, 0,
					   l->data->samples + l->options.first * l->sample_bytes,
					   bytes);
	if (!status && l->label_bytes)
		status = loader_alloc(l, l->options.count * l->label_bytes, "data/labels",
				      &l->all_labels);
	if (!status && l->label_bytes)
		status = upload_labels(l);
	if (!status)
		status = vtpu_buffer_alloc(l->device,
					   l->batches * l->options.batch * sizeof(uint32_t), &host,
					   &l->index);
	if (!status)
		status = vtpu_buffer_map(l->index, (void **)&l->index_list);
	return status;
}

void resident_destroy(struct vtpu_loader *l)
{
	vtpu_buffer_free(l->all_x);
	vtpu_buffer_free(l->all_labels);
	vtpu_buffer_free(l->index);
}

void resident_begin(struct vtpu_loader *l)
{
	uint64_t room = l->batches * l->options.batch;

	for (uint64_t i = 0; i < room; i++)
		l->index_list[i] = l->order[i < l->options.count ? i : l->options.count - 1];
}

static enum vtpu_status gather(struct vtpu_loader *l, uint64_t batch, struct loader_slot *slot)
{
	struct vtpu_rows rows[2] = { {
		.dst = slot->x,
		.src = l->all_x,
		.rows = l->options.batch,
		.row_bytes = (uint32_t)l->sample_bytes,
		.dst_stride = (int64_t)l->sample_bytes,
		.src_stride = (int64_t)l->sample_bytes,
		.index = l->index,
		.index_offset = batch * l->options.batch * sizeof(uint32_t),
		.index_limit = (uint32_t)l->options.count,
	} };

	rows[1] = rows[0];
	rows[1].dst = slot->labels;
	rows[1].src = l->all_labels;
	rows[1].row_bytes = l->label_bytes;
	rows[1].dst_stride = l->label_bytes;
	rows[1].src_stride = l->label_bytes;
	slot->batch = batch;
	return loader_enter(l, slot, rows, l->label_bytes ? 2 : 1);
}

enum vtpu_status resident_next(struct vtpu_loader *l)
{
	enum vtpu_status status = VTPU_OK;
	struct loader_slot *slot;

	while (!status && l->entered < l->batches) {
		slot = &l->slot[l->entered % l->options.depth];
		if (slot->state != SLOT_FREE)
			break;
		status = gather(l, l->entered, slot);
		if (!status) {
			slot->state = SLOT_READY;
			l->entered++;
		}
	}
	return status;
}
