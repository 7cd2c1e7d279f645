// SPDX-License-Identifier: MIT
/*
 * ladder.c - the rungs of recovery that an ordinary hang does not reach: reset of the
 * queue, reset of the device, a device that is given up; fatal errors, commands that never end.
 *
 * The device brings each about (kst_inject()). Who hangs gets ETIME, others lose nothing
 * but what the rung takes, and a known answer comes out right beside it and after.
 * Expects the module with timeout_ms=1000 reset_ms=1000 and a device whose own watchdog is slower.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

#define ABORT  "makes no progress, aborting it"
#define QUEUE  "abort has no effect, resetting the queue"
#define DEVICE "queue reset has no effect, resetting the device"
#define RESET  "device has been reset"
#define WEDGED "no work is accepted until the driver is bound anew"
/* Unbinding and binding a device that does not come to rest */
#define UNREST "device does not come to rest"
#define NO_END "reset does not end"
#define PROBE  "probe with driver vtpu failed"
/* These come with every probe. */
#define HELLO "Initialized vtpu", "of HBM, serial"

#define SLOW_JOBS 20 /* of about a second: more than it takes to reset the device */

FIXTURE(ladder)
{
	struct kst_client me, other;
	struct kst_slow slow;	      /* on other's file */
	struct vtpu_sync sync[2];     /* of the job that hangs and the one behind it */
	struct vtpu_sync busy;	      /* of the last slow job */
	uint32_t queue;		      /* where it hangs */
	const char *const *log_words; /* that the test expects in the log */
	int log;
};

FIXTURE_SETUP(ladder)
{
	kst_client(&self->me);
	kst_client(&self->other);
	kst_slow(&self->slow, self->other.fd, 32);
	kst_need(kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 8, &self->queue), "a queue");
	for (int i = 0; i < 2; i++)
		self->sync[i] = (struct vtpu_sync){ .flags = VTPU_SYNC_SIGNAL,
						    .handle = kst_sync(self->me.fd) };
	self->busy =
		(struct vtpu_sync){ .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(self->other.fd) };
	self->log = kst_log();
}

FIXTURE_TEARDOWN(ladder)
{
	struct kst_client fresh;

	kst_client(&fresh);
	EXPECT_TRUE(kst_answer(&fresh));
	EXPECT_EQ(0, kst_log_bad(self->log, self->log_words));
	kst_client_close(&fresh);
	kst_client_close(&self->me);
	kst_client_close(&self->other);
	close(self->log);
}

/* A job of ours hangs as @fault says, another one is behind it; then the other client's queue has @nslow jobs. */
static void hang(struct __test_metadata *const _metadata, FIXTURE_DATA(ladder) * self,
		 const char *fault, uint32_t nslow)
{
	char args[64];
	uint32_t bytes = kst_args(args, KST_IN_VA, KST_OUT_VA);
	struct vtpu_job job[2], slow[SLOW_JOBS];

	for (int i = 0; i < 2; i++) {
		job[i] = kst_job(self->me.program, args, bytes, &self->sync[i], 1);
		job[i].tag = 70 + i;
	}
	for (uint32_t i = 0; i < nslow; i++)
		slow[i] = kst_slow_job(&self->slow, &self->busy, i == nslow - 1);
	kst_inject(fault);
	ASSERT_EQ(0, kst_submit(self->me.fd, self->queue, job, 2, NULL));
	kst_sleep_ms(100);
	ASSERT_EQ(0, kst_submit(self->other.fd, self->slow.queue, slow, nslow, NULL));
	EXPECT_TRUE(kst_answer(&self->other))
	{
		TH_LOG("beside the hang");
	}
	EXPECT_EQ(1, kst_error(self->me.fd, self->sync[0].handle));
}

