// SPDX-License-Identifier: MIT
/*
 * test_chip_copy.c - copy jobs: every combination of memories, strides, index
 * lists and fills against a plain loop, then everything that can be wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "known_answer.h"
#include "tap.h"

#define CTX    1
#define BYTES  (8ULL << 20)
#define VA_HBM 0x10000000ULL
#define VA_RO  0x20000000ULL
#define VA_SYS VTPU_VA_HOST_START

struct fixture {
	struct chip_host h;
	struct known_answer ka;
	struct chip_ring q;
	uint64_t hbm, sys;
	uint8_t *want;
};

static unsigned int seed = 1;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void setup(struct fixture *f, enum chip_dma dma, bool no_discard)
{
	struct chip_options o = { .dma = dma, .no_discard = no_discard, .system_bytes = 256 << 20 };
	uint64_t page;

	memset(f, 0, sizeof(*f));
	chip_host_open(&f->h, &o);
	tap_is(ka_setup(&f->h, &f->ka, 9, 100, 900), VTPU_ST_OK, "bystander's program");
	chip_context_create(&f->h, CTX);
	f->hbm = chip_hbm_alloc(&f->h, BYTES, VTPU_LARGE_BYTES);
	f->sys = chip_system_alloc(&f->h, BYTES);
	chip_map(&f->h, CTX, VA_HBM, f->hbm, BYTES, VTPU_PTE_WRITE);
	chip_map(&f->h, CTX, VA_RO, f->hbm, BYTES, 0);
	/* System pages: groups of three touch on the bus, the groups are in reverse order. */
	for (page = 0; page < BYTES / 4096; page++) {
		uint64_t group = page / 3, last = BYTES / 4096 / 3 - 1;
		uint64_t at = group > last ? page : (last - group) * 3 + page % 3;

		chip_map(&f->h, CTX, VA_SYS + page * 4096, f->sys + at * 4096, 4096,
			 VTPU_PTE_WRITE | VTPU_PTE_SYSTEM);
	}
	f->want = malloc(2 * BYTES);
}

/* Host address of a byte by its virtual address */
static uint8_t *byte(struct fixture *f, uint64_t va)
{
	uint64_t page = (va - VA_SYS) / 4096, group = page / 3, last = BYTES / 4096 / 3 - 1;

	if (va < VA_SYS)
		return f->h.hbm + f->hbm + (va - VA_HBM);
	if (group <= last)
		page = (last - group) * 3 + page % 3;
	return (uint8_t *)chip_system(&f->h, f->sys + page * 4096) + va % 4096;
}

static void renew(struct fixture *f)
{
	static unsigned int id;

	if (id)
		chip_queue_destroy(&f->h, id);
	id = id % 50 + 1;
	chip_queue_create(&f->h, &f->q, id, CTX, VTPU_QUEUE_COPY, 3);
}

static struct vtpu_cqe run(struct fixture *f, const struct vtpu_copy_desc *d, uint32_t n)
{
	chip_submit(&f->h, &f->q, 0, 0, d, n * sizeof(*d));
	return chip_wait(&f->h, &f->q);
}

/* ---- The right bytes ---------------------------------------------------------------------- */

static void fill_random(struct fixture *f)
{
	uint64_t i;

	for (i = 0; i < BYTES; i += sizeof(uint32_t)) {
		*(uint32_t *)byte(f, VA_HBM + i) = rnd(1 << 24) * 257;
		*(uint32_t *)byte(f, VA_SYS + i) = rnd(1 << 24) * 257;
	}
}

/* The plain loop: byte by byte, on a copy of both memories. */
static uint8_t *wanted(struct fixture *f, uint64_t va)
{
	return va < VA_SYS ? f->want + (va - VA_HBM) : f->want + BYTES + (va - VA_SYS);
}

static void snapshot(struct fixture *f)
{
	uint64_t at;

	for (at = 0; at < BYTES; at += 4096) {
		memcpy(wanted(f, VA_HBM + at), byte(f, VA_HBM + at), 4096);
		memcpy(wanted(f, VA_SYS + at), byte(f, VA_SYS + at), 4096);
	}
}

