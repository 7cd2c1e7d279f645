/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_compat.h - every difference between the kernels that the driver builds on.
 *
 * compat-probe.sh compiles a probe for each and writes vtpu_compat_gen.h. A
 * shim goes when no supported kernel needs it; no other file has an #if on the
 * kernel. The release in which a thing changed upstream is said with each.
 */
#ifndef VTPU_COMPAT_H
#define VTPU_COMPAT_H

#include <linux/device.h>
#include <linux/kobject.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>

#include "vtpu_compat_gen.h"

/* 6.15: arguments in a struct; later without num_rqs */
static inline int vtpu_compat_sched_init(struct drm_gpu_scheduler *sched,
					 const struct drm_sched_backend_ops *ops,
					 struct workqueue_struct *submit_wq,
					 struct workqueue_struct *timeout_wq, u32 credits,
					 long timeout, const char *name, struct device *dev)
{
#ifdef VTPU_HAVE_SCHED_INIT_ARGS
	const struct drm_sched_init_args args = {
		.ops = ops,
		.submit_wq = submit_wq,
		.timeout_wq = timeout_wq,
#ifdef VTPU_HAVE_SCHED_NUM_RQS
		.num_rqs = 1,
#endif
		.credit_limit = credits,
		.timeout = timeout,
		.name = name,
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
#else
	return drm_sched_init(sched, ops, submit_wq, 1, credits, 0, timeout, timeout_wq, NULL, name,
			      dev);
#endif
}

/* 6.17: client id */
static inline int vtpu_compat_sched_job_init(struct drm_sched_job *job,
					     struct drm_sched_entity *entity, void *owner,
					     struct drm_file *file)
{
#ifdef VTPU_HAVE_SCHED_CLIENT_ID
	return drm_sched_job_init(job, entity, 1, owner, file->client_id);
#else
	return drm_sched_job_init(job, entity, 1, owner);
#endif
}

/*
 * 6.17: DRM_GPU_SCHED_STAT_NO_HANG. Before, the scheduler has taken the job off
 * its list when it calls timedout_job; whoever finds that nothing hangs puts it
 * back, and kicks the work that frees it if it ended meanwhile: its own kick
 * found it missing.
 */
static inline enum drm_gpu_sched_stat vtpu_compat_no_hang(struct drm_sched_job *job)
{
#ifdef VTPU_HAVE_SCHED_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	struct drm_gpu_scheduler *sched = job->sched;

	spin_lock(&sched->job_list_lock);
	list_add(&job->list, &sched->pending_list);
	spin_unlock(&sched->job_list_lock);
	queue_work(sched->submit_wq, &sched->work_free_job);
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

/* 6.15: drm_dev_wedged_event(); 6.17: with the task. Before, the same uevent by hand */
static inline void vtpu_compat_wedged(struct drm_device *drm)
{
#if defined(VTPU_HAVE_WEDGED_EVENT_TASK)
	drm_dev_wedged_event(drm, DRM_WEDGE_RECOVERY_REBIND, NULL);
#elif defined(VTPU_HAVE_WEDGED_EVENT)
	drm_dev_wedged_event(drm, DRM_WEDGE_RECOVERY_REBIND);
#else
	kobject_uevent_env(&drm->accel->kdev->kobj, KOBJ_CHANGE,
			   (char *[]){ "WEDGED=rebind", NULL });
#endif
}

#endif /* VTPU_COMPAT_H */
