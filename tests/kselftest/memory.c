// SPDX-License-Identifier: MIT
/*
 * memory.c - buffers as the process sees them: mmap and its edges, clean memory, partial unmaps, structs at a page's end.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define VA	(1ULL << 40)
#define HOST_VA VTPU_VA_HOST_START
#define LARGE	VTPU_LARGE_BYTES

FIXTURE(memory)
{
	KST_PAIR;
	uint32_t copy;
};

FIXTURE_SETUP(memory)
{
	KST_PAIR_OPEN(self);
	kst_need(kst_queue(self->me.fd, VTPU_QUEUE_COPY, 0, &self->copy), "a copy queue");
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_TRUE(kst_answer(&self->me));
	KST_PAIR_CLOSE(self);
}

static int copy_one(FIXTURE_DATA(memory) * self, struct vtpu_copy_desc desc)
{
	struct vtpu_job job = kst_job(0, &desc, sizeof(desc), NULL, 0);

	return kst_run(self->me.fd, self->copy, &job);
}

static void *map_raw(int fd, uint64_t bytes, int prot, int flags, uint64_t offset)
{
	return mmap(NULL, bytes, prot, flags, fd, (off_t)offset);
}

static uint64_t offset_of(int fd, uint32_t handle)
{
	struct vtpu_bo_info info = { .handle = handle };

	kst_need(kst_ioctl(fd, DRM_IOCTL_VTPU_BO_INFO, &info), "bo_info");
	return info.mmap_offset;
}

TEST_F(memory, mmap_edges)
{
	uint32_t hidden, hbm, host;
	uint64_t offset;
	char *map, *again;

	ASSERT_EQ(0, kst_bo(self->me.fd, 8192, VTPU_REGION_HBM, 0, &hidden));
	ASSERT_EQ(0, kst_bo(self->me.fd, 3 * LARGE, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &hbm));
	ASSERT_EQ(0, kst_bo(self->me.fd, 3 * LARGE, VTPU_REGION_HOST, 0, &host));
	EXPECT_EQ(0, offset_of(self->me.fd, hidden));
	for (int i = 0; i < 2; i++) {
		offset = offset_of(self->me.fd, i ? host : hbm);
		ASSERT_NE(0, offset);
		/* Too long, beside it, of another file, private and writable: no. */
		EXPECT_EQ(MAP_FAILED,
			  map_raw(self->me.fd, 3 * LARGE + 4096, PROT_READ, MAP_SHARED, offset));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(MAP_FAILED, map_raw(self->me.fd, 4096, PROT_READ, MAP_SHARED, 0));
		EXPECT_EQ(MAP_FAILED, map_raw(self->other.fd, 4096, PROT_READ, MAP_SHARED, offset));
		EXPECT_EQ(EACCES, errno);
		EXPECT_EQ(MAP_FAILED,
			  map_raw(self->me.fd, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, offset));
		/* A part in the middle is the same memory as the whole. */
		map = map_raw(self->me.fd, 3 * LARGE, PROT_READ | PROT_WRITE, MAP_SHARED, offset);
		ASSERT_NE(MAP_FAILED, (void *)map);
		again = map_raw(self->me.fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				offset + LARGE + 4096);
		/* The DRM core wants mappings from the buffer's start; if it takes one, it is right. */
		if (again != MAP_FAILED) {
			map[LARGE + 4096] = 77;
			EXPECT_EQ(77, again[0]);
			EXPECT_EQ(0, munmap(again, 4096));
		}
		/* mremap must not grow it. */
		EXPECT_EQ(MAP_FAILED, mremap(map, 3 * LARGE, 4 * LARGE, MREMAP_MAYMOVE));
		map[0] = 1;
		map[3 * LARGE - 1] = 2;
		/* A hole in it, fork, and the handle closed: the rest stays. */
		EXPECT_EQ(0, munmap(map + LARGE, LARGE));
		EXPECT_EQ(0, kst_close(self->me.fd, i ? host : hbm));
		EXPECT_EQ(1, map[0]);
		EXPECT_EQ(2, map[3 * LARGE - 1]);

		pid_t child = fork();
		int status = -1;

		if (!child)
			_exit(map[3 * LARGE - 1] == 2 ? 0 : 1);
		EXPECT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_EQ(0, munmap(map, 3 * LARGE));
	}
}

