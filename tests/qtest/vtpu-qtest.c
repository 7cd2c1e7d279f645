/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu-qtest.c - a machine with a vtpu in it and the smallest driver that can
 * make it work, for the qtest programs in this folder.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "vtpu-qtest.h"

void tpu_test_init(int argc, char **argv)
{
	static char *with_tap[] = { NULL, (char *)"--tap", (char *)"-k", NULL };
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = g_path_get_dirname(self);
	g_autofree char *qemu = g_build_filename(dir, "..", "qemu-system-x86_64", NULL);
	char **args = argv;

	g_setenv("QTEST_QEMU_BINARY", qemu, FALSE);
	if (argc == 1) {
		with_tap[0] = argv[0];
		args = with_tap;
		argc = 3;
	}
	g_test_init(&argc, &args, NULL);
}

/* ---- Machine -------------------------------------------------------------- */

void tpu_attach(struct tpu *t, QTestState *qts, QPCIBus *bus, int devfn)
{
	*t = (struct tpu){ .qts = qts, .bus = bus, .port = -1 };
	t->guest_next = GUEST_HEAP;
	t->hbm_next = HBM_HEAP;
	t->pci = qpci_device_find(bus, devfn);
	g_assert_nonnull(t->pci);
	qpci_device_enable(t->pci);
	t->regs = qpci_iomap(t->pci, VTPU_BAR_REGS, NULL);
	t->hbm = qpci_iomap(t->pci, VTPU_BAR_HBM, NULL);
}

void tpu_detach(struct tpu *t)
{
	g_free(t->pci);
}

void tpu_start(struct tpu *t, const char *props, const char *machine_args)
{
	QTestState *qts = qtest_initf("-M q35 -m 128M -nodefaults %s " HBM_OBJECT(
					      "hbm0") "-device vtpu,id=tpu0,hbm=hbm0,addr=4%s",
				      machine_args, props);

	tpu_attach(t, qts, qpci_new_pc(qts, NULL), QPCI_DEVFN(4, 0));
}

void tpu_quit(struct tpu *t)
{
	tpu_detach(t);
	qpci_free_pc(t->bus);
	qtest_quit(t->qts);
}

