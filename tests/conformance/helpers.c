// SPDX-License-Identifier: MIT
/*
 * helpers.c - shorthands for ioctls, and expectations.
 */
#include <time.h>

#include "conf.h"

bool conf_expect(struct conf *c, const char *file, int line, const char *what, int64_t got,
		 int64_t want)
{
	const char *name = strrchr(file, '/');

	if (got == want)
		return true;
	c->failed = true;
	printf("# %s:%d: %s is %lld", name ? name + 1 : file, line, what, (long long)got);
	if (got < 0 && got > -200)
		printf(" (%s)", strerror((int)-got));
	printf(", expected %lld", (long long)want);
	if (want < 0 && want > -200)
		printf(" (%s)", strerror((int)-want));
	printf("\n");
	return false;
}

uint64_t conf_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int64_t conf_deadline(int64_t ns)
{
	return ns ? (int64_t)conf_now() + ns : 0;
}

bool quota_settles(struct vtpu_backend *b, uint32_t quota, uint64_t want)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t deadline = conf_now() + 1000000000;
	struct vtpu_query_quota use;

	for (;;) {
		struct vtpu_dev_query arg = {
			.type = VTPU_QUERY_QUOTA,
			.index = quota,
			.size = sizeof(use),
			.ptr = (uintptr_t)&use,
		};

		if (vtpu_ioctl(b, DRM_IOCTL_VTPU_DEV_QUERY, &arg))
			return false;
		if (use.file_used == want || conf_now() > deadline)
			return use.file_used == want;
		nanosleep(&pause, NULL);
	}
}

/* ---- Buffers and addresses ------------------------------------------------------ */

int bo_create(struct vtpu_backend *b, uint64_t bytes, uint32_t region, uint32_t flags,
	      uint32_t *handle)
{
	struct vtpu_bo_create arg = { .size = bytes, .region = region, .flags = flags };
	int err = vtpu_ioctl(b, DRM_IOCTL_VTPU_BO_CREATE, &arg);

	*handle = arg.handle;
	return err;
}

int bo_close(struct vtpu_backend *b, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return vtpu_ioctl(b, DRM_IOCTL_GEM_CLOSE, &arg);
}

int vm_map(struct vtpu_backend *b, uint32_t handle, uint64_t offset, uint64_t va, uint64_t bytes,
	   uint32_t flags)
{
	struct vtpu_bind_op op = {
		.op = VTPU_BIND_MAP,
		.flags = flags,
		.handle = handle,
		.bo_offset = offset,
		.va = va,
		.size = bytes,
	};
	struct vtpu_vm_bind arg = {
		.ops = { .stride = sizeof(op), .count = 1, .array = (uintptr_t)&op }
	};

	return vtpu_ioctl(b, DRM_IOCTL_VTPU_VM_BIND, &arg);
}

int vm_unmap(struct vtpu_backend *b, uint64_t va, uint64_t bytes)
{
	struct vtpu_bind_op op = { .op = VTPU_BIND_UNMAP, .va = va, .size = bytes };
	struct vtpu_vm_bind arg = {
		.ops = { .stride = sizeof(op), .count = 1, .array = (uintptr_t)&op }
	};

	return vtpu_ioctl(b, DRM_IOCTL_VTPU_VM_BIND, &arg);
}

int bo_ready(struct vtpu_backend *b, uint64_t bytes, uint32_t region, uint64_t va, uint32_t *handle,
	     void **pointer)
{
	uint64_t room = (bytes + VTPU_PAGE_BYTES - 1) & ~(uint64_t)(VTPU_PAGE_BYTES - 1);
	int err = bo_create(b, bytes, region, region == VTPU_REGION_HBM ? VTPU_BO_MAPPABLE : 0,
			    handle);

	if (!err)
		err = vm_map(b, *handle, 0, va, room, 0);
	return err ? err : b->ops->map(b, *handle, room, pointer);
}

/* ---- Queues ------------------------------------------------------------------------ */

int queue_create(struct vtpu_backend *b, uint32_t kind, uint32_t depth, uint32_t *queue)
{
	struct vtpu_queue_create arg = { .kind = kind,
					 .priority = VTPU_PRIO_NORMAL,
					 .depth = depth };
	int err = vtpu_ioctl(b, DRM_IOCTL_VTPU_QUEUE_CREATE, &arg);

	*queue = arg.queue;
	return err;
}

int queue_destroy(struct vtpu_backend *b, uint32_t queue)
{
	struct vtpu_queue_destroy arg = { .queue = queue };

	return vtpu_ioctl(b, DRM_IOCTL_VTPU_QUEUE_DESTROY, &arg);
}

int queue_state(struct vtpu_backend *b, uint32_t queue, struct vtpu_queue_state *state)
{
	memset(state, 0, sizeof(*state));
	state->queue = queue;
	return vtpu_ioctl(b, DRM_IOCTL_VTPU_QUEUE_STATE, state);
}

/* ---- Sync objects ----------------------------------------------------------------------- */

int sync_create(struct vtpu_backend *b, uint32_t flags, uint32_t *handle)
{
	struct drm_syncobj_create arg = { .flags = flags };
	int err = vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_CREATE, &arg);

	*handle = arg.handle;
	return err;
}

