// SPDX-License-Identifier: MIT
/*
 * test_chip_faults.c - hangs, watchdog, aborts, resets, destroy and power-off
 * with work in flight. After each, a bystander's answer is still right.
 */
#include <string.h>
#include <unistd.h>

#include "known_answer.h"
#include "tap.h"

#define CTX	 1
#define VA	 0x10000000ULL
#define VA_SYS	 VTPU_VA_HOST_START
#define BYTES	 (4ULL << 20)
#define WATCHDOG 400

struct fixture {
	struct chip_host h;
	struct known_answer ka;
	struct chip_ring q, copy;
	uint64_t hbm, sys;
	uint32_t queue;
};

static void programs(struct fixture *f)
{
	struct image_builder b;
	size_t bytes;
	void *image;

	ib_begin(&b, 1);
	ib_insn(&b, VTPU_OP_HALT);
	image = ib_finish(&b, &bytes);
	tap_is(chip_load(&f->h, CTX, 1, image, bytes, NULL), VTPU_ST_OK, "a HALT program");
	ib_begin(&b, 8);
	ib_insn(&b, VTPU_OP_HALT);
	image = ib_finish(&b, &bytes);
	tap_is(chip_load(&f->h, CTX, 2, image, bytes, NULL), VTPU_ST_OK, "one of 8 cores");
}

/* All that a reset takes away */
static void bring_up(struct fixture *f)
{
	tap_is(ka_setup(&f->h, &f->ka, 9, 100, 900), VTPU_ST_OK, "bystander's program");
	chip_context_create(&f->h, CTX);
	chip_map(&f->h, CTX, VA, f->hbm, BYTES, VTPU_PTE_WRITE);
	chip_map(&f->h, CTX, VA_SYS, f->sys, BYTES, VTPU_PTE_WRITE | VTPU_PTE_SYSTEM);
	programs(f);
}

static void setup(struct fixture *f, enum chip_dma dma)
{
	struct chip_options o = { .dma = dma,
				  .system_bytes = 512 << 20,
				  .config.watchdog_ms = WATCHDOG };

	memset(f, 0, sizeof(*f));
	chip_host_open(&f->h, &o);
	f->hbm = chip_hbm_alloc(&f->h, BYTES, VTPU_LARGE_BYTES);
	f->sys = chip_system_alloc(&f->h, BYTES);
	bring_up(f);
}

static void renew(struct fixture *f)
{
	if (f->queue) {
		chip_queue_destroy(&f->h, f->queue);
		chip_queue_destroy(&f->h, f->queue + 1);
	}
	f->queue = f->queue ? f->queue + 2 : 1;
	if (f->queue > 90)
		f->queue = 1;
	chip_queue_create(&f->h, &f->q, f->queue, CTX, VTPU_QUEUE_COMPUTE, 10);
	chip_queue_create(&f->h, &f->copy, f->queue + 1, CTX, VTPU_QUEUE_COPY, 4);
}

static void bystander(struct fixture *f, const char *after)
{
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right after %s", after);
}

static void inject(struct fixture *f, enum vtpu_fault fault, uint32_t queue, uint32_t job)
{
	const struct vtpu_injection in = {
		.fault = fault, .queue = queue, .job = job, .core = VTPU_NO_CORE
	};
	char err[128];

	if (!vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)))
		tap_ok(false, "inject: %s", err);
}

static uint32_t put(struct fixture *f, uint32_t program)
{
	uint8_t args[8];

	return chip_put(&f->h, &f->q, program, 0, args, chip_args(args, 0, NULL, 0, NULL));
}

static void submit(struct fixture *f, uint32_t program)
{
	put(f, program);
	chip_ring_doorbell(&f->h, &f->q);
}

static const struct vtpu_copy_desc to_system = {
	.op = VTPU_COPY_COPY, .src = VA, .dst = VA_SYS, .rows = 1, .row_bytes = BYTES
};

static void submit_copy(struct fixture *f, uint32_t rows)
{
	struct vtpu_copy_desc d = to_system;

	d.rows = rows;
	chip_submit(&f->h, &f->copy, 0, 0, &d, sizeof(d));
}

