// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_host.c - memory of host buffers: pinned pages in pieces as large as can be had.
 *
 * Pieces of 2 MiB let the device use large page-table leaves and copy in long
 * runs, whatever the machine's settings for huge pages of shared memory are.
 * The pages are charged to the caller's memory cgroup.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vtpu_device.h"

#define MAX_ORDER_TRIED (VTPU_LARGE_SHIFT - PAGE_SHIFT)

static struct page *alloc_chunk(u32 pages, unsigned int *limit, unsigned int *order)
{
	struct page *page;

	*order = min_t(unsigned int, *limit, ilog2(pages));
	for (;;) {
		gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;

		if (*order)
			gfp |= __GFP_NORETRY;
		page = alloc_pages(gfp, *order);
		if (page || !*order)
			return page;
		*limit = --*order;
	}
}

static void free_chunks(struct list_head *list)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, list, lru) {
		list_del(&page->lru);
		__free_pages(page, page_private(page));
	}
}

/* Pages for the whole buffer, as a list of chunks. Return: how many chunks, or negative errno */
static int alloc_chunks(u32 pages, struct list_head *list)
{
	unsigned int limit = MAX_ORDER_TRIED, order;
	int n = 0;

	while (pages) {
		struct page *page = alloc_chunk(pages, &limit, &order);

		if (!page || fatal_signal_pending(current)) {
			if (page)
				__free_pages(page, order);
			free_chunks(list);
			return page ? -EINTR : -ENOMEM;
		}
		set_page_private(page, order);
		list_add_tail(&page->lru, list);
		pages -= 1u << order;
		n++;
		cond_resched();
	}
	return n;
}

/* Inside drm_dev_enter(): what is mapped after vtpu_host_unmap_all() would stay so. */
static int map_chunks(struct vtpu_device *vdev, struct vtpu_host *host)
{
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(&host->sgt, host->nchunks, GFP_KERNEL | __GFP_NOWARN);
	if (ret)
		return ret;
	for_each_sgtable_sg(&host->sgt, sg, i)
		sg_set_page(sg, host->chunks[i].page, PAGE_SIZE << host->chunks[i].order, 0);
	ret = dma_map_sgtable(vdev->drm.dev, &host->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret) {
		sg_free_table(&host->sgt);
		return ret;
	}
	mutex_lock(&vdev->list_lock);
	host->mapped = true;
	list_add(&host->node, &vdev->host_bos);
	mutex_unlock(&vdev->list_lock);
	return 0;
}

/* vtpu_host_alloc() - zeroed memory for a host buffer, mapped for DMA; gem.size is set */
int vtpu_host_alloc(struct vtpu_device *vdev, struct vtpu_bo *bo)
{
	struct vtpu_host *host = &bo->host;
	struct page *page;
	LIST_HEAD(list);
	u32 first = 0;
	int n, ret, idx;

	if (bo->gem.size >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;
	n = alloc_chunks(bo->gem.size >> PAGE_SHIFT, &list);
	if (n < 0)
		return n;
	host->chunks = kvcalloc(n, sizeof(*host->chunks), GFP_KERNEL_ACCOUNT);
	if (!host->chunks) {
		free_chunks(&list);
		return -ENOMEM;
	}
	list_for_each_entry(page, &list, lru) {
		struct vtpu_chunk *chunk = &host->chunks[host->nchunks++];

		chunk->page = page;
		chunk->order = page_private(page);
		chunk->first = first;
		first += 1u << chunk->order;
	}
	ret = -ENODEV;
	if (drm_dev_enter(&vdev->drm, &idx)) {
		ret = map_chunks(vdev, host);
		drm_dev_exit(idx);
	}
	if (ret)
		vtpu_host_free(vdev, bo);
	return ret;
}

static void unmap_locked(struct vtpu_device *vdev, struct vtpu_host *host)
{
	lockdep_assert_held(&vdev->list_lock);
	if (!host->mapped)
		return;
	host->mapped = false;
	list_del(&host->node);
	dma_unmap_sgtable(vdev->drm.dev, &host->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&host->sgt);
}

void vtpu_host_free(struct vtpu_device *vdev, struct vtpu_bo *bo)
{
	struct vtpu_host *host = &bo->host;
	u32 i;

	mutex_lock(&vdev->list_lock);
	unmap_locked(vdev, host);
	mutex_unlock(&vdev->list_lock);
	for (i = 0; i < host->nchunks; i++) {
		set_page_private(host->chunks[i].page, 0);
		__free_pages(host->chunks[i].page, host->chunks[i].order);
	}
	kvfree(host->chunks);
	host->chunks = NULL;
	host->nchunks = 0;
}

/* The driver is about to lose the device; buffers may stay open for long. */
void vtpu_host_unmap_all(struct vtpu_device *vdev)
{
	struct vtpu_host *host, *next;

	mutex_lock(&vdev->list_lock);
	list_for_each_entry_safe(host, next, &vdev->host_bos, node)
		unmap_locked(vdev, host);
	mutex_unlock(&vdev->list_lock);
}

/* vtpu_host_pfn() - page frame of the buffer's page number @page, which is inside the buffer */
unsigned long vtpu_host_pfn(const struct vtpu_host *host, u64 page)
{
	u32 low = 0, high = host->nchunks;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (host->chunks[middle].first <= page)
			low = middle;
		else
			high = middle;
	}
	return page_to_pfn(host->chunks[low].page) + (page - host->chunks[low].first);
}
