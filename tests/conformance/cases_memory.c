// SPDX-License-Identifier: MIT
/*
 * cases_memory.c - buffers and addresses.
 */
#include "conf.h"

static int create(struct conf *c, uint64_t size, uint32_t region, uint32_t flags, uint32_t pad)
{
	struct vtpu_bo_create arg = { .size = size, .region = region, .flags = flags, .pad = pad };

	return vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_CREATE, &arg);
}

static void buffer_shape(struct conf *c)
{
	struct vtpu_bo_create arg = { .size = 5000 };
	struct vtpu_bo_info info = { 0 };

	expect_is(c, create(c, 0, VTPU_REGION_HBM, 0, 0), -EINVAL);
	expect_is(c, create(c, 4096, 2, 0, 0), -EINVAL);
	expect_is(c, create(c, 4096, VTPU_REGION_HBM, 1u << 7, 0), -EINVAL);
	expect_is(c, create(c, 4096, VTPU_REGION_HBM, 0, 1), -EINVAL);
	expect_is(c, create(c, 1ULL << 50, VTPU_REGION_HBM, 0, 0), -ENOSPC);
	need(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_CREATE, &arg));
	expect_is(c, arg.size, 8192);
	info.handle = arg.handle;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_INFO, &info));
	expect_is(c, info.size, 8192);
	expect_is(c, info.region, VTPU_REGION_HBM);
	expect_is(c, info.mmap_offset, 0);
	info.pad = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_INFO, &info), -EINVAL);
	info.pad = 0;
	info.handle = arg.handle + 100;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_INFO, &info), -ENOENT);
	expect_is(c, bo_close(c->b, arg.handle + 100), -EINVAL);
	expect_ok(c, bo_close(c->b, arg.handle));
	expect_is(c, bo_close(c->b, arg.handle), -EINVAL);
}

static void buffer_mapping(struct conf *c)
{
	uint32_t plain, mappable, host;
	struct vtpu_bo_info info = { 0 };
	void *pointer;

	need(c, bo_create(c->b, 4096, VTPU_REGION_HBM, 0, &plain));
	need(c, bo_create(c->b, 4096, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &mappable));
	need(c, bo_create(c->b, 4096, VTPU_REGION_HOST, 0, &host));
	expect_is(c, c->b->ops->map(c->b, plain, 4096, &pointer), -EINVAL);
	expect_is(c, c->b->ops->map(c->b, host + 100, 4096, &pointer), -ENOENT);
	expect_is(c, c->b->ops->map(c->b, host, 8192, &pointer), -EINVAL);
	info.handle = mappable;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_INFO, &info));
	expect_is(c, info.flags, VTPU_BO_MAPPABLE);
	expect_is(c, info.mmap_offset != 0, 1);
	need(c, c->b->ops->map(c->b, mappable, 4096, &pointer));
	/* A mapping outlives the handle. */
	expect_ok(c, bo_close(c->b, mappable));
	memset(pointer, 0x5a, 4096);
	expect_is(c, ((uint8_t *)pointer)[4095], 0x5a);
	c->b->ops->unmap(c->b, pointer, 4096);
	need(c, c->b->ops->map(c->b, host, 4096, &pointer));
	expect_is(c, ((uint8_t *)pointer)[0], 0);
	c->b->ops->unmap(c->b, pointer, 4096);
}

/* What one client wrote is gone before anybody gets the memory again. */
static void buffer_clean(struct conf *c)
{
	const uint64_t bytes = (8u << 20) + 4096;
	uint64_t i, dirty = 0;
	unsigned int round;

	for (round = 0; round < 4; round++) {
		struct vtpu_backend *b = round & 1 ? c->other : c->b;
		uint32_t handle;
		uint64_t *words;
		void *pointer;

		need(c, bo_create(b, bytes, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &handle));
		need(c, b->ops->map(b, handle, bytes, &pointer));
		words = pointer;
		for (i = 0; i < bytes / 8; i++) {
			dirty += words[i] != 0;
			words[i] = ~i;
		}
		b->ops->unmap(b, pointer, bytes);
		expect_ok(c, bo_close(b, handle));
	}
	expect_is(c, dirty, 0);
	expect_is(c, quota_settles(c->b, VTPU_QUOTA_HBM_BYTES, 0), true);
}