static bool as_wanted(struct fixture *f)
{
	uint64_t at;

	for (at = 0; at < BYTES; at += 4096) {
		if (memcmp(wanted(f, VA_HBM + at), byte(f, VA_HBM + at), 4096) ||
		    memcmp(wanted(f, VA_SYS + at), byte(f, VA_SYS + at), 4096)) {
			printf("# differs in page %llu\n", (unsigned long long)at / 4096);
			return false;
		}
	}
	return true;
}

static void reference(struct fixture *f, const struct vtpu_copy_desc *d)
{
	uint64_t row, i;

	for (row = 0; row < d->rows; row++) {
		uint64_t from = row, dst = d->dst + row * (uint64_t)d->dst_stride;

		if (d->index)
			memcpy(&from, wanted(f, d->index + row * 4), 4);
		for (i = 0; i < d->row_bytes; i++)
			*wanted(f, dst + i) =
				d->op == VTPU_COPY_FILL ?
					d->pattern >> (8 * (i % 4)) :
					*wanted(f, d->src + from * (uint64_t)d->src_stride + i);
	}
}

static void check(struct fixture *f, const struct vtpu_copy_desc *d, uint32_t n, const char *name)
{
	struct vtpu_cqe cqe;
	uint32_t i;

	snapshot(f);
	for (i = 0; i < n; i++)
		reference(f, &d[i]);
	cqe = run(f, d, n);
	tap_ok(cqe.status == VTPU_ST_OK && cqe.cycles && as_wanted(f), "%s (%#x)", name,
	       cqe.status);
}

static void test_bytes(struct fixture *f)
{
	static const char *const name[] = { "HBM", "system memory" };
	static const uint64_t base[] = { VA_HBM, VA_SYS };
	uint64_t half = BYTES / 2;
	unsigned int s, d, i;
	char text[80];

	renew(f);
	fill_random(f);
	for (s = 0; s < 2; s++) {
		for (d = 0; d < 2; d++) {
			struct vtpu_copy_desc c[3] = {
				{ .op = VTPU_COPY_COPY,
				  .rows = 1,
				  .src = base[s] + 13,
				  .dst = base[d] + half + 4099,
				  .row_bytes = 3 << 20 },
				{ .op = VTPU_COPY_COPY,
				  .rows = 1000,
				  .src = base[s] + 8191,
				  .dst = base[d] + half + 1,
				  .row_bytes = 784,
				  .src_stride = 1001,
				  .dst_stride = 784 },
				{ .op = VTPU_COPY_COPY,
				  .rows = 77,
				  .src = base[s] + (1 << 20),
				  .dst = base[d] + half,
				  .row_bytes = 5000,
				  .src_stride = -5001,
				  .dst_stride = 12345 },
			};
			struct vtpu_copy_desc g = { .op = VTPU_COPY_COPY,
						    .rows = 3000,
						    .src = base[s] + 4000,
						    .dst = base[d] + half,
						    .row_bytes = 28 * 28,
						    .src_stride = 800,
						    .dst_stride = 28 * 28,
						    .index_limit = 2000 };

			snprintf(text, sizeof(text), "copy %s to %s: linear", name[s], name[d]);
			check(f, &c[0], 1, text);
			snprintf(text, sizeof(text), "copy %s to %s: rows", name[s], name[d]);
			check(f, &c[1], 1, text);
			snprintf(text, sizeof(text), "copy %s to %s: negative stride", name[s],
				 name[d]);
			check(f, &c[2], 1, text);
			snprintf(text, sizeof(text), "copy %s to %s: three descriptors", name[s],
				 name[d]);
			check(f, c, 3, text);
			for (i = 0; i < 2; i++) {
				uint32_t n;

				g.index = base[i] + BYTES - 16384;
				for (n = 0; n < g.rows; n++) {
					uint32_t v = rnd(2000), b;

					for (b = 0; b < 4; b++)
						*byte(f, g.index + 4 * n + b) = v >> 8 * b;
				}
				snprintf(text, sizeof(text), "gather %s to %s, index list in %s",
					 name[s], name[d], name[i]);
				check(f, &g, 1, text);
			}
		}
	}
}

