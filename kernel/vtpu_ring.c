// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_ring.c - an I/O queue as memory and indices: entries out, completions in.
 *
 * Used by clients' queues (vtpu_queue.c) and by the kernel's own (vtpu_clear.c),
 * which say in ring->complete what a completion means.
 */
#include <linux/dma-mapping.h>

#include "vtpu_device.h"
#include "vtpu_trace.h"

/* vtpu_ring_alloc() - memory for a queue of 2^@depth_log2 entries */
int vtpu_ring_alloc(struct vtpu_ring *ring, struct vtpu_device *vdev, u32 id, u8 depth_log2)
{
	size_t sq = PAGE_ALIGN(sizeof(*ring->sq) << depth_log2);
	size_t cq = PAGE_ALIGN(sizeof(*ring->cq) << depth_log2);
	void *mem;

	ring->vdev = vdev;
	ring->id = id;
	ring->depth_log2 = depth_log2;
	ring->dead = true;
	ring->bytes = sq + cq + PAGE_SIZE;
	ring->args_bytes = (size_t)VTPU_ARG_SLOT_BYTES << depth_log2;
	mem = dma_alloc_coherent(vdev->drm.dev, ring->bytes, &ring->dma, GFP_KERNEL | __GFP_NOWARN);
	if (!mem)
		return -ENOMEM;
	ring->args = dma_alloc_coherent(vdev->drm.dev, ring->args_bytes, &ring->args_dma,
					GFP_KERNEL | __GFP_NOWARN);
	if (!ring->args) {
		dma_free_coherent(vdev->drm.dev, ring->bytes, mem, ring->dma);
		return -ENOMEM;
	}
	ring->sq = mem;
	ring->cq = mem + sq;
	ring->tail_word = mem + sq + cq;
	return 0;
}

/* The device knows nothing of the ring any more. May be called twice. */
void vtpu_ring_free(struct vtpu_ring *ring)
{
	if (!ring->sq)
		return;
	dma_free_coherent(ring->vdev->drm.dev, ring->args_bytes, ring->args, ring->args_dma);
	dma_free_coherent(ring->vdev->drm.dev, ring->bytes, ring->sq, ring->dma);
	ring->sq = NULL;
}

/* vtpu_ring_create() - tell the device; @params: kind, context, priority, mask and limit */
int vtpu_ring_create(struct vtpu_ring *ring, const struct vtpu_admin_queue *params)
{
	struct vtpu_admin_cmd cmd = { .u.queue = *params };

	memset(ring->sq, 0, ring->bytes);
	ring->tail = 0;
	ring->head = 0;
	cmd.u.h.opcode = VTPU_ADMIN_QUEUE_CREATE;
	cmd.u.queue.queue = ring->id;
	cmd.u.queue.depth_log2 = ring->depth_log2;
	cmd.u.queue.sq = ring->dma;
	cmd.u.queue.cq = ring->dma + ((void *)ring->cq - (void *)ring->sq);
	cmd.u.queue.tail = ring->dma + ((void *)ring->tail_word - (void *)ring->sq);
	cmd.u.queue.args = ring->args_dma;
	return vtpu_admin_exec(ring->vdev, &cmd);
}

/* vtpu_ring_destroy() - the device ends all jobs of the queue, completes them and forgets it */
int vtpu_ring_destroy(struct vtpu_ring *ring)
{
	struct vtpu_admin_cmd cmd = {
		.u.queue.h.opcode = VTPU_ADMIN_QUEUE_DESTROY,
		.u.queue.queue = ring->id,
	};

	return vtpu_admin_exec(ring->vdev, &cmd);
}

/* From here on interrupts look at the ring. */
void vtpu_ring_attach(struct vtpu_ring *ring)
{
	struct vtpu_slot *slot = &ring->vdev->slots[ring->id];

	spin_lock_irq(&slot->lock);
	ring->dead = false;
	slot->progress = 0;
	slot->ring = ring;
	spin_unlock_irq(&slot->lock);
}

void vtpu_ring_detach(struct vtpu_ring *ring)
{
	struct vtpu_slot *slot = &ring->vdev->slots[ring->id];

	spin_lock_irq(&slot->lock);
	ring->dead = true;
	if (slot->ring == ring)
		slot->ring = NULL;
	spin_unlock_irq(&slot->lock);
}

/*
 * vtpu_ring_post() - enter a job; the caller holds the slot's lock, the ring is alive and has room
 *
 * Return: sequence number of the entry.
 */
u32 vtpu_ring_post(struct vtpu_ring *ring, u32 program, u32 flags, const void *args, u32 bytes)
{
	u32 seq = ring->tail, index = seq & ((1u << ring->depth_log2) - 1);

	lockdep_assert_held(&ring->vdev->slots[ring->id].lock);
	memcpy(ring->args + (size_t)index * VTPU_ARG_SLOT_BYTES, args, bytes);
	vtpu_sqe_fill(&ring->sq[index], program, flags, seq, bytes);
	ring->tail++;
	trace_vtpu_job_start(ring->id, seq, program, bytes);
	/* Entry, arguments and page tables (written through the BAR) before the tail word. */
	wmb();
	WRITE_ONCE(*ring->tail_word, ring->tail);
	vtpu_write(ring->vdev, vtpu_doorbell(ring->id, VTPU_DB_RING), seq);
	return seq;
}

/* Take all completions; the caller holds the slot's lock. */
void vtpu_ring_poll(struct vtpu_ring *ring)
{
	u32 mask = (1u << ring->depth_log2) - 1;
	struct vtpu_cqe cqe;

	while (!ring->dead && ring->head != ring->tail &&
	       vtpu_cqe_ready(READ_ONCE(ring->cq[ring->head & mask].status), ring->head,
			      ring->depth_log2)) {
		dma_rmb();
		cqe = ring->cq[ring->head & mask];
		trace_vtpu_job_done(ring->id, cqe.seq, cqe.status & VTPU_CQE_STATUS_MASK,
				    cqe.cycles);
		ring->head++;
		ring->complete(ring, &cqe);
	}
}

void vtpu_slot_poll(struct vtpu_slot *slot)
{
	unsigned long flags;

	spin_lock_irqsave(&slot->lock, flags);
	if (slot->ring)
		vtpu_ring_poll(slot->ring);
	spin_unlock_irqrestore(&slot->lock, flags);
}

/* Unbind: the device has stopped; queues that are still open lose their memory. */
void vtpu_rings_free(struct vtpu_device *vdev)
{
	struct vtpu_ring *ring;
	unsigned int i;

	mutex_lock(&vdev->list_lock);
	for (i = 1; i < VTPU_SLOTS; i++) {
		ring = vdev->slots[i].ring;
		if (!ring)
			continue;
		vtpu_ring_detach(ring);
		vtpu_ring_free(ring);
	}
	mutex_unlock(&vdev->list_lock);
}
