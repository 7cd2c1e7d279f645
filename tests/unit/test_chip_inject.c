// SPDX-License-Identifier: MIT
/*
 * test_chip_inject.c - faults brought about: how they are described, whose they are and how
 * often, and what becomes of jobs that meet those which are not hangs.
 */
#include <string.h>

#include "known_answer.h"
#include "tap.h"

#define CTX    1
#define VA     0x10000000ULL
#define VA_SYS VTPU_VA_HOST_START
#define BYTES  (64u << 10)
#define SENDER 2 /* program: two cores, each sends to the other */
#define NOPS   400

struct fixture {
	struct chip_host h;
	struct known_answer ka, victim;
	struct chip_ring q, copy;
};

static void make_queues(struct fixture *f)
{
	chip_queue_create(&f->h, &f->q, 1, CTX, VTPU_QUEUE_COMPUTE, 4);
	chip_queue_create(&f->h, &f->copy, 2, CTX, VTPU_QUEUE_COPY, 4);
}

/* A failed job has halted them. */
static void renew(struct fixture *f)
{
	chip_queue_destroy(&f->h, 1);
	chip_queue_destroy(&f->h, 2);
	chip_queue_destroy(&f->h, f->victim.ring.id);
	make_queues(f);
	chip_queue_create(&f->h, &f->victim.ring, f->victim.ring.id, 8, VTPU_QUEUE_COMPUTE, 2);
}

static void setup(struct fixture *f)
{
	struct chip_options o = { .system_bytes = 64 << 20, .config.watchdog_ms = 10000 };
	struct vtpu_insn *insn;
	struct image_builder b;
	size_t bytes;
	void *image;

	memset(f, 0, sizeof(*f));
	chip_host_open(&f->h, &o);
	tap_is(ka_setup(&f->h, &f->ka, 9, 100, 900), VTPU_ST_OK, "bystander's program");
	tap_is(ka_setup(&f->h, &f->victim, 8, 101, 901), VTPU_ST_OK, "victim's program");
	chip_context_create(&f->h, CTX);
	chip_map(&f->h, CTX, VA, chip_hbm_alloc(&f->h, BYTES, VTPU_PAGE_BYTES), BYTES,
		 VTPU_PTE_WRITE);
	chip_map(&f->h, CTX, VA_SYS, chip_system_alloc(&f->h, BYTES), BYTES,
		 VTPU_PTE_WRITE | VTPU_PTE_SYSTEM);
	ib_begin(&b, 2);
	insn = ib_insn(&b, VTPU_OP_SEND);
	insn->op_id = 77;
	insn->payload.dma = (struct vtpu_insn_dma){
		.dst = 4096,
		.src_type = VTPU_TYPE_S32,
		.dst_type = VTPU_TYPE_S32,
		.ndim = 1,
		.count = { 16, 1, 1, 1, 1 },
		.src_stride = { 4 },
		.dst_stride = { 4 },
		.core = 1,
	};
	image = ib_finish(&b, &bytes);
	tap_is(chip_load(&f->h, CTX, SENDER, image, bytes, NULL), VTPU_ST_OK,
	       "a program that sends");
	make_queues(f);
}

static void inject(struct fixture *f, const char *text)
{
	struct vtpu_injection in;
	char err[320];

	if (!vtpu_injection_parse(text, &in, err, sizeof(err)) ||
	    !vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)))
		tap_ok(false, "inject=%s: %s", text, err);
}

static void bystander(struct fixture *f, const char *after)
{
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right after %s", after);
}

/* ---- Words --------------------------------------------------------------------------------- */

static bool refused(struct fixture *f, enum vtpu_fault fault, uint32_t queue, uint32_t job,
		    const char *says)
{
	const struct vtpu_injection in = {
		.fault = fault, .queue = queue, .job = job, .core = VTPU_NO_CORE
	};
	char err[160] = "";

	return !vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)) && strstr(err, says);
}

static bool unreadable(const char *text, const char *says)
{
	struct vtpu_injection in;
	char err[320] = "";

	return !vtpu_injection_parse(text, &in, err, sizeof(err)) && strstr(err, says);
}

