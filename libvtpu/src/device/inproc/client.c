// SPDX-License-Identifier: MIT
/*
 * client.c - an open file: handles, quotas, queries, and the table of ioctls.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "device/inproc/inproc.h"

/* ---- Handles ------------------------------------------------------------------ */

uint32_t ip_table_add(struct ip_table *table, void *thing)
{
	uint32_t i = 1;

	while (i < table->room && table->slot[i])
		i++;
	if (i >= table->room) {
		uint32_t room = table->room ? 2 * table->room : 16;
		void **slot = realloc(table->slot, room * sizeof(*slot));

		if (!slot)
			return 0;
		memset(slot + table->room, 0, (room - table->room) * sizeof(*slot));
		table->slot = slot;
		table->room = room;
	}
	table->slot[i] = thing;
	return i;
}

void *ip_table_find(const struct ip_table *table, uint32_t number)
{
	return number < table->room ? table->slot[number] : NULL;
}

void *ip_table_remove(struct ip_table *table, uint32_t number)
{
	void *thing = ip_table_find(table, number);

	if (thing)
		table->slot[number] = NULL;
	return thing;
}

/* ---- Quotas ------------------------------------------------------------------- */

/* Of each client; 0 is none. Memory is the process's own affair here. */
static const uint64_t quota_limit[VTPU_QUOTAS] = {
	[VTPU_QUOTA_QUEUES] = 64,
	[VTPU_QUOTA_PROGRAMS] = 1024,
	[VTPU_QUOTA_JOBS] = 65536,
};

int ip_quota_take(struct ip_client *client, enum vtpu_quota quota, uint64_t amount)
{
	uint64_t used = client->used[quota] + amount;

	if (used < amount || (quota_limit[quota] && used > quota_limit[quota]))
		return -EDQUOT;
	client->used[quota] = used;
	return 0;
}

void ip_quota_give(struct ip_client *client, enum vtpu_quota quota, uint64_t amount)
{
	client->used[quota] -= amount;
}

/* ---- Queries ------------------------------------------------------------------- */

static uint64_t reg64(struct ip_device *dev, uint64_t offset)
{
	return vtpu_chip_read(dev->chip, offset, 8);
}

static uint32_t reg32(struct ip_device *dev, uint64_t offset)
{
	return (uint32_t)vtpu_chip_read(dev->chip, offset, 4);
}

static void query_info(struct ip_device *dev, struct vtpu_query_info *info)
{
	info->hw_version = reg32(dev, VTPU_REG_VERSION);
	info->state = reg32(dev, VTPU_REG_STATUS) & VTPU_STATUS_FATAL ? VTPU_DEVICE_WEDGED :
									VTPU_DEVICE_OK;
	info->caps = reg64(dev, VTPU_REG_CAPS);
	info->serial = reg64(dev, VTPU_REG_SERIAL);
	info->hbm_bytes = dev->hbm_bytes;
	info->hbm_usable = dev->hbm_bytes - dev->reserved_bytes;
	info->cores = vtpu_chip_geometry(dev->chip)->cores;
	info->max_queues = VTPU_MAX_QUEUES;
	info->max_depth = 1u << VTPU_MAX_DEPTH_LOG2;
	info->reset_count = reg32(dev, VTPU_REG_RESET_COUNT);
	info->priorities = 1u << VTPU_PRIO_LOW | 1u << VTPU_PRIO_NORMAL | 1u << VTPU_PRIO_HIGH;
	info->clients = dev->nclients;
	info->jobs_submitted = dev->jobs_submitted;
	info->jobs_completed = dev->jobs_completed;
	info->jobs_failed = dev->jobs_failed;
}

static void query_memory(struct ip_device *dev, uint32_t region, struct vtpu_query_memory *memory)
{
	if (region == VTPU_REGION_HOST) {
		memory->used = dev->host_used;
		return;
	}
	memory->size = dev->hbm_bytes;
	memory->used = dev->buffers.used;
	memory->largest_free = vtpu_range_largest(&dev->buffers, VTPU_LARGE_BYTES);
	memory->reserved = dev->reserved_bytes;
}

static void query_time(struct ip_device *dev, struct vtpu_query_time *time)
{
	uint64_t before = ip_now_ns(), after;

	time->device_ns = reg64(dev, VTPU_REG_TIME_NS);
	after = ip_now_ns();
	time->cpu_ns = before + (after - before) / 2;
	time->uncertainty_ns = (after - before + 1) / 2;
}

