// SPDX-License-Identifier: MIT
/*
 * chip_host.c - the host half of chip_host.h: system memory, clock, vectors, control context.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "chip_host.h"

static void die(const char *what)
{
	fprintf(stderr, "chip_host: %s\n", what);
	exit(1);
}

/* ---- Host operations ------------------------------------------------------------------ */

static void do_dma(struct chip_host *h, struct vtpu_dma *dma, bool fail)
{
	uint64_t at = dma->addr - CHIP_BUS_BASE;
	uint64_t poison = atomic_load(&h->poison);

	dma->ok = !fail && at < h->system_bytes && dma->bytes <= h->system_bytes - at &&
		  !(poison && poison - dma->addr < dma->bytes);
	if (dma->ok && dma->to_system)
		memcpy(h->system + at, dma->buf, dma->bytes);
	else if (dma->ok)
		memcpy(dma->buf, h->system + at, dma->bytes);
	dma->done(dma);
}

static void host_dma(void *host, struct vtpu_dma *dma)
{
	struct chip_host *h = host;
	bool failing;

	atomic_fetch_add(&h->dma_calls, 1);
	if (h->dma == CHIP_DMA_INLINE) {
		do_dma(h, dma, false);
		return;
	}
	pthread_mutex_lock(&h->lock);
	failing = h->failing;
	if (!failing) {
		dma->next = NULL;
		*h->queued_last = dma;
		h->queued_last = &dma->next;
		pthread_cond_signal(&h->work);
	}
	pthread_mutex_unlock(&h->lock);
	if (failing)
		do_dma(h, dma, true);
}

static void run_queued(struct chip_host *h, bool fail)
{
	struct vtpu_dma *dma, *next;

	pthread_mutex_lock(&h->lock);
	dma = h->queued;
	h->queued = NULL;
	h->queued_last = &h->queued;
	pthread_mutex_unlock(&h->lock);
	for (; dma; dma = next) {
		next = dma->next;
		do_dma(h, dma, fail);
	}
}

static void host_raise(void *host, unsigned int vector)
{
	struct chip_host *h = host;

	if (vector >= VTPU_MAX_VECTORS)
		die("vector out of range");
	atomic_fetch_add(&h->vectors[vector], 1);
}

static uint64_t host_now(void *host)
{
	struct chip_host *h = host;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec + h->skew_ns;
}

static void host_timer(void *host, uint64_t deadline)
{
	struct chip_host *h = host;

	pthread_mutex_lock(&h->lock);
	h->deadline = deadline;
	pthread_mutex_unlock(&h->lock);
}

static void host_defer(void *host)
{
	struct chip_host *h = host;

	pthread_mutex_lock(&h->lock);
	h->deferred = true;
	pthread_cond_signal(&h->work);
	pthread_mutex_unlock(&h->lock);
}

static bool host_discard(void *host, uint64_t offset, uint64_t bytes)
{
	struct chip_host *h = host;

	if (!h->can_discard)
		return false;
	if (offset % VTPU_LARGE_BYTES || bytes % VTPU_LARGE_BYTES || offset > h->hbm_bytes ||
	    bytes > h->hbm_bytes - offset)
		die("discard of a range that is not whole pages of HBM");
	atomic_fetch_add(&h->discards, 1);
	return !madvise(h->hbm + offset, bytes, MADV_DONTNEED);
}

static void host_dirty(void *host, uint64_t offset, uint64_t bytes)
{
	struct chip_host *h = host;

	if (offset > h->hbm_bytes || bytes > h->hbm_bytes - offset)
		die("dirty range outside HBM");
	atomic_fetch_add(&h->dirty_bytes, bytes);
}

static void host_log(void *host, enum vtpu_log_level level, const char *text)
{
	struct chip_host *h = host;

	atomic_fetch_add(&h->logs, 1);
	if (level == VTPU_LOG_ERROR)
		fprintf(stderr, "model: %s\n", text);
}

static void host_trace(void *host, enum vtpu_trace event, uint32_t queue, uint32_t seq, uint64_t a,
		       uint64_t b)
{
	struct chip_host *h = host;

	atomic_fetch_add(&h->traced[event], 1);
	if (event == VTPU_TRACE_JOB_START) {
		h->started_queue[h->started % 64] = queue;
		h->started_core[h->started++ % 64] = b;
	}
	if (getenv("CHIP_TRACE"))
		fprintf(stderr, "trace %d queue %u seq %u a %#llx b %#llx\n", event, queue, seq,
			(unsigned long long)a, (unsigned long long)b);
}

static const struct vtpu_host_ops host_ops = {
	.dma = host_dma,
	.raise = host_raise,
	.now_ns = host_now,
	.timer = host_timer,
	.defer = host_defer,
	.discard = host_discard,
	.dirty = host_dirty,
	.log = host_log,
	.trace = host_trace,
};

