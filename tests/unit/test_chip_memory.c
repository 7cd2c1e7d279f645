// SPDX-License-Identifier: MIT
/*
 * test_chip_memory.c - what a job may see: nothing that another left in VMEM or
 * SMEM, its scalars, bases of many small pages; and what the host is told.
 */
#include <string.h>

#include "chip_host.h"
#include "image_builder.h"
#include "tap.h"

#define CTX	  1
#define VA	  0x10001000ULL /* not on a 2 MiB page like its HBM: small pages only */
#define VA_OUT	  0x40000000ULL
#define BIG	  (32ULL << 20)
#define VMEM(o)	  VTPU_ADDR(VTPU_SPACE_VMEM, 0, o)
#define SMEM(o)	  VTPU_ADDR(VTPU_SPACE_SMEM, 0, o)
#define HBM(b, o) VTPU_ADDR(VTPU_SPACE_HBM, b, o)
#define F32	  VTPU_TYPE_F32
#define WORDS	  1024 /* of a job's output */
#define SMEM_AT	  2048 /* bytes: behind the scalars */

enum {
	DIRTY = 1,
	SPY,
	SCALARS,
	BIG_IN,
	GANG_SPY
};

struct fixture {
	struct chip_host h;
	struct chip_ring q;
	uint64_t in, out;
};

static void load(struct fixture *f, uint32_t id, struct image_builder *b)
{
	size_t bytes;
	void *image = ib_finish(b, &bytes);
	uint32_t status = chip_load(&f->h, CTX, id, image, bytes, NULL);

	tap_ok(status == VTPU_ST_OK, "program %u loads (%#x)", id, status);
}

/* Writes VMEM [0, 1 MiB) and SMEM with what is in HBM. */
static void dirty_program(struct fixture *f)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, 1);
	ib_base(&b, "in", 1 << 20, 0, VTPU_BASE_READ);
	insn = ib_copy(&b, HBM(0, 0), VMEM(0), F32, (1 << 20) / 4);
	ib_signal(insn, 0, 0, 1);
	insn = ib_copy(&b, VMEM(0), SMEM(SMEM_AT), F32, 64);
	ib_wait(insn, 0, 1);
	load(f, DIRTY, &b);
}

/* Stores VMEM and SMEM that it has not written. */
static void spy_program(struct fixture *f, uint32_t id, uint32_t width)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, width);
	ib_base(&b, "out", WORDS * 4, width > 1 ? WORDS * 4 : 0, VTPU_BASE_WRITE);
	insn = ib_copy(&b, SMEM(SMEM_AT), VMEM(0), F32, 64);
	ib_signal(insn, 0, 0, 1);
	insn = ib_copy(&b, VMEM(0), HBM(0, 0), F32, WORDS / 2);
	ib_wait(insn, 0, 1);
	ib_copy(&b, VMEM((1 << 20) - WORDS * 2), HBM(0, WORDS * 2), F32, WORDS / 2);
	load(f, id, &b);
}

/* Stores its 256 scalars. */
static void scalar_program(struct fixture *f)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, 1);
	b.nscalars = 256;
	ib_base(&b, "out", WORDS * 4, 0, VTPU_BASE_WRITE);
	insn = ib_copy(&b, SMEM(0), VMEM(0), F32, 256);
	ib_signal(insn, 0, 0, 1);
	insn = ib_copy(&b, VMEM(0), HBM(0, 0), F32, 256);
	ib_wait(insn, 0, 1);
	load(f, SCALARS, &b);
}

/* Stores the last words of a base of 32 MiB. */
static void big_program(struct fixture *f)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, 1);
	ib_base(&b, "in", BIG, 0, VTPU_BASE_READ);
	ib_base(&b, "out", WORDS * 4, 0, VTPU_BASE_WRITE);
	insn = ib_copy(&b, HBM(0, BIG - WORDS * 4), VMEM(0), F32, WORDS);
	ib_signal(insn, 0, 0, 1);
	insn = ib_copy(&b, VMEM(0), HBM(1, 0), F32, WORDS);
	ib_wait(insn, 0, 1);
	load(f, BIG_IN, &b);
}

static void setup(struct fixture *f, enum chip_dma dma, bool reference)
{
	struct chip_options o = { .dma = dma,
				  .config.hbm_bytes = 128 << 20,
				  .config.reference = reference };

	memset(f, 0, sizeof(*f));
	chip_host_open(&f->h, &o);
	chip_context_create(&f->h, CTX);
	f->in = chip_hbm_alloc(&f->h, BIG, VTPU_LARGE_BYTES);
	f->out = chip_hbm_alloc(&f->h, 8 * WORDS * 4, VTPU_LARGE_BYTES);
	chip_map(&f->h, CTX, VA, f->in, BIG, 0);
	chip_map(&f->h, CTX, VA_OUT, f->out, 8 * WORDS * 4, VTPU_PTE_WRITE);
	dirty_program(f);
	spy_program(f, SPY, 1);
	spy_program(f, GANG_SPY, 8);
	scalar_program(f);
	big_program(f);
	chip_queue_create(&f->h, &f->q, 1, CTX, VTPU_QUEUE_COMPUTE, 3);
}

