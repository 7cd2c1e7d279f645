/* SPDX-License-Identifier: MIT */
/*
 * kst_check.h - the verdict on one call: its answer, and that it hurt nobody.
 *
 * For programs with kselftest_harness.h, which they include before this.
 */
#ifndef VTPU_KST_CHECK_H
#define VTPU_KST_CHECK_H

#include <string.h>

#include "kst.h"

/**
 * kst_check() - @got is @want, both clients' jobs have their known answers, and the kernel's log is as it should be
 * @name: what was tried
 * @log: by kst_log()
 */
static inline void kst_check(struct __test_metadata *const _metadata, struct kst_client *me,
			     struct kst_client *other, int log, const char *name, int got, int want)
{
	EXPECT_EQ(want, got)
	{
		TH_LOG("%s: %s, expected %s", name, got ? strerror(-got) : "accepted",
		       want ? strerror(-want) : "accepted");
	}
	EXPECT_TRUE(kst_answer(me))
	{
		TH_LOG("%s: own job", name);
	}
	EXPECT_TRUE(kst_answer(other))
	{
		TH_LOG("%s: bystander's job", name);
	}
	EXPECT_EQ(0, kst_log_bad(log, NULL))
	{
		TH_LOG("%s: kernel log", name);
	}
}

#endif /* VTPU_KST_CHECK_H */
