// SPDX-License-Identifier: MIT
/*
 * syncobj.c - the DRM sync-object ioctls, binary and timeline, with the
 * kernel's semantics and error codes.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

/* How long a find with WAIT_FOR_SUBMIT waits for the fence to appear; the kernel's number. */
#define FIND_TIMEOUT_NS (5 * IP_NS_PER_S)

#ifndef DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE
#define DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE (1 << 3)
#endif

struct ip_syncobj *ip_syncobj_find(struct ip_client *client, uint32_t handle)
{
	return ip_table_find(&client->syncobjs, handle);
}

void ip_syncobj_replace(struct ip_device *dev, struct ip_syncobj *obj, struct ip_fence *fence)
{
	struct ip_fence *old = obj->fence;

	obj->fence = fence;
	ip_fence_put(old);
	pthread_cond_broadcast(&dev->changed);
}

int ip_syncobj_add_point(struct ip_device *dev, struct ip_syncobj *obj, struct ip_fence *fence,
			 uint64_t point)
{
	struct ip_fence *link = ip_link_create(dev, obj->fence, fence, point);

	if (!link)
		return -ENOMEM;
	obj->fence = link; /* it has taken over the reference to the one before */
	ip_fence_put(ip_link_walk(ip_fence_get(link))); /* drops what has ended */
	pthread_cond_broadcast(&dev->changed);
	return 0;
}

static struct ip_fence *ended_fence(void)
{
	struct ip_fence *fence = ip_fence_create();

	if (fence)
		fence->signalled = true;
	return fence;
}

/* One try of the kernel's drm_syncobj_find_fence() */
static int find_now(struct ip_syncobj *obj, uint64_t point, struct ip_fence **out)
{
	struct ip_fence *fence = ip_fence_get(obj->fence);
	int err;

	if (!fence)
		return -EINVAL;
	err = ip_link_find(&fence, point);
	if (err) {
		ip_fence_put(fence);
		return err;
	}
	*out = fence ? fence : ended_fence();
	return *out ? 0 : -ENOMEM;
}

int ip_syncobj_fence(struct ip_client *client, uint32_t handle, uint64_t point,
		     struct ip_fence **fence)
{
	struct ip_syncobj *obj = ip_syncobj_find(client, handle);

	return obj ? find_now(obj, point, fence) : -ENOENT;
}

static void syncobj_put(struct ip_syncobj *obj)
{
	if (--obj->refs)
		return;
	ip_fence_put(obj->fence);
	free(obj);
}

static int syncobj_create(struct ip_client *client, struct drm_syncobj_create *arg)
{
	struct ip_syncobj *obj;

	if (arg->flags & ~DRM_SYNCOBJ_CREATE_SIGNALED)
		return -EINVAL;
	obj = calloc(1, sizeof(*obj));
	if (!obj)
		return -ENOMEM;
	obj->refs = 1;
	if (arg->flags & DRM_SYNCOBJ_CREATE_SIGNALED) {
		obj->fence = ended_fence();
		if (!obj->fence) {
			free(obj);
			return -ENOMEM;
		}
	}
	arg->handle = ip_table_add(&client->syncobjs, obj);
	if (!arg->handle) {
		syncobj_put(obj);
		return -ENOMEM;
	}
	return 0;
}

static int syncobj_destroy(struct ip_client *client, const struct drm_syncobj_destroy *arg)
{
	struct ip_syncobj *obj;

	if (arg->pad)
		return -EINVAL;
	obj = ip_table_remove(&client->syncobjs, arg->handle);
	if (!obj)
		return -EINVAL;
	syncobj_put(obj);
	return 0;
}

/* Do all handles of a user's array exist? */
static int check_handles(struct ip_client *client, const uint32_t *handles, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (!ip_syncobj_find(client, handles[i]))
			return -ENOENT;
	}
	return 0;
}

/* Look at one entry: 1 done, 0 not yet, negative error */
static int wait_look(struct ip_syncobj *obj, struct ip_fence **found, uint64_t point,
		     uint32_t flags)
{
	const uint32_t later = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
			       DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;

	if (!*found) {
		int err = find_now(obj, point, found);

		if (err)
			return err == -EINVAL && (flags & later) ? 0 : err;
	}
	return (flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE) || ip_fence_signalled(*found);
}

