// SPDX-License-Identifier: MIT
/*
 * fuzz_chip.c - a hostile driver against the bare chip: registers, ring
 * entries, arguments, page tables, images, resets, refused DMA.
 *
 * The input is a script, a byte of operation and its operands each time. Most
 * operands start from something valid, so that the fuzzer gets deep; any byte
 * of it may then be changed. After each script the chip must come back from a
 * reset, and a bystander's answer must be right.
 */
#include <stdlib.h>
#include <string.h>

#include "known_answer.h"
#include "script.h"

#define QUEUES	   6
#define CONTEXTS   3
#define PROGRAMS   4
#define MAX_OPS	   300
#define DATA_BYTES (1u << 20)
#define VA_DATA	   0x10000000ULL

struct driver {
	struct chip_host h;
	struct chip_ring ring[QUEUES + 1];
	uint64_t data, sys, image;
};

/* Change some bytes of what was valid. */
static void mutate(struct script *s, void *what, size_t bytes)
{
	uint8_t *p = what;
	unsigned int n = take(s, 1) % 4;

	while (n--) {
		uint16_t at = take(s, 2);

		p[at % bytes] = take(s, 1);
	}
}

/* ---- Operations --------------------------------------------------------------------- */

static const uint64_t registers[] = {
	VTPU_REG_CONTROL,	VTPU_REG_STATUS,	VTPU_REG_EVENTS,      VTPU_REG_ADMIN_SQ,
	VTPU_REG_ADMIN_CQ,	VTPU_REG_ADMIN_TAIL,	VTPU_REG_ADMIN_DEPTH, VTPU_REG_ABORT_JOB,
	VTPU_REG_ABORT_JOB + 4, VTPU_REG_RESET_QUEUE,	VTPU_REG_GEOMETRY,    VTPU_REG_CORE_STATS,
	VTPU_DOORBELL_BASE,	VTPU_DOORBELL_BASE + 8,
};

static uint64_t some_register(struct script *s)
{
	uint8_t which = take(s, 1);

	if (which < 16)
		return take(s, 3);
	if (which < 64)
		return CHIP_DB(which % (QUEUES + 2), take(s, 1) % 32);
	return registers[which % (sizeof(registers) / sizeof(registers[0]))];
}

static void op_register(struct driver *d, struct script *s, bool write)
{
	uint64_t offset = some_register(s);
	unsigned int size = 1u << take(s, 1) % 4;

	if (write)
		vtpu_chip_write(d->h.chip, offset, take(s, 8), size);
	else
		vtpu_chip_read(d->h.chip, offset, size);
}

static void op_admin(struct driver *d, struct script *s)
{
	union {
		struct vtpu_admin_header h;
		struct vtpu_admin_context context;
		struct vtpu_admin_queue queue;
		struct vtpu_admin_program program;
	} c;
	unsigned int id = take(s, 1);
	struct chip_ring *ring = &d->ring[id % QUEUES + 1];

	memset(&c, 0, sizeof(c));
	switch (take(s, 1) % 8) {
	case 0:
		c.context.h.opcode = VTPU_ADMIN_CONTEXT_CREATE;
		c.context.context = id % CONTEXTS + 1;
		c.context.root = d->h.root[id % CONTEXTS + 1];
		break;
	case 1:
		c.context.h.opcode = VTPU_ADMIN_CONTEXT_DESTROY;
		c.context.context = id % CONTEXTS + 1;
		break;
	case 2:
		c.context.h.opcode = VTPU_ADMIN_INVALIDATE;
		c.context.context = id % CONTEXTS + 1;
		c.context.va = VA_DATA;
		c.context.bytes = VTPU_PAGE_BYTES;
		break;
	case 3:
		c.queue.h.opcode = VTPU_ADMIN_QUEUE_DESTROY;
		c.queue.queue = id % QUEUES + 1;
		break;
	case 4:
		c.program.h.opcode = VTPU_ADMIN_PROGRAM_UNLOAD;
		c.program.program = id % PROGRAMS + 1;
		break;
	case 5:
		c.program.h.opcode = VTPU_ADMIN_PROGRAM_LOAD;
		c.program.program = id % PROGRAMS + 1;
		c.program.context = 1;
		c.program.image = d->image;
		c.program.bytes = ((struct vtpu_image_header *)(d->h.hbm + d->image))->bytes;
		c.program.report = d->sys;
		c.program.report_bytes = 4096;
		break;
	case 6:
		c.h.opcode = take(s, 1);
		break;
	default:
		c.queue = (struct vtpu_admin_queue){ .h.opcode = VTPU_ADMIN_QUEUE_CREATE,
						     .queue = ring->id,
						     .context = 1,
						     .kind = id & 1,
						     .depth_log2 = ring->depth_log2,
						     .priority = id % 3,
						     .sq = ring->sq,
						     .cq = ring->cq,
						     .tail = ring->tail,
						     .args = ring->args };
		ring->next = 0;
		break;
	}
	mutate(s, &c, sizeof(c));
	chip_admin_post(&d->h, &c);
}

