// SPDX-License-Identifier: MIT
/*
 * test_chip_threads.c - the guest's CPUs at the registers while control context
 * works: what the thread sanitizer is to look at.
 */
#include <pthread.h>

#include "known_answer.h"
#include "tap.h"

#define CPUS   2
#define ROUNDS 300

struct cpu {
	struct chip_host *h;
	pthread_t thread;
	atomic_bool *stop;
	unsigned int seed;
	uint64_t reads;
};

/* Reads everything, rings all bells, aborts and resets what is not the bystander's. */
static void *cpu(void *arg)
{
	struct cpu *c = arg;
	struct vtpu_chip_stats stats;
	unsigned int n = c->seed;

	while (!atomic_load(c->stop)) {
		unsigned int queue = n % 6;

		chip_read64(c->h, CHIP_DB(queue, VTPU_DB_PROGRESS));
		chip_read64(c->h, CHIP_DB(queue, VTPU_DB_BUSY_NS));
		chip_read32(c->h, CHIP_DB(queue, VTPU_DB_STATE));
		chip_read32(c->h, VTPU_REG_STATUS);
		chip_read64(c->h, VTPU_REG_CORE_STATS + n % 64 * 8);
		chip_write32(c->h, CHIP_DB(queue, VTPU_DB_RING), n);
		chip_write32(c->h, VTPU_REG_EVENTS, ~0u);
		if (n % 64 == 1)
			chip_write64(c->h, VTPU_REG_ABORT_JOB, 2ULL << 32 | n / 64 % 16);
		if (n % 512 == 3)
			chip_write32(c->h, VTPU_REG_RESET_QUEUE, 3);
		vtpu_chip_stats(c->h->chip, &stats);
		c->reads += stats.jobs_done >= stats.copies_done;
		n++;
	}
	return NULL;
}

/* A queue that others abort or reset: every job ends, one way or another. */
static bool hunted(struct chip_host *h, struct chip_ring *q, uint32_t program)
{
	uint8_t args[8];
	uint32_t status = chip_run(h, q, program, args, chip_args(args, 0, NULL, 0, NULL));

	if (status == VTPU_ST_OK)
		return true;
	if (status != VTPU_ST_ABORTED && status != VTPU_ST_RESET && status != VTPU_ST_QUEUE_HALTED)
		return false;
	chip_queue_destroy(h, q->id);
	chip_queue_create(h, q, q->id, 1, VTPU_QUEUE_COMPUTE, 4);
	return true;
}

static void all(enum chip_dma dma)
{
	struct chip_options o = { .dma = dma, .system_bytes = 512 << 20 };
	struct chip_host h;
	struct known_answer ka;
	struct chip_ring q[2];
	struct cpu c[CPUS];
	struct image_builder b;
	atomic_bool stop = false;
	unsigned int i, good = 0, ended = 0;
	size_t bytes;
	void *image;

	printf("# DMA %s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued");
	chip_host_open(&h, &o);
	tap_is(ka_setup(&h, &ka, 9, 1, 900), VTPU_ST_OK, "bystander's program");
	chip_context_create(&h, 1);
	ib_begin(&b, 4);
	ib_insn(&b, VTPU_OP_HALT);
	image = ib_finish(&b, &bytes);
	tap_is(chip_load(&h, 1, 1, image, bytes, NULL), VTPU_ST_OK, "program of the hunted");
	chip_queue_create(&h, &q[0], 2, 1, VTPU_QUEUE_COMPUTE, 4);
	chip_queue_create(&h, &q[1], 3, 1, VTPU_QUEUE_COMPUTE, 4);
	for (i = 0; i < CPUS; i++) {
		c[i] = (struct cpu){ .h = &h, .stop = &stop, .seed = i * 1000003 };
		pthread_create(&c[i].thread, NULL, cpu, &c[i]);
	}
	for (i = 0; i < ROUNDS; i++) {
		ended += hunted(&h, &q[0], 1) && hunted(&h, &q[1], 1);
		good += ka_run(&h, &ka);
	}
	atomic_store(&stop, true);
	for (i = 0; i < CPUS; i++)
		pthread_join(c[i].thread, NULL);
	tap_is(ended, ROUNDS, "each job that others abort or reset ends");
	tap_is(good, ROUNDS, "the bystander's answers are right");
	tap_ok(c[0].reads && c[1].reads, "the registers were busy");
	chip_host_close(&h);
}

int main(void)
{
	all(CHIP_DMA_INLINE);
	all(CHIP_DMA_QUEUED);
	return tap_done();
}