void port_setup(QPCIBus *bus, int devfn, uint8_t bus_nr)
{
	QPCIDevice port = { .bus = bus, .devfn = devfn };
	/* From the first BAR that libqos hands out, 0xe0000000, to 0xf5ffffff. */
	const uint16_t base = 0xe000, limit = 0xf5f0;

	qpci_config_writeb(&port, PCI_PRIMARY_BUS, 0);
	qpci_config_writeb(&port, PCI_SECONDARY_BUS, bus_nr);
	qpci_config_writeb(&port, PCI_SUBORDINATE_BUS, bus_nr);
	qpci_config_writew(&port, PCI_MEMORY_BASE, base);
	qpci_config_writew(&port, PCI_MEMORY_LIMIT, limit);
	qpci_config_writew(&port, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

uint64_t guest_page(struct tpu *t, unsigned int pages)
{
	uint64_t addr = t->guest_next;

	t->guest_next += pages * 4096ULL;
	qtest_memset(t->qts, addr, 0, pages * 4096ULL);
	return addr;
}

uint64_t hbm_page(struct tpu *t)
{
	uint64_t addr = t->hbm_next;

	t->hbm_next += 4096;
	qtest_memset(t->qts, t->hbm.addr + addr, 0, 4096);
	return addr;
}

/* ---- Registers ------------------------------------------------------------ */

uint32_t reg32(struct tpu *t, uint64_t offset)
{
	return qpci_io_readl(t->pci, t->regs, offset);
}

uint64_t reg64(struct tpu *t, uint64_t offset)
{
	return qpci_io_readq(t->pci, t->regs, offset);
}

uint32_t queue_state(struct tpu *t, unsigned int queue)
{
	return reg32(t, VTPU_DOORBELL_BASE + queue * VTPU_DOORBELL_STRIDE + VTPU_DB_STATE);
}

void flr(struct tpu *t)
{
	uint16_t ctl = qpci_config_readw(t->pci, VTPU_CFG_PCIE + PCI_EXP_DEVCTL);
	uint32_t bar[6];
	int i;

	for (i = 0; i < 6; i++)
		bar[i] = qpci_config_readl(t->pci, PCI_BASE_ADDRESS_0 + 4 * i);
	qpci_config_writew(t->pci, VTPU_CFG_PCIE + PCI_EXP_DEVCTL, ctl | PCI_EXP_DEVCTL_BCR_FLR);
	for (i = 0; i < 6; i++)
		qpci_config_writel(t->pci, PCI_BASE_ADDRESS_0 + 4 * i, bar[i]);
	qpci_device_enable(t->pci);
}

/* ---- Rings ---------------------------------------------------------------- */

void ring_new(struct tpu *t, struct ring *r, unsigned int id, unsigned int depth_log2)
{
	unsigned int entries = 1u << depth_log2;

	*r = (struct ring){ .id = id, .depth_log2 = depth_log2 };
	r->sq = guest_page(t, DIV_ROUND_UP(entries * 64, 4096));
	r->cq = guest_page(t, DIV_ROUND_UP(entries * 32, 4096));
	r->tail_addr = guest_page(t, 1);
	r->args = guest_page(t, entries);
}

void push(struct tpu *t, struct ring *r, const void *entry)
{
	qtest_memwrite(t->qts, r->sq + (r->tail % (1u << r->depth_log2)) * 64, entry, 64);
	qtest_writel(t->qts, r->tail_addr, ++r->tail);
}

void doorbell(struct tpu *t, struct ring *r)
{
	qpci_io_writel(t->pci, t->regs,
		       VTPU_DOORBELL_BASE + r->id * VTPU_DOORBELL_STRIDE + VTPU_DB_RING, 1);
}

bool complete_ready(struct tpu *t, struct ring *r)
{
	uint32_t n = 1u << r->depth_log2;
	uint32_t status = qtest_readl(t->qts, r->cq + (r->head % n) * sizeof(struct vtpu_cqe) +
						      offsetof(struct vtpu_cqe, status));

	return status >> 31 == (~(r->head / n) & 1);
}

uint32_t complete(struct tpu *t, struct ring *r, struct vtpu_cqe *cqe)
{
	struct vtpu_cqe here;

	wait_for(complete_ready(t, r));
	qtest_memread(t->qts, r->cq + (r->head % (1u << r->depth_log2)) * sizeof(here), &here,
		      sizeof(here));
	r->head++;
	if (cqe)
		*cqe = here;
	return here.status & VTPU_CQE_STATUS_MASK;
}

void admin_up(struct tpu *t, struct ring *admin)
{
	ring_new(t, admin, 0, 4);
	/* Whoever had the device before loses all queues. */
	qpci_io_writel(t->pci, t->regs, VTPU_REG_CONTROL, 0);
	wait_for(reg32(t, VTPU_REG_STATUS) == VTPU_STATUS_READY);
	qpci_io_writeq(t->pci, t->regs, VTPU_REG_ADMIN_SQ, admin->sq);
	qpci_io_writeq(t->pci, t->regs, VTPU_REG_ADMIN_CQ, admin->cq);
	qpci_io_writeq(t->pci, t->regs, VTPU_REG_ADMIN_TAIL, admin->tail_addr);
	qpci_io_writel(t->pci, t->regs, VTPU_REG_ADMIN_DEPTH, admin->depth_log2);
	qpci_io_writel(t->pci, t->regs, VTPU_REG_CONTROL, VTPU_CONTROL_ENABLE);
	wait_for(reg32(t, VTPU_REG_STATUS) & VTPU_STATUS_ENABLED);
}

uint32_t admin_cmd(struct tpu *t, struct ring *admin, void *cmd)
{
	struct vtpu_admin_header *h = cmd;
	struct vtpu_cqe cqe;
	uint32_t status;

	h->seq = admin->tail;
	push(t, admin, cmd);
	doorbell(t, admin);
	status = complete(t, admin, &cqe);
	g_assert_cmpuint(cqe.seq, ==, h->seq);
	return status;
}

void queue_up(struct tpu *t, struct ring *admin, struct ring *q, unsigned int id, unsigned int kind,
	      unsigned int depth_log2)
{
	struct vtpu_admin_queue cmd = { .h.opcode = VTPU_ADMIN_QUEUE_CREATE };

	ring_new(t, q, id, depth_log2);
	cmd.queue = id;
	cmd.context = 1;
	cmd.kind = kind;
	cmd.depth_log2 = depth_log2;
	cmd.priority = VTPU_PRIO_NORMAL;
	cmd.sq = q->sq;
	cmd.cq = q->cq;
	cmd.tail = q->tail_addr;
	cmd.args = q->args;
	g_assert_cmphex(admin_cmd(t, admin, &cmd), ==, VTPU_ST_OK);
}

void tpu_up(struct tpu *t, struct ring *admin, struct ring *q, unsigned int kind)
{
	struct vtpu_admin_context cmd = { .h.opcode = VTPU_ADMIN_CONTEXT_CREATE, .context = 1 };

	admin_up(t, admin);
	t->root = hbm_page(t);
	cmd.root = t->root;
	g_assert_cmphex(admin_cmd(t, admin, &cmd), ==, VTPU_ST_OK);
	queue_up(t, admin, q, 1, kind, 3);
}

/* ---- Jobs ------------------------------------------------------------------ */

/* Down to @leaf_level, with tables made on the way. */
static void map_leaf(struct tpu *t, uint64_t va, uint64_t pte, int leaf_level)
{
	uint64_t table = t->root, slot, next;
	int level;

	for (level = VTPU_PT_LEVELS - 1;; level--) {
		unsigned int shift = VTPU_PAGE_SHIFT + level * VTPU_PT_INDEX_BITS;

		slot = t->hbm.addr + table + 8 * (va >> shift & (VTPU_PT_ENTRIES - 1));
		if (level == leaf_level)
			break;
		next = qtest_readq(t->qts, slot);
		if (!(next & VTPU_PTE_VALID)) {
			next = hbm_page(t) | VTPU_PTE_VALID;
			qtest_writeq(t->qts, slot, next);
		}
		table = next & VTPU_PTE_ADDR_MASK;
	}
	qtest_writeq(t->qts, slot, pte | VTPU_PTE_VALID);
}

void map_page(struct tpu *t, uint64_t va, uint64_t pa, uint64_t flags)
{
	map_leaf(t, va, pa | flags, 0);
}

void map_large(struct tpu *t, uint64_t va, uint64_t pa, uint64_t flags)
{
	map_leaf(t, va, pa | flags | VTPU_PTE_LEAF, 1);
}

uint32_t submit_nop(struct tpu *t, struct ring *q)
{
	struct vtpu_sqe sqe = { .flags = VTPU_SQE_NOP, .seq = q->tail };

	push(t, q, &sqe);
	doorbell(t, q);
	return sqe.seq;
}

uint32_t submit_copy(struct tpu *t, struct ring *q, uint64_t src_va, uint64_t dst_va,
		     uint32_t bytes)
{
	struct vtpu_copy_desc desc = {
		.op = VTPU_COPY_COPY,
		.src = src_va,
		.dst = dst_va,
		.rows = 1,
		.row_bytes = bytes,
	};
	struct vtpu_sqe sqe = { .seq = q->tail, .args_bytes = sizeof(desc) };

	qtest_memwrite(t->qts, q->args + (q->tail % (1u << q->depth_log2)) * VTPU_ARG_SLOT_BYTES,
		       &desc, sizeof(desc));
	push(t, q, &sqe);
	doorbell(t, q);
	return sqe.seq;
}

void known_answer(struct tpu *t, struct ring *q)
{
	const uint64_t host_va = VTPU_VA_HOST_START, hbm_va = VTPU_VA_HBM_START,
		       back_va = host_va + 4096;
	uint64_t src = guest_page(t, 1), back = guest_page(t, 1), dst = hbm_page(t);
	uint8_t want[4096], got[4096];
	int i;

	for (i = 0; i < sizeof(want); i++)
		want[i] = i * 7 + (i >> 8) + q->tail;
	qtest_memwrite(t->qts, src, want, sizeof(want));
	map_page(t, host_va, src, VTPU_PTE_SYSTEM);
	map_page(t, back_va, back, VTPU_PTE_SYSTEM | VTPU_PTE_WRITE);
	map_page(t, hbm_va, dst, VTPU_PTE_WRITE);
	submit_copy(t, q, host_va, hbm_va, sizeof(want));
	submit_copy(t, q, hbm_va, back_va, sizeof(want));
	g_assert_cmphex(complete(t, q, NULL), ==, VTPU_ST_OK);
	g_assert_cmphex(complete(t, q, NULL), ==, VTPU_ST_OK);
	qtest_memread(t->qts, t->hbm.addr + dst, got, sizeof(got));
	g_assert_cmpmem(got, sizeof(got), want, sizeof(want));
	qtest_memread(t->qts, back, got, sizeof(got));
	g_assert_cmpmem(got, sizeof(got), want, sizeof(want));
}

void fresh_start(struct tpu *t)
{
	struct ring admin, q;

	tpu_up(t, &admin, &q, VTPU_QUEUE_COPY);
	known_answer(t, &q);
}

/* ---- QMP -------------------------------------------------------------------- */

uint64_t qmp_stat(QTestState *qts, const char *path, const char *counter)
{
	QDict *rsp =
		qtest_qmp(qts,
			  "{ 'execute': 'qom-get', 'arguments': { 'path': %s, 'property': 'stats' } }",
			  path);
	uint64_t value;

	g_assert(qdict_haskey(rsp, "return"));
	g_assert(qdict_haskey(qdict_get_qdict(rsp, "return"), counter));
	value = qdict_get_int(qdict_get_qdict(rsp, "return"), counter);
	qobject_unref(rsp);
	return value;
}

void qmp_inject(QTestState *qts, const char *path, const char *fault)
{
	qtest_qmp_assert_success(qts,
				 "{ 'execute': 'qom-set', 'arguments': "
				 "{ 'path': %s, 'property': 'inject', 'value': %s } }",
				 path, fault);
}

char *qmp_error(QTestState *qts, const char *fmt, ...)
{
	va_list ap;
	QDict *rsp;
	char *text;

	va_start(ap, fmt);
	rsp = qtest_vqmp(qts, fmt, ap);
	va_end(ap);
	if (!qdict_haskey(rsp, "error"))
		g_error("not refused: %s", fmt);
	text = g_strdup(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"));
	qobject_unref(rsp);
	return text;
}
