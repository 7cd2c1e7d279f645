// SPDX-License-Identifier: MIT
/*
 * syncobj.c - waiting and signalling: binary, timelines of 64 bits, errors, order between queues.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define VA  (1ULL << 40)
#define BIG ((1ULL << 32) + 1)

FIXTURE(sync)
{
	struct kst_client c;
	struct kst_slow slow;
	uint32_t copy, bo, s;
	uint32_t *data;
	int log;
};

FIXTURE_SETUP(sync)
{
	kst_client(&self->c);
	kst_slow(&self->slow, self->c.fd, 4);
	self->data = kst_ready(self->c.fd, 1 << 20, VTPU_REGION_HBM, VA, &self->bo);
	kst_need(kst_queue(self->c.fd, VTPU_QUEUE_COPY, 0, &self->copy), "a copy queue");
	self->s = kst_sync(self->c.fd);
	self->log = kst_log();
}

FIXTURE_TEARDOWN(sync)
{
	EXPECT_TRUE(kst_answer(&self->c));
	EXPECT_EQ(0, kst_log_bad(self->log, NULL));
	kst_client_close(&self->c);
	close(self->log);
}

static struct vtpu_sync signal_of(uint32_t handle, uint64_t point)
{
	return (struct vtpu_sync){
		.flags = VTPU_SYNC_SIGNAL | (point ? VTPU_SYNC_TIMELINE : 0),
		.handle = handle,
		.point = point,
	};
}

static struct vtpu_sync wait_of(uint32_t handle, uint64_t point)
{
	return (struct vtpu_sync){
		.flags = point ? VTPU_SYNC_TIMELINE : 0,
		.handle = handle,
		.point = point,
	};
}

/* A job that only waits and signals. */
static struct vtpu_job nop(const struct vtpu_sync *syncs, uint32_t n)
{
	struct vtpu_job job = kst_job(0, NULL, 0, syncs, n);

	job.flags = VTPU_JOB_NOP;
	return job;
}

TEST_F(sync, binary)
{
	struct vtpu_sync s = signal_of(self->s, 0);
	struct vtpu_job job = nop(&s, 1);

	EXPECT_EQ(-EINVAL, kst_wait(self->c.fd, self->s, 0, 0, 0));
	ASSERT_EQ(0, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));
	EXPECT_EQ(0, kst_wait(self->c.fd, self->s, 0, 5 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->c.fd, self->s));
}

TEST_F(sync, timeline)
{
	struct vtpu_sync s;
	struct vtpu_job job;

	for (uint64_t point = 1; point <= 100; point++) {
		s = signal_of(self->s, point);
		job = nop(&s, 1);
		ASSERT_EQ(0, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));
	}
	EXPECT_EQ(0, kst_wait(self->c.fd, self->s, 100, 5 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_wait(self->c.fd, self->s, 37, 0, 0));
	EXPECT_EQ(-EINVAL, kst_wait(self->c.fd, self->s, 101, 0, 0));
}

/* The DRM scheduler's own helper cuts points to 32 bits: 2^32 + 1 would look like 1. */
TEST_F(sync, point_of_64_bits)
{
	struct vtpu_sync s = signal_of(self->s, 1);
	struct vtpu_job job = nop(&s, 1);

	ASSERT_EQ(0, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));
	s = wait_of(self->s, BIG);
	EXPECT_EQ(-EINVAL, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));

	/* The point comes from a slow job; who waits for it must find what that job wrote. */
	struct vtpu_sync late = signal_of(self->s, BIG);
	struct vtpu_copy_desc desc = kst_fill(VA, 4096, 0x11111111);
	struct vtpu_sync both[2];

	job = kst_slow_job(&self->slow, &late, 1);
	ASSERT_EQ(0, kst_submit(self->c.fd, self->slow.queue, &job, 1, NULL));
	both[0] = wait_of(self->s, BIG);
	both[1] = signal_of(kst_sync(self->c.fd), 0);
	job = kst_job(0, &desc, sizeof(desc), both, 2);
	ASSERT_EQ(0, kst_submit(self->c.fd, self->copy, &job, 1, NULL));
	EXPECT_EQ(-ETIME, kst_wait(self->c.fd, both[1].handle, 0, KST_SECOND / 50, 0));
	EXPECT_EQ(0, self->data[0]);
	EXPECT_EQ(0, kst_wait(self->c.fd, both[1].handle, 0, 20 * KST_SECOND, 0));
	EXPECT_EQ(0x11111111, self->data[0]);
	EXPECT_EQ(0, kst_wait(self->c.fd, self->s, BIG, 0, 0));
}

