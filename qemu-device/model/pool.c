// SPDX-License-Identifier: MIT
/*
 * pool.c - persistent worker threads that take turns at the works of all chips.
 *
 * The lock is taken when a worker goes from one work to another or to sleep,
 * never for a single task. A worker that finds nothing sleeps; it watches for a
 * moment first only where the host has more CPUs than the pool has threads, as
 * otherwise it would keep a guest's CPU from running.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

#define MAX_THREADS 256
#define TURN_NS	    1000000
#define POLL_NS	    1000000
#define SPIN_NS	    20000

struct job {
	struct job *next;
	void (*fn)(void *arg);
	void *arg;
};

struct vtpu_worker {
	struct vtpu_pool *pool;
	pthread_t thread;
	pthread_cond_t wake;
	bool asleep;
	struct vtpu_worker *next_asleep;
	struct vtpu_scratch scratch;
	uint64_t turn_start;
};

struct vtpu_pool {
	unsigned int threads;
	bool may_spin;
	void (*start)(void *arg);
	void (*stop)(void *arg);
	void *arg;

	pthread_mutex_t lock;
	struct vtpu_worker *asleep; /* the last to fall asleep first: its caches are warmest */
	struct vtpu_work *works;    /* ring; the next to be visited */
	unsigned int polled;	    /* works that must be looked at now and then */
	struct job *jobs, **jobs_end;
	bool stopping;

	atomic_uint sleepers;
	atomic_uint waiting; /* works and jobs in the pool: more than one ends turns */

	struct vtpu_worker worker[];
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

/* ---- Sleep --------------------------------------------------------------- */

static void wake(struct vtpu_pool *pool, unsigned int n)
{
	for (; n && pool->asleep; n--) {
		struct vtpu_worker *w = pool->asleep;

		pool->asleep = w->next_asleep;
		w->asleep = false;
		atomic_fetch_sub(&pool->sleepers, 1);
		pthread_cond_signal(&w->wake);
	}
}

void vtpu_pool_kick(struct vtpu_pool *pool, unsigned int tasks)
{
	/*
	 * Sequentially consistent, as is what made the tasks visible: either
	 * this sees the sleeper, or the sleeper's last look sees the tasks.
	 */
	if (!tasks || !atomic_load(&pool->sleepers))
		return;
	pthread_mutex_lock(&pool->lock);
	wake(pool, tasks);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- Works --------------------------------------------------------------- */

void vtpu_pool_add(struct vtpu_pool *pool, struct vtpu_work *work)
{
	work->users = 0;
	pthread_mutex_lock(&pool->lock);
	if (pool->works) {
		/* Last in the round: just before the one that is next. */
		work->next = pool->works;
		work->prev = pool->works->prev;
		work->prev->next = work;
		work->next->prev = work;
	} else {
		work->next = work;
		work->prev = work;
		pool->works = work;
	}
	pool->polled += work->poll;
	atomic_fetch_add(&pool->waiting, 1);
	wake(pool, 1);
	pthread_mutex_unlock(&pool->lock);
}

static void unlink_work(struct vtpu_pool *pool, struct vtpu_work *work)
{
	work->next->prev = work->prev;
	work->prev->next = work->next;
	if (pool->works == work)
		pool->works = work->next == work ? NULL : work->next;
	pool->polled -= work->poll;
	atomic_fetch_sub(&pool->waiting, 1);
}

bool vtpu_pool_submit(struct vtpu_pool *pool, void (*fn)(void *arg), void *arg)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return false;
	*job = (struct job){ .fn = fn, .arg = arg };
	pthread_mutex_lock(&pool->lock);
	*pool->jobs_end = job;
	pool->jobs_end = &job->next;
	atomic_fetch_add(&pool->waiting, 1);
	wake(pool, 1);
	pthread_mutex_unlock(&pool->lock);
	return true;
}

/* ---- Workers ------------------------------------------------------------- */

bool vtpu_worker_turn_over(struct vtpu_worker *worker)
{
	if (atomic_load_explicit(&worker->pool->waiting, memory_order_relaxed) < 2)
		return false;
	return now_ns(CLOCK_MONOTONIC) - worker->turn_start > TURN_NS;
}

struct vtpu_scratch *vtpu_worker_scratch(struct vtpu_worker *worker)
{
	return &worker->scratch;
}

/* The next work in the round that has a task, or that is over and waits for its end. */
static struct vtpu_work *pick(struct vtpu_pool *pool)
{
	struct vtpu_work *w = pool->works;

	if (!w)
		return NULL;
	do {
		if (!atomic_load(&w->over) && w->ready(w)) {
			pool->works = w->next;
			return w;
		}
		w = w->next;
	} while (w != pool->works);
	return NULL;
}

/* Called and returns with the lock held. */
static void visit(struct vtpu_worker *worker, struct vtpu_work *w)
{
	struct vtpu_pool *pool = worker->pool;

	w->users++;
	pthread_mutex_unlock(&pool->lock);
	worker->turn_start = now_ns(CLOCK_MONOTONIC);
	w->turn(w, worker);
	pthread_mutex_lock(&pool->lock);
	if (--w->users || !atomic_load(&w->over))
		return;
	unlink_work(pool, w);
	pthread_mutex_unlock(&pool->lock);
	w->finish(w);
	pthread_mutex_lock(&pool->lock);
}

