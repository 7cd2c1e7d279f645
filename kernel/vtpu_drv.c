// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_drv.c - the driver as the kernel sees it: PCI probe and remove, open and
 * close, the table of ioctls.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_accel.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>

#include "vtpu_device.h"

struct workqueue_struct *vtpu_wq;

unsigned int vtpu_timeout_ms = 10000;
module_param_named(timeout_ms, vtpu_timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "milliseconds without progress until the driver looks after a job");

/*
 * vtpu_begin() - start of an ioctl that gives the device commands
 *
 * Waits for a reset to end. Return: 0, and vtpu_end() must follow; -ENODEV when
 * the device has gone, -EIO when it is wedged, -ERESTARTSYS.
 */
int vtpu_begin(struct vtpu_device *vdev, int *idx)
{
	int ret;

	for (;;) {
		ret = wait_event_interruptible(vdev->state_changed,
					       READ_ONCE(vdev->state) != VTPU_DEVICE_RESETTING ||
						       drm_dev_is_unplugged(&vdev->drm));
		if (ret)
			return ret;
		if (!drm_dev_enter(&vdev->drm, idx))
			return -ENODEV;
		if (down_read_interruptible(&vdev->reset_sem)) {
			drm_dev_exit(*idx);
			return -ERESTARTSYS;
		}
		if (READ_ONCE(vdev->state) == VTPU_DEVICE_OK)
			return 0;
		vtpu_end(vdev, *idx);
		if (READ_ONCE(vdev->state) == VTPU_DEVICE_WEDGED)
			return -EIO;
	}
}

void vtpu_end(struct vtpu_device *vdev, int idx)
{
	up_read(&vdev->reset_sem);
	drm_dev_exit(idx);
}

/* ---- Files ---- */

void vtpu_file_release(struct kref *ref)
{
	struct vtpu_file *vfile = container_of(ref, struct vtpu_file, ref);
	struct drm_device *drm = &vfile->vdev->drm;

	vtpu_user_close(vfile);
	xa_destroy(&vfile->queues);
	xa_destroy(&vfile->programs);
	mutex_destroy(&vfile->lock);
	kfree(vfile);
	drm_dev_put(drm);
}

static int vtpu_open(struct drm_device *drm, struct drm_file *file)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);
	struct vtpu_file *vfile = kzalloc(sizeof(*vfile), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!vfile)
		return -ENOMEM;
	vfile->vdev = vdev;
	ret = vtpu_user_open(vfile);
	if (ret) {
		kfree(vfile);
		return ret;
	}
	kref_init(&vfile->ref);
	mutex_init(&vfile->lock);
	spin_lock_init(&vfile->stats_lock);
	INIT_LIST_HEAD(&vfile->live);
	xa_init_flags(&vfile->queues, XA_FLAGS_ALLOC1);
	xa_init_flags(&vfile->programs, XA_FLAGS_ALLOC1);
	drm_dev_get(drm);
	file->driver_priv = vfile;
	atomic_inc(&vdev->clients);
	return 0;
}

/* Never waits for hardware: what runs is told to end, and frees what it uses when it has. */
static void vtpu_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct vtpu_file *vfile = file->driver_priv;
	struct vtpu_program *program;
	struct vtpu_queue *queue;
	unsigned long id;

	atomic_dec(&vfile->vdev->clients);
	xa_for_each(&vfile->queues, id, queue) {
		xa_erase(&vfile->queues, id);
		vtpu_queue_kill(queue);
		vtpu_queue_put(queue);
	}
	xa_for_each(&vfile->programs, id, program) {
		xa_erase(&vfile->programs, id);
		vtpu_program_put(program);
	}
	if (vfile->vm)
		vtpu_vm_put(vfile->vm);
	vfile->vm = NULL;
	file->driver_priv = NULL;
	vtpu_file_put(vfile);
}