static int query(struct ip_client *client, struct vtpu_dev_query *arg)
{
	struct ip_device *dev = client->dev;
	uint32_t room = arg->size, bytes, limit;
	union {
		struct vtpu_query_info info;
		struct vtpu_hw_geometry geometry;
		struct vtpu_query_core core;
		struct vtpu_query_memory memory;
		struct vtpu_query_time time;
		struct vtpu_query_quota quota;
	} u;

	if (arg->flags)
		return -EINVAL;
	memset(&u, 0, sizeof(u));
	limit = 1;
	switch (arg->type) {
	case VTPU_QUERY_INFO:
		bytes = sizeof(u.info);
		break;
	case VTPU_QUERY_GEOMETRY:
		bytes = sizeof(u.geometry);
		break;
	case VTPU_QUERY_CORE:
		bytes = sizeof(u.core);
		limit = vtpu_chip_geometry(dev->chip)->cores;
		break;
	case VTPU_QUERY_MEMORY:
		bytes = sizeof(u.memory);
		limit = VTPU_REGION_HOST + 1;
		break;
	case VTPU_QUERY_TIME:
		bytes = sizeof(u.time);
		break;
	case VTPU_QUERY_QUOTA:
		bytes = sizeof(u.quota);
		limit = VTPU_QUOTAS;
		break;
	default:
		return -EINVAL;
	}
	if (arg->index >= limit)
		return -EINVAL;
	arg->size = bytes;
	if (!arg->ptr)
		return 0;
	switch (arg->type) {
	case VTPU_QUERY_INFO:
		query_info(dev, &u.info);
		break;
	case VTPU_QUERY_GEOMETRY:
		u.geometry = *vtpu_chip_geometry(dev->chip);
		break;
	case VTPU_QUERY_CORE: {
		uint64_t base = VTPU_REG_CORE_STATS + arg->index * sizeof(u.core.stats), i;

		u.core.sampled_ns = ip_now_ns();
		for (i = 0; i < sizeof(u.core.stats); i += 8) {
			uint64_t value = reg64(dev, base + i);

			memcpy((uint8_t *)&u.core.stats + i, &value, 8);
		}
		break;
	}
	case VTPU_QUERY_MEMORY:
		query_memory(dev, arg->index, &u.memory);
		break;
	case VTPU_QUERY_TIME:
		query_time(dev, &u.time);
		break;
	default:
		u.quota.file_used = client->used[arg->index];
		u.quota.file_limit = quota_limit[arg->index];
		u.quota.user_used = client->used[arg->index];
		break;
	}
	memset((void *)(uintptr_t)arg->ptr, 0, room);
	memcpy((void *)(uintptr_t)arg->ptr, &u, room < bytes ? room : bytes);
	return 0;
}

/* ---- Ioctls ----------------------------------------------------------------------- */

static int dispatch(struct ip_client *client, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_VTPU_DEV_QUERY:
		return query(client, arg);
	case DRM_IOCTL_VTPU_BO_CREATE:
		return ip_bo_create(client, arg);
	case DRM_IOCTL_GEM_CLOSE:
		return ip_bo_close(client, arg);
	case DRM_IOCTL_VTPU_BO_INFO:
		return ip_bo_info(client, arg);
	case DRM_IOCTL_VTPU_BO_WAIT:
		return ip_bo_wait(client, arg);
	case DRM_IOCTL_VTPU_BO_SET_LABEL:
		return ip_bo_set_label(client, arg);
	case DRM_IOCTL_VTPU_VM_BIND:
		return ip_vm_bind(client, arg);
	case DRM_IOCTL_VTPU_PROGRAM_CREATE:
		return ip_program_create(client, arg);
	case DRM_IOCTL_VTPU_PROGRAM_DESTROY:
		return ip_program_destroy(client, arg);
	case DRM_IOCTL_VTPU_PROGRAM_INFO:
		return ip_program_info(client, arg);
	case DRM_IOCTL_VTPU_QUEUE_CREATE:
		return ip_queue_create(client, arg);
	case DRM_IOCTL_VTPU_QUEUE_DESTROY:
		return ip_queue_destroy(client, arg);
	case DRM_IOCTL_VTPU_QUEUE_STATE:
		return ip_queue_state(client, arg);
	case DRM_IOCTL_VTPU_SUBMIT:
		return ip_submit(client, arg);
	default:
		return ip_syncobj_ioctl(client, request, arg);
	}
}

