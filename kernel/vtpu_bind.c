// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_bind.c - mapping buffers into an address space, and unmapping any range of it.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "vtpu_device.h"

/* The most that one op needs: a mapping, or the second halves of two that are cut. */
#define SPARES 2

struct bind {
	struct vtpu_vm *vm;
	struct vtpu_mapping *spare[SPARES];
};

static struct vtpu_mapping *take_spare(struct bind *bind)
{
	struct vtpu_mapping *mapping = bind->spare[0] ?: bind->spare[1];

	if (bind->spare[0])
		bind->spare[0] = NULL;
	else
		bind->spare[1] = NULL;
	return mapping;
}

static int fill_spares(struct bind *bind)
{
	unsigned int i;

	for (i = 0; i < SPARES; i++) {
		if (!bind->spare[i])
			bind->spare[i] = kzalloc(sizeof(*bind->spare[i]), GFP_KERNEL_ACCOUNT);
		if (!bind->spare[i])
			return -ENOMEM;
	}
	return 0;
}

/* ---- Map ---- */

static bool write_tables(struct vtpu_vm *vm, u64 va, u64 pa, u64 bytes, u64 flags)
{
	return vtpu_pt_map(&vtpu_pt_ops, vm->vdev, vm->root, va, pa, bytes, flags) == bytes;
}

/* Host memory: runs of bus addresses as the DMA layer gave them, adjacent ones as one. */
static bool write_host_tables(struct vtpu_vm *vm, struct vtpu_bo *bo, const struct vtpu_bind_op *op,
			      u64 flags)
{
	u64 skip = op->bo_offset, left = op->size, va = op->va, start = 0, run = 0;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(&bo->host.sgt, sg, i) {
		u64 addr = sg_dma_address(sg), bytes = sg_dma_len(sg);

		if (skip >= bytes) {
			skip -= bytes;
			continue;
		}
		addr += skip;
		bytes = min(bytes - skip, left);
		skip = 0;
		if (run && start + run == addr) {
			run += bytes;
		} else {
			if (run && !write_tables(vm, va, start, run, flags))
				return false;
			va += run;
			start = addr;
			run = bytes;
		}
		left -= bytes;
		if (!left)
			break;
	}
	return write_tables(vm, va, start, run, flags);
}

static int map_tables(struct vtpu_vm *vm, struct vtpu_bo *bo, const struct vtpu_bind_op *op)
{
	u64 flags = op->flags & VTPU_BIND_READONLY ? 0 : VTPU_PTE_WRITE;
	struct vtpu_device *vdev = vm->vdev;
	bool done;

	if (bo->region == VTPU_REGION_HBM) {
		done = write_tables(vm, op->va, bo->extent->node.start + op->bo_offset, op->size,
				    flags);
	} else {
		mutex_lock(&vdev->list_lock);
		done = bo->host.mapped && write_host_tables(vm, bo, op, flags | VTPU_PTE_SYSTEM);
		mutex_unlock(&vdev->list_lock);
	}
	if (done)
		return 0;
	vtpu_pt_unmap(&vtpu_pt_ops, vdev, vm->root, op->va, op->size);
	return -ENOSPC;
}

static int bind_map(struct bind *bind, struct drm_file *file, const struct vtpu_bind_op *op)
{
	struct drm_gem_object *gem = drm_gem_object_lookup(file, op->handle);
	struct vtpu_vm *vm = bind->vm;
	struct vtpu_mapping *mapping;
	int ret;

	if (!gem)
		return -ENOENT;
	ret = vtpu_check_bind_bo(op, to_vtpu_bo(gem)->region, gem->size);
	if (ret)
		goto err_put;
	mapping = take_spare(bind);
	mapping->va.start = op->va;
	mapping->va.size = op->size;
	mapping->bo = to_vtpu_bo(gem);
	mapping->bo_offset = op->bo_offset;
	mutex_lock(&vm->lock);
	ret = drm_mm_reserve_node(&vm->mm, &mapping->va);
	if (ret) {
		ret = -EEXIST;
		goto err_unlock;
	}
	ret = map_tables(vm, mapping->bo, op);
	if (ret) {
		drm_mm_remove_node(&mapping->va);
		goto err_unlock;
	}
	mutex_unlock(&vm->lock);
	return 0;

err_unlock:
	mutex_unlock(&vm->lock);
	kfree(mapping);
err_put:
	drm_gem_object_put(gem);
	return ret;
}

/* ---- Unmap ---- */

