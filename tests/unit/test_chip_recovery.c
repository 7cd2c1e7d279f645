// SPDX-License-Identifier: MIT
/*
 * test_chip_recovery.c - injected hangs that one rung of the ladder after the
 * other does not help against, fatal errors, commands that never complete.
 * After each rung, a bystander's answer is still right.
 */
#include <string.h>

#include "known_answer.h"
#include "tap.h"

#define CTX	 1
#define VA	 0x10000000ULL
#define BYTES	 65536
#define WATCHDOG 100

struct fixture {
	struct chip_host h;
	struct known_answer ka;
	struct chip_ring q[2]; /* by kind */
	uint64_t hbm;
};

/* All that a reset takes away */
static void bring_up(struct fixture *f)
{
	struct image_builder b;
	size_t bytes;
	void *image;

	tap_is(ka_setup(&f->h, &f->ka, 9, 100, 900), VTPU_ST_OK, "bystander's program");
	chip_context_create(&f->h, CTX);
	chip_map(&f->h, CTX, VA, f->hbm, BYTES, VTPU_PTE_WRITE);
	ib_begin(&b, 2);
	ib_insn(&b, VTPU_OP_HALT);
	image = ib_finish(&b, &bytes);
	tap_is(chip_load(&f->h, CTX, 1, image, bytes, NULL), VTPU_ST_OK, "a program of 2 cores");
	chip_queue_create(&f->h, &f->q[VTPU_QUEUE_COMPUTE], 1, CTX, VTPU_QUEUE_COMPUTE, 4);
	chip_queue_create(&f->h, &f->q[VTPU_QUEUE_COPY], 2, CTX, VTPU_QUEUE_COPY, 4);
}

static void setup(struct fixture *f)
{
	struct chip_options o = { .config.watchdog_ms = WATCHDOG };

	memset(f, 0, sizeof(*f));
	chip_host_open(&f->h, &o);
	f->hbm = chip_hbm_alloc(&f->h, BYTES, VTPU_PAGE_BYTES);
	bring_up(f);
}

static void bystander(struct fixture *f, const char *when)
{
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right %s", when);
}

static void inject(struct fixture *f, enum vtpu_fault fault, uint32_t queue, uint32_t job)
{
	const struct vtpu_injection in = {
		.fault = fault, .queue = queue, .job = job, .core = VTPU_NO_CORE
	};
	char err[160];

	if (!vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)))
		tap_ok(false, "inject: %s", err);
}

static void submit(struct fixture *f, uint32_t kind)
{
	const struct vtpu_copy_desc fill = {
		.op = VTPU_COPY_FILL, .dst = VA, .rows = 1, .row_bytes = BYTES
	};
	uint8_t args[8];

	if (kind == VTPU_QUEUE_COPY)
		chip_submit(&f->h, &f->q[kind], 0, 0, &fill, sizeof(fill));
	else
		chip_submit(&f->h, &f->q[kind], 1, 0, args, chip_args(args, 0, NULL, 0, NULL));
}

static bool is_running(void *arg)
{
	struct chip_host *h = arg;

	return chip_queue_state(h, 1) == VTPU_HWQ_RUNNING ||
	       chip_queue_state(h, 2) == VTPU_HWQ_RUNNING;
}

/* The next job of a queue hangs; the watchdog and an abort do what they do with such a job. */
static void hang(struct fixture *f, enum vtpu_fault fault, uint32_t kind)
{
	struct chip_ring *q = &f->q[kind];
	unsigned int barks = atomic_load(&f->h.traced[VTPU_TRACE_WATCHDOG]);
	struct vtpu_cqe cqe;

	inject(f, fault, q->id, 1);
	submit(f, kind);
	submit(f, kind);
	if (!chip_host_pump(&f->h, is_running, &f->h, 5000))
		tap_ok(false, "the job does not start");
	chip_host_pump(&f->h, NULL, NULL, 4 * WATCHDOG);
	barks = atomic_load(&f->h.traced[VTPU_TRACE_WATCHDOG]) - barks;
	tap_ok(barks >= 1 && barks <= 5 && !chip_poll(&f->h, q, &cqe),
	       "the watchdog does not end it (tried %u times)", barks);
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, (uint64_t)q->id << 32 | (q->next - 2));
	chip_host_pump(&f->h, NULL, NULL, 20);
	tap_ok(!chip_poll(&f->h, q, &cqe) && chip_queue_state(&f->h, q->id) == VTPU_HWQ_RUNNING,
	       "nor does an abort");
	bystander(f, "beside it");
}

