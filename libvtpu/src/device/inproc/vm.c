// SPDX-License-Identifier: MIT
/*
 * vm.c - address spaces: page tables in HBM, and what is mapped where.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inproc/inproc.h"

/* ---- Tables ----------------------------------------------------------------- */

static uint64_t *table_entry(struct ip_device *dev, uint64_t table, uint32_t index)
{
	return (uint64_t *)(void *)(dev->hbm + table) + index;
}

/* The chip walks tables while they are written. */
static __u64 pt_read(void *arg, __u64 table, __u32 index)
{
	return __atomic_load_n(table_entry(arg, table, index), __ATOMIC_RELAXED);
}

static void pt_write(void *arg, __u64 table, __u32 index, __u64 pte)
{
	__atomic_store_n(table_entry(arg, table, index), pte, __ATOMIC_RELEASE);
}

static __u64 pt_alloc(void *arg)
{
	struct ip_device *dev = arg;
	uint64_t table;

	if (vtpu_range_alloc(&dev->reserved, VTPU_PAGE_BYTES, VTPU_PAGE_BYTES, &table) !=
	    VTPU_RANGE_OK)
		return 0;
	memset(dev->hbm + table, 0, VTPU_PAGE_BYTES);
	return table;
}

static void pt_free(void *arg, __u64 table)
{
	vtpu_range_free(&((struct ip_device *)arg)->reserved, table, VTPU_PAGE_BYTES);
}

static const struct vtpu_pt_ops pt_ops = {
	.read = pt_read,
	.write = pt_write,
	.alloc = pt_alloc,
	.free = pt_free,
};

/* ---- Spaces ------------------------------------------------------------------- */

int ip_space_create(struct ip_device *dev, struct ip_space *space)
{
	struct ip_command *cmd;
	uint32_t id = 1, status;

	while (id <= VTPU_MAX_CONTEXTS && dev->context[id])
		id++;
	if (id > VTPU_MAX_CONTEXTS)
		return -EBUSY;
	space->root = pt_alloc(dev);
	if (!space->root)
		return -ENOSPC;
	cmd = ip_command_create(VTPU_ADMIN_CONTEXT_CREATE);
	if (!cmd) {
		pt_free(dev, space->root);
		return -ENOMEM;
	}
	cmd->u.context.context = id;
	cmd->u.context.root = space->root;
	dev->context[id] = true;
	status = ip_command_run(dev, cmd);
	if (status) {
		dev->context[id] = false;
		pt_free(dev, space->root);
		return vtpu_status_errno(status);
	}
	space->context = id;
	return 0;
}

static void mapping_free(struct ip_device *dev, struct ip_mapping *mapping)
{
	ip_bo_put(dev, mapping->bo);
	free(mapping);
}

void ip_space_destroy(struct ip_device *dev, struct ip_space *space)
{
	struct ip_command *cmd = ip_command_create(VTPU_ADMIN_CONTEXT_DESTROY);

	if (!space->context)
		return;
	/* Without memory for the command context and tables are lost, but nothing can use them. */
	if (cmd) {
		cmd->u.context.context = space->context;
		if (!ip_command_run(dev, cmd)) {
			dev->context[space->context] = false;
			vtpu_pt_free(&pt_ops, dev, space->root);
		}
	}
	while (space->mappings) {
		struct ip_mapping *mapping = space->mappings;

		space->mappings = mapping->next;
		mapping_free(dev, mapping);
	}
	space->context = 0;
}

int ip_space_map_all(struct ip_device *dev, struct ip_space *space)
{
	__u64 done = vtpu_pt_map(&pt_ops, dev, space->root, VTPU_VA_KERNEL_START, 0, dev->hbm_bytes,
				 VTPU_PTE_WRITE);

	return done == dev->hbm_bytes ? 0 : -ENOSPC;
}

/* ---- Map ------------------------------------------------------------------------ */

static int space_map(struct ip_device *dev, struct ip_space *space, struct ip_bo *bo,
		     const struct vtpu_bind_op *op)
{
	const __u64 flags = (op->flags & VTPU_BIND_READONLY ? 0 : VTPU_PTE_WRITE) |
			    (bo->region == VTPU_REGION_HOST ? VTPU_PTE_SYSTEM : 0);
	struct ip_mapping **at = &space->mappings, *mapping;
	uint64_t pa, done;

	while (*at && (*at)->va + (*at)->bytes <= op->va)
		at = &(*at)->next;
	if (*at && (*at)->va < op->va + op->size)
		return -EEXIST;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return -ENOMEM;
	pa = bo->region == VTPU_REGION_HBM ? bo->hbm : (uint64_t)(uintptr_t)bo->host;
	done = vtpu_pt_map(&pt_ops, dev, space->root, op->va, pa + op->bo_offset, op->size, flags);
	if (done < op->size) {
		vtpu_pt_unmap(&pt_ops, dev, space->root, op->va, done);
		free(mapping);
		return -ENOSPC;
	}
	mapping->va = op->va;
	mapping->bytes = op->size;
	mapping->offset = op->bo_offset;
	mapping->bo = ip_bo_get(bo);
	mapping->next = *at;
	*at = mapping;
	return 0;
}

