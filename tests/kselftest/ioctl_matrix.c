// SPDX-License-Identifier: MIT
/*
 * ioctl_matrix.c - each ioctl with each kind of bad argument.
 *
 * After every refusal a job with a known answer runs on the same file and one on
 * a bystander's, and the kernel's log must have no line about it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst_check.h"

#define BAD_POINTER 0x10 /* never mapped */
#define VA	    (1ULL << 40)
#define HOST_VA	    VTPU_VA_HOST_START

FIXTURE(matrix)
{
	struct kst_client me, other;
	int log;
	uint32_t hbm, host, copy, sync;
};

FIXTURE_SETUP(matrix)
{
	kst_client(&self->me);
	kst_client(&self->other);
	/* So that ids of the other file name nothing in ours. */
	for (int i = 0; i < 4; i++) {
		uint32_t id;

		kst_need(kst_queue(self->other.fd, VTPU_QUEUE_COMPUTE, 2, &id), "a queue");
		self->other.queue = id;
		kst_need(kst_bo(self->other.fd, 4096, VTPU_REGION_HOST, 0, &id), "a buffer");
		kst_sync(self->other.fd);
	}
	kst_need(kst_bo(self->me.fd, 1 << 16, VTPU_REGION_HBM, 0, &self->hbm), "a buffer");
	kst_need(kst_bo(self->me.fd, 1 << 16, VTPU_REGION_HOST, 0, &self->host), "a buffer");
	kst_need(kst_queue(self->me.fd, VTPU_QUEUE_COPY, 0, &self->copy), "a copy queue");
	self->sync = kst_sync(self->me.fd);
	self->log = kst_log();
}

FIXTURE_TEARDOWN(matrix)
{
	kst_client_close(&self->me);
	kst_client_close(&self->other);
	close(self->log);
}

static void check(struct __test_metadata *const _metadata, FIXTURE_DATA(matrix) * self,
		  const char *name, int got, int want)
{
	kst_check(_metadata, &self->me, &self->other, self->log, name, got, want);
}

#define TRY(name, want, request, type, ...) \
	check(_metadata, self, name, \
	      kst_ioctl(self->me.fd, request, &(struct type){ __VA_ARGS__ }), want)

TEST_F_TIMEOUT(matrix, dev_query, 120)
{
#define QUERY(name, want, ...) \
	TRY("query: " name, want, DRM_IOCTL_VTPU_DEV_QUERY, vtpu_dev_query, __VA_ARGS__)
	uint64_t answer[32];

	QUERY("type", -EINVAL, .type = VTPU_QUERY_QUOTA + 1);
	QUERY("type, largest", -EINVAL, .type = ~0u);
	QUERY("flags", -EINVAL, .flags = 1);
	QUERY("index of what has none", -EINVAL, .type = VTPU_QUERY_INFO, .index = 1);
	QUERY("core", -EINVAL, .type = VTPU_QUERY_CORE, .index = 64);
	QUERY("core, largest", -EINVAL, .type = VTPU_QUERY_CORE, .index = ~0u);
	QUERY("region", -EINVAL, .type = VTPU_QUERY_MEMORY, .index = 2);
	QUERY("quota", -EINVAL, .type = VTPU_QUERY_QUOTA, .index = VTPU_QUOTAS);
	QUERY("pointer", -EFAULT, .type = VTPU_QUERY_INFO, .size = 96, .ptr = BAD_POINTER);
	QUERY("pointer, kernel's", -EFAULT, .type = VTPU_QUERY_INFO, .size = 96,
	      .ptr = ~0ULL - 4095);
	QUERY("size that reaches beyond", -EFAULT, .type = VTPU_QUERY_INFO, .size = ~0u,
	      .ptr = (uintptr_t)answer);
	QUERY("size zero", 0, .type = VTPU_QUERY_INFO, .ptr = (uintptr_t)answer);
}

