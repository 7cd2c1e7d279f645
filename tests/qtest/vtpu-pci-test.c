/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu-pci-test.c - what the device looks like on the bus, which properties it
 * refuses and how, and what odd accesses do. Queues are vtpu-queue-test.c's.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "vtpu-qtest.h"

#define ECAM 0xb0000000ULL

/* Configuration space beyond 256 bytes needs the memory-mapped window. */
static uint32_t ext_config(struct tpu *t, uint32_t offset)
{
	QPCIDevice host = { .bus = t->bus, .devfn = 0 };

	qpci_config_writel(&host, 0x64, 0);
	qpci_config_writel(&host, 0x60, ECAM | 1);
	return qtest_readl(t->qts, ECAM + (t->pci->devfn << 12) + offset);
}

static void test_identity(void)
{
	struct tpu t;

	tpu_start(&t, "", "");
	g_assert_cmphex(qpci_config_readw(t.pci, PCI_VENDOR_ID), ==, VTPU_PCI_VENDOR_ID);
	g_assert_cmphex(qpci_config_readw(t.pci, PCI_DEVICE_ID), ==, VTPU_PCI_DEVICE_ID);
	g_assert_cmphex(qpci_config_readw(t.pci, PCI_CLASS_DEVICE), ==, VTPU_PCI_CLASS);
	g_assert_cmphex(qpci_config_readb(t.pci, PCI_REVISION_ID), ==, VTPU_PCI_REVISION);
	g_assert_cmphex(qpci_config_readw(t.pci, PCI_SUBSYSTEM_VENDOR_ID), ==, VTPU_PCI_VENDOR_ID);
	g_assert_cmphex(qpci_config_readw(t.pci, PCI_SUBSYSTEM_ID), ==, VTPU_PCI_DEVICE_ID);
	tpu_quit(&t);
}

static uint64_t bar_size(struct tpu *t, int bar, uint32_t *type)
{
	int reg = PCI_BASE_ADDRESS_0 + 4 * bar;
	uint64_t mask;

	*type = qpci_config_readl(t->pci, reg) & 0xf;
	qpci_config_writel(t->pci, reg, 0xffffffff);
	mask = qpci_config_readl(t->pci, reg) & ~0xfULL;
	if (*type & PCI_BASE_ADDRESS_MEM_TYPE_64) {
		qpci_config_writel(t->pci, reg + 4, 0xffffffff);
		mask |= (uint64_t)qpci_config_readl(t->pci, reg + 4) << 32;
		qpci_config_writel(t->pci, reg + 4, 0);
	} else {
		mask |= 0xffffffff00000000ULL;
	}
	return ~mask + 1;
}

