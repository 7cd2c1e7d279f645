// SPDX-License-Identifier: MIT
/*
 * chip_driver.c - the driver half of chip_host.h: memory, page tables, rings, jobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip_host.h"
#include "vtpu_hwlib.h"

#define ADMIN_DEPTH_LOG2 4
#define WAIT_MS		 10000

static void die(const char *what)
{
	fprintf(stderr, "chip_driver: %s\n", what);
	exit(1);
}

/* ---- Memory ---------------------------------------------------------------------------------------- */

uint64_t chip_system_alloc(struct chip_host *h, uint64_t bytes)
{
	uint64_t at = h->system_next;

	bytes = (bytes + VTPU_PAGE_BYTES - 1) / VTPU_PAGE_BYTES * VTPU_PAGE_BYTES;
	if (bytes > h->system_bytes - at)
		die("out of system memory");
	h->system_next += bytes;
	return CHIP_BUS_BASE + at;
}

void *chip_system(struct chip_host *h, uint64_t addr)
{
	return h->system + (addr - CHIP_BUS_BASE);
}

uint64_t chip_hbm_alloc(struct chip_host *h, uint64_t bytes, uint64_t align)
{
	uint64_t at = (h->hbm_next + align - 1) & -align;

	if (at > h->hbm_bytes || bytes > h->hbm_bytes - at)
		die("out of HBM");
	h->hbm_next = at + bytes;
	return at;
}

/* ---- Page tables ------------------------------------------------------------------------------------- */

static uint64_t *table_entry(struct chip_host *h, uint64_t table, uint32_t index)
{
	return (uint64_t *)(h->hbm + table) + index;
}

static __u64 pt_read(void *arg, __u64 table, __u32 index)
{
	return __atomic_load_n(table_entry(arg, table, index), __ATOMIC_RELAXED);
}

static void pt_write(void *arg, __u64 table, __u32 index, __u64 pte)
{
	__atomic_store_n(table_entry(arg, table, index), pte, __ATOMIC_RELAXED);
}

static __u64 pt_alloc(void *arg)
{
	struct chip_host *h = arg;
	uint64_t at = h->table_next;

	h->table_next += VTPU_PAGE_BYTES;
	if (h->table_next > chip_read64(h, VTPU_REG_HBM_RESERVED))
		die("out of page tables");
	memset(h->hbm + at, 0, VTPU_PAGE_BYTES);
	return at;
}

static const struct vtpu_pt_ops pt_ops = {
	.read = pt_read,
	.write = pt_write,
	.alloc = pt_alloc,
};

uint32_t chip_context_create(struct chip_host *h, uint32_t context)
{
	struct vtpu_admin_context cmd = {
		.h.opcode = VTPU_ADMIN_CONTEXT_CREATE,
		.context = context,
		.root = pt_alloc(h),
	};

	h->root[context] = cmd.root;
	return chip_admin(h, &cmd, NULL);
}

void chip_map(struct chip_host *h, uint32_t context, uint64_t va, uint64_t pa, uint64_t bytes,
	      uint64_t flags)
{
	if (vtpu_pt_map(&pt_ops, h, h->root[context], va, pa, bytes, flags) != bytes)
		die("cannot map");
}

void chip_unmap(struct chip_host *h, uint32_t context, uint64_t va, uint64_t bytes)
{
	vtpu_pt_unmap(&pt_ops, h, h->root[context], va, bytes);
}

uint64_t *chip_pte(struct chip_host *h, uint32_t context, uint64_t va, unsigned int level)
{
	uint64_t table = vtpu_pt_table(&pt_ops, h, h->root[context], va, level, 0);

	if (!table)
		die("no such page table");
	return table_entry(h, table, vtpu_pt_index(va, level));
}

/* ---- Rings -------------------------------------------------------------------------------------------- */

