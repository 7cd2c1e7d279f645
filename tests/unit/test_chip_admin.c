// SPDX-License-Identifier: MIT
/*
 * test_chip_admin.c - power, registers, enable, and every admin command with
 * every field out of range.
 */
#include <string.h>

#include "chip_host.h"
#include "image_builder.h"
#include "tap.h"

/* ---- Properties ---------------------------------------------------------------------- */

static bool refuses(struct chip_host *h, struct vtpu_chip_config config, const char *word)
{
	static const struct vtpu_host_ops none;
	char err[256] = "";
	struct vtpu_chip *chip;

	if (!config.pool)
		config.pool = h->pool;
	if (!config.hbm)
		config.hbm = h->hbm;
	if (!config.hbm_bytes)
		config.hbm_bytes = h->hbm_bytes;
	chip = vtpu_chip_create(&config, &none, NULL, err, sizeof(err));
	if (chip)
		vtpu_chip_destroy(chip);
	if (!chip && strstr(err, word))
		return true;
	printf("# said: %s\n", err);
	return false;
}

static void test_properties(struct chip_host *h)
{
	struct vtpu_chip_config c;

#define REFUSED(field, value, word) \
	(c = (struct vtpu_chip_config){ .field = value }, \
	 tap_ok(refuses(h, c, word), "property " #field "=" #value " is refused by name"))
	REFUSED(cores, 65, "cores=65");
	REFUSED(hbm_bytes, 16 << 20, "16777216");
	REFUSED(hbm_bytes, (32 << 20) + 4096, "2 MiB");
	REFUSED(hbm_bytes, 65ULL << 30, "64 GiB");
	REFUSED(hbm, (void *)(h->hbm + 8), "page aligned");
	REFUSED(vectors, 1, "vectors=1");
	REFUSED(vectors, 34, "vectors=34");
	REFUSED(preset, "v99", "v99");
	REFUSED(isa, (enum vtpu_isa)9, "isa=9");
#undef REFUSED
}

/* ---- Registers ----------------------------------------------------------------------------- */

static void test_registers(struct chip_host *h)
{
	uint64_t bad = chip_read32(h, VTPU_REG_BAD_ACCESS);
	const struct vtpu_hw_geometry *g = vtpu_chip_geometry(h->chip);
	struct vtpu_hw_geometry read;
	unsigned int i;

	tap_is(chip_read32(h, VTPU_REG_MAGIC), VTPU_MAGIC, "magic");
	tap_is(chip_read32(h, VTPU_REG_VERSION), VTPU_HW_VERSION, "version");
	tap_is(chip_read64(h, VTPU_REG_CAPS),
	       VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV | VTPU_CAP_ICI, "capabilities");
	tap_is(chip_read32(h, VTPU_REG_STATUS), VTPU_STATUS_READY, "status after power-on");
	tap_is(chip_read64(h, VTPU_REG_HBM_BYTES), h->hbm_bytes, "HBM bytes");
	tap_is(chip_read64(h, VTPU_REG_HBM_RESERVED), 16 << 20, "reserved HBM");
	tap_is(chip_read32(h, VTPU_REG_VECTORS), VTPU_MAX_VECTORS, "vectors");
	tap_is(chip_read64(h, VTPU_REG_SERIAL), 0x123456789abcdefULL, "serial number");
	tap_is(chip_read32(h, VTPU_REG_SERIAL + 4), 0x1234567, "high half of a 64-bit register");
	for (i = 0; i < sizeof(read) / 4; i++)
		((uint32_t *)&read)[i] = chip_read32(h, VTPU_REG_GEOMETRY + 4 * i);
	tap_ok(!memcmp(&read, g, sizeof(read)), "geometry as the model has it");
	tap_is(chip_read64(h, VTPU_REG_GEOMETRY + offsetof(struct vtpu_hw_geometry, vmem_bytes)),
	       g->vmem_bytes, "its 64-bit field");
	tap_is(chip_read64(h, VTPU_REG_CORE_STATS + 64 * (g->cores - 1)), 0,
	       "counters of the last core");
	tap_ok(chip_read64(h, VTPU_REG_TIME_NS), "the clock runs");
	chip_write64(h, VTPU_REG_ADMIN_SQ, 0x1122334455667000ULL);
	chip_write32(h, VTPU_REG_ADMIN_SQ + 4, 0x99);
	tap_is(chip_read64(h, VTPU_REG_ADMIN_SQ), 0x0000009955667000ULL, "a half is written alone");
	chip_write32(h, VTPU_REG_MAGIC, 5);
	tap_is(chip_read32(h, VTPU_REG_MAGIC), VTPU_MAGIC, "read-only registers stay");
	tap_is(chip_read32(h, VTPU_REG_BAD_ACCESS), bad, "none of this was a bad access");
}

static void test_bad_access(struct chip_host *h)
{
	static const struct {
		uint64_t offset;
		unsigned int size;
		const char *name;
	} t[] = {
		{ VTPU_REG_MAGIC, 1, "1 byte" },
		{ VTPU_REG_MAGIC, 2, "2 bytes" },
		{ VTPU_REG_MAGIC + 2, 4, "misaligned" },
		{ VTPU_REG_SERIAL + 4, 8, "misaligned 8 bytes" },
		{ VTPU_REG_STATUS, 8, "8 bytes of two 4-byte registers" },
		{ 0x04c, 4, "a hole" },
		{ 0x130, 4, "behind the recovery registers" },
		{ VTPU_REG_GEOMETRY, 8, "8 bytes of 4-byte geometry" },
		{ VTPU_REG_GEOMETRY + sizeof(struct vtpu_hw_geometry), 4, "behind the geometry" },
		{ VTPU_REG_CORE_STATS + 64 * 8, 8, "counters of core 8 of 8" },
		{ VTPU_DOORBELL_BASE + 0x20, 4, "the end of a doorbell page's registers" },
		{ VTPU_DOORBELL_BASE + 0x04, 8, "8 bytes of a 4-byte doorbell register" },
		{ VTPU_DOORBELL_BASE + 129 * VTPU_DOORBELL_STRIDE, 4, "the page of queue 129" },
		{ VTPU_BAR0_BYTES - 4, 4, "the end of BAR0" },
		{ ~3ULL, 4, "the end of the address space" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t bad = chip_read32(h, VTPU_REG_BAD_ACCESS);
		uint64_t value = vtpu_chip_read(h->chip, t[i].offset, t[i].size);

		vtpu_chip_write(h->chip, t[i].offset, ~0ULL, t[i].size);
		tap_ok(!value && chip_read32(h, VTPU_REG_BAD_ACCESS) == bad + 2,
		       "access refused and counted: %s", t[i].name);
	}
}

static bool is_fatal(void *arg)
{
	return chip_read32(arg, VTPU_REG_STATUS) & VTPU_STATUS_FATAL;
}

static bool is_ready(void *arg)
{
	return chip_read32(arg, VTPU_REG_STATUS) == VTPU_STATUS_READY;
}

static void test_enable(struct chip_host *h)
{
	uint32_t resets = chip_read32(h, VTPU_REG_RESET_COUNT), bad;

	chip_write64(h, VTPU_REG_ADMIN_SQ, 0x1000);
	chip_write64(h, VTPU_REG_ADMIN_CQ, 0x2004);
	chip_write32(h, VTPU_REG_ADMIN_DEPTH, 4);
	chip_write32(h, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	tap_ok(chip_host_pump(h, is_fatal, h, 1000), "a misaligned admin ring is fatal");
	tap_is(chip_read32(h, VTPU_REG_FATAL), VTPU_ST_BAD_FIELD, "and says why");
	tap_is(chip_read32(h, VTPU_REG_EVENTS), VTPU_EVENT_FATAL, "and is an event");
	chip_host_pump(h, NULL, NULL, 5);
	tap_ok(atomic_load(&h->vectors[0]) == 1, "and raises vector 0 once");
	chip_write32(h, VTPU_REG_EVENTS, VTPU_EVENT_FATAL);
	tap_is(chip_read32(h, VTPU_REG_EVENTS), 0, "events are cleared by writing 1");
	chip_write32(h, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	tap_is(chip_read32(h, VTPU_REG_STATUS) & VTPU_STATUS_READY, 0,
	       "not ready while a reset runs");
	tap_ok(chip_host_pump(h, is_ready, h, 1000), "a reset helps");
	tap_is(chip_read32(h, VTPU_REG_RESET_COUNT), resets + 1, "and is counted");
	tap_is(chip_read64(h, VTPU_REG_ADMIN_CQ), 0, "and clears registers");

	chip_host_enable(h);
	tap_is(chip_read32(h, VTPU_REG_STATUS), VTPU_STATUS_READY | VTPU_STATUS_ENABLED, "enabled");
	bad = chip_read32(h, VTPU_REG_BAD_ACCESS);
	chip_write64(h, VTPU_REG_ADMIN_SQ, 0);
	tap_ok(chip_read64(h, VTPU_REG_ADMIN_SQ) == h->admin.sq &&
		       chip_read32(h, VTPU_REG_BAD_ACCESS) == bad + 1,
	       "admin registers cannot be written while enabled");
	chip_write32(h, VTPU_REG_CONTROL, 0);
	tap_ok(chip_host_pump(h, is_ready, h, 1000), "disabled again");
	tap_is(chip_read64(h, VTPU_REG_ADMIN_SQ), h->admin.sq,
	       "a disable keeps the admin registers");
	chip_host_enable(h);
}

/* ---- Commands ----------------------------------------------------------------------------------- */

union command {
	struct vtpu_admin_header h;
	struct vtpu_admin_context context;
	struct vtpu_admin_queue queue;
	struct vtpu_admin_program program;
	uint8_t byte[64];
};

static uint32_t run(struct chip_host *h, union command c)
{
	return chip_admin(h, &c, NULL);
}

/* Set each bit of bytes [@from, @to) alone: each must be refused. Return: how many were not */
static unsigned int reserved_bits(struct chip_host *h, union command good, unsigned int from,
				  unsigned int to)
{
	unsigned int bit, wrong = 0;

	for (bit = from * 8; bit < to * 8; bit++) {
		union command c = good;

		c.byte[bit / 8] ^= 1u << (bit % 8);
		wrong += run(h, c) != VTPU_ST_BAD_FIELD;
	}
	return wrong;
}

#define BAD(cmd, member, field, value, want) \
	do { \
		union command c_ = cmd; \
		c_.member.field = value; \
		tap_is(run(h, c_), want, #member "." #field " = " #value); \
	} while (0)

static void test_simple(struct chip_host *h)
{
	union command nop = { .h.opcode = VTPU_ADMIN_NOP }, c = nop;
	struct vtpu_cqe cqe;

	tap_is(run(h, nop), VTPU_ST_OK, "admin NOP");
	tap_is(reserved_bits(h, nop, 8, 64), 0, "each reserved bit of NOP is refused");
	tap_is(reserved_bits(h, nop, 2, 4), 0, "each header flag is refused");
	BAD(nop, h, opcode, 0, VTPU_ST_BAD_OPCODE);
	BAD(nop, h, opcode, 9, VTPU_ST_BAD_OPCODE);
	BAD(nop, h, opcode, 0xffff, VTPU_ST_BAD_OPCODE);
	chip_admin_post(h, &c);
	chip_sqe(h, &h->admin, h->admin.next - 1)->program = VTPU_ADMIN_NOP;
	((struct vtpu_admin_header *)chip_sqe(h, &h->admin, h->admin.next - 1))->seq += 16;
	cqe = chip_wait(h, &h->admin);
	tap_ok(cqe.status == VTPU_ST_BAD_FIELD && cqe.seq == h->admin.next - 1,
	       "a command with another sequence number is refused under its own");
}

static void test_context(struct chip_host *h)
{
	union command create = {
		.context = { .h.opcode = VTPU_ADMIN_CONTEXT_CREATE, .context = 7, .root = 0x5000 }
	};
	union command destroy = { .context = { .h.opcode = VTPU_ADMIN_CONTEXT_DESTROY,
					       .context = 7 } };
	union command inv = { .context = { .h.opcode = VTPU_ADMIN_INVALIDATE,
					   .context = 7,
					   .va = 0x200000,
					   .bytes = 0x1000 } };

	BAD(create, context, context, 0, VTPU_ST_BAD_FIELD);
	BAD(create, context, context, 256, VTPU_ST_BAD_FIELD);
	BAD(create, context, root, 0x5008, VTPU_ST_BAD_ADDRESS);
	BAD(create, context, root, h->hbm_bytes, VTPU_ST_BAD_ADDRESS);
	BAD(create, context, root, ~0ULL << 12, VTPU_ST_BAD_ADDRESS);
	tap_is(reserved_bits(h, create, 12, 16) + reserved_bits(h, create, 24, 64), 0,
	       "each reserved bit of CONTEXT_CREATE is refused");
	tap_is(run(h, inv), VTPU_ST_NOT_FOUND, "INVALIDATE of no context");
	tap_is(run(h, destroy), VTPU_ST_NOT_FOUND, "CONTEXT_DESTROY of no context");
	tap_is(run(h, create), VTPU_ST_OK, "CONTEXT_CREATE");
	tap_is(run(h, create), VTPU_ST_EXISTS, "twice");
	tap_is(run(h, inv), VTPU_ST_OK, "INVALIDATE without jobs");
	tap_is(reserved_bits(h, inv, 12, 24) + reserved_bits(h, inv, 40, 64), 0,
	       "each reserved bit of INVALIDATE is refused");
	BAD(inv, context, va, 0x200800, VTPU_ST_BAD_FIELD);
	BAD(inv, context, bytes, 0, VTPU_ST_BAD_FIELD);
	BAD(inv, context, bytes, VTPU_VA_END, VTPU_ST_BAD_FIELD);
	BAD(inv, context, va, VTPU_VA_END, VTPU_ST_BAD_FIELD);
	BAD(inv, context, context, 8, VTPU_ST_NOT_FOUND);
	tap_is(reserved_bits(h, destroy, 12, 64), 0,
	       "each reserved bit of CONTEXT_DESTROY is refused");
	tap_is(run(h, destroy), VTPU_ST_OK, "CONTEXT_DESTROY");
	tap_is(run(h, destroy), VTPU_ST_NOT_FOUND, "twice");
}

static void test_queue(struct chip_host *h)
{
	struct chip_ring ring;
	union command create, copy;
	union command destroy = { .queue = { .h.opcode = VTPU_ADMIN_QUEUE_DESTROY, .queue = 3 } };
	union command ctx = { .context = { .h.opcode = VTPU_ADMIN_CONTEXT_DESTROY, .context = 1 } };

	chip_context_create(h, 1);
	create.queue = chip_queue_command(h, &ring, 3, 1, VTPU_QUEUE_COMPUTE, 4);
	BAD(create, queue, queue, 0, VTPU_ST_BAD_FIELD);
	BAD(create, queue, queue, 129, VTPU_ST_BAD_FIELD);
	BAD(create, queue, queue, 0xffff, VTPU_ST_BAD_FIELD);
	BAD(create, queue, context, 0, VTPU_ST_NOT_FOUND);
	BAD(create, queue, context, 2, VTPU_ST_NOT_FOUND);
	BAD(create, queue, context, 0xffff, VTPU_ST_NOT_FOUND);
	BAD(create, queue, kind, 2, VTPU_ST_BAD_FIELD);
	BAD(create, queue, depth_log2, 0, VTPU_ST_BAD_FIELD);
	BAD(create, queue, depth_log2, 11, VTPU_ST_BAD_FIELD);
	BAD(create, queue, depth_log2, 255, VTPU_ST_BAD_FIELD);
	BAD(create, queue, priority, 3, VTPU_ST_BAD_FIELD);
	BAD(create, queue, pad, 1, VTPU_ST_BAD_FIELD);
	BAD(create, queue, core_mask, 0x100, VTPU_ST_BAD_FIELD);
	BAD(create, queue, sq, ring.sq + 64, VTPU_ST_BAD_FIELD);
	BAD(create, queue, cq, ring.cq + 8, VTPU_ST_BAD_FIELD);
	BAD(create, queue, args, ring.args + 8, VTPU_ST_BAD_FIELD);
	BAD(create, queue, tail, ring.tail + 2, VTPU_ST_BAD_FIELD);
	BAD(create, queue, args, ~0xfffULL, VTPU_ST_BAD_FIELD);
	copy = create;
	copy.queue.kind = VTPU_QUEUE_COPY;
	BAD(copy, queue, core_mask, 1, VTPU_ST_BAD_FIELD);
	BAD(copy, queue, max_cycles, 1, VTPU_ST_BAD_FIELD);

	tap_is(run(h, destroy), VTPU_ST_NOT_FOUND, "QUEUE_DESTROY of no queue");
	tap_is(chip_queue_state(h, 3), VTPU_HWQ_NONE, "state of no queue");
	tap_is(run(h, create), VTPU_ST_OK, "QUEUE_CREATE");
	tap_is(chip_queue_state(h, 3), VTPU_HWQ_IDLE, "state of a new queue");
	tap_is(run(h, create), VTPU_ST_EXISTS, "twice");
	tap_is(run(h, ctx), VTPU_ST_BUSY, "its context cannot go");
	tap_is(reserved_bits(h, destroy, 10, 64), 0,
	       "each reserved bit of QUEUE_DESTROY is refused");
	BAD(destroy, queue, queue, 0, VTPU_ST_NOT_FOUND);
	BAD(destroy, queue, queue, 129, VTPU_ST_NOT_FOUND);
	tap_is(chip_nop(h, &ring), VTPU_ST_OK, "a NOP job");
	tap_is(run(h, destroy), VTPU_ST_OK, "QUEUE_DESTROY");
	tap_is(run(h, destroy), VTPU_ST_NOT_FOUND, "twice");
	tap_is(run(h, ctx), VTPU_ST_OK, "now its context can go");
}

static void *halt_image(size_t *bytes)
{
	struct image_builder b;

	ib_begin(&b, 1);
	ib_insn(&b, VTPU_OP_HALT);
	return ib_finish(&b, bytes);
}

static void test_program(struct chip_host *h)
{
	size_t bytes;
	void *image = halt_image(&bytes);
	uint64_t at = chip_hbm_alloc(h, 4096, 4096), report = chip_system_alloc(h, 4096);
	union command load = { .program = { .h.opcode = VTPU_ADMIN_PROGRAM_LOAD,
					    .program = 5,
					    .context = 1,
					    .image = at,
					    .bytes = bytes,
					    .report = report,
					    .report_bytes = 4096 } };
	union command unload = { .program = { .h.opcode = VTPU_ADMIN_PROGRAM_UNLOAD,
					      .program = 5 } };
	union command ctx = { .context = { .h.opcode = VTPU_ADMIN_CONTEXT_DESTROY, .context = 1 } };
	struct vtpu_load_result *result = chip_system(h, report);

	memcpy(h->hbm + at, image, bytes);
	chip_context_create(h, 1);
	BAD(load, program, program, 0, VTPU_ST_BAD_FIELD);
	BAD(load, program, program, 4096, VTPU_ST_BAD_FIELD);
	BAD(load, program, context, 0, VTPU_ST_NOT_FOUND);
	BAD(load, program, context, 9, VTPU_ST_NOT_FOUND);
	BAD(load, program, context, 0x10001, VTPU_ST_NOT_FOUND);
	BAD(load, program, image, at + 64, VTPU_ST_BAD_ADDRESS);
	BAD(load, program, image, h->hbm_bytes, VTPU_ST_BAD_ADDRESS);
	BAD(load, program, bytes, 0, VTPU_ST_BAD_FIELD);
	BAD(load, program, bytes, VTPU_MAX_IMAGE_BYTES + 1ULL, VTPU_ST_BAD_FIELD);
	BAD(load, program, bytes, h->hbm_bytes, VTPU_ST_BAD_ADDRESS);
	BAD(load, program, report_bytes, 63, VTPU_ST_BAD_FIELD);
	BAD(load, program, report, ~0ULL, VTPU_ST_BAD_FIELD);
	BAD(load, program, flags, 2, VTPU_ST_BAD_FIELD);
	tap_is(reserved_bits(h, load, 48, 64), 0, "each reserved bit of PROGRAM_LOAD is refused");
	BAD(load, program, report, 0x10, VTPU_ST_BAD_ADDRESS);
	tap_is(run(h, unload), VTPU_ST_NOT_FOUND,
	       "a load whose report has no place leaves nothing");
	tap_is(run(h, load), VTPU_ST_OK, "PROGRAM_LOAD");
	tap_ok(result->status == VTPU_ST_OK && result->instances == 1, "the report arrived");
	tap_is(run(h, load), VTPU_ST_EXISTS, "twice");
	tap_is(run(h, ctx), VTPU_ST_BUSY, "its context cannot go");
	tap_is(reserved_bits(h, unload, 12, 64), 0,
	       "each reserved bit of PROGRAM_UNLOAD is refused");
	BAD(unload, program, program, 0, VTPU_ST_NOT_FOUND);
	BAD(unload, program, program, ~0u, VTPU_ST_NOT_FOUND);
	tap_is(run(h, unload), VTPU_ST_OK, "PROGRAM_UNLOAD");
	tap_is(run(h, unload), VTPU_ST_NOT_FOUND, "twice");

	((uint8_t *)h->hbm)[at + 200] ^= 1;
	memset(result, 0xee, sizeof(*result));
	tap_is(run(h, load), VTPU_ST_IMAGE_CHECKSUM, "a corrupt image is refused");
	tap_is(result->status, VTPU_ST_IMAGE_CHECKSUM, "its report says so");
	tap_is(run(h, unload), VTPU_ST_NOT_FOUND, "and nothing is loaded");
	tap_is(run(h, ctx), VTPU_ST_OK, "the context can go");
	free(image);
}

/* A long load, cancelled by an unload; both complete, the load first. */
static void test_load_cancel(struct chip_host *h)
{
	struct image_builder b;
	size_t bytes;
	void *image;
	unsigned int i;
	union command load = { .program = { .h.opcode = VTPU_ADMIN_PROGRAM_LOAD,
					    .program = 6,
					    .context = 1,
					    .report = chip_system_alloc(h, 4096),
					    .report_bytes = 4096 } };
	union command unload = { .program = { .h.opcode = VTPU_ADMIN_PROGRAM_UNLOAD,
					      .program = 6 } };
	union command nop = { .h.opcode = VTPU_ADMIN_NOP };
	struct vtpu_cqe cqe[3];
	uint32_t s0, s1, s2;

	ib_begin(&b, 8);
	for (i = 0; i < 100000; i++)
		ib_insn(&b, VTPU_OP_NOP);
	image = ib_finish(&b, &bytes);
	load.program.image = chip_hbm_alloc(h, bytes, 4096);
	load.program.bytes = bytes;
	memcpy(h->hbm + load.program.image, image, bytes);
	free(image);
	chip_context_create(h, 1);
	s0 = chip_admin_post(h, &load);
	s1 = chip_admin_post(h, &nop);
	s2 = chip_admin_post(h, &unload);
	for (i = 0; i < 3; i++)
		cqe[i] = chip_wait(h, &h->admin);
	tap_ok(cqe[0].seq == s1 && cqe[0].status == VTPU_ST_OK, "a NOP overtakes a load");
	tap_ok(cqe[1].seq == s0 && cqe[1].status == VTPU_ST_CANCELLED,
	       "a load that is unloaded ends as CANCELLED (%#x)", cqe[1].status);
	tap_ok(cqe[2].seq == s2 && cqe[2].status == VTPU_ST_OK, "then the unload completes");
	tap_is(run(h, unload), VTPU_ST_NOT_FOUND, "and nothing is left");
}

/* The admin ring itself. */
static void test_ring(struct chip_host *h)
{
	union command nop = { .h.opcode = VTPU_ADMIN_NOP };
	unsigned int i, bad = 0;

	for (i = 0; i < 200; i++)
		bad += run(h, nop) != VTPU_ST_OK;
	tap_is(bad, 0, "the admin ring wraps many times");
	h->admin.next += 17;
	chip_ring_doorbell(h, &h->admin);
	tap_ok(chip_host_pump(h, is_fatal, h, 1000), "an admin ring overrun is fatal");
	tap_is(chip_read32(h, VTPU_REG_FATAL), VTPU_ST_RING_OVERRUN, "and says why");
	chip_host_reset(h, VTPU_RESET_FUNCTION);
	tap_is(chip_read32(h, VTPU_REG_STATUS), VTPU_STATUS_READY, "a function reset helps");
	chip_host_enable(h);
	atomic_store(&h->poison, h->admin.tail);
	chip_ring_doorbell(h, &h->admin);
	tap_ok(chip_host_pump(h, is_fatal, h, 1000), "an admin tail word out of reach is fatal");
	tap_is(chip_read32(h, VTPU_REG_FATAL), VTPU_ST_DMA_ERROR, "and says why");
	atomic_store(&h->poison, 0);
	chip_host_reset(h, VTPU_RESET_COLD);
	tap_is(chip_read32(h, VTPU_REG_STATUS), VTPU_STATUS_READY, "a cold reset helps");
	for (i = 0; i < h->hbm_bytes && !h->hbm[i]; i++)
		;
	tap_is(i, h->hbm_bytes, "and zeroes HBM");
	tap_is(chip_read32(h, VTPU_REG_RESET_COUNT) + chip_read32(h, VTPU_REG_BAD_ACCESS), 0,
	       "and counters");
}

static void all(enum chip_dma dma)
{
	struct chip_options o = { .config.serial = 0x123456789abcdefULL,
				  .no_enable = true,
				  .dma = dma };
	struct chip_host h;

	printf("# DMA %s\n", dma == CHIP_DMA_INLINE ? "inline" : "queued");
	chip_host_open(&h, &o);
	test_properties(&h);
	test_registers(&h);
	test_bad_access(&h);
	test_enable(&h);
	test_simple(&h);
	test_context(&h);
	test_queue(&h);
	test_program(&h);
	test_load_cancel(&h);
	test_ring(&h);
	chip_host_close(&h);
}

int main(void)
{
	all(CHIP_DMA_INLINE);
	all(CHIP_DMA_QUEUED);
	return tap_done();
}
