// SPDX-License-Identifier: MIT
/*
 * fail_nth.c - each system call of the driver with a failure planted in its first, second, ... n-th allocation or copy
 * from or to the program, until none is left. Needs a kernel with fault injection (the debug kernel).
 *
 * A call that fails must say ENOMEM or EFAULT; after ENOMEM the same call must succeed, so that no half of it is left;
 * when the file is closed, the user's account must be what it was; and in the end a bystander's job still has its known
 * answer. What is lost or used after its end shows in the kernel's log, which tests/debug/run.sh looks at.
 *
 *	fail_nth [CASE]		only cases whose name holds that
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail_nth.h"
#include "plant.h"
#include "unit/tap.h"

#define MAX_FAULTS 3000

static unsigned int total;

/* ---- Accounts ---- */

struct accounts {
	uint64_t used[VTPU_QUOTAS];
};

static void read_accounts(int fd, struct accounts *accounts)
{
	struct vtpu_query_quota quota;
	struct vtpu_dev_query arg = { .type = VTPU_QUERY_QUOTA, .ptr = (uintptr_t)&quota };

	for (arg.index = 0; arg.index < VTPU_QUOTAS; arg.index++) {
		arg.size = sizeof(quota);
		kst_need(kst_ioctl(fd, DRM_IOCTL_VTPU_DEV_QUERY, &arg), "the account");
		accounts->used[arg.index] = quota.user_used;
	}
}

/* Much is given back by work that runs later. */
static bool settled(int fd, const struct accounts *before)
{
	struct accounts now;
	unsigned int i;

	for (i = 0; i < 2000; i++) {
		read_accounts(fd, &now);
		if (!memcmp(&now, before, sizeof(now)))
			return true;
		kst_sleep_ms(10);
	}
	for (i = 0; i < VTPU_QUOTAS; i++)
		if (now.used[i] != before->used[i])
			printf("# account %u: %llu before, %llu after\n", i,
			       (unsigned long long)before->used[i],
			       (unsigned long long)now.used[i]);
	return false;
}

/* ---- Running ---- */

struct tally {
	unsigned int faults, refused;
};

static void leave(struct scene *s)
{
	if (s->map)
		munmap(s->map, s->map_bytes);
	if (s->extra >= 0)
		close(s->extra);
	if (s->fd >= 0)
		close(s->fd);
	free(s->image);
}

/* One call with the n-th fault. *@more: there may be another fault behind it */
static bool one(const struct fail_case *c, unsigned int n, struct tally *tally, bool *more)
{
	struct scene s = { .fd = kst_open(), .extra = -1 };
	bool ok = true;
	int ret;

	if (c->prepare)
		c->prepare(&s);
	plant_fault(n);
	ret = c->call(&s);
	*more = plant_was_hit();
	tally->faults += *more;
	tally->refused += *more && ret;
	if (ret && (!*more || (ret != -ENOMEM && ret != -EFAULT))) {
		printf("# %s, fault %u%s: %s\n", c->name, n, *more ? "" : " (not reached)",
		       strerror(-ret));
		ok = false;
	}
	if (ok && ret == -ENOMEM) {
		ret = c->call(&s);
		if (ret) {
			printf("# %s, again after fault %u: %s\n", c->name, n, strerror(-ret));
			ok = false;
		}
	}
	if (ok && !ret && c->check && !c->check(&s)) {
		printf("# %s, fault %u: done, but without the effect\n", c->name, n);
		ok = false;
	}
	leave(&s);
	return ok;
}

static void run(const struct fail_case *c, struct kst_client *bystander,
		const struct accounts *before)
{
	struct tally tally = { 0 };
	bool ok = true, more = true;
	unsigned int n;

	for (n = 1; ok && more && n <= MAX_FAULTS; n++)
		ok = one(c, n, &tally, &more) && settled(bystander->fd, before);
	if (more && n > MAX_FAULTS) {
		printf("# more than %u faults\n", MAX_FAULTS);
		ok = false;
	}
	ok = kst_answer(bystander) && ok;
	total += tally.faults;
	tap_ok(ok, "%s: %u faults, %u refused", c->name, tally.faults, tally.refused);
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	const struct fail_case *c;
	struct kst_client bystander;
	struct accounts before;

	plant_setup();
	kst_client(&bystander);
	/* Before its first job, whose account is settled some time after its end. */
	read_accounts(bystander.fd, &before);
	for (c = fail_cases; c->name; c++)
		if (strstr(c->name, only))
			run(c, &bystander, &before);
	/* Some calls need no memory; all of them cannot. */
	tap_ok(total, "%u faults in all", total);
	return tap_done();
}