static void test_fill(struct fixture *f)
{
	struct vtpu_copy_desc d[] = {
		{ .op = VTPU_COPY_FILL, .dst = VA_HBM + 4, .rows = 1, .row_bytes = 5 << 20 },
		{ .op = VTPU_COPY_FILL,
		  .dst = VA_HBM + 8,
		  .rows = 300,
		  .row_bytes = 400,
		  .dst_stride = 4004,
		  .pattern = 0xdeadbeef },
		{ .op = VTPU_COPY_FILL,
		  .dst = VA_SYS + 4,
		  .rows = 1,
		  .row_bytes = 3 << 20,
		  .pattern = 0x12345678 },
		{ .op = VTPU_COPY_FILL,
		  .dst = VA_SYS + 400,
		  .rows = 1000,
		  .row_bytes = 40,
		  .dst_stride = 400,
		  .pattern = 0x01010101 },
		{ .op = VTPU_COPY_FILL,
		  .dst = VA_SYS,
		  .rows = 3,
		  .row_bytes = 4,
		  .dst_stride = 4,
		  .pattern = 7 },
	};
	unsigned int before;

	renew(f);
	fill_random(f);
	before = atomic_load(&f->h.discards);
	check(f, &d[0], 1, "fill HBM with zero");
	tap_is(atomic_load(&f->h.discards) > before, f->h.can_discard,
	       "whole 2 MiB are given back to the host, if it can");
	check(f, &d[1], 1, "fill HBM rows with a pattern");
	check(f, &d[2], 1, "fill system memory");
	check(f, &d[3], 1, "fill system memory rows");
	check(f, &d[4], 1, "fill rows that touch");
	check(f, d, 5, "all fills in one job");
}

static void test_dirty(struct fixture *f)
{
	struct vtpu_copy_desc d = { .op = VTPU_COPY_COPY,
				    .src = VA_SYS,
				    .dst = VA_HBM + 5,
				    .rows = 1,
				    .row_bytes = 123456 };

	renew(f);
	atomic_store(&f->h.dirty_bytes, 0);
	run(f, &d, 1);
	tap_is(atomic_load(&f->h.dirty_bytes), 123456, "HBM that a copy wrote is reported dirty");
	d.src = VA_HBM;
	d.dst = VA_SYS;
	run(f, &d, 1);
	tap_is(atomic_load(&f->h.dirty_bytes), 123456, "HBM that it read is not");
	tap_ok(chip_read64(&f->h, CHIP_DB(f->q.id, VTPU_DB_PROGRESS)) &&
		       chip_read64(&f->h, CHIP_DB(f->q.id, VTPU_DB_BUSY_NS)),
	       "progress and busy time are counted");
}

/* ---- Wrong descriptors ----------------------------------------------------------------------- */

static const struct vtpu_copy_desc good_copy = { .op = VTPU_COPY_COPY,
						 .src = VA_HBM,
						 .dst = VA_SYS,
						 .rows = 2,
						 .row_bytes = 4096,
						 .src_stride = 4096,
						 .dst_stride = 4096 };
static const struct vtpu_copy_desc good_fill = {
	.op = VTPU_COPY_FILL, .dst = VA_HBM, .rows = 2, .row_bytes = 4096, .dst_stride = 8192
};

/* In front of the bad one; touches nothing that it reads */
static const struct vtpu_copy_desc good_small = {
	.op = VTPU_COPY_FILL, .dst = VA_HBM + 65536, .rows = 1, .row_bytes = 4
};

static void bad(struct fixture *f, struct vtpu_copy_desc d, uint32_t want, const char *name)
{
	struct vtpu_copy_desc two[2] = { good_small, d };
	struct vtpu_cqe cqe;

	renew(f);
	cqe = run(f, two, 2);
	tap_ok(cqe.status == want && VTPU_WHERE_BASE(cqe.where) == 1, "%s (%#x)", name, cqe.status);
}