/* ---- Unmap ------------------------------------------------------------------------ */

/* No running job holds an older translation any more: let go of what was mapped. */
static void invalidated(struct ip_device *dev, struct ip_command *cmd)
{
	struct ip_mapping *gone = cmd->arg;

	while (gone) {
		struct ip_mapping *next = gone->next;

		mapping_free(dev, gone);
		gone = next;
	}
}

/* Cut the mapping at @at in two at @va, inside it; the second part comes next. */
static int mapping_cut(struct ip_device *dev, struct ip_space *space, struct ip_mapping *mapping,
		       uint64_t va)
{
	struct ip_mapping *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return -ENOMEM;
	if (vtpu_pt_split(&pt_ops, dev, space->root, va)) {
		free(rest);
		return -ENOSPC;
	}
	rest->va = va;
	rest->bytes = mapping->va + mapping->bytes - va;
	rest->offset = mapping->offset + (va - mapping->va);
	rest->bo = ip_bo_get(mapping->bo);
	rest->next = mapping->next;
	mapping->bytes = va - mapping->va;
	mapping->next = rest;
	return 0;
}

static int space_unmap(struct ip_device *dev, struct ip_space *space, uint64_t va, uint64_t bytes)
{
	struct ip_mapping **at = &space->mappings, *gone = NULL, **last = &gone;
	uint64_t end = va + bytes;
	struct ip_command *cmd;
	int err = 0;

	while (*at && (*at)->va + (*at)->bytes <= va)
		at = &(*at)->next;
	if (*at && (*at)->va < va) {
		err = mapping_cut(dev, space, *at, va);
		if (err)
			return err;
		at = &(*at)->next;
	}
	if (!*at || (*at)->va >= end)
		return 0;
	cmd = ip_command_create(VTPU_ADMIN_INVALIDATE);
	if (!cmd)
		return -ENOMEM;
	while (*at && (*at)->va < end) {
		struct ip_mapping *mapping = *at;

		if (mapping->va + mapping->bytes > end) {
			err = mapping_cut(dev, space, mapping, end);
			if (err) {
				/* Nothing of the last one goes; what came before it does. */
				end = mapping->va;
				break;
			}
		}
		*at = mapping->next;
		mapping->next = NULL;
		*last = mapping;
		last = &mapping->next;
	}
	if (end > va)
		vtpu_pt_unmap(&pt_ops, dev, space->root, va, end - va);
	cmd->u.context.context = space->context;
	cmd->u.context.va = va;
	cmd->u.context.bytes = bytes;
	ip_command_post(dev, cmd, invalidated, gone);
	return err;
}

/* ---- The ioctl ----------------------------------------------------------------------- */

static int bind_one(struct ip_client *client, const struct vtpu_bind_op *op)
{
	int err = vtpu_check_bind(op);
	struct ip_bo *bo;

	if (err)
		return err;
	if (op->op == VTPU_BIND_UNMAP)
		return space_unmap(client->dev, &client->space, op->va, op->size);
	bo = ip_table_find(&client->bos, op->handle);
	if (!bo)
		return -ENOENT;
	err = vtpu_check_bind_bo(op, bo->region, bo->bytes);
	return err ? err : space_map(client->dev, &client->space, bo, op);
}

int ip_vm_bind(struct ip_client *client, struct vtpu_vm_bind *arg)
{
	const uint8_t *ops = (const uint8_t *)(uintptr_t)arg->ops.array;
	uint32_t i;
	int err = 0;

	if (arg->flags || !arg->ops.count || arg->ops.stride < sizeof(struct vtpu_bind_op))
		return -EINVAL;
	if (arg->ops.count > VTPU_MAX_BIND_OPS)
		return -E2BIG;
	if (!ops)
		return -EFAULT;
	for (i = 0; i < arg->ops.count; i++) {
		struct vtpu_bind_op op;

		memcpy(&op, ops + (size_t)i * arg->ops.stride, sizeof(op));
		err = bind_one(client, &op);
		if (err)
			break;
	}
	arg->done = i;
	return err;
}
