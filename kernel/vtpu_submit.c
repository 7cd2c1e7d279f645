// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_submit.c - the submit ioctl: all jobs are made before the first is accepted.
 */
#include <linux/slab.h>

#include "vtpu_device.h"

static bool has_room(struct vtpu_queue *queue)
{
	return atomic_read(&queue->inflight) < queue->depth || READ_ONCE(queue->error);
}

/*
 * Wait until the queue takes one more job. Only before the first job of a call
 * may a signal end the wait: later the call could not be restarted without
 * entering jobs twice, and the wait is bounded by the jobs that run. Only then,
 * too, is a halted queue an error: jobs behind one that fails while the call
 * still goes on are entered, and end as cancelled.
 */
static int wait_room(struct vtpu_queue *queue, struct drm_file *file, bool first)
{
	int ret = 0;

	if (!has_room(queue)) {
		if (file->filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (first)
			ret = wait_event_interruptible(queue->room, has_room(queue));
		else
			ret = wait_event_killable(queue->room, has_room(queue));
	}
	return ret || !first ? ret : READ_ONCE(queue->error);
}

static int accept_all(struct vtpu_queue *queue, struct drm_file *file, struct vtpu_task **tasks,
		      u32 count, u32 *accepted)
{
	u32 i;
	int ret;

	ret = mutex_lock_interruptible(&queue->submit_lock);
	if (ret)
		return ret == -EINTR ? -ERESTARTSYS : ret;
	for (i = 0; i < count; i++) {
		ret = wait_room(queue, file, !i);
		if (!ret)
			ret = vtpu_task_accept(tasks[i]);
		if (ret)
			break;
		tasks[i] = NULL;
	}
	mutex_unlock(&queue->submit_lock);
	*accepted = i;
	/*
	 * As with write(2): what is temporary is no error once something was
	 * accepted. The caller must not repeat the call as it was.
	 */
	if (i && (ret == -EAGAIN || ret == -ERESTARTSYS))
		ret = 0;
	return ret;
}

static int create_all(struct vtpu_queue *queue, struct drm_file *file,
		      const struct vtpu_array *jobs, struct vtpu_task **tasks)
{
	struct vtpu_job job;
	int ret = 0;
	u32 i;

	for (i = 0; i < jobs->count && !ret; i++) {
		ret = vtpu_get_element(jobs, i, &job, sizeof(job));
		if (!ret)
			ret = vtpu_task_create(queue, file, &job, &tasks[i]);
		if (ret)
			drm_dbg(&queue->file->vdev->drm, "job %u of %u: %d\n", i, jobs->count, ret);
	}
	return ret;
}

int vtpu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_submit *args = data;
	struct vtpu_task **tasks;
	struct vtpu_queue *queue;
	int ret;
	u32 i;

	args->submitted = 0;
	if (args->flags || args->pad || !args->jobs.count ||
	    args->jobs.stride < sizeof(struct vtpu_job))
		return -EINVAL;
	if (args->jobs.count > VTPU_MAX_SUBMIT_JOBS)
		return -E2BIG;
	queue = vtpu_queue_find(file->driver_priv, args->queue);
	if (!queue)
		return -ENOENT;
	ret = READ_ONCE(queue->error);
	if (ret)
		goto put;
	tasks = kcalloc(args->jobs.count, sizeof(*tasks), GFP_KERNEL_ACCOUNT);
	if (!tasks) {
		ret = -ENOMEM;
		goto put;
	}
	ret = create_all(queue, file, &args->jobs, tasks);
	if (!ret)
		ret = accept_all(queue, file, tasks, args->jobs.count, &args->submitted);
	for (i = 0; i < args->jobs.count; i++)
		if (tasks[i])
			vtpu_task_abandon(tasks[i]);
	kfree(tasks);
put:
	vtpu_queue_put(queue);
	return ret;
}