static void renew(struct fixture *f, uint32_t kind)
{
	tap_is(chip_queue_destroy(&f->h, f->q[kind].id), VTPU_ST_OK, "its queue can go");
	chip_queue_create(&f->h, &f->q[kind], f->q[kind].id, CTX, kind, 4);
	submit(f, kind);
	tap_is(chip_wait(&f->h, &f->q[kind]).status, VTPU_ST_OK, "and a new one works");
}

static uint64_t core_resets(struct fixture *f, unsigned int core)
{
	return chip_read64(&f->h, VTPU_REG_CORE_STATS + core * sizeof(struct vtpu_hw_core_stats) +
					  offsetof(struct vtpu_hw_core_stats, resets));
}

/* The second rung: a reset of the queue */
static void test_ignore_abort(struct fixture *f)
{
	unsigned int kind;

	for (kind = 0; kind < 2; kind++) {
		struct chip_ring *q = &f->q[kind];
		uint64_t resets = core_resets(f, 0) + core_resets(f, 1);

		printf("# ignore-abort, %s\n", kind == VTPU_QUEUE_COPY ? "copy" : "compute");
		hang(f, VTPU_FAULT_IGNORE_ABORT, kind);
		chip_write32(&f->h, VTPU_REG_RESET_QUEUE, q->id);
		tap_is(chip_wait(&f->h, q).status, VTPU_ST_RESET, "a reset of the queue ends it");
		tap_is(chip_wait(&f->h, q).status, VTPU_ST_QUEUE_HALTED, "the next one is halted");
		tap_is(core_resets(f, 0) + core_resets(f, 1) - resets,
		       kind == VTPU_QUEUE_COPY ? 0 : 2, "its cores were reset");
		bystander(f, "after a queue reset");
		renew(f, kind);
	}
}

static bool is_ready(void *arg)
{
	return chip_read32(arg, VTPU_REG_STATUS) == VTPU_STATUS_READY;
}

/* What a reset leaves behind: nothing of the old work, and a chip that works */
static void after_reset(struct fixture *f, uint32_t kind)
{
	struct chip_ring q = f->q[kind];
	struct vtpu_cqe cqe;

	chip_host_enable(&f->h);
	bring_up(f);
	bystander(f, "after the reset");
	submit(f, kind);
	tap_is(chip_wait(&f->h, &f->q[kind]).status, VTPU_ST_OK, "the job that hung runs");
	tap_ok(!chip_poll(&f->h, &q, &cqe), "its first try has no completion");
}

/* Neither a reset of the queue nor its end helps. */
static void stuck(struct fixture *f, enum vtpu_fault fault, uint32_t kind)
{
	struct vtpu_admin_queue destroy = {
		.h.opcode = VTPU_ADMIN_QUEUE_DESTROY,
		.queue = f->q[kind].id,
	};
	struct vtpu_cqe cqe;

	hang(f, fault, kind);
	chip_write32(&f->h, VTPU_REG_RESET_QUEUE, f->q[kind].id);
	chip_admin_post(&f->h, &destroy);
	chip_host_pump(&f->h, NULL, NULL, 20);
	tap_ok(!chip_poll(&f->h, &f->q[kind], &cqe) && !chip_poll(&f->h, &f->h.admin, &cqe),
	       "neither a reset of the queue nor QUEUE_DESTROY ends it");
	bystander(f, "all the same");
}

/* The third rung: a reset of the device */
static void test_stuck(struct fixture *f)
{
	unsigned int kind;

	for (kind = 0; kind < 2; kind++) {
		printf("# stuck, %s\n", kind == VTPU_QUEUE_COPY ? "copy" : "compute");
		stuck(f, VTPU_FAULT_STUCK, kind);
		chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
		tap_ok(chip_host_pump(&f->h, is_ready, &f->h, 1000), "a device reset ends it");
		after_reset(f, kind);
	}
}