TEST_F_TIMEOUT(matrix, bo_create, 120)
{
#define CREATE(name, want, ...) \
	TRY("bo_create: " name, want, DRM_IOCTL_VTPU_BO_CREATE, vtpu_bo_create, __VA_ARGS__)
	CREATE("size zero", -EINVAL, .size = 0);
	CREATE("largest size, HBM", -ENOSPC, .size = ~0ULL);
	CREATE("largest size, host", -ENOMEM, .size = ~0ULL, .region = VTPU_REGION_HOST);
	CREATE("2^63, HBM", -ENOSPC, .size = 1ULL << 63);
	CREATE("2^63, host", -ENOMEM, .size = 1ULL << 63, .region = VTPU_REGION_HOST);
	CREATE("2^32 pages, host", -ENOMEM, .size = 1ULL << 44, .region = VTPU_REGION_HOST);
	CREATE("more than there is", -ENOSPC, .size = 1ULL << 40);
	CREATE("region", -EINVAL, .size = 4096, .region = 2);
	CREATE("region, largest", -EINVAL, .size = 4096, .region = ~0u);
	CREATE("flags", -EINVAL, .size = 4096, .flags = ~VTPU_BO_FLAGS);
	CREATE("pad", -EINVAL, .size = 4096, .pad = 1);
}

TEST_F_TIMEOUT(matrix, bo_handles, 120)
{
#define INFO(name, want, ...) \
	TRY("bo_info: " name, want, DRM_IOCTL_VTPU_BO_INFO, vtpu_bo_info, __VA_ARGS__)
#define WAIT(name, want, ...) \
	TRY("bo_wait: " name, want, DRM_IOCTL_VTPU_BO_WAIT, vtpu_bo_wait, __VA_ARGS__)
#define LABEL(name, want, ...) \
	TRY("label: " name, want, DRM_IOCTL_VTPU_BO_SET_LABEL, vtpu_bo_set_label, __VA_ARGS__)
	char longest[VTPU_MAX_LABEL + 1];
	uint32_t closed;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ASSERT_EQ(0, kst_bo(self->me.fd, 4096, VTPU_REGION_HBM, 0, &closed));
	ASSERT_EQ(0, kst_close(self->me.fd, closed));
	INFO("handle 0", -ENOENT, .handle = 0);
	INFO("closed", -ENOENT, .handle = closed);
	INFO("largest", -ENOENT, .handle = ~0u);
	INFO("pad", -EINVAL, .handle = self->hbm, .pad = 1);
	WAIT("handle 0", -ENOENT, .handle = 0);
	WAIT("closed", -ENOENT, .handle = closed);
	WAIT("flags", -EINVAL, .handle = self->hbm, .flags = 2);
	WAIT("idle, time long past", 0, .handle = self->hbm, .timeout_ns = 0);
	WAIT("idle, negative time", 0, .handle = self->hbm, .timeout_ns = INT64_MIN);
	LABEL("handle 0", -ENOENT, .handle = 0, .label = (uintptr_t) "x");
	LABEL("pad", -EINVAL, .handle = self->hbm, .pad = 1);
	LABEL("too long", -E2BIG, .handle = self->hbm, .label = (uintptr_t)longest);
	LABEL("pointer", -EFAULT, .handle = self->hbm, .label = BAD_POINTER);
	LABEL("longest", 0, .handle = self->hbm, .label = (uintptr_t)(longest + 1));
	LABEL("removed", 0, .handle = self->hbm);
	EXPECT_EQ(-EINVAL, kst_close(self->me.fd, closed));
}