static void test_bars(void)
{
	struct tpu t;
	uint32_t type;

	tpu_start(&t, "", "");
	g_assert_cmphex(bar_size(&t, VTPU_BAR_REGS, &type), ==, VTPU_BAR0_BYTES);
	g_assert_cmphex(type, ==, PCI_BASE_ADDRESS_MEM_TYPE_64);
	g_assert_cmphex(bar_size(&t, VTPU_BAR_HBM, &type), ==, TEST_HBM_BYTES);
	g_assert_cmphex(type, ==, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	g_assert_cmphex(bar_size(&t, VTPU_BAR_MSIX, &type), ==, 4096);
	g_assert_cmphex(type, ==, 0);
	tpu_quit(&t);
}

static void test_capabilities(void)
{
	struct tpu t;

	tpu_start(&t, ",serial=0x1122334455667788,vectors=5", "");
	g_assert_cmphex(qpci_find_capability(t.pci, PCI_CAP_ID_MSIX, 0), ==, VTPU_CFG_MSIX);
	g_assert_cmphex(qpci_find_capability(t.pci, PCI_CAP_ID_EXP, 0), ==, VTPU_CFG_PCIE);
	g_assert_cmphex(qpci_find_capability(t.pci, PCI_CAP_ID_MSI, 0), ==, 0);
	g_assert_cmphex(qpci_config_readl(t.pci, VTPU_CFG_PCIE + PCI_EXP_DEVCAP) &
				PCI_EXP_DEVCAP_FLR,
			!=, 0);
	g_assert_cmphex(PCI_EXT_CAP_ID(ext_config(&t, VTPU_CFG_AER)), ==, PCI_EXT_CAP_ID_ERR);
	g_assert_cmphex(PCI_EXT_CAP_NEXT(ext_config(&t, VTPU_CFG_AER)), ==, VTPU_CFG_SERIAL);
	g_assert_cmphex(PCI_EXT_CAP_ID(ext_config(&t, VTPU_CFG_SERIAL)), ==, PCI_EXT_CAP_ID_DSN);
	g_assert_cmphex(ext_config(&t, VTPU_CFG_SERIAL + 4), ==, 0x55667788);
	g_assert_cmphex(ext_config(&t, VTPU_CFG_SERIAL + 8), ==, 0x11223344);
	qpci_msix_enable(t.pci);
	g_assert_cmpuint(qpci_msix_table_size(t.pci), ==, 5);
	g_assert_cmpuint(reg32(&t, VTPU_REG_VECTORS), ==, 5);
	g_assert_cmphex(reg64(&t, VTPU_REG_SERIAL), ==, 0x1122334455667788);
	tpu_quit(&t);
}

static void test_registers(void)
{
	struct tpu t;

	tpu_start(&t, ",cores=3", "");
	g_assert_cmphex(reg32(&t, VTPU_REG_MAGIC), ==, VTPU_MAGIC);
	g_assert_cmphex(reg32(&t, VTPU_REG_VERSION), ==, VTPU_HW_VERSION);
	g_assert_cmphex(reg32(&t, VTPU_REG_STATUS), ==, VTPU_STATUS_READY);
	g_assert_cmphex(reg64(&t, VTPU_REG_HBM_BYTES), ==, TEST_HBM_BYTES);
	g_assert_cmpuint(reg32(&t, VTPU_REG_VECTORS), ==, VTPU_MAX_VECTORS);
	g_assert_cmpuint(reg32(&t, VTPU_REG_GEOMETRY + offsetof(struct vtpu_hw_geometry, cores)),
			 ==, 3);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_MAGIC, 0);
	qpci_io_writeq(t.pci, t.regs, VTPU_REG_HBM_BYTES, 0);
	g_assert_cmphex(reg32(&t, VTPU_REG_MAGIC), ==, VTPU_MAGIC);
	g_assert_cmphex(reg64(&t, VTPU_REG_HBM_BYTES), ==, TEST_HBM_BYTES);
	/* Both halves of a 64-bit register, and a write in two steps. */
	g_assert_cmphex(reg32(&t, VTPU_REG_HBM_BYTES), ==, (uint32_t)TEST_HBM_BYTES);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_ADMIN_SQ, 0x1000);
	qpci_io_writel(t.pci, t.regs, VTPU_REG_ADMIN_SQ + 4, 0x23);
	g_assert_cmphex(reg64(&t, VTPU_REG_ADMIN_SQ), ==, 0x2300001000);
	tpu_quit(&t);
}

/* The clock goes on by itself, stands still while the VM is stopped, and never goes back. */
static void test_clock(void)
{
	struct tpu t;
	uint64_t a, b;

	tpu_start(&t, "", "");
	a = reg64(&t, VTPU_REG_TIME_NS);
	wait_for(reg64(&t, VTPU_REG_TIME_NS) > a + 1000000);
	qtest_qmp_assert_success(t.qts, "{ 'execute': 'stop' }");
	a = reg64(&t, VTPU_REG_TIME_NS);
	g_usleep(50000);
	b = reg64(&t, VTPU_REG_TIME_NS);
	g_assert_cmpuint(a, ==, b);
	qtest_qmp_assert_success(t.qts, "{ 'execute': 'cont' }");
	wait_for(reg64(&t, VTPU_REG_TIME_NS) > b);
	tpu_quit(&t);
}