static void op_image(struct driver *d, struct script *s)
{
	size_t bytes;
	void *image = ka_image(&bytes);

	mutate(s, image, bytes);
	if (take(s, 1) & 7)
		ib_seal(image, bytes);
	memcpy(d->h.hbm + d->image, image, bytes);
	free(image);
}

static void op_table(struct driver *d, struct script *s)
{
	uint64_t pages = (d->h.table_next - VTPU_PAGE_BYTES) / VTPU_PAGE_BYTES;
	uint64_t at = VTPU_PAGE_BYTES * (1 + take(s, 1) % pages) + take(s, 2) % 512 * 8;
	uint64_t pte = 0, how = take(s, 1);

	if (how < 64)
		pte = d->data | (how & 15);
	else if (how < 128)
		pte = d->sys | (how & 15);
	else if (how < 192)
		pte = VTPU_PAGE_BYTES * (1 + how % pages) | VTPU_PTE_VALID;
	else
		pte = take(s, 8);
	__atomic_store_n((uint64_t *)(d->h.hbm + at), pte, __ATOMIC_RELAXED);
}

static uint64_t some_address(struct script *s)
{
	uint8_t how = take(s, 1);

	if (how < 100)
		return VA_DATA + take(s, 2) * 64;
	if (how < 200)
		return VTPU_VA_HOST_START + take(s, 2) * 4;
	return take(s, 8);
}

static uint32_t compute_args(struct script *s, uint8_t *args)
{
	uint64_t va[2] = { some_address(s), some_address(s) };
	uint32_t bytes = chip_args(args, 2, va, 0, NULL);

	mutate(s, args, bytes);
	return bytes;
}

static uint32_t copy_args(struct script *s, uint8_t *args)
{
	unsigned int i, n = 1 + take(s, 1) % 3;

	for (i = 0; i < n; i++) {
		struct vtpu_copy_desc c = {
			.op = 1 + take(s, 1) % 2,
			.dst = some_address(s),
			.rows = 1 + take(s, 1),
			.row_bytes = (1 + take(s, 2)) * 4,
			.dst_stride = (int16_t)take(s, 2) * 4,
		};

		if (c.op == VTPU_COPY_COPY) {
			c.src = some_address(s);
			c.src_stride = (int16_t)take(s, 2);
			if (take(s, 1) & 1) {
				c.index = some_address(s) & ~3ULL;
				c.index_limit = 1 + take(s, 2);
			}
		}
		mutate(s, &c, sizeof(c));
		memcpy(args + i * sizeof(c), &c, sizeof(c));
	}
	return n * sizeof(struct vtpu_copy_desc);
}

static void op_submit(struct driver *d, struct script *s)
{
	struct chip_ring *ring = &d->ring[1 + take(s, 1) % QUEUES];
	uint8_t args[VTPU_ARG_SLOT_BYTES] = { 0 }, kind = take(s, 1);
	uint32_t seq, bytes = 0;

	if (kind % 4 == 1)
		bytes = compute_args(s, args);
	else if (kind % 4 > 1)
		bytes = copy_args(s, args);
	seq = chip_put(&d->h, ring, kind % 4 == 1 ? 1 + kind / 4 % PROGRAMS : 0,
		       kind % 4 ? 0 : VTPU_SQE_NOP, args, bytes);
	if (kind & 0x80)
		mutate(s, chip_sqe(&d->h, ring, seq), sizeof(struct vtpu_sqe));
	if (kind & 0x40)
		ring->next += take(s, 1);
	chip_ring_doorbell(&d->h, ring);
}

