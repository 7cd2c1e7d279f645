// SPDX-License-Identifier: MIT
/*
 * removal.c - the device is pulled out under everybody's hands: reads give all ones, nothing ends.
 *
 * The device brings it about (kst_inject()), and does not come back, so this is one test in a VM of
 * its own. Expects the module with timeout_ms=1000 reset_ms=1000.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

static const char *const words[] = { "device does not answer; no work is accepted",
				     "device does not come to rest", "no vTPU",
				     "probe with driver vtpu failed", NULL };

FIXTURE(removal)
{
	struct kst_client busy, idle;
	struct kst_slow slow;
	int log;
};

FIXTURE_SETUP(removal)
{
	kst_pci();
	self->log = kst_log();
	kst_client(&self->busy);
	kst_client(&self->idle);
	kst_slow(&self->slow, self->busy.fd, 4);
}

FIXTURE_TEARDOWN(removal)
{
	EXPECT_EQ(0, kst_log_bad(self->log, words));
	close(self->log);
}

TEST_F_TIMEOUT(removal, pulled_out, 120)
{
	struct kst_client *busy = &self->busy, *idle = &self->idle;
	struct kst_slow *slow = &self->slow;
	struct vtpu_sync sync[2];
	struct vtpu_job job[2];
	struct vtpu_queue_state state;
	int64_t start;
	uint32_t bo;

	for (int i = 0; i < 2; i++) {
		sync[i] = (struct vtpu_sync){ .flags = VTPU_SYNC_SIGNAL,
					      .handle = kst_sync(busy->fd) };
		job[i] = kst_slow_job(slow, &sync[i], 1);
	}
	EXPECT_TRUE(kst_answer(idle));
	ASSERT_EQ(0, kst_submit(busy->fd, slow->queue, job, 2, NULL));
	kst_sleep_ms(50);
	start = kst_now();
	kst_inject("removal:job=0");
	kst_sleep_ms(50);

	/* Mapped memory of the device is all ones, and no signal comes. */
	EXPECT_EQ(UINT32_MAX, *(volatile uint32_t *)idle->d);
	*(volatile uint32_t *)idle->d = 5;
	EXPECT_EQ(UINT32_MAX, *(volatile uint32_t *)idle->d);

	/* Jobs end without it, and so does one that comes now. */
	EXPECT_EQ(0, kst_wait(busy->fd, sync[1].handle, 0, 20 * KST_SECOND, 0));
	EXPECT_GT(kst_limit(3 * KST_SECOND), kst_now() - start);
	EXPECT_EQ(-EIO, kst_error(busy->fd, sync[0].handle));
	EXPECT_EQ(-EIO, kst_error(busy->fd, sync[1].handle));
	ASSERT_EQ(0, kst_state(busy->fd, slow->queue, &state));
	EXPECT_EQ(VTPU_QUEUE_RESET, state.flags);
	EXPECT_EQ(VTPU_DEVICE_WEDGED, kst_info(idle->fd).state);
	start = kst_now();
	EXPECT_EQ(-ECANCELED, kst_submit(busy->fd, slow->queue, job, 1, NULL));
	EXPECT_EQ(-EIO, kst_bo(idle->fd, 4096, VTPU_REGION_HBM, 0, &bo));
	EXPECT_EQ(-EIO, kst_queue(idle->fd, VTPU_QUEUE_COPY, 0, &bo));
	EXPECT_GT(kst_limit(KST_SECOND), kst_now() - start);

	/* The driver lets go with files open, does not come back to nothing, and can be unloaded. */
	ASSERT_EQ(0, kst_driver("unbind"));
	EXPECT_EQ(-ENODEV, kst_bo(idle->fd, 4096, VTPU_REGION_HBM, 0, &bo));
	EXPECT_GT(0, kst_driver("bind"));
	kst_client_close(busy);
	kst_client_close(idle);
	EXPECT_EQ(0, kst_module_unload());
	EXPECT_GT(kst_limit(20 * KST_SECOND), kst_now() - start);
}

TEST_HARNESS_MAIN