static void refused_read(struct tpu *t, uint64_t offset, int bytes, uint32_t *count)
{
	uint64_t addr = t->regs.addr + offset, value;

	value = bytes == 1 ? qtest_readb(t->qts, addr) :
		bytes == 2 ? qtest_readw(t->qts, addr) :
		bytes == 4 ? qtest_readl(t->qts, addr) :
			     qtest_readq(t->qts, addr);
	g_assert_cmphex(value, ==, 0);
	g_assert_cmpuint(reg32(t, VTPU_REG_BAD_ACCESS), >, *count);
	*count = reg32(t, VTPU_REG_BAD_ACCESS);
}

/* Partial, misaligned, and out of what there is: reads as zero, changes nothing, is counted. */
static void test_odd_access(void)
{
	const uint64_t after_doorbells =
		VTPU_DOORBELL_BASE + (VTPU_MAX_QUEUES + 1) * VTPU_DOORBELL_STRIDE;
	uint32_t count;
	struct tpu t;

	tpu_start(&t, "", "");
	count = reg32(&t, VTPU_REG_BAD_ACCESS);
	refused_read(&t, VTPU_REG_MAGIC, 1, &count);
	refused_read(&t, VTPU_REG_MAGIC, 2, &count);
	refused_read(&t, VTPU_REG_MAGIC + 2, 4, &count);
	refused_read(&t, VTPU_REG_MAGIC, 8, &count);
	refused_read(&t, 0xf00, 4, &count);
	refused_read(&t, VTPU_REG_CORE_STATS + 64 * sizeof(struct vtpu_hw_core_stats), 4, &count);
	refused_read(&t, VTPU_DOORBELL_BASE + 0x800, 4, &count);
	refused_read(&t, after_doorbells, 4, &count);
	refused_read(&t, VTPU_BAR0_BYTES - 4, 4, &count);
	qtest_writeb(t.qts, t.regs.addr + VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	qtest_writew(t.qts, t.regs.addr + VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	qtest_writeq(t.qts, t.regs.addr + VTPU_REG_STATUS, ~0ULL);
	qtest_writel(t.qts, t.regs.addr + VTPU_BAR0_BYTES - 4, 1);
	g_assert_cmpuint(reg32(&t, VTPU_REG_BAD_ACCESS), ==, count + 4);
	g_assert_cmphex(reg32(&t, VTPU_REG_STATUS), ==, VTPU_STATUS_READY);
	g_assert_cmphex(reg32(&t, VTPU_REG_CONTROL), ==, 0);
	g_assert_cmpuint(qmp_stat(t.qts, "tpu0", "bad-accesses"), ==, count + 4);
	tpu_quit(&t);
}

static void test_hbm_window(void)
{
	uint64_t last = TEST_HBM_BYTES - 8;
	struct tpu t;

	tpu_start(&t, "", "");
	g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr), ==, 0);
	g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr + last), ==, 0);
	qtest_writeq(t.qts, t.hbm.addr + last, 0x0123456789abcdef);
	g_assert_cmphex(qtest_readb(t.qts, t.hbm.addr + last), ==, 0xef);
	g_assert_cmphex(qtest_readq(t.qts, t.hbm.addr + last), ==, 0x0123456789abcdef);
	tpu_quit(&t);
}

/* ---- Properties ------------------------------------------------------------- */

struct bad_property {
	const char *json; /* members of device_add's arguments */
	const char *says; /* must be part of the sentence */
};