TEST_F_TIMEOUT(matrix, vm_bind, 240)
{
#define BIND(name, want, ...) \
	TRY("bind: " name, want, DRM_IOCTL_VTPU_VM_BIND, vtpu_vm_bind, __VA_ARGS__)
#define ONE(name, want, ...) \
	BIND(name, want, \
	     .ops = { .stride = sizeof(struct vtpu_bind_op), \
		      .count = 1, \
		      .array = (uintptr_t) & (struct vtpu_bind_op){ __VA_ARGS__ } })
#define MAP	 .op = VTPU_BIND_MAP, .handle = self->hbm
#define MAP_HOST .op = VTPU_BIND_MAP, .handle = self->host
#define UNMAP	 .op = VTPU_BIND_UNMAP
	struct {
		struct vtpu_bind_op op;
		uint64_t more;
	} longer = { .op = { MAP, .va = VA, .size = 4096 }, .more = 1 };

	BIND("no ops", -EINVAL, .ops = { .stride = 40 });
	BIND("flags", -EINVAL, .flags = 1, .ops = { .stride = 40, .count = 1 });
	BIND("too many ops", -E2BIG, .ops = { .stride = 40, .count = VTPU_MAX_BIND_OPS + 1 });
	BIND("short stride", -EINVAL,
	     .ops = { .stride = 39, .count = 1, .array = (uintptr_t)&longer });
	BIND("ops nowhere", -EFAULT, .ops = { .stride = 40, .count = 1 });
	BIND("ops in a bad place", -EFAULT,
	     .ops = { .stride = 40, .count = 1, .array = BAD_POINTER });
	BIND("something in a longer element", -E2BIG,
	     .ops = { .stride = sizeof(longer), .count = 1, .array = (uintptr_t)&longer });
	ONE("op", -EINVAL, .op = 2, .handle = self->hbm, .va = VA, .size = 4096);
	ONE("op flags", -EINVAL, MAP, .flags = ~VTPU_BIND_FLAGS, .va = VA, .size = 4096);
	ONE("pad", -EINVAL, MAP, .pad = 1, .va = VA, .size = 4096);
	ONE("handle 0", -ENOENT, .va = VA, .size = 4096);
	ONE("unknown handle", -ENOENT, .handle = 12345, .va = VA, .size = 4096);
	ONE("offset off a page", -EINVAL, MAP, .va = VA, .bo_offset = 1, .size = 4096);
	ONE("size zero", -EINVAL, MAP, .va = VA);
	ONE("size off a page", -EINVAL, MAP, .va = VA, .size = 4095);
	ONE("longer than the buffer", -EINVAL, MAP, .va = VA, .size = (1 << 16) + 4096);
	ONE("beyond the buffer", -EINVAL, MAP, .va = VA, .bo_offset = 1 << 16, .size = 4096);
	ONE("offset that wraps", -EINVAL, MAP, .va = VA, .bo_offset = ~0xfffULL, .size = 8192);
	ONE("largest size", -EINVAL, MAP, .va = VA, .size = ~0xfffULL);
	ONE("address 0", -EINVAL, MAP, .va = 0, .size = 4096);
	ONE("the first 2 MiB", -EINVAL, MAP, .va = VTPU_LARGE_BYTES - 4096, .size = 4096);
	ONE("address off a page", -EINVAL, MAP, .va = VA + 1, .size = 4096);
	ONE("HBM among host addresses", -EINVAL, MAP, .va = HOST_VA, .size = 4096);
	ONE("host among HBM addresses", -EINVAL, MAP_HOST, .va = VA, .size = 4096);
	ONE("the kernel's addresses", -EINVAL, MAP_HOST, .va = VTPU_VA_KERNEL_START, .size = 4096);
	ONE("across the border", -EINVAL, MAP, .va = VTPU_VA_HBM_END - 4096, .size = 8192);
	ONE("an address that wraps", -EINVAL, MAP, .va = ~0xfffULL, .size = 8192);
	ONE("unmap: handle", -EINVAL, UNMAP, .handle = self->hbm, .va = VA, .size = 4096);
	ONE("unmap: flags", -EINVAL, UNMAP, .flags = 1, .va = VA, .size = 4096);
	ONE("unmap: offset", -EINVAL, UNMAP, .bo_offset = 4096, .va = VA, .size = 4096);
	ONE("unmap: the kernel's", -EINVAL, UNMAP, .va = VTPU_VA_KERNEL_START, .size = 4096);
	ONE("unmap: nothing there", 0, UNMAP, .va = VA, .size = 1 << 20);
	ONE("a good one", 0, MAP, .va = VA, .size = 1 << 16);
	ONE("the same again", -EEXIST, MAP, .va = VA, .size = 1 << 16);
	ONE("overlap", -EEXIST, MAP, .va = VA + 4096, .size = 4096);
	ONE("unmap all but our own", 0, UNMAP, .va = VTPU_VA_HBM_START,
	    .size = KST_IN_VA - VTPU_VA_HBM_START);
}

