// SPDX-License-Identifier: MIT
/*
 * test_chip_queue.c - I/O queues: order, ring wrap, hostile entries, arguments
 * and their translation.
 */
#include <string.h>

#include "known_answer.h"
#include "tap.h"

#define CTX    1
#define VA     0x10000000ULL	  /* HBM, writable */
#define VA_RO  0x20000000ULL	  /* HBM, read-only */
#define VA_SYS VTPU_VA_HOST_START /* system memory, writable */
#define BYTES  0x400000ULL

struct fixture {
	struct chip_host h;
	struct known_answer ka;
	struct chip_ring q;
	uint64_t hbm, sys;
};

static void *image(uint32_t width, uint64_t extent, uint64_t stride, uint32_t flags,
		   uint32_t nscalars, size_t *bytes)
{
	struct image_builder b;

	ib_begin(&b, width);
	b.nscalars = nscalars;
	if (extent)
		ib_base(&b, "base", extent, stride, flags);
	ib_insn(&b, VTPU_OP_HALT);
	return ib_finish(&b, bytes);
}

static void load(struct fixture *f, uint32_t program, uint32_t width, uint64_t extent,
		 uint64_t stride, uint32_t flags)
{
	size_t bytes;
	void *img = image(width, extent, stride, flags, 0, &bytes);

	if (chip_load(&f->h, CTX, program, img, bytes, NULL))
		tap_ok(false, "cannot load program %u", program);
}

/* Programs: 1 HALT; 2 reads 4 KiB; 3 writes 4 KiB; 4 reads 2 MiB */
static void setup(struct fixture *f, enum chip_dma dma)
{
	struct chip_options o = { .dma = dma, .system_bytes = 512 << 20 };

	chip_host_open(&f->h, &o);
	tap_is(ka_setup(&f->h, &f->ka, 9, 100, 900), VTPU_ST_OK, "bystander's program");
	chip_context_create(&f->h, CTX);
	f->hbm = chip_hbm_alloc(&f->h, BYTES, VTPU_LARGE_BYTES);
	f->sys = chip_system_alloc(&f->h, BYTES);
	chip_map(&f->h, CTX, VA, f->hbm, BYTES, VTPU_PTE_WRITE);
	chip_map(&f->h, CTX, VA_RO, f->hbm, BYTES, 0);
	chip_map(&f->h, CTX, VA_SYS, f->sys, BYTES, VTPU_PTE_WRITE | VTPU_PTE_SYSTEM);
	load(f, 1, 1, 0, 0, 0);
	load(f, 2, 1, 4096, 0, VTPU_BASE_READ);
	load(f, 3, 1, 4096, 0, VTPU_BASE_WRITE);
	load(f, 4, 1, 0x200000, 0, VTPU_BASE_READ);
}

static void bystander(struct fixture *f, const char *after)
{
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right after %s", after);
}

static uint32_t no_args(void *args)
{
	return chip_args(args, 0, NULL, 0, NULL);
}

static uint32_t one_base(struct fixture *f, struct chip_ring *q, uint32_t program, uint64_t va)
{
	uint8_t args[64];

	return chip_run(&f->h, q, program, args, chip_args(args, 1, &va, 0, NULL));
}

/* A new queue for each fault, as a failed job halts its queue. */
static void renew(struct fixture *f)
{
	static unsigned int id;

	if (id)
		chip_queue_destroy(&f->h, id);
	id = id % 50 + 1;
	chip_queue_create(&f->h, &f->q, id, CTX, VTPU_QUEUE_COMPUTE, 4);
}