static const struct bad_property bad_properties[] = {
	{ "", "property hbm is missing" },
	{ ",'hbm':'hbm0'", "property hbm=hbm0: this memory backend is in use already" },
	{ ",'hbm':'h48'",
	  "property hbm=h48: the backend has 50331648 bytes, expected a power of two from 32 MiB" },
	{ ",'hbm':'h16'",
	  "property hbm=h16: the backend has 16777216 bytes, expected a power of two from 32 MiB" },
	{ ",'hbm':'hro'", "property hbm=hro: the backend is read-only" },
	{ ",'hbm':'hbm1','preset':'v99'", "v99" },
	{ ",'hbm':'hbm1','cores':65", "cores=65: a chip has 1 to 64 cores" },
	{ ",'hbm':'hbm1','vectors':1", "property vectors=1: expected 2 to 33" },
	{ ",'hbm':'hbm1','vectors':34", "property vectors=34: expected 2 to 33" },
	{ ",'hbm':'hbm1','threads':257", "property threads=257: expected 0" },
	{ ",'hbm':'hbm1','threads':2",
	  "property threads=2: all vtpu devices of a process share one worker pool, "
	  "and it has 1 threads" },
	{ ",'hbm':'hbm1','watchdog-ms':0", "property watchdog-ms=0: expected at least 1" },
	{ ",'hbm':'hbm1','isa':'sse'",
	  "property isa=sse: expected one of auto, scalar, avx2, avx512" },
	{ ",'hbm':'hbm1','executor':'fast'",
	  "property executor=fast: expected one of parallel, reference" },
	{ ",'hbm':'hbm1','pace':'slow'", "property pace=slow: expected one of asap, model" },
	{ ",'hbm':'hbm1','pace':'model'",
	  "property pace=model: this version completes jobs as soon as" },
	{ ",'hbm':'hbm1','custom-clock-khz':1000",
	  "properties custom-* need preset=custom, got preset=v3" },
	{ ",'hbm':'hbm1','preset':'custom','custom-hbm-gbps':5",
	  "property custom-hbm-gbps=5: needs custom-clock-khz" },
	{ ",'hbm':'hbm1','preset':'custom','custom-clock-khz':1000,'custom-hbm-gbps':200000",
	  "property custom-hbm-gbps=200000: expected 1 to 100000 GB/s" },
	{ ",'hbm':'hbm1','preset':'custom','custom-clock-khz':1000,'custom-pcie-gbps':70",
	  "property custom-pcie-gbps=70: expected 1 to 100000 GB/s, and less than 65536 bytes a cycle" },
	{ ",'hbm':'hbm1','inject':'flood'", "property inject=flood: no such fault" },
	{ ",'hbm':'hbm1','inject':'hang:cores=1'",
	  "property inject=hang:cores=1: cannot read 'cores=1'" },
	{ ",'hbm':'hbm1','inject':'hang:core=64'",
	  "property inject=hang:core=64: core 64: a job's cores are 0 to 7" },
	{ ",'hbm':'hbm1','inject':'lost-irq:core=1'",
	  "property inject=lost-irq:core=1: core 1: lost-irq is a fault of the whole job" },
	{ ",'hbm':'hbm1','inject':'hang:job=x'",
	  "property inject=hang:job=x: cannot read 'job=x'" },
	{ ",'hbm':'hbm1','inject':'hang:queue=200'",
	  "property inject=hang:queue=200: queue 200: I/O queues are 1 to" },
};