TEST_F_TIMEOUT(matrix, program, 240)
{
#define LOAD(name, want, ...) \
	TRY("program: " name, want, DRM_IOCTL_VTPU_PROGRAM_CREATE, vtpu_program_create, \
	    .image = (uintptr_t)image, .bytes = bytes, __VA_ARGS__)
#define DESTROY(name, want, ...) \
	TRY("program_destroy: " name, want, DRM_IOCTL_VTPU_PROGRAM_DESTROY, vtpu_program_destroy, \
	    __VA_ARGS__)
#define PINFO(name, want, ...) \
	TRY("program_info: " name, want, DRM_IOCTL_VTPU_PROGRAM_INFO, vtpu_program_info, \
	    __VA_ARGS__)
	size_t bytes;
	uint8_t *image = kst_image(&bytes);
	struct vtpu_image_header *h = (struct vtpu_image_header *)image;
	uint32_t id;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
	LOAD("no bytes", -EINVAL, .bytes = 0);
	LOAD("less than a header", -EINVAL, .bytes = sizeof(*h) - 1);
	LOAD("too long", -E2BIG, .bytes = VTPU_MAX_IMAGE_BYTES + 1ULL);
	LOAD("largest", -E2BIG, .bytes = ~0ULL);
	LOAD("nowhere", -EFAULT, .image = 0);
	LOAD("in a bad place", -EFAULT, .image = BAD_POINTER);
	LOAD("cut short", -EINVAL, .bytes = bytes - 64);
#pragma GCC diagnostic pop
	LOAD("flags", -EINVAL, .flags = ~VTPU_LOAD_FLAGS);
	LOAD("pad", -EINVAL, .pad = 1);
	LOAD("too many records", -E2BIG, .max_records = VTPU_MAX_RECORDS + 1);
	LOAD("result in a bad place", -EFAULT, .result = BAD_POINTER);
	h->magic ^= 1;
	LOAD("magic", -EINVAL, );
	h->magic ^= 1;
	h->version++;
	LOAD("version", -EPROTO, );
	h->version--;
	image[bytes - 1] ^= 1;
	LOAD("a bit that fell over", -EBADMSG, );
	image[bytes - 1] ^= 1;
	LOAD("a good one", 0, );
	ASSERT_EQ(0, kst_load(self->me.fd, image, bytes, &id));
	DESTROY("pad", -EINVAL, .program = id, .pad = 1);
	DESTROY("id 0", -ENOENT, .program = 0);
	DESTROY("unknown", -ENOENT, .program = 12345);
	PINFO("id 0", -ENOENT, .program = 0);
	PINFO("unknown", -ENOENT, .program = ~0u);
	DESTROY("a good one", 0, .program = id);
	DESTROY("again", -ENOENT, .program = id);
	PINFO("destroyed", -ENOENT, .program = id);
	free(image);
}

