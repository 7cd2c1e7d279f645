// SPDX-License-Identifier: MIT
/*
 * test_chip_arbiter.c - gangs, masks, slices, priorities, tickets, cycle limits.
 */
#include "known_answer.h"
#include "tap.h"

#define CTX 1

/* Programs, by the width of their gang */
enum {
	W1 = 1,
	W2,
	W3,
	W4,
	W5,
	W8,
	LONG_ONE
};

struct fixture {
	struct chip_host h;
	struct known_answer ka;
};

static void load(struct fixture *f, uint32_t program, uint32_t width)
{
	struct image_builder b;
	size_t bytes;
	void *image;

	ib_begin(&b, width);
	ib_insn(&b, VTPU_OP_HALT);
	image = ib_finish(&b, &bytes);
	if (chip_load(&f->h, CTX, program, image, bytes, NULL))
		tap_ok(false, "cannot load a program of width %u", width);
}

static void setup(struct fixture *f, enum chip_dma dma)
{
	struct chip_options o = { .dma = dma };

	chip_host_open(&f->h, &o);
	tap_is(ka_setup(&f->h, &f->ka, 9, 100, 900), VTPU_ST_OK, "bystander's program");
	chip_context_create(&f->h, CTX);
	load(f, W1, 1);
	load(f, W2, 2);
	load(f, W3, 3);
	load(f, W4, 4);
	load(f, W5, 5);
	load(f, W8, 8);
}

static uint32_t no_args(void *args)
{
	return chip_args(args, 0, NULL, 0, NULL);
}

static void arm(struct fixture *f, enum vtpu_fault fault, uint32_t queue)
{
	const struct vtpu_injection in = {
		.fault = fault, .queue = queue, .job = 1, .core = VTPU_NO_CORE
	};
	char err[128];

	if (!vtpu_chip_inject(f->h.chip, &in, err, sizeof(err)))
		tap_ok(false, "inject: %s", err);
}

struct gang {
	struct chip_ring ring;
	uint32_t program;
};

static void gang(struct fixture *f, struct gang *g, unsigned int id, uint32_t program,
		 uint64_t mask, uint8_t priority)
{
	struct vtpu_admin_queue cmd =
		chip_queue_command(&f->h, &g->ring, id, CTX, VTPU_QUEUE_COMPUTE, 4);

	cmd.core_mask = mask;
	cmd.priority = priority;
	g->program = program;
	if (chip_admin(&f->h, &cmd, NULL))
		tap_ok(false, "cannot create queue %u", id);
}

struct settled {
	struct chip_host *h;
	struct chip_ring *ring;
};

/* Has the job got as far as it can for now? */
static bool is_settled(void *arg)
{
	struct settled *s = arg;
	uint32_t state = chip_queue_state(s->h, s->ring->id);

	return state == VTPU_HWQ_WAITING || state == VTPU_HWQ_RUNNING ||
	       chip_read32(s->h, CHIP_DB(s->ring->id, VTPU_DB_RUNNING)) == s->ring->next;
}

static void go(struct fixture *f, struct gang *g)
{
	struct settled s = { &f->h, &g->ring };
	uint8_t args[8];

	chip_submit(&f->h, &g->ring, g->program, 0, args, no_args(args));
	if (!chip_host_pump(&f->h, is_settled, &s, 5000))
		tap_ok(false, "queue %u does not get on", g->ring.id);
}

static void drop(struct fixture *f, struct gang *g, unsigned int n)
{
	while (n--)
		chip_queue_destroy(&f->h, g[n].ring.id);
}

static uint32_t last_core(struct fixture *f, unsigned int back)
{
	return f->h.started_core[(f->h.started - 1 - back) % 64];
}

static uint32_t last_queue(struct fixture *f, unsigned int back)
{
	return f->h.started_queue[(f->h.started - 1 - back) % 64];
}