static void test_inject_args(struct fixture *f)
{
	struct vtpu_injection in;
	char err[320];

	tap_ok(refused(f, 99, 0, 1, "99"), "an unknown fault is refused by number");
	tap_ok(refused(f, VTPU_FAULT_HANG, 129, 1, "129"),
	       "a queue that cannot be is refused by number");
	tap_ok(refused(f, VTPU_FAULT_HANG, 0, 0, "job 0"), "job 0 is refused");
	tap_ok(vtpu_injection_parse("lost-irq", &in, err, sizeof(err)) &&
		       in.fault == VTPU_FAULT_LOST_IRQ && !in.queue && in.job == 1,
	       "faults have names");
	tap_ok(vtpu_injection_parse("stuck:job=7,queue=3", &in, err, sizeof(err)) &&
		       in.fault == VTPU_FAULT_STUCK && in.queue == 3 && in.job == 7,
	       "and are read with queue and job");
	tap_ok(vtpu_injection_parse("hang:core=2", &in, err, sizeof(err)) && in.core == 2 &&
		       vtpu_injection_parse("hang", &in, err, sizeof(err)) &&
		       in.core == VTPU_NO_CORE &&
		       vtpu_injection_parse("wrong-bit", &in, err, sizeof(err)) && !in.core,
	       "and with a core");
	in = (struct vtpu_injection){ .fault = VTPU_FAULT_LOST_IRQ, .job = 1, .core = 1 };
	tap_ok(!vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)) &&
		       strstr(err, "lost-irq is a fault of the whole job"),
	       "a core for a fault of the whole job is refused");
	in = (struct vtpu_injection){ .fault = VTPU_FAULT_HANG, .job = 1, .core = 1000 };
	tap_ok(!vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)) && strstr(err, "core 1000"),
	       "a core that is none is refused");
	in = (struct vtpu_injection){ .fault = VTPU_FAULT_ECC, .job = 1, .every = 2, .chance = 3 };
	tap_ok(!vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)) &&
		       strstr(err, "every=2 and chance=3"),
	       "every so many jobs and by chance: one of them");
	tap_ok(unreadable("lost", "no such fault") && unreadable("", "no such fault") &&
		       unreadable("hang:", "''") && unreadable("hang:cores=1", "'cores=1'") &&
		       unreadable("hang:job=", "'job='") && unreadable("hang:job=-1", "'job=-1'") &&
		       unreadable("hang:job=4294967296", "4294967296") &&
		       unreadable("hang:job=1x:queue=1", "'job=1x'"),
	       "what cannot be read is named");
}

/* ---- How often ------------------------------------------------------------------------------ */

/* Which of @n NOPs meet a corrected memory error: a bit each */
static unsigned int meet(struct fixture *f, const char *text, uint8_t *met, unsigned int n)
{
	unsigned int found = 0;

	inject(f, text);
	for (unsigned int i = 0; i < n; i++) {
		if (chip_nop(&f->h, &f->q) != VTPU_ST_OK)
			tap_ok(false, "a job with a corrected memory error ends well");
		met[i] = chip_read32(&f->h, VTPU_REG_EVENTS) == VTPU_EVENT_ECC;
		chip_write32(&f->h, VTPU_REG_EVENTS, VTPU_EVENT_ECC);
		found += met[i];
	}
	inject(f, "none");
	return found;
}

static void test_often(struct fixture *f)
{
	static uint8_t a[NOPS], b[NOPS];
	unsigned int n, wrong = 0;

	n = meet(f, "ecc-corrected:job=3", a, 10);
	tap_ok(n == 1 && a[2], "once, at the third job: its event says so, and the job ends well");
	n = meet(f, "ecc-corrected:job=2:every=3", a, 20);
	for (unsigned int i = 0; i < 20; i++)
		wrong += a[i] != (i >= 1 && (i - 1) % 3 == 0);
	tap_ok(!wrong && n == 7, "every third job from the second on");
	n = meet(f, "ecc-corrected:every=2:times=3", a, 20);
	tap_ok(n == 3 && a[0] && a[2] && a[4], "three times at most");
	n = meet(f, "ecc-corrected:times=3", a, 20);
	tap_ok(n == 3 && a[0] && a[1] && a[2], "three times in a row");
	n = meet(f, "ecc-corrected:chance=4:seed=7", a, NOPS);
	tap_ok(n > NOPS / 8 && n < NOPS / 2, "by chance, one in four: %u of %u", n, NOPS);
	n = meet(f, "ecc-corrected:chance=4:seed=7", b, NOPS);
	tap_ok(!memcmp(a, b, NOPS), "the same seed draws the same lots");
	n = meet(f, "ecc-corrected:chance=4:seed=8", b, NOPS);
	tap_ok(memcmp(a, b, NOPS), "another one others");
	n = meet(f, "ecc-corrected:chance=4:seed=7:times=5", b, NOPS);
	tap_is(n, 5, "lots too are drawn so often at most");
	n = meet(f, "ecc-corrected:queue=2", a, 5);
	tap_is(n, 0, "other queues' jobs do not meet it");
	bystander(f, "corrected memory errors");
}

