/* SPDX-License-Identifier: MIT */
/*
 * chip_host.h - a bare chip in a test: its host, and a small driver for it.
 *
 * The host half gives the chip system memory (a byte array), a clock and
 * counted vectors. The calling thread is the control context: nothing happens
 * outside chip_host_pump() and the calls that use it. The driver half writes
 * rings, page tables and doorbells as a kernel driver would.
 *
 * Helpers that cannot fail in a working test end the program when they do.
 */
#ifndef TESTS_UNIT_CHIP_HOST_H
#define TESTS_UNIT_CHIP_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vtpu_hw.h"
#include "vtpu_model.h"

#define CHIP_BUS_BASE 0x100000000ULL /* bus address of system memory's first byte */

/** enum chip_dma - how the host does the chip's DMA */
enum chip_dma {
	CHIP_DMA_INLINE, /* inside the call */
	CHIP_DMA_QUEUED, /* later, in control context, as behind a vIOMMU */
};

/** struct chip_ring - the driver's side of a queue */
struct chip_ring {
	unsigned int id;
	uint32_t depth_log2;
	uint64_t sq, cq, tail, args; /* bus addresses */
	uint32_t next;		     /* sequence number of the next entry */
	uint32_t seen;		     /* completions taken */
	uint32_t context;
};

/** struct chip_host - a host with one chip */
struct chip_host {
	struct vtpu_chip *chip;
	struct vtpu_pool *pool;
	bool own_pool;
	uint8_t *system;
	uint64_t system_bytes, system_next;
	uint8_t *hbm;
	uint64_t hbm_bytes, table_next, hbm_next;
	enum chip_dma dma;
	bool can_discard;

	pthread_mutex_t lock;
	pthread_cond_t work;
	/* lock */
	bool deferred;
	bool failing; /* all DMA fails: between reset begin and finish */
	struct vtpu_dma *queued, **queued_last;
	uint64_t deadline;

	uint64_t skew_ns; /* added to the clock */
	atomic_uint vectors[VTPU_MAX_VECTORS];
	atomic_uint dma_calls, discards, logs;
	atomic_uint traced[64]; /* by enum vtpu_trace */
	_Atomic uint64_t dirty_bytes;
	/* Compute jobs in the order in which they started: queue, first core */
	uint32_t started, started_queue[64], started_core[64];
	/* Refuse DMA that touches this byte of the bus; 0: none */
	_Atomic uint64_t poison;
	uint64_t root[VTPU_MAX_CONTEXTS + 1];
	struct chip_ring admin;
};

/** struct chip_options - what chip_host_open() may be told; all zero is fine */
struct chip_options {
	struct vtpu_chip_config config; /* hbm, pool filled in; hbm_bytes 0: 64 MiB */
	uint64_t system_bytes;		/* 0: 32 MiB */
	unsigned int threads;		/* of a pool of its own; 0: 2 */
	enum chip_dma dma;
	bool no_discard;
	bool no_enable;
};

void chip_host_open(struct chip_host *h, const struct chip_options *options);
void chip_host_close(struct chip_host *h);

/** chip_host_enable() - set the admin queue up and wait for ENABLED */
void chip_host_enable(struct chip_host *h);

/** chip_host_reset() - FLR or cold reset as a host does it: begin, fail DMA, finish */
void chip_host_reset(struct chip_host *h, enum vtpu_reset kind);

/** chip_host_pump() - be the control context until @until is true or @ms passed; NULL: until then. Return: @until */
bool chip_host_pump(struct chip_host *h, bool (*until)(void *arg), void *arg, unsigned int ms);

/** chip_host_once() - one control pass, without waiting */
void chip_host_once(struct chip_host *h);

/* Registers */
uint32_t chip_read32(struct chip_host *h, uint64_t offset);
uint64_t chip_read64(struct chip_host *h, uint64_t offset);
void chip_write32(struct chip_host *h, uint64_t offset, uint32_t value);
void chip_write64(struct chip_host *h, uint64_t offset, uint64_t value);
uint32_t chip_queue_state(struct chip_host *h, unsigned int queue);
#define CHIP_DB(queue, reg) (VTPU_DOORBELL_BASE + (queue)*VTPU_DOORBELL_STRIDE + (reg))