TEST_F_TIMEOUT(matrix, queue, 240)
{
#define QUEUE(name, want, ...) \
	TRY("queue: " name, want, DRM_IOCTL_VTPU_QUEUE_CREATE, vtpu_queue_create, __VA_ARGS__)
#define QDESTROY(name, want, ...) \
	TRY("queue_destroy: " name, want, DRM_IOCTL_VTPU_QUEUE_DESTROY, vtpu_queue_destroy, \
	    __VA_ARGS__)
#define STATE(name, want, ...) \
	TRY("queue_state: " name, want, DRM_IOCTL_VTPU_QUEUE_STATE, vtpu_queue_state, __VA_ARGS__)
	uint32_t id;

	QUEUE("kind", -EINVAL, .kind = 2);
	QUEUE("flags", -EINVAL, .flags = 1);
	QUEUE("pad", -EINVAL, .pad = 1);
	QUEUE("priority", -EINVAL, .priority = VTPU_PRIO_HIGH + 1);
	QUEUE("depth 1", -EINVAL, .depth = 1);
	QUEUE("depth 3", -EINVAL, .depth = 3);
	QUEUE("depth 2048", -EINVAL, .depth = 2048);
	QUEUE("depth 2^31", -EINVAL, .depth = 1u << 31);
	QUEUE("cores that are not there", -EINVAL, .core_mask = 1ULL << 63);
	QUEUE("copy with cores", -EINVAL, .kind = VTPU_QUEUE_COPY, .core_mask = 1);
	QUEUE("copy with a limit", -EINVAL, .kind = VTPU_QUEUE_COPY, .max_cycles = 1);
	ASSERT_EQ(0, seteuid(65534));
	QUEUE("high priority, unprivileged", -EPERM, .priority = VTPU_PRIO_HIGH);
	ASSERT_EQ(0, seteuid(0));
	QUEUE("high priority", 0, .priority = VTPU_PRIO_HIGH);
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 0, &id));
	QDESTROY("pad", -EINVAL, .queue = id, .pad = 1);
	QDESTROY("id 0", -ENOENT, .queue = 0);
	QDESTROY("unknown", -ENOENT, .queue = ~0u);
	STATE("id 0", -ENOENT, .queue = 0);
	STATE("another file's", -ENOENT, .queue = self->other.queue + 100);
	QDESTROY("a good one", 0, .queue = id);
	QDESTROY("again", -ENOENT, .queue = id);
	STATE("destroyed", -ENOENT, .queue = id);
}

TEST_F_TIMEOUT(matrix, submit, 240)
{
#define SUBMIT(name, want, ...) \
	TRY("submit: " name, want, DRM_IOCTL_VTPU_SUBMIT, vtpu_submit, __VA_ARGS__)
	struct vtpu_job job = { .program = self->me.program };
	struct {
		struct vtpu_job job;
		uint64_t more;
	} longer = { .more = 1 };
	uint32_t gone;

	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 0, &gone));
	ASSERT_EQ(0, kst_queue_destroy(self->me.fd, gone));
#define JOBS .jobs = { .stride = sizeof(job), .count = 1, .array = (uintptr_t)&job }
	SUBMIT("flags", -EINVAL, .queue = self->me.queue, .flags = 1, JOBS);
	SUBMIT("pad", -EINVAL, .queue = self->me.queue, .pad = 1, JOBS);
	SUBMIT("no jobs", -EINVAL, .queue = self->me.queue, .jobs = { .stride = 80 });
	SUBMIT("too many jobs", -E2BIG, .queue = self->me.queue,
	       .jobs = { .stride = 80, .count = VTPU_MAX_SUBMIT_JOBS + 1 });
	SUBMIT("short stride", -EINVAL, .queue = self->me.queue,
	       .jobs = { .stride = 79, .count = 1, .array = (uintptr_t)&job });
	SUBMIT("jobs nowhere", -EFAULT, .queue = self->me.queue,
	       .jobs = { .stride = 80, .count = 1 });
	SUBMIT("jobs in a bad place", -EFAULT, .queue = self->me.queue,
	       .jobs = { .stride = 80, .count = 1, .array = BAD_POINTER });
	SUBMIT("something in a longer element", -E2BIG, .queue = self->me.queue,
	       .jobs = { .stride = sizeof(longer), .count = 1, .array = (uintptr_t)&longer });
	SUBMIT("queue 0", -ENOENT, .queue = 0, JOBS);
	SUBMIT("unknown queue", -ENOENT, .queue = ~0u, JOBS);
	SUBMIT("destroyed queue", -ENOENT, .queue = gone, JOBS);
}

