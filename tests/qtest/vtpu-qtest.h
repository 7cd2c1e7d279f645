/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu-qtest.h - what the device's qtest programs share: a machine with a
 * device in it, and a small driver that knows rings and page tables.
 */
#ifndef VTPU_QTEST_H
#define VTPU_QTEST_H

#include "libqtest.h"
#include "libqos/pci.h"
#include "libqos/pci-pc.h"
#include "hw/pci/pci_regs.h"
#include "vtpu_hw.h"

#define TEST_HBM_BYTES (64ULL << 20)

/* Where a test keeps its things in guest memory and in HBM: a page a call, never freed. */
#define GUEST_HEAP 0x1000000ULL
#define HBM_HEAP   0x100000ULL

/**
 * tpu_test_init() - first thing in main()
 *
 * Started by itself, a program prints TAP and finds QEMU beside it; with options
 * of its own it does what they say.
 */
void tpu_test_init(int argc, char **argv);

/** struct tpu - a device under test and what drives it */
struct tpu {
	QTestState *qts;
	QPCIBus *bus;
	QPCIDevice *pci;
	QPCIBar regs, hbm;
	uint64_t guest_next, hbm_next;
	/** @root: page table of the context that tpu_up() creates */
	uint64_t root;
	/** @port: devfn of the root port that it sits behind, or -1 */
	int port;
};

/** struct ring - a queue pair in guest memory */
struct ring {
	unsigned int id;
	unsigned int depth_log2;
	uint64_t sq, cq, tail_addr, args;
	uint32_t tail, head;
};

#define HBM_OBJECT(id) "-object memory-backend-ram,id=" id ",size=64M,reserve=off "

/** tpu_start() - q35 with one device on the root bus; @props: more properties, comma first */
void tpu_start(struct tpu *t, const char *props, const char *machine_args);
/** tpu_attach() - the device at @devfn of a machine that runs: map BARs, enable */
void tpu_attach(struct tpu *t, QTestState *qts, QPCIBus *bus, int devfn);
void tpu_detach(struct tpu *t);
void tpu_quit(struct tpu *t);

/** port_setup() - give the root port at @devfn bus number @bus_nr and memory windows */
void port_setup(QPCIBus *bus, int devfn, uint8_t bus_nr);

uint64_t guest_page(struct tpu *t, unsigned int pages);
uint64_t hbm_page(struct tpu *t);
uint32_t reg32(struct tpu *t, uint64_t offset);
uint64_t reg64(struct tpu *t, uint64_t offset);
uint32_t queue_state(struct tpu *t, unsigned int queue);

/** wait_for() - poll an expression for up to ten seconds, then fail the test with its text */
#define wait_for(expr) \
	do { \
		int64_t end_ = g_get_monotonic_time() + 10 * G_TIME_SPAN_SECOND; \
		while (!(expr)) { \
			if (g_get_monotonic_time() > end_) \
				g_error("%s:%d: in 10 s not: %s", __func__, __LINE__, #expr); \
			g_usleep(500); \
		} \
	} while (0)

/** map_page() - a 4 KiB leaf in the context's page table */
void map_page(struct tpu *t, uint64_t va, uint64_t pa, uint64_t flags);

/** map_large() - one of 2 MiB */
void map_large(struct tpu *t, uint64_t va, uint64_t pa, uint64_t flags);

/** admin_up() - set up and enable the admin queue */
void admin_up(struct tpu *t, struct ring *admin);
/** admin_cmd() - run one command. Return: its status */
uint32_t admin_cmd(struct tpu *t, struct ring *admin, void *cmd);
/** queue_up() - create I/O queue @id of @kind in context 1 */
void queue_up(struct tpu *t, struct ring *admin, struct ring *q, unsigned int id, unsigned int kind,
	      unsigned int depth_log2);
/** tpu_up() - all of it: admin queue, context 1, I/O queue 1 of @kind */
void tpu_up(struct tpu *t, struct ring *admin, struct ring *q, unsigned int kind);

void ring_new(struct tpu *t, struct ring *r, unsigned int id, unsigned int depth_log2);
/** push() - write an entry and the tail word; no doorbell */
void push(struct tpu *t, struct ring *r, const void *entry);
void doorbell(struct tpu *t, struct ring *r);
/** submit_nop(), submit_copy() - one job and the doorbell. Return: its sequence number */
uint32_t submit_nop(struct tpu *t, struct ring *q);
uint32_t submit_copy(struct tpu *t, struct ring *q, uint64_t src_va, uint64_t dst_va,
		     uint32_t bytes);
/** complete_ready() - is the next completion there? */
bool complete_ready(struct tpu *t, struct ring *r);
/** complete() - wait for the next completion. Return: its status; @cqe may be NULL */
uint32_t complete(struct tpu *t, struct ring *r, struct vtpu_cqe *cqe);

/** known_answer() - a copy from guest memory to HBM and back that must come out right */
void known_answer(struct tpu *t, struct ring *q);
/** fresh_start() - after a reset: drive the device from nothing to a right answer */
void fresh_start(struct tpu *t);

/* QMP */
uint64_t qmp_stat(QTestState *qts, const char *path, const char *counter);
void qmp_inject(QTestState *qts, const char *path, const char *fault);
/** qmp_error() - run a command that must be refused. Return: the sentence */
char *qmp_error(QTestState *qts, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/** flr() - function level reset through configuration space; BARs are restored */
void flr(struct tpu *t);

#endif /* VTPU_QTEST_H */