static const struct drm_ioctl_desc vtpu_ioctls[] = {
	DRM_IOCTL_DEF_DRV(VTPU_DEV_QUERY, vtpu_ioctl_dev_query, 0),
	DRM_IOCTL_DEF_DRV(VTPU_BO_CREATE, vtpu_ioctl_bo_create, 0),
	DRM_IOCTL_DEF_DRV(VTPU_BO_INFO, vtpu_ioctl_bo_info, 0),
	DRM_IOCTL_DEF_DRV(VTPU_BO_WAIT, vtpu_ioctl_bo_wait, 0),
	DRM_IOCTL_DEF_DRV(VTPU_VM_BIND, vtpu_ioctl_vm_bind, 0),
	DRM_IOCTL_DEF_DRV(VTPU_QUEUE_CREATE, vtpu_ioctl_queue_create, 0),
	DRM_IOCTL_DEF_DRV(VTPU_QUEUE_DESTROY, vtpu_ioctl_queue_destroy, 0),
	DRM_IOCTL_DEF_DRV(VTPU_QUEUE_STATE, vtpu_ioctl_queue_state, 0),
	DRM_IOCTL_DEF_DRV(VTPU_SUBMIT, vtpu_ioctl_submit, 0),
	DRM_IOCTL_DEF_DRV(VTPU_BO_SET_LABEL, vtpu_ioctl_bo_set_label, 0),
	DRM_IOCTL_DEF_DRV(VTPU_PROGRAM_CREATE, vtpu_ioctl_program_create, 0),
	DRM_IOCTL_DEF_DRV(VTPU_PROGRAM_DESTROY, vtpu_ioctl_program_destroy, 0),
	DRM_IOCTL_DEF_DRV(VTPU_PROGRAM_INFO, vtpu_ioctl_program_info, 0),
};

static const struct file_operations vtpu_fops = {
	.owner = THIS_MODULE,
	DRM_ACCEL_FOPS,
	.show_fdinfo = drm_show_fdinfo,
};

static const struct drm_driver vtpu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = vtpu_open,
	.postclose = vtpu_postclose,
	.show_fdinfo = vtpu_show_fdinfo,
	.fops = &vtpu_fops,
	.ioctls = vtpu_ioctls,
	.num_ioctls = ARRAY_SIZE(vtpu_ioctls),
	.name = "vtpu",
	.desc = "virtual TPU",
	.major = VTPU_DRIVER_MAJOR,
	.minor = VTPU_DRIVER_MINOR,
};

/* ---- PCI ---- */

static int map_bars(struct vtpu_device *vdev, struct pci_dev *pdev)
{
	static const int bars[] = { VTPU_BAR_REGS, VTPU_BAR_HBM };
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(bars); i++) {
		struct resource *res = &pdev->resource[bars[i]];

		if (res->start && !(res->flags & IORESOURCE_UNSET))
			continue;
		drm_err(&vdev->drm,
			"BAR%d (%llu MiB) has no address: the bridge above has no room for it; "
			"see pref64-reserve of pcie-root-port\n",
			bars[i], (u64)pci_resource_len(pdev, bars[i]) >> 20);
		return -ENODEV;
	}
	if (pci_resource_len(pdev, VTPU_BAR_REGS) < VTPU_BAR0_BYTES) {
		drm_err(&vdev->drm, "BAR%d has less than 0x%x bytes\n", VTPU_BAR_REGS,
			VTPU_BAR0_BYTES);
		return -ENODEV;
	}
	ret = pcim_request_all_regions(pdev, "vtpu");
	if (ret)
		return ret;
	vdev->regs = pcim_iomap(pdev, VTPU_BAR_REGS, VTPU_BAR0_BYTES);
	if (!vdev->regs)
		return -ENOMEM;
	vdev->hbm_start = pci_resource_start(pdev, VTPU_BAR_HBM);
	return 0;
}

static void ids_fini(struct drm_device *drm, void *arg)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);

	/* Those that vtpu_clear.c has are never given back. */
	ida_destroy(&vdev->context_ids);
	ida_destroy(&vdev->program_ids);
	ida_destroy(&vdev->slot_ids);
}

/* What needs no device yet. */
static int init_software(struct vtpu_device *vdev)
{
	int ret;

	ida_init(&vdev->context_ids);
	ida_init(&vdev->program_ids);
	ida_init(&vdev->slot_ids);
	ret = drmm_add_action_or_reset(&vdev->drm, ids_fini, NULL);
	if (ret)
		return ret;
	INIT_LIST_HEAD(&vdev->vms);
	INIT_LIST_HEAD(&vdev->programs);
	INIT_LIST_HEAD(&vdev->host_bos);
	INIT_LIST_HEAD(&vdev->users);
	vtpu_clear_init(vdev);
	vtpu_reset_init(vdev);
	ret = drmm_mutex_init(&vdev->drm, &vdev->list_lock);
	return ret ?: vtpu_sched_init(vdev);
}

static int init_hardware(struct vtpu_device *vdev, struct pci_dev *pdev)
{
	int ret;

	ret = vtpu_hw_identify(vdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(52));
	if (ret)
		return ret;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	ret = vtpu_hbm_init(vdev);
	if (ret)
		return ret;
	/* The driver before us may have left it running. */
	ret = vtpu_hw_reset(vdev);
	if (ret)
		drm_err(&vdev->drm, "reset does not end\n");
	return ret;
}

