// SPDX-License-Identifier: MIT
/*
 * cases_sync.c - sync objects, binary and timeline.
 */
#include <pthread.h>
#include <time.h>

#include "conf.h"

static void create_and_destroy(struct conf *c)
{
	struct drm_syncobj_create create = { .flags = 2 };
	struct drm_syncobj_destroy destroy = { 0 };
	uint32_t a, b;

	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_CREATE, &create), -EINVAL);
	need(c, sync_create(c->b, 0, &a));
	need(c, sync_create(c->b, DRM_SYNCOBJ_CREATE_SIGNALED, &b));
	expect_is(c, a != b && a && b, 1);
	expect_is(c, sync_wait(c->b, a, 0, 0), -EINVAL);
	expect_ok(c, sync_wait(c->b, b, 0, 0));
	destroy.handle = a;
	destroy.pad = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy), -EINVAL);
	expect_ok(c, sync_destroy(c->b, a));
	expect_is(c, sync_destroy(c->b, a), -EINVAL);
	expect_is(c, sync_destroy(c->b, 0), -EINVAL);
	expect_is(c, sync_destroy(c->b, ~0u), -EINVAL);
	expect_ok(c, sync_destroy(c->b, b));
}

static void binary_wait(struct conf *c)
{
	struct drm_syncobj_wait none = { 0 }, bad = { 0 };
	uint32_t a;

	need(c, sync_create(c->b, 0, &a));
	expect_is(c, sync_wait(c->b, a, 0, 0), -EINVAL);
	expect_is(c, sync_wait(c->b, a, 0, FOR_SUBMIT), -ETIME);
	expect_is(c, sync_wait(c->b, a, 1000000, FOR_SUBMIT), -ETIME);
	expect_is(c, sync_wait(c->b, a + 100, 0, 0), -ENOENT);
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_WAIT, &none));
	bad.handles = (uintptr_t)&a;
	bad.count_handles = 1;
	bad.flags = 1u << 30;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_WAIT, &bad), -EINVAL);
	expect_ok(c, sync_signal(c->b, a));
	expect_ok(c, sync_wait(c->b, a, 0, 0));
	expect_ok(c, sync_wait(c->b, a, 0, FOR_SUBMIT));
}

static void any_and_all(struct conf *c)
{
	uint32_t h[2];
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)h,
					 .count_handles = 2,
					 .flags = FOR_SUBMIT };

	need(c, sync_create(c->b, 0, &h[0]));
	need(c, sync_create(c->b, 0, &h[1]));
	expect_ok(c, sync_signal(c->b, h[1]));
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_WAIT, &wait));
	expect_is(c, wait.first_signaled, 1);
	wait.flags = FOR_SUBMIT | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
	wait.timeout_nsec = conf_deadline(2000000);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_WAIT, &wait), -ETIME);
	wait.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_WAIT, &wait), -EINVAL);
	expect_ok(c, sync_signal(c->b, h[0]));
	wait.timeout_nsec = 0;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_WAIT, &wait));
}

static void signal_and_reset(struct conf *c)
{
	struct drm_syncobj_array empty = { 0 }, pad = { .pad = 1, .count_handles = 1 };
	uint32_t h[2];
	struct drm_syncobj_array both = { .handles = (uintptr_t)h, .count_handles = 2 };

	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_SIGNAL, &empty), -EINVAL);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_RESET, &empty), -EINVAL);
	need(c, sync_create(c->b, 0, &h[0]));
	pad.handles = (uintptr_t)h;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_SIGNAL, &pad), -EINVAL);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_RESET, &pad), -EINVAL);
	/* One handle of two is wrong: nothing happens to the other. */
	h[1] = h[0] + 100;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_SIGNAL, &both), -ENOENT);
	expect_is(c, sync_wait(c->b, h[0], 0, 0), -EINVAL);
	expect_ok(c, sync_signal(c->b, h[0]));
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_RESET, &both), -ENOENT);
	expect_ok(c, sync_wait(c->b, h[0], 0, 0));
	expect_ok(c, sync_reset(c->b, h[0]));
	expect_is(c, sync_wait(c->b, h[0], 0, 0), -EINVAL);
}

