// SPDX-License-Identifier: MIT
/*
 * fail_cases.c - the system calls of the driver, each with what it needs before and what it must have done.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm.h>

#include "fail_nth.h"

#define HBM_VA	   VTPU_VA_HBM_START
#define HOST_VA	   VTPU_VA_HOST_START
#define HBM_BYTES  (1u << 20)
#define HOST_BYTES (4u << 20)
#define BIND_OPS   64
#define PATTERN	   0x5eed1234u

/* ---- Opening, asking ---- */

static int call_open(struct scene *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	s->extra = open(path, O_RDWR | O_CLOEXEC);
	return s->extra < 0 ? -errno : 0;
}

static int query(struct scene *s, uint32_t type, void *to, uint32_t bytes)
{
	struct vtpu_dev_query arg = { .type = type, .size = bytes, .ptr = (uintptr_t)to };

	return kst_ioctl(s->fd, DRM_IOCTL_VTPU_DEV_QUERY, &arg);
}

static int call_query_info(struct scene *s)
{
	struct vtpu_query_info info;

	return query(s, VTPU_QUERY_INFO, &info, sizeof(info));
}

static int call_query_core(struct scene *s)
{
	struct vtpu_query_core core;

	return query(s, VTPU_QUERY_CORE, &core, sizeof(core));
}

static int call_query_memory(struct scene *s)
{
	struct vtpu_query_memory memory;

	return query(s, VTPU_QUERY_MEMORY, &memory, sizeof(memory));
}

static void prepare_fdinfo(struct scene *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->fd);
	s->extra = open(path, O_RDONLY | O_CLOEXEC);
	kst_need(s->extra < 0, path);
}

static int call_read(struct scene *s)
{
	char text[4096];
	ssize_t n = pread(s->extra, text, sizeof(text), 0);

	return n < 0 ? -errno : 0;
}