TEST_F(sync, wait_before_submit)
{
	struct vtpu_sync s = wait_of(self->s, 5);
	struct vtpu_job job = nop(&s, 1);

	EXPECT_EQ(-EINVAL, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));
	EXPECT_EQ(-ETIME, kst_wait(self->c.fd, self->s, 5, KST_SECOND / 50,
				   DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT));

	pid_t child = fork();

	if (!child) {
		int ret = kst_wait(self->c.fd, self->s, 5, 10 * KST_SECOND,
				   DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);
		_exit(ret ? 1 : 0);
	}
	kst_sleep_ms(50);
	s = signal_of(self->s, 5);
	EXPECT_EQ(0, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));

	int status = -1;

	EXPECT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F_TIMEOUT(sync, order_between_queues, 60)
{
	uint32_t ping = kst_sync(self->c.fd), other;
	struct vtpu_copy_desc desc[2];
	struct vtpu_sync s[2];
	struct vtpu_job job;

	/* A chain over two queues: each step adds a word that it copies from the step before. */
	ASSERT_EQ(0, kst_queue(self->c.fd, VTPU_QUEUE_COPY, 0, &other));
	self->data[0] = 1;
	for (uint64_t i = 1; i < 200; i++) {
		desc[0] = kst_copy(VA + i * 64, VA + (i - 1) * 64, 4);
		desc[1] = kst_fill(VA + i * 64 + 4, 4, (uint32_t)i);
		s[0] = wait_of(ping, i - 1);
		s[1] = signal_of(ping, i);
		job = kst_job(0, desc, sizeof(desc), i > 1 ? s : s + 1, i > 1 ? 2 : 1);
		ASSERT_EQ(0, kst_submit(self->c.fd, i & 1 ? self->copy : other, &job, 1, NULL));
	}
	ASSERT_EQ(0, kst_wait(self->c.fd, ping, 199, 20 * KST_SECOND, 0));
	EXPECT_EQ(1, self->data[199 * 16]);
	EXPECT_EQ(199, self->data[199 * 16 + 1]);
}

/* A failed job's error is in its fence; who waits for it runs all the same. */
TEST_F(sync, errors)
{
	struct vtpu_copy_desc bad = kst_fill(VA + (1ULL << 30), 4096, 0);
	struct vtpu_sync s[2] = { signal_of(self->s, 0), signal_of(kst_sync(self->c.fd), 0) };
	struct vtpu_job job = kst_job(0, &bad, sizeof(bad), s, 1);
	struct vtpu_queue_state state;

	ASSERT_EQ(0, kst_submit(self->c.fd, self->copy, &job, 1, NULL));
	EXPECT_EQ(0, kst_wait(self->c.fd, self->s, 0, 5 * KST_SECOND, 0));
	EXPECT_EQ(-EFAULT, kst_error(self->c.fd, self->s));
	ASSERT_EQ(0, kst_state(self->c.fd, self->copy, &state));
	EXPECT_EQ(VTPU_ST_UNMAPPED, state.status);
	EXPECT_EQ(VA + (1ULL << 30), state.fault_addr);

	s[0] = wait_of(self->s, 0);
	job = nop(s, 2);
	ASSERT_EQ(0, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));
	EXPECT_EQ(0, kst_wait(self->c.fd, s[1].handle, 0, 5 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->c.fd, s[1].handle));
}

TEST_F(sync, several_at_once)
{
	struct vtpu_sync s[VTPU_MAX_JOB_SYNCS];
	struct vtpu_job job = nop(s, VTPU_MAX_JOB_SYNCS);

	for (int i = 0; i < VTPU_MAX_JOB_SYNCS; i++)
		s[i] = signal_of(kst_sync(self->c.fd), i & 1 ? ~0ULL - 1 : 0);
	ASSERT_EQ(0, kst_submit(self->c.fd, self->c.queue, &job, 1, NULL));
	for (int i = 0; i < VTPU_MAX_JOB_SYNCS; i++)
		EXPECT_EQ(0, kst_wait(self->c.fd, s[i].handle, s[i].point, 5 * KST_SECOND, 0));
}

TEST_F(sync, sync_file)
{
	struct vtpu_sync s = signal_of(self->s, 0);
	struct vtpu_job job = kst_slow_job(&self->slow, &s, 1);
	struct drm_syncobj_handle file = {
		.handle = self->s,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};

	ASSERT_EQ(0, kst_submit(self->c.fd, self->slow.queue, &job, 1, NULL));
	EXPECT_EQ(1, kst_error(self->c.fd, self->s));
	ASSERT_EQ(0, kst_ioctl(self->c.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file));

	struct pollfd p = { .fd = file.fd, .events = POLLIN };

	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(1, poll(&p, 1, 20000));
	close(file.fd);
}

/* Buffers named with a job are waited for by BO_WAIT. */
TEST_F(sync, buffer_wait)
{
	struct vtpu_bo_ref ref = { .handle = self->slow.bo };
	struct vtpu_bo_wait wait = { .handle = self->slow.bo };
	struct vtpu_job job = kst_slow_job(&self->slow, NULL, 0);

	job.bos = (struct vtpu_array){
		.stride = sizeof(ref),
		.count = 1,
		.array = (uintptr_t)&ref,
	};
	ASSERT_EQ(0, kst_submit(self->c.fd, self->slow.queue, &job, 1, NULL));
	/* A reader holds up writers only. */
	EXPECT_EQ(0, kst_ioctl(self->c.fd, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	wait.flags = VTPU_BO_WAIT_WRITE;
	EXPECT_EQ(-ETIMEDOUT, kst_ioctl(self->c.fd, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	ref.flags = VTPU_BO_REF_WRITE;
	ASSERT_EQ(0, kst_submit(self->c.fd, self->slow.queue, &job, 1, NULL));
	wait.flags = 0;
	EXPECT_EQ(-ETIMEDOUT, kst_ioctl(self->c.fd, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	wait.timeout_ns = kst_now() + 20 * KST_SECOND;
	EXPECT_EQ(0, kst_ioctl(self->c.fd, DRM_IOCTL_VTPU_BO_WAIT, &wait));
}

TEST_HARNESS_MAIN