static char *temp_file(off_t bytes)
{
	char *path = NULL;
	int fd = g_file_open_tmp("vtpu-qtest-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, bytes), ==, 0);
	close(fd);
	return path;
}

/* Each is refused with its sentence, nothing is left over, the slot still takes a good device. */
static void test_properties(void)
{
	g_autofree char *path = temp_file(32 << 20);
	g_autofree char *args = g_strdup_printf(
		HBM_OBJECT(
			"hbm1") "-object memory-backend-ram,id=h48,size=48M -object memory-backend-ram,id=h16,size=16M "
				"-object memory-backend-file,id=hro,size=32M,mem-path=%s,share=off,readonly=on "
				"-device pcie-root-port,id=port1,bus=pcie.0,addr=6",
		path);
	struct tpu t, plugged;
	int i;

	tpu_start(&t, ",threads=1", args);
	for (i = 0; i < ARRAY_SIZE(bad_properties); i++) {
		g_autofree char *cmd =
			g_strdup_printf("{ 'execute': 'device_add', 'arguments': { 'driver': "
					"'vtpu', 'id': 'tpu1', 'bus': 'port1'%s } }",
					bad_properties[i].json);
		g_autofree char *says = qmp_error(t.qts, cmd, NULL);

		g_test_message("%s: %s", bad_properties[i].json, says);
		if (!strstr(says, bad_properties[i].says))
			g_error("%s: '%s' is not in '%s'", bad_properties[i].json,
				bad_properties[i].says, says);
	}
	qtest_qmp_assert_success(t.qts,
				 "{ 'execute': 'device_add', 'arguments': { 'driver': 'vtpu', "
				 "'id': 'tpu1', 'bus': 'port1', 'hbm': 'hbm1', 'cores': 2 } }");
	port_setup(t.bus, QPCI_DEVFN(6, 0), 1);
	tpu_attach(&plugged, t.qts, t.bus, 1 << 8);
	fresh_start(&plugged);
	fresh_start(&t);
	tpu_detach(&plugged);
	tpu_quit(&t);
	unlink(path);
}

/* A wider instruction set than the host's is refused, the others are what they say. */
static void test_isa(void)
{
	static const char *const names[] = { "scalar", "avx2", "avx512" };
	const bool has[] = { true, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
			     __builtin_cpu_supports("avx512f") };
	struct tpu t;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		tpu_start(&t, "",
			  HBM_OBJECT("hbm1") "-device pcie-root-port,id=port1,bus=pcie.0,addr=6");
		if (has[i]) {
			QDict *rsp, *stats;

			qtest_qmp_assert_success(t.qts,
						 "{ 'execute': 'device_add', 'arguments': { 'driver': "
						 "'vtpu', 'id': 'tpu1', 'bus': 'port1', 'hbm': 'hbm1', "
						 "'isa': %s } }",
						 names[i]);
			rsp = qtest_qmp(t.qts,
					"{ 'execute': 'qom-get', 'arguments': { 'path': 'tpu1', "
					"'property': 'stats' } }");
			stats = qdict_get_qdict(rsp, "return");
			g_assert_cmpstr(qdict_get_str(stats, "isa"), ==, names[i]);
			qobject_unref(rsp);
		} else {
			g_autofree char *says =
				qmp_error(t.qts,
					  "{ 'execute': 'device_add', 'arguments': { "
					  "'driver': 'vtpu', 'id': 'tpu1', 'bus': 'port1', "
					  "'hbm': 'hbm1', 'isa': %s } }",
					  names[i]);

			g_assert_nonnull(strstr(says, "this host's CPU has only"));
		}
		tpu_quit(&t);
	}
}

/* The same sentences on the command line; QEMU ends with an error, not a signal. */
static void command_line(const char *device, const char *env, const char *says)
{
	g_auto(GStrv) envp = g_get_environ();
	char *argv[] = { getenv("QTEST_QEMU_BINARY"),
			 (char *)"-M",
			 (char *)"q35",
			 (char *)"-nodefaults",
			 (char *)"-display",
			 (char *)"none",
			 (char *)"-accel",
			 (char *)"qtest",
			 (char *)"-object",
			 (char *)"memory-backend-ram,id=h48,size=48M",
			 (char *)"-object",
			 (char *)"memory-backend-ram,id=h64,size=64M",
			 (char *)"-device",
			 (char *)device,
			 NULL };
	g_autofree char *err = NULL;
	int status;

	envp = g_environ_setenv(envp, "VTPU_THREADS", env, TRUE);
	g_assert_true(g_spawn_sync(NULL, argv, envp, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
				   &err, &status, NULL));
	g_test_message("%s", err);
	g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	g_assert_nonnull(strstr(err, says));
}