/* Cut the mapping that lies across @at, if there is one, in two. */
static void split_mapping(struct bind *bind, u64 at)
{
	struct vtpu_vm *vm = bind->vm;
	struct drm_mm_node *node = __drm_mm_interval_first(&vm->mm, at, at);
	struct vtpu_mapping *low, *high;
	u64 start, end;

	if (!drm_mm_node_allocated(node) || node->start >= at || node->start + node->size <= at)
		return;
	low = container_of(node, struct vtpu_mapping, va);
	high = take_spare(bind);
	start = node->start;
	end = start + node->size;
	high->bo = low->bo;
	drm_gem_object_get(&high->bo->gem);
	high->bo_offset = low->bo_offset + (at - start);

	/* Both halves fit where the whole was, so neither reservation can fail. */
	drm_mm_remove_node(&low->va);
	low->va.start = start;
	low->va.size = at - start;
	high->va.start = at;
	high->va.size = end - at;
	drm_mm_reserve_node(&vm->mm, &low->va);
	drm_mm_reserve_node(&vm->mm, &high->va);
}

static int bind_unmap(struct bind *bind, const struct vtpu_bind_op *op)
{
	struct vtpu_vm *vm = bind->vm;
	struct vtpu_device *vdev = vm->vdev;
	u64 end = op->va + op->size;
	struct drm_mm_node *node, *next;
	int ret;

	mutex_lock(&vm->lock);
	ret = vtpu_pt_split(&vtpu_pt_ops, vdev, vm->root, op->va);
	if (!ret)
		ret = vtpu_pt_split(&vtpu_pt_ops, vdev, vm->root, end);
	if (ret) {
		mutex_unlock(&vm->lock);
		return -ENOSPC;
	}
	split_mapping(bind, op->va);
	split_mapping(bind, end);
	/* Entries of mappings only: the range may be anything up to all addresses. */
	for (node = __drm_mm_interval_first(&vm->mm, op->va, end - 1);
	     drm_mm_node_allocated(node) && node->start < end; node = next) {
		next = list_next_entry(node, node_list);
		vtpu_pt_unmap(&vtpu_pt_ops, vdev, vm->root, node->start, node->size);
		drm_mm_remove_node(node);
		list_add_tail(&container_of(node, struct vtpu_mapping, va)->link, &vm->zapped);
		cond_resched();
	}
	mutex_unlock(&vm->lock);
	return 0;
}

/* ---- The ioctl ---- */

static int bind_all(struct bind *bind, struct drm_file *file, const struct vtpu_bind_op *ops,
		    struct vtpu_vm_bind *args)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < args->ops.count && !ret; i++) {
		const struct vtpu_bind_op *op = &ops[i];

		ret = vtpu_check_bind(op);
		if (!ret)
			ret = fill_spares(bind);
		if (!ret)
			ret = op->op == VTPU_BIND_MAP ? bind_map(bind, file, op) :
							bind_unmap(bind, op);
		if (!ret)
			args->done++;
		else
			drm_dbg(&bind->vm->vdev->drm, "bind op %u: %d, va 0x%llx, %llu bytes\n", i,
				ret, op->va, op->size);
	}
	return ret;
}

static int vm_bind(struct vtpu_device *vdev, struct drm_file *file, const struct vtpu_bind_op *ops,
		   struct vtpu_vm_bind *args)
{
	struct bind bind = {};
	int ret, idx;

	ret = vtpu_begin(vdev, &idx);
	if (ret)
		return ret;
	bind.vm = vtpu_file_vm(file->driver_priv);
	if (IS_ERR(bind.vm)) {
		ret = PTR_ERR(bind.vm);
		goto end;
	}
	ret = bind_all(&bind, file, ops, args);
	/* Entries are in the device's memory before anybody may rely on them. */
	wmb();
	vtpu_vm_flush(bind.vm);
	vtpu_vm_put(bind.vm);
	kfree(bind.spare[0]);
	kfree(bind.spare[1]);
end:
	vtpu_end(vdev, idx);
	return ret;
}

int vtpu_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_vm_bind *args = data;
	struct vtpu_bind_op *ops;
	int ret = 0;
	u32 i;

	args->done = 0;
	if (args->flags || !args->ops.count || args->ops.stride < sizeof(*ops))
		return -EINVAL;
	if (args->ops.count > VTPU_MAX_BIND_OPS)
		return -E2BIG;
	ops = kvmalloc_array(args->ops.count, sizeof(*ops), GFP_KERNEL_ACCOUNT);
	if (!ops)
		return -ENOMEM;
	/* All first: the caller's memory may take for ever, and no reset must wait for it. */
	for (i = 0; i < args->ops.count && !ret; i++)
		ret = vtpu_get_element(&args->ops, i, &ops[i], sizeof(*ops));
	if (!ret)
		ret = vm_bind(to_vtpu_device(drm), file, ops, args);
	kvfree(ops);
	return ret;
}