#define BAD(base, field, value, want) \
	do { \
		struct vtpu_copy_desc d_ = base; \
		d_.field = value; \
		bad(f, d_, want, #base "." #field " = " #value); \
	} while (0)

static void test_bad_descs(struct fixture *f)
{
	struct vtpu_copy_desc d[1] = { good_copy };
	struct vtpu_copy_desc gather = good_copy;
	struct vtpu_cqe cqe;
	unsigned int bit, wrong = 0;

	for (bit = 0; bit < 32; bit++) {
		d[0].flags = 1u << bit;
		renew(f);
		wrong += run(f, d, 1).status != VTPU_ST_BAD_ARGS;
	}
	tap_is(wrong, 0, "each flag is refused");
	BAD(good_copy, op, 0, VTPU_ST_BAD_ARGS);
	BAD(good_copy, op, 3, VTPU_ST_BAD_ARGS);
	BAD(good_copy, op, ~0u, VTPU_ST_BAD_ARGS);
	BAD(good_copy, rows, 0, VTPU_ST_BAD_ARGS);
	BAD(good_copy, row_bytes, 0, VTPU_ST_BAD_ARGS);
	BAD(good_copy, pattern, 1, VTPU_ST_BAD_ARGS);
	BAD(good_copy, index_limit, 1, VTPU_ST_BAD_ARGS);
	BAD(good_copy, src, VTPU_VA_END, VTPU_ST_WRAPS);
	BAD(good_copy, src, ~0ULL, VTPU_ST_WRAPS);
	BAD(good_copy, dst, VTPU_VA_END - 4096, VTPU_ST_WRAPS);
	BAD(good_copy, src_stride, INT64_MAX, VTPU_ST_WRAPS);
	BAD(good_copy, src_stride, INT64_MIN, VTPU_ST_WRAPS);
	BAD(good_copy, dst_stride, -(int64_t)VA_SYS - 1, VTPU_ST_WRAPS);
	BAD(good_copy, src, 0x100000, VTPU_ST_UNMAPPED);
	BAD(good_copy, src, 0x100000000, VTPU_ST_UNMAPPED);
	BAD(good_copy, src, VA_HBM + BYTES - 4096, VTPU_ST_UNMAPPED);
	BAD(good_copy, dst, VA_SYS + BYTES - 4096, VTPU_ST_UNMAPPED);
	BAD(good_copy, dst, VA_RO, VTPU_ST_READ_ONLY);
	BAD(good_fill, src, 8, VTPU_ST_BAD_ARGS);
	BAD(good_fill, src_stride, 8, VTPU_ST_BAD_ARGS);
	BAD(good_fill, index, VA_HBM, VTPU_ST_BAD_ARGS);
	BAD(good_fill, index_limit, 1, VTPU_ST_BAD_ARGS);
	BAD(good_fill, row_bytes, 4098, VTPU_ST_BAD_ARGS);
	BAD(good_fill, dst_stride, 8194, VTPU_ST_BAD_ARGS);
	BAD(good_fill, dst, VA_HBM + 2, VTPU_ST_MISALIGNED);
	BAD(good_fill, dst, VA_RO, VTPU_ST_READ_ONLY);
	gather.index = VA_HBM + 8192;
	gather.index_limit = 5;
	gather.dst = VA_SYS + 65536;
	BAD(gather, index, VA_HBM + 2, VTPU_ST_MISALIGNED);
	BAD(gather, index, VTPU_VA_END - 4, VTPU_ST_WRAPS);
	BAD(gather, index, 0x100000000, VTPU_ST_UNMAPPED);
	BAD(gather, index_limit, 0, VTPU_ST_BAD_ARGS);
	memset(byte(f, VA_HBM + 8192), 0x7f, 8);
	BAD(gather, index_limit, ~0u, VTPU_ST_UNMAPPED);
	BAD(gather, src_stride, 1LL << 46, VTPU_ST_WRAPS);

	renew(f);
	*(uint32_t *)byte(f, VA_HBM + 8192) = 4;
	*(uint32_t *)byte(f, VA_HBM + 8196) = 5;
	cqe = run(f, &gather, 1);
	tap_ok(cqe.status == VTPU_ST_INDEX && cqe.fault_addr == 5,
	       "an index at its limit is named");

	renew(f);
	chip_submit(&f->h, &f->q, 0, 0, NULL, 0);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_BAD_ARGS, "no descriptor");
	renew(f);
	chip_submit(&f->h, &f->q, 0, 0, d, 63);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_BAD_ARGS, "most of a descriptor");
	renew(f);
	chip_submit(&f->h, &f->q, 1, 0, d, 64);
	tap_is(chip_wait(&f->h, &f->q).status, VTPU_ST_BAD_ENTRY, "a program on a copy queue");
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right after bad descriptors");
}