/* ---- Control context ---------------------------------------------------------------------- */

/* Do what has come up. With @wait_ns: wait that long for it at most */
static void once(struct chip_host *h, uint64_t wait_ns)
{
	bool deferred, due;

	pthread_mutex_lock(&h->lock);
	if (wait_ns && !h->deferred && !h->queued && h->deadline > host_now(h)) {
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_nsec += wait_ns;
		ts.tv_sec += ts.tv_nsec / 1000000000;
		ts.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&h->work, &h->lock, &ts);
	}
	deferred = h->deferred;
	h->deferred = false;
	due = h->deadline <= host_now(h);
	if (due)
		h->deadline = UINT64_MAX;
	pthread_mutex_unlock(&h->lock);
	run_queued(h, false);
	if (due)
		vtpu_chip_timer(h->chip);
	if (deferred)
		vtpu_chip_control(h->chip);
}

void chip_host_once(struct chip_host *h)
{
	once(h, 0);
}

bool chip_host_pump(struct chip_host *h, bool (*until)(void *arg), void *arg, unsigned int ms)
{
	uint64_t end = host_now(h) + ms * 1000000ULL;

	while (!until || !until(arg)) {
		if (host_now(h) >= end)
			return false;
		once(h, 1000000);
	}
	return true;
}

/* ---- Open and close -------------------------------------------------------------------------- */

void chip_host_open(struct chip_host *h, const struct chip_options *options)
{
	struct vtpu_chip_config config = options->config;
	char err[256];

	memset(h, 0, sizeof(*h));
	h->hbm_bytes = config.hbm_bytes ? config.hbm_bytes : 64 << 20;
	h->system_bytes = options->system_bytes ? options->system_bytes : 32 << 20;
	h->system_next = VTPU_PAGE_BYTES;
	h->dma = options->dma;
	h->can_discard = !options->no_discard;
	h->deadline = UINT64_MAX;
	h->queued_last = &h->queued;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->work, NULL);
	h->system = mmap(NULL, h->system_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	h->hbm = mmap(NULL, h->hbm_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->system == MAP_FAILED || h->hbm == MAP_FAILED)
		die("no memory");
	h->own_pool = !config.pool;
	h->pool = config.pool;
	if (h->own_pool)
		h->pool =
			vtpu_pool_create(options->threads ? options->threads : 2, NULL, NULL, NULL);
	config.pool = h->pool;
	config.hbm = h->hbm;
	config.hbm_bytes = h->hbm_bytes;
	h->chip = vtpu_chip_create(&config, &host_ops, h, err, sizeof(err));
	if (!h->chip)
		die(err);
	h->table_next = VTPU_PAGE_BYTES;
	h->hbm_next = chip_read64(h, VTPU_REG_HBM_RESERVED);
	if (!options->no_enable)
		chip_host_enable(h);
}

void chip_host_close(struct chip_host *h)
{
	/* DMA that is still queued must complete without our help. */
	pthread_mutex_lock(&h->lock);
	h->failing = true;
	pthread_mutex_unlock(&h->lock);
	run_queued(h, true);
	vtpu_chip_destroy(h->chip);
	if (h->own_pool)
		vtpu_pool_destroy(h->pool);
	munmap(h->system, h->system_bytes);
	munmap(h->hbm, h->hbm_bytes);
	pthread_cond_destroy(&h->work);
	pthread_mutex_destroy(&h->lock);
}

void chip_host_reset(struct chip_host *h, enum vtpu_reset kind)
{
	pthread_mutex_lock(&h->lock);
	h->failing = true;
	pthread_mutex_unlock(&h->lock);
	vtpu_chip_reset_begin(h->chip, kind);
	run_queued(h, true);
	vtpu_chip_reset_finish(h->chip);
	pthread_mutex_lock(&h->lock);
	h->failing = false;
	pthread_mutex_unlock(&h->lock);
}

/* ---- Registers ---------------------------------------------------------------------------------- */

uint32_t chip_read32(struct chip_host *h, uint64_t offset)
{
	return vtpu_chip_read(h->chip, offset, 4);
}

uint64_t chip_read64(struct chip_host *h, uint64_t offset)
{
	return vtpu_chip_read(h->chip, offset, 8);
}

void chip_write32(struct chip_host *h, uint64_t offset, uint32_t value)
{
	vtpu_chip_write(h->chip, offset, value, 4);
}

void chip_write64(struct chip_host *h, uint64_t offset, uint64_t value)
{
	vtpu_chip_write(h->chip, offset, value, 8);
}

uint32_t chip_queue_state(struct chip_host *h, unsigned int queue)
{
	return chip_read32(h, CHIP_DB(queue, VTPU_DB_STATE));
}