/* What one client leaves behind, the next never sees. */
TEST_F_TIMEOUT(memory, clean_when_new, 120)
{
	static const uint64_t sizes[] = { 4096,	     65536, LARGE - 4096, LARGE, 3 * LARGE + 4096,
					  32 * LARGE };

	for (int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			int fd = kst_open();
			uint64_t words = sizes[i] / sizeof(uint64_t), seen = 0, *map;
			uint32_t bo;

			ASSERT_EQ(0, kst_bo(fd, sizes[i], VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &bo));
			map = kst_mmap(fd, bo, sizes[i]);
			ASSERT_NE(NULL, map);
			for (uint64_t w = 0; w < words; w += 8)
				seen |= map[w] | map[w + 7];
			EXPECT_EQ(0, seen);
			for (uint64_t w = 0; w < words; w += 8)
				map[w] = map[w + 7] = ~w;
			munmap(map, sizes[i]);
			close(fd);
		}
	}
}

/* All of HBM, dirty, freed and wanted again at once: the allocation waits for the clearing. */
TEST_F_TIMEOUT(memory, waits_for_clearing, 120)
{
	struct vtpu_query_memory m = { 0 };
	struct vtpu_dev_query query = {
		.type = VTPU_QUERY_MEMORY,
		.size = sizeof(m),
		.ptr = (uintptr_t)&m,
	};
	uint32_t bo;

	ASSERT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_DEV_QUERY, &query));
	ASSERT_EQ(0, kst_bo(self->me.fd, m.largest_free, VTPU_REGION_HBM, 0, &bo));
	for (int round = 0; round < 4; round++) {
		ASSERT_EQ(0, kst_close(self->me.fd, bo));
		ASSERT_EQ(0, kst_bo(self->me.fd, m.largest_free, VTPU_REGION_HBM, 0, &bo));
	}
	EXPECT_EQ(-ENOSPC, kst_bo(self->me.fd, m.largest_free, VTPU_REGION_HBM, 0, &bo));
}

/* Every shape of a partial unmap of a mapping of 3 x 2 MiB, small pages around large ones included. */
TEST_F_TIMEOUT(memory, partial_unmaps, 240)
{
	static const struct {
		uint64_t start, bytes;
	} cut[] = {
		{ 0, 6 * LARGE / 2 },	    /* exact */
		{ 0, 4096 },		    /* head, a page */
		{ 0, LARGE },		    /* head, a large page */
		{ 3 * LARGE - 4096, 4096 }, /* tail */
		{ LARGE, LARGE },	    /* middle, aligned */
		{ LARGE + 4096, 4096 },	    /* middle of a large page */
		{ LARGE - 4096, 8192 },	    /* across a large page's border */
		{ 4096, 3 * LARGE - 8192 }, /* all but the ends */
	};
	uint32_t bo, probe;

	ASSERT_EQ(0, kst_bo(self->me.fd, 3 * LARGE, VTPU_REGION_HBM, 0, &bo));
	for (unsigned int i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		uint64_t end = cut[i].start + cut[i].bytes;
		const uint64_t at[] = { 0,
					cut[i].start ? cut[i].start - 4096 : 0,
					cut[i].start,
					end - 4096,
					end,
					3 * LARGE - 4096 };

		ASSERT_EQ(0, kst_map(self->me.fd, bo, 0, VA, 3 * LARGE, 0));
		ASSERT_EQ(0, kst_unmap(self->me.fd, VA + cut[i].start, cut[i].bytes));
		for (unsigned int j = 0; j < sizeof(at) / sizeof(at[0]); j++) {
			struct vtpu_copy_desc desc = kst_fill(VA + at[j], 4096, i);
			struct vtpu_job job = kst_job(0, &desc, sizeof(desc), NULL, 0);
			bool gone = at[j] >= cut[i].start && at[j] < end;

			if (at[j] >= 3 * LARGE)
				continue;
			ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 2, &probe));
			EXPECT_EQ(gone ? -EFAULT : 0, kst_run(self->me.fd, probe, &job))
			{
				TH_LOG("cut %u, page at 0x%llx", i, (unsigned long long)at[j]);
			}
			ASSERT_EQ(0, kst_queue_destroy(self->me.fd, probe));
		}
		/* The hole can be filled again, with another part of the buffer. */
		ASSERT_EQ(0, kst_map(self->me.fd, bo, 0, VA + cut[i].start, cut[i].bytes, 0));
		EXPECT_EQ(-EEXIST, kst_map(self->me.fd, bo, 0, VA + cut[i].start, 4096, 0));
		ASSERT_EQ(0, kst_unmap(self->me.fd, VA - LARGE, 6 * LARGE));
	}
}

