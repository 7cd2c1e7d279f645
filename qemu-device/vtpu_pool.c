/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_pool.c - the one worker pool of this QEMU process.
 *
 * All vtpu devices compute on the same threads, so that two boards do not
 * fight over the host's CPUs. The first device decides how many there are. BQL
 * held throughout.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "vtpu_device.h"

#define VTPU_THREADS_MAX 256

static struct {
	struct vtpu_pool *pool;
	unsigned int users;
} shared;

/* The number that the environment asks for; 0 if it does not. */
static bool threads_from_environment(uint32_t *threads, Error **errp)
{
	const char *text = getenv("VTPU_THREADS");
	unsigned int n = 0;

	if (text && *text && (qemu_strtoui(text, NULL, 10, &n) || n < 1 || n > VTPU_THREADS_MAX)) {
		error_setg(errp,
			   "environment variable VTPU_THREADS is '%s', expected a number from 1 "
			   "to %d; unset it for one thread per host CPU",
			   text, VTPU_THREADS_MAX);
		return false;
	}
	*threads = n;
	return true;
}

/**
 * vtpu_shared_pool_get() - the process's pool, made if it is not there
 * @threads: wanted size; 0: whatever there is, else $VTPU_THREADS, else one per host CPU
 * @errp: set on failure
 *
 * Return: the pool, to be given back with vtpu_shared_pool_put(), or NULL.
 */
struct vtpu_pool *vtpu_shared_pool_get(uint32_t threads, Error **errp)
{
	if (threads > VTPU_THREADS_MAX) {
		error_setg(errp, "property threads=%u: expected 0 (one per host CPU) to %d",
			   threads, VTPU_THREADS_MAX);
		return NULL;
	}
	if (shared.users && threads && threads != vtpu_pool_threads(shared.pool)) {
		error_setg(errp,
			   "property threads=%u: all vtpu devices of a process share one worker "
			   "pool, and it has %u threads; leave threads out or give that number",
			   threads, vtpu_pool_threads(shared.pool));
		return NULL;
	}
	if (!shared.users) {
		if (!threads && !threads_from_environment(&threads, errp))
			return NULL;
		shared.pool = vtpu_pool_create(threads, vtpu_thread_start, vtpu_thread_stop, NULL);
		if (!shared.pool) {
			error_setg(errp,
				   "no memory or threads for a pool of %u workers (0: one per host CPU)",
				   threads);
			return NULL;
		}
	}
	shared.users++;
	return shared.pool;
}

/** vtpu_shared_pool_put() - the last one joins the threads */
void vtpu_shared_pool_put(struct vtpu_pool *pool)
{
	assert(pool == shared.pool && shared.users);
	if (--shared.users)
		return;
	vtpu_pool_destroy(shared.pool);
	shared.pool = NULL;
}