int sync_destroy(struct vtpu_backend *b, uint32_t handle)
{
	struct drm_syncobj_destroy arg = { .handle = handle };

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_DESTROY, &arg);
}

int sync_signal(struct vtpu_backend *b, uint32_t handle)
{
	struct drm_syncobj_array arg = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_SIGNAL, &arg);
}

int sync_reset(struct vtpu_backend *b, uint32_t handle)
{
	struct drm_syncobj_array arg = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_RESET, &arg);
}

int sync_signal_point(struct vtpu_backend *b, uint32_t handle, uint64_t point)
{
	struct drm_syncobj_timeline_array arg = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &arg);
}

int sync_query(struct vtpu_backend *b, uint32_t handle, uint32_t flags, uint64_t *point)
{
	struct drm_syncobj_timeline_array arg = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)point,
		.count_handles = 1,
		.flags = flags,
	};

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_QUERY, &arg);
}

int sync_wait(struct vtpu_backend *b, uint32_t handle, int64_t ns, uint32_t flags)
{
	struct drm_syncobj_wait arg = {
		.handles = (uintptr_t)&handle,
		.timeout_nsec = conf_deadline(ns),
		.count_handles = 1,
		.flags = flags,
	};

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_WAIT, &arg);
}

int sync_wait_point(struct vtpu_backend *b, uint32_t handle, uint64_t point, int64_t ns,
		    uint32_t flags)
{
	struct drm_syncobj_timeline_wait arg = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.timeout_nsec = conf_deadline(ns),
		.count_handles = 1,
		.flags = flags,
	};

	return vtpu_ioctl(b, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &arg);
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

int submit(struct vtpu_backend *b, uint32_t queue, const struct vtpu_job *jobs, uint32_t count,
	   uint32_t *taken)
{
	struct vtpu_submit arg = {
		.queue = queue,
		.jobs = { .stride = sizeof(*jobs), .count = count, .array = (uintptr_t)jobs },
	};
	int err = vtpu_ioctl(b, DRM_IOCTL_VTPU_SUBMIT, &arg);

	if (taken)
		*taken = arg.submitted;
	return err;
}

int submit_signal(struct vtpu_backend *b, uint32_t queue, const struct vtpu_job *job, uint32_t sync,
		  uint64_t point)
{
	struct vtpu_sync signal = {
		.flags = VTPU_SYNC_SIGNAL | (point ? VTPU_SYNC_TIMELINE : 0),
		.handle = sync,
		.point = point,
	};

	struct vtpu_job copy = *job;

	copy.syncs = (struct vtpu_array){ .stride = sizeof(signal),
					  .count = 1,
					  .array = (uintptr_t)&signal };
	return submit(b, queue, &copy, 1, NULL);
}

int run_job(struct vtpu_backend *b, uint32_t queue, const struct vtpu_job *job)
{
	struct vtpu_queue_state state;
	uint32_t sync;
	int err = sync_create(b, 0, &sync);

	if (err)
		return err;
	err = submit_signal(b, queue, job, sync, 0);
	if (!err)
		err = sync_wait(b, sync, LONG_NS, 0);
	if (!err)
		err = queue_state(b, queue, &state);
	sync_destroy(b, sync);
	return err ? err : state.error;
}

struct vtpu_job copy_job(const struct vtpu_copy_desc *desc, uint32_t count)
{
	struct vtpu_job job = { .args = (uintptr_t)desc, .args_size = count * sizeof(*desc) };

	return job;
}

struct vtpu_copy_desc copy_desc(uint64_t dst, uint64_t src, uint32_t bytes)
{
	struct vtpu_copy_desc desc = {
		.op = VTPU_COPY_COPY,
		.dst = dst,
		.src = src,
		.rows = 1,
		.row_bytes = bytes,
	};

	return desc;
}

struct vtpu_copy_desc fill_desc(uint64_t dst, uint32_t bytes, uint32_t pattern)
{
	struct vtpu_copy_desc desc = {
		.op = VTPU_COPY_FILL,
		.dst = dst,
		.rows = 1,
		.row_bytes = bytes,
		.pattern = pattern,
	};

	return desc;
}

int slow_prepare(struct vtpu_backend *b, struct slow *slow)
{
	const uint32_t bytes = 64u << 20;
	uint32_t i;
	int err = bo_create(b, bytes, VTPU_REGION_HBM, 0, &slow->bo);

	if (!err)
		err = vm_map(b, slow->bo, 0, HBM(100), bytes, 0);
	if (!err)
		err = queue_create(b, VTPU_QUEUE_COPY, 0, &slow->queue);
	if (!err)
		err = sync_create(b, 0, &slow->sync);
	for (i = 0; i < VTPU_MAX_COPY_DESCS; i++)
		slow->desc[i] = fill_desc(HBM(100), bytes, i + 1);
	return err;
}

int slow_start(struct vtpu_backend *b, struct slow *slow)
{
	struct vtpu_job job = copy_job(slow->desc, VTPU_MAX_COPY_DESCS);

	return submit_signal(b, slow->queue, &job, slow->sync, 0);
}