static void test_masks(struct fixture *f)
{
	static const struct {
		uint64_t mask;
		uint32_t program, want, core;
		const char *name;
	} t[] = {
		{ 0, W8, VTPU_ST_OK, 0, "8 of 8 cores" },
		{ 0xff, W3, VTPU_ST_OK, 0, "3 of 8" },
		{ 0xf0, W3, VTPU_ST_OK, 4, "3 in the upper half" },
		{ 0x3c, W3, VTPU_ST_MASK, 0, "3 where no block of 4 is aligned" },
		{ 0x07, W3, VTPU_ST_MASK, 0, "3 in a mask of 3" },
		{ 0xfe, W2, VTPU_ST_OK, 2, "2 without core 0" },
		{ 0x80, W1, VTPU_ST_OK, 7, "1 on core 7" },
		{ 0x7f, W8, VTPU_ST_MASK, 0, "8 in a mask of 7" },
		{ 0, W5, VTPU_ST_OK, 0, "5 take a block of 8" },
		{ 0x80, W2, VTPU_ST_MASK, 0, "2 in a mask of 1" },
	};
	struct gang g;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct vtpu_cqe cqe;

		gang(f, &g, 80, t[i].program, t[i].mask, VTPU_PRIO_NORMAL);
		go(f, &g);
		cqe = chip_wait(&f->h, &g.ring);
		tap_ok(cqe.status == t[i].want && (cqe.status || last_core(f, 0) == t[i].core),
		       "gang: %s", t[i].name);
		drop(f, &g, 1);
	}
}

/* A hung job of 8 holds the chip; what waits then starts in the right order. */
static void test_order(struct fixture *f)
{
	struct gang g[6];
	unsigned int i;

	gang(f, &g[0], 81, W8, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[1], 82, W8, 0, VTPU_PRIO_LOW);
	gang(f, &g[2], 83, W8, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[3], 84, W8, 0, VTPU_PRIO_HIGH);
	gang(f, &g[4], 85, W8, 0, VTPU_PRIO_NORMAL);
	arm(f, VTPU_FAULT_HANG, 81);
	for (i = 0; i < 5; i++)
		go(f, &g[i]);
	tap_is(chip_queue_state(&f->h, 82), VTPU_HWQ_WAITING, "a head job waits for cores");
	tap_is(chip_queue_state(&f->h, 81), VTPU_HWQ_RUNNING, "while another runs");
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, 81ULL << 32);
	for (i = 0; i < 5; i++)
		chip_wait(&f->h, &g[i].ring);
	tap_ok(last_queue(f, 3) == 84 && last_queue(f, 2) == 83 && last_queue(f, 1) == 85 &&
		       last_queue(f, 0) == 82,
	       "highest class first, oldest ticket in a class");
	drop(f, g, 5);

	/* The low one has waited two ages: it is as high as any, and older. */
	gang(f, &g[0], 81, W8, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[1], 82, W8, 0, VTPU_PRIO_LOW);
	gang(f, &g[2], 83, W8, 0, VTPU_PRIO_HIGH);
	arm(f, VTPU_FAULT_HANG, 81);
	go(f, &g[0]);
	go(f, &g[1]);
	f->h.skew_ns += 70000000;
	chip_host_pump(&f->h, NULL, NULL, 60);
	f->h.skew_ns += 75000000;
	go(f, &g[2]);
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, 81ULL << 32);
	for (i = 0; i < 3; i++)
		chip_wait(&f->h, &g[i].ring);
	tap_ok(last_queue(f, 1) == 82 && last_queue(f, 0) == 83,
	       "a low job that waits long is not passed by");
	drop(f, g, 3);
}