static int syncobj_wait(struct ip_client *client, const uint32_t *handles, const uint64_t *points,
			uint32_t count, int64_t timeout_nsec, uint32_t flags, uint32_t *first)
{
	struct ip_syncobj **obj;
	struct ip_fence **found;
	uint64_t deadline = timeout_nsec > 0 ? (uint64_t)timeout_nsec : 0;
	uint32_t i;
	int err;

	if (!count)
		return 0;
	if (!handles)
		return -EFAULT;
	err = check_handles(client, handles, count);
	if (err)
		return err;
	obj = calloc(count, sizeof(*obj));
	found = calloc(count, sizeof(*found));
	if (!obj || !found) {
		free(found);
		free(obj);
		return -ENOMEM;
	}
	/* Held, since another thread may destroy their handles meanwhile. */
	for (i = 0; i < count; i++) {
		obj[i] = ip_syncobj_find(client, handles[i]);
		obj[i]->refs++;
	}
	for (;;) {
		uint32_t done = 0;

		err = 0;
		for (i = 0; i < count && err >= 0; i++) {
			err = wait_look(obj[i], &found[i], points ? points[i] : 0, flags);
			if (err > 0 && !done++ && first)
				*first = i;
		}
		if (err < 0)
			break;
		err = 0;
		if (done == count || (done && !(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL)))
			break;
		if (ip_now_ns() >= deadline) {
			err = -ETIME;
			break;
		}
		ip_wait(client->dev, deadline);
	}
	for (i = 0; i < count; i++) {
		ip_fence_put(found[i]);
		syncobj_put(obj[i]);
	}
	free(found);
	free(obj);
	return err;
}

static int binary_wait(struct ip_client *client, struct drm_syncobj_wait *arg)
{
	const uint32_t known = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL |
			       DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
			       DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE;

	if (arg->flags & ~known)
		return -EINVAL;
	return syncobj_wait(client, (const uint32_t *)(uintptr_t)arg->handles, NULL,
			    arg->count_handles, arg->timeout_nsec, arg->flags,
			    &arg->first_signaled);
}

static int timeline_wait(struct ip_client *client, struct drm_syncobj_timeline_wait *arg)
{
	const uint32_t known =
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE;

	if (arg->flags & ~known)
		return -EINVAL;
	return syncobj_wait(client, (const uint32_t *)(uintptr_t)arg->handles,
			    (const uint64_t *)(uintptr_t)arg->points, arg->count_handles,
			    arg->timeout_nsec, arg->flags, &arg->first_signaled);
}

/* Common beginning of reset, signal and query */
static int check_array(struct ip_client *client, uint64_t handles, uint32_t count)
{
	if (!count)
		return -EINVAL;
	if (!handles)
		return -EFAULT;
	return check_handles(client, (const uint32_t *)(uintptr_t)handles, count);
}

static int syncobj_reset(struct ip_client *client, const struct drm_syncobj_array *arg)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)arg->handles;
	int err = arg->pad ? -EINVAL : check_array(client, arg->handles, arg->count_handles);
	uint32_t i;

	for (i = 0; !err && i < arg->count_handles; i++)
		ip_syncobj_replace(client->dev, ip_syncobj_find(client, handles[i]), NULL);
	return err;
}

static int binary_signal(struct ip_client *client, const struct drm_syncobj_array *arg)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)arg->handles;
	int err = arg->pad ? -EINVAL : check_array(client, arg->handles, arg->count_handles);
	uint32_t i;

	for (i = 0; !err && i < arg->count_handles; i++) {
		struct ip_fence *fence = ended_fence();

		if (!fence)
			return -ENOMEM;
		ip_syncobj_replace(client->dev, ip_syncobj_find(client, handles[i]), fence);
	}
	return err;
}

static int timeline_signal(struct ip_client *client, const struct drm_syncobj_timeline_array *arg)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)arg->handles;
	const uint64_t *points = (const uint64_t *)(uintptr_t)arg->points;
	int err = arg->flags ? -EINVAL : check_array(client, arg->handles, arg->count_handles);
	uint32_t i;

	for (i = 0; !err && i < arg->count_handles; i++) {
		struct ip_fence *fence = ended_fence();

		if (!fence)
			return -ENOMEM;
		err = ip_syncobj_add_point(client->dev, ip_syncobj_find(client, handles[i]), fence,
					   points ? points[i] : 0);
		ip_fence_put(fence);
	}
	return err;
}