static void pump(struct fixture *f, unsigned int ms)
{
	chip_host_pump(&f->h, NULL, NULL, ms);
}

static bool is_running(void *arg)
{
	struct fixture *f = arg;

	return chip_queue_state(&f->h, f->q.id) == VTPU_HWQ_RUNNING;
}

static void wait_running(struct fixture *f)
{
	if (!chip_host_pump(&f->h, is_running, f, 5000))
		tap_ok(false, "the job does not start");
}

static void abort_job(struct fixture *f, struct chip_ring *ring, uint32_t seq)
{
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, (uint64_t)ring->id << 32 | seq);
}

/* ---- Hangs --------------------------------------------------------------------------------- */

static void test_watchdog(struct fixture *f)
{
	struct vtpu_cqe cqe;
	uint64_t start;

	renew(f);
	inject(f, VTPU_FAULT_HANG, f->q.id, 3);
	put(f, 1);
	put(f, 1);
	put(f, 1);
	submit(f, 1);
	start = chip_read64(&f->h, VTPU_REG_TIME_NS);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_OK, "job 1 before a hang");
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_OK, "job 2");
	cqe = chip_wait(&f->h, &f->q);
	tap_is(cqe.status, VTPU_ST_TIMEOUT, "job 3 hangs: the watchdog ends it");
	start = (chip_read64(&f->h, VTPU_REG_TIME_NS) - start) / 1000000;
	tap_ok(start >= WATCHDOG && start < 4 * WATCHDOG, "in bounded time (%u ms)",
	       (unsigned int)start);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_QUEUE_HALTED,
	       "job 4 finds its queue halted");
	tap_is(chip_queue_state(&f->h, f->q.id), VTPU_HWQ_HALTED, "and so does the state register");
	bystander(f, "a hang");

	inject(f, VTPU_FAULT_HANG, f->copy.id, 1);
	submit_copy(f, 1);
	tap_is(chip_wait(&f->h, &f->copy).status, VTPU_ST_TIMEOUT, "a copy job that hangs");
	renew(f);
	inject(f, VTPU_FAULT_HANG, f->q.id, 1);
	tap_is(chip_nop(&f->h, &f->q), VTPU_ST_TIMEOUT, "a NOP that hangs");
	bystander(f, "hangs of copy and NOP");
}

static void test_dma_error(struct fixture *f)
{
	renew(f);
	inject(f, VTPU_FAULT_DMA_ERROR, f->copy.id, 1);
	submit_copy(f, 1);
	tap_is(chip_wait(&f->h, &f->copy).status, VTPU_ST_DMA_ERROR,
	       "an injected DMA error in a copy");
	inject(f, VTPU_FAULT_DMA_ERROR, 0, 1);
	submit(f, 1);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_DMA_ERROR, "and in a program");
	bystander(f, "DMA errors");
}

/* ---- Abort and queue reset ------------------------------------------------------------------- */

/* Is the first job running, or is it over already? */
static bool is_started(void *arg)
{
	struct fixture *f = arg;

	return is_running(arg) || chip_read32(&f->h, CHIP_DB(f->q.id, VTPU_DB_RUNNING));
}

/* The job has ended, but control context has not seen it: it ends well, and so do all later ones. */
static void abort_too_late(struct fixture *f)
{
	struct chip_ring ring = f->q;
	unsigned int i, good = 0;

	chip_queue_create(&f->h, &f->q, 120, CTX, VTPU_QUEUE_COMPUTE, 1);
	submit(f, 1);
	chip_host_pump(&f->h, is_started, f, 5000);
	usleep(50000);
	abort_job(f, &f->q, 0);
	good += chip_wait(&f->h, &f->q).status == VTPU_ST_OK;
	for (i = 0; i < 4; i++) {
		submit(f, 1);
		good += chip_wait(&f->h, &f->q).status == VTPU_ST_OK;
	}
	tap_is(good, 5, "an abort that comes too late hits no other job");
	chip_queue_destroy(&f->h, 120);
	f->q = ring;
}