static void do_job(struct vtpu_pool *pool)
{
	struct job *job = pool->jobs;

	pool->jobs = job->next;
	if (!pool->jobs)
		pool->jobs_end = &pool->jobs;
	pthread_mutex_unlock(&pool->lock);
	job->fn(job->arg);
	free(job);
	pthread_mutex_lock(&pool->lock);
	atomic_fetch_sub(&pool->waiting, 1);
}

/* Whether a short watch found something to do. The lock is held on entry and on return. */
static bool spin(struct vtpu_pool *pool)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + SPIN_NS;
	bool found = false;

	/* Without works nothing comes soon. */
	while (pool->may_spin && pool->works && !found && now_ns(CLOCK_MONOTONIC) < end) {
		pthread_mutex_unlock(&pool->lock);
		for (int i = 0; i < 20; i++)
			_mm_pause();
		pthread_mutex_lock(&pool->lock);
		found = pool->jobs || pick(pool);
	}
	return found;
}

static void unlist(struct vtpu_worker *worker)
{
	struct vtpu_worker **link = &worker->pool->asleep;

	while (*link != worker)
		link = &(*link)->next_asleep;
	*link = worker->next_asleep;
	worker->asleep = false;
	atomic_fetch_sub(&worker->pool->sleepers, 1);
}

/* With the lock held. Known to be asleep first, then one more look: see vtpu_pool_kick(). */
static void fall_asleep(struct vtpu_worker *worker)
{
	struct vtpu_pool *pool = worker->pool;
	struct timespec until;
	uint64_t ns = now_ns(CLOCK_MONOTONIC) + POLL_NS;
	int err = 0;

	worker->asleep = true;
	worker->next_asleep = pool->asleep;
	pool->asleep = worker;
	atomic_fetch_add(&pool->sleepers, 1);
	until.tv_sec = ns / 1000000000u;
	until.tv_nsec = ns % 1000000000u;
	if (pool->jobs || pool->stopping || pick(pool))
		err = ETIMEDOUT;
	while (worker->asleep && err != ETIMEDOUT) {
		if (pool->polled)
			err = pthread_cond_timedwait(&worker->wake, &pool->lock, &until);
		else
			pthread_cond_wait(&worker->wake, &pool->lock);
	}
	if (worker->asleep)
		unlist(worker);
}

static void *worker_main(void *arg)
{
	struct vtpu_worker *worker = arg;
	struct vtpu_pool *pool = worker->pool;

	if (pool->start)
		pool->start(pool->arg);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct vtpu_work *w;

		if (pool->jobs) {
			do_job(pool);
			continue;
		}
		w = pick(pool);
		if (w) {
			visit(worker, w);
			continue;
		}
		if (pool->stopping)
			break;
		if (!spin(pool))
			fall_asleep(worker);
	}
	pthread_mutex_unlock(&pool->lock);
	if (pool->stop)
		pool->stop(pool->arg);
	return NULL;
}

/* ---- Pool ---------------------------------------------------------------- */

static void join(struct vtpu_pool *pool, unsigned int threads)
{
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	wake(pool, threads);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(pool->worker[i].thread, NULL);
}

static void free_pool(struct vtpu_pool *pool)
{
	for (unsigned int i = 0; i < pool->threads; i++) {
		vtpu_scratch_free(&pool->worker[i].scratch);
		pthread_cond_destroy(&pool->worker[i].wake);
	}
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

struct vtpu_pool *vtpu_pool_create(unsigned int threads, void (*start)(void *arg),
				   void (*stop)(void *arg), void *arg)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_condattr_t attr;
	struct vtpu_pool *pool;

	if (!threads)
		threads = cpus < 1 ? 1 : cpus > MAX_THREADS ? MAX_THREADS : (unsigned int)cpus;
	if (threads > MAX_THREADS)
		return NULL;
	pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->worker[0]));
	if (!pool)
		return NULL;
	pool->threads = threads;
	pool->may_spin = cpus > (long)threads;
	pool->start = start;
	pool->stop = stop;
	pool->arg = arg;
	pool->jobs_end = &pool->jobs;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (unsigned int i = 0; i < threads; i++) {
		pool->worker[i].pool = pool;
		pthread_cond_init(&pool->worker[i].wake, &attr);
	}
	pthread_condattr_destroy(&attr);

	for (unsigned int i = 0; i < threads; i++) {
		struct vtpu_worker *w = &pool->worker[i];

		if (!vtpu_scratch_init(&w->scratch) ||
		    pthread_create(&w->thread, NULL, worker_main, w)) {
			join(pool, i);
			free_pool(pool);
			return NULL;
		}
	}
	return pool;
}

unsigned int vtpu_pool_threads(const struct vtpu_pool *pool)
{
	return pool->threads;
}

uint64_t vtpu_pool_cpu_ns(const struct vtpu_pool *pool)
{
	uint64_t sum = 0;
	clockid_t clock;

	for (unsigned int i = 0; i < pool->threads; i++) {
		if (!pthread_getcpuclockid(pool->worker[i].thread, &clock))
			sum += now_ns(clock);
	}
	return sum;
}

void vtpu_pool_destroy(struct vtpu_pool *pool)
{
	if (!pool)
		return;
	join(pool, pool->threads);
	free_pool(pool);
}
