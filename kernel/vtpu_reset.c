// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_reset.c - device reset in two halves, and what to do when it fails.
 *
 * The first half ends everything: no command and no job is left afterwards,
 * and all their waiters have been told. It is in the signalling path, so it
 * allocates nothing and waits for nobody. The second half tells the device
 * again what it knew: address spaces and programs. Queues are lost; their
 * owners make new ones. Both run on the ordered timeout_wq, one at a time.
 */
#include <linux/mm.h>

#include "vtpu_compat.h"
#include "vtpu_device.h"

#define RESTORES 3

static void set_state(struct vtpu_device *vdev, enum vtpu_device_state state)
{
	WRITE_ONCE(vdev->state, state);
	wake_up_all(&vdev->state_changed);
	wake_up_all(&vdev->hbm.clean);
}

static void account_all(struct vtpu_device *vdev)
{
	struct vtpu_slot *slot;
	unsigned int i;

	for (i = 1; i < VTPU_SLOTS; i++) {
		slot = &vdev->slots[i];
		spin_lock_irq(&slot->lock);
		if (slot->ring && slot->ring != &vdev->clear.ring)
			vtpu_queue_account(container_of(slot->ring, struct vtpu_queue, ring));
		spin_unlock_irq(&slot->lock);
	}
}

/*
 * vtpu_fail_all() - end all jobs that the device had; it has stopped
 * @guilty: queue whose first job is to blame, or NULL
 * @error: of the others
 */
void vtpu_fail_all(struct vtpu_device *vdev, struct vtpu_slot *guilty, int error)
{
	struct vtpu_slot *slot;
	struct vtpu_ring *ring;
	unsigned int i;

	for (i = 1; i < VTPU_SLOTS; i++) {
		slot = &vdev->slots[i];
		spin_lock_irq(&slot->lock);
		ring = slot->ring;
		if (ring && !ring->dead) {
			/* What ended before has ended well. */
			vtpu_ring_poll(ring);
			ring->dead = true;
			ring->lost(ring, error, slot == guilty);
		}
		spin_unlock_irq(&slot->lock);
	}
}

static void wedge(struct vtpu_device *vdev, struct vtpu_slot *guilty, const char *why)
{
	set_state(vdev, VTPU_DEVICE_WEDGED);
	drm_err(&vdev->drm, "%s; no work is accepted until the driver is bound anew\n", why);
	/* It may still be writing to memory that is about to be freed. */
	pci_clear_master(to_pci_dev(vdev->drm.dev));
	vtpu_admin_flush(vdev, -EIO);
	vtpu_fail_all(vdev, guilty, -EIO);
	vtpu_compat_wedged(&vdev->drm);
}

/* vtpu_reset_begin() - first half; on timeout_wq, inside drm_dev_enter() */
void vtpu_reset_begin(struct vtpu_device *vdev, struct vtpu_slot *guilty)
{
	if (READ_ONCE(vdev->state) == VTPU_DEVICE_WEDGED)
		return;
	set_state(vdev, VTPU_DEVICE_RESETTING);
	if (vtpu_hw_gone(vdev)) {
		wedge(vdev, guilty, "device does not answer");
		return;
	}
	account_all(vdev);
	if (vtpu_hw_reset(vdev)) {
		wedge(vdev, guilty, "reset does not end");
		return;
	}
	vdev->reset_count++;
	vtpu_admin_flush(vdev, -EAGAIN);
	vtpu_fail_all(vdev, guilty, -EIO);
}

static int restore(struct vtpu_device *vdev)
{
	struct vtpu_program *program;
	struct vtpu_vm *vm;
	int ret;

	vtpu_admin_revive(vdev);
	ret = vtpu_hw_enable(vdev);
	if (!ret)
		ret = vtpu_clear_restart(vdev);
	if (ret)
		return ret;
	mutex_lock(&vdev->list_lock);
	list_for_each_entry(vm, &vdev->vms, node) {
		ret = vtpu_vm_restore(vm);
		if (ret)
			break;
	}
	list_for_each_entry(program, &vdev->programs, node) {
		if (ret)
			break;
		ret = vtpu_program_restore(program);
	}
	mutex_unlock(&vdev->list_lock);
	return ret;
}

/* What befalls the device while it is told costs another reset. */
static int restore_again(struct vtpu_device *vdev)
{
	unsigned int attempt = 0;
	int ret;

	WRITE_ONCE(vdev->restorer, current);
	while ((ret = restore(vdev)) && ++attempt < RESTORES) {
		if (vtpu_hw_gone(vdev) || vtpu_hw_reset(vdev))
			break;
		vtpu_admin_flush(vdev, -EAGAIN);
	}
	WRITE_ONCE(vdev->restorer, NULL);
	return ret;
}

