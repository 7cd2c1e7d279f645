// SPDX-License-Identifier: MIT
/*
 * chip.c - power on and off, and the opens that share a chip.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/error.h"
#include "device/inproc/inproc.h"

/* All models of the process, and the worker pool that they share */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ip_device *registry;
static struct vtpu_pool *pool;
static uint32_t pool_users;

/* ---- Worker pool ------------------------------------------------------------------ */

static enum vtpu_status pool_get(uint32_t threads, struct vtpu_pool **out)
{
	const char *env = getenv("VTPU_THREADS");

	if (!threads && env && *env) {
		char *end;
		unsigned long number = strtoul(env, &end, 10);

		if (*end || !number || number > 256)
			return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT,
					 "VTPU_THREADS=%s: expected a number, 1..256", env);
		threads = (uint32_t)number;
	}
	if (!pool_users) {
		pool = vtpu_pool_create(threads, NULL, NULL, NULL);
		if (!pool)
			return vtpu_fail_nomem("the model's worker threads");
	} else if (threads && threads != vtpu_pool_threads(pool)) {
		return vtpu_fail(VTPU_ERROR_BUSY,
				 "model: threads=%u, but the models of this process share a pool of %u threads; "
				 "ask for that number or for none",
				 threads, vtpu_pool_threads(pool));
	}
	pool_users++;
	*out = pool;
	return VTPU_OK;
}

static void pool_put(void)
{
	if (--pool_users)
		return;
	vtpu_pool_destroy(pool);
	pool = NULL;
}

/* ---- Power ---------------------------------------------------------------------------- */

