// SPDX-License-Identifier: MIT
/*
 * cases_copy.c - copy jobs: what they move, and what stops them.
 */
#include "conf.h"

#define BYTES (4u << 20)

/* A host buffer and one in HBM, with their bytes, and a copy queue */
struct pair {
	uint32_t host, hbm, queue;
	uint8_t *h, *d;
};

static int pair(struct conf *c, struct pair *p)
{
	void *pointer;
	int err = bo_ready(c->b, BYTES, VTPU_REGION_HOST, HOST(0), &p->host, &pointer);

	p->h = pointer;
	if (!err)
		err = bo_ready(c->b, BYTES, VTPU_REGION_HBM, HBM(0), &p->hbm, &pointer);
	p->d = pointer;
	return err ? err : queue_create(c->b, VTPU_QUEUE_COPY, 0, &p->queue);
}

static int copy(struct conf *c, struct pair *p, struct vtpu_copy_desc desc)
{
	struct vtpu_job job = copy_job(&desc, 1);

	return run_job(c->b, p->queue, &job);
}

/* The job must halt its queue with @status; a new queue takes the old one's place. */
static void refuse(struct conf *c, struct pair *p, const char *what, struct vtpu_copy_desc desc,
		   uint32_t status)
{
	struct vtpu_queue_state state;

	if (!expect_is(c, copy(c, p, desc), vtpu_status_errno(status)))
		printf("# (%s)\n", what);
	expect_ok(c, queue_state(c->b, p->queue, &state));
	if (!expect_is(c, state.status, status))
		printf("# (%s: %s)\n", what, vtpu_status_name(state.status));
	expect_ok(c, queue_destroy(c->b, p->queue));
	expect_ok(c, queue_create(c->b, VTPU_QUEUE_COPY, 0, &p->queue));
}

static void there_and_back(struct conf *c)
{
	struct pair p;
	uint32_t i;

	need(c, pair(c, &p));
	for (i = 0; i < BYTES; i++)
		p.h[i] = (uint8_t)(i * 7 + (i >> 11));
	need(c, copy(c, &p, copy_desc(HBM(0), HOST(0), BYTES)));
	expect_is(c, memcmp(p.h, p.d, BYTES), 0);
	/* Odd addresses and lengths */
	memset(p.h, 0, BYTES);
	need(c, copy(c, &p, copy_desc(HOST(0) + 3, HBM(0) + 4093, 70001)));
	expect_is(c, memcmp(p.h + 3, p.d + 4093, 70001), 0);
	expect_is(c, p.h[2] || p.h[70004], 0);
	/* Inside HBM, and inside host memory */
	need(c, copy(c, &p, copy_desc(HBM(0) + (2u << 20), HBM(0) + 1, 1u << 20)));
	expect_is(c, memcmp(p.d + (2u << 20), p.d + 1, 1u << 20), 0);
	need(c, copy(c, &p, copy_desc(HOST(0) + (1u << 20), HOST(0), 80000)));
	expect_is(c, memcmp(p.h + (1u << 20), p.h, 80000), 0);
}

static void fills(struct conf *c)
{
	struct pair p;
	uint32_t word, i, bad = 0;

	need(c, pair(c, &p));
	need(c, copy(c, &p, fill_desc(HBM(0), BYTES, 0xa1b2c3d4)));
	for (i = 0; i < BYTES; i += 4) {
		memcpy(&word, p.d + i, 4);
		bad += word != 0xa1b2c3d4;
	}
	expect_is(c, bad, 0);
	need(c, copy(c, &p, fill_desc(HBM(0) + (2u << 20), 2u << 20, 0)));
	for (i = 0; i < BYTES; i++)
		bad += i < BYTES / 2 ? !p.d[i] : p.d[i];
	expect_is(c, bad, 0);
	need(c, copy(c, &p, fill_desc(HOST(0) + 8, 4, 0x01020304)));
	expect_is(c, p.h[8] == 4 && p.h[11] == 1 && !p.h[7] && !p.h[12], 1);
}

static void strides(struct conf *c)
{
	struct vtpu_copy_desc desc = copy_desc(HBM(0), HOST(0), 10);
	uint32_t row, i, bad = 0;
	struct pair p;

	need(c, pair(c, &p));
	for (i = 0; i < BYTES; i++)
		p.h[i] = (uint8_t)(i * 13 + (i >> 7));
	desc.rows = 1000;
	desc.src_stride = 100;
	desc.dst_stride = 16;
	need(c, copy(c, &p, desc));
	for (row = 0; row < 1000; row++)
		bad += memcmp(p.d + row * 16, p.h + row * 100, 10) || p.d[row * 16 + 10];
	expect_is(c, bad, 0);
	/* Backwards, and one row again and again */
	desc.src = HOST(0) + 100 * 999;
	desc.src_stride = -100;
	need(c, copy(c, &p, desc));
	for (row = 0; row < 1000; row++)
		bad += memcmp(p.d + row * 16, p.h + (999 - row) * 100, 10);
	desc.src_stride = 0;
	need(c, copy(c, &p, desc));
	for (row = 0; row < 1000; row++)
		bad += memcmp(p.d + row * 16, p.h + 999 * 100, 10);
	expect_is(c, bad, 0);
}

