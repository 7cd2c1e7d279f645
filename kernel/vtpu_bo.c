// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_bo.c - buffers as GEM objects: create, info, wait, label, mmap.
 *
 * Where the memory comes from is in vtpu_hbm.c and vtpu_host.c, who may reach
 * it from the device in vtpu_bind.c.
 */
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_utils.h>

#include "vtpu_device.h"

static enum vtpu_quota region_quota(u32 region)
{
	return region == VTPU_REGION_HBM ? VTPU_QUOTA_HBM_BYTES : VTPU_QUOTA_HOST_BYTES;
}

static void bo_free(struct drm_gem_object *gem)
{
	struct vtpu_bo *bo = to_vtpu_bo(gem);
	struct vtpu_file *owner = bo->owner;

	if (bo->region == VTPU_REGION_HBM)
		vtpu_hbm_free(owner->vdev, bo->extent);
	else
		vtpu_host_free(owner->vdev, bo);
	vtpu_uncharge(owner, region_quota(bo->region), gem->size);
	drm_gem_object_release(gem);
	kfree(bo);
	/* Last: the device may go with it. */
	vtpu_file_put(owner);
}

/* ---- mmap ---- */

static unsigned long bo_pfn(struct vtpu_bo *bo, u64 page)
{
	struct vtpu_device *vdev = bo->owner->vdev;

	if (bo->region == VTPU_REGION_HOST)
		return vtpu_host_pfn(&bo->host, page);
	return PHYS_PFN(vdev->hbm_start + bo->extent->node.start) + page;
}

/* Maps the 2 MiB around the address: single faults would take longer than the copy to come. */
static vm_fault_t bo_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *gem = vma->vm_private_data;
	u64 skip = vma->vm_pgoff - drm_vma_node_start(&gem->vma_node);
	unsigned long addr = ALIGN_DOWN(vmf->address, VTPU_LARGE_BYTES);
	unsigned long end = min(addr + VTPU_LARGE_BYTES, vma->vm_end);
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct vtpu_device *vdev = to_vtpu_device(gem->dev);
	int idx;

	/* What is written to a BAR that is not there is lost. */
	if (down_read_killable(&vdev->bar_sem))
		return VM_FAULT_NOPAGE;
	if (!drm_dev_enter(gem->dev, &idx)) {
		up_read(&vdev->bar_sem);
		return VM_FAULT_SIGBUS;
	}
	for (addr = max(addr, vma->vm_start); addr < end; addr += PAGE_SIZE) {
		u64 page = skip + ((addr - vma->vm_start) >> PAGE_SHIFT);
		vm_fault_t one;

		if (page >= gem->size >> PAGE_SHIFT)
			break;
		one = vmf_insert_pfn(vma, addr, bo_pfn(to_vtpu_bo(gem), page));
		if (addr == (vmf->address & PAGE_MASK))
			ret = one;
		if (one & VM_FAULT_ERROR)
			break;
	}
	drm_dev_exit(idx);
	up_read(&vdev->bar_sem);
	return ret;
}

