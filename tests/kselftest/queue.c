// SPDX-License-Identifier: MIT
/*
 * queue.c - queues: halting, full rings, destruction and death with jobs in them, usage numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define VA   (1ULL << 40)
#define MANY 1000

FIXTURE(queue)
{
	KST_PAIR;
};

FIXTURE_SETUP(queue)
{
	KST_PAIR_OPEN(self);
}

FIXTURE_TEARDOWN(queue)
{
	EXPECT_TRUE(kst_answer(&self->me));
	KST_PAIR_CLOSE(self);
}

TEST_F(queue, halts)
{
	struct vtpu_copy_desc desc[8];
	struct vtpu_sync sync[8];
	struct vtpu_job job[8];
	struct vtpu_queue_state state;
	uint32_t queue, bo, *data;

	data = kst_ready(self->me.fd, 1 << 16, VTPU_REGION_HBM, VA, &bo);
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 8, &queue));
	for (int i = 0; i < 8; i++) {
		desc[i] = kst_fill(VA + (unsigned int)i * 4096, 4096, i + 1);
		sync[i] = (struct vtpu_sync){
			.flags = VTPU_SYNC_SIGNAL,
			.handle = kst_sync(self->me.fd),
		};
		job[i] = kst_job(0, &desc[i], sizeof(desc[i]), &sync[i], 1);
		job[i].tag = 100 + i;
	}
	desc[3].dst = VA + (1ULL << 30);
	ASSERT_EQ(0, kst_submit(self->me.fd, queue, job, 8, NULL));
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, kst_wait(self->me.fd, sync[i].handle, 0, 5 * KST_SECOND, 0));
		EXPECT_EQ(i < 3	 ? 0 :
			  i == 3 ? -EFAULT :
				   -ECANCELED,
			  kst_error(self->me.fd, sync[i].handle));
		EXPECT_EQ(i < 3 ? i + 1 : 0, data[i * 1024]);
	}
	ASSERT_EQ(0, kst_state(self->me.fd, queue, &state));
	EXPECT_EQ(VTPU_QUEUE_HALTED, state.flags);
	EXPECT_EQ(VTPU_ST_UNMAPPED, state.status);
	EXPECT_EQ(-EFAULT, state.error);
	EXPECT_EQ(103, state.fault_tag);
	EXPECT_EQ(8, state.submitted);
	EXPECT_EQ(8, state.completed);
	EXPECT_EQ(-ECANCELED, kst_submit(self->me.fd, queue, job, 1, NULL));
}

static void on_alarm(int number)
{
	(void)number;
}

TEST_F_TIMEOUT(queue, full_ring, 120)
{
	int fd = kst_open(), flags = fcntl(fd, F_GETFL);
	struct vtpu_queue_state state;
	struct kst_slow slow;
	struct vtpu_job job[4];
	uint32_t done;

	kst_slow(&slow, fd, 2);
	for (int i = 0; i < 4; i++)
		job[i] = kst_slow_job(&slow, NULL, 0);

	/* Two fit; who does not want to wait hears of it, and how many were taken. */
	ASSERT_EQ(0, fcntl(fd, F_SETFL, flags | O_NONBLOCK));
	EXPECT_EQ(0, kst_submit(fd, slow.queue, job, 4, &done));
	EXPECT_EQ(2, done);
	EXPECT_EQ(-EAGAIN, kst_submit(fd, slow.queue, job, 1, &done));
	EXPECT_EQ(0, done);

	/* Who waits can be interrupted before anything was taken. */
	struct sigaction act = { .sa_handler = on_alarm };

	ASSERT_EQ(0, fcntl(fd, F_SETFL, flags));
	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));

	pid_t parent = getpid(), child = fork();

	if (!child) {
		kst_sleep_ms(30);
		kill(parent, SIGUSR1);
		_exit(0);
	}
	EXPECT_EQ(-EINTR, kst_submit(fd, slow.queue, job, 1, &done));
	waitpid(child, NULL, 0);

	/* And else gets a place when there is one. */
	EXPECT_EQ(0, kst_submit(fd, slow.queue, job, 1, &done));
	EXPECT_EQ(1, done);
	ASSERT_EQ(0, kst_state(fd, slow.queue, &state));
	EXPECT_EQ(3, state.submitted);
	EXPECT_GE(state.completed, 1);
	close(fd);
}