static void test_no_backfill(struct fixture *f)
{
	struct gang g[4];
	uint32_t started;

	gang(f, &g[0], 81, W2, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[1], 82, W8, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[2], 83, W1, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[3], 84, W3, 0, VTPU_PRIO_NORMAL);
	arm(f, VTPU_FAULT_HANG, 81);
	go(f, &g[0]);
	started = f->h.started;
	go(f, &g[1]);
	go(f, &g[2]);
	tap_is(f->h.started, started, "no backfill: a narrow job waits behind a wide one");
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, 81ULL << 32);
	chip_wait(&f->h, &g[0].ring);
	tap_is(chip_wait(&f->h, &g[1].ring).status, VTPU_ST_OK, "the wide one runs");
	tap_is(chip_wait(&f->h, &g[2].ring).status, VTPU_ST_OK, "then the narrow one");
	drop(f, g, 4);

	/* Cores that the waiting job may not use are not held for it. */
	gang(f, &g[0], 81, W2, 0x0f, VTPU_PRIO_NORMAL);
	gang(f, &g[1], 82, W4, 0x0f, VTPU_PRIO_NORMAL);
	gang(f, &g[2], 83, W3, 0xf0, VTPU_PRIO_NORMAL);
	arm(f, VTPU_FAULT_HANG, 81);
	go(f, &g[0]);
	go(f, &g[1]);
	go(f, &g[2]);
	tap_is(chip_wait(&f->h, &g[2].ring).status, VTPU_ST_OK,
	       "masks apart do not wait for each other");
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, 81ULL << 32);
	tap_is(chip_wait(&f->h, &g[1].ring).status, VTPU_ST_OK, "the waiting one runs in the end");
	drop(f, g, 3);

	gang(f, &g[0], 81, W3, 0, VTPU_PRIO_NORMAL);
	gang(f, &g[1], 82, W1, 0, VTPU_PRIO_NORMAL);
	arm(f, VTPU_FAULT_HANG, 81);
	go(f, &g[0]);
	go(f, &g[1]);
	chip_wait(&f->h, &g[1].ring);
	tap_is(last_core(f, 0), 4, "a gang of 3 holds a slice of 4");
	drop(f, g, 2);
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right after gangs");
}

static void test_limits(struct fixture *f)
{
	struct chip_ring q;
	struct vtpu_admin_queue cmd = chip_queue_command(&f->h, &q, 81, CTX, VTPU_QUEUE_COMPUTE, 4);
	struct vtpu_load_result r;
	struct vtpu_cqe cqe;
	uint8_t args[8];
	size_t bytes;
	struct image_builder b;
	void *img;

	ib_begin(&b, 1);
	ib_insn(&b, VTPU_OP_FILL)->payload.dma =
		(struct vtpu_insn_dma){ .dst_type = VTPU_TYPE_F32,
					.ndim = 1,
					.count = { 65536, 1, 1, 1, 1 },
					.dst_stride = { 4 } };
	img = ib_finish(&b, &bytes);
	tap_is(chip_load(&f->h, CTX, LONG_ONE, img, bytes, &r), VTPU_ST_OK,
	       "a program that takes cycles");
	cmd.max_cycles = r.cycles - 1;
	chip_admin(&f->h, &cmd, NULL);
	chip_submit(&f->h, &q, LONG_ONE, 0, args, no_args(args));
	cqe = chip_wait(&f->h, &q);
	tap_ok(cqe.status == VTPU_ST_CYCLE_LIMIT && cqe.cycles == r.cycles,
	       "one cycle over the limit");
	chip_queue_destroy(&f->h, 81);
	cmd = chip_queue_command(&f->h, &q, 81, CTX, VTPU_QUEUE_COMPUTE, 4);
	cmd.max_cycles = r.cycles;
	chip_admin(&f->h, &cmd, NULL);
	chip_submit(&f->h, &q, LONG_ONE, 0, args, no_args(args));
	cqe = chip_wait(&f->h, &q);
	tap_ok(cqe.status == VTPU_ST_OK && cqe.cycles == r.cycles, "just within it");
	chip_queue_destroy(&f->h, 81);
}

static void all(enum chip_dma dma)
{
	static struct fixture f;

	printf("# DMA %s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued");
	setup(&f, dma);
	test_masks(&f);
	test_order(&f);
	test_no_backfill(&f);
	test_limits(&f);
	chip_host_close(&f.h);
}

int main(void)
{
	all(CHIP_DMA_INLINE);
	all(CHIP_DMA_QUEUED);
	return tap_done();
}