/* Filling HBM ends with ENOSPC, and giving it back makes all of it usable again. */
static void buffer_full(struct conf *c)
{
	const uint64_t bytes = 64u << 20;
	uint32_t handle[2048], first = 0;
	unsigned int round;

	for (round = 0; round < 2; round++) {
		uint32_t n = 0, i;
		int err = 0;

		while (n < 2048) {
			err = bo_create(c->b, bytes, VTPU_REGION_HBM, 0, &handle[n]);
			if (err)
				break;
			n++;
		}
		expect_is(c, n == 2048 || err == -ENOSPC, 1);
		expect_is(c, n > 0, 1);
		if (!round)
			first = n;
		expect_is(c, n, first);
		for (i = 0; i < n; i++)
			expect_ok(c, bo_close(c->b, handle[i]));
	}
}

static void labels(struct conf *c)
{
	struct vtpu_bo_set_label arg = { 0 };
	char text[100];
	uint32_t bo;

	need(c, bo_create(c->b, 4096, VTPU_REGION_HBM, 0, &bo));
	memset(text, 'x', sizeof(text));
	text[99] = '\0';
	arg.handle = bo;
	arg.label = (uintptr_t)text;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg), -E2BIG);
	text[VTPU_MAX_LABEL - 1] = '\0';
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg));
	arg.label = 0;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg));
	arg.pad = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg), -EINVAL);
	arg.pad = 0;
	arg.handle = bo + 100;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg), -ENOENT);
}

static void waiting_for_a_buffer(struct conf *c)
{
	struct vtpu_bo_ref ref = { .flags = 0 };
	struct vtpu_bo_wait wait = { 0 };
	struct vtpu_job job;
	struct slow slow;
	uint32_t bo;

	need(c, bo_create(c->b, 4096, VTPU_REGION_HBM, 0, &bo));
	need(c, slow_prepare(c->b, &slow));
	wait.handle = bo;
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	ref.handle = bo;
	job = copy_job(slow.desc, VTPU_MAX_COPY_DESCS);
	job.bos =
		(struct vtpu_array){ .stride = sizeof(ref), .count = 1, .array = (uintptr_t)&ref };
	need(c, submit(c->b, slow.queue, &job, 1, NULL));
	/* It only reads: a reader need not wait, a writer must. */
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	wait.flags = VTPU_BO_WAIT_WRITE;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait), -ETIMEDOUT);
	wait.timeout_ns = conf_deadline(LONG_NS);
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	ref.flags = VTPU_BO_REF_WRITE;
	need(c, submit(c->b, slow.queue, &job, 1, NULL));
	wait.flags = 0;
	wait.timeout_ns = 0;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait), -ETIMEDOUT);
	wait.timeout_ns = conf_deadline(LONG_NS);
	expect_ok(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	wait.flags = 2;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait), -EINVAL);
	wait.flags = 0;
	wait.handle = bo + 100;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_BO_WAIT, &wait), -ENOENT);
}

static void bind_shape(struct conf *c)
{
	const uint64_t page = VTPU_PAGE_BYTES;
	struct vtpu_bind_op op = { .op = 7, .va = HBM(0), .size = page };
	struct vtpu_vm_bind arg = {
		.ops = { .stride = sizeof(op), .count = 1, .array = (uintptr_t)&op }
	};
	uint32_t hbm, host;

	need(c, bo_create(c->b, 4 * page, VTPU_REGION_HBM, 0, &hbm));
	need(c, bo_create(c->b, 4 * page, VTPU_REGION_HOST, 0, &host));
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_VM_BIND, &arg), -EINVAL);
	arg.flags = 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_VM_BIND, &arg), -EINVAL);
	arg.flags = 0;
	arg.ops.count = 0;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_VM_BIND, &arg), -EINVAL);
	arg.ops.count = VTPU_MAX_BIND_OPS + 1;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_VM_BIND, &arg), -E2BIG);
	arg.ops.count = 1;
	arg.ops.stride = sizeof(op) - 8;
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_VM_BIND, &arg), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, HBM(0) + 1, page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, HBM(0), page + 1, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 1, HBM(0), page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, HBM(0), 0, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, HBM(0), page, 1u << 5), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, HBM(0), 5 * page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, page, HBM(0), 4 * page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, 0, page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, VTPU_VA_HBM_START - page, page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, VTPU_VA_HBM_END - page, 2 * page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, HOST(0), page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, host, 0, HBM(0), page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, VTPU_VA_KERNEL_START, page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, host, 0, VTPU_VA_KERNEL_START, page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm, 0, ~0ULL - page + 1, page, 0), -EINVAL);
	expect_is(c, vm_map(c->b, hbm + 100, 0, HBM(0), page, 0), -ENOENT);
	expect_is(c, vm_unmap(c->b, VTPU_VA_KERNEL_START, page), -EINVAL);
	expect_is(c, vm_unmap(c->b, HBM(0), page + 5), -EINVAL);
	expect_ok(c, vm_map(c->b, hbm, 0, VTPU_VA_HBM_END - page, page, 0));
	expect_ok(c, vm_map(c->b, host, 0, VTPU_VA_HOST_END - page, page, 0));
	expect_ok(c, vm_unmap(c->b, VTPU_VA_HBM_START, VTPU_VA_HOST_END - VTPU_VA_HBM_START));
}

