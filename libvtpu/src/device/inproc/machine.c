// SPDX-License-Identifier: MIT
/*
 * machine.c - the machine that the chip sits in: memory on the bus, clock,
 * timer, interrupts, and the control thread that runs it.
 *
 * A bus address is the address in this process. DMA is checked against the
 * list of memory that was handed out for it, as an IOMMU would.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/error.h"
#include "device/inproc/inproc.h"

/* A lost interrupt is noticed after this long, as the driver's backstop does it. */
#define BACKSTOP_NS 200000000ULL

uint64_t ip_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * IP_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / IP_NS_PER_S),
			       .tv_nsec = (long)(ns % IP_NS_PER_S) };

	return ts;
}

bool ip_wait(struct ip_device *dev, uint64_t deadline_ns)
{
	struct timespec ts;

	if (deadline_ns >= INT64_MAX) {
		pthread_cond_wait(&dev->changed, &dev->lock);
		return true;
	}
	ts = timespec_of(deadline_ns);
	return pthread_cond_timedwait(&dev->changed, &dev->lock, &ts) != ETIMEDOUT;
}

/* ---- Memory on the bus ------------------------------------------------------ */

/* Index of the last region that starts at or below @start, or -1 */
static ptrdiff_t region_index(const struct ip_machine *m, uintptr_t start)
{
	size_t lo = 0, hi = m->regions;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->region[mid].start <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (ptrdiff_t)lo - 1;
}

static bool region_add(struct ip_machine *m, uintptr_t start, uint64_t bytes)
{
	ptrdiff_t at;
	bool ok = true;

	pthread_rwlock_wrlock(&m->memory);
	if (m->regions == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct ip_region *more = realloc(m->region, room * sizeof(*more));

		if (more) {
			m->region = more;
			m->room = room;
		}
		ok = more;
	}
	if (ok) {
		at = region_index(m, start) + 1;
		memmove(m->region + at + 1, m->region + at, (m->regions - at) * sizeof(*m->region));
		m->region[at] = (struct ip_region){ .start = start, .bytes = bytes };
		m->regions++;
	}
	pthread_rwlock_unlock(&m->memory);
	return ok;
}

static void region_remove(struct ip_machine *m, uintptr_t start)
{
	ptrdiff_t at;

	pthread_rwlock_wrlock(&m->memory);
	at = region_index(m, start);
	m->regions--;
	memmove(m->region + at, m->region + at + 1, (m->regions - at) * sizeof(*m->region));
	pthread_rwlock_unlock(&m->memory);
}