static bool is_running(void *arg)
{
	struct fixture *f = arg;

	return chip_queue_state(&f->h, f->q.id) == VTPU_HWQ_RUNNING;
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

/* ---- Order and rings -------------------------------------------------------------------------- */

static void test_wrap(struct fixture *f)
{
	struct chip_ring q;
	uint8_t args[8];
	unsigned int depth, i, n, bad;

	for (depth = 1; depth <= 5; depth += 2) {
		chip_queue_create(&f->h, &q, 60 + depth, CTX, VTPU_QUEUE_COMPUTE, depth);
		bad = 0;
		for (n = 0; n < 7u << depth; n += i) {
			unsigned int burst = 1 + n % (1u << depth);

			for (i = 0; i < burst; i++)
				chip_put(&f->h, &q, (n + i) % 3 ? 1 : 0,
					 (n + i) % 3 ? 0 : VTPU_SQE_NOP, args,
					 (n + i) % 3 ? no_args(args) : 0);
			chip_ring_doorbell(&f->h, &q);
			for (i = 0; i < burst; i++) {
				struct vtpu_cqe cqe = chip_wait(&f->h, &q);

				bad += cqe.status != VTPU_ST_OK || cqe.seq != n + i;
			}
		}
		tap_ok(!bad, "a ring of %u wraps, jobs complete in order, phases alternate",
		       1u << depth);
		tap_is(chip_read32(&f->h, CHIP_DB(q.id, VTPU_DB_FETCHED)), n, "FETCHED");
		tap_is(chip_read32(&f->h, CHIP_DB(q.id, VTPU_DB_RUNNING)), n, "RUNNING");
		chip_queue_destroy(&f->h, q.id);
	}
}

static void test_vectors(struct fixture *f)
{
	unsigned int vector, before;
	uint8_t args[8];

	renew(f);
	vector = VTPU_QUEUE_VECTOR(f->q.id, VTPU_MAX_VECTORS);
	before = atomic_load(&f->h.vectors[vector]);
	tap_is(chip_run(&f->h, &f->q, 1, args, no_args(args)), VTPU_ST_OK, "a HALT program");
	chip_host_once(&f->h);
	tap_is(atomic_load(&f->h.vectors[vector]), before + 1, "raises the queue's vector once");
	arm(f, VTPU_FAULT_LOST_IRQ, f->q.id);
	tap_is(chip_run(&f->h, &f->q, 1, args, no_args(args)), VTPU_ST_OK,
	       "a job with a lost interrupt");
	chip_host_pump(&f->h, NULL, NULL, 5);
	tap_is(atomic_load(&f->h.vectors[vector]), before + 1, "completes without one");
	tap_is(chip_run(&f->h, &f->q, 1, args, no_args(args)), VTPU_ST_OK, "the next one");
	chip_host_once(&f->h);
	tap_is(atomic_load(&f->h.vectors[vector]), before + 2, "has one again");
}

static void test_overrun(struct fixture *f)
{
	uint32_t events = chip_read32(&f->h, VTPU_REG_EVENTS);
	struct vtpu_cqe cqe;

	renew(f);
	tap_is(chip_nop(&f->h, &f->q), VTPU_ST_OK, "a job before the overrun");
	f->q.next += 17;
	chip_ring_doorbell(&f->h, &f->q);
	cqe = chip_wait(&f->h, &f->q);
	tap_ok(cqe.status == VTPU_ST_RING_OVERRUN && cqe.seq == 1, "a ring overrun is told once");
	chip_host_pump(&f->h, NULL, NULL, 5);
	tap_ok(!chip_poll(&f->h, &f->q, &cqe), "and nothing follows");
	tap_is(chip_queue_state(&f->h, f->q.id), VTPU_HWQ_HALTED, "the queue is halted");
	tap_is(chip_read32(&f->h, VTPU_REG_EVENTS) & ~events, VTPU_EVENT_QUEUE_HALTED & ~events,
	       "and there is an event");
	f->q.next = 2;
	chip_ring_doorbell(&f->h, &f->q);
	chip_host_pump(&f->h, NULL, NULL, 5);
	tap_ok(!chip_poll(&f->h, &f->q, &cqe), "its tail word is not looked at any more");
	tap_is(chip_queue_destroy(&f->h, f->q.id), VTPU_ST_OK, "it can be destroyed");
	bystander(f, "a ring overrun");

	renew(f);
	chip_nop(&f->h, &f->q);
	f->q.next = 0;
	chip_ring_doorbell(&f->h, &f->q);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_RING_OVERRUN, "a tail word that goes back");
	renew(f);
	atomic_store(&f->h.poison, f->q.tail);
	chip_submit(&f->h, &f->q, 0, VTPU_SQE_NOP, NULL, 0);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_DMA_ERROR, "a tail word out of reach");
	renew(f);
	atomic_store(&f->h.poison, f->q.sq);
	chip_submit(&f->h, &f->q, 0, VTPU_SQE_NOP, NULL, 0);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_DMA_ERROR, "an entry out of reach");
	renew(f);
	atomic_store(&f->h.poison, f->q.args);
	tap_is(one_base(f, &f->q, 2, VA), VTPU_ST_DMA_ERROR, "arguments out of reach");
	renew(f);
	atomic_store(&f->h.poison, f->q.cq);
	chip_write32(&f->h, VTPU_REG_EVENTS, VTPU_EVENT_MASK);
	chip_submit(&f->h, &f->q, 0, VTPU_SQE_NOP, NULL, 0);
	chip_host_pump(&f->h, NULL, NULL, 5);
	tap_is(chip_read32(&f->h, VTPU_REG_EVENTS), VTPU_EVENT_QUEUE_HALTED,
	       "completions out of reach halt the queue");
	atomic_store(&f->h.poison, 0);
	bystander(f, "DMA errors");
}