static void test_abort(struct fixture *f)
{
	unsigned int i, resets;

	renew(f);
	inject(f, VTPU_FAULT_HANG, f->q.id, 1);
	submit(f, 1);
	wait_running(f);
	abort_job(f, &f->q, 1);
	abort_job(f, &f->q, ~0u);
	abort_job(f, &f->copy, 0);
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, 127ULL << 32);
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, ~0ULL);
	pump(f, 5);
	tap_is(chip_queue_state(&f->h, f->q.id), VTPU_HWQ_RUNNING,
	       "aborts of jobs that are not there do nothing");
	chip_write32(&f->h, VTPU_REG_ABORT_JOB, 0);
	pump(f, 5);
	tap_is(chip_queue_state(&f->h, f->q.id), VTPU_HWQ_RUNNING, "half an abort does nothing");
	chip_write32(&f->h, VTPU_REG_ABORT_JOB + 4, f->q.id);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_ABORTED, "the other half acts");
	bystander(f, "an abort");
	abort_too_late(f);

	/* Waiting for cores, and behind the head */
	renew(f);
	inject(f, VTPU_FAULT_HANG, f->ka.ring.id, 1);
	chip_submit(&f->h, &f->ka.ring, 0, VTPU_SQE_NOP, NULL, 0);
	pump(f, 3);
	abort_job(f, &f->ka.ring, f->ka.ring.next - 1);
	tap_is(chip_wait(&f->h, &f->ka.ring).status, VTPU_ST_ABORTED, "a hung NOP is aborted");
	chip_queue_destroy(&f->h, f->ka.ring.id);
	chip_queue_create(&f->h, &f->ka.ring, 100, 9, VTPU_QUEUE_COMPUTE, 2);

	for (i = 0; i < 20; i++)
		put(f, i == 18 ? 2 : 1);
	inject(f, VTPU_FAULT_HANG, f->q.id, 1);
	chip_ring_doorbell(&f->h, &f->q);
	wait_running(f);
	abort_job(f, &f->q, 12);
	abort_job(f, &f->q, 0);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_ABORTED, "the head is aborted");
	for (i = 1; i < 20 && chip_wait(&f->h, &f->q).status == VTPU_ST_QUEUE_HALTED; i++)
		;
	tap_is(i, 20, "the rest is halted, the one behind that was aborted too");

	renew(f);
	resets = chip_read64(&f->h,
			     VTPU_REG_CORE_STATS + offsetof(struct vtpu_hw_core_stats, resets));
	inject(f, VTPU_FAULT_HANG, f->q.id, 2);
	submit(f, 1);
	submit(f, 2);
	submit(f, 1);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_OK, "a job before a queue reset");
	wait_running(f);
	chip_write32(&f->h, VTPU_REG_RESET_QUEUE, f->q.id);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_RESET, "the one that ran");
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_QUEUE_HALTED, "the one behind it");
	tap_is(chip_read64(&f->h,
			   VTPU_REG_CORE_STATS + offsetof(struct vtpu_hw_core_stats, resets)),
	       resets + 1, "its cores were reset");
	chip_write32(&f->h, VTPU_REG_RESET_QUEUE, f->copy.id);
	submit_copy(f, 1);
	tap_is(chip_wait(&f->h, &f->copy).status, VTPU_ST_QUEUE_HALTED,
	       "a reset halts an idle queue");
	chip_write32(&f->h, VTPU_REG_RESET_QUEUE, 0);
	chip_write32(&f->h, VTPU_REG_RESET_QUEUE, 128);
	chip_write32(&f->h, VTPU_REG_RESET_QUEUE, ~0u);
	bystander(f, "queue resets");
}

/* ---- Destroy, unload, invalidate with work in flight -------------------------------------------- */

static bool admin_done(void *arg)
{
	struct fixture *f = arg;
	struct vtpu_cqe cqe;
	struct chip_ring copy = f->h.admin;

	return chip_poll(&f->h, &copy, &cqe);
}