/* Large pieces start at a multiple of 2 MiB, so that one table entry covers that much. */
void *ip_memory_alloc(struct ip_device *dev, uint64_t bytes)
{
	uint64_t align = bytes >= VTPU_LARGE_BYTES ? VTPU_LARGE_BYTES : VTPU_PAGE_BYTES;
	uintptr_t start, aligned;
	void *memory;

	if (bytes > PTRDIFF_MAX / 2)
		return NULL;
	memory = mmap(NULL, bytes + align - VTPU_PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	start = (uintptr_t)memory;
	aligned = (start + align - 1) & ~(uintptr_t)(align - 1);
	if (aligned != start)
		munmap(memory, aligned - start);
	if (start + align - VTPU_PAGE_BYTES != aligned)
		munmap((void *)(aligned + bytes), start + align - VTPU_PAGE_BYTES - aligned);
	if (!region_add(&dev->machine, aligned, bytes)) {
		munmap((void *)aligned, bytes);
		return NULL;
	}
	return (void *)aligned;
}

void ip_memory_free(struct ip_device *dev, void *memory, uint64_t bytes)
{
	if (!memory)
		return;
	region_remove(&dev->machine, (uintptr_t)memory);
	munmap(memory, bytes);
}

/* ---- Host operations ----------------------------------------------------------- */

static void host_dma(void *host, struct vtpu_dma *dma)
{
	struct ip_machine *m = &((struct ip_device *)host)->machine;
	void *memory = (void *)(uintptr_t)dma->addr;
	ptrdiff_t at;

	pthread_rwlock_rdlock(&m->memory);
	at = region_index(m, (uintptr_t)dma->addr);
	dma->ok = at >= 0 && dma->addr - m->region[at].start < m->region[at].bytes &&
		  dma->bytes <= m->region[at].bytes - (dma->addr - m->region[at].start);
	if (!dma->ok)
		;
	else if (dma->bytes == sizeof(uint32_t) && !(dma->addr % sizeof(uint32_t)) &&
		 dma->to_system)
		/* Completion words and tail words order what was written before them. */
		__atomic_store_n((uint32_t *)memory, *(uint32_t *)dma->buf, __ATOMIC_RELEASE);
	else if (dma->bytes == sizeof(uint32_t) && !(dma->addr % sizeof(uint32_t)))
		*(uint32_t *)dma->buf = __atomic_load_n((uint32_t *)memory, __ATOMIC_ACQUIRE);
	else if (dma->to_system)
		memcpy(memory, dma->buf, dma->bytes);
	else
		memcpy(dma->buf, memory, dma->bytes);
	pthread_rwlock_unlock(&m->memory);
	dma->done(dma);
}

static void host_raise(void *host, unsigned int vector)
{
	struct ip_machine *m = &((struct ip_device *)host)->machine;

	pthread_mutex_lock(&m->lock);
	m->vectors |= 1ULL << vector;
	pthread_mutex_unlock(&m->lock);
}

static uint64_t host_now_ns(void *host)
{
	(void)host;
	return ip_now_ns();
}

static void host_timer(void *host, uint64_t deadline_ns)
{
	struct ip_machine *m = &((struct ip_device *)host)->machine;

	pthread_mutex_lock(&m->lock);
	m->timer_ns = deadline_ns;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

static void host_defer(void *host)
{
	struct ip_machine *m = &((struct ip_device *)host)->machine;

	pthread_mutex_lock(&m->lock);
	m->deferred = true;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

static bool host_discard(void *host, uint64_t offset, uint64_t bytes)
{
	struct ip_device *dev = host;

	return !madvise(dev->hbm + offset, bytes, MADV_DONTNEED);
}

static void host_log(void *host, enum vtpu_log_level level, const char *text)
{
	enum vtpu_message message = level == VTPU_LOG_ERROR ? VTPU_MESSAGE_ERROR :
				    level == VTPU_LOG_GUEST ? VTPU_MESSAGE_WARNING :
							      VTPU_MESSAGE_DEBUG;

	(void)host;
	vtpu_message(message, "model: %s", text);
}

const struct vtpu_host_ops ip_host_ops = {
	.dma = host_dma,
	.raise = host_raise,
	.now_ns = host_now_ns,
	.timer = host_timer,
	.defer = host_defer,
	.discard = host_discard,
	.log = host_log,
};

/* ---- Control thread --------------------------------------------------------------- */

/* Sleep until there is something to do; returns with the machine's lock held. */
static void control_sleep(struct ip_machine *m, uint64_t deadline_ns)
{
	pthread_mutex_lock(&m->lock);
	while (!m->deferred && !m->vectors && !m->stop) {
		uint64_t until = m->timer_ns < deadline_ns ? m->timer_ns : deadline_ns;
		struct timespec ts = timespec_of(until);

		if (pthread_cond_timedwait(&m->wake, &m->lock, &ts) == ETIMEDOUT)
			break;
	}
}

static void *control_thread(void *arg)
{
	struct ip_device *dev = arg;
	struct ip_machine *m = &dev->machine;
	uint64_t backstop = ip_now_ns() + BACKSTOP_NS;

	for (;;) {
		bool deferred, timer, stop;
		uint64_t vectors, now;

		control_sleep(m, backstop);
		now = ip_now_ns();
		deferred = m->deferred;
		m->deferred = false;
		timer = now >= m->timer_ns;
		if (timer)
			m->timer_ns = UINT64_MAX;
		vectors = m->vectors;
		m->vectors = 0;
		stop = m->stop;
		pthread_mutex_unlock(&m->lock);

		if (stop)
			return NULL;
		if (timer)
			vtpu_chip_timer(dev->chip);
		if (deferred)
			vtpu_chip_control(dev->chip);
		if (!vectors && now < backstop)
			continue;
		if (now >= backstop)
			backstop = now + BACKSTOP_NS;
		pthread_mutex_lock(&dev->lock);
		ip_admin_poll(dev);
		ip_queues_poll(dev);
		pthread_mutex_unlock(&dev->lock);
	}
}

void ip_doorbell(struct ip_device *dev, uint32_t queue)
{
	vtpu_chip_write(dev->chip,
			VTPU_DOORBELL_BASE + (uint64_t)queue * VTPU_DOORBELL_STRIDE + VTPU_DB_RING,
			1, 4);
}

bool ip_machine_init(struct ip_device *dev)
{
	struct ip_machine *m = &dev->machine;
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr))
		return false;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->wake, &attr);
	pthread_rwlock_init(&m->memory, NULL);
	pthread_mutex_init(&dev->lock, NULL);
	pthread_cond_init(&dev->changed, &attr);
	pthread_condattr_destroy(&attr);
	m->timer_ns = UINT64_MAX;
	return true;
}

bool ip_machine_start(struct ip_device *dev)
{
	struct ip_machine *m = &dev->machine;

	m->started = !pthread_create(&m->thread, NULL, control_thread, dev);
	return m->started;
}

void ip_machine_stop(struct ip_device *dev)
{
	struct ip_machine *m = &dev->machine;

	if (!m->started)
		return;
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	m->started = false;
}

void ip_machine_fini(struct ip_device *dev)
{
	struct ip_machine *m = &dev->machine;

	free(m->region);
	pthread_rwlock_destroy(&m->memory);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&dev->lock);
	pthread_cond_destroy(&dev->changed);
}