/* ---- Entries -------------------------------------------------------------------------------------- */

static void test_entries(struct fixture *f)
{
	unsigned int bit, wrong = 0;
	uint8_t args[8];
	uint32_t args_bytes = no_args(args);

	/* flags but NOP; the reserved words; the sequence number */
	for (bit = 32; bit < 512; bit++) {
		uint32_t seq;

		if (bit == 32 || (bit >= 96 && bit < 128))
			continue;
		renew(f);
		seq = chip_put(&f->h, &f->q, 1, 0, args, args_bytes);
		((uint8_t *)chip_sqe(&f->h, &f->q, seq))[bit / 8] ^= 1u << (bit % 8);
		chip_ring_doorbell(&f->h, &f->q);
		wrong += chip_wait(&f->h, &f->q).status != VTPU_ST_BAD_ENTRY;
	}
	tap_is(wrong, 0, "each reserved bit of an entry, and of its sequence number, is refused");
	renew(f);
	tap_is(chip_run(&f->h, &f->q, 0, args, args_bytes), VTPU_ST_BAD_ENTRY, "no program");
	renew(f);
	chip_put(&f->h, &f->q, 1, 0, NULL, 0);
	chip_sqe(&f->h, &f->q, 0)->args_bytes = VTPU_ARG_SLOT_BYTES + 1;
	chip_ring_doorbell(&f->h, &f->q);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_BAD_ENTRY, "4097 bytes of arguments");
	renew(f);
	chip_submit(&f->h, &f->q, 1, VTPU_SQE_NOP, NULL, 0);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_BAD_ENTRY, "NOP with a program");
	renew(f);
	tap_is(chip_run(&f->h, &f->q, 77, args, args_bytes), VTPU_ST_NO_PROGRAM,
	       "a program id never loaded");
	renew(f);
	tap_is(chip_run(&f->h, &f->q, ~0u, args, args_bytes), VTPU_ST_NO_PROGRAM,
	       "program id 2^32 - 1");
	renew(f);
	tap_is(chip_run(&f->h, &f->q, 900, args, args_bytes), VTPU_ST_NO_PROGRAM,
	       "another context's program");
	bystander(f, "bad entries");
}

static void test_args(struct fixture *f)
{
	uint64_t va[2] = { VA, VA };
	uint8_t args[64] = { 0 };
	uint32_t n;

#define BAD_ARGS(bytes, what) \
	(renew(f), tap_is(chip_run(&f->h, &f->q, 2, args, bytes), VTPU_ST_BAD_ARGS, what))
	BAD_ARGS(0, "no argument block");
	BAD_ARGS(7, "half a head");
	n = chip_args(args, 0, va, 0, NULL);
	BAD_ARGS(n, "no base for a program with one");
	n = chip_args(args, 2, va, 0, NULL);
	BAD_ARGS(n, "two bases for a program with one");
	n = chip_args(args, 1, va, 0, NULL);
	BAD_ARGS(n - 1, "a byte too few");
	BAD_ARGS(n + 1, "a byte too many");
	n = chip_args(args, 1, va, 1, (uint32_t[]){ 5 });
	BAD_ARGS(n, "a scalar for a program without");
	n = chip_args(args, 1, va, 0, NULL);
	((struct vtpu_job_args *)args)->nbases = 0x20000001;
	BAD_ARGS(n, "a count that overflows");
#undef BAD_ARGS
	bystander(f, "bad arguments");
}

