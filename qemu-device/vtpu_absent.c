/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_absent.c - surprise removal: from one moment to the next, nothing answers.
 *
 * As on a bus whose device has been pulled out, reads of configuration space and of all BARs
 * give all ones and writes are lost; all work has ended without a completion or an
 * interrupt. The slot does not tell the guest; QEMU's user clears the rest away with
 * device_del.
 */
#include "qemu/osdep.h"
#include "vtpu_device.h"
#include "trace.h"

static uint64_t absent_read(void *opaque, hwaddr offset, unsigned int size)
{
	return ~0ULL;
}

static void absent_write(void *opaque, hwaddr offset, uint64_t value, unsigned int size)
{
}

static const MemoryRegionOps absent_ops = {
	.read = absent_read,
	.write = absent_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
	.impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* Cover a BAR, for later. */
static void cover(VtpuState *s, MemoryRegion *bar, MemoryRegion *absent)
{
	memory_region_init_io(absent, OBJECT(s), &absent_ops, s, "vtpu-absent",
			      memory_region_size(bar));
	memory_region_set_enabled(absent, false);
	memory_region_add_subregion_overlap(bar, 0, absent, 1);
}

static void vanish(void *opaque)
{
	VtpuState *s = opaque;

	if (s->absent)
		return;
	trace_vtpu_vanish(vtpu_name(s));
	s->absent = true;
	memory_region_transaction_begin();
	memory_region_set_enabled(&s->absent_regs, true);
	memory_region_set_enabled(&s->absent_hbm, true);
	memory_region_set_enabled(&s->absent_msix, true);
	memory_region_transaction_commit();
	vtpu_chip_reset_begin(s->chip, VTPU_RESET_FUNCTION);
	vtpu_dma_close(s);
	vtpu_chip_reset_finish(s->chip);
}

/** vtpu_vanish_soon() - vtpu_host_ops.vanish */
void vtpu_vanish_soon(void *host)
{
	VtpuState *s = host;

	qemu_bh_schedule(s->vanish_bh);
}

/** vtpu_absent_init() - the BARs exist */
void vtpu_absent_init(VtpuState *s)
{
	s->vanish_bh = qemu_bh_new_guarded(vanish, s, &DEVICE(s)->mem_reentrancy_guard);
	cover(s, &s->regs_bar, &s->absent_regs);
	cover(s, &s->hbm_bar, &s->absent_hbm);
	cover(s, &s->msix_bar, &s->absent_msix);
}

/** vtpu_absent_fini() - a region in a BAR holds a reference to the device, so it must leave it */
void vtpu_absent_fini(VtpuState *s)
{
	qemu_bh_delete(s->vanish_bh);
	memory_region_del_subregion(&s->regs_bar, &s->absent_regs);
	memory_region_del_subregion(&s->hbm_bar, &s->absent_hbm);
	memory_region_del_subregion(&s->msix_bar, &s->absent_msix);
}

uint32_t vtpu_config_read(PCIDevice *pdev, uint32_t addr, int bytes)
{
	return VTPU(pdev)->absent ? UINT32_MAX >> (32 - 8 * bytes) :
				    pci_default_read_config(pdev, addr, bytes);
}
