/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu-iommu-test.c - the device behind an IOMMU that the guest programs:
 * translated addresses, faults that raise interrupts, and resets while
 * requests wait for QEMU's main loop.
 */
#include "qemu/osdep.h"
#include "vtpu-qtest.h"

#define IOMMU	     0xfed90000ULL
#define GCMD	     0x18
#define GSTS	     0x1c
#define RTADDR	     0x20
#define FSTS	     0x34
#define FECTL	     0x38
#define FEDATA	     0x3c
#define FEADDR	     0x40
#define GCMD_TE	     (1u << 31)
#define GCMD_SRTP    (1u << 30)
#define FSTS_PPF     (1u << 1)
#define ROOT_PRESENT 1
#define CTX_PRESENT  1
#define CTX_AW_39BIT 1
#define SL_READ	     1
#define SL_WRITE     2

/* Bus addresses of the tests lie here and lead to guest memory elsewhere. */
#define IOVA 0x40000000ULL

static void start(struct tpu *t)
{
	QTestState *qts = qtest_init(
		"-M q35,kernel-irqchip=off -m 256M -nodefaults -device intel-iommu " HBM_OBJECT(
			"hbm0") "-device vtpu,id=tpu0,hbm=hbm0,addr=4");

	tpu_attach(t, qts, qpci_new_pc(qts, NULL), QPCI_DEVFN(4, 0));
}

/* Second-level tables of three levels for one device. */
struct tables {
	uint64_t root, context, top;
};

static void iommu_map(struct tpu *t, struct tables *tables, uint64_t iova, uint64_t pa,
		      uint64_t flags)
{
	uint64_t table = tables->top;
	int level;

	for (level = 2; level >= 0; level--) {
		uint64_t slot = table + 8 * (iova >> (12 + 9 * level) & 511);
		uint64_t pte = qtest_readq(t->qts, slot);

		if (!level) {
			qtest_writeq(t->qts, slot, pa | flags);
		} else if (!pte) {
			pte = guest_page(t, 1) | SL_READ | SL_WRITE;
			qtest_writeq(t->qts, slot, pte);
		}
		table = pte & ~4095ULL;
	}
}

static void iommu_on(struct tpu *t, struct tables *tables)
{
	tables->root = guest_page(t, 1);
	tables->context = guest_page(t, 1);
	tables->top = guest_page(t, 1);
	qtest_writeq(t->qts, tables->root, tables->context | ROOT_PRESENT);
	qtest_writeq(t->qts, tables->context + t->pci->devfn * 16, tables->top | CTX_PRESENT);
	qtest_writeq(t->qts, tables->context + t->pci->devfn * 16 + 8, 1 << 8 | CTX_AW_39BIT);
	qtest_writeq(t->qts, IOMMU + RTADDR, tables->root);
	qtest_writel(t->qts, IOMMU + GCMD, GCMD_SRTP);
	wait_for(qtest_readl(t->qts, IOMMU + GSTS) & GCMD_SRTP);
	qtest_writel(t->qts, IOMMU + GCMD, GCMD_TE);
	wait_for(qtest_readl(t->qts, IOMMU + GSTS) & GCMD_TE);
}

/* Guest memory from GUEST_HEAP on appears at the same addresses, for vtpu-qtest.c's driver. */
static void map_heap(struct tpu *t, struct tables *tables)
{
	uint64_t at;

	for (at = GUEST_HEAP; at < GUEST_HEAP + 0x200000; at += 4096)
		iommu_map(t, tables, at, at, SL_READ | SL_WRITE);
}

/* In front of the device, but switched off: bus addresses are guest addresses. */
static void test_off(void)
{
	struct tpu t;

	start(&t);
	fresh_start(&t);
	tpu_quit(&t);
}

static void test_on(void)
{
	const uint32_t bytes = 2 << 20;
	g_autofree uint8_t *want = g_malloc(bytes), *got = g_malloc(bytes);
	struct tables tables;
	struct ring admin, q;
	struct tpu t;
	uint32_t at;

	start(&t);
	iommu_on(&t, &tables);
	map_heap(&t, &tables);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	known_answer(&t, &q);
	/* Larger than one step of the main loop, and scattered. */
	for (at = 0; at < bytes; at += 4096) {
		iommu_map(&t, &tables, IOVA + at, 0x8000000 + (at ^ 0x3000), SL_READ);
		map_page(&t, VTPU_VA_HOST_START + 0x100000 + at, IOVA + at, VTPU_PTE_SYSTEM);
		map_page(&t, VTPU_VA_HBM_START + 0x100000 + at, 0x1000000 + at, VTPU_PTE_WRITE);
	}
	for (at = 0; at < bytes; at++)
		want[at] = at * 13 + (at >> 12);
	for (at = 0; at < bytes; at += 4096)
		qtest_memwrite(t.qts, 0x8000000 + (at ^ 0x3000), want + at, 4096);
	submit_copy(&t, &q, VTPU_VA_HOST_START + 0x100000, VTPU_VA_HBM_START + 0x100000, bytes);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	qtest_memread(t.qts, t.hbm.addr + 0x1000000, got, bytes);
	g_assert_cmpmem(got, bytes, want, bytes);
	g_assert_cmphex(qtest_readl(t.qts, IOMMU + FSTS) & FSTS_PPF, ==, 0);
	tpu_quit(&t);
}