/* ---- What becomes of jobs ---------------------------------------------------------------------- */

static struct vtpu_cqe run_victim(struct fixture *f)
{
	const uint64_t va[2] = { KA_IN_VA, KA_OUT_VA };
	uint8_t args[64];

	chip_submit(&f->h, &f->victim.ring, f->victim.program, 0, args,
		    chip_args(args, 2, va, 0, NULL));
	return chip_wait(&f->h, &f->victim.ring);
}

static struct vtpu_cqe run_copy(struct fixture *f, uint64_t src, uint64_t dst)
{
	const struct vtpu_copy_desc d = {
		.op = VTPU_COPY_COPY, .src = src, .dst = dst, .rows = 1, .row_bytes = BYTES / 2
	};

	chip_submit(&f->h, &f->copy, 0, 0, &d, sizeof(d));
	return chip_wait(&f->h, &f->copy);
}

static void test_ecc(struct fixture *f)
{
	struct vtpu_cqe cqe;

	inject(f, "ecc:queue=101");
	cqe = run_victim(f);
	tap_is(cqe.status, VTPU_ST_ECC, "a job that reads a lost word ends as ECC");
	tap_ok(VTPU_WHERE_UNIT(cqe.where) == VTPU_UNIT_DMA && cqe.fault_addr == KA_IN_VA,
	       "unit and virtual address say where");
	tap_is(chip_queue_state(&f->h, f->victim.ring.id), VTPU_HWQ_HALTED, "its queue is halted");
	bystander(f, "a lost word");
	renew(f);
	tap_ok(ka_run(&f->h, &f->victim), "the same job again, in a new queue, is right");
	inject(f, "ecc:queue=101:core=1");
	tap_ok(ka_run(&f->h, &f->victim), "another core's lost word is nothing to it");

	inject(f, "ecc:queue=2");
	tap_is(run_copy(f, VA_SYS, VA).status, VTPU_ST_OK, "a copy that only writes HBM ends well");
	inject(f, "ecc:queue=2");
	cqe = run_copy(f, VA, VA_SYS);
	tap_ok(cqe.status == VTPU_ST_ECC && cqe.fault_addr == VA, "one that reads it does not");
	renew(f);
	tap_is(run_copy(f, VA, VA + BYTES / 2).status, VTPU_ST_OK, "once only");
	bystander(f, "a lost word in a copy");
}

static struct vtpu_cqe run_sender(struct fixture *f)
{
	uint8_t args[8];

	chip_submit(&f->h, &f->q, SENDER, 0, args, chip_args(args, 0, NULL, 0, NULL));
	return chip_wait(&f->h, &f->q);
}

static void test_link(struct fixture *f)
{
	struct vtpu_cqe cqe;

	inject(f, "link-down:core=1");
	cqe = run_sender(f);
	tap_is(cqe.status, VTPU_ST_LINK, "a job that sends over a dead link ends as LINK");
	tap_ok(cqe.op_id == 77 && VTPU_WHERE_CORE(cqe.where) == 1, "operation and core are named");
	bystander(f, "a dead link");
	renew(f);
	tap_is(run_sender(f).status, VTPU_ST_OK, "it runs again when the link is there");
	inject(f, "link-down");
	tap_ok(ka_run(&f->h, &f->ka), "a job that sends nothing needs no link");
}

static void test_slow(struct fixture *f)
{
	const uint64_t once = run_victim(f).cycles;
	struct vtpu_cqe cqe;

	inject(f, "slow:queue=101:core=0");
	cqe = run_victim(f);
	tap_ok(cqe.status == VTPU_ST_OK && cqe.cycles == 2 * once,
	       "a job on a throttled core takes twice its cycles");
	inject(f, "slow:queue=101");
	tap_ok(ka_run(&f->h, &f->victim), "and its answer is right");
	tap_is(run_victim(f).cycles, once, "the next one is as fast as ever");
	bystander(f, "a throttled core");
}

int main(void)
{
	struct fixture f;

	setup(&f);
	test_inject_args(&f);
	test_often(&f);
	test_ecc(&f);
	test_link(&f);
	test_slow(&f);
	chip_host_close(&f.h);
	return tap_done();
}
