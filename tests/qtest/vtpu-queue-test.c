/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu-queue-test.c - doorbells, rings, interrupts, and where the device's DMA
 * may and may not go.
 */
#include "qemu/osdep.h"
#include "vtpu-qtest.h"

/* ---- Rings ------------------------------------------------------------------ */

static void test_doorbell_absent(void)
{
	struct ring admin, q, ghost = { .id = 77 };
	struct tpu t;

	tpu_start(&t, "", "");
	/* Before anything is enabled, then with other queues there. */
	doorbell(&t, &ghost);
	g_assert_cmpuint(queue_state(&t, 77), ==, VTPU_HWQ_NONE);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
	doorbell(&t, &ghost);
	g_assert_cmpuint(queue_state(&t, 77), ==, VTPU_HWQ_NONE);
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	g_assert_cmphex(reg32(&t, VTPU_REG_EVENTS), ==, 0);
	tpu_quit(&t);
}

static void test_nop(void)
{
	struct ring admin, q;
	struct vtpu_cqe cqe;
	struct tpu t;

	tpu_start(&t, "", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
	g_assert_cmpuint(queue_state(&t, 1), ==, VTPU_HWQ_IDLE);
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, &cqe), ==, VTPU_ST_OK);
	g_assert_cmpuint(cqe.seq, ==, 0);
	g_assert_cmpuint(cqe.cycles, ==, 0);
	g_assert_cmpuint(cqe.where, ==, 0);
	/* A doorbell with nothing new is nothing. */
	doorbell(&t, &q);
	g_usleep(20000);
	g_assert_false(complete_ready(&t, &q));
	g_assert_cmpuint(queue_state(&t, 1), ==, VTPU_HWQ_IDLE);
	tpu_quit(&t);
}

