// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_admin.c - the admin queue: commands in, completions out in any order.
 *
 * A command is executed (the caller sleeps until it is done) or posted (a
 * callback follows). Every command ends: by the device, or by the flush of the
 * reset that a late one brings about. So commands may live on the stack.
 */
#include <linux/dma-mapping.h>

#include "vtpu_device.h"

#define DEPTH ((u32)BIT(VTPU_ADMIN_DEPTH_LOG2))
#define MASK  (DEPTH - 1)
/* Posted commands may wait for running jobs; the rest is for those that somebody waits for. */
#define MAX_POSTED (DEPTH / 2)

int vtpu_admin_init(struct vtpu_device *vdev)
{
	struct vtpu_admin *admin = &vdev->admin;

	spin_lock_init(&admin->lock);
	INIT_LIST_HEAD(&admin->running);
	INIT_LIST_HEAD(&admin->backlog);
	init_waitqueue_head(&admin->room);
	admin->dead = true;
	/* Entries (one page), completions, tail word. */
	BUILD_BUG_ON(DEPTH * sizeof(*admin->sq) > VTPU_PAGE_BYTES);
	BUILD_BUG_ON(DEPTH * sizeof(*admin->cq) + sizeof(u32) > VTPU_PAGE_BYTES);
	admin->mem =
		dma_alloc_coherent(vdev->drm.dev, 2 * VTPU_PAGE_BYTES, &admin->dma, GFP_KERNEL);
	if (!admin->mem)
		return -ENOMEM;
	admin->sq = admin->mem;
	admin->cq = admin->mem + VTPU_PAGE_BYTES;
	admin->tail_word = (void *)(admin->cq + DEPTH);
	return 0;
}

/* The device has stopped and all commands have been flushed. */
void vtpu_admin_fini(struct vtpu_device *vdev)
{
	struct vtpu_admin *admin = &vdev->admin;

	dma_free_coherent(vdev->drm.dev, 2 * VTPU_PAGE_BYTES, admin->mem, admin->dma);
	admin->mem = NULL;
}

/* Empty rings, ready for vtpu_hw_enable(). */
void vtpu_admin_revive(struct vtpu_device *vdev)
{
	struct vtpu_admin *admin = &vdev->admin;

	spin_lock_irq(&admin->lock);
	memset(admin->mem, 0, 2 * VTPU_PAGE_BYTES);
	admin->tail = 0;
	admin->head = 0;
	admin->started = 0;
	admin->dead = false;
	spin_unlock_irq(&admin->lock);
}

static void end_locked(struct vtpu_admin *admin, struct vtpu_admin_cmd *cmd, int error)
{
	cmd->error = error;
	if (cmd->done)
		cmd->done(cmd);
	else
		complete(&cmd->completion);
}

static bool has_room(struct vtpu_admin *admin)
{
	return admin->outstanding < DEPTH && admin->tail - admin->started < DEPTH;
}

/* Put a command into the ring; there is room. */
static void enter_locked(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	struct vtpu_admin *admin = &vdev->admin;

	BUILD_BUG_ON(sizeof(cmd->u) != sizeof(*admin->sq));
	cmd->u.h.seq = admin->tail;
	memcpy(&admin->sq[admin->tail & MASK], &cmd->u, sizeof(cmd->u));
	list_add_tail(&cmd->node, &admin->running);
	admin->outstanding++;
	if (cmd->done)
		admin->posted++;
	admin->tail++;
	/* Entry and page tables (written through the BAR) before the tail word. */
	wmb();
	WRITE_ONCE(*admin->tail_word, admin->tail);
	vtpu_write(vdev, vtpu_doorbell(0, VTPU_DB_RING), admin->tail);
}

static void enter_backlog_locked(struct vtpu_device *vdev)
{
	struct vtpu_admin *admin = &vdev->admin;
	struct vtpu_admin_cmd *cmd;

	while (admin->posted < MAX_POSTED && has_room(admin)) {
		cmd = list_first_entry_or_null(&admin->backlog, struct vtpu_admin_cmd, node);
		if (!cmd)
			return;
		list_del(&cmd->node);
		enter_locked(vdev, cmd);
	}
}

static struct vtpu_admin_cmd *find_locked(struct vtpu_admin *admin, u32 seq)
{
	struct vtpu_admin_cmd *cmd;

	list_for_each_entry(cmd, &admin->running, node)
		if (cmd->u.h.seq == seq)
			return cmd;
	return NULL;
}