static void test_translation(struct fixture *f)
{
	static const struct {
		const char *name;
		uint32_t program;
		uint64_t va;
		uint32_t want;
	} t[] = {
		{ "a mapped base", 2, VA, VTPU_ST_OK },
		{ "its last page", 2, VA + BYTES - 4096, VTPU_ST_OK },
		{ "a base read through a read-only mapping", 2, VA_RO, VTPU_ST_OK },
		{ "an unmapped base", 2, 0x30000000, VTPU_ST_UNMAPPED },
		{ "a base that ends unmapped", 2, VA + BYTES - 64, VTPU_ST_UNMAPPED },
		{ "base 0", 2, 0, VTPU_ST_UNMAPPED },
		{ "a base in the first 2 MiB", 2, 0x1ff000, VTPU_ST_UNMAPPED },
		{ "a base written through a read-only mapping", 3, VA_RO, VTPU_ST_READ_ONLY },
		{ "a misaligned base", 2, VA + 4, VTPU_ST_MISALIGNED },
		{ "a base in system memory", 2, VA_SYS, VTPU_ST_SYSTEM_MEMORY },
		{ "a base that leaves the address space", 2, VTPU_VA_END - 64, VTPU_ST_WRAPS },
		{ "a base that wraps", 2, ~0ULL - 63, VTPU_ST_WRAPS },
		{ "a base at 2^48", 2, VTPU_VA_END, VTPU_ST_WRAPS },
		{ "a base of 2 MiB in small pages that touch", 4, VA + 4096, VTPU_ST_OK },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t va = t[i].va;
		struct vtpu_cqe cqe;
		uint8_t args[64];

		renew(f);
		chip_submit(&f->h, &f->q, t[i].program, 0, args, chip_args(args, 1, &va, 0, NULL));
		cqe = chip_wait(&f->h, &f->q);
		tap_ok(cqe.status == t[i].want, "%s (%#x)", t[i].name, cqe.status);
		if (t[i].want == VTPU_ST_READ_ONLY)
			tap_is(cqe.fault_addr, va, "the fault's address");
	}
	bystander(f, "bad bases");
}

/* Swap one page-table entry for the time of one job. */
static uint32_t with_pte(struct fixture *f, uint32_t program, unsigned int level, uint64_t pte)
{
	uint64_t *entry = chip_pte(&f->h, CTX, VA, level), good = *entry;
	uint32_t status;

	renew(f);
	*entry = pte;
	status = one_base(f, &f->q, program, VA);
	*entry = good;
	return status;
}

