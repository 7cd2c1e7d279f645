// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_vm.c - a client's address space: its life, and the end of old translations.
 *
 * Running jobs keep the translations that they started with. What is unmapped
 * stays allocated until the device has answered an INVALIDATE; nobody waits
 * for that. Mapping and unmapping themselves are in vtpu_bind.c.
 */
#include <linux/slab.h>

#include "vtpu_device.h"

/* Drop mappings that nothing uses any more. */
void vtpu_mappings_free(struct list_head *mappings)
{
	struct vtpu_mapping *mapping, *next;

	list_for_each_entry_safe(mapping, next, mappings, link) {
		list_del(&mapping->link);
		if (mapping->bo)
			drm_gem_object_put(&mapping->bo->gem);
		kfree(mapping);
	}
}

/* ---- INVALIDATE ---- */

static void flush_done(struct vtpu_admin_cmd *cmd)
{
	struct vtpu_vm *vm = container_of(cmd, struct vtpu_vm, flush);

	queue_work(vtpu_wq, &vm->flush_work);
}

/*
 * Whatever the answer was, the old translations are gone: a reset, which is
 * the one way for the command to fail, ends all jobs.
 */
static void vm_flush_work(struct work_struct *work)
{
	struct vtpu_vm *vm = container_of(work, struct vtpu_vm, flush_work);
	LIST_HEAD(old);

	mutex_lock(&vm->lock);
	list_splice_init(&vm->flushing, &old);
	vm->flush_running = false;
	mutex_unlock(&vm->lock);
	vtpu_mappings_free(&old);
	vtpu_vm_flush(vm);
	vtpu_vm_put(vm);
}

/*
 * vtpu_vm_flush() - see to it that what has been unmapped is freed some day
 *
 * One INVALIDATE of all addresses at a time; what is unmapped meanwhile waits
 * for the next one.
 */
void vtpu_vm_flush(struct vtpu_vm *vm)
{
	struct vtpu_admin_cmd *cmd = &vm->flush;

	mutex_lock(&vm->lock);
	if (vm->flush_running || list_empty(&vm->zapped)) {
		mutex_unlock(&vm->lock);
		return;
	}
	list_splice_init(&vm->zapped, &vm->flushing);
	vm->flush_running = true;
	mutex_unlock(&vm->lock);

	vtpu_vm_get(vm);
	memset(cmd, 0, sizeof(*cmd));
	cmd->u.context.h.opcode = VTPU_ADMIN_INVALIDATE;
	cmd->u.context.context = vm->context;
	cmd->u.context.bytes = VTPU_VA_END;
	cmd->done = flush_done;
	vtpu_admin_post(vm->vdev, cmd);
}

/* ---- Life ---- */

static int context_command(struct vtpu_vm *vm, u16 opcode, u64 root)
{
	struct vtpu_admin_cmd cmd = {
		.u.context.h.opcode = opcode,
		.u.context.context = vm->context,
		.u.context.root = root,
	};

	return vtpu_admin_exec(vm->vdev, &cmd);
}

/* All that used it has gone: queues, programs, file, INVALIDATE. */
static void vm_release_work(struct work_struct *work)
{
	struct vtpu_vm *vm = container_of(work, struct vtpu_vm, release_work);
	struct vtpu_device *vdev = vm->vdev;
	struct drm_mm_node *node, *next;
	LIST_HEAD(mappings);
	int idx;

	down_read(&vdev->reset_sem);
	mutex_lock(&vdev->list_lock);
	list_del(&vm->node);
	mutex_unlock(&vdev->list_lock);
	if (drm_dev_enter(&vdev->drm, &idx)) {
		context_command(vm, VTPU_ADMIN_CONTEXT_DESTROY, 0);
		vtpu_pt_free(&vtpu_pt_ops, vdev, vm->root);
		drm_dev_exit(idx);
	}
	up_read(&vdev->reset_sem);

	drm_mm_for_each_node_safe(node, next, &vm->mm) {
		struct vtpu_mapping *mapping = container_of(node, struct vtpu_mapping, va);

		drm_mm_remove_node(node);
		list_add(&mapping->link, &mappings);
	}
	list_splice_init(&vm->zapped, &mappings);
	vtpu_mappings_free(&mappings);
	drm_mm_takedown(&vm->mm);
	ida_free(&vdev->context_ids, vm->context);
	mutex_destroy(&vm->lock);
	kfree(vm);
	drm_dev_put(&vdev->drm);
}

static void vm_release(struct kref *ref)
{
	struct vtpu_vm *vm = container_of(ref, struct vtpu_vm, ref);

	queue_work(vtpu_wq, &vm->release_work);
}

void vtpu_vm_put(struct vtpu_vm *vm)
{
	kref_put(&vm->ref, vm_release);
}

static struct vtpu_vm *vm_create(struct vtpu_device *vdev)
{
	struct vtpu_vm *vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!vm)
		return ERR_PTR(-ENOMEM);
	kref_init(&vm->ref);
	vm->vdev = vdev;
	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->zapped);
	INIT_LIST_HEAD(&vm->flushing);
	INIT_WORK(&vm->flush_work, vm_flush_work);
	INIT_WORK(&vm->release_work, vm_release_work);
	ret = ida_alloc_range(&vdev->context_ids, 1, VTPU_MAX_CONTEXTS, GFP_KERNEL);
	if (ret < 0) {
		/* Many clients at a time, rather than much memory. */
		ret = ret == -ENOSPC ? -EBUSY : ret;
		goto err_free;
	}
	vm->context = ret;
	vm->root = vtpu_pt_new(vdev);
	if (!vm->root) {
		ret = -ENOSPC;
		goto err_id;
	}
	ret = context_command(vm, VTPU_ADMIN_CONTEXT_CREATE, vm->root);
	if (ret)
		goto err_root;
	drm_mm_init(&vm->mm, VTPU_VA_HBM_START, VTPU_VA_HOST_END - VTPU_VA_HBM_START);
	drm_dev_get(&vdev->drm);
	mutex_lock(&vdev->list_lock);
	list_add_tail(&vm->node, &vdev->vms);
	mutex_unlock(&vdev->list_lock);
	return vm;

err_root:
	vtpu_reserved_free(vdev, vm->root, VTPU_PAGE_BYTES);
err_id:
	ida_free(&vdev->context_ids, vm->context);
err_free:
	mutex_destroy(&vm->lock);
	kfree(vm);
	return ERR_PTR(ret);
}

/*
 * vtpu_file_vm() - the address space of a file, made when it is first needed
 *
 * Inside vtpu_begin() and vtpu_end(). Return: a reference, or -EBUSY when the
 * device has no more contexts, -ENOSPC, -ENOMEM.
 */
struct vtpu_vm *vtpu_file_vm(struct vtpu_file *vfile)
{
	struct vtpu_vm *vm;

	mutex_lock(&vfile->lock);
	vm = vfile->vm;
	if (!vm) {
		vm = vm_create(vfile->vdev);
		if (!IS_ERR(vm))
			vfile->vm = vm;
	}
	if (!IS_ERR(vm))
		vtpu_vm_get(vm);
	mutex_unlock(&vfile->lock);
	return vm;
}

/* After a reset: the tables are still there, the device only has to hear of them. */
int vtpu_vm_restore(struct vtpu_vm *vm)
{
	return context_command(vm, VTPU_ADMIN_CONTEXT_CREATE, vm->root);
}
