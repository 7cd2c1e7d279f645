/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu-reset-test.c - every way to end what the device is doing: watchdog,
 * resets of three kinds, unplugging, quitting; with jobs that hang and copies
 * in full flight. All are bounded, and all leave a device that works.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "vtpu-qtest.h"

#define MAGIC	 0x1122334455667788ULL
#define MAGIC_AT (TEST_HBM_BYTES - 4096)
/* Longest that a person should wait; jobs end within milliseconds. */
#define BOUND_US    (2 * G_TIME_SPAN_SECOND)
#define LARGE_BYTES (32u << 20)

#define within_bound(start) g_assert_cmpint(g_get_monotonic_time() - (start), <, BOUND_US)

/* A device whose queue 1 has a job that will never end by itself, and a mark in HBM. */
static void start_hung(struct tpu *t, struct ring *admin, struct ring *q)
{
	tpu_up(t, admin, q, VTPU_QUEUE_COPY);
	known_answer(t, q);
	qmp_inject(t->qts, "tpu0", "hang");
	submit_copy(t, q, VTPU_VA_HBM_START, VTPU_VA_HOST_START + 4096, 64);
	wait_for(queue_state(t, 1) == VTPU_HWQ_RUNNING);
	g_assert_false(complete_ready(t, q));
	g_assert_cmpuint(qmp_stat(t->qts, "tpu0", "jobs-running"), ==, 1);
	qtest_writeq(t->qts, t->hbm.addr + MAGIC_AT, MAGIC);
}

/* Copies on their way: 32 MiB of guest memory to HBM, four times. */
static void start_large(struct tpu *t, struct ring *admin, struct ring *q)
{
	const uint64_t guest = 0x2000000, hbm = 0x1000000;
	uint32_t at;

	tpu_up(t, admin, q, VTPU_QUEUE_COPY);
	for (at = 0; at < LARGE_BYTES; at += VTPU_LARGE_BYTES) {
		map_large(t, VTPU_VA_HOST_START + at, guest + at, VTPU_PTE_SYSTEM);
		map_large(t, VTPU_VA_HBM_START + at, hbm + at, VTPU_PTE_WRITE);
	}
	for (at = 0; at < 4; at++)
		submit_copy(t, q, VTPU_VA_HOST_START, VTPU_VA_HBM_START, LARGE_BYTES);
}

static void test_watchdog(void)
{
	struct ring admin, q, other;
	struct tpu t;

	tpu_start(&t, ",watchdog-ms=300", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	queue_up(&t, &admin, &other, 2, VTPU_QUEUE_COPY, 3);
	known_answer(&t, &q);
	qmp_inject(t.qts, "tpu0", "hang:queue=1:job=2");
	submit_nop(&t, &q);
	submit_copy(&t, &q, VTPU_VA_HBM_START, VTPU_VA_HOST_START + 4096, 64);
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	known_answer(&t, &other);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_TIMEOUT);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_QUEUE_HALTED);
	known_answer(&t, &other);
	g_assert_cmpuint(qmp_stat(t.qts, "tpu0", "jobs-failed"), ==, 2);
	tpu_quit(&t);
}

/* The watchdog's clock stands still with the VM. */
static void test_watchdog_stopped(void)
{
	struct ring admin, q;
	struct tpu t;

	tpu_start(&t, ",watchdog-ms=300", "");
	start_hung(&t, &admin, &q);
	qtest_qmp_assert_success(t.qts, "{ 'execute': 'stop' }");
	if (complete_ready(&t, &q))
		g_error("timed out before the VM could be stopped: this host is too slow for the test");
	g_usleep(1000000);
	g_assert_false(complete_ready(&t, &q));
	qtest_qmp_assert_success(t.qts, "{ 'execute': 'cont' }");
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_TIMEOUT);
	tpu_quit(&t);
}

static void test_abort(void)
{
	struct ring admin, q;
	struct vtpu_cqe cqe;
	struct tpu t;
	char *text;

	tpu_start(&t, "", "");
	start_hung(&t, &admin, &q);
	/* Who hangs can be read from outside. */
	text = qtest_hmp(t.qts, "qom-get tpu0 queues");
	g_assert_nonnull(strstr(text, "\"state\": \"running\""));
	g_assert_nonnull(strstr(text, "\"running\": 2"));
	g_free(text);
	qpci_io_writeq(t.pci, t.regs, VTPU_REG_ABORT_JOB, 1ULL << 32 | 2);
	g_assert_cmphex(complete(&t, &q, &cqe), ==, VTPU_ST_ABORTED);
	g_assert_cmpuint(cqe.seq, ==, 2);
	tpu_quit(&t);
}