/* The opposite of start(): afterwards the device does nothing and no waiter is left. */
static void stop(struct vtpu_device *vdev, struct pci_dev *pdev)
{
	disable_work_sync(&vdev->reset_work);
	if (vtpu_hw_gone(vdev) || vtpu_hw_reset(vdev))
		drm_err(&vdev->drm, "device does not come to rest\n");
	pci_clear_master(pdev);
	vtpu_irq_fini(vdev);
	vtpu_admin_flush(vdev, -ENODEV);
	vtpu_fail_all(vdev, NULL, -ENODEV);
	vtpu_clear_stop(vdev);
	vtpu_rings_free(vdev);
	vtpu_host_unmap_all(vdev);
	vtpu_admin_fini(vdev);
}

static int start(struct vtpu_device *vdev, struct pci_dev *pdev)
{
	int ret;

	ret = vtpu_admin_init(vdev);
	if (ret)
		return ret;
	ret = vtpu_irq_init(vdev);
	if (ret) {
		vtpu_admin_fini(vdev);
		return ret;
	}
	pci_set_master(pdev);
	vtpu_admin_revive(vdev);
	ret = vtpu_hw_enable(vdev);
	if (!ret)
		ret = vtpu_clear_start(vdev);
	if (ret) {
		drm_err(&vdev->drm, "device does not come up (%d)\n", ret);
		stop(vdev, pdev);
	}
	return ret;
}

static int vtpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vtpu_device *vdev;
	int ret;

	vdev = devm_drm_dev_alloc(&pdev->dev, &vtpu_drm_driver, struct vtpu_device, drm);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);
	pci_set_drvdata(pdev, vdev);
	ret = pcim_enable_device(pdev);
	if (!ret)
		ret = map_bars(vdev, pdev);
	if (!ret)
		ret = init_software(vdev);
	if (!ret)
		ret = init_hardware(vdev, pdev);
	if (!ret)
		ret = start(vdev, pdev);
	if (ret)
		return ret;
	vtpu_fences_init(vdev);
	vtpu_debugfs_init(vdev);
	pci_save_state(pdev);
	vtpu_reset_ready(vdev);
	ret = drm_dev_register(&vdev->drm, 0);
	if (ret) {
		stop(vdev, pdev);
		vtpu_fences_put(vdev);
		return ret;
	}
	drm_info(&vdev->drm, "%u cores, %llu MiB of HBM, serial %llu\n", vdev->geometry.cores,
		 vdev->hbm_bytes >> 20, vdev->serial);
	return 0;
}

static void vtpu_remove(struct pci_dev *pdev)
{
	struct vtpu_device *vdev = pci_get_drvdata(pdev);

	/* Leave the memory clean for whoever comes next, as far as it is free now. */
	flush_work(&vdev->clear.work);
	drm_dev_unplug(&vdev->drm);
	wake_up_all(&vdev->state_changed);
	wake_up_all(&vdev->hbm.clean);
	stop(vdev, pdev);
	vtpu_fences_put(vdev);
}

static const struct pci_device_id vtpu_pci_ids[] = {
	{ PCI_DEVICE(VTPU_PCI_VENDOR_ID, VTPU_PCI_DEVICE_ID) }, {}
};
MODULE_DEVICE_TABLE(pci, vtpu_pci_ids);

static struct pci_driver vtpu_pci_driver = {
	.name = "vtpu",
	.id_table = vtpu_pci_ids,
	.probe = vtpu_probe,
	.remove = vtpu_remove,
	.err_handler = &vtpu_error_handlers,
	.dev_groups = vtpu_sysfs_groups,
};

static int __init vtpu_init(void)
{
	int ret;

	vtpu_wq = alloc_workqueue("vtpu", WQ_UNBOUND, 0);
	if (!vtpu_wq)
		return -ENOMEM;
	ret = pci_register_driver(&vtpu_pci_driver);
	if (ret)
		destroy_workqueue(vtpu_wq);
	return ret;
}

static void __exit vtpu_exit(void)
{
	pci_unregister_driver(&vtpu_pci_driver);
	/* Waits for releases that still run: they end in our code. */
	destroy_workqueue(vtpu_wq);
}

module_init(vtpu_init);
module_exit(vtpu_exit);

MODULE_DESCRIPTION("Driver of the virtual TPU");
MODULE_LICENSE("GPL");
