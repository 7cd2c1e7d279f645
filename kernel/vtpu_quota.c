// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_quota.c - how much a file and a user may have, and who has what.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "vtpu_device.h"

static unsigned long long vtpu_file_quota[VTPU_QUOTAS] = {
	[VTPU_QUOTA_QUEUES] = 32,
	[VTPU_QUOTA_PROGRAMS] = 1024,
	[VTPU_QUOTA_INSTRUCTIONS] = 16 << 20,
	[VTPU_QUOTA_JOBS] = 32 << 10,
};

static unsigned long long vtpu_user_quota[VTPU_QUOTAS] = {
	[VTPU_QUOTA_QUEUES] = VTPU_MAX_QUEUES / 2,
	[VTPU_QUOTA_PROGRAMS] = VTPU_MAX_PROGRAMS / 2,
	[VTPU_QUOTA_INSTRUCTIONS] = 32 << 20,
	[VTPU_QUOTA_JOBS] = 64 << 10,
};

module_param_array_named(file_quota, vtpu_file_quota, ullong, NULL, 0444);
MODULE_PARM_DESC(file_quota,
		 "of a file: HBM bytes, host bytes, queues, programs, instructions, jobs");
module_param_array_named(user_quota, vtpu_user_quota, ullong, NULL, 0444);
MODULE_PARM_DESC(user_quota, "the same of all files of a user; 0 is no limit");

static u64 user_limit(enum vtpu_quota what)
{
	if (what == VTPU_QUOTA_HOST_BYTES && !vtpu_user_quota[what])
		return (u64)totalram_pages() / 2 * PAGE_SIZE;
	return vtpu_user_quota[what];
}

static bool add(struct vtpu_account *account, enum vtpu_quota what, u64 n, u64 limit)
{
	u64 used = atomic64_add_return(n, &account->used[what]);

	if (!limit || (used <= limit && used >= n))
		return true;
	atomic64_sub(n, &account->used[what]);
	return false;
}

/*
 * vtpu_charge() - account for something that a file is about to get
 *
 * Return: 0; -EDQUOT if file or user would have too much.
 */
int vtpu_charge(struct vtpu_file *vfile, enum vtpu_quota what, u64 n)
{
	struct drm_device *drm = &vfile->vdev->drm;

	if (!add(&vfile->account, what, n, vtpu_file_quota[what])) {
		drm_dbg(drm, "quota %u: %llu more are over the file's %llu\n", what, n,
			vtpu_file_quota[what]);
		return -EDQUOT;
	}
	if (!add(&vfile->user->account, what, n, user_limit(what))) {
		atomic64_sub(n, &vfile->account.used[what]);
		drm_dbg(drm, "quota %u: %llu more are over the user's %llu\n", what, n,
			user_limit(what));
		return -EDQUOT;
	}
	atomic64_add(n, &vfile->vdev->used.used[what]);
	return 0;
}

void vtpu_uncharge(struct vtpu_file *vfile, enum vtpu_quota what, u64 n)
{
	atomic64_sub(n, &vfile->account.used[what]);
	atomic64_sub(n, &vfile->user->account.used[what]);
	atomic64_sub(n, &vfile->vdev->used.used[what]);
}

void vtpu_quota_fill(struct vtpu_file *vfile, enum vtpu_quota what, struct vtpu_query_quota *quota)
{
	quota->file_used = atomic64_read(&vfile->account.used[what]);
	quota->file_limit = vtpu_file_quota[what];
	quota->user_used = atomic64_read(&vfile->user->account.used[what]);
	quota->user_limit = user_limit(what);
}

/* Find or make the account of the caller's user. */
int vtpu_user_open(struct vtpu_file *vfile)
{
	struct vtpu_device *vdev = vfile->vdev;
	struct vtpu_user *user, *fresh;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh)
		return -ENOMEM;
	fresh->uid = current_uid();
	mutex_lock(&vdev->list_lock);
	list_for_each_entry(user, &vdev->users, node) {
		if (!uid_eq(user->uid, fresh->uid))
			continue;
		kfree(fresh);
		goto found;
	}
	user = fresh;
	list_add(&user->node, &vdev->users);
found:
	user->files++;
	vfile->user = user;
	mutex_unlock(&vdev->list_lock);
	return 0;
}

void vtpu_user_close(struct vtpu_file *vfile)
{
	struct vtpu_device *vdev = vfile->vdev;
	struct vtpu_user *user = vfile->user;

	mutex_lock(&vdev->list_lock);
	if (!--user->files) {
		list_del(&user->node);
		kfree(user);
	}
	mutex_unlock(&vdev->list_lock);
}
