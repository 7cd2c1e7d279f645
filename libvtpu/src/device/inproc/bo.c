// SPDX-License-Identifier: MIT
/*
 * bo.c - buffers: HBM or pages of this process.
 *
 * HBM is clean when it is handed out: what a client gives back is cleared by
 * the driver's own copy queue first.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

struct ip_bo *ip_bo_get(struct ip_bo *bo)
{
	bo->refs++;
	return bo;
}

void *ip_bo_pointer(struct ip_device *dev, struct ip_bo *bo)
{
	return bo->region == VTPU_REGION_HBM ? dev->hbm + bo->hbm : bo->host;
}

/* ---- HBM ------------------------------------------------------------------ */

struct clearing {
	uint64_t start, bytes;
};

static void cleared(struct ip_device *dev, struct ip_job *job, int error)
{
	struct clearing *c = job->arg;

	/* The chip could not; never hand it out as it is. */
	if (error)
		memset(dev->hbm + c->start, 0, c->bytes);
	vtpu_range_free(&dev->buffers, c->start, c->bytes);
	dev->clearing -= c->bytes;
	free(c);
	pthread_cond_broadcast(&dev->changed);
}

static void hbm_free(struct ip_device *dev, uint64_t start, uint64_t bytes)
{
	const uint64_t whole = bytes / VTPU_LARGE_BYTES, rest = bytes % VTPU_LARGE_BYTES;
	struct vtpu_copy_desc desc[2];
	struct clearing *c = malloc(sizeof(*c));
	struct ip_job *job;
	uint32_t n = 0;

	memset(desc, 0, sizeof(desc));
	if (whole) {
		desc[n].op = VTPU_COPY_FILL;
		desc[n].dst = VTPU_VA_KERNEL_START + start;
		desc[n].rows = (uint32_t)whole;
		desc[n].row_bytes = VTPU_LARGE_BYTES;
		desc[n].dst_stride = VTPU_LARGE_BYTES;
		n++;
	}
	if (rest) {
		desc[n].op = VTPU_COPY_FILL;
		desc[n].dst = VTPU_VA_KERNEL_START + start + whole * VTPU_LARGE_BYTES;
		desc[n].rows = 1;
		desc[n].row_bytes = (uint32_t)rest;
		n++;
	}
	job = c && dev->clear ? ip_job_create(desc, n * sizeof(*desc)) : NULL;
	if (!job) {
		free(c);
		memset(dev->hbm + start, 0, bytes);
		vtpu_range_free(&dev->buffers, start, bytes);
		return;
	}
	c->start = start;
	c->bytes = bytes;
	job->arg = c;
	job->done = cleared;
	dev->clearing += bytes;
	ip_queue_enter(dev, dev->clear, job);
	ip_queues_kick(dev);
}

static int hbm_alloc(struct ip_device *dev, uint64_t bytes, uint64_t *start)
{
	uint64_t align = bytes >= VTPU_LARGE_BYTES ? VTPU_LARGE_BYTES : VTPU_PAGE_BYTES;

	for (;;) {
		switch (vtpu_range_alloc(&dev->buffers, bytes, align, start)) {
		case VTPU_RANGE_OK:
			return 0;
		case VTPU_RANGE_NOMEM:
			return -ENOMEM;
		case VTPU_RANGE_FULL:
			break;
		}
		if (!dev->clearing)
			return -ENOSPC;
		ip_wait(dev, UINT64_MAX);
	}
}

/* ---- Life ------------------------------------------------------------------- */

static void bo_free(struct ip_device *dev, struct ip_bo *bo)
{
	enum vtpu_quota quota = bo->region == VTPU_REGION_HBM ? VTPU_QUOTA_HBM_BYTES :
								VTPU_QUOTA_HOST_BYTES;

	if (bo->region == VTPU_REGION_HBM) {
		hbm_free(dev, bo->hbm, bo->bytes);
	} else {
		ip_memory_free(dev, bo->host, bo->bytes);
		dev->host_used -= bo->bytes;
	}
	if (bo->client) {
		ip_quota_give(bo->client, quota, bo->bytes);
		*bo->link = bo->next;
		if (bo->next)
			bo->next->link = bo->link;
	}
	while (bo->uses) {
		struct ip_use *use = bo->uses;

		bo->uses = use->next;
		ip_fence_put(use->fence);
		free(use);
	}
	free(bo);
}

void ip_bo_put(struct ip_device *dev, struct ip_bo *bo)
{
	if (!--bo->refs)
		bo_free(dev, bo);
}