/* Take all completions; hard interrupt context, or any other. */
void vtpu_admin_poll(struct vtpu_device *vdev)
{
	struct vtpu_admin *admin = &vdev->admin;
	struct vtpu_admin_cmd *cmd;
	struct vtpu_cqe cqe;
	unsigned long flags;
	bool any = false;

	spin_lock_irqsave(&admin->lock, flags);
	while (!admin->dead && vtpu_cqe_ready(READ_ONCE(admin->cq[admin->head & MASK].status),
					      admin->head, VTPU_ADMIN_DEPTH_LOG2)) {
		dma_rmb();
		cqe = admin->cq[admin->head & MASK];
		admin->head++;
		cmd = find_locked(admin, cqe.seq);
		if (!cmd) {
			drm_err_ratelimited(&vdev->drm,
					    "completion of admin command %u, which does not run\n",
					    cqe.seq);
			continue;
		}
		list_del(&cmd->node);
		admin->outstanding--;
		if (cmd->done)
			admin->posted--;
		if ((s32)(cqe.seq + 1 - admin->started) > 0)
			admin->started = cqe.seq + 1;
		cmd->cqe = cqe;
		end_locked(admin, cmd, vtpu_status_errno(cqe.status & VTPU_CQE_STATUS_MASK));
		any = true;
	}
	if (any)
		enter_backlog_locked(vdev);
	spin_unlock_irqrestore(&admin->lock, flags);
	if (any)
		wake_up_all(&admin->room);
}

/* End all commands with @error and take no more. The device has stopped. */
void vtpu_admin_flush(struct vtpu_device *vdev, int error)
{
	struct vtpu_admin *admin = &vdev->admin;
	struct vtpu_admin_cmd *cmd, *next;

	spin_lock_irq(&admin->lock);
	admin->dead = true;
	list_splice_tail_init(&admin->backlog, &admin->running);
	list_for_each_entry_safe(cmd, next, &admin->running, node) {
		list_del(&cmd->node);
		end_locked(admin, cmd, error);
	}
	admin->outstanding = 0;
	admin->posted = 0;
	spin_unlock_irq(&admin->lock);
	wake_up_all(&admin->room);
}

/* Why there are no commands now */
static int dead_error(struct vtpu_device *vdev)
{
	if (drm_dev_is_unplugged(&vdev->drm))
		return -ENODEV;
	return READ_ONCE(vdev->state) == VTPU_DEVICE_WEDGED ? -EIO : -EAGAIN;
}

static bool try_enter(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	struct vtpu_admin *admin = &vdev->admin;
	bool settled = true;

	spin_lock_irq(&admin->lock);
	if (admin->dead)
		end_locked(admin, cmd, dead_error(vdev));
	else if (has_room(admin))
		enter_locked(vdev, cmd);
	else
		settled = false;
	spin_unlock_irq(&admin->lock);
	return settled;
}

/*
 * vtpu_admin_start() - begin a command; vtpu_admin_wait() must follow
 *
 * Sleeps until there is room. Return: 0; what went wrong is in @cmd->error
 * after the wait.
 */
int vtpu_admin_start(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	init_completion(&cmd->completion);
	cmd->done = NULL;
	if (!wait_event_timeout(vdev->admin.room, try_enter(vdev, cmd),
				msecs_to_jiffies(vtpu_timeout_ms))) {
		vtpu_reset_request(vdev);
		wait_event(vdev->admin.room, try_enter(vdev, cmd));
	}
	return 0;
}

static void give_up(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	drm_err(&vdev->drm, "admin command 0x%x takes more than %u ms, resetting\n",
		cmd->u.h.opcode, vtpu_timeout_ms);
	if (!vdev->probing && READ_ONCE(vdev->restorer) != current) {
		/* A reset that goes on ends the command as well. */
		if (READ_ONCE(vdev->state) == VTPU_DEVICE_OK)
			vtpu_reset_request(vdev);
		return;
	}
	/* Nobody else will end the command. */
	vtpu_hw_reset(vdev);
	vtpu_admin_flush(vdev, -EIO);
}

/*
 * vtpu_admin_wait() - wait for a command, at most the backstop's time
 *
 * A device that takes longer is reset, which ends the command.
 * Return: 0 or negative errno, @cmd->error.
 */
int vtpu_admin_wait(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	if (!wait_for_completion_timeout(&cmd->completion, msecs_to_jiffies(vtpu_timeout_ms))) {
		/* The interrupt may have been lost. */
		vtpu_admin_poll(vdev);
		if (!completion_done(&cmd->completion))
			give_up(vdev, cmd);
		wait_for_completion(&cmd->completion);
	}
	return cmd->error;
}

/*
 * vtpu_admin_exec() - execute a command
 *
 * Return: 0 or negative errno. -EAGAIN: the device was reset meanwhile and knows
 * nothing of what the command was about; -EIO, -ENODEV: it is wedged, or gone.
 */
int vtpu_admin_exec(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	vtpu_admin_start(vdev, cmd);
	return vtpu_admin_wait(vdev, cmd);
}

/* vtpu_admin_post() - begin a command that has a done callback; does not sleep */
void vtpu_admin_post(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd)
{
	struct vtpu_admin *admin = &vdev->admin;

	spin_lock_irq(&admin->lock);
	if (admin->dead) {
		end_locked(admin, cmd, dead_error(vdev));
	} else {
		list_add_tail(&cmd->node, &admin->backlog);
		enter_backlog_locked(vdev);
	}
	spin_unlock_irq(&admin->lock);
}
