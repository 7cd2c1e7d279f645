// SPDX-License-Identifier: MIT
/*
 * recovery.c - a device that hangs, loses an interrupt, or fails a DMA.
 *
 * The device itself brings the fault about (kst_inject()). Expects a module whose timeout_ms is
 * short, but long enough for a job besides, and a device whose own watchdog is slower. What takes
 * more than an abort is ladder.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define VA	(1ULL << 40)
#define HOST_VA VTPU_VA_HOST_START

FIXTURE(recovery)
{
	KST_PAIR;
	uint32_t copy, sync;
};

FIXTURE_SETUP(recovery)
{
	KST_PAIR_OPEN(self);
	kst_need(kst_queue(self->me.fd, VTPU_QUEUE_COPY, 0, &self->copy), "a copy queue");
	self->sync = kst_sync(self->me.fd);
}

FIXTURE_TEARDOWN(recovery)
{
	KST_PAIR_CLOSE(self);
}

/* After what time without progress does the driver look? In nanoseconds */
static int64_t backstop(void)
{
	static const char path[] = "/sys/module/vtpu/parameters/timeout_ms";
	FILE *f = fopen(path, "r");
	unsigned int ms = 0;

	kst_need(!f || fscanf(f, "%u", &ms) != 1, path);
	fclose(f);
	return ms * (KST_SECOND / 1000);
}

static uint32_t reset_count(int fd)
{
	struct vtpu_query_info info = kst_info(fd);

	kst_need(info.state != VTPU_DEVICE_OK, "a device in order");
	return info.reset_count;
}

/* One job hangs: it fails in bounded time, the rest of its queue is cancelled, nobody else notices. */
TEST_F_TIMEOUT(recovery, hang, 60)
{
	static const char *const expected[] = { "makes no progress, aborting it", NULL };
	char args[64];
	uint32_t bytes = kst_args(args, KST_IN_VA, KST_OUT_VA);
	struct vtpu_sync sync[3];
	struct vtpu_job job[3];
	struct vtpu_queue_state state;
	uint32_t before = reset_count(self->me.fd), queue;
	int64_t start;

	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 8, &queue));
	for (int i = 0; i < 3; i++) {
		sync[i] = (struct vtpu_sync){
			.flags = VTPU_SYNC_SIGNAL,
			.handle = kst_sync(self->me.fd),
		};
		job[i] = kst_job(self->me.program, args, bytes, &sync[i], 1);
		job[i].tag = i;
	}
	kst_inject("hang:job=2");
	start = kst_now();
	ASSERT_EQ(0, kst_submit(self->me.fd, queue, job, 3, NULL));
	EXPECT_EQ(0, kst_wait(self->me.fd, sync[0].handle, 0, 5 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->me.fd, sync[0].handle));
	/* It holds cores, but not all of them. */
	EXPECT_TRUE(kst_answer(&self->other));
	EXPECT_EQ(1, kst_error(self->me.fd, sync[1].handle));
	EXPECT_EQ(0, kst_wait(self->me.fd, sync[2].handle, 0, 10 * KST_SECOND, 0));
	EXPECT_LT(kst_now() - start, backstop() + kst_limit(3 * KST_SECOND));
	EXPECT_EQ(-ETIME, kst_error(self->me.fd, sync[1].handle));
	EXPECT_EQ(-ECANCELED, kst_error(self->me.fd, sync[2].handle));
	ASSERT_EQ(0, kst_state(self->me.fd, queue, &state));
	EXPECT_EQ(VTPU_QUEUE_HALTED, state.flags);
	EXPECT_EQ(-ETIME, state.error);
	EXPECT_EQ(1, state.fault_tag);
	EXPECT_EQ(before, reset_count(self->me.fd));
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_EQ(0, kst_log_bad(self->log, expected));
}

/* A hang does not keep its client from going, nor anybody from asking. */
TEST_F_TIMEOUT(recovery, hang_and_close, 60)
{
	static const char *const expected[] = { "makes no progress, aborting it", NULL };
	struct vtpu_query_core core;
	struct vtpu_dev_query query = {
		.type = VTPU_QUERY_CORE,
		.size = sizeof(core),
		.ptr = (uintptr_t)&core,
	};
	struct kst_client c;
	char args[64];
	struct vtpu_job job;
	int64_t start;

	kst_client(&c);
	job = kst_job(c.program, args, kst_args(args, KST_IN_VA, KST_OUT_VA), NULL, 0);
	kst_inject("hang:job=1");
	ASSERT_EQ(0, kst_submit(c.fd, c.queue, &job, 1, NULL));
	kst_sleep_ms(20);
	start = kst_now();
	EXPECT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_DEV_QUERY, &query));
	kst_client_close(&c);
	EXPECT_LT(kst_now() - start, backstop());
	EXPECT_TRUE(kst_answer(&self->me));
	kst_sleep_ms(backstop() / (KST_SECOND / 1000) + 300);
	EXPECT_EQ(0, kst_log_bad(self->log, expected));
}