static void timeline_points(struct conf *c)
{
	struct drm_syncobj_timeline_array flags = { .count_handles = 1, .flags = 1u << 20 };
	uint64_t point = 77;
	uint32_t a;

	need(c, sync_create(c->b, 0, &a));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 0);
	expect_is(c, sync_wait_point(c->b, a, 1, 0, 0), -EINVAL);
	expect_ok(c, sync_signal_point(c->b, a, 5));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 5);
	expect_ok(c, sync_wait_point(c->b, a, 3, 0, 0));
	expect_ok(c, sync_wait_point(c->b, a, 5, 0, 0));
	expect_ok(c, sync_wait_point(c->b, a, 0, 0, 0));
	expect_is(c, sync_wait_point(c->b, a, 6, 0, 0), -EINVAL);
	expect_is(c, sync_wait_point(c->b, a, 6, 1000000, FOR_SUBMIT), -ETIME);
	expect_is(c, sync_wait_point(c->b, a, 6, 0, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE), -ETIME);
	expect_ok(c, sync_signal_point(c->b, a, 6));
	expect_ok(c, sync_wait_point(c->b, a, 6, 0, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE));
	expect_ok(c, sync_wait(c->b, a, 0, 0));
	flags.handles = (uintptr_t)&a;
	flags.points = (uintptr_t)&point;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_QUERY, &flags), -EINVAL);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &flags), -EINVAL);
	expect_is(c, sync_signal_point(c->b, a + 100, 7), -ENOENT);
	expect_is(c, sync_query(c->b, a + 100, 0, &point), -ENOENT);
}

static void points_out_of_order(struct conf *c)
{
	uint64_t point;
	uint32_t a;

	need(c, sync_create(c->b, 0, &a));
	expect_ok(c, sync_signal_point(c->b, a, 10));
	expect_ok(c, sync_signal_point(c->b, a, 5));
	/* The number never goes back. */
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 10);
	expect_ok(c, sync_wait_point(c->b, a, 5, 0, 0));
	expect_ok(c, sync_wait_point(c->b, a, 10, 0, 0));
	expect_is(c, sync_wait_point(c->b, a, 11, 0, 0), -EINVAL);
	expect_ok(c, sync_signal_point(c->b, a, 11));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 11);
	/* A binary signal replaces the timeline. */
	expect_ok(c, sync_signal(c->b, a));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 0);
	expect_is(c, sync_wait_point(c->b, a, 1, 0, 0), -EINVAL);
}

static void points_of_64_bits(struct conf *c)
{
	const uint64_t high = 0x8000000000000005ULL;
	uint64_t point;
	uint32_t a;

	need(c, sync_create(c->b, 0, &a));
	expect_ok(c, sync_signal_point(c->b, a, 0x100000005ULL));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 0x100000005ULL);
	expect_ok(c, sync_wait_point(c->b, a, 0x100000004ULL, 0, 0));
	expect_is(c, sync_wait_point(c->b, a, 0x100000006ULL, 0, 0), -EINVAL);
	/* Lower, though its low half is higher */
	expect_ok(c, sync_wait_point(c->b, a, 6, 0, 0));
	expect_ok(c, sync_wait_point(c->b, a, 0xffffffffULL, 0, 0));
	expect_ok(c, sync_signal_point(c->b, a, high));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, high);
	expect_is(c, sync_wait_point(c->b, a, high + 1, 0, 0), -EINVAL);
	expect_ok(c, sync_wait_point(c->b, a, 0x7fffffffffffffffULL, 0, 0));
}

struct later {
	struct vtpu_backend *b;
	uint32_t handle;
	uint64_t point;
};

static void *signal_later(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct later *later = arg;

	nanosleep(&pause, NULL);
	if (later->point)
		sync_signal_point(later->b, later->handle, later->point);
	else
		sync_signal(later->b, later->handle);
	return NULL;
}

static void wait_before_submit(struct conf *c)
{
	struct later later = { .b = c->b };
	pthread_t thread;
	uint64_t start;

	for (later.point = 0; later.point < 8; later.point += 7) {
		need(c, sync_create(c->b, 0, &later.handle));
		start = conf_now();
		need(c, pthread_create(&thread, NULL, signal_later, &later));
		expect_ok(c, later.point ?
				     sync_wait_point(c->b, later.handle, 7, LONG_NS, FOR_SUBMIT) :
				     sync_wait(c->b, later.handle, LONG_NS, FOR_SUBMIT));
		expect_is(c, conf_now() - start >= 20000000, 1);
		pthread_join(thread, NULL);
	}
}

