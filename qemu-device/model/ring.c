// SPDX-License-Identifier: MIT
/*
 * ring.c - a submission ring and its completion ring, in system memory.
 *
 * Tail word, entries and completions, each through one asynchronous request;
 * what an entry means is for queue.c and admin.c. Tail word and entry are read
 * once each, and the copy is what counts.
 */
#include <stdlib.h>

#include "chip.h"

bool vtpu_ring_init(struct vtpu_ring *ring, struct vtpu_chip *chip, unsigned int id, uint32_t ahead)
{
	ring->chip = chip;
	ring->id = id;
	ring->ahead = ahead;
	vtpu_request_init(&ring->tail_req, chip, id);
	vtpu_request_init(&ring->entry_req, chip, id);
	vtpu_request_init(&ring->cqe_req, chip, id);
	ring->entry = calloc(ahead, sizeof(*ring->entry));
	return ring->entry;
}

void vtpu_ring_fini(struct vtpu_ring *ring)
{
	free(ring->entry);
}

bool vtpu_ring_idle(struct vtpu_ring *ring)
{
	return vtpu_request_idle(&ring->tail_req) && vtpu_request_idle(&ring->entry_req) &&
	       vtpu_request_idle(&ring->cqe_req);
}

/* Nothing more is taken from this ring; what was announced and not fetched is forgotten. */
static void ring_close(struct vtpu_ring *ring)
{
	ring->closed = true;
	ring->rung = false;
	ring->tail = ring->fetched;
}

bool vtpu_ring_poll_tail(struct vtpu_ring *ring, enum vtpu_hw_status *st)
{
	uint32_t depth = 1u << ring->depth_log2;
	bool ok;

	*st = VTPU_ST_OK;
	if (ring->rung && vtpu_request_idle(&ring->tail_req)) {
		ring->rung = false;
		vtpu_request_issue(&ring->tail_req, ring->tail_addr, &ring->tail_word,
				   sizeof(ring->tail_word), false);
	}
	if (!vtpu_request_take(&ring->tail_req, &ok))
		return false;
	if (ring->closed)
		return true;
	if (!ok) {
		*st = VTPU_ST_DMA_ERROR;
		ring_close(ring);
	} else if (ring->tail_word - ring->completed > depth ||
		   ring->tail_word - ring->completed < ring->tail - ring->completed) {
		/* Too far ahead, or it went back. */
		vtpu_trace(ring->chip, VTPU_TRACE_RING_OVERRUN, ring->id, ring->completed,
			   ring->tail_word, ring->fetched);
		vtpu_log(ring->chip, VTPU_LOG_GUEST,
			 "queue %u: tail word %u, but %u entries are completed, %u were announced and the ring has %u",
			 ring->id, ring->tail_word, ring->completed, ring->tail, depth);
		*st = VTPU_ST_RING_OVERRUN;
		ring_close(ring);
	} else {
		ring->tail = ring->tail_word;
	}
	return true;
}

uint32_t vtpu_ring_poll_entries(struct vtpu_ring *ring, enum vtpu_hw_status *st)
{
	uint32_t depth = 1u << ring->depth_log2;
	bool ok;

	*st = VTPU_ST_OK;
	if (vtpu_request_idle(&ring->entry_req) && !ring->closed) {
		uint32_t slot = ring->fetched & (depth - 1);
		uint32_t n = ring->tail - ring->fetched;
		uint32_t room = ring->ahead - (ring->fetched - ring->completed);

		if (n > room)
			n = room;
		if (n > depth - slot)
			n = depth - slot;
		if (!n)
			return 0;
		ring->entries = n;
		vtpu_request_issue(&ring->entry_req, ring->sq + slot * sizeof(*ring->entry),
				   ring->entry, n * sizeof(*ring->entry), false);
	}
	if (!vtpu_request_take(&ring->entry_req, &ok))
		return 0;
	if (ring->closed)
		return 0;
	if (!ok) {
		*st = VTPU_ST_DMA_ERROR;
		return 1;
	}
	return ring->entries;
}

bool vtpu_ring_complete(struct vtpu_ring *ring, const struct vtpu_cqe *cqe, bool quiet)
{
	uint32_t phase = ~(ring->completed >> ring->depth_log2) & 1;
	uint32_t slot = ring->completed & ((1u << ring->depth_log2) - 1);

	if (!vtpu_request_idle(&ring->cqe_req))
		return false;
	ring->cqe = *cqe;
	ring->cqe.status |= phase << 31;
	ring->quiet = quiet;
	ring->body_done = false;
	ring->completed++;
	vtpu_request_issue(&ring->cqe_req, ring->cq + slot * sizeof(*cqe), &ring->cqe,
			   offsetof(struct vtpu_cqe, status), true);
	return true;
}

bool vtpu_ring_poll_cqe(struct vtpu_ring *ring, enum vtpu_hw_status *st)
{
	uint32_t slot = (ring->completed - 1) & ((1u << ring->depth_log2) - 1);
	struct vtpu_chip *chip = ring->chip;
	unsigned int vector = ring->id ? VTPU_QUEUE_VECTOR(ring->id, chip->vectors) : 0;
	bool ok;

	*st = VTPU_ST_OK;
	if (!vtpu_request_take(&ring->cqe_req, &ok))
		return false;
	if (!ok) {
		*st = VTPU_ST_DMA_ERROR;
		ring_close(ring);
		return true;
	}
	if (!ring->body_done) {
		/* The driver may poll: status and phase only after the body. */
		ring->body_done = true;
		atomic_thread_fence(memory_order_release);
		vtpu_request_issue(&ring->cqe_req,
				   ring->cq + slot * sizeof(ring->cqe) +
					   offsetof(struct vtpu_cqe, status),
				   &ring->cqe.status, sizeof(ring->cqe.status), true);
		return true;
	}
	vtpu_trace(chip, VTPU_TRACE_COMPLETE, ring->id, ring->cqe.seq,
		   ring->cqe.status & VTPU_CQE_STATUS_MASK, vector);
	if (!ring->quiet)
		chip->raise |= 1ULL << vector;
	return true;
}