static void test_hostile_tables(struct fixture *f)
{
	uint64_t leaf = *chip_pte(&f->h, CTX, VA, 1), top = *chip_pte(&f->h, CTX, VA, 3);
	uint64_t small = chip_hbm_alloc(&f->h, 4096, 4096), *page = (uint64_t *)(f->h.hbm + small);
	unsigned int bit, wrong = 0;
	uint32_t status;

	for (bit = 0; bit < 64; bit++) {
		/* Address bits outside HBM, and reserved ones: every one is seen. */
		if (bit < 4 || (1ULL << bit < f->h.hbm_bytes && bit >= 12))
			continue;
		wrong += with_pte(f, 2, 1, leaf ^ 1ULL << bit) != VTPU_ST_BAD_PTE;
		wrong += with_pte(f, 2, 3, top ^ 1ULL << bit) != VTPU_ST_BAD_PTE;
	}
	tap_is(wrong, 0, "each reserved bit of leaf and table entries, and addresses outside HBM");
	tap_is(with_pte(f, 2, 1, leaf + 4096), VTPU_ST_BAD_PTE, "a misaligned 2 MiB leaf");
	tap_is(with_pte(f, 2, 3, top | VTPU_PTE_LEAF), VTPU_ST_BAD_PTE, "a leaf at level 3");
	tap_is(with_pte(f, 2, 2, leaf), VTPU_ST_BAD_PTE, "a leaf at level 2");
	tap_is(with_pte(f, 2, 3, top | VTPU_PTE_SYSTEM), VTPU_ST_BAD_PTE,
	       "a table in system memory");
	tap_is(with_pte(f, 2, 3, top | VTPU_PTE_WRITE), VTPU_ST_BAD_PTE, "a table with rights");
	tap_is(with_pte(f, 2, 3, 0), VTPU_ST_UNMAPPED, "no entry");
	/* Deep enough it meets some valid entry, or none: it ends, that is all. */
	status = with_pte(f, 2, 3, f->h.root[CTX] | VTPU_PTE_VALID);
	tap_ok(status == VTPU_ST_OK || status == VTPU_ST_UNMAPPED,
	       "a table that is its own parent");
	tap_is(with_pte(f, 2, 1, leaf | VTPU_PTE_SYSTEM), VTPU_ST_SYSTEM_MEMORY,
	       "a leaf made system memory");

	/* Address 0 is as good a place for a table as any; nothing is mapped by this one. */
	tap_is(with_pte(f, 2, 1, VTPU_PTE_VALID), VTPU_ST_UNMAPPED, "an empty table at address 0");

	memset(page, 0, 4096);
	page[0] = f->hbm | VTPU_PTE_VALID | VTPU_PTE_LEAF;
	tap_is(with_pte(f, 2, 1, small | VTPU_PTE_VALID), VTPU_ST_BAD_PTE, "a leaf bit at level 0");
	page[0] = f->hbm | VTPU_PTE_VALID;
	tap_is(with_pte(f, 2, 1, small | VTPU_PTE_VALID), VTPU_ST_OK, "a small page");
	for (bit = 0; bit < 512; bit++)
		page[bit] = (f->hbm + bit * 4096) | VTPU_PTE_VALID;
	tap_is(with_pte(f, 4, 1, small | VTPU_PTE_VALID), VTPU_ST_OK, "512 small pages that touch");
	page[300] = (f->hbm + 299 * 4096) | VTPU_PTE_VALID;
	tap_is(with_pte(f, 4, 1, small | VTPU_PTE_VALID), VTPU_ST_NOT_CONTIGUOUS,
	       "one of them elsewhere");
	page[300] = (f->hbm + 300 * 4096) | VTPU_PTE_VALID | VTPU_PTE_WRITE;
	tap_is(with_pte(f, 4, 1, small | VTPU_PTE_VALID), VTPU_ST_OK,
	       "one of them with more rights");
	page[300] = 0;
	tap_is(with_pte(f, 4, 1, small | VTPU_PTE_VALID), VTPU_ST_UNMAPPED, "one of them missing");
	tap_ok(atomic_load(&f->h.traced[VTPU_TRACE_BAD_PTE]), "bad entries are traced");
	bystander(f, "hostile page tables");
}