static uint32_t run(struct fixture *f, uint32_t program, uint32_t nbases, uint64_t first,
		    uint64_t second, uint32_t nscalars, const uint32_t *scalar)
{
	uint64_t va[2] = { first, second };
	uint8_t args[2048];

	return chip_run(&f->h, &f->q, program, args, chip_args(args, nbases, va, nscalars, scalar));
}

static bool all_zero(struct fixture *f, uint32_t words)
{
	const uint32_t *out = (uint32_t *)(f->h.hbm + f->out);
	uint32_t i;

	for (i = 0; i < words && !out[i]; i++)
		;
	return i == words;
}

static void test_leftovers(struct fixture *f)
{
	uint32_t round, scalar[256], i, good = 0;

	memset(f->h.hbm + f->in, 0x5a, BIG);
	memset(f->h.hbm + f->out, 0xff, 8 * WORDS * 4);
	tap_ok(run(f, SPY, 1, VA_OUT, 0, 0, NULL) == VTPU_ST_OK && all_zero(f, WORDS),
	       "memories of a fresh core are zero");
	for (round = 0; round < 10; round++) {
		uint32_t spy = round % 2 ? GANG_SPY : SPY, width = round % 2 ? 8 : 1;

		memset(f->h.hbm + f->out, 0xff, 8 * WORDS * 4);
		good += run(f, DIRTY, 1, VA, 0, 0, NULL) == VTPU_ST_OK &&
			run(f, spy, 1, VA_OUT, 0, 0, NULL) == VTPU_ST_OK &&
			all_zero(f, width * WORDS);
	}
	tap_is(good, round, "nothing that a job left in VMEM or SMEM is seen by the next one");
	for (i = 0; i < 256; i++)
		scalar[i] = i * 0x01010101u + 7;
	tap_ok(run(f, SCALARS, 1, VA_OUT, 0, 256, scalar) == VTPU_ST_OK &&
		       !memcmp(f->h.hbm + f->out, scalar, sizeof(scalar)),
	       "scalars arrive in SMEM");
	tap_ok(run(f, SPY, 1, VA_OUT, 0, 0, NULL) == VTPU_ST_OK && all_zero(f, WORDS),
	       "and go with their job");
}

static void test_small_pages(struct fixture *f)
{
	uint64_t *pte = chip_pte(&f->h, CTX, VA + BIG - 4096, 0), good = *pte;
	struct chip_ring q2;
	uint32_t status;

	memset(f->h.hbm + f->in + BIG - WORDS * 4, 0x3c, WORDS * 4);
	tap_ok(run(f, BIG_IN, 2, VA, VA_OUT, 0, NULL) == VTPU_ST_OK &&
		       !memcmp(f->h.hbm + f->in + BIG - WORDS * 4, f->h.hbm + f->out, WORDS * 4),
	       "a base of 8,192 small pages");
	atomic_store(&f->h.dirty_bytes, 0);
	run(f, BIG_IN, 2, VA, VA_OUT, 0, NULL);
	tap_is(atomic_load(&f->h.dirty_bytes), WORDS * 4,
	       "written bases are reported dirty, read ones not");
	*pte = 0;
	status = run(f, BIG_IN, 2, VA, VA_OUT, 0, NULL);
	*pte = good;
	tap_is(status, VTPU_ST_UNMAPPED, "the last of them unmapped");
	tap_is(chip_queue_state(&f->h, 1), VTPU_HWQ_HALTED, "halts the queue");
	chip_queue_create(&f->h, &q2, 2, CTX, VTPU_QUEUE_COMPUTE, 3);
	f->q = q2;
	tap_is(run(f, BIG_IN, 2, VA, VA + 4096, 0, NULL), VTPU_ST_READ_ONLY,
	       "written, but mapped read-only");
}

static void all(enum chip_dma dma, bool reference)
{
	struct fixture f;

	printf("# DMA %s%s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued",
	       reference ? ", reference executor" : "");
	setup(&f, dma, reference);
	test_leftovers(&f);
	test_small_pages(&f);
	chip_host_close(&f.h);
}

int main(void)
{
	all(CHIP_DMA_INLINE, false);
	all(CHIP_DMA_QUEUED, true);
	return tap_done();
}