static void gathers(struct conf *c)
{
	struct vtpu_copy_desc desc = copy_desc(HBM(0), HOST(0), 784);
	uint32_t *index, i, bad = 0;
	struct pair p;

	need(c, pair(c, &p));
	for (i = 0; i < BYTES; i++)
		p.h[i] = (uint8_t)(i * 31 + (i >> 9));
	index = (uint32_t *)(p.h + (3u << 20));
	for (i = 0; i < 1000; i++)
		index[i] = i * 7919 % 2000;
	desc.rows = 1000;
	desc.src_stride = 784;
	desc.dst_stride = 800;
	desc.index = HOST(0) + (3u << 20);
	desc.index_limit = 2000;
	need(c, copy(c, &p, desc));
	for (i = 0; i < 1000; i++)
		bad += memcmp(p.d + i * 800, p.h + index[i] * 784, 784) != 0;
	expect_is(c, bad, 0);
	/* The last index is out of range: the job fails, and says which. */
	index[999] = 2000;
	refuse(c, &p, "index", desc, VTPU_ST_INDEX);
}

static void many_descriptors(struct conf *c)
{
	struct vtpu_copy_desc desc[VTPU_MAX_COPY_DESCS];
	struct vtpu_job job;
	struct pair p;
	uint32_t i;

	need(c, pair(c, &p));
	p.h[0] = 0x77;
	/* Each takes up where the one before ended, so order matters. */
	desc[0] = copy_desc(HBM(0), HOST(0), 1);
	for (i = 1; i < VTPU_MAX_COPY_DESCS; i++)
		desc[i] = copy_desc(HBM(0) + i * 4096, HBM(0) + (i - 1) * 4096, 1);
	job = copy_job(desc, VTPU_MAX_COPY_DESCS);
	need(c, run_job(c->b, p.queue, &job));
	expect_is(c, p.d[(VTPU_MAX_COPY_DESCS - 1) * 4096], 0x77);
}

static struct vtpu_copy_desc with(void (*change)(struct vtpu_copy_desc *desc))
{
	struct vtpu_copy_desc desc = copy_desc(HBM(0), HOST(0), 64);

	change(&desc);
	return desc;
}

static void bad_op(struct vtpu_copy_desc *d)
{
	d->op = 3;
}
static void bad_flags(struct vtpu_copy_desc *d)
{
	d->flags = 1;
}
static void no_rows(struct vtpu_copy_desc *d)
{
	d->rows = 0;
}
static void no_bytes(struct vtpu_copy_desc *d)
{
	d->row_bytes = 0;
}
static void limit_without_index(struct vtpu_copy_desc *d)
{
	d->index_limit = 5;
}
static void pattern_of_copy(struct vtpu_copy_desc *d)
{
	d->pattern = 5;
}

static void bad_descriptors(struct conf *c)
{
	struct vtpu_copy_desc fill = fill_desc(HBM(0), 6, 1);
	struct pair p;

	need(c, pair(c, &p));
	refuse(c, &p, "unknown op", with(bad_op), VTPU_ST_BAD_ARGS);
	refuse(c, &p, "flags", with(bad_flags), VTPU_ST_BAD_ARGS);
	refuse(c, &p, "no rows", with(no_rows), VTPU_ST_BAD_ARGS);
	refuse(c, &p, "no bytes", with(no_bytes), VTPU_ST_BAD_ARGS);
	refuse(c, &p, "limit without index", with(limit_without_index), VTPU_ST_BAD_ARGS);
	refuse(c, &p, "pattern of a copy", with(pattern_of_copy), VTPU_ST_BAD_ARGS);
	refuse(c, &p, "half a word", fill, VTPU_ST_BAD_ARGS);
}

