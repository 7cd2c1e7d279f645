// SPDX-License-Identifier: MIT
/*
 * test_pool.c - worker threads: hooks, one-off calls, turns between runs, sleep.
 */
#include <time.h>
#include <unistd.h>

#include "hand.h"
#include "kernels/kernels.h"
#include "tap.h"

static atomic_uint starts, stops, calls;

static void on_start(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static void on_stop(void *arg)
{
	(void)arg;
	atomic_fetch_add(&stops, 1);
}

static void call(void *arg)
{
	(void)arg;
	atomic_fetch_add(&calls, 1);
}

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static void test_size(void)
{
	struct vtpu_pool *pool;

	tap_ok(!vtpu_pool_create(257, NULL, NULL, NULL), "more than 256 threads are refused");
	pool = vtpu_pool_create(0, NULL, NULL, NULL);
	tap_is(vtpu_pool_threads(pool), sysconf(_SC_NPROCESSORS_ONLN),
	       "0 threads means one for each CPU");
	vtpu_pool_destroy(pool);
	vtpu_pool_destroy(NULL);
	pool = vtpu_pool_create(3, on_start, on_stop, &starts);
	tap_is(vtpu_pool_threads(pool), 3, "three threads are three threads");
	vtpu_pool_destroy(pool);
	tap_ok(atomic_load(&starts) == 3 && atomic_load(&stops) == 3,
	       "each thread runs both hooks once");
}

static void *submitter(void *arg)
{
	for (int i = 0; i < 2000; i++)
		vtpu_pool_submit(arg, call, NULL);
	return NULL;
}

static void test_submit(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(4, NULL, NULL, NULL);
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, submitter, pool);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	vtpu_pool_destroy(pool);
	tap_is(atomic_load(&calls), 6000,
	       "calls from three threads run once each, before the pool ends");
}

/* A chain of @n fills of @bytes each. */
static void fills(struct hand *h, uint32_t n, uint32_t bytes)
{
	hand_begin(h, 1, n);
	for (uint32_t i = 0; i < n; i++) {
		struct vtpu_insn_dma *x = &hand_insn(h, VTPU_OP_FILL, 0)->payload.dma;

		x->dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0);
		x->dst_type = VTPU_TYPE_U8;
		x->ndim = 1;
		x->count[0] = bytes;
		x->dst_stride[0] = 1;
		x->imm = i;
	}
	hand_chain(h);
	hand_end(h);
}

static void test_runs(void)
{
	enum {
		RUNS = 24,
		TIMES = 20
	};
	static struct hand_run run[RUNS];
	struct vtpu_pool *pool = vtpu_pool_create(4, NULL, NULL, NULL);
	int wrong = 0;
	struct hand h;

	fills(&h, 50, 64);
	for (int i = 0; i < RUNS; i++)
		hand_run_init(&run[i], &h.p, &vtpu_kernels_scalar);
	for (int t = 0; t < TIMES; t++) {
		for (int i = 0; i < RUNS; i++)
			hand_start(&run[i], pool);
		for (int i = 0; i < RUNS; i++) {
			hand_wait(&run[i]);
			wrong += run[i].done != 1 || run[i].run.status != VTPU_ST_OK ||
				 atomic_load(&run[i].run.retired) != 50 ||
				 run[i].run.core[0].vmem[0] != 49;
		}
	}
	tap_is(wrong, 0, "480 runs, 24 at a time, each end once and right");
	for (int i = 0; i < RUNS; i++)
		hand_run_free(&run[i]);
	hand_free(&h);
	vtpu_pool_destroy(pool);
}

static void test_turns(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(1, NULL, NULL, NULL);
	static struct hand_run slow, quick;
	struct hand long_program, short_program;
	uint64_t retired;
	unsigned int before = atomic_load(&calls);

	fills(&long_program, 5000, 1 << 20);
	fills(&short_program, 3, 64);
	hand_run_init(&slow, &long_program.p, &vtpu_kernels_scalar);
	hand_run_init(&quick, &short_program.p, &vtpu_kernels_scalar);
	hand_start(&slow, pool);
	while (!atomic_load(&slow.run.retired))
		sleep_ms(1);
	hand_start(&quick, pool);
	vtpu_pool_submit(pool, call, NULL);
	hand_wait(&quick);
	while (atomic_load(&calls) == before)
		sleep_ms(1);
	retired = atomic_load(&slow.run.retired);
	tap_ok(retired < 5000,
	       "a short run and a call get their turn on one thread beside a long run");
	hand_wait(&slow);
	tap_is(atomic_load(&slow.run.retired), 5000, "and the long run ends");
	hand_run_free(&slow);
	hand_run_free(&quick);
	hand_free(&long_program);
	hand_free(&short_program);
	vtpu_pool_destroy(pool);
}

static void test_sleep(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(2, NULL, NULL, NULL);
	uint64_t before, used;
	struct hand h;
	static struct hand_run run;

	fills(&h, 20, 8 << 20);
	hand_run_init(&run, &h.p, &vtpu_kernels_scalar);
	before = vtpu_pool_cpu_ns(pool);
	hand_start(&run, pool);
	hand_wait(&run);
	tap_ok(vtpu_pool_cpu_ns(pool) - before > 1000000, "CPU time of a run is counted");
	sleep_ms(5);
	before = vtpu_pool_cpu_ns(pool);
	sleep_ms(100);
	used = vtpu_pool_cpu_ns(pool) - before;
	tap_ok(used < 1000000, "idle workers sleep (%" PRIu64 " us in 100 ms)", used / 1000);
	hand_run_free(&run);
	hand_free(&h);
	vtpu_pool_destroy(pool);
}

int main(void)
{
	test_size();
	test_submit();
	test_runs();
	test_turns();
	test_sleep();
	return tap_done();
}