static void reset_work(struct work_struct *work)
{
	struct vtpu_device *vdev = container_of(work, struct vtpu_device, reset_work);
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return;
	if (READ_ONCE(vdev->state) == VTPU_DEVICE_OK)
		vtpu_reset_begin(vdev, NULL);
	if (READ_ONCE(vdev->state) == VTPU_DEVICE_RESETTING) {
		down_write(&vdev->reset_sem);
		if (restore_again(vdev))
			wedge(vdev, NULL, "device does not work after its reset");
		else
			set_state(vdev, VTPU_DEVICE_OK);
		up_write(&vdev->reset_sem);
		if (READ_ONCE(vdev->state) == VTPU_DEVICE_OK)
			drm_notice(&vdev->drm, "device has been reset\n");
		vtpu_clear_kick(vdev);
	}
	drm_dev_exit(idx);
}

static void freeze_work(struct work_struct *work)
{
	struct vtpu_device *vdev = container_of(work, struct vtpu_device, freeze_work);

	if (READ_ONCE(vdev->state) == VTPU_DEVICE_WEDGED)
		return;
	set_state(vdev, VTPU_DEVICE_RESETTING);
	vtpu_admin_flush(vdev, -EAGAIN);
	vtpu_fail_all(vdev, NULL, -EIO);
}

/*
 * vtpu_reset_freeze() - end everything without the device, whose BARs go away now
 *
 * Until vtpu_reset_thaw() or vtpu_reset_give_up() nobody resets it, and calls that need it wait;
 * until vtpu_reset_bars_back() whoever touches mapped memory waits. Device lock held.
 */
void vtpu_reset_freeze(struct vtpu_device *vdev)
{
	if (vdev->frozen)
		return;
	vdev->frozen = true;
	disable_work_sync(&vdev->reset_work);
	/* It may still be writing to memory that is about to be freed. */
	pci_clear_master(to_pci_dev(vdev->drm.dev));
	queue_work(vdev->timeout_wq, &vdev->freeze_work);
	flush_work(&vdev->freeze_work);
	/* Whoever is inside has been told; whoever comes waits for the reset to end. */
	down_write(&vdev->reset_sem);
	down_write(&vdev->bar_sem);
	vdev->bar_away = true;
	unmap_mapping_range(vdev->drm.anon_inode->i_mapping, 0, 0, 1);
}

/* vtpu_reset_bars_back() - the BARs are there again */
void vtpu_reset_bars_back(struct vtpu_device *vdev)
{
	if (!vdev->bar_away)
		return;
	pci_set_master(to_pci_dev(vdev->drm.dev));
	vdev->bar_away = false;
	up_write(&vdev->bar_sem);
}

static void unfreeze(struct vtpu_device *vdev)
{
	vtpu_reset_bars_back(vdev);
	up_write(&vdev->reset_sem);
	vdev->frozen = false;
	enable_work(&vdev->reset_work);
}

/* vtpu_reset_thaw() - the device has been reset: tell it what it knew */
void vtpu_reset_thaw(struct vtpu_device *vdev)
{
	if (!vdev->frozen)
		return;
	vdev->reset_count++;
	unfreeze(vdev);
	vtpu_reset_request(vdev);
	flush_work(&vdev->reset_work);
}

/* vtpu_reset_give_up() - it does not come back */
void vtpu_reset_give_up(struct vtpu_device *vdev, const char *why)
{
	vtpu_reset_freeze(vdev);
	vtpu_reset_bars_back(vdev);
	if (READ_ONCE(vdev->state) != VTPU_DEVICE_WEDGED)
		wedge(vdev, NULL, why);
	unfreeze(vdev);
}

/* vtpu_reset_request() - reset the device soon; any context */
void vtpu_reset_request(struct vtpu_device *vdev)
{
	queue_work(vdev->timeout_wq, &vdev->reset_work);
}

/*
 * Until probe has ended, the device counts as being reset: nobody but probe talks to it, and a
 * device that asks for a reset fails the probe.
 */
void vtpu_reset_init(struct vtpu_device *vdev)
{
	INIT_WORK(&vdev->reset_work, reset_work);
	INIT_WORK(&vdev->freeze_work, freeze_work);
	disable_work(&vdev->reset_work);
	init_rwsem(&vdev->reset_sem);
	init_rwsem(&vdev->bar_sem);
	init_waitqueue_head(&vdev->state_changed);
	vdev->probing = true;
	vdev->state = VTPU_DEVICE_RESETTING;
}

void vtpu_reset_ready(struct vtpu_device *vdev)
{
	vdev->probing = false;
	set_state(vdev, VTPU_DEVICE_OK);
	enable_work(&vdev->reset_work);
}