/* It ends with ETIME, and it is its queue that is to blame. */
static void ends(struct __test_metadata *const _metadata, FIXTURE_DATA(ladder) * self, int next,
		 uint32_t status)
{
	struct vtpu_queue_state state;

	EXPECT_EQ(0, kst_wait(self->me.fd, self->sync[0].handle, 0, 15 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_wait(self->me.fd, self->sync[1].handle, 0, 5 * KST_SECOND, 0));
	EXPECT_EQ(-ETIME, kst_error(self->me.fd, self->sync[0].handle));
	EXPECT_EQ(next, kst_error(self->me.fd, self->sync[1].handle));
	ASSERT_EQ(0, kst_state(self->me.fd, self->queue, &state));
	EXPECT_EQ(VTPU_QUEUE_HALTED, state.flags);
	EXPECT_EQ(status, state.status);
	EXPECT_EQ(-ETIME, state.error);
	EXPECT_EQ(70, state.fault_tag);
}

static void wait_for_state(struct __test_metadata *const _metadata, int fd, uint32_t want)
{
	for (int i = 0; i < 500 && kst_info(fd).state != want; i++)
		kst_sleep_ms(10);
	ASSERT_EQ(want, kst_info(fd).state);
}

/* A queue that was innocent, and lost to the reset of the device */
static void lost(struct __test_metadata *const _metadata, FIXTURE_DATA(ladder) * self)
{
	struct vtpu_queue_state state;
	struct vtpu_job job = kst_slow_job(&self->slow, NULL, 0);

	EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 5 * KST_SECOND, 0));
	EXPECT_EQ(-EIO, kst_error(self->other.fd, self->busy.handle));
	ASSERT_EQ(0, kst_state(self->other.fd, self->slow.queue, &state));
	EXPECT_EQ(VTPU_QUEUE_RESET, state.flags);
	EXPECT_EQ(-ECANCELED, kst_submit(self->other.fd, self->slow.queue, &job, 1, NULL));
	/* The one that was idle */
	ASSERT_EQ(0, kst_state(self->other.fd, self->other.queue, &state));
	EXPECT_EQ(VTPU_QUEUE_RESET, state.flags);
}

/* After a reset of the device: memory, addresses and programs are as before, new queues work. */
static void goes_on(struct __test_metadata *const _metadata, FIXTURE_DATA(ladder) * self,
		    uint32_t resets)
{
	float before = self->other.d[5];

	wait_for_state(_metadata, self->me.fd, VTPU_DEVICE_OK);
	EXPECT_EQ(resets + 1, kst_info(self->me.fd).reset_count);
	EXPECT_EQ(before, self->other.d[5]);
	ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 0, &self->me.queue));
	ASSERT_EQ(0, kst_queue(self->other.fd, VTPU_QUEUE_COMPUTE, 0, &self->other.queue));
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_TRUE(kst_answer(&self->other));
}

/* A job that takes several times the backstop, and gets on, is left alone. */
TEST_F_TIMEOUT(ladder, slow_is_not_hung, 240)
{
	struct vtpu_job job = kst_slow_job(&self->slow, &self->busy, 1);
	int64_t start = kst_now(), once;

	ASSERT_EQ(0, kst_submit(self->other.fd, self->slow.queue, &job, 1, NULL));
	ASSERT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 60 * KST_SECOND, 0));
	once = kst_now() - start;
	/* Each descriptor fills its range over and over, for five seconds at the speed of this host. */
	for (unsigned int i = 0; i < VTPU_MAX_COPY_DESCS; i++)
		self->slow.desc[i].rows = 5 * KST_SECOND / once + 5;
	start = kst_now();
	ASSERT_EQ(0, kst_submit(self->other.fd, self->slow.queue, &job, 1, NULL));
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 200 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->other.fd, self->busy.handle));
	EXPECT_LT(3 * KST_SECOND, kst_now() - start)
	{
		TH_LOG("too quick to say anything");
	}
}

/* First rung: the abort helps. */
TEST_F_TIMEOUT(ladder, abort, 120)
{
	static const char *const words[] = { ABORT, NULL };
	uint32_t resets = kst_info(self->me.fd).reset_count;

	self->log_words = words;
	hang(_metadata, self, "hang:job=1", 2);
	ends(_metadata, self, -ECANCELED, VTPU_ST_ABORTED);
	EXPECT_TRUE(kst_answer(&self->other));
	EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 60 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->other.fd, self->busy.handle));
	EXPECT_EQ(resets, kst_info(self->me.fd).reset_count);
}

/* Second rung: the queue is reset, and jobs of others run right through it. */
TEST_F_TIMEOUT(ladder, queue_reset, 120)
{
	static const char *const words[] = { ABORT, QUEUE, NULL };
	uint32_t resets = kst_info(self->me.fd).reset_count;

	self->log_words = words;
	hang(_metadata, self, "ignore-abort:job=1", 10);
	ends(_metadata, self, -ECANCELED, VTPU_ST_TIMEOUT);
	EXPECT_EQ(1, kst_error(self->other.fd, self->busy.handle))
	{
		TH_LOG("nothing of the other client's was running");
	}
	EXPECT_TRUE(kst_answer(&self->other));
	EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 60 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->other.fd, self->busy.handle));
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_EQ(resets, kst_info(self->me.fd).reset_count);
}