static void bind_overlap(struct conf *c)
{
	const uint64_t page = VTPU_PAGE_BYTES;
	uint32_t bo;

	need(c, bo_create(c->b, 8 * page, VTPU_REGION_HBM, 0, &bo));
	expect_ok(c, vm_map(c->b, bo, 0, HBM(0), 4 * page, 0));
	expect_is(c, vm_map(c->b, bo, 0, HBM(0), page, 0), -EEXIST);
	expect_is(c, vm_map(c->b, bo, 0, HBM(0) + 3 * page, 2 * page, 0), -EEXIST);
	/* The same memory at a second address is fine. */
	expect_ok(c, vm_map(c->b, bo, 0, HBM(0) + 4 * page, 4 * page, 0));
	expect_ok(c, vm_unmap(c->b, HBM(0) + page, 2 * page));
	expect_is(c, vm_map(c->b, bo, 0, HBM(0) + page, 3 * page, 0), -EEXIST);
	expect_ok(c, vm_map(c->b, bo, 4 * page, HBM(0) + page, 2 * page, VTPU_BIND_READONLY));
	expect_ok(c, vm_unmap(c->b, HBM(3), page));
	expect_ok(c, vm_unmap(c->b, HBM(0), 16 * page));
	expect_ok(c, vm_map(c->b, bo, 0, HBM(0), 8 * page, 0));
}

/* Ops are done in order, and @done says how many. */
static void bind_partly(struct conf *c)
{
	const uint64_t page = VTPU_PAGE_BYTES;
	struct vtpu_bind_op op[3];
	struct vtpu_vm_bind arg = {
		.ops = { .stride = sizeof(op[0]), .count = 3, .array = (uintptr_t)op }
	};
	uint32_t bo, i;

	need(c, bo_create(c->b, 4 * page, VTPU_REGION_HBM, 0, &bo));
	memset(op, 0, sizeof(op));
	for (i = 0; i < 3; i++) {
		op[i].op = VTPU_BIND_MAP;
		op[i].handle = bo;
		op[i].va = HBM(0) + i * page;
		op[i].size = page;
	}
	op[1].va = HBM(0);
	expect_is(c, vtpu_ioctl(c->b, DRM_IOCTL_VTPU_VM_BIND, &arg), -EEXIST);
	expect_is(c, arg.done, 1);
	expect_is(c, vm_map(c->b, bo, 0, HBM(0), page, 0), -EEXIST);
	expect_ok(c, vm_map(c->b, bo, 0, HBM(0) + 2 * page, page, 0));
}

/* Handles mean nothing outside the file that they belong to. */
static void other_clients_handles(struct conf *c)
{
	uint32_t bo, queue, sync, i;
	struct vtpu_queue_state state;
	struct vtpu_job nop = { .flags = VTPU_JOB_NOP };

	for (i = 0; i < 5; i++) {
		need(c, bo_create(c->other, 4096, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &bo));
		need(c, queue_create(c->other, VTPU_QUEUE_COPY, 0, &queue));
		need(c, sync_create(c->other, DRM_SYNCOBJ_CREATE_SIGNALED, &sync));
	}
	expect_is(c, bo_close(c->b, bo), -EINVAL);
	expect_is(c, vm_map(c->b, bo, 0, HBM(0), 4096, 0), -ENOENT);
	expect_is(c, queue_state(c->b, queue, &state), -ENOENT);
	expect_is(c, queue_destroy(c->b, queue), -ENOENT);
	expect_is(c, submit(c->b, queue, &nop, 1, NULL), -ENOENT);
	expect_is(c, sync_wait(c->b, sync, 0, 0), -ENOENT);
	expect_is(c, sync_destroy(c->b, sync), -EINVAL);
}

const struct conf_case memory_cases[] = {
	{ "memory: shape of a buffer", buffer_shape },
	{ "memory: mapping for the CPU", buffer_mapping },
	{ "memory: HBM is clean", buffer_clean },
	{ "memory: HBM full and free again", buffer_full },
	{ "memory: labels", labels },
	{ "memory: waiting for a buffer", waiting_for_a_buffer },
	{ "memory: shape of a binding", bind_shape },
	{ "memory: overlapping bindings", bind_overlap },
	{ "memory: bindings done in part", bind_partly },
	{ "memory: other clients' handles", other_clients_handles },
	{ NULL, NULL },
};
