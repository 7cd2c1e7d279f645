// SPDX-License-Identifier: MIT
/*
 * bus_error.c - errors of the bus, as PCI Express reports them: corrected, uncorrected, fatal.
 *
 * The device reports each (kst_bus_error()); the kernel's AER driver hears it at the root port and asks
 * ours what to do. Expects the module with timeout_ms=1000 reset_ms=1000.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "kst.h"

/* What the kernel itself has to say */
#define AER   "AER: ", "PCIe Bus Error"
#define LINK  "device [", "  [", "Root Port link has been reset"
#define RESET "device has been reset"

FIXTURE(bus_error)
{
	struct kst_client me, other;
	struct kst_slow slow; /* on other's file */
	struct vtpu_sync busy;
	int log;
};

FIXTURE_SETUP(bus_error)
{
	struct vtpu_job job;

	kst_client(&self->me);
	kst_client(&self->other);
	kst_slow(&self->slow, self->other.fd, 4);
	self->busy =
		(struct vtpu_sync){ .flags = VTPU_SYNC_SIGNAL, .handle = kst_sync(self->other.fd) };
	self->log = kst_log();
	job = kst_slow_job(&self->slow, &self->busy, 1);
	kst_need(kst_submit(self->other.fd, self->slow.queue, &job, 1, NULL), "a slow job");
	kst_sleep_ms(50);
}

FIXTURE_TEARDOWN(bus_error)
{
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_TRUE(kst_answer(&self->other));
	kst_client_close(&self->me);
	kst_client_close(&self->other);
	close(self->log);
}

static const char *const words[] = { AER, LINK, RESET, NULL };

/* The link has got over it: nobody loses anything. */
static void goes_by(struct __test_metadata *const _metadata, FIXTURE_DATA(bus_error) * self,
		    const char *error)
{
	uint32_t resets = kst_info(self->me.fd).reset_count;

	kst_bus_error(error);
	EXPECT_TRUE(kst_answer(&self->me));
	EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 60 * KST_SECOND, 0));
	EXPECT_EQ(0, kst_error(self->other.fd, self->busy.handle));
	EXPECT_EQ(VTPU_DEVICE_OK, kst_info(self->me.fd).state);
	EXPECT_EQ(resets, kst_info(self->me.fd).reset_count);
	EXPECT_EQ(0, kst_log_bad(self->log, words));
}

TEST_F_TIMEOUT(bus_error, corrected, 120)
{
	goes_by(_metadata, self, "BAD_TLP");
}

TEST_F_TIMEOUT(bus_error, not_fatal, 120)
{
	goes_by(_metadata, self, "POISON_TLP");
}

/* The bus resets the device: work is lost with EIO, all else is as before. Twice, as the state must be saved again. */
TEST_F_TIMEOUT(bus_error, fatal, 120)
{
	uint32_t resets = kst_info(self->me.fd).reset_count;
	float before;

	EXPECT_TRUE(kst_answer(&self->me));
	before = self->me.d[5];
	for (uint32_t i = 1; i <= 2; i++) {
		kst_bus_error("DLP");
		EXPECT_EQ(0, kst_wait(self->other.fd, self->busy.handle, 0, 20 * KST_SECOND, 0));
		EXPECT_EQ(-EIO, kst_error(self->other.fd, self->busy.handle));
		for (int ms = 0; ms < 10000 && kst_info(self->me.fd).reset_count != resets + i;
		     ms += 10)
			kst_sleep_ms(10);
		for (int ms = 0; ms < 10000 && kst_info(self->me.fd).state != VTPU_DEVICE_OK;
		     ms += 10)
			kst_sleep_ms(10);
		EXPECT_EQ(VTPU_DEVICE_OK, kst_info(self->me.fd).state);
		EXPECT_EQ(before, self->me.d[5]);
		ASSERT_EQ(0, kst_queue(self->me.fd, VTPU_QUEUE_COMPUTE, 0, &self->me.queue));
		ASSERT_EQ(0, kst_queue(self->other.fd, VTPU_QUEUE_COMPUTE, 0, &self->other.queue));
		EXPECT_TRUE(kst_answer(&self->me));
		EXPECT_TRUE(kst_answer(&self->other));
		before = self->me.d[5];
	}
	EXPECT_EQ(0, kst_log_bad(self->log, words));
}

TEST_HARNESS_MAIN