/* ---- Injection ----------------------------------------------------------------- */

static void test_inject(void)
{
	struct ring admin, q;
	struct tpu t;
	char *says;

	tpu_start(&t, ",inject=dma-error:job=3", "");
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COPY);
	known_answer(&t, &q);
	submit_copy(&t, &q, VTPU_VA_HOST_START, VTPU_VA_HBM_START, 64);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_DMA_ERROR);
	queue_up(&t, &admin, &q, 2, VTPU_QUEUE_COPY, 3);
	/* Armed and disarmed; refused ones leave nothing armed. */
	qmp_inject(t.qts, "tpu0", "hang");
	qmp_inject(t.qts, "tpu0", "none");
	says = qmp_error(t.qts,
			 "{ 'execute': 'qom-set', 'arguments': { 'path': 'tpu0', 'property': 'inject', "
			 "'value': 'hang:job=0' } }");
	g_assert_nonnull(
		strstr(says, "property inject=hang:job=0: job 0: jobs are counted from 1"));
	g_free(says);
	known_answer(&t, &q);
	tpu_quit(&t);
}

/* The completion is there, its vector never comes; the next one's does. */
static void test_lost_interrupt(void)
{
	const unsigned int vector = VTPU_QUEUE_VECTOR(1, VTPU_MAX_VECTORS);
	struct ring admin, q;
	struct tpu t;

	tpu_start(&t, "", "");
	qpci_msix_enable(t.pci);
	tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
	qmp_inject(t.qts, "tpu0", "lost-irq:queue=1:job=1");
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	g_usleep(50000);
	g_assert_false(qpci_msix_pending(t.pci, vector));
	submit_nop(&t, &q);
	g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
	wait_for(qpci_msix_pending(t.pci, vector));
	tpu_quit(&t);
}

/* ---- Resets ---------------------------------------------------------------------- */

static void check_as_new(struct tpu *t)
{
	g_assert_cmphex(reg32(t, VTPU_REG_STATUS), ==, VTPU_STATUS_READY);
	g_assert_cmphex(reg64(t, VTPU_REG_ADMIN_SQ), ==, 0);
	g_assert_cmpuint(queue_state(t, 1), ==, VTPU_HWQ_NONE);
	g_assert_cmpuint(qmp_stat(t->qts, "tpu0", "jobs-running"), ==, 0);
}

static void test_flr(void)
{
	struct ring admin, q;
	int64_t start;
	struct tpu t;

	tpu_start(&t, "", "");
	start_hung(&t, &admin, &q);
	start = g_get_monotonic_time();
	flr(&t);
	within_bound(start);
	check_as_new(&t);
	g_usleep(20000);
	g_assert_false(complete_ready(&t, &q));
	g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr + MAGIC_AT), ==, MAGIC);
	fresh_start(&t);
	start_large(&t, &admin, &q);
	flr(&t);
	check_as_new(&t);
	/* It came in time: the last copy was not done, and will not be. */
	q.head = 3;
	g_assert_false(complete_ready(&t, &q));
	fresh_start(&t);
	tpu_quit(&t);
}

static void test_register_reset(void)
{
	struct ring admin, q;
	uint32_t count;
	struct tpu t;

	tpu_start(&t, "", "");
	start_hung(&t, &admin, &q);
	count = reg32(&t, VTPU_REG_RESET_COUNT);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	wait_for(reg32(&t, VTPU_REG_STATUS) == VTPU_STATUS_READY);
	g_assert_cmpuint(reg32(&t, VTPU_REG_RESET_COUNT), ==, count + 1);
	check_as_new(&t);
	g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr + MAGIC_AT), ==, MAGIC);
	fresh_start(&t);
	tpu_quit(&t);
}

/* BARs and memory of a machine that was reset are to be set up anew. */
static void reattach(struct tpu *t)
{
	QTestState *qts = t->qts;
	QPCIBus *bus = t->bus;

	bus->mmio_alloc_ptr = 0xE0000000;
	tpu_detach(t);
	tpu_attach(t, qts, bus, QPCI_DEVFN(4, 0));
}