/* Beyond the ladder: only a reset from outside helps */
static void test_dead(struct fixture *f)
{
	unsigned int kind, calls;

	for (kind = 0; kind < 2; kind++) {
		printf("# dead, %s\n", kind == VTPU_QUEUE_COPY ? "copy" : "compute");
		stuck(f, VTPU_FAULT_DEAD, kind);
		chip_write32(&f->h, VTPU_REG_CONTROL, kind ? 0 : VTPU_CONTROL_RESET);
		tap_ok(!chip_host_pump(&f->h, is_ready, &f->h, 200),
		       "neither reset nor disable ends");
		chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
		chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
		calls = atomic_load(&f->h.dma_calls);
		chip_ring_doorbell(&f->h, &f->ka.ring);
		tap_ok(!chip_host_pump(&f->h, is_ready, &f->h, 50) &&
			       atomic_load(&f->h.dma_calls) == calls,
		       "and nothing is looked at any more");
		chip_host_reset(&f->h, VTPU_RESET_FUNCTION);
		tap_ok(is_ready(&f->h), "a function level reset revives it");
		after_reset(f, kind);
	}
}

static bool is_fatal(void *arg)
{
	return chip_read32(arg, VTPU_REG_STATUS) == VTPU_STATUS_FATAL;
}

static void test_fatal(struct fixture *f)
{
	unsigned int kind, raised;

	for (kind = 0; kind < 2; kind++) {
		raised = atomic_load(&f->h.vectors[0]);
		inject(f, VTPU_FAULT_FATAL, f->q[kind].id, 1);
		submit(f, kind);
		tap_ok(chip_host_pump(&f->h, is_fatal, &f->h, 1000), "a fatal error by injection");
		tap_is(chip_read32(&f->h, VTPU_REG_FATAL), VTPU_ST_INTERNAL, "says INTERNAL");
		tap_ok(chip_read32(&f->h, VTPU_REG_EVENTS) & VTPU_EVENT_FATAL &&
			       atomic_load(&f->h.vectors[0]) == raised + 1,
		       "and is an event");
		chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
		tap_ok(chip_host_pump(&f->h, is_ready, &f->h, 1000), "a reset helps");
		after_reset(f, kind);
	}
}

static bool admin_done(void *arg)
{
	struct vtpu_cqe cqe;
	struct fixture *f = arg;
	struct chip_ring look = f->h.admin;

	return chip_poll(&f->h, &look, &cqe);
}

static void test_lost_command(struct fixture *f)
{
	struct vtpu_admin_header nop = { .opcode = VTPU_ADMIN_NOP }, lost = nop;
	struct vtpu_cqe cqe;
	uint32_t seq;

	inject(f, VTPU_FAULT_LOST_COMMAND, 0, 2);
	bystander(f, "with a fault armed that is not for jobs");
	tap_is(chip_admin(&f->h, &(union {
		       struct vtpu_admin_header h;
		       uint64_t raw[8];
	       }){ nop },
			  NULL),
	       VTPU_ST_OK, "the first command");
	chip_admin_post(&f->h, &(union {
		struct vtpu_admin_header h;
		uint64_t raw[8];
	}){ lost });
	tap_ok(!chip_host_pump(&f->h, admin_done, f, 50), "the second never completes");
	seq = chip_admin_post(&f->h, &(union {
		struct vtpu_admin_header h;
		uint64_t raw[8];
	}){ nop });
	cqe = chip_wait(&f->h, &f->h.admin);
	tap_ok(cqe.seq == seq && cqe.status == VTPU_ST_OK, "the third does");
	bystander(f, "meanwhile");
	chip_write32(&f->h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	tap_ok(chip_host_pump(&f->h, is_ready, &f->h, 1000), "a reset forgets it");
	after_reset(f, VTPU_QUEUE_COPY);
}

int main(void)
{
	static struct fixture f;

	setup(&f);
	test_ignore_abort(&f);
	test_stuck(&f);
	test_dead(&f);
	test_fatal(&f);
	test_lost_command(&f);
	stuck(&f, VTPU_FAULT_DEAD, VTPU_QUEUE_COMPUTE);
	chip_host_close(&f.h);
	tap_ok(true, "power off with a job that nothing else ends");
	return tap_done();
}
