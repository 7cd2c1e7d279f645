/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_dma.c - the chip's access to guest memory.
 *
 * Only RAM can be reached (a peer's RAM-backed BAR included): an address that
 * leads to registers, ours or another device's, to ROM on a write, to nothing,
 * or anywhere while bus mastering is off, fails. That ends the whole class of
 * attacks in which a device is made to program itself or the machine.
 *
 * Without a guest-visible IOMMU the thread that asks moves the bytes itself,
 * through the translation cache that virtio's data planes use: it refuses what
 * is not RAM before touching it, where address_space_rw() would take the BQL
 * for a write to ROM - and a reset waits for the asking thread with the BQL
 * held. With an IOMMU a fault may raise an interrupt, which TCG allows to the
 * holder of the BQL alone, so requests of other threads wait for a bottom half,
 * which moves at most DMA_STEP bytes a run.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qemu/units.h"
#include "vtpu_device.h"

#define DMA_STEP (1 * MiB)

/* Move bytes to or from plain RAM; any thread. */
static bool dma_cached(AddressSpace *as, hwaddr addr, uint8_t *buf, size_t bytes, bool to_system)
{
	MemoryRegionCache cache;
	bool ok = true;

	RCU_READ_LOCK_GUARD();
	while (ok && bytes) {
		size_t n = address_space_cache_init(&cache, as, addr, bytes, to_system);

		ok = n && cache.ptr && memory_region_is_ram(cache.mrs.mr);
		if (ok && to_system) {
			/* An earlier write (a completion's body) is seen first. */
			smp_wmb();
			memmove(cache.ptr, buf, n);
			address_space_cache_invalidate(&cache, 0, n);
		} else if (ok) {
			memmove(buf, cache.ptr, n);
		}
		address_space_cache_destroy(&cache);
		addr += n;
		buf += n;
		bytes -= n;
	}
	return ok;
}

/* Move bytes through the IOMMU; BQL held. */
static bool dma_translated(AddressSpace *as, hwaddr addr, void *buf, size_t bytes, bool to_system)
{
	const MemTxAttrs attrs = { .memory = 1 };

	return address_space_rw(as, addr, attrs, buf, bytes, to_system) == MEMTX_OK;
}

static void finish(struct vtpu_dma *dma, bool ok)
{
	dma->ok = ok;
	dma->done(dma);
}

static bool wraps(const struct vtpu_dma *dma)
{
	return dma->addr + (dma->bytes - 1) < dma->addr;
}

/* The oldest request, one step of it. */
static void dma_bh(void *opaque)
{
	VtpuState *s = opaque;
	struct vtpu_dma_queue *q = &s->dma;
	struct vtpu_dma *dma;
	size_t n;
	bool ok;

	WITH_QEMU_LOCK_GUARD(&q->lock)
	{
		dma = q->head;
	}
	if (!dma)
		return;
	n = MIN(dma->bytes - q->moved, DMA_STEP);
	ok = dma_translated(pci_get_address_space(PCI_DEVICE(s)), dma->addr + q->moved,
			    (uint8_t *)dma->buf + q->moved, n, dma->to_system);
	q->moved += n;
	if (!ok || q->moved == dma->bytes) {
		q->moved = 0;
		WITH_QEMU_LOCK_GUARD(&q->lock)
		{
			q->head = dma->next;
			if (!q->head)
				q->tail = &q->head;
		}
		finish(dma, ok);
	}
	qemu_bh_schedule(q->bh);
}

/* Queue for the main loop; false when nothing is accepted. */
static bool enqueue(struct vtpu_dma_queue *q, struct vtpu_dma *dma)
{
	QEMU_LOCK_GUARD(&q->lock);
	if (q->closed)
		return false;
	dma->next = NULL;
	*q->tail = dma;
	q->tail = &dma->next;
	qemu_bh_schedule(q->bh);
	return true;
}

/** vtpu_dma() - vtpu_host_ops.dma */
void vtpu_dma(void *host, struct vtpu_dma *dma)
{
	VtpuState *s = host;
	AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));

	if (wraps(dma))
		finish(dma, false);
	else if (!s->dma.iommu)
		finish(dma, dma_cached(as, dma->addr, dma->buf, dma->bytes, dma->to_system));
	else if (bql_locked() && dma->bytes <= DMA_STEP)
		finish(dma, dma_translated(as, dma->addr, dma->buf, dma->bytes, dma->to_system));
	else if (!enqueue(&s->dma, dma))
		finish(dma, false);
}

/**
 * vtpu_dma_close() - fail what waits for the main loop, and all that comes
 *
 * For a reset and for unplugging, which wait for the chip's threads and hold
 * the main loop up meanwhile. BQL held.
 */
void vtpu_dma_close(VtpuState *s)
{
	struct vtpu_dma_queue *q = &s->dma;
	struct vtpu_dma *dma, *next;

	WITH_QEMU_LOCK_GUARD(&q->lock)
	{
		q->closed = true;
		dma = q->head;
		q->head = NULL;
		q->tail = &q->head;
		q->moved = 0;
	}
	for (; dma; dma = next) {
		next = dma->next;
		finish(dma, false);
	}
}

/** vtpu_dma_open() - accept requests, through the IOMMU if the guest sees one. BQL held */
void vtpu_dma_open(VtpuState *s)
{
	QEMU_LOCK_GUARD(&s->dma.lock);
	s->dma.closed = false;
	s->dma.iommu = pci_device_iommu_address_space(PCI_DEVICE(s)) != &address_space_memory;
}

void vtpu_dma_init(VtpuState *s)
{
	qemu_mutex_init(&s->dma.lock);
	s->dma.head = NULL;
	s->dma.tail = &s->dma.head;
	s->dma.bh = qemu_bh_new_guarded(dma_bh, s, &DEVICE(s)->mem_reentrancy_guard);
	s->dma.moved = 0;
	s->dma.closed = true;
}

void vtpu_dma_fini(VtpuState *s)
{
	qemu_bh_delete(s->dma.bh);
	qemu_mutex_destroy(&s->dma.lock);
}