static void test_system_reset(void)
{
	struct ring admin, q;
	int64_t start;
	struct tpu t;
	int i;

	tpu_start(&t, "", "");
	for (i = 0; i < 3; i++) {
		if (i < 2)
			start_hung(&t, &admin, &q);
		else
			start_large(&t, &admin, &q);
		start = g_get_monotonic_time();
		qtest_system_reset(t.qts);
		within_bound(start);
		reattach(&t);
		check_as_new(&t);
		/* Only a reset of the whole machine clears HBM. */
		g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr + MAGIC_AT), ==, 0);
		fresh_start(&t);
		flr(&t);
	}
	tpu_quit(&t);
}

/* ---- Behind a port ------------------------------------------------------------------ */

#define PORT QPCI_DEVFN(6, 0)
#define PORT_ARGS \
	"-M q35 -m 128M -nodefaults -global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off " \
	"-device pcie-root-port,id=port1,bus=pcie.0,addr=6 " HBM_OBJECT("hbm0")

static void attach_behind_port(struct tpu *t, QTestState *qts, QPCIBus *bus)
{
	bus->mmio_alloc_ptr = 0xE0000000;
	port_setup(bus, PORT, 1);
	tpu_attach(t, qts, bus, 1 << 8);
}

/* A reset of the bus behind a port is one of the function: HBM stays. */
static void test_bus_reset(void)
{
	QPCIDevice port = { .devfn = PORT };
	struct ring admin, q;
	QTestState *qts;
	QPCIBus *bus;
	struct tpu t;

	qts = qtest_init(PORT_ARGS "-device vtpu,id=tpu0,bus=port1,hbm=hbm0");
	bus = qpci_new_pc(qts, NULL);
	attach_behind_port(&t, qts, bus);
	start_hung(&t, &admin, &q);
	port.bus = bus;
	qpci_config_writew(&port, PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_BUS_RESET);
	qpci_config_writew(&port, PCI_BRIDGE_CONTROL, 0);
	tpu_detach(&t);
	attach_behind_port(&t, qts, bus);
	check_as_new(&t);
	g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr + MAGIC_AT), ==, MAGIC);
	fresh_start(&t);
	tpu_quit(&t);
}

/* A guest's hotplug driver switches the slot on for a new device, and off when asked to. */
static void slot_power(QPCIBus *bus, bool on)
{
	QPCIDevice port = { .bus = bus, .devfn = PORT };
	uint8_t ctl = qpci_find_capability(&port, PCI_CAP_ID_EXP, 0) + PCI_EXP_SLTCTL;
	uint16_t old = qpci_config_readw(&port, ctl) & ~(PCI_EXP_SLTCTL_PIC | PCI_EXP_SLTCTL_PCC);

	qpci_config_writew(&port, ctl,
			   old | (on ? PCI_EXP_SLTCTL_PWR_IND_ON :
				       PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PCC));
}

static void plug(struct tpu *t, QTestState *qts, QPCIBus *bus)
{
	qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': { 'driver': 'vtpu', "
				      "'id': 'tpu0', 'bus': 'port1', 'hbm': 'hbm0' } }");
	slot_power(bus, true);
	attach_behind_port(t, qts, bus);
}

static void unplug(struct tpu *t)
{
	qtest_qmp_device_del_send(t->qts, "tpu0");
	slot_power(t->bus, false);
	qtest_qmp_eventwait(t->qts, "DEVICE_DELETED");
	tpu_detach(t);
}

/* Again and again with work in flight, on one backend: nothing of the last owner is left. */
static void test_unplug(void)
{
	struct ring admin, q;
	QTestState *qts;
	QPCIBus *bus;
	struct tpu t;
	int64_t start;
	int i;

	qts = qtest_init(PORT_ARGS);
	bus = qpci_new_pc(qts, NULL);
	for (i = 0; i < 4; i++) {
		plug(&t, qts, bus);
		g_assert_cmphex(qtest_readq(qts, t.hbm.addr + MAGIC_AT), ==, 0);
		if (i % 2)
			start_large(&t, &admin, &q);
		else
			start_hung(&t, &admin, &q);
		qtest_writeq(qts, t.hbm.addr + MAGIC_AT, MAGIC);
		start = g_get_monotonic_time();
		unplug(&t);
		within_bound(start);
	}
	plug(&t, qts, bus);
	fresh_start(&t);
	tpu_quit(&t);
}