static void op_inject(struct driver *d, struct script *s)
{
	const struct vtpu_injection in = {
		.fault = take(s, 1) % (VTPU_FAULTS + 1),
		.queue = take(s, 1) % (QUEUES + 1),
		.job = take(s, 1) % 4,
		.core = take(s, 1) % 5 - 1u,
	};
	char err[160];

	vtpu_chip_inject(d->h.chip, &in, err, sizeof(err));
}

static void op_poison(struct driver *d, struct script *s)
{
	uint64_t at = take(s, 3);

	atomic_store(&d->h.poison, at ? CHIP_BUS_BASE + at : 0);
}

/* ---- Script ------------------------------------------------------------------------------ */

static void set_up(struct driver *d, struct vtpu_pool *pool)
{
	struct chip_options o = { .config.pool = pool,
				  .config.hbm_bytes = 32 << 20,
				  .config.watchdog_ms = 5000 };
	unsigned int i;

	chip_host_open(&d->h, &o);
	d->data = chip_hbm_alloc(&d->h, DATA_BYTES, VTPU_LARGE_BYTES);
	d->image = chip_hbm_alloc(&d->h, 65536, VTPU_PAGE_BYTES);
	d->sys = chip_system_alloc(&d->h, DATA_BYTES);
	for (i = 1; i <= CONTEXTS; i++)
		chip_context_create(&d->h, i);
	chip_map(&d->h, 1, VA_DATA, d->data, DATA_BYTES, VTPU_PTE_WRITE);
	chip_map(&d->h, 1, VTPU_VA_HOST_START, d->sys, DATA_BYTES,
		 VTPU_PTE_WRITE | VTPU_PTE_SYSTEM);
	chip_queue_create(&d->h, &d->ring[1], 1, 1, VTPU_QUEUE_COMPUTE, 4);
	chip_queue_create(&d->h, &d->ring[2], 2, 1, VTPU_QUEUE_COPY, 4);
	for (i = 3; i <= QUEUES; i++)
		chip_queue_command(&d->h, &d->ring[i], i, 1, VTPU_QUEUE_COMPUTE, i - 1);
	op_image(d, &(struct script){ 0 });
}

static void play(struct driver *d, struct script *s)
{
	unsigned int ops = MAX_OPS;

	d->h.dma = take(s, 1) & 1 ? CHIP_DMA_QUEUED : CHIP_DMA_INLINE;
	while (s->left && ops--) {
		switch (take(s, 1) % 16) {
		case 0:
			op_register(d, s, true);
			break;
		case 1:
			op_register(d, s, false);
			break;
		case 2:
		case 3:
		case 4:
			op_admin(d, s);
			break;
		case 5:
			op_image(d, s);
			break;
		case 6:
		case 7:
			op_table(d, s);
			break;
		case 8:
			op_inject(d, s);
			break;
		case 9:
			op_poison(d, s);
			break;
		case 10:
			chip_host_pump(&d->h, NULL, NULL, 1);
			break;
		case 11:
			if (take(s, 1) < 16)
				chip_host_reset(&d->h, take(s, 1) & 1);
			break;
		default:
			op_submit(d, s);
			break;
		}
		chip_host_once(&d->h);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vtpu_pool *pool;
	struct script s = { data, size };
	struct known_answer ka;
	uint32_t status;
	struct driver *d = calloc(1, sizeof(*d));
	char err[160];

	if (!pool)
		pool = vtpu_pool_create(2, NULL, NULL, NULL);
	if (!pool || !d)
		abort();
	set_up(d, pool);
	play(d, &s);

	/* Whatever happened: a reset, and the chip works. */
	vtpu_chip_inject(d->h.chip, &(struct vtpu_injection){ 0 }, err, sizeof(err));
	atomic_store(&d->h.poison, 0);
	d->h.dma = CHIP_DMA_INLINE;
	chip_host_reset(&d->h, VTPU_RESET_FUNCTION);
	if (chip_read32(&d->h, VTPU_REG_STATUS) != VTPU_STATUS_READY)
		abort();
	chip_host_enable(&d->h);
	d->h.system_next = d->h.system_bytes / 2;
	d->h.table_next = VTPU_PAGE_BYTES * 256;
	status = ka_setup(&d->h, &ka, 9, 100, 900);
	if (status != VTPU_ST_OK || !ka_run(&d->h, &ka)) {
		fprintf(stderr, "the bystander's answer is wrong (setup: %#x)\n", status);
		abort();
	}
	chip_host_close(&d->h);
	free(d);
	return 0;
}