TEST_F_TIMEOUT(queue, more_than_the_ring, 60)
{
	static struct vtpu_job job[VTPU_MAX_SUBMIT_JOBS];
	struct vtpu_queue_state state;
	struct vtpu_job last;
	uint32_t queue, done;

	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 4, &queue));
	for (int i = 0; i < VTPU_MAX_SUBMIT_JOBS; i++)
		job[i] = (struct vtpu_job){ .flags = VTPU_JOB_NOP };
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, kst_submit(self->me.fd, queue, job, VTPU_MAX_SUBMIT_JOBS, &done));
		EXPECT_EQ(VTPU_MAX_SUBMIT_JOBS, done);
	}
	last = job[0];
	EXPECT_EQ(0, kst_run(self->me.fd, queue, &last));
	ASSERT_EQ(0, kst_state(self->me.fd, queue, &state));
	EXPECT_EQ(4 * VTPU_MAX_SUBMIT_JOBS + 1, state.completed);
}

TEST_F_TIMEOUT(queue, destroyed_with_jobs, 60)
{
	struct kst_slow slow;
	struct vtpu_sync sync[4];
	struct vtpu_job job[4];
	int64_t start;

	kst_slow(&slow, self->me.fd, 4);
	for (int i = 0; i < 4; i++) {
		sync[i] = (struct vtpu_sync){
			.flags = VTPU_SYNC_SIGNAL,
			.handle = kst_sync(self->me.fd),
		};
		job[i] = kst_slow_job(&slow, &sync[i], 1);
	}
	ASSERT_EQ(0, kst_submit(self->me.fd, slow.queue, job, 4, NULL));
	kst_sleep_ms(20);
	start = kst_now();
	EXPECT_EQ(0, kst_queue_destroy(self->me.fd, slow.queue));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(0, kst_wait(self->me.fd, sync[i].handle, 0, 10 * KST_SECOND, 0));
		EXPECT_EQ(-ECANCELED, kst_error(self->me.fd, sync[i].handle));
	}
	/* Far less than the jobs would have taken. */
	EXPECT_LT(kst_now() - start, 2 * KST_SECOND);
}

static uint64_t memory_used(int fd, uint32_t region)
{
	struct vtpu_query_memory memory = { 0 };
	struct vtpu_dev_query query = {
		.type = VTPU_QUERY_MEMORY,
		.index = region,
		.size = sizeof(memory),
		.ptr = (uintptr_t)&memory,
	};

	kst_need(kst_ioctl(fd, DRM_IOCTL_VTPU_DEV_QUERY, &query), "a query");
	return memory.used;
}

static bool comes_back(int fd, uint64_t hbm, uint64_t host)
{
	for (int i = 0; i < 500; i++) {
		if (memory_used(fd, VTPU_REGION_HBM) == hbm &&
		    memory_used(fd, VTPU_REGION_HOST) == host)
			return true;
		kst_sleep_ms(20);
	}
	return false;
}

TEST_F_TIMEOUT(queue, killed_with_many_jobs, 120)
{
	uint64_t hbm = memory_used(self->me.fd, VTPU_REGION_HBM);
	uint64_t host = memory_used(self->me.fd, VTPU_REGION_HOST);
	int ready[2], status;
	char byte = 0;
	pid_t child;

	ASSERT_EQ(0, pipe(ready));
	child = fork();
	if (!child) {
		static struct vtpu_job job[MANY / 2];
		struct kst_slow slow;

		kst_slow(&slow, kst_open(), 1024);
		for (int i = 0; i < MANY / 2; i++)
			job[i] = kst_slow_job(&slow, NULL, 0);
		kst_need(kst_submit(slow.fd, slow.queue, job, MANY / 2, NULL), "500 jobs");
		kst_need(kst_submit(slow.fd, slow.queue, job, MANY / 2, NULL), "500 more");
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_TRUE(kst_answer(&self->other));

	int64_t start = kst_now();

	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	/* Neither its end nor the return of its memory waits for a thousand seconds of work. */
	EXPECT_LT(kst_now() - start, kst_limit(3 * KST_SECOND));
	EXPECT_TRUE(comes_back(self->me.fd, hbm, host));
	EXPECT_LT(kst_now() - start, kst_limit(10 * KST_SECOND));
}

/* ---- What the kernel says about a client ---- */

static uint64_t fdinfo(int fd, const char *key)
{
	char path[64], line[256];
	uint64_t value = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	kst_need(!f, path);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			value = strtoull(line + strlen(key) + 1, NULL, 10);
	}
	fclose(f);
	return value;
}