static void test_command_line(void)
{
	command_line("vtpu", "", "property hbm is missing");
	command_line("vtpu,hbm=h48", "", "expected a power of two from 32 MiB to 64 GiB");
	command_line("vtpu,hbm=h64,cores=65", "", "cores=65");
	command_line("vtpu,hbm=h64,cores=many", "", "cores");
	command_line("vtpu,hbm=nothing", "", "nothing");
	command_line("vtpu,hbm=h64,inject=hang:job=0", "", "inject=hang:job=0");
	command_line("vtpu,hbm=h64", "lots",
		     "VTPU_THREADS is 'lots', expected a number from 1 to 256");
}

/* What QEMU's own generic tests ask of every device. */
static void test_introspection(void)
{
	QDict *rsp;
	struct tpu t;
	char *text;

	tpu_start(&t, ",inject=hang:queue=3:job=5", "");
	rsp = qtest_qmp(t.qts,
			"{ 'execute': 'device-list-properties', 'arguments': { 'typename': 'vtpu' } }");
	g_assert_cmpuint(qlist_size(qdict_get_qlist(rsp, "return")), >, 20);
	qobject_unref(rsp);
	text = qtest_hmp(t.qts, "info qtree");
	g_assert_nonnull(strstr(text, "dev: vtpu, id \"tpu0\""));
	g_free(text);
	text = qtest_hmp(t.qts, "device_add vtpu,help");
	g_assert_nonnull(strstr(text, "running host time without progress"));
	g_free(text);
	text = qtest_hmp(t.qts, "qom-get tpu0 inject");
	g_assert_nonnull(strstr(text, "hang:queue=3:job=5"));
	g_free(text);
	/* Not migratable yet, and says so. */
	text = qtest_hmp(t.qts, "migrate exec:cat>/dev/null");
	g_assert_nonnull(strstr(text, "vtpu"));
	g_free(text);
	tpu_quit(&t);
}

static void test_two_devices(void)
{
	struct tpu a, b;
	struct ring aa, ab, qa, qb;

	tpu_start(&a, ",serial=1,cores=8",
		  HBM_OBJECT("hbm1") "-device vtpu,id=tpu1,hbm=hbm1,addr=5,serial=2,cores=2");
	tpu_attach(&b, a.qts, a.bus, QPCI_DEVFN(5, 0));
	b.guest_next = a.guest_next + 0x1000000;
	g_assert_cmphex(reg64(&a, VTPU_REG_SERIAL), ==, 1);
	g_assert_cmphex(reg64(&b, VTPU_REG_SERIAL), ==, 2);
	tpu_up(&a, &aa, &qa, VTPU_QUEUE_COPY);
	tpu_up(&b, &ab, &qb, VTPU_QUEUE_COPY);
	known_answer(&a, &qa);
	known_answer(&b, &qb);
	/* A reset of one leaves the other alone. */
	flr(&a);
	g_assert_cmphex(reg32(&a, VTPU_REG_STATUS), ==, VTPU_STATUS_READY);
	known_answer(&b, &qb);
	fresh_start(&a);
	g_assert_cmpuint(qmp_stat(a.qts, "tpu1", "copies-done"), ==, 4);
	tpu_detach(&b);
	tpu_quit(&a);
}

int main(int argc, char **argv)
{
	tpu_test_init(argc, argv);
	qtest_add_func("/vtpu/pci/identity", test_identity);
	qtest_add_func("/vtpu/pci/bars", test_bars);
	qtest_add_func("/vtpu/pci/capabilities", test_capabilities);
	qtest_add_func("/vtpu/pci/registers", test_registers);
	qtest_add_func("/vtpu/pci/clock", test_clock);
	qtest_add_func("/vtpu/pci/odd-access", test_odd_access);
	qtest_add_func("/vtpu/pci/hbm-window", test_hbm_window);
	qtest_add_func("/vtpu/pci/properties", test_properties);
	qtest_add_func("/vtpu/pci/isa", test_isa);
	qtest_add_func("/vtpu/pci/command-line", test_command_line);
	qtest_add_func("/vtpu/pci/introspection", test_introspection);
	qtest_add_func("/vtpu/pci/two-devices", test_two_devices);
	return g_test_run();
}