/* Nothing answers: all ones are read, writes are lost, nothing of the old work appears. */
static void check_absent(struct tpu *t)
{
	wait_for(reg32(t, VTPU_REG_STATUS) == UINT32_MAX);
	g_assert_cmphex(qpci_config_readl(t->pci, PCI_VENDOR_ID), ==, UINT32_MAX);
	g_assert_cmphex(qpci_config_readw(t->pci, PCI_COMMAND), ==, UINT16_MAX);
	g_assert_cmphex(qpci_config_readb(t->pci, PCI_CAPABILITY_LIST), ==, UINT8_MAX);
	g_assert_cmphex(reg64(t, VTPU_REG_TIME_NS), ==, UINT64_MAX);
	g_assert_cmphex(reg32(t, VTPU_BAR0_BYTES - 4), ==, UINT32_MAX);
	qpci_io_writel(t->pci, t->regs, VTPU_REG_CONTROL, VTPU_CONTROL_RESET);
	qpci_config_writew(t->pci, PCI_COMMAND, 0);
	g_assert_cmphex(reg32(t, VTPU_REG_STATUS), ==, UINT32_MAX);
	g_assert_cmphex(qtest_readq(t->qts, t->hbm.addr + MAGIC_AT), ==, UINT64_MAX);
	qtest_writeq(t->qts, t->hbm.addr + MAGIC_AT, 0);
	g_assert_cmphex(qtest_readq(t->qts, t->hbm.addr), ==, UINT64_MAX);
	g_assert_cmpuint(qmp_stat(t->qts, "tpu0", "jobs-running"), ==, 0);
}

/* The device is pulled out: idle, with a job that hangs, with copies on their way, as a job starts. */
static void test_removal(void)
{
	struct ring admin, q;
	QTestState *qts;
	QPCIBus *bus;
	struct tpu t;
	int64_t start;
	int i;

	qts = qtest_init(PORT_ARGS);
	bus = qpci_new_pc(qts, NULL);
	for (i = 0; i < 4; i++) {
		plug(&t, qts, bus);
		start = g_get_monotonic_time();
		if (i == 1)
			start_hung(&t, &admin, &q);
		else if (i == 2)
			start_large(&t, &admin, &q);
		else
			tpu_up(&t, &admin, &q, VTPU_QUEUE_COMPUTE);
		if (i == 3) {
			qmp_inject(qts, "tpu0", "removal:job=2");
			submit_nop(&t, &q);
			g_assert_cmphex(complete(&t, &q, NULL), ==, VTPU_ST_OK);
			submit_nop(&t, &q);
		} else {
			qmp_inject(qts, "tpu0", "removal:job=0");
		}
		check_absent(&t);
		within_bound(start);
		if (i == 3)
			g_assert_false(complete_ready(&t, &q));
		qmp_inject(qts, "tpu0", "removal:job=0");
		unplug(&t);
	}
	plug(&t, qts, bus);
	g_assert_cmphex(qtest_readq(qts, t.hbm.addr + MAGIC_AT), ==, 0);
	fresh_start(&t);
	tpu_quit(&t);
}

/* QEMU ends at once, with a job that hangs and with copies on their way. */
static void test_quit(void)
{
	struct ring admin, q;
	int64_t start;
	struct tpu t;
	int i;

	for (i = 0; i < 2; i++) {
		tpu_start(&t, "", "");
		if (i)
			start_large(&t, &admin, &q);
		else
			start_hung(&t, &admin, &q);
		qtest_qmp_send(t.qts, "{ 'execute': 'quit' }");
		start = g_get_monotonic_time();
		qtest_wait_qemu(t.qts);
		within_bound(start);
		tpu_quit(&t);
	}
}

int main(int argc, char **argv)
{
	tpu_test_init(argc, argv);
	qtest_add_func("/vtpu/reset/watchdog", test_watchdog);
	qtest_add_func("/vtpu/reset/watchdog-stopped", test_watchdog_stopped);
	qtest_add_func("/vtpu/reset/abort", test_abort);
	qtest_add_func("/vtpu/reset/inject", test_inject);
	qtest_add_func("/vtpu/reset/lost-interrupt", test_lost_interrupt);
	qtest_add_func("/vtpu/reset/flr", test_flr);
	qtest_add_func("/vtpu/reset/register", test_register_reset);
	qtest_add_func("/vtpu/reset/system", test_system_reset);
	qtest_add_func("/vtpu/reset/bus", test_bus_reset);
	qtest_add_func("/vtpu/reset/unplug", test_unplug);
	qtest_add_func("/vtpu/reset/removal", test_removal);
	qtest_add_func("/vtpu/reset/quit", test_quit);
	return g_test_run();
}