TEST_F_TIMEOUT(matrix, job, 240)
{
	char args[64];
	uint32_t bytes = kst_args(args, KST_IN_VA, KST_OUT_VA);
	struct vtpu_sync sync = { .flags = VTPU_SYNC_SIGNAL, .handle = self->sync };
	struct vtpu_bo_ref ref = { .handle = self->hbm };
	struct vtpu_copy_desc desc = kst_fill(VA, 4096, 0);
	const struct vtpu_job good = kst_job(self->me.program, args, bytes, &sync, 1);

#define JOB(name, want, change) \
	do { \
		struct vtpu_job job = good; \
		change; \
		check(_metadata, self, "job: " name, \
		      kst_submit(self->me.fd, self->me.queue, &job, 1, NULL), want); \
	} while (0)
#define SYNC(name, want, change) \
	JOB("sync " name, want, sync = (struct vtpu_sync){ 0 }; sync.handle = self->sync; change; \
	    job.syncs.count = 1)
	JOB("flags", -EINVAL, job.flags = ~VTPU_JOB_FLAGS);
	JOB("pad", -EINVAL, job.pad = 1);
	JOB("second pad", -EINVAL, job.pad2 = 1);
	JOB("launch", -EINVAL, job.launch_id = 1);
	JOB("peers", -EINVAL, job.peer_count = 1);
	JOB("program 0", -EINVAL, job.program = 0);
	JOB("unknown program", -ENOENT, job.program = 12345);
	JOB("no arguments", -EINVAL, job.args_size = 0);
	JOB("too many arguments", -E2BIG, job.args_size = VTPU_ARG_SLOT_BYTES + 1);
	JOB("arguments nowhere", -EFAULT, job.args = 0);
	JOB("arguments in a bad place", -EFAULT, job.args = BAD_POINTER);
	JOB("fewer arguments", -EINVAL, job.args_size -= 8);
	JOB("more arguments", -EINVAL, job.args_size += 8);
	args[0] = 3;
	JOB("three bases", -EINVAL, );
	args[0] = 2;
	args[4] = 1;
	JOB("a scalar", -EINVAL, );
	args[4] = 0;
	JOB("nothing, with a program", -EINVAL, job.flags = VTPU_JOB_NOP);
	JOB("too many syncs", -E2BIG, job.syncs.count = VTPU_MAX_JOB_SYNCS + 1);
	JOB("syncs too short", -EINVAL, job.syncs.stride = 15);
	JOB("syncs nowhere", -EFAULT, job.syncs.array = 0);
	SYNC("flags", -EINVAL, sync.flags = ~VTPU_SYNC_FLAGS);
	SYNC("handle 0", -ENOENT, sync.flags = VTPU_SYNC_SIGNAL; sync.handle = 0);
	SYNC("wait, handle 0", -ENOENT, sync.handle = 0);
	SYNC("unknown handle", -ENOENT, sync.flags = VTPU_SYNC_SIGNAL; sync.handle = 12345);
	SYNC("point 0 of a timeline", -EINVAL, sync.flags = VTPU_SYNC_TIMELINE);
	SYNC("point of what has none", -EINVAL, sync.point = 1);
	SYNC("wait for nothing", -EINVAL, );
	SYNC("wait for a point to come", -EINVAL, sync.flags = VTPU_SYNC_TIMELINE; sync.point = 7);
	sync = (struct vtpu_sync){ .flags = VTPU_SYNC_SIGNAL, .handle = self->sync };
	JOB("too many buffers", -E2BIG, job.bos.count = VTPU_MAX_JOB_BOS + 1; job.bos.stride = 8);
	JOB("buffers too short", -EINVAL, job.bos.count = 1; job.bos.stride = 7);
	JOB("buffers nowhere", -EFAULT, job.bos.count = 1; job.bos.stride = 8);
	ref.handle = 0;
	JOB("buffer 0", -ENOENT, job.bos.count = 1; job.bos.stride = 8;
	    job.bos.array = (uintptr_t)&ref);
	ref.handle = self->hbm;
	ref.flags = 2;
	JOB("buffer flags", -EINVAL, job.bos.count = 1; job.bos.stride = 8;
	    job.bos.array = (uintptr_t)&ref);

	/* Refused jobs have signalled nothing: the sync object is as empty as before. */
	EXPECT_EQ(-EINVAL, kst_wait(self->me.fd, self->sync, 0, 0, 0));

	struct vtpu_job pair[2] = { good, good };
	uint32_t done = 77;

	pair[1].pad = 1;
	check(_metadata, self, "job: a good one and a bad one",
	      kst_submit(self->me.fd, self->me.queue, pair, 2, &done), -EINVAL);
	EXPECT_EQ(0, done);
	EXPECT_EQ(-EINVAL, kst_wait(self->me.fd, self->sync, 0, 0, 0));

	struct vtpu_job copy = kst_job(0, &desc, sizeof(desc), NULL, 0);

#define COPY(name, want, change) \
	do { \
		struct vtpu_job job = copy; \
		change; \
		check(_metadata, self, "copy: " name, \
		      kst_submit(self->me.fd, self->copy, &job, 1, NULL), want); \
	} while (0)
	COPY("program", -EINVAL, job.program = self->me.program);
	COPY("half a descriptor", -EINVAL, job.args_size = 32);
	COPY("no descriptor", -EINVAL, job.args_size = 0);
	COPY("65 descriptors", -E2BIG, job.args_size = 65 * 64);
}