static bool admin_start(struct ip_device *dev)
{
	const uint64_t sq_bytes = sizeof(struct vtpu_sqe) << VTPU_ADMIN_DEPTH_LOG2;
	const uint64_t deadline = ip_now_ns() + IP_NS_PER_S;
	uint8_t *memory = ip_memory_alloc(dev, 3 * VTPU_PAGE_BYTES);

	_Static_assert(sizeof(struct vtpu_sqe) << VTPU_ADMIN_DEPTH_LOG2 <= VTPU_PAGE_BYTES,
		       "entries");
	if (!memory)
		return false;
	dev->admin.memory = memory;
	dev->admin.sq = (void *)memory;
	dev->admin.cq = (void *)(memory + sq_bytes);
	dev->admin.tail = (void *)(memory + 2 * VTPU_PAGE_BYTES);
	dev->admin.last = &dev->admin.first;
	vtpu_chip_write(dev->chip, VTPU_REG_ADMIN_SQ, (uintptr_t)dev->admin.sq, 8);
	vtpu_chip_write(dev->chip, VTPU_REG_ADMIN_CQ, (uintptr_t)dev->admin.cq, 8);
	vtpu_chip_write(dev->chip, VTPU_REG_ADMIN_TAIL, (uintptr_t)dev->admin.tail, 8);
	vtpu_chip_write(dev->chip, VTPU_REG_ADMIN_DEPTH, VTPU_ADMIN_DEPTH_LOG2, 4);
	vtpu_chip_write(dev->chip, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE, 4);
	while (!(vtpu_chip_read(dev->chip, VTPU_REG_STATUS, 4) & VTPU_STATUS_ENABLED)) {
		const struct timespec pause = { .tv_nsec = 100000 };

		if (ip_now_ns() > deadline)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* The driver's own address space and copy queue, for clearing HBM */
static int kernel_start(struct ip_device *dev)
{
	const struct vtpu_queue_create copy = {
		.kind = VTPU_QUEUE_COPY,
		.priority = VTPU_PRIO_NORMAL,
		.depth = 64,
	};
	int err = ip_space_create(dev, &dev->kernel);

	if (!err)
		err = ip_space_map_all(dev, &dev->kernel);
	return err ? err : ip_queue_open(dev, &dev->kernel, &copy, &dev->clear);
}

static void device_free(struct ip_device *dev)
{
	struct ip_command *cmd;
	uint32_t i;

	if (dev->clear) {
		pthread_mutex_lock(&dev->lock);
		ip_queue_close(dev, dev->clear);
		dev->clear = NULL;
		pthread_mutex_unlock(&dev->lock);
	}
	ip_machine_stop(dev);
	vtpu_chip_destroy(dev->chip);
	while ((cmd = dev->admin.sent)) {
		dev->admin.sent = cmd->next;
		free(cmd);
	}
	while ((cmd = dev->admin.first)) {
		dev->admin.first = cmd->next;
		free(cmd);
	}
	for (i = 1; i <= VTPU_MAX_QUEUES; i++) {
		if (dev->queue[i])
			ip_queue_put(dev, dev->queue[i]);
	}
	for (i = 1; i <= VTPU_MAX_PROGRAMS; i++)
		free(dev->program[i]);
	if (dev->admin.memory)
		ip_memory_free(dev, dev->admin.memory, 3 * VTPU_PAGE_BYTES);
	vtpu_range_fini(&dev->reserved);
	vtpu_range_fini(&dev->buffers);
	if (dev->hbm)
		munmap(dev->hbm, dev->hbm_bytes);
	if (dev->pool)
		pool_put();
	ip_machine_fini(dev);
	free(dev);
}

static enum vtpu_status device_power_on(struct ip_device *dev, struct ip_config *config)
{
	enum vtpu_status status;
	char err[256] = "";
	void *hbm;
	int ret;

	status = pool_get(config->threads, &dev->pool);
	if (status)
		return status;
	dev->hbm_bytes = config->chip.hbm_bytes;
	hbm = mmap(NULL, dev->hbm_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (hbm == MAP_FAILED)
		return vtpu_fail(VTPU_ERROR_OUT_OF_HOST_MEMORY,
				 "model: cannot reserve %llu bytes for HBM: %s",
				 (unsigned long long)dev->hbm_bytes, strerror(errno));
	dev->hbm = hbm;
	/* Fewer page faults on first use; memory is still taken only when touched. */
	(void)madvise(hbm, dev->hbm_bytes, MADV_HUGEPAGE);
	config->chip.hbm = hbm;
	config->chip.preset = config->preset;
	config->chip.pool = dev->pool;
	dev->chip = vtpu_chip_create(&config->chip, &ip_host_ops, dev, err, sizeof(err));
	if (!dev->chip)
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "model: %s", err);
	dev->reserved_bytes = vtpu_chip_read(dev->chip, VTPU_REG_HBM_RESERVED, 8);
	/* The first page stays unused, so that no table or image is at address 0. */
	if (!vtpu_range_init(&dev->reserved, VTPU_PAGE_BYTES,
			     dev->reserved_bytes - VTPU_PAGE_BYTES) ||
	    !vtpu_range_init(&dev->buffers, dev->reserved_bytes,
			     dev->hbm_bytes - dev->reserved_bytes))
		return vtpu_fail_nomem("the model");
	if (!ip_machine_start(dev))
		return vtpu_fail_nomem("the model's control thread");
	if (!admin_start(dev))
		return vtpu_fail(VTPU_ERROR_INTERNAL, "model: the admin queue did not start");
	pthread_mutex_lock(&dev->lock);
	ret = kernel_start(dev);
	pthread_mutex_unlock(&dev->lock);
	if (ret)
		return vtpu_fail(VTPU_ERROR_INTERNAL, "model: set-up failed: %s", strerror(-ret));
	/* Last, so that the kernel's part is not the one to suffer. */
	if (!vtpu_chip_inject(dev->chip, &config->inject, err, sizeof(err)))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "model: inject: %s", err);
	return VTPU_OK;
}

static enum vtpu_status device_create(struct ip_config *config, struct ip_device **out)
{
	struct ip_device *dev = calloc(1, sizeof(*dev));
	enum vtpu_status status;

	if (!dev)
		return vtpu_fail_nomem("the model");
	if (!ip_machine_init(dev)) {
		free(dev);
		return vtpu_fail_nomem("the model");
	}
	status = device_power_on(dev, config);
	if (status) {
		device_free(dev);
		return status;
	}
	strcpy(dev->id, config->id);
	*out = dev;
	return VTPU_OK;
}

void ip_device_put(struct ip_device *dev)
{
	struct ip_device **at = &registry;

	pthread_mutex_lock(&registry_lock);
	if (!--dev->opens) {
		while (*at != dev)
			at = &(*at)->next;
		*at = dev->next;
		device_free(dev);
	}
	pthread_mutex_unlock(&registry_lock);
}

enum vtpu_status vtpu_inproc_open(const char *options, struct vtpu_backend **backend)
{
	struct ip_client *client = NULL;
	enum vtpu_status status;
	struct ip_config config;
	struct ip_device *dev;

	status = ip_config_parse(options, &config);
	if (status)
		return status;
	pthread_mutex_lock(&registry_lock);
	for (dev = registry; dev; dev = dev->next) {
		if (*config.id && !strcmp(dev->id, config.id))
			break;
	}
	if (!dev) {
		status = device_create(&config, &dev);
		if (!status) {
			dev->next = registry;
			registry = dev;
		}
	}
	if (!status)
		dev->opens++;
	pthread_mutex_unlock(&registry_lock);
	if (status)
		return status;
	status = ip_client_create(dev, &client);
	if (status) {
		ip_device_put(dev);
		return status;
	}
	*backend = &client->backend;
	return VTPU_OK;
}