/** chip_system_alloc() - zeroed system memory, page aligned. Return: bus address */
uint64_t chip_system_alloc(struct chip_host *h, uint64_t bytes);
/** chip_system() - host pointer of a bus address */
void *chip_system(struct chip_host *h, uint64_t addr);
/** chip_hbm_alloc() - HBM behind the reserved part; @align: power of two. Return: HBM address */
uint64_t chip_hbm_alloc(struct chip_host *h, uint64_t bytes, uint64_t align);

/** chip_admin() - run one admin command (sequence number filled in). Return: status. @cqe may be NULL */
uint32_t chip_admin(struct chip_host *h, void *command, struct vtpu_cqe *cqe);
/** chip_admin_post() - only submit it. Return: its sequence number */
uint32_t chip_admin_post(struct chip_host *h, void *command);

/** chip_context_create() - an address space with an empty page table */
uint32_t chip_context_create(struct chip_host *h, uint32_t context);
/** chip_map() - map a range; @flags: VTPU_PTE_WRITE, VTPU_PTE_SYSTEM */
void chip_map(struct chip_host *h, uint32_t context, uint64_t va, uint64_t pa, uint64_t bytes,
	      uint64_t flags);
/** chip_unmap() - clear the range's entries, without INVALIDATE */
void chip_unmap(struct chip_host *h, uint32_t context, uint64_t va, uint64_t bytes);
/** chip_pte() - the entry of @level that covers @va, to be tampered with */
uint64_t *chip_pte(struct chip_host *h, uint32_t context, uint64_t va, unsigned int level);

/** chip_queue_command() - rings in memory, and the command that creates the queue */
struct vtpu_admin_queue chip_queue_command(struct chip_host *h, struct chip_ring *ring,
					   unsigned int id, uint32_t context, uint32_t kind,
					   uint32_t depth_log2);
/** chip_queue_create() - the same, done */
void chip_queue_create(struct chip_host *h, struct chip_ring *ring, unsigned int id,
		       uint32_t context, uint32_t kind, uint32_t depth_log2);
uint32_t chip_queue_destroy(struct chip_host *h, unsigned int id);

/** chip_put() - write entry and arguments, not the tail word. Return: sequence number */
uint32_t chip_put(struct chip_host *h, struct chip_ring *ring, uint32_t program, uint32_t flags,
		  const void *args, uint32_t args_bytes);
/** chip_sqe() - the ring slot of entry @seq */
struct vtpu_sqe *chip_sqe(struct chip_host *h, const struct chip_ring *ring, uint32_t seq);
/** chip_ring_doorbell() - write the tail word and the doorbell */
void chip_ring_doorbell(struct chip_host *h, struct chip_ring *ring);
/** chip_submit() - put and doorbell */
uint32_t chip_submit(struct chip_host *h, struct chip_ring *ring, uint32_t program, uint32_t flags,
		     const void *args, uint32_t args_bytes);
/** chip_poll() - take the next completion if it is there */
bool chip_poll(struct chip_host *h, struct chip_ring *ring, struct vtpu_cqe *cqe);
/** chip_wait() - pump until the next completion, 10 s at most; status 0xffff after that */
struct vtpu_cqe chip_wait(struct chip_host *h, struct chip_ring *ring);
/** chip_run() - submit and wait. Return: status */
uint32_t chip_run(struct chip_host *h, struct chip_ring *ring, uint32_t program, const void *args,
		  uint32_t args_bytes);
/** chip_nop() - a NOP job, waited for. Return: status */
uint32_t chip_nop(struct chip_host *h, struct chip_ring *ring);

/** chip_load() - put an image into HBM and load it; takes the image (frees it). Return: status */
uint32_t chip_load(struct chip_host *h, uint32_t context, uint32_t program, void *image,
		   uint64_t bytes, struct vtpu_load_result *result);
/** chip_unload() */
uint32_t chip_unload(struct chip_host *h, uint32_t program);

/** chip_args() - build an argument block. Return: its bytes */
uint32_t chip_args(void *args, uint32_t nbases, const uint64_t *va, uint32_t nscalars,
		   const uint32_t *scalar);

#endif /* TESTS_UNIT_CHIP_HOST_H */