TEST_F_TIMEOUT(queue, fdinfo, 120)
{
	struct vtpu_sync sync = { .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(self->me.fd) };
	uint64_t before, now, last;
	int64_t start, wall;
	struct kst_slow slow;
	struct vtpu_job job;
	bool running;

	EXPECT_EQ(8, fdinfo(self->me.fd, "drm-engine-capacity-compute"));
	EXPECT_LT(0, fdinfo(self->me.fd, "drm-maxfreq-compute"));
	EXPECT_EQ(0, fdinfo(self->me.fd, "drm-engine-copy"));
	EXPECT_EQ(0, fdinfo(self->me.fd, "drm-cycles-compute"));
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_LT(0, fdinfo(self->me.fd, "drm-engine-compute"));
	EXPECT_LT(0, fdinfo(self->me.fd, "drm-cycles-compute"));

	kst_slow(&slow, self->me.fd, 2);
	EXPECT_LE(128 << 10, fdinfo(self->me.fd, "drm-total-hbm"));
	job = kst_slow_job(&slow, &sync, 1);
	before = last = fdinfo(self->me.fd, "drm-engine-copy");
	start = kst_now();
	ASSERT_EQ(0, kst_submit(self->me.fd, slow.queue, &job, 1, NULL));
	running = false;
	/* While the one job runs, its time already counts, and never goes back. */
	while (kst_wait(self->me.fd, sync.handle, 0, KST_SECOND / 50, 0) == -ETIME) {
		now = fdinfo(self->me.fd, "drm-engine-copy");
		EXPECT_GE(now, last);
		running |= now > before && kst_error(self->me.fd, sync.handle) == 1;
		last = now;
	}
	wall = kst_now() - start;
	EXPECT_TRUE(running);
	now = fdinfo(self->me.fd, "drm-engine-copy");
	EXPECT_GE(now, last);
	EXPECT_GE(now - before, (uint64_t)wall / 4);
	EXPECT_LE(now - before, (uint64_t)wall + KST_SECOND / 10);
	/* And stays when the queue has gone. */
	ASSERT_EQ(0, kst_queue_destroy(self->me.fd, slow.queue));
	kst_sleep_ms(100);
	EXPECT_GE(fdinfo(self->me.fd, "drm-engine-copy"), now);
}

/*
 * One buffer, named for writing and again for reading by jobs of many queues that all still wait: each job's fence is
 * there twice.
 */
TEST_F_TIMEOUT(queue, buffer_named_twice, 60)
{
	uint32_t sync = kst_sync(self->me.fd), queue;
	const struct vtpu_sync signal = { .flags = VTPU_SYNC_SIGNAL, .handle = sync };
	const struct vtpu_sync wait = { .handle = sync };
	const struct vtpu_bo_ref refs[] = {
		{ .handle = self->me.in, .flags = VTPU_BO_REF_WRITE },
		{ .handle = self->me.in },
	};
	struct vtpu_bo_wait idle = { .handle = self->me.in, .flags = VTPU_BO_WAIT_WRITE };
	struct vtpu_job job;
	struct kst_slow slow;

	kst_slow(&slow, self->me.fd, 2);
	job = kst_slow_job(&slow, &signal, 1);
	ASSERT_EQ(0, kst_submit(self->me.fd, slow.queue, &job, 1, NULL));
	job = kst_job(0, NULL, 0, &wait, 1);
	job.flags = VTPU_JOB_NOP;
	job.bos = (struct vtpu_array){ .stride = sizeof(*refs),
				       .count = 2,
				       .array = (uintptr_t)refs };
	for (int i = 0; i < 16; i++) {
		ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 2, &queue));
		ASSERT_EQ(0, kst_submit(self->me.fd, queue, &job, 1, NULL));
	}
	idle.timeout_ns = kst_now() + 20 * KST_SECOND;
	EXPECT_EQ(0, kst_ioctl(self->me.fd, DRM_IOCTL_VTPU_BO_WAIT, &idle));
}

TEST_HARNESS_MAIN