/* The last point of a timeline that has been reached */
static uint64_t reached(struct ip_fence *head)
{
	struct ip_fence *last = ip_fence_get(head), *link;
	uint64_t point;

	for (link = ip_fence_get(head); link; link = ip_link_walk(link)) {
		if (link->context != head->context) {
			ip_fence_put(link);
			break;
		}
		ip_fence_put(last);
		last = ip_fence_get(link);
	}
	point = ip_fence_signalled(last) ? last->seqno : last->link ? last->prev_seqno : 0;
	ip_fence_put(last);
	return point;
}

static int timeline_query(struct ip_client *client, const struct drm_syncobj_timeline_array *arg)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)arg->handles;
	uint64_t *points = (uint64_t *)(uintptr_t)arg->points;
	uint32_t i;
	int err;

	if (arg->flags & ~DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED)
		return -EINVAL;
	err = check_array(client, arg->handles, arg->count_handles);
	if (err)
		return err;
	if (!points)
		return -EFAULT;
	for (i = 0; i < arg->count_handles; i++) {
		struct ip_fence *fence = ip_syncobj_find(client, handles[i])->fence;

		if (!fence || !fence->link)
			points[i] = 0;
		else if (arg->flags & DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED)
			points[i] = fence->seqno;
		else
			points[i] = reached(fence);
	}
	return 0;
}

/* With WAIT_FOR_SUBMIT this waits; the handle is looked up anew each time. */
static int find_fence(struct ip_client *client, uint32_t handle, uint64_t point, uint32_t flags,
		      struct ip_fence **fence)
{
	uint64_t deadline = ip_now_ns() + FIND_TIMEOUT_NS;

	for (;;) {
		int err = ip_syncobj_fence(client, handle, point, fence);

		if (err == -ENOENT)
			return err;
		if (flags & ~DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT) {
			if (!err)
				ip_fence_put(*fence);
			return -EINVAL;
		}
		if (err != -EINVAL || !(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT))
			return err;
		if (ip_now_ns() >= deadline)
			return -ETIME;
		ip_wait(client->dev, deadline);
	}
}

static int syncobj_transfer(struct ip_client *client, const struct drm_syncobj_transfer *arg)
{
	struct ip_fence *fence = NULL;
	struct ip_syncobj *dst;
	int err;

	if (arg->pad)
		return -EINVAL;
	if (!ip_syncobj_find(client, arg->dst_handle))
		return -ENOENT;
	err = find_fence(client, arg->src_handle, arg->src_point, arg->flags, &fence);
	if (err)
		return err;
	dst = ip_syncobj_find(client, arg->dst_handle);
	if (!dst)
		err = -ENOENT;
	else if (arg->dst_point)
		err = ip_syncobj_add_point(client->dev, dst, fence, arg->dst_point);
	else
		ip_syncobj_replace(client->dev, dst, ip_fence_get(fence));
	ip_fence_put(fence);
	return err;
}

int ip_syncobj_ioctl(struct ip_client *client, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_SYNCOBJ_CREATE:
		return syncobj_create(client, arg);
	case DRM_IOCTL_SYNCOBJ_DESTROY:
		return syncobj_destroy(client, arg);
	case DRM_IOCTL_SYNCOBJ_WAIT:
		return binary_wait(client, arg);
	case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT:
		return timeline_wait(client, arg);
	case DRM_IOCTL_SYNCOBJ_RESET:
		return syncobj_reset(client, arg);
	case DRM_IOCTL_SYNCOBJ_SIGNAL:
		return binary_signal(client, arg);
	case DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL:
		return timeline_signal(client, arg);
	case DRM_IOCTL_SYNCOBJ_QUERY:
		return timeline_query(client, arg);
	case DRM_IOCTL_SYNCOBJ_TRANSFER:
		return syncobj_transfer(client, arg);
	case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
	case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE:
		/* A file descriptor for a fence is the kernel's alone to make. */
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

void ip_syncobj_release_all(struct ip_client *client)
{
	uint32_t i;

	for (i = 0; i < client->syncobjs.room; i++) {
		if (client->syncobjs.slot[i])
			syncobj_put(client->syncobjs.slot[i]);
	}
}