/* Third rung: the device is reset. Jobs of others are lost with EIO, and nothing else of theirs. */
TEST_F_TIMEOUT(ladder, device_reset, 60)
{
	static const char *const words[] = { ABORT, QUEUE, DEVICE, RESET, NULL };
	uint32_t resets = kst_info(self->me.fd).reset_count;

	self->log_words = words;
	hang(_metadata, self, "stuck:job=1", SLOW_JOBS);
	ends(_metadata, self, -EIO, VTPU_ST_TIMEOUT);
	lost(_metadata, self);
	goes_on(_metadata, self, resets);
}

/* The same when the client closes instead of waiting: nobody else is there to notice. */
TEST_F_TIMEOUT(ladder, device_reset_after_close, 60)
{
	static const char *const words[] = { ABORT, QUEUE, DEVICE, RESET, NULL };
	uint32_t resets = kst_info(self->other.fd).reset_count;
	int64_t start;

	self->log_words = words;
	hang(_metadata, self, "stuck:job=1", SLOW_JOBS);
	start = kst_now();
	kst_client_close(&self->me);
	EXPECT_GT(KST_SECOND / 2, kst_now() - start);
	EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 15 * KST_SECOND, 0));
	lost(_metadata, self);
	kst_client(&self->me);
	goes_on(_metadata, self, resets);
}

/* A fatal error: nobody in particular is to blame. */
TEST_F_TIMEOUT(ladder, fatal_error, 60)
{
	static const char *const words[] = { "device stopped: device model fault, resetting", RESET,
					     NULL };
	uint32_t resets = kst_info(self->me.fd).reset_count;
	struct vtpu_queue_state state;
	struct vtpu_job job, slow[3];
	char args[64];
	uint32_t bytes = kst_args(args, KST_IN_VA, KST_OUT_VA);

	self->log_words = words;
	for (int i = 0; i < 3; i++)
		slow[i] = kst_slow_job(&self->slow, &self->busy, i == 2);
	ASSERT_EQ(0, kst_submit(self->other.fd, self->slow.queue, slow, 3, NULL));
	kst_sleep_ms(100);
	kst_inject("fatal:job=1");
	job = kst_job(self->me.program, args, bytes, NULL, 0);
	EXPECT_EQ(-EIO, kst_run(self->me.fd, self->queue, &job));
	ASSERT_EQ(0, kst_state(self->me.fd, self->queue, &state));
	EXPECT_EQ(VTPU_QUEUE_RESET, state.flags);
	lost(_metadata, self);
	goes_on(_metadata, self, resets);
}

/* A command that the device never completes: the call says so, and works when it is made again. */
TEST_F_TIMEOUT(ladder, lost_command, 60)
{
	static const char *const words[] = { "admin command 0x", RESET, NULL };
	uint32_t resets = kst_info(self->me.fd).reset_count, queue;
	int64_t start;

	self->log_words = words;
	kst_inject("lost-command:job=1");
	start = kst_now();
	EXPECT_EQ(-EAGAIN, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 0, &queue));
	EXPECT_GT(kst_limit(5 * KST_SECOND), kst_now() - start);
	EXPECT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COPY, 0, &queue));
	goes_on(_metadata, self, resets);
}

/* The device stops while the driver is being bound: it is not, nobody resets what is half there, and it can be again. */
TEST_F_TIMEOUT(ladder, fatal_in_probe, 120)
{
	static const char *const words[] = { "device stopped: device model fault",
					     "admin command 0x",
					     "device does not come up",
					     PROBE,
					     HELLO,
					     NULL };

	self->log_words = words;
	kst_pci();
	/* Memory that clients still have is cleared by the next driver, with a job. */
	ASSERT_EQ(0, kst_driver("unbind"));
	kst_inject("fatal:job=1");
	EXPECT_GT(0, kst_driver("bind"));
	ASSERT_EQ(0, kst_driver("bind"));
}

/* ---- Beyond the ladder ---- */