static void bad_addresses(struct conf *c)
{
	struct vtpu_copy_desc desc;
	uint32_t readonly;
	struct pair p;

	need(c, pair(c, &p));
	need(c, bo_create(c->b, 4096, VTPU_REGION_HBM, 0, &readonly));
	need(c, vm_map(c->b, readonly, 0, HBM(1), 4096, VTPU_BIND_READONLY));
	expect_ok(c, copy(c, &p, copy_desc(HOST(0), HBM(1), 4096)));
	refuse(c, &p, "written, but read-only", copy_desc(HBM(1), HOST(0), 64), VTPU_ST_READ_ONLY);
	refuse(c, &p, "source not mapped", copy_desc(HBM(0), HBM(2), 64), VTPU_ST_UNMAPPED);
	refuse(c, &p, "destination not mapped", copy_desc(HBM(2), HBM(0), 64), VTPU_ST_UNMAPPED);
	refuse(c, &p, "one byte too many", copy_desc(HBM(0), HOST(0) + 1, BYTES), VTPU_ST_UNMAPPED);
	refuse(c, &p, "address 0", copy_desc(HBM(0), 0, 64), VTPU_ST_UNMAPPED);
	refuse(c, &p, "kernel's address", copy_desc(HBM(0), VTPU_VA_KERNEL_START, 64),
	       VTPU_ST_UNMAPPED);
	refuse(c, &p, "beyond the end", copy_desc(HBM(0), ~0ULL - 31, 64), VTPU_ST_WRAPS);
	desc = copy_desc(HBM(0), HOST(0), 64);
	desc.rows = 1000;
	desc.src_stride = INT64_MAX;
	refuse(c, &p, "stride that wraps", desc, VTPU_ST_WRAPS);
	/* After all of that the memory is as good as ever. */
	expect_ok(c, copy(c, &p, copy_desc(HBM(0), HOST(0), BYTES)));
}

/* A hole in the middle of a 2 MiB piece is a hole, and the rest still maps the right memory. */
static void hole(struct conf *c)
{
	const uint64_t at = (2u << 20) + 37 * VTPU_PAGE_BYTES;
	struct vtpu_queue_state state;
	struct vtpu_copy_desc desc;
	struct vtpu_job job;
	struct pair p;
	uint32_t i;

	need(c, pair(c, &p));
	for (i = 0; i < BYTES; i++)
		p.h[i] = (uint8_t)(i * 3 + (i >> 10));
	need(c, vm_unmap(c->b, HBM(0) + at, VTPU_PAGE_BYTES));
	need(c, copy(c, &p, copy_desc(HBM(0), HOST(0), at)));
	need(c, copy(c, &p, copy_desc(HBM(0) + at + 4096, HOST(0) + at + 4096, BYTES - at - 4096)));
	expect_is(c, memcmp(p.h, p.d, at), 0);
	expect_is(c, memcmp(p.h + at + 4096, p.d + at + 4096, BYTES - at - 4096), 0);
	desc = copy_desc(HBM(0), HOST(0), BYTES);
	job = copy_job(&desc, 1);
	expect_is(c, run_job(c->b, p.queue, &job), -EFAULT);
	expect_ok(c, queue_state(c->b, p.queue, &state));
	expect_is(c, state.status, VTPU_ST_UNMAPPED);
	expect_is(c, state.fault_addr, HBM(0) + at);
	/* Filled again from another place, it leads there. */
	need(c, vm_map(c->b, p.hbm, 0, HBM(0) + at, VTPU_PAGE_BYTES, 0));
	need(c, queue_create(c->b, VTPU_QUEUE_COPY, 0, &p.queue));
	memset(p.h, 0x11, BYTES);
	expect_ok(c, copy(c, &p, copy_desc(HBM(0) + at, HOST(0), 4096)));
	expect_is(c, p.d[0] == 0x11 && p.d[4095] == 0x11 && p.d[at] != 0x11, 1);
}

/* Unmapped and closed while a job runs: the job keeps its memory, and nobody else gets it meanwhile. */
static void unmap_under_a_job(struct conf *c)
{
	struct vtpu_queue_state state;
	struct slow slow;

	need(c, slow_prepare(c->b, &slow));
	need(c, slow_start(c->b, &slow));
	expect_ok(c, vm_unmap(c->b, HBM(100), 64u << 20));
	expect_ok(c, bo_close(c->b, slow.bo));
	expect_ok(c, sync_wait(c->b, slow.sync, LONG_NS, 0));
	expect_ok(c, queue_state(c->b, slow.queue, &state));
	/* It ended well, or found the hole at one of its later descriptors; never anything else. */
	expect_is(c, !state.error || state.status == VTPU_ST_UNMAPPED, 1);
}

const struct conf_case copy_cases[] = {
	{ "copy: there and back", there_and_back },
	{ "copy: fills", fills },
	{ "copy: strides", strides },
	{ "copy: gather by an index", gathers },
	{ "copy: 64 descriptors in order", many_descriptors },
	{ "copy: bad descriptors", bad_descriptors },
	{ "copy: bad addresses", bad_addresses },
	{ "copy: a hole in a large page", hole },
	{ "copy: unmapped under a running job", unmap_under_a_job },
	{ NULL, NULL },
};