/*
 * An address that the IOMMU does not know, and one that it lets be read only:
 * faults that raise an interrupt in the machine, from a request of the copy thread.
 */
static void test_fault(void)
{
	struct tables tables;
	struct ring admin, q, bad;
	struct tpu t;
	int i;

	start(&t);
	iommu_on(&t, &tables);
	map_heap(&t, &tables);
	/* Fault events go to the first CPU as interrupt 0x55. */
	qtest_writel(t.qts, IOMMU + FEDATA, 0x55);
	qtest_writel(t.qts, IOMMU + FEADDR, 0xfee00000);
	qtest_writel(t.qts, IOMMU + FECTL, 0);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	known_answer(&t, &q);
	iommu_map(&t, &tables, IOVA + 0x1000, 0x8000000, SL_READ);
	map_page(&t, VTPU_VA_HOST_START + 0x10000, IOVA, VTPU_PTE_SYSTEM | VTPU_PTE_WRITE);
	map_page(&t, VTPU_VA_HOST_START + 0x11000, IOVA + 0x1000, VTPU_PTE_SYSTEM | VTPU_PTE_WRITE);
	for (i = 0; i < 3; i++) {
		queue_up(&t, &admin, &bad, 2 + i, VTPU_QUEUE_COPY, 3);
		if (i < 2)
			submit_copy(&t, &bad, VTPU_VA_HOST_START + 0x10000, VTPU_VA_HBM_START,
				    4096);
		else
			submit_copy(&t, &bad, VTPU_VA_HBM_START, VTPU_VA_HOST_START + 0x11000,
				    4096);
		g_assert_cmphex(complete(&t, &bad, NULL), ==, VTPU_ST_DMA_ERROR);
	}
	g_assert_cmphex(qtest_readl(t.qts, IOMMU + FSTS) & FSTS_PPF, !=, 0);
	known_answer(&t, &q);
	tpu_quit(&t);
}

/* Requests wait for the main loop, which is held by the reset that waits for them. */
static void test_reset_in_flight(void)
{
	const uint32_t bytes = 32 << 20;
	struct ring admin, q;
	int64_t begin;
	struct tpu t;
	uint32_t at;
	int i;

	start(&t);
	for (i = 0; i < 3; i++) {
		tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
		for (at = 0; at < bytes; at += VTPU_LARGE_BYTES) {
			map_large(&t, VTPU_VA_HOST_START + at, 0x8000000 + at, VTPU_PTE_SYSTEM);
			map_large(&t, VTPU_VA_HBM_START + at, 0x1000000 + at, VTPU_PTE_WRITE);
		}
		for (at = 0; at < 4; at++)
			submit_copy(&t, &q, VTPU_VA_HOST_START, VTPU_VA_HBM_START, bytes);
		begin = g_get_monotonic_time();
		if (i == 2) {
			qpci_io_writel(t.pci, t.regs, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
			wait_for(reg32(&t, VTPU_REG_STATUS) == VTPU_STATUS_READY);
		} else {
			flr(&t);
		}
		g_assert_cmpint(g_get_monotonic_time() - begin, <, 2 * G_TIME_SPAN_SECOND);
		g_assert_cmphex(reg32(&t, VTPU_REG_STATUS), ==, VTPU_STATUS_READY);
		/* It came in time: the last copy was not done, and will not be. */
		q.head = 3;
		g_assert_false(complete_ready(&t, &q));
		t.hbm_next = HBM_HEAP;
		t.guest_next = GUEST_HEAP;
		fresh_start(&t);
		flr(&t);
	}
	tpu_quit(&t);
}

int main(int argc, char **argv)
{
	tpu_test_init(argc, argv);
	qtest_add_func("/vtpu/iommu/off", test_off);
	qtest_add_func("/vtpu/iommu/on", test_on);
	qtest_add_func("/vtpu/iommu/fault", test_fault);
	qtest_add_func("/vtpu/iommu/reset-in-flight", test_reset_in_flight);
	return g_test_run();
}