static void test_destroy(struct fixture *f)
{
	unsigned int i, n[3] = { 0 };
	struct vtpu_cqe cqe;
	uint64_t start;

	renew(f);
	inject(f, VTPU_FAULT_HANG, f->q.id, 1);
	for (i = 0; i < 1000; i++)
		put(f, 1);
	chip_ring_doorbell(&f->h, &f->q);
	wait_running(f);
	start = chip_read64(&f->h, VTPU_REG_TIME_NS);
	tap_is(chip_queue_destroy(&f->h, f->q.id), VTPU_ST_OK,
	       "QUEUE_DESTROY with 1,000 jobs queued");
	start = (chip_read64(&f->h, VTPU_REG_TIME_NS) - start) / 1000000;
	tap_ok(start < 3 * WATCHDOG, "does not take long (%u ms)", (unsigned int)start);
	for (i = 0; chip_poll(&f->h, &f->q, &cqe); i++)
		n[cqe.status == VTPU_ST_RESET ? 0 : cqe.status == VTPU_ST_QUEUE_HALTED ? 1 : 2]++;
	tap_ok(n[0] == 1 && n[1] == 999 && !n[2], "each job was completed, before the command");
	submit_copy(f, 1000);
	pump(f, 5);
	tap_is(chip_queue_destroy(&f->h, f->copy.id), VTPU_ST_OK,
	       "QUEUE_DESTROY with a copy running");
	tap_ok(chip_poll(&f->h, &f->copy, &cqe) && cqe.status == VTPU_ST_RESET,
	       "the copy was completed too");
	bystander(f, "a kill");
}

static void test_invalidate(struct fixture *f)
{
	struct vtpu_admin_context inv = {
		.h.opcode = VTPU_ADMIN_INVALIDATE, .context = CTX, .va = VA, .bytes = 4096
	};
	struct vtpu_admin_context other = {
		.h.opcode = VTPU_ADMIN_INVALIDATE, .context = 9, .va = VA, .bytes = 4096
	};
	struct vtpu_admin_context gone = { .h.opcode = VTPU_ADMIN_CONTEXT_DESTROY, .context = CTX };
	uint32_t seq;

	renew(f);
	inject(f, VTPU_FAULT_HANG, f->q.id, 1);
	submit(f, 1);
	wait_running(f);
	seq = chip_admin_post(&f->h, &inv);
	tap_ok(!chip_host_pump(&f->h, admin_done, f, 20), "INVALIDATE waits for a running job");
	tap_is(chip_admin(&f->h, &other, NULL), VTPU_ST_OK, "one of another context does not");
	tap_is(chip_admin(&f->h, &gone, NULL), VTPU_ST_BUSY, "the context is busy");
	tap_is(chip_unload(&f->h, 1), VTPU_ST_OK, "a program may be unloaded while it runs");
	abort_job(f, &f->q, 0);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_ABORTED, "the job ends");
	tap_is(chip_wait(&f->h, &f->h.admin).seq, seq, "then INVALIDATE completes");
	renew(f);
	submit(f, 1);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_NO_PROGRAM,
	       "an unloaded program does not run");
	chip_unload(&f->h, 2);
	programs(f);
	bystander(f, "INVALIDATE and unload");
}

/* ---- Device reset --------------------------------------------------------------------------------- */

/* Everything at once: a hung job, 1,000 behind it, copies, commands */
static void load_up(struct fixture *f)
{
	struct vtpu_admin_context inv = {
		.h.opcode = VTPU_ADMIN_INVALIDATE, .context = CTX, .va = VA, .bytes = 4096
	};
	unsigned int i;

	renew(f);
	inject(f, VTPU_FAULT_HANG, f->q.id, 1);
	for (i = 0; i < 1000; i++)
		put(f, i ? 1 : 2);
	chip_ring_doorbell(&f->h, &f->q);
	submit_copy(f, 10000);
	wait_running(f);
	chip_admin_post(&f->h, &inv);
	pump(f, 3);
	chip_ring_doorbell(&f->h, &f->ka.ring);
}

static bool is_ready(void *arg)
{
	return chip_read32(arg, VTPU_REG_STATUS) == VTPU_STATUS_READY;
}