TEST_F_TIMEOUT(matrix, no_such_ioctl, 60)
{
	char arg[256] = { 0 };

	for (unsigned int nr = 0; nr < 0x60; nr++) {
		if (nr <= DRM_VTPU_SUBMIT ||
		    (nr >= DRM_VTPU_BO_SET_LABEL && nr != 0x0d && nr <= DRM_VTPU_PROGRAM_INFO))
			continue;
		EXPECT_EQ(-EINVAL,
			  kst_ioctl(self->me.fd, DRM_IOWR(DRM_COMMAND_BASE + nr, uint64_t), arg));
	}
	check(_metadata, self, "no such ioctl", 0, 0);
}

/* What only the device can know comes as the error of the job's fence; the queue halts. */
TEST_F_TIMEOUT(matrix, device_faults, 240)
{
	static const struct {
		const char *name;
		uint64_t in, out;
		int want;
	} fault[] = {
		{ "in unmapped", VA + (1 << 30), KST_OUT_VA, -EFAULT },
		{ "out unmapped", KST_IN_VA, VA + (1 << 30), -EFAULT },
		{ "address 0", 0, KST_OUT_VA, -EFAULT },
		{ "address that wraps", ~0ULL - 63, KST_OUT_VA, -EFAULT },
		{ "the kernel's addresses", VTPU_VA_KERNEL_START, KST_OUT_VA, -EFAULT },
		{ "host memory", HOST_VA, KST_OUT_VA, -EFAULT },
		{ "written, but read-only", KST_IN_VA, VA, -EACCES },
		{ "out over in", KST_IN_VA, KST_IN_VA, -EINVAL },
		{ "misaligned", KST_IN_VA + 4, KST_OUT_VA, -EINVAL },
		{ "too short", KST_IN_VA + 4096 - 64, KST_OUT_VA, -EFAULT },
	};
	char args[64];

	ASSERT_EQ(0, kst_map(self->me.fd, self->hbm, 0, VA, 4096, VTPU_BIND_READONLY));
	ASSERT_EQ(0, kst_map(self->me.fd, self->host, 0, HOST_VA, 1 << 16, 0));
	for (unsigned int i = 0; i < sizeof(fault) / sizeof(fault[0]); i++) {
		struct vtpu_queue_state state;
		struct vtpu_job job;
		uint32_t queue;

		ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 2, &queue));
		job = kst_job(self->me.program, args, kst_args(args, fault[i].in, fault[i].out),
			      NULL, 0);
		job.tag = 0x1000 + i;
		check(_metadata, self, fault[i].name, kst_run(self->me.fd, queue, &job),
		      fault[i].want);
		ASSERT_EQ(0, kst_state(self->me.fd, queue, &state));
		EXPECT_EQ(VTPU_QUEUE_HALTED, state.flags);
		EXPECT_EQ(fault[i].want, state.error);
		EXPECT_EQ(0x1000 + i, state.fault_tag);
		EXPECT_EQ(-ECANCELED, kst_submit(self->me.fd, queue, &job, 1, NULL));
		ASSERT_EQ(0, kst_queue_destroy(self->me.fd, queue));
	}
}

TEST_HARNESS_MAIN
