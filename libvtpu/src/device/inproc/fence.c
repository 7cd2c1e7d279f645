// SPDX-License-Identifier: MIT
/*
 * fence.c - fences and timelines, with the semantics of the kernel's
 * dma_fence and dma_fence_chain.
 */
#include <stdlib.h>

#include "device/inproc/inproc.h"

struct ip_fence *ip_fence_create(void)
{
	struct ip_fence *fence = calloc(1, sizeof(*fence));

	if (fence)
		fence->refs = 1;
	return fence;
}

struct ip_fence *ip_fence_get(struct ip_fence *fence)
{
	if (fence)
		fence->refs++;
	return fence;
}

void ip_fence_put(struct ip_fence *fence)
{
	/* A long timeline is freed link by link, not by recursion. */
	while (fence && !--fence->refs) {
		struct ip_fence *prev = fence->prev;

		ip_fence_put(fence->inner);
		free(fence);
		fence = prev;
	}
}

void ip_fence_signal(struct ip_device *dev, struct ip_fence *fence, int error)
{
	fence->signalled = true;
	fence->error = error;
	pthread_cond_broadcast(&dev->changed);
}

bool ip_fence_signalled(struct ip_fence *fence)
{
	struct ip_fence *link;

	if (!fence->link)
		return fence->signalled;
	for (link = ip_fence_get(fence); link; link = ip_link_walk(link)) {
		struct ip_fence *inner = link->link ? link->inner : link;

		if (!ip_fence_signalled(inner)) {
			ip_fence_put(link);
			return false;
		}
	}
	return true;
}

struct ip_fence *ip_link_walk(struct ip_fence *link)
{
	struct ip_fence *prev;

	if (!link->link) {
		ip_fence_put(link);
		return NULL;
	}
	while ((prev = link->prev)) {
		if (!ip_fence_signalled(prev->link ? prev->inner : prev))
			break;
		link->prev = prev->link ? ip_fence_get(prev->prev) : NULL;
		ip_fence_put(prev);
	}
	ip_fence_get(prev);
	ip_fence_put(link);
	return prev;
}

struct ip_fence *ip_link_create(struct ip_device *dev, struct ip_fence *prev,
				struct ip_fence *inner, uint64_t point)
{
	struct ip_fence *link = ip_fence_create();

	if (!link)
		return NULL;
	link->link = true;
	link->prev = prev;
	link->inner = ip_fence_get(inner);
	if (prev && prev->link && point > prev->seqno) {
		link->context = prev->context;
		link->prev_seqno = prev->seqno;
	} else {
		/* Out of order: a timeline of its own, whose number never goes back. */
		link->context = ++dev->last_context;
		if (prev && prev->link && prev->seqno > point)
			point = prev->seqno;
	}
	link->seqno = point;
	return link;
}

int ip_link_find(struct ip_fence **fence, uint64_t point)
{
	struct ip_fence *head = *fence, *link;

	if (!point)
		return 0;
	if (!head->link || head->seqno < point)
		return -EINVAL;
	for (link = ip_fence_get(head); link; link = ip_link_walk(link)) {
		if (link->context != head->context || link->prev_seqno < point)
			break;
	}
	ip_fence_put(head);
	*fence = link;
	return 0;
}