static int client_ioctl(struct vtpu_backend *backend, unsigned long request, void *arg)
{
	struct ip_client *client = (struct ip_client *)backend;
	int err;

	pthread_mutex_lock(&client->dev->lock);
	err = dispatch(client, request, arg);
	pthread_mutex_unlock(&client->dev->lock);
	return err;
}

static int client_map(struct vtpu_backend *backend, uint32_t handle, uint64_t bytes, void **pointer)
{
	struct ip_client *client = (struct ip_client *)backend;
	struct ip_bo *bo;
	int err = 0;

	pthread_mutex_lock(&client->dev->lock);
	bo = ip_table_find(&client->bos, handle);
	if (!bo)
		err = -ENOENT;
	else if (bytes > bo->bytes ||
		 (bo->region == VTPU_REGION_HBM && !(bo->flags & VTPU_BO_MAPPABLE)))
		err = -EINVAL;
	else
		*pointer = ip_bo_pointer(client->dev, ip_bo_get(bo));
	if (!err)
		bo->maps++;
	pthread_mutex_unlock(&client->dev->lock);
	return err;
}

/* The mapping holds a reference, as a mapping of the kernel does: find whose it is. */
static void client_unmap(struct vtpu_backend *backend, void *pointer, uint64_t bytes)
{
	struct ip_client *client = (struct ip_client *)backend;
	struct ip_bo *bo;

	(void)bytes;
	pthread_mutex_lock(&client->dev->lock);
	for (bo = client->bo_list; bo; bo = bo->next) {
		if (bo->maps && ip_bo_pointer(client->dev, bo) == pointer) {
			bo->maps--;
			ip_bo_put(client->dev, bo);
			break;
		}
	}
	pthread_mutex_unlock(&client->dev->lock);
}

/* ---- Life ------------------------------------------------------------------------------ */

/* What still has jobs or mappings to end goes on without its owner. */
static void client_release(struct ip_client *client)
{
	struct ip_device *dev = client->dev;
	struct ip_bo *bo, *next;
	uint32_t i;

	for (i = 0; i < client->queues.room; i++) {
		struct ip_queue *q = ip_table_remove(&client->queues, i);

		if (q)
			ip_queue_close(dev, q);
	}
	for (i = 0; i < client->programs.room; i++)
		ip_program_put(dev, ip_table_remove(&client->programs, i));
	ip_syncobj_release_all(client);
	for (i = 0; i < client->bos.room; i++) {
		bo = ip_table_remove(&client->bos, i);
		if (bo)
			ip_bo_put(dev, bo);
	}
	ip_space_destroy(dev, &client->space);
	/* CPU mappings end here; what is still held by invalidations on their way has no owner any more. */
	for (bo = client->bo_list; bo; bo = next) {
		next = bo->next;
		bo->client = NULL;
		for (i = bo->maps, bo->maps = 0; i; i--)
			ip_bo_put(dev, bo);
	}
	client->bo_list = NULL;
}

static void client_free(struct ip_client *client)
{
	free(client->queues.slot);
	free(client->programs.slot);
	free(client->syncobjs.slot);
	free(client->bos.slot);
	free(client);
}

static void client_close(struct vtpu_backend *backend)
{
	struct ip_client *client = (struct ip_client *)backend;
	struct ip_device *dev = client->dev;
	struct ip_client **at = &dev->clients;

	pthread_mutex_lock(&dev->lock);
	client_release(client);
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	dev->nclients--;
	pthread_mutex_unlock(&dev->lock);
	client_free(client);
	ip_device_put(dev);
}

static const struct vtpu_backend_ops client_ops = {
	.ioctl = client_ioctl,
	.map = client_map,
	.unmap = client_unmap,
	.close = client_close,
};

enum vtpu_status ip_client_create(struct ip_device *dev, struct ip_client **out)
{
	struct ip_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return vtpu_fail_nomem("a client of the model");
	client->backend.ops = &client_ops;
	client->backend.in_process = true;
	client->backend.numa_node = -1;
	strcpy(client->backend.driver, "in process");
	client->dev = dev;
	pthread_mutex_lock(&dev->lock);
	err = ip_space_create(dev, &client->space);
	if (!err) {
		client->next = dev->clients;
		dev->clients = client;
		dev->nclients++;
	}
	pthread_mutex_unlock(&dev->lock);
	if (err) {
		client_free(client);
		return vtpu_fail(
			err == -EBUSY ? VTPU_ERROR_BUSY : VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
			"model: no address space for another open (%s); close some of the %u there are",
			strerror(-err), dev->nclients);
	}
	*out = client;
	return VTPU_OK;
}