static void test_tables(struct fixture *f)
{
	uint64_t *leaf = chip_pte(&f->h, CTX, VA_HBM + VTPU_LARGE_BYTES, 1), was = *leaf;
	uint64_t *page = chip_pte(&f->h, CTX, VA_SYS + 4096, 0), page_was = *page;
	struct vtpu_copy_desc d = {
		.op = VTPU_COPY_COPY, .rows = 1, .src = VA_HBM, .dst = VA_SYS, .row_bytes = 4 << 20
	};
	struct vtpu_cqe cqe;

	renew(f);
	*leaf |= 1ULL << 60;
	cqe = run(f, &d, 1);
	tap_ok(cqe.status == VTPU_ST_BAD_PTE && cqe.fault_addr == VA_HBM + VTPU_LARGE_BYTES,
	       "a reserved bit of an entry in the middle");
	*leaf = was;
	renew(f);
	*page &= ~VTPU_PTE_WRITE;
	cqe = run(f, &d, 1);
	tap_ok(cqe.status == VTPU_ST_READ_ONLY && cqe.fault_addr == VA_SYS + 4096,
	       "a read-only page in the middle");
	*page = page_was;
	renew(f);
	*page = (0x000123456789f000ULL & VTPU_PTE_ADDR_MASK) | VTPU_PTE_VALID | VTPU_PTE_WRITE |
		VTPU_PTE_SYSTEM;
	cqe = run(f, &d, 1);
	tap_ok(cqe.status == VTPU_ST_DMA_ERROR && cqe.fault_addr == VA_SYS + 4096,
	       "a bus address without memory");
	*page = page_was;
	renew(f);
	tap_is(run(f, &d, 1).status, VTPU_ST_OK, "all is well with good entries");
	tap_ok(ka_run(&f->h, &f->ka), "bystander's answer is right after bad entries");
}

/* Many copy queues at once: turns, and each ends with its own bytes. */
static void test_turns(struct fixture *f)
{
	struct chip_ring ring[3];
	struct vtpu_copy_desc big = {
		.op = VTPU_COPY_COPY, .rows = 64, .src = VA_HBM, .dst = VA_SYS, .row_bytes = 4 << 20
	};
	struct vtpu_copy_desc small = { .op = VTPU_COPY_COPY,
					.rows = 1,
					.src = VA_HBM,
					.dst = VA_SYS + (6 << 20),
					.row_bytes = 64 };
	struct vtpu_cqe cqe;
	unsigned int i;

	for (i = 0; i < 3; i++)
		chip_queue_create(&f->h, &ring[i], 70 + i, CTX, VTPU_QUEUE_COPY, 2);
	chip_submit(&f->h, &ring[0], 0, 0, &big, 64);
	chip_submit(&f->h, &ring[1], 0, 0, &big, 64);
	chip_submit(&f->h, &ring[2], 0, 0, &small, 64);
	tap_is(chip_wait(&f->h, &ring[2]).status, VTPU_ST_OK, "a small copy beside two big ones");
	tap_ok(!chip_poll(&f->h, &ring[0], &cqe) || !chip_poll(&f->h, &ring[1], &cqe),
	       "does not wait for them");
	chip_write64(&f->h, VTPU_REG_ABORT_JOB, 70ULL << 32);
	tap_is(chip_wait(&f->h, &ring[0]).status, VTPU_ST_ABORTED,
	       "a big one is aborted on the way");
	tap_is(chip_wait(&f->h, &ring[1]).status, VTPU_ST_OK, "the other one ends well");
	for (i = 0; i < 3; i++)
		chip_queue_destroy(&f->h, 70 + i);
}

static void all(enum chip_dma dma, bool no_discard)
{
	struct fixture f;

	printf("# DMA %s%s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued",
	       no_discard ? ", no discard" : "");
	setup(&f, dma, no_discard);
	test_bytes(&f);
	test_fill(&f);
	test_dirty(&f);
	test_bad_descs(&f);
	test_tables(&f);
	test_turns(&f);
	chip_host_close(&f.h);
	free(f.want);
}

int main(void)
{
	all(CHIP_DMA_INLINE, false);
	all(CHIP_DMA_QUEUED, true);
	return tap_done();
}