static void ring_alloc(struct chip_host *h, struct chip_ring *ring, unsigned int id,
		       uint32_t depth_log2)
{
	uint64_t depth = 1u << depth_log2;

	memset(ring, 0, sizeof(*ring));
	ring->id = id;
	ring->depth_log2 = depth_log2;
	ring->sq = chip_system_alloc(h, depth * sizeof(struct vtpu_sqe));
	ring->cq = chip_system_alloc(h, depth * sizeof(struct vtpu_cqe));
	ring->tail = chip_system_alloc(h, sizeof(uint32_t));
	if (id)
		ring->args = chip_system_alloc(h, depth * VTPU_ARG_SLOT_BYTES);
}

static bool is_enabled(void *arg)
{
	return chip_read32(arg, VTPU_REG_STATUS) & VTPU_STATUS_ENABLED;
}

void chip_host_enable(struct chip_host *h)
{
	ring_alloc(h, &h->admin, 0, ADMIN_DEPTH_LOG2);
	chip_write64(h, VTPU_REG_ADMIN_SQ, h->admin.sq);
	chip_write64(h, VTPU_REG_ADMIN_CQ, h->admin.cq);
	chip_write64(h, VTPU_REG_ADMIN_TAIL, h->admin.tail);
	chip_write32(h, VTPU_REG_ADMIN_DEPTH, ADMIN_DEPTH_LOG2);
	chip_write32(h, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	if (!chip_host_pump(h, is_enabled, h, WAIT_MS))
		die("the chip does not come up");
}

struct vtpu_sqe *chip_sqe(struct chip_host *h, const struct chip_ring *ring, uint32_t seq)
{
	struct vtpu_sqe *sq = chip_system(h, ring->sq);

	return &sq[seq & ((1u << ring->depth_log2) - 1)];
}

void chip_ring_doorbell(struct chip_host *h, struct chip_ring *ring)
{
	*(uint32_t *)chip_system(h, ring->tail) = ring->next;
	chip_write32(h, CHIP_DB(ring->id, VTPU_DB_RING), 1);
}

bool chip_poll(struct chip_host *h, struct chip_ring *ring, struct vtpu_cqe *cqe)
{
	struct vtpu_cqe *cq = chip_system(h, ring->cq);

	cq += ring->seen & ((1u << ring->depth_log2) - 1);
	if (!vtpu_cqe_ready(cq->status, ring->seen, ring->depth_log2))
		return false;
	*cqe = *cq;
	cqe->status &= VTPU_CQE_STATUS_MASK;
	ring->seen++;
	return true;
}

struct poll {
	struct chip_host *h;
	struct chip_ring *ring;
	struct vtpu_cqe cqe;
};

static bool poll_once(void *arg)
{
	struct poll *p = arg;

	return chip_poll(p->h, p->ring, &p->cqe);
}

struct vtpu_cqe chip_wait(struct chip_host *h, struct chip_ring *ring)
{
	struct poll p = { .h = h, .ring = ring };

	if (!chip_host_pump(h, poll_once, &p, WAIT_MS))
		p.cqe.status = VTPU_CQE_STATUS_MASK;
	return p.cqe;
}

uint32_t chip_admin_post(struct chip_host *h, void *command)
{
	struct vtpu_admin_header *head = command;

	head->seq = h->admin.next;
	memcpy(chip_sqe(h, &h->admin, h->admin.next), command, sizeof(struct vtpu_sqe));
	h->admin.next++;
	chip_ring_doorbell(h, &h->admin);
	return head->seq;
}

uint32_t chip_admin(struct chip_host *h, void *command, struct vtpu_cqe *out)
{
	uint32_t seq = chip_admin_post(h, command);
	struct vtpu_cqe cqe = chip_wait(h, &h->admin);

	if (cqe.status != VTPU_CQE_STATUS_MASK && cqe.seq != seq)
		die("completion of another admin command");
	if (out)
		*out = cqe;
	return cqe.status;
}

struct vtpu_admin_queue chip_queue_command(struct chip_host *h, struct chip_ring *ring,
					   unsigned int id, uint32_t context, uint32_t kind,
					   uint32_t depth_log2)
{
	ring_alloc(h, ring, id, depth_log2);
	ring->context = context;
	return (struct vtpu_admin_queue){
		.h.opcode = VTPU_ADMIN_QUEUE_CREATE,
		.queue = id,
		.context = context,
		.kind = kind,
		.depth_log2 = depth_log2,
		.priority = VTPU_PRIO_NORMAL,
		.sq = ring->sq,
		.cq = ring->cq,
		.tail = ring->tail,
		.args = ring->args,
	};
}

void chip_queue_create(struct chip_host *h, struct chip_ring *ring, unsigned int id,
		       uint32_t context, uint32_t kind, uint32_t depth_log2)
{
	struct vtpu_admin_queue cmd = chip_queue_command(h, ring, id, context, kind, depth_log2);

	if (chip_admin(h, &cmd, NULL) != VTPU_ST_OK)
		die("cannot create a queue");
}

uint32_t chip_queue_destroy(struct chip_host *h, unsigned int id)
{
	struct vtpu_admin_queue cmd = { .h.opcode = VTPU_ADMIN_QUEUE_DESTROY, .queue = id };

	return chip_admin(h, &cmd, NULL);
}

/* ---- Jobs ---------------------------------------------------------------------------------------------- */

uint32_t chip_put(struct chip_host *h, struct chip_ring *ring, uint32_t program, uint32_t flags,
		  const void *args, uint32_t args_bytes)
{
	uint32_t slot = ring->next & ((1u << ring->depth_log2) - 1);

	vtpu_sqe_fill(chip_sqe(h, ring, ring->next), program, flags, ring->next, args_bytes);
	if (args_bytes)
		memcpy(chip_system(h, ring->args + slot * VTPU_ARG_SLOT_BYTES), args, args_bytes);
	return ring->next++;
}

uint32_t chip_submit(struct chip_host *h, struct chip_ring *ring, uint32_t program, uint32_t flags,
		     const void *args, uint32_t args_bytes)
{
	uint32_t seq = chip_put(h, ring, program, flags, args, args_bytes);

	chip_ring_doorbell(h, ring);
	return seq;
}

uint32_t chip_run(struct chip_host *h, struct chip_ring *ring, uint32_t program, const void *args,
		  uint32_t args_bytes)
{
	chip_submit(h, ring, program, 0, args, args_bytes);
	return chip_wait(h, ring).status;
}

uint32_t chip_nop(struct chip_host *h, struct chip_ring *ring)
{
	chip_submit(h, ring, 0, VTPU_SQE_NOP, NULL, 0);
	return chip_wait(h, ring).status;
}

uint32_t chip_load(struct chip_host *h, uint32_t context, uint32_t program, void *image,
		   uint64_t bytes, struct vtpu_load_result *result)
{
	uint64_t report = chip_system_alloc(h, VTPU_PAGE_BYTES);
	struct vtpu_admin_program cmd = {
		.h.opcode = VTPU_ADMIN_PROGRAM_LOAD,
		.program = program,
		.context = context,
		.image = chip_hbm_alloc(h, bytes, VTPU_PAGE_BYTES),
		.bytes = bytes,
		.report = report,
		.report_bytes = VTPU_PAGE_BYTES,
	};
	uint32_t status;

	memcpy(h->hbm + cmd.image, image, bytes);
	free(image);
	status = chip_admin(h, &cmd, NULL);
	if (result)
		memcpy(result, chip_system(h, report), sizeof(*result));
	return status;
}

uint32_t chip_unload(struct chip_host *h, uint32_t program)
{
	struct vtpu_admin_program cmd = { .h.opcode = VTPU_ADMIN_PROGRAM_UNLOAD,
					  .program = program };

	return chip_admin(h, &cmd, NULL);
}

uint32_t chip_args(void *args, uint32_t nbases, const uint64_t *va, uint32_t nscalars,
		   const uint32_t *scalar)
{
	struct vtpu_job_args head = { .nbases = nbases, .nscalars = nscalars };
	uint8_t *at = args;

	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	if (nbases)
		memcpy(at, va, nbases * sizeof(*va));
	at += nbases * sizeof(*va);
	if (nscalars)
		memcpy(at, scalar, nscalars * sizeof(*scalar));
	return vtpu_job_args_bytes(nbases, nscalars);
}