static void after_reset(struct fixture *f, unsigned int vectors, uint64_t start, const char *how)
{
	struct vtpu_cqe cqe;
	unsigned int i, now = 0;

	start = (chip_read64(&f->h, VTPU_REG_TIME_NS) - start) / 1000000;
	tap_ok(start < WATCHDOG, "%s with work in flight is quick (%u ms)", how,
	       (unsigned int)start);
	pump(f, 20);
	for (i = 0; i < VTPU_MAX_VECTORS; i++)
		now += atomic_load(&f->h.vectors[i]);
	tap_ok(now == vectors && !chip_poll(&f->h, &f->q, &cqe) &&
		       !chip_poll(&f->h, &f->copy, &cqe) && !chip_poll(&f->h, &f->h.admin, &cqe),
	       "nothing of the old work appears later");
	tap_is(chip_queue_state(&f->h, f->q.id), VTPU_HWQ_NONE, "queues are gone");
	chip_host_enable(&f->h);
	f->queue = 0;
	bring_up(f);
	bystander(f, how);
	renew(f);
	submit(f, 2);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_OK, "a job of 8 cores runs again");
}

static unsigned int all_vectors(struct fixture *f)
{
	unsigned int i, n = 0;

	for (i = 0; i < VTPU_MAX_VECTORS; i++)
		n += atomic_load(&f->h.vectors[i]);
	return n;
}

static void test_reset(struct fixture *f)
{
	unsigned int vectors;
	uint64_t start;

	load_up(f);
	vectors = all_vectors(f);
	start = chip_read64(&f->h, VTPU_REG_TIME_NS);
	chip_host_reset(&f->h, VTPU_RESET_FUNCTION);
	after_reset(f, vectors, start, "a function reset");

	load_up(f);
	vectors = all_vectors(f);
	start = chip_read64(&f->h, VTPU_REG_TIME_NS);
	chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	chip_host_pump(&f->h, is_ready, &f->h, 1000);
	after_reset(f, vectors, start, "a reset by register");

	load_up(f);
	vectors = all_vectors(f);
	start = chip_read64(&f->h, VTPU_REG_TIME_NS);
	chip_write32(&f->h, VTPU_REG_CONTROL, 0);
	chip_host_pump(&f->h, is_ready, &f->h, 1000);
	after_reset(f, vectors, start, "a disable");

	load_up(f);
	vectors = all_vectors(f);
	start = chip_read64(&f->h, VTPU_REG_TIME_NS);
	chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	chip_host_reset(&f->h, VTPU_RESET_COLD);
	f->h.table_next = VTPU_PAGE_BYTES;
	after_reset(f, vectors, start, "a cold reset in a reset");
}

static void test_stats(struct fixture *f)
{
	struct vtpu_chip_stats s;
	struct vtpu_hw_core_stats c;
	unsigned int i;

	vtpu_chip_stats(f->h.chip, &s);
	tap_ok(s.jobs_done && s.jobs_failed && s.programs_loaded && s.admin_commands &&
		       s.doorbells && s.queues == 3 && s.contexts == 2 && s.programs == 3 &&
		       s.threads == 2,
	       "counters of the chip");
	for (i = 0; i < sizeof(c) / 8; i++)
		((uint64_t *)&c)[i] = chip_read64(&f->h, VTPU_REG_CORE_STATS + 8 * i);
	tap_ok(c.busy_ns && c.jobs && c.jobs_failed && c.resets && c.cycles, "counters of core 0");
}

static void all(enum chip_dma dma)
{
	static struct fixture f;

	printf("# DMA %s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued");
	setup(&f, dma);
	test_watchdog(&f);
	test_dma_error(&f);
	test_abort(&f);
	test_destroy(&f);
	test_invalidate(&f);
	test_stats(&f);
	test_reset(&f);
	/* Power off with everything in flight. */
	load_up(&f);
	chip_host_close(&f.h);
	tap_ok(true, "power off with work in flight");
}

int main(void)
{
	all(CHIP_DMA_INLINE);
	all(CHIP_DMA_QUEUED);
	return tap_done();
}