static int transfer(struct conf *c, uint32_t src, uint64_t src_point, uint32_t dst,
		    uint64_t dst_point, uint32_t flags)
{
	struct drm_syncobj_transfer arg = {
		.src_handle = src,
		.dst_handle = dst,
		.src_point = src_point,
		.dst_point = dst_point,
		.flags = flags,
	};

	return vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_TRANSFER, &arg);
}

static void transfers(struct conf *c)
{
	struct drm_syncobj_transfer pad = { .pad = 1 };
	uint64_t point;
	uint32_t a, b;

	need(c, sync_create(c->b, 0, &a));
	need(c, sync_create(c->b, 0, &b));
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_SYNCOBJ_TRANSFER, &pad), -EINVAL);
	expect_is(c, transfer(c, a, 0, b, 0, 0), -EINVAL);
	expect_is(c, transfer(c, a, 0, b, 5, 0), -EINVAL);
	expect_is(c, transfer(c, a + 100, 0, b, 0, 0), -ENOENT);
	expect_is(c, transfer(c, a, 0, b + 100, 0, 0), -ENOENT);
	expect_ok(c, sync_signal_point(c->b, a, 4));
	expect_is(c, transfer(c, a, 5, b, 0, 0), -EINVAL);
	expect_is(c, transfer(c, a, 4, b, 0, 1u << 9), -EINVAL);
	expect_ok(c, transfer(c, a, 3, b, 0, 0));
	expect_ok(c, sync_wait(c->b, b, 0, 0));
	expect_ok(c, transfer(c, b, 0, a, 9, 0));
	expect_ok(c, sync_query(c->b, a, 0, &point));
	expect_is(c, point, 9);
}

/* A job's fence behind each kind of sync object, while it runs and after */
static void fence_of_a_job(struct conf *c)
{
	struct vtpu_job job;
	uint64_t point;
	struct slow slow;
	uint32_t line;

	need(c, slow_prepare(c->b, &slow));
	need(c, sync_create(c->b, 0, &line));
	need(c, slow_start(c->b, &slow));
	job = copy_job(slow.desc, 1);
	need(c, submit_signal(c->b, slow.queue, &job, line, 12));
	expect_is(c, sync_wait(c->b, slow.sync, 0, 0), -ETIME);
	expect_is(c, sync_wait_point(c->b, line, 12, 0, 0), -ETIME);
	expect_is(c, sync_wait_point(c->b, line, 1, 0, 0), -ETIME);
	expect_ok(c, sync_wait_point(c->b, line, 12, 0, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE));
	expect_ok(c, sync_query(c->b, line, 0, &point));
	expect_is(c, point, 0);
	expect_ok(c, sync_query(c->b, line, DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED, &point));
	expect_is(c, point, 12);
	/* A user's signal behind it does not overtake it. */
	expect_ok(c, sync_signal_point(c->b, line, 13));
	expect_is(c, sync_wait_point(c->b, line, 13, 0, 0), -ETIME);
	expect_ok(c, sync_wait_point(c->b, line, 13, LONG_NS, 0));
	expect_ok(c, sync_wait(c->b, slow.sync, 0, 0));
	expect_ok(c, sync_query(c->b, line, 0, &point));
	expect_is(c, point, 13);
}

const struct conf_case sync_cases[] = {
	{ "sync: create and destroy", create_and_destroy },
	{ "sync: binary wait", binary_wait },
	{ "sync: wait for any and for all", any_and_all },
	{ "sync: signal and reset", signal_and_reset },
	{ "sync: timeline points", timeline_points },
	{ "sync: points out of order", points_out_of_order },
	{ "sync: points of 64 bits", points_of_64_bits },
	{ "sync: wait before submit", wait_before_submit },
	{ "sync: transfer", transfers },
	{ "sync: fence of a job that runs", fence_of_a_job },
	{ NULL, NULL },
};