int ip_bo_create(struct ip_client *client, struct vtpu_bo_create *arg)
{
	struct ip_device *dev = client->dev;
	enum vtpu_quota quota;
	struct ip_bo *bo;
	uint64_t bytes;
	int err;

	if (arg->pad || (arg->flags & ~VTPU_BO_FLAGS) || arg->region > VTPU_REGION_HOST ||
	    !arg->size)
		return -EINVAL;
	bytes = (arg->size + VTPU_PAGE_BYTES - 1) & ~(uint64_t)(VTPU_PAGE_BYTES - 1);
	if (bytes < arg->size)
		return -EINVAL;
	quota = arg->region == VTPU_REGION_HBM ? VTPU_QUOTA_HBM_BYTES : VTPU_QUOTA_HOST_BYTES;
	err = ip_quota_take(client, quota, bytes);
	if (err)
		return err;
	bo = calloc(1, sizeof(*bo));
	if (!bo) {
		err = -ENOMEM;
		goto fail_quota;
	}
	bo->refs = 1;
	bo->region = arg->region;
	bo->flags = arg->flags;
	bo->bytes = bytes;
	if (arg->region == VTPU_REGION_HBM) {
		err = hbm_alloc(dev, bytes, &bo->hbm);
	} else {
		bo->host = ip_memory_alloc(dev, bytes);
		err = bo->host ? 0 : -ENOMEM;
		if (!err)
			dev->host_used += bytes;
	}
	if (err) {
		free(bo);
		goto fail_quota;
	}
	bo->client = client;
	bo->link = &client->bo_list;
	bo->next = client->bo_list;
	if (bo->next)
		bo->next->link = &bo->next;
	client->bo_list = bo;
	arg->handle = ip_table_add(&client->bos, bo);
	if (!arg->handle) {
		ip_bo_put(dev, bo);
		return -ENOMEM;
	}
	arg->size = bytes;
	return 0;

fail_quota:
	ip_quota_give(client, quota, bytes);
	return err;
}

int ip_bo_close(struct ip_client *client, struct drm_gem_close *arg)
{
	struct ip_bo *bo = ip_table_remove(&client->bos, arg->handle);

	if (!bo)
		return -EINVAL;
	ip_bo_put(client->dev, bo);
	return 0;
}

int ip_bo_info(struct ip_client *client, struct vtpu_bo_info *arg)
{
	struct ip_bo *bo;

	if (arg->pad)
		return -EINVAL;
	bo = ip_table_find(&client->bos, arg->handle);
	if (!bo)
		return -ENOENT;
	arg->region = bo->region;
	arg->flags = bo->flags;
	arg->size = bo->bytes;
	/* Nothing can be mapped by it here; it says only whether ops->map() would. */
	arg->mmap_offset = bo->region == VTPU_REGION_HOST || (bo->flags & VTPU_BO_MAPPABLE) ?
				   (uint64_t)arg->handle << 32 :
				   0;
	return 0;
}

int ip_bo_set_label(struct ip_client *client, struct vtpu_bo_set_label *arg)
{
	const char *label = (const char *)(uintptr_t)arg->label;
	struct ip_bo *bo;
	size_t length;

	if (arg->pad)
		return -EINVAL;
	bo = ip_table_find(&client->bos, arg->handle);
	if (!bo)
		return -ENOENT;
	length = label ? strnlen(label, VTPU_MAX_LABEL) : 0;
	if (length == VTPU_MAX_LABEL)
		return -E2BIG;
	memset(bo->label, 0, sizeof(bo->label));
	if (label)
		memcpy(bo->label, label, length);
	return 0;
}

/* ---- Jobs that use a buffer --------------------------------------------------- */

static void uses_prune(struct ip_bo *bo)
{
	struct ip_use **at = &bo->uses;

	while (*at) {
		struct ip_use *use = *at;

		if (!ip_fence_signalled(use->fence)) {
			at = &use->next;
			continue;
		}
		*at = use->next;
		ip_fence_put(use->fence);
		free(use);
	}
}

int ip_bo_add_use(struct ip_bo *bo, struct ip_fence *fence, bool write)
{
	struct ip_use *use = malloc(sizeof(*use));

	if (!use)
		return -ENOMEM;
	uses_prune(bo);
	use->fence = ip_fence_get(fence);
	use->write = write;
	use->next = bo->uses;
	bo->uses = use;
	return 0;
}

int ip_bo_wait(struct ip_client *client, struct vtpu_bo_wait *arg)
{
	uint64_t deadline = arg->timeout_ns > 0 ? (uint64_t)arg->timeout_ns : 0;
	struct ip_bo *bo;
	int err = 0;

	if (arg->flags & ~VTPU_BO_WAIT_WRITE)
		return -EINVAL;
	bo = ip_table_find(&client->bos, arg->handle);
	if (!bo)
		return -ENOENT;
	ip_bo_get(bo);
	for (;;) {
		struct ip_use *use;

		uses_prune(bo);
		for (use = bo->uses; use; use = use->next) {
			if (use->write || (arg->flags & VTPU_BO_WAIT_WRITE))
				break;
		}
		if (!use)
			break;
		if (ip_now_ns() >= deadline) {
			err = -ETIMEDOUT;
			break;
		}
		ip_wait(client->dev, deadline);
	}
	ip_bo_put(client->dev, bo);
	return err;
}