/* The completion is there, but nobody said so: found by looking, and no error. */
TEST_F_TIMEOUT(recovery, lost_interrupt, 60)
{
	uint32_t before = reset_count(self->me.fd);
	int64_t start, took;

	kst_inject("lost-irq:job=1");
	start = kst_now();
	EXPECT_TRUE(kst_answer(&self->me));
	took = kst_now() - start;
	EXPECT_GE(took, backstop() * 2 / 3);
	/* The first look has found it. */
	EXPECT_LT(took, backstop() * 2);
	EXPECT_EQ(before, reset_count(self->me.fd));
}

TEST_F_TIMEOUT(recovery, dma_error, 60)
{
	struct vtpu_queue_state state;
	struct vtpu_copy_desc desc = kst_copy(VA, HOST_VA, 65536);
	struct vtpu_job job = kst_job(0, &desc, sizeof(desc), NULL, 0);
	uint32_t hbm, host, again;

	kst_ready(self->me.fd, 65536, VTPU_REGION_HBM, VA, &hbm);
	kst_ready(self->me.fd, 65536, VTPU_REGION_HOST, HOST_VA, &host);
	kst_inject("dma-error:job=1");
	EXPECT_EQ(-EREMOTEIO, kst_run(self->me.fd, self->copy, &job));
	ASSERT_EQ(0, kst_state(self->me.fd, self->copy, &state));
	EXPECT_EQ(VTPU_ST_DMA_ERROR, state.status);
	EXPECT_EQ(VTPU_QUEUE_HALTED, state.flags);
	EXPECT_EQ(-ECANCELED, kst_submit(self->me.fd, self->copy, &job, 1, NULL));
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 0, &again));
	EXPECT_EQ(0, kst_run(self->me.fd, again, &job));
}

/* A word of HBM is lost: who reads it is told where, nobody else notices. */
TEST_F_TIMEOUT(recovery, memory_error, 60)
{
	static const char *const corrected[] = { "corrected memory error", NULL };
	struct vtpu_queue_state state;
	char args[64];
	struct vtpu_job job =
		kst_job(self->me.program, args, kst_args(args, KST_IN_VA, KST_OUT_VA), NULL, 0);
	uint32_t before = reset_count(self->me.fd);

	kst_inject("ecc:job=1");
	EXPECT_EQ(-EIO, kst_run(self->me.fd, self->me.queue, &job));
	ASSERT_EQ(0, kst_state(self->me.fd, self->me.queue, &state));
	EXPECT_EQ(VTPU_ST_ECC, state.status);
	EXPECT_EQ(KST_IN_VA, state.fault_addr);
	EXPECT_EQ(VTPU_QUEUE_HALTED, state.flags);
	EXPECT_TRUE(kst_answer(&self->other));
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 0, &self->me.queue));
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_EQ(before, reset_count(self->me.fd));
	EXPECT_EQ(0, kst_log_bad(self->log, NULL));

	kst_inject("ecc-corrected:job=1");
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_EQ(0, kst_log_bad(self->log, corrected));
}

/* The kernel's own clearing fails: it tries again, and the memory is clean all the same. */
TEST_F_TIMEOUT(recovery, clearing_fails, 60)
{
	uint32_t bo, words = (64 << 20) / 4, bad = 0, *map;

	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, kst_bo(self->me.fd, 64 << 20, VTPU_REGION_HBM, VTPU_BO_MAPPABLE, &bo));
		map = kst_mmap(self->me.fd, bo, 64 << 20);
		ASSERT_NE(NULL, map);
		for (uint32_t i = 0; i < words; i += 16)
			bad |= map[i];
		EXPECT_EQ(0, bad);
		memset(map, 0xff, 64 << 20);
		munmap(map, 64 << 20);
		if (!round)
			kst_inject("dma-error:job=1");
		ASSERT_EQ(0, kst_close(self->me.fd, bo));
	}
	kst_sleep_ms(100);
}

/* A reset from outside takes the queues; address space, buffers and programs stay. */
TEST_F_TIMEOUT(recovery, device_reset, 60)
{
	static const char *const expected[] = { "device has been reset", NULL };
	struct vtpu_queue_state state;
	uint32_t before = reset_count(self->me.fd);
	struct kst_client c = self->me;

	EXPECT_TRUE(kst_answer(&self->me));
	ASSERT_EQ(0, kst_function_reset());
	EXPECT_EQ(before + 1, reset_count(self->me.fd));
	ASSERT_EQ(0, kst_state(self->me.fd, self->me.queue, &state));
	EXPECT_EQ(VTPU_QUEUE_RESET, state.flags);
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 0, &c.queue));
	EXPECT_TRUE(kst_answer(&c));
	ASSERT_EQ(0, kst_queue(self->other.fd, VTPU_QUEUE_COMPUTE, 0, &self->other.queue));
	EXPECT_EQ(0, kst_log_bad(self->log, expected));
}

TEST_HARNESS_MAIN