static void prepare_list(struct scene *s)
{
	glob_t paths;
	uint32_t bo;

	kst_need(kst_bo(s->fd, HBM_BYTES, VTPU_REGION_HBM, 0, &bo), "a buffer in HBM");
	kst_need(glob("/sys/kernel/debug/accel/*/buffers", 0, NULL, &paths) ? -ENOENT : 0,
		 "the list of buffers");
	s->extra = open(paths.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	kst_need(s->extra < 0 ? -errno : 0, paths.gl_pathv[0]);
	globfree(&paths);
}

/* ---- Buffers ---- */

static int call_create_hbm(struct scene *s)
{
	return kst_bo(s->fd, HBM_BYTES, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &s->bo);
}

static int call_create_host(struct scene *s)
{
	return kst_bo(s->fd, HOST_BYTES, VTPU_REGION_HOST, 0, &s->bo);
}

static void prepare_hbm(struct scene *s)
{
	kst_need(call_create_hbm(s), "a buffer in HBM");
}

static void prepare_host(struct scene *s)
{
	kst_need(call_create_host(s), "a buffer in host memory");
}

static int call_info(struct scene *s)
{
	struct vtpu_bo_info info = { .handle = s->bo };

	return kst_ioctl(s->fd, DRM_IOCTL_VTPU_BO_INFO, &info);
}

static int call_label(struct scene *s)
{
	struct vtpu_bo_set_label arg = { .handle = s->bo, .label = (uintptr_t) "weights" };

	return kst_ioctl(s->fd, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg);
}

static int call_wait(struct scene *s)
{
	struct vtpu_bo_wait arg = { .handle = s->bo, .timeout_ns = kst_now() + KST_SECOND };

	return kst_ioctl(s->fd, DRM_IOCTL_VTPU_BO_WAIT, &arg);
}

static int call_mmap(struct scene *s)
{
	struct vtpu_bo_info info = { .handle = s->bo };
	void *map;

	/* Has nothing that could fail but what a program hands it. */
	if (kst_ioctl(s->fd, DRM_IOCTL_VTPU_BO_INFO, &info))
		return -EFAULT;
	map = mmap(NULL, HBM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		   (off_t)info.mmap_offset);
	if (map == MAP_FAILED)
		return -errno;
	s->map = s->words = map;
	s->map_bytes = HBM_BYTES;
	return 0;
}

static bool check_map(struct scene *s)
{
	s->words[1000] = PATTERN;
	return s->words[1000] == PATTERN;
}

static int call_handle_close(struct scene *s)
{
	return kst_close(s->fd, s->bo);
}

/* ---- Addresses ---- */

static int call_bind_hbm(struct scene *s)
{
	return kst_map(s->fd, s->bo, 0, HBM_VA, HBM_BYTES, 0);
}

static int call_bind_host(struct scene *s)
{
	return kst_map(s->fd, s->bo, 0, HOST_VA, HOST_BYTES, 0);
}

static int call_bind_many(struct scene *s)
{
	struct vtpu_bind_op ops[BIND_OPS];
	struct vtpu_vm_bind arg = {
		.ops = { .stride = sizeof(*ops), .count = BIND_OPS, .array = (uintptr_t)ops },
	};
	uint32_t i;
	int ret;

	for (i = 0; i < BIND_OPS; i++)
		ops[i] = (struct vtpu_bind_op){
			.op = VTPU_BIND_MAP,
			.handle = s->bo,
			.va = HOST_VA + i * (1ULL << 30),
			.size = VTPU_PAGE_BYTES,
		};
	ret = kst_ioctl(s->fd, DRM_IOCTL_VTPU_VM_BIND, &arg);
	if (ret && arg.done)
		kst_need(kst_unmap(s->fd, HOST_VA, BIND_OPS * (1ULL << 30)),
			 "undoing what was bound");
	return ret;
}

static void prepare_bound(struct scene *s)
{
	prepare_host(s);
	kst_need(call_bind_host(s), "an address");
}

/* Cuts one mapping in two. */
static int call_unbind(struct scene *s)
{
	return kst_unmap(s->fd, HOST_VA + HOST_BYTES / 4, HOST_BYTES / 4);
}

static bool check_unbind(struct scene *s)
{
	return !kst_map(s->fd, s->bo, 0, HOST_VA + HOST_BYTES / 4, HOST_BYTES / 4, 0) &&
	       kst_map(s->fd, s->bo, 0, HOST_VA, VTPU_PAGE_BYTES, 0) == -EEXIST;
}

/* ---- Programs and queues ---- */

static void prepare_image(struct scene *s)
{
	s->image = kst_image(&s->image_bytes);
}

static int call_program(struct scene *s)
{
	struct vtpu_load_record records[4];
	struct vtpu_load_result result;
	struct vtpu_program_create arg = {
		.image = (uintptr_t)s->image,
		.bytes = s->image_bytes,
		.result = (uintptr_t)&result,
		.records = (uintptr_t)records,
		.max_records = 4,
	};
	int ret = kst_ioctl(s->fd, DRM_IOCTL_VTPU_PROGRAM_CREATE, &arg);

	s->program = arg.program;
	return ret;
}

static void prepare_program(struct scene *s)
{
	prepare_image(s);
	kst_need(call_program(s), "a program");
}

static int call_program_info(struct scene *s)
{
	struct vtpu_program_info info = { .program = s->program };

	return kst_ioctl(s->fd, DRM_IOCTL_VTPU_PROGRAM_INFO, &info);
}

static int call_program_destroy(struct scene *s)
{
	struct vtpu_program_destroy arg = { .program = s->program };

	return kst_ioctl(s->fd, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &arg);
}

static int call_queue_compute(struct scene *s)
{
	return kst_queue(s->fd, VTPU_QUEUE_COMPUTE, 0, &s->queue);
}

static int call_queue_copy(struct scene *s)
{
	return kst_queue(s->fd, VTPU_QUEUE_COPY, 8, &s->queue);
}

static void prepare_queue(struct scene *s)
{
	kst_need(call_queue_copy(s), "a queue");
}

static int call_queue_state(struct scene *s)
{
	struct vtpu_queue_state state;

	return kst_state(s->fd, s->queue, &state);
}

static int call_queue_destroy(struct scene *s)
{
	return kst_queue_destroy(s->fd, s->queue);
}

/* ---- Jobs ---- */

/* A queue, a bound and mapped buffer, and three sync objects, one of them signalled */
static void prepare_jobs(struct scene *s)
{
	struct drm_syncobj_array arg = { .handles = (uintptr_t)&s->wait, .count_handles = 1 };

	s->map = kst_ready(s->fd, HOST_BYTES, VTPU_REGION_HOST, HOST_VA, &s->bo);
	s->map_bytes = HOST_BYTES;
	s->words = s->map;
	prepare_queue(s);
	s->wait = kst_sync(s->fd);
	s->sync = kst_sync(s->fd);
	s->line = kst_sync(s->fd);
	kst_need(kst_ioctl(s->fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &arg), "a signalled sync object");
	s->desc[0] = kst_fill(HOST_VA, VTPU_PAGE_BYTES, PATTERN);
	s->desc[1] = kst_copy(HOST_VA + HOST_BYTES / 2, HOST_VA, VTPU_PAGE_BYTES);
}

/* Two jobs; what one of them needs is allocated for both before either is accepted. */
static int call_submit(struct scene *s)
{
	const struct vtpu_sync first[] = {
		{ .handle = s->wait },
		{ .handle = s->line, .flags = VTPU_SYNC_SIGNAL | VTPU_SYNC_TIMELINE, .point = 1 },
	};
	const struct vtpu_sync second[] = {
		{ .handle = s->sync, .flags = VTPU_SYNC_SIGNAL },
		{ .handle = s->line, .flags = VTPU_SYNC_SIGNAL | VTPU_SYNC_TIMELINE, .point = 2 },
	};
	const struct vtpu_bo_ref bo = { .handle = s->bo, .flags = VTPU_BO_REF_WRITE };
	struct vtpu_job jobs[2];

	jobs[0] = kst_job(0, &s->desc[0], sizeof(s->desc[0]), first, 2);
	jobs[1] = kst_job(0, &s->desc[1], sizeof(s->desc[1]), second, 2);
	jobs[1].bos =
		(struct vtpu_array){ .stride = sizeof(bo), .count = 1, .array = (uintptr_t)&bo };
	return kst_submit(s->fd, s->queue, jobs, 2, NULL);
}

static bool check_submit(struct scene *s)
{
	if (kst_wait(s->fd, s->sync, 0, 20 * KST_SECOND, 0) ||
	    kst_wait(s->fd, s->line, 2, 20 * KST_SECOND, 0))
		return false;
	return !kst_error(s->fd, s->sync) && s->words[HOST_BYTES / 2 / 4] == PATTERN;
}

/* A program, and one buffer for what it reads and what it writes */
static void prepare_run(struct scene *s)
{
	const float one = 1;
	uint32_t i;

	prepare_program(s);
	s->map_bytes = 2 * VTPU_PAGE_BYTES;
	kst_need(kst_bo(s->fd, s->map_bytes, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &s->bo),
		 "a buffer");
	kst_need(kst_map(s->fd, s->bo, 0, KST_IN_VA, VTPU_PAGE_BYTES, VTPU_BIND_READONLY), "in");
	kst_need(kst_map(s->fd, s->bo, VTPU_PAGE_BYTES, KST_OUT_VA, VTPU_PAGE_BYTES, 0), "out");
	s->map = s->words = kst_mmap(s->fd, s->bo, s->map_bytes);
	kst_need(!s->map, "mapping a buffer");
	for (i = 0; i < 2 * KST_N * KST_N; i++)
		memcpy(&s->words[i], &one, sizeof(one));
	kst_need(call_queue_compute(s), "a queue");
	s->sync = kst_sync(s->fd);
}

static int call_run(struct scene *s)
{
	const struct vtpu_sync sync = { .handle = s->sync, .flags = VTPU_SYNC_SIGNAL };
	const struct vtpu_bo_ref bos[] = { { .handle = s->bo },
					   { .handle = s->bo, .flags = VTPU_BO_REF_WRITE } };
	char args[64];
	struct vtpu_job job;

	job = kst_job(s->program, args, kst_args(args, KST_IN_VA, KST_OUT_VA), &sync, 1);
	job.bos = (struct vtpu_array){ .stride = sizeof(bos[0]),
				       .count = 2,
				       .array = (uintptr_t)bos };
	return kst_submit(s->fd, s->queue, &job, 1, NULL);
}

static bool check_run(struct scene *s)
{
	const float sum = KST_N;

	return !kst_wait(s->fd, s->sync, 0, 20 * KST_SECOND, 0) && !kst_error(s->fd, s->sync) &&
	       !memcmp(s->words + VTPU_PAGE_BYTES / 4 + KST_N * KST_N - 1, &sum, sizeof(sum));
}

/* ---- The end ---- */

/* Everything that a file can have, a job that may still run included. */
static void prepare_full(struct scene *s)
{
	prepare_jobs(s);
	prepare_program(s);
	munmap(s->map, s->map_bytes);
	s->map = NULL;
	kst_need(call_submit(s), "two jobs");
}

static int call_close(struct scene *s)
{
	int fd = s->fd;

	s->fd = -1;
	return close(fd) ? -errno : 0;
}

const struct fail_case fail_cases[] = {
	{ "open", NULL, call_open, NULL },
	{ "query of the device", NULL, call_query_info, NULL },
	{ "query of a core", NULL, call_query_core, NULL },
	{ "query of memory", NULL, call_query_memory, NULL },
	{ "fdinfo", prepare_fdinfo, call_read, NULL },
	{ "list of buffers", prepare_list, call_read, NULL },
	{ "buffer in HBM", NULL, call_create_hbm, NULL },
	{ "buffer in host memory", NULL, call_create_host, NULL },
	{ "buffer's info", prepare_hbm, call_info, NULL },
	{ "label", prepare_hbm, call_label, NULL },
	{ "wait for a buffer", prepare_hbm, call_wait, NULL },
	{ "mmap of HBM", prepare_hbm, call_mmap, check_map },
	{ "mmap of host memory", prepare_host, call_mmap, check_map },
	{ "close of a handle", prepare_bound, call_handle_close, NULL },
	{ "bind of HBM", prepare_hbm, call_bind_hbm, NULL },
	{ "bind of host memory", prepare_host, call_bind_host, NULL },
	{ "bind of 64 pages far apart", prepare_host, call_bind_many, NULL },
	{ "unbind of the middle", prepare_bound, call_unbind, check_unbind },
	{ "program", prepare_image, call_program, NULL },
	{ "program's info", prepare_program, call_program_info, NULL },
	{ "program's end", prepare_program, call_program_destroy, NULL },
	{ "compute queue", NULL, call_queue_compute, NULL },
	{ "copy queue", NULL, call_queue_copy, NULL },
	{ "queue's state", prepare_queue, call_queue_state, NULL },
	{ "queue's end", prepare_queue, call_queue_destroy, NULL },
	{ "submit of two copies", prepare_jobs, call_submit, check_submit },
	{ "submit of a program", prepare_run, call_run, check_run },
	{ "close of all", prepare_full, call_close, NULL },
	{ NULL, NULL, NULL, NULL },
};