static void test_alias(struct fixture *f)
{
	struct image_builder b;
	size_t bytes;
	void *img;
	uint8_t args[64];
	uint32_t n;

	ib_begin(&b, 2);
	ib_base(&b, "in", 4096, 0, VTPU_BASE_READ);
	ib_base(&b, "out", 4096, 8192, VTPU_BASE_WRITE);
	ib_insn(&b, VTPU_OP_HALT);
	img = ib_finish(&b, &bytes);
	tap_is(chip_load(&f->h, CTX, 20, img, bytes, NULL), VTPU_ST_OK, "a program with two bases");
	renew(f);
	n = chip_args(args, 2, (uint64_t[]){ VA, VA + 4096 }, 0, NULL);
	tap_is(chip_run(&f->h, &f->q, 20, args, n), VTPU_ST_OK, "bases side by side");
	n = chip_args(args, 2, (uint64_t[]){ VA + 12 * 1024 + 4096, VA + 4096 }, 0, NULL);
	tap_is(chip_run(&f->h, &f->q, 20, args, n), VTPU_ST_OK, "behind the last core's slice");
	n = chip_args(args, 2, (uint64_t[]){ VA + 8192, VA + 4096 }, 0, NULL);
	tap_is(chip_run(&f->h, &f->q, 20, args, n), VTPU_ST_ALIAS, "in the gap of a strided base");
	renew(f);
	n = chip_args(args, 2, (uint64_t[]){ VA_RO + 4096, VA + 4096 }, 0, NULL);
	tap_is(chip_run(&f->h, &f->q, 20, args, n), VTPU_ST_ALIAS,
	       "the same bytes by another address");
	renew(f);
	n = chip_args(args, 2, (uint64_t[]){ VA, VA + BYTES - 8192 }, 0, NULL);
	tap_is(chip_run(&f->h, &f->q, 20, args, n), VTPU_ST_UNMAPPED,
	       "the second core's slice unmapped");
	bystander(f, "aliases");
}

/* What the guest changes after the fetch has no effect. */
static void test_changed_later(struct fixture *f)
{
	uint64_t va = VA;
	uint8_t args[64];
	uint32_t n = chip_args(args, 1, &va, 0, NULL), i;
	struct vtpu_cqe cqe;

	renew(f);
	arm(f, VTPU_FAULT_HANG, f->q.id);
	for (i = 0; i < VTPU_MAX_DEPTH_LOG2 / 2; i++)
		chip_put(&f->h, &f->q, 2, 0, args, n);
	chip_ring_doorbell(&f->h, &f->q);
	chip_host_pump(&f->h, is_running, f, 1000);
	tap_is(chip_read32(&f->h, CHIP_DB(f->q.id, VTPU_DB_FETCHED)), i,
	       "entries are fetched ahead");
	memset(chip_system(&f->h, f->q.sq), 0xff, 64 * i);
	memset(chip_system(&f->h, f->q.args), 0xff, VTPU_ARG_SLOT_BYTES * i);
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, (uint64_t)f->q.id << 32 | 1);
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, (uint64_t)f->q.id << 32 | 0);
	cqe = chip_wait(&f->h, &f->q);
	tap_is(cqe.status, VTPU_ST_ABORTED, "the job that hung was aborted");
	while (--i) {
		cqe = chip_wait(&f->h, &f->q);
		tap_is(cqe.status, VTPU_ST_QUEUE_HALTED, "the rest is halted");
	}

	renew(f);
	arm(f, VTPU_FAULT_LOST_IRQ, f->q.id);
	for (i = 0; i < 6; i++)
		chip_put(&f->h, &f->q, 2, 0, args, n);
	chip_ring_doorbell(&f->h, &f->q);
	/* One pass fetches; nothing has run yet. */
	chip_host_once(&f->h);
	while (chip_read32(&f->h, CHIP_DB(f->q.id, VTPU_DB_FETCHED)) < 6)
		chip_host_once(&f->h);
	memset(chip_system(&f->h, f->q.sq), 0xff, 64 * 6);
	if (f->h.dma == CHIP_DMA_INLINE)
		memset(chip_system(&f->h, f->q.args), 0xff, VTPU_ARG_SLOT_BYTES * 6);
	for (i = 0; i < 6; i++) {
		cqe = chip_wait(&f->h, &f->q);
		if (cqe.status)
			break;
	}
	tap_is(i, 6, "entries and arguments changed after the fetch have no effect");
	bystander(f, "changes after the fetch");
}

static void all(enum chip_dma dma)
{
	static struct fixture f;

	printf("# DMA %s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued");
	setup(&f, dma);
	test_wrap(&f);
	test_vectors(&f);
	test_overrun(&f);
	test_entries(&f);
	test_args(&f);
	test_translation(&f);
	test_hostile_tables(&f);
	test_alias(&f);
	test_changed_later(&f);
	chip_host_close(&f.h);
}

int main(void)
{
	all(CHIP_DMA_INLINE);
	all(CHIP_DMA_QUEUED);
	return tap_done();
}