/* What each call says on a device that has been given up; none waits. */
static void check_calls(struct __test_metadata *const _metadata, FIXTURE_DATA(ladder) * self)
{
	struct kst_client *c = &self->other;
	struct vtpu_bo_info info = { .handle = c->in };
	struct vtpu_bo_wait wait = { .handle = c->in, .timeout_ns = kst_now() + KST_SECOND };
	struct vtpu_bo_set_label label = { .handle = c->in, .label = (uintptr_t) "kept" };
	struct vtpu_program_info program = { .program = c->program };
	struct vtpu_program_destroy destroy = { .program = c->program };
	struct vtpu_job job = kst_job(0, NULL, 0, NULL, 0);
	int64_t start = kst_now();
	char text[32] = "";
	uint32_t id;
	size_t bytes;
	void *image = kst_image(&bytes);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vtpu/state", kst_pci());
	fd = open(path, O_RDONLY);
	job.flags = VTPU_JOB_NOP;
	EXPECT_EQ(VTPU_DEVICE_WEDGED, kst_info(c->fd).state);
	EXPECT_LT(0, read(fd, text, sizeof(text) - 1));
	EXPECT_STREQ("wedged\n", text);
	close(fd);
	EXPECT_EQ(-EIO, kst_bo(c->fd, 4096, VTPU_REGION_HBM, 0, &id));
	EXPECT_EQ(-EIO, kst_bo(c->fd, 4096, VTPU_REGION_HOST, 0, &id));
	EXPECT_EQ(0, kst_ioctl(c->fd, DRM_IOCTL_VTPU_BO_INFO, &info));
	EXPECT_EQ(0, kst_ioctl(c->fd, DRM_IOCTL_VTPU_BO_WAIT, &wait));
	EXPECT_EQ(0, kst_ioctl(c->fd, DRM_IOCTL_VTPU_BO_SET_LABEL, &label));
	EXPECT_EQ(-EIO, kst_map(c->fd, c->in, 0, 1ULL << 40, 4096, 0));
	EXPECT_EQ(-EIO, kst_unmap(c->fd, KST_IN_VA, VTPU_PAGE_BYTES));
	EXPECT_EQ(-EIO, kst_load(c->fd, image, bytes, &id));
	EXPECT_EQ(0, kst_ioctl(c->fd, DRM_IOCTL_VTPU_PROGRAM_INFO, &program));
	EXPECT_EQ(0, kst_ioctl(c->fd, DRM_IOCTL_VTPU_PROGRAM_DESTROY, &destroy));
	EXPECT_EQ(-EIO, kst_queue(c->fd, VTPU_QUEUE_COPY, 0, &id));
	EXPECT_EQ(-ECANCELED, kst_submit(c->fd, c->queue, &job, 1, NULL));
	EXPECT_EQ(0, kst_queue_destroy(c->fd, c->queue));
	EXPECT_EQ(0, kst_close(c->fd, self->slow.bo));
	/* A client that comes now learns it as well. */
	fd = kst_open();
	EXPECT_EQ(VTPU_DEVICE_WEDGED, kst_info(fd).state);
	EXPECT_EQ(-EIO, kst_bo(fd, 4096, VTPU_REGION_HBM, 0, &id));
	close(fd);
	EXPECT_GT(kst_limit(KST_SECOND), kst_now() - start);
	free(image);
}

static const char *const wedged_words[] = { ABORT,  QUEUE, DEVICE, WEDGED, UNREST,
					    NO_END, PROBE, HELLO,  NULL };

static void wedge(struct __test_metadata *const _metadata, FIXTURE_DATA(ladder) * self)
{
	self->log_words = wedged_words;
	kst_pci();
	hang(_metadata, self, "dead:job=1", SLOW_JOBS);
	ends(_metadata, self, -EIO, VTPU_ST_TIMEOUT);
	wait_for_state(_metadata, self->me.fd, VTPU_DEVICE_WEDGED);
	lost(_metadata, self);
	check_calls(_metadata, self);
}

/* Unbound with files open, and not bound again before the bus has reset it */
TEST_F_TIMEOUT(ladder, wedged_unbind, 120)
{
	int64_t start;
	uint32_t id;

	wedge(_metadata, self);
	start = kst_now();
	ASSERT_EQ(0, kst_driver("unbind"));
	EXPECT_GT(kst_limit(5 * KST_SECOND), kst_now() - start);
	EXPECT_EQ(-ENODEV, kst_bo(self->other.fd, 4096, VTPU_REGION_HBM, 0, &id));
	start = kst_now();
	EXPECT_EQ(-EIO, kst_driver("bind"));
	EXPECT_GT(kst_limit(5 * KST_SECOND), kst_now() - start);
	ASSERT_EQ(0, kst_function_reset());
	ASSERT_EQ(0, kst_driver("bind"));
}

/* Unloaded; a module that is loaded anew finds it as it is */
TEST_F_TIMEOUT(ladder, wedged_unload, 120)
{
	wedge(_metadata, self);
	kst_client_close(&self->me);
	kst_client_close(&self->other);
	ASSERT_EQ(0, kst_module_unload());
	ASSERT_EQ(0, kst_module_load("timeout_ms=1000 reset_ms=1000"));
	EXPECT_EQ(-EIO, kst_driver("bind"));
	ASSERT_EQ(0, kst_function_reset());
	ASSERT_EQ(0, kst_driver("bind"));
	kst_client(&self->me);
	kst_client(&self->other);
}

TEST_HARNESS_MAIN