TEST_F(memory, host_copy)
{
	uint32_t host, hbm, back, n = 5 * LARGE + 4096;
	uint32_t *from = kst_ready(self->me.fd, n, VTPU_REGION_HOST, HOST_VA, &host);
	uint32_t *to = kst_ready(self->me.fd, n, VTPU_REGION_HOST, HOST_VA + 8 * LARGE, &back);

	ASSERT_EQ(0, kst_bo(self->me.fd, n, VTPU_REGION_HBM, 0, &hbm));
	ASSERT_EQ(0, kst_map(self->me.fd, hbm, 0, VA, n, 0));
	for (uint32_t i = 0; i < n / 4; i++)
		from[i] = i * 2654435761u;
	ASSERT_EQ(0, copy_one(self, kst_copy(VA, HOST_VA, n)));
	ASSERT_EQ(0, copy_one(self, kst_copy(HOST_VA + 8 * LARGE, VA, n)));
	EXPECT_EQ(0, memcmp(from, to, n));
	/* Read-only means read-only for host memory too. */
	ASSERT_EQ(0, kst_unmap(self->me.fd, HOST_VA, n));
	ASSERT_EQ(0, kst_map(self->me.fd, host, 4096, HOST_VA, n - 4096, VTPU_BIND_READONLY));
	ASSERT_EQ(0, copy_one(self, kst_copy(VA, HOST_VA, 4096)));
	ASSERT_EQ(0, copy_one(self, kst_copy(HOST_VA + 8 * LARGE, VA, 4096)));
	EXPECT_EQ(0, memcmp((char *)from + 4096, to, 4096));
	EXPECT_EQ(-EACCES, copy_one(self, kst_copy(HOST_VA, VA, 4096)));
}

/* A label is for people: they find it in debugfs. */
TEST_F(memory, label_is_shown)
{
	static const char label[] = "weights of layer 7";
	struct vtpu_bo_set_label arg = { .handle = self->me.in, .label = (uintptr_t)label };
	bool found = false;
	char line[256];
	glob_t paths;
	FILE *f;

	ASSERT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_BO_SET_LABEL, &arg));
	ASSERT_EQ(0, glob("/sys/kernel/debug/accel/*/buffers", 0, NULL, &paths));
	f = fopen(paths.gl_pathv[0], "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, label) && strstr(line, "hbm");
	fclose(f);
	globfree(&paths);
	EXPECT_TRUE(found);
}

/* ---- The interface's structs at a page's end ---- */

/* A page with nothing behind it. */
static uint8_t *last_page(void)
{
	uint8_t *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	kst_need(two == MAP_FAILED, "mmap");
	kst_need(mprotect(two + 4096, 4096, PROT_NONE), "mprotect");
	return two;
}

TEST_F(memory, structs_at_the_end)
{
#define AT_END(type, nr, value) \
	do { \
		struct type *arg = (void *)(page + 4096 - sizeof(*arg)); \
		int want, got; \
\
		*arg = value; \
		want = kst_ioctl(self->me.fd, nr, arg); \
		got = kst_ioctl(self->me.fd, nr, &value); \
		EXPECT_NE(-EFAULT, want); \
		EXPECT_EQ(want, got); \
	} while (0)
	uint8_t *page = last_page();
	struct vtpu_dev_query query = { 0 };
	struct vtpu_bo_create create = { .size = 4096 };
	struct vtpu_bo_info info = { .handle = self->me.in };
	struct vtpu_bo_wait wait = { .handle = self->me.in };
	struct vtpu_bo_set_label label = { .handle = self->me.in };
	struct vtpu_vm_bind bind = { 0 };
	struct vtpu_program_create load = { 0 };
	struct vtpu_program_destroy unload = { 0 };
	struct vtpu_program_info pinfo = { .program = self->me.program };
	struct vtpu_queue_create queue = { .priority = 1 };
	struct vtpu_queue_destroy destroy = { 0 };
	struct vtpu_queue_state state = { .queue = self->me.queue };
	struct vtpu_submit submit = { 0 };

	AT_END(vtpu_dev_query, DRM_IOCTL_VTPU_DEV_QUERY, query);
	AT_END(vtpu_bo_create, DRM_IOCTL_VTPU_BO_CREATE, create);
	AT_END(vtpu_bo_info, DRM_IOCTL_VTPU_BO_INFO, info);
	AT_END(vtpu_bo_wait, DRM_IOCTL_VTPU_BO_WAIT, wait);
	AT_END(vtpu_bo_set_label, DRM_IOCTL_VTPU_BO_SET_LABEL, label);
	AT_END(vtpu_vm_bind, DRM_IOCTL_VTPU_VM_BIND, bind);
	AT_END(vtpu_program_create, DRM_IOCTL_VTPU_PROGRAM_CREATE, load);
	AT_END(vtpu_program_destroy, DRM_IOCTL_VTPU_PROGRAM_DESTROY, unload);
	AT_END(vtpu_program_info, DRM_IOCTL_VTPU_PROGRAM_INFO, pinfo);
	AT_END(vtpu_queue_create, DRM_IOCTL_VTPU_QUEUE_CREATE, queue);
	AT_END(vtpu_queue_destroy, DRM_IOCTL_VTPU_QUEUE_DESTROY, destroy);
	AT_END(vtpu_queue_state, DRM_IOCTL_VTPU_QUEUE_STATE, state);
	AT_END(vtpu_submit, DRM_IOCTL_VTPU_SUBMIT, submit);
}