/* A ring of two entries, one job at a time and full; phases must alternate. */
static void test_ring_wrap(void)
{
	struct ring admin, q;
	struct vtpu_cqe cqe;
	struct tpu t;
	int i;

	tpu_start(&t, "", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
	queue_up(&t, &admin, &q, 2, VTPU_QUEUE_COMPUTE, 1);
	for (i = 0; i < 9; i++) {
		submit_nop(&t, &q);
		g_assert_cmphex(complete(&t, &q, &cqe), ==, VTPU_ST_OK);
		g_assert_cmpuint(cqe.seq, ==, i);
	}
	for (i = 0; i < 6; i += 2) {
		submit_nop(&t, &q);
		submit_nop(&t, &q);
		g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
		g_assert_cmphex(complete(&t, &q, &cqe), ==, VTPU_ST_OK);
		g_assert_cmpuint(cqe.seq, ==, 9 + i + 1);
	}
	tpu_quit(&t);
}

static void test_ring_overrun(void)
{
	struct ring admin, q, other;
	struct tpu t;

	tpu_start(&t, "", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	queue_up(&t, &admin, &other, 2, VTPU_QUEUE_COPY, 3);
	qtest_writel(t.qts, q.tail_addr, 1000);
	doorbell(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_RING_OVERRUN);
	wait_for(queue_state(&t, 1) == VTPU_HWQ_HALTED);
	known_answer(&t, &other);
	tpu_quit(&t);
}

/* ---- Interrupts --------------------------------------------------------------- */

/* Let a vector write @value to @addr, which is guest memory here. */
static void msix_target(struct tpu *t, unsigned int vector, uint64_t addr, uint32_t value,
			bool masked)
{
	uint64_t entry = t->pci->msix_table_off + vector * PCI_MSIX_ENTRY_SIZE;

	qpci_io_writel(t->pci, t->pci->msix_table_bar, entry + PCI_MSIX_ENTRY_LOWER_ADDR, addr);
	qpci_io_writel(t->pci, t->pci->msix_table_bar, entry + PCI_MSIX_ENTRY_UPPER_ADDR,
		       addr >> 32);
	qpci_io_writel(t->pci, t->pci->msix_table_bar, entry + PCI_MSIX_ENTRY_DATA, value);
	qpci_io_writel(t->pci, t->pci->msix_table_bar, entry + PCI_MSIX_ENTRY_VECTOR_CTRL,
		       masked ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

static void test_msix(void)
{
	const unsigned int vector = VTPU_QUEUE_VECTOR(1, VTPU_MAX_VECTORS);
	struct ring admin, q;
	uint64_t page;
	struct tpu t;

	tpu_start(&t, "", "");
	qpci_msix_enable(t.pci);
	page = guest_page(&t, 1);
	msix_target(&t, 0, page, 0xa0, false);
	msix_target(&t, vector, page + 4, 0xa1, false);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
	wait_for(qtest_readl(t.qts, page) == 0xa0);
	g_assert_cmphex(qtest_readl(t.qts, page + 4), ==, 0);
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	wait_for(qtest_readl(t.qts, page + 4) == 0xa1);
	tpu_quit(&t);
}

/* A masked vector waits in the pending bits and is delivered on unmasking. */
static void test_msix_masked(void)
{
	const unsigned int vector = VTPU_QUEUE_VECTOR(1, VTPU_MAX_VECTORS);
	struct ring admin, q;
	uint64_t page;
	struct tpu t;

	tpu_start(&t, "", "");
	qpci_msix_enable(t.pci);
	page = guest_page(&t, 1);
	msix_target(&t, vector, page, 0xb1, true);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
	g_assert_false(qpci_msix_pending(t.pci, vector));
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	wait_for(qpci_msix_pending(t.pci, vector));
	g_assert_cmphex(qtest_readl(t.qts, page), ==, 0);
	msix_target(&t, vector, page, 0xb1, false);
	wait_for(qtest_readl(t.qts, page) == 0xb1);
	g_assert_false(qpci_msix_pending(t.pci, vector));
	tpu_quit(&t);
}

/* ---- DMA ---------------------------------------------------------------------- */

enum dma_direction {
	FROM_SYSTEM,
	TO_SYSTEM
};

/* One copy from or to a bus address on a queue of its own; the queue halts if it fails. */
static uint32_t dma_probe(struct tpu *t, struct ring *admin, unsigned int id, uint64_t bus,
			  enum dma_direction dir)
{
	const uint64_t host_va = VTPU_VA_HOST_START + id * 0x10000ULL,
		       hbm_va = VTPU_VA_HBM_START + id * 0x10000ULL;
	struct ring q;

	queue_up(t, admin, &q, id, VTPU_QUEUE_COPY, 3);
	map_page(t, host_va, bus, VTPU_PTE_SYSTEM | VTPU_PTE_WRITE);
	map_page(t, hbm_va, hbm_page(t), VTPU_PTE_WRITE);
	if (dir == TO_SYSTEM)
		submit_copy(t, &q, hbm_va, host_va, 64);
	else
		submit_copy(t, &q, host_va, hbm_va, 64);
	return complete(t, &q, NULL);
}

static void must_fail(struct tpu *t, struct ring *admin, unsigned int *id, uint64_t bus)
{
	g_assert_cmphex(dma_probe(t, admin, ++*id, bus, FROM_SYSTEM), ==, VTPU_ST_DMA_ERROR);
	g_assert_cmpuint(queue_state(t, *id), ==, VTPU_HWQ_HALTED);
	g_assert_cmphex(dma_probe(t, admin, ++*id, bus, TO_SYSTEM), ==, VTPU_ST_DMA_ERROR);
	g_assert_cmpuint(queue_state(t, *id), ==, VTPU_HWQ_HALTED);
}

static void test_dma_refused(void)
{
	struct ring admin, q;
	unsigned int id = 1;
	QPCIDevice *edu;
	QPCIBar edu_bar;
	struct tpu t;

	tpu_start(&t, "", "-device edu,addr=5");
	edu = qpci_device_find(t.bus, QPCI_DEVFN(5, 0));
	qpci_device_enable(edu);
	edu_bar = qpci_iomap(edu, 0, NULL);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);

	must_fail(&t, &admin, &id, 0x4000000000ULL);	/* nothing there */
	must_fail(&t, &admin, &id, VTPU_PTE_ADDR_MASK); /* the last page that an entry can name */
	must_fail(&t, &admin, &id, t.regs.addr);	/* our own registers */
	must_fail(&t, &admin, &id, t.regs.addr + VTPU_DOORBELL_BASE);
	must_fail(&t, &admin, &id, edu_bar.addr);  /* a peer's registers */
	must_fail(&t, &admin, &id, 0xfee00000ULL); /* the interrupt controller */
	/* Firmware may be read, not written. */
	g_assert_cmphex(dma_probe(&t, &admin, ++id, 0xffff0000ULL, FROM_SYSTEM), ==, VTPU_ST_OK);
	g_assert_cmphex(dma_probe(&t, &admin, ++id, 0xffff0000ULL, TO_SYSTEM), ==,
			VTPU_ST_DMA_ERROR);

	g_assert_cmphex(reg32(&t, VTPU_REG_STATUS), ==, VTPU_STATUS_READY | VTPU_STATUS_ENABLED);
	g_assert_cmphex(qpci_io_readl(edu, edu_bar, 0), ==, 0x010000ed);
	known_answer(&t, &q);
	g_free(edu);
	tpu_quit(&t);
}

/* A range that starts in RAM and ends outside it fails as a whole job. */
static void test_dma_edge(void)
{
	const uint64_t host_va = VTPU_VA_HOST_START, hbm_va = VTPU_VA_HBM_START, ram = 128 << 20;
	struct ring admin, q, good;
	struct tpu t;

	tpu_start(&t, "", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	queue_up(&t, &admin, &good, 2, VTPU_QUEUE_COPY, 3);
	map_page(&t, host_va, ram - 4096, VTPU_PTE_SYSTEM);
	map_page(&t, host_va + 4096, ram, VTPU_PTE_SYSTEM);
	map_page(&t, hbm_va, hbm_page(&t), VTPU_PTE_WRITE);
	map_page(&t, hbm_va + 4096, hbm_page(&t), VTPU_PTE_WRITE);
	submit_copy(&t, &q, host_va, hbm_va, 4096);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	submit_copy(&t, &q, host_va, hbm_va, 8192);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_DMA_ERROR);
	submit_copy(&t, &q, host_va, hbm_va, 4096);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_QUEUE_HALTED);
	known_answer(&t, &good);
	tpu_quit(&t);
}

/* A peer's RAM is RAM: HBM of another device can be copied to. */
static void test_dma_peer_ram(void)
{
	const uint64_t magic = 0x5555aaaa12345678;
	struct ring admin, q;
	struct tpu a, b;
	uint64_t page;

	tpu_start(&a, "", HBM_OBJECT("hbm1") "-device vtpu,id=tpu1,hbm=hbm1,addr=5");
	tpu_attach(&b, a.qts, a.bus, QPCI_DEVFN(5, 0));
	tpu_up(&a, &admin, &q, VTPU_QUEUE_COPY);
	page = hbm_page(&a);
	qtest_writeq(a.qts, a.hbm.addr + page, magic);
	map_page(&a, VTPU_VA_HBM_START, page, 0);
	map_page(&a, VTPU_VA_HOST_START, b.hbm.addr + 0x200000, VTPU_PTE_SYSTEM | VTPU_PTE_WRITE);
	submit_copy(&a, &q, VTPU_VA_HBM_START, VTPU_VA_HOST_START, 4096);
	g_assert_cmphex(complete(&a, &q, NULL), ==, VTPU_ST_OK);
	g_assert_cmphex(qtest_readq(b.qts, b.hbm.addr + 0x200000), ==, magic);
	tpu_detach(&b);
	tpu_quit(&a);
}

/* Without bus mastering nothing reaches memory; with it back, a reset is all it takes. */
static void test_bus_master_off(void)
{
	struct ring admin, q;
	uint16_t command;
	struct tpu t;

	tpu_start(&t, "", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	known_answer(&t, &q);
	command = qpci_config_readw(t.pci, PCI_COMMAND);
	qpci_config_writew(t.pci, PCI_COMMAND, command & ~PCI_COMMAND_MASTER);
	submit_nop(&t, &q);
	wait_for(queue_state(&t, 1) == VTPU_HWQ_HALTED);
	g_assert_false(complete_ready(&t, &q));
	g_assert_cmphex(reg32(&t, VTPU_REG_EVENTS) & VTPU_EVENT_QUEUE_HALTED, !=, 0);
	qpci_config_writew(t.pci, PCI_COMMAND, command);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	wait_for(reg32(&t, VTPU_REG_STATUS) == VTPU_STATUS_READY);
	fresh_start(&t);
	tpu_quit(&t);
}

/* Admin rings at addresses without memory: a fatal error that says so, and a way back. */
static void test_admin_nowhere(void)
{
	struct ring admin;
	struct tpu t;

	tpu_start(&t, "", "");
	admin_up(&t, &admin);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	wait_for(reg32(&t, VTPU_REG_STATUS) == VTPU_STATUS_READY);
	qpci_io_writeq(t.pci, t.regs, VTPU_REG_ADMIN_SQ, 0x4000000000);
	qpci_io_writeq(t.pci, t.regs, VTPU_REG_ADMIN_CQ, 0x4000001000);
	qpci_io_writeq(t.pci, t.regs, VTPU_REG_ADMIN_TAIL, 0x4000002000);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_ADMIN_DEPTH, 3);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	wait_for(reg32(&t, VTPU_REG_STATUS) & VTPU_STATUS_ENABLED);
	doorbell(&t, &(struct ring){ .id = 0 });
	wait_for(reg32(&t, VTPU_REG_STATUS) & VTPU_STATUS_FATAL);
	g_assert_cmphex(reg32(&t, VTPU_REG_FATAL), ==, VTPU_ST_DMA_ERROR);
	g_assert_cmphex(reg32(&t, VTPU_REG_EVENTS) & VTPU_EVENT_FATAL, !=, 0);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	wait_for(reg32(&t, VTPU_REG_STATUS) == VTPU_STATUS_READY);
	fresh_start(&t);
	tpu_quit(&t);
}

int main(int argc, char **argv)
{
	tpu_test_init(argc, argv);
	qtest_add_func("/vtpu/queue/doorbell-absent", test_doorbell_absent);
	qtest_add_func("/vtpu/queue/nop", test_nop);
	qtest_add_func("/vtpu/queue/ring-wrap", test_ring_wrap);
	qtest_add_func("/vtpu/queue/ring-overrun", test_ring_overrun);
	qtest_add_func("/vtpu/queue/msix", test_msix);
	qtest_add_func("/vtpu/queue/msix-masked", test_msix_masked);
	qtest_add_func("/vtpu/queue/dma-refused", test_dma_refused);
	qtest_add_func("/vtpu/queue/dma-edge", test_dma_edge);
	qtest_add_func("/vtpu/queue/dma-peer-ram", test_dma_peer_ram);
	qtest_add_func("/vtpu/queue/bus-master-off", test_bus_master_off);
	qtest_add_func("/vtpu/queue/admin-nowhere", test_admin_nowhere);
	return g_test_run();
}
