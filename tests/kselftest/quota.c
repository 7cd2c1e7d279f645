// SPDX-License-Identifier: MIT
/*
 * quota.c - limits of a file and of a user, and that both come back.
 *
 * Loads the module with limits of its own; vtpu.ko as in kst_module_load().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define MIB (1ULL << 20)
/* Each test loads the driver twice, which takes long on a kernel full of checkers. */
#define LONG 150
/* HBM bytes, host bytes, queues, programs, instructions, jobs */
#define LIMITS \
	"file_quota=67108864,67108864,4,4,64,16 " \
	"user_quota=100663296,100663296,6,6,96,24"

static struct vtpu_query_quota quota_of(int fd, uint32_t what)
{
	struct vtpu_query_quota quota = { 0 };
	struct vtpu_dev_query query = {
		.type = VTPU_QUERY_QUOTA,
		.index = what,
		.size = sizeof(quota),
		.ptr = (uintptr_t)&quota,
	};

	kst_need(kst_ioctl(fd, DRM_IOCTL_VTPU_DEV_QUERY, &query), "a query");
	return quota;
}

/* What has ended is given back a moment later. */
static bool settles(int fd, uint32_t what)
{
	for (int i = 0; i < 250; i++) {
		if (!quota_of(fd, what).user_used)
			return true;
		kst_sleep_ms(20);
	}
	return false;
}

FIXTURE(quota)
{
	int fd, second, log;
};

FIXTURE_SETUP(quota)
{
	kst_need(kst_module_unload(), "unloading the driver");
	kst_need(kst_module_load(LIMITS), "loading the driver");
	self->fd = kst_open();
	self->second = kst_open();
	self->log = kst_log();
}

FIXTURE_TEARDOWN(quota)
{
	close(self->fd);
	close(self->second);
	EXPECT_EQ(0, kst_log_bad(self->log, NULL));
	close(self->log);
	EXPECT_EQ(0, kst_module_unload());
	EXPECT_EQ(0, kst_module_load(""));
}

TEST_F_TIMEOUT(quota, shown, LONG)
{
	struct vtpu_query_quota q = quota_of(self->fd, VTPU_QUOTA_QUEUES);

	EXPECT_EQ(4, q.file_limit);
	EXPECT_EQ(6, q.user_limit);
	EXPECT_EQ(0, q.file_used);
}

TEST_F_TIMEOUT(quota, memory, LONG)
{
	for (uint32_t region = VTPU_REGION_HBM; region <= VTPU_REGION_HOST; region++) {
		uint32_t a, b, c,
			what = region == VTPU_REGION_HBM ? VTPU_QUOTA_HBM_BYTES :
							   VTPU_QUOTA_HOST_BYTES;

		ASSERT_EQ(0, kst_bo(self->fd, 48 * MIB, region, 0, &a));
		EXPECT_EQ(-EDQUOT, kst_bo(self->fd, 17 * MIB, region, 0, &b));
		ASSERT_EQ(0, kst_bo(self->fd, 16 * MIB, region, 0, &b));
		EXPECT_EQ(64 * MIB, quota_of(self->fd, what).file_used);
		/* The user has 96 in all. */
		EXPECT_EQ(-EDQUOT, kst_bo(self->second, 33 * MIB, region, 0, &c));
		ASSERT_EQ(0, kst_bo(self->second, 32 * MIB, region, 0, &c));
		EXPECT_EQ(96 * MIB, quota_of(self->fd, what).user_used);
		ASSERT_EQ(0, kst_close(self->fd, a));
		ASSERT_EQ(0, kst_close(self->fd, b));
		ASSERT_EQ(0, kst_close(self->second, c));
		EXPECT_EQ(0, quota_of(self->fd, what).user_used);
	}
}

TEST_F_TIMEOUT(quota, queues, LONG)
{
	uint32_t id[4], more;

	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, kst_queue(self->fd, VTPU_QUEUE_COPY, 2, &id[i]));
	EXPECT_EQ(-EDQUOT, kst_queue(self->fd, VTPU_QUEUE_COPY, 2, &more));
	ASSERT_EQ(0, kst_queue(self->second, VTPU_QUEUE_COPY, 2, &more));
	ASSERT_EQ(0, kst_queue(self->second, VTPU_QUEUE_COPY, 2, &more));
	EXPECT_EQ(-EDQUOT, kst_queue(self->second, VTPU_QUEUE_COPY, 2, &more));
	ASSERT_EQ(0, kst_queue_destroy(self->fd, id[0]));
	kst_sleep_ms(200);
	EXPECT_EQ(0, kst_queue(self->second, VTPU_QUEUE_COPY, 2, &more));
}

TEST_F_TIMEOUT(quota, programs, LONG)
{
	size_t bytes;
	void *image = kst_image(&bytes);
	uint32_t program;

	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, kst_load(self->fd, image, bytes, &program));
	EXPECT_EQ(-EDQUOT, kst_load(self->fd, image, bytes, &program));
	EXPECT_EQ(4, quota_of(self->fd, VTPU_QUOTA_PROGRAMS).file_used);
	EXPECT_EQ(12, quota_of(self->fd, VTPU_QUOTA_INSTRUCTIONS).file_used);
	free(image);
}

TEST_F_TIMEOUT(quota, jobs, LONG)
{
	static struct vtpu_job job[32];
	uint32_t queue, done;

	ASSERT_EQ(0, kst_queue(self->fd, VTPU_QUEUE_COMPUTE, 64, &queue));
	for (int i = 0; i < 32; i++)
		job[i] = (struct vtpu_job){ .flags = VTPU_JOB_NOP };
	EXPECT_EQ(-EDQUOT, kst_submit(self->fd, queue, job, 17, &done));
	EXPECT_EQ(0, done);
	EXPECT_EQ(0, quota_of(self->fd, VTPU_QUOTA_JOBS).file_used);
	EXPECT_EQ(0, kst_submit(self->fd, queue, job, 16, &done));
	EXPECT_EQ(16, done);
	EXPECT_TRUE(settles(self->fd, VTPU_QUOTA_JOBS));
}

TEST_HARNESS_MAIN