static const struct vm_operations_struct bo_vm_ops = {
	.fault = bo_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static int bo_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct vtpu_bo *bo = to_vtpu_bo(gem);

	if (bo->region == VTPU_REGION_HBM && !(bo->flags & VTPU_BO_MAPPABLE))
		return -EACCES;
	/* Page frames cannot be copied on write. */
	if (is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	if (bo->region == VTPU_REGION_HBM)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return 0;
}

static enum drm_gem_object_status bo_status(struct drm_gem_object *gem)
{
	return DRM_GEM_OBJECT_RESIDENT;
}

static const struct drm_gem_object_funcs bo_funcs = {
	.free = bo_free,
	.mmap = bo_mmap,
	.status = bo_status,
	.vm_ops = &bo_vm_ops,
};

/* ---- ioctls ---- */

static int bo_alloc(struct vtpu_device *vdev, struct vtpu_bo *bo)
{
	if (bo->region == VTPU_REGION_HOST)
		return vtpu_host_alloc(vdev, bo);
	bo->extent = vtpu_hbm_alloc(vdev, bo->gem.size);
	return PTR_ERR_OR_ZERO(bo->extent);
}

static struct vtpu_bo *bo_create(struct vtpu_file *vfile, u64 size, u32 region, u32 flags)
{
	struct vtpu_device *vdev = vfile->vdev;
	struct vtpu_bo *bo;
	int ret;

	ret = vtpu_charge(vfile, region_quota(region), size);
	if (ret)
		return ERR_PTR(ret);
	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	bo->region = region;
	bo->flags = flags;
	bo->gem.funcs = &bo_funcs;
	drm_gem_private_object_init(&vdev->drm, &bo->gem, size);
	ret = bo_alloc(vdev, bo);
	if (ret)
		goto err_free;
	bo->owner = vtpu_file_get(vfile);
	if (region == VTPU_REGION_HOST || (flags & VTPU_BO_MAPPABLE)) {
		ret = drm_gem_create_mmap_offset(&bo->gem);
		if (ret) {
			drm_gem_object_put(&bo->gem);
			return ERR_PTR(ret);
		}
	}
	return bo;

err_free:
	drm_gem_object_release(&bo->gem);
	kfree(bo);
err_uncharge:
	vtpu_uncharge(vfile, region_quota(region), size);
	return ERR_PTR(ret);
}

int vtpu_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_device *vdev = to_vtpu_device(drm);
	struct vtpu_bo_create *args = data;
	struct vtpu_bo *bo;
	u64 size;
	int ret;

	if (args->pad || args->flags & ~VTPU_BO_FLAGS || args->region > VTPU_REGION_HOST ||
	    !args->size) {
		drm_dbg(drm, "bad buffer: region %u, flags 0x%x, %llu bytes\n", args->region,
			args->flags, args->size);
		return -EINVAL;
	}
	if (READ_ONCE(vdev->state) == VTPU_DEVICE_WEDGED)
		return -EIO;
	/* Before the rounding can overflow, and before a quota is charged for the impossible. */
	if (args->region == VTPU_REGION_HBM && args->size > vdev->hbm_bytes)
		return -ENOSPC;
	if (args->region == VTPU_REGION_HOST && args->size >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;
	size = PAGE_ALIGN(args->size);
	bo = bo_create(file->driver_priv, size, args->region, args->flags);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = drm_gem_handle_create(file, &bo->gem, &args->handle);
	drm_gem_object_put(&bo->gem);
	if (!ret)
		args->size = size;
	return ret;
}

int vtpu_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_bo_info *args = data;
	struct drm_gem_object *gem;
	struct vtpu_bo *bo;

	if (args->pad)
		return -EINVAL;
	gem = drm_gem_object_lookup(file, args->handle);
	if (!gem)
		return -ENOENT;
	bo = to_vtpu_bo(gem);
	args->region = bo->region;
	args->flags = bo->flags;
	args->size = gem->size;
	args->mmap_offset = 0;
	if (bo->region == VTPU_REGION_HOST || (bo->flags & VTPU_BO_MAPPABLE))
		args->mmap_offset = drm_vma_node_offset_addr(&gem->vma_node);
	drm_gem_object_put(gem);
	return 0;
}

int vtpu_ioctl_bo_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_bo_wait *args = data;
	struct drm_gem_object *gem;
	long ret;

	if (args->flags & ~VTPU_BO_WAIT_WRITE)
		return -EINVAL;
	gem = drm_gem_object_lookup(file, args->handle);
	if (!gem)
		return -ENOENT;
	ret = dma_resv_wait_timeout(gem->resv, dma_resv_usage_rw(args->flags & VTPU_BO_WAIT_WRITE),
				    true, drm_timeout_abs_to_jiffies(args->timeout_ns));
	drm_gem_object_put(gem);
	if (!ret)
		return -ETIMEDOUT;
	return ret < 0 ? ret : 0;
}

int vtpu_ioctl_bo_set_label(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_bo_set_label *args = data;
	char label[VTPU_MAX_LABEL] = "";
	struct drm_gem_object *gem;
	long bytes = 0;

	if (args->pad)
		return -EINVAL;
	if (args->label)
		bytes = strncpy_from_user(label, u64_to_user_ptr(args->label), sizeof(label));
	if (bytes < 0)
		return bytes;
	if (bytes == sizeof(label))
		return -E2BIG;
	gem = drm_gem_object_lookup(file, args->handle);
	if (!gem)
		return -ENOENT;
	dma_resv_lock(gem->resv, NULL);
	strscpy_pad(to_vtpu_bo(gem)->label, label);
	dma_resv_unlock(gem->resv);
	drm_gem_object_put(gem);
	return 0;
}