/* Elements, arguments and images that end with their page are read to there and no further. */
TEST_F(memory, arrays_at_the_end)
{
	uint8_t *page = last_page();
	struct vtpu_sync *sync = (void *)(page + 4096 - sizeof(*sync));
	char *args = (char *)page + 4096 - 24;
	struct vtpu_job *job = (void *)(page + 2048 - sizeof(*job));
	struct vtpu_bind_op *op = (void *)(page + 4096 - sizeof(*op));
	struct vtpu_vm_bind bind = {
		.ops = { .stride = sizeof(*op), .count = 1, .array = (uintptr_t)op },
	};
	size_t bytes;
	void *image = kst_image(&bytes);
	uint32_t program;

	ASSERT_GE(4096, bytes);
	memcpy(page + 4096 - bytes, image, bytes);
	EXPECT_EQ(0, kst_load(self->me.fd, page + 4096 - bytes, bytes, &program));
	free(image);

	*op = (struct vtpu_bind_op){ .op = VTPU_BIND_UNMAP, .va = VA, .size = 4096 };
	EXPECT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_VM_BIND, &bind));
	/* A longer element would lie beyond. */
	bind.ops.stride = sizeof(*op) + 8;
	EXPECT_EQ(-EFAULT, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_VM_BIND, &bind));

	kst_args(args, KST_IN_VA, KST_OUT_VA);
	*job = kst_job(self->me.program, args, 24, NULL, 0);
	EXPECT_EQ(0, kst_submit(self->me.fd, self->me.queue, job, 1, NULL));
	*sync = (struct vtpu_sync){ .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(self->me.fd) };
	*job = (struct vtpu_job){ .flags = VTPU_JOB_NOP };
	job->syncs = (struct vtpu_array){ .stride = 16, .count = 1, .array = (uintptr_t)sync };
	EXPECT_EQ(0, kst_submit(self->me.fd, self->me.queue, job, 1, NULL));
	EXPECT_EQ(0, kst_wait(self->me.fd, sync->handle, 0, 5 * KST_SECOND, 0));
}

/* Answers: what is asked for and not a byte more; zeros for what the kernel does not know. */
TEST_F(memory, answers)
{
	for (uint32_t type = VTPU_QUERY_INFO; type <= VTPU_QUERY_QUOTA; type++) {
		struct vtpu_dev_query query = { .type = type };
		uint8_t *page = last_page();
		uint32_t known;

		ASSERT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_DEV_QUERY, &query));
		known = query.size;
		ASSERT_LT(0, known);
		for (uint32_t size = 0; size <= known + 64; size += 8) {
			memset(page, 0xa5, 4096);
			query.size = size;
			query.ptr = (uintptr_t)(page + 4096 - size);
			ASSERT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_DEV_QUERY, &query));
			EXPECT_EQ(known, query.size);
			EXPECT_EQ(0xa5, page[4096 - size - 1]);
			for (uint32_t i = known; i < size; i++)
				ASSERT_EQ(0, page[4096 - size + i]);
		}
		munmap(page, 8192);
	}
}

TEST_HARNESS_MAIN
