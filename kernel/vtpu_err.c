// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_err.c - what the PCI core tells: errors of the bus, and resets that others asked for.
 *
 * An error that the link has got over costs nothing. After one that has stopped it, the
 * device is reset by the bus and told again what it knew, as in vtpu_reset.c.
 */
#include <linux/pci.h>

#include "vtpu_device.h"

static pci_ers_result_t vtpu_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct vtpu_device *vdev = pci_get_drvdata(pdev);

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	vtpu_reset_freeze(vdev);
	if (state == pci_channel_io_frozen)
		return PCI_ERS_RESULT_NEED_RESET;
	vtpu_reset_give_up(vdev, "the bus has failed for good");
	return PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t vtpu_mmio_enabled(struct pci_dev *pdev)
{
	struct vtpu_device *vdev = pci_get_drvdata(pdev);

	if (!vtpu_hw_gone(vdev))
		return PCI_ERS_RESULT_RECOVERED;
	vtpu_reset_freeze(vdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t vtpu_slot_reset(struct pci_dev *pdev)
{
	struct vtpu_device *vdev = pci_get_drvdata(pdev);

	pci_restore_state(pdev);
	pci_save_state(pdev);
	vtpu_reset_bars_back(vdev);
	if (!vtpu_hw_gone(vdev) && !vtpu_hw_reset(vdev))
		return PCI_ERS_RESULT_RECOVERED;
	vtpu_reset_give_up(vdev, "device does not come back after an error of the bus");
	return PCI_ERS_RESULT_DISCONNECT;
}

static void vtpu_resume(struct pci_dev *pdev)
{
	vtpu_reset_thaw(pci_get_drvdata(pdev));
}

/* FLR and the like, asked for through sysfs: BARs go away, the device forgets what we told it. */
static void vtpu_reset_prepare(struct pci_dev *pdev)
{
	vtpu_reset_freeze(pci_get_drvdata(pdev));
}

static void vtpu_reset_done(struct pci_dev *pdev)
{
	vtpu_reset_thaw(pci_get_drvdata(pdev));
}

const struct pci_error_handlers vtpu_error_handlers = {
	.error_detected = vtpu_error_detected,
	.mmio_enabled = vtpu_mmio_enabled,
	.slot_reset = vtpu_slot_reset,
	.resume = vtpu_resume,
	.reset_prepare = vtpu_reset_prepare,
	.reset_done = vtpu_reset_done,
};
