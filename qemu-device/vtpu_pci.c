/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_pci.c - the PCIe function: BARs, capabilities, reset, coming and going.
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/pci/pcie_aer.h"
#include "migration/vmstate.h"
#include "vtpu_device.h"
#include "trace.h"

#define MSIX_BAR_BYTES	4096
#define MSIX_PBA_OFFSET 2048

/* ---- Registers ---------------------------------------------------------- */

static uint64_t vtpu_mmio_read(void *opaque, hwaddr offset, unsigned int size)
{
	VtpuState *s = opaque;
	uint64_t value = s->chip ? vtpu_chip_read(s->chip, offset, size) : 0;

	trace_vtpu_mmio_read(vtpu_name(s), offset, size, value);
	return value;
}

static void vtpu_mmio_write(void *opaque, hwaddr offset, uint64_t value, unsigned int size)
{
	VtpuState *s = opaque;

	trace_vtpu_mmio_write(vtpu_name(s), offset, size, value);
	if (s->chip)
		vtpu_chip_write(s->chip, offset, value, size);
}

/* Every access reaches the chip, which refuses and counts the bad ones. */
static const MemoryRegionOps vtpu_mmio_ops = {
	.read = vtpu_mmio_read,
	.write = vtpu_mmio_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
	.impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* ---- Configuration space ------------------------------------------------ */

static void vtpu_config_write(PCIDevice *pdev, uint32_t addr, uint32_t value, int bytes)
{
	if (VTPU(pdev)->absent)
		return;
	pci_default_write_config(pdev, addr, value, bytes);
	pcie_cap_flr_write_config(pdev, addr, value, bytes);
	pcie_aer_write_config(pdev, addr, value, bytes);
}

/*
 * At fixed offsets, see VTPU_CFG_*; error reporting comes first because it
 * starts the list of extended capabilities.
 */
static bool vtpu_capabilities_init(VtpuState *s, Error **errp)
{
	PCIDevice *pdev = PCI_DEVICE(s);

	QEMU_BUILD_BUG_ON(VTPU_CFG_AER + PCI_ERR_SIZEOF > VTPU_CFG_SERIAL);

	if (pcie_endpoint_cap_init(pdev, VTPU_CFG_PCIE) < 0) {
		error_setg(errp, "no room for the PCI Express capability");
		return false;
	}
	pcie_cap_deverr_init(pdev);
	pcie_cap_flr_init(pdev);
	if (pcie_aer_init(pdev, PCI_ERR_VER, VTPU_CFG_AER, PCI_ERR_SIZEOF, errp) < 0) {
		pcie_cap_exit(pdev);
		return false;
	}
	pcie_dev_ser_num_init(pdev, VTPU_CFG_SERIAL, s->props.serial);
	return true;
}

static void vtpu_capabilities_fini(VtpuState *s)
{
	pcie_aer_exit(PCI_DEVICE(s));
	pcie_cap_exit(PCI_DEVICE(s));
}

static bool vtpu_msix_init(VtpuState *s, Error **errp)
{
	PCIDevice *pdev = PCI_DEVICE(s);
	unsigned int i;

	memory_region_init(&s->msix_bar, OBJECT(s), "vtpu-msix", MSIX_BAR_BYTES);
	if (msix_init(pdev, s->props.vectors, &s->msix_bar, VTPU_BAR_MSIX, 0, &s->msix_bar,
		      VTPU_BAR_MSIX, MSIX_PBA_OFFSET, VTPU_CFG_MSIX, errp) < 0)
		return false;
	for (i = 0; i < s->props.vectors; i++)
		msix_vector_use(pdev, i);
	return true;
}

static void vtpu_register_bars(VtpuState *s)
{
	const uint8_t mem64 = PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64;
	PCIDevice *pdev = PCI_DEVICE(s);

	memory_region_init_io(&s->regs, OBJECT(s), &vtpu_mmio_ops, s, "vtpu-regs", VTPU_BAR0_BYTES);
	memory_region_init(&s->regs_bar, OBJECT(s), "vtpu-regs-bar", VTPU_BAR0_BYTES);
	memory_region_add_subregion(&s->regs_bar, 0, &s->regs);
	memory_region_init(&s->hbm_bar, OBJECT(s), "vtpu-hbm-bar", memory_region_size(s->hbm));
	memory_region_add_subregion(&s->hbm_bar, 0, s->hbm);
	vtpu_absent_init(s);
	pci_register_bar(pdev, VTPU_BAR_REGS, mem64, &s->regs_bar);
	pci_register_bar(pdev, VTPU_BAR_HBM, mem64 | PCI_BASE_ADDRESS_MEM_PREFETCH, &s->hbm_bar);
	pci_register_bar(pdev, VTPU_BAR_MSIX, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->msix_bar);
}

/* ---- Reset -------------------------------------------------------------- */

/*
 * QEMU calls all three of these a cold reset: of the function alone (FLR), of
 * the bus behind a port, of the machine. Only the last one takes the root bus
 * along, and only then does HBM lose its contents.
 */
static enum vtpu_reset vtpu_reset_kind(VtpuState *s)
{
	BusState *root = BUS(pci_device_root_bus(PCI_DEVICE(s)));

	return bus_is_in_reset(root) ? VTPU_RESET_COLD : VTPU_RESET_FUNCTION;
}

static void vtpu_reset_enter(Object *obj, ResetType type)
{
	VtpuState *s = VTPU(obj);
	enum vtpu_reset kind = vtpu_reset_kind(s);

	trace_vtpu_reset_phase(vtpu_name(s), "enter",
			       kind == VTPU_RESET_COLD ? "cold" : "function");
	if (s->chip)
		vtpu_chip_reset_begin(s->chip, kind);
}

/* The model may wait for its threads here: bounded, and none of them waits for us. */
static void vtpu_reset_hold(Object *obj, ResetType type)
{
	VtpuState *s = VTPU(obj);

	if (!s->chip)
		return;
	trace_vtpu_reset_phase(vtpu_name(s), "hold", "");
	vtpu_dma_close(s);
	vtpu_chip_reset_finish(s->chip);
}

static void vtpu_reset_exit(Object *obj, ResetType type)
{
	VtpuState *s = VTPU(obj);

	if (!s->chip)
		return;
	trace_vtpu_reset_phase(vtpu_name(s), "exit", "");
	s->hbm_pristine = false;
	if (!s->absent)
		vtpu_dma_open(s);
}

/* ---- Coming and going --------------------------------------------------- */

static bool vtpu_chip_init(VtpuState *s, struct vtpu_chip_config *config, Error **errp)
{
	char err[256];

	config->hbm = memory_region_get_ram_ptr(s->hbm);
	config->hbm_bytes = memory_region_size(s->hbm);
	config->pool = s->pool;
	s->chip = vtpu_chip_create(config, &vtpu_host_ops, s, err, sizeof(err));
	if (!s->chip) {
		error_setg(errp, "%s", err);
		return false;
	}
	return true;
}

static void vtpu_chip_fini(VtpuState *s)
{
	vtpu_dma_close(s);
	vtpu_chip_destroy(s->chip);
	s->chip = NULL;
}

static void vtpu_realize(PCIDevice *pdev, Error **errp)
{
	VtpuState *s = VTPU(pdev);
	struct vtpu_chip_config config = { 0 };

	if (!pci_bus_is_express(pci_get_bus(pdev))) {
		error_setg(errp,
			   "vtpu is a PCI Express device: plug it into pcie.0 of -machine q35 or into a "
			   "pcie-root-port");
		return;
	}
	if (!vtpu_props_config(s, &config, errp) || !vtpu_hbm_attach(s, errp))
		return;
	if (!vtpu_capabilities_init(s, errp))
		goto detach_hbm;
	if (!vtpu_msix_init(s, errp))
		goto fini_capabilities;
	s->pool = vtpu_shared_pool_get(s->props.threads, errp);
	if (!s->pool)
		goto fini_msix;
	vtpu_host_init(s);
	if (!vtpu_chip_init(s, &config, errp))
		goto fini_host;
	if (s->inject && !vtpu_inject(s, s->inject, errp))
		goto fini_chip;
	vtpu_register_bars(s);
	return;

fini_chip:
	vtpu_chip_fini(s);
fini_host:
	vtpu_host_fini(s);
	vtpu_shared_pool_put(s->pool);
fini_msix:
	msix_uninit(pdev, &s->msix_bar, &s->msix_bar);
fini_capabilities:
	vtpu_capabilities_fini(s);
detach_hbm:
	vtpu_hbm_detach(s);
}

/* The BARs are unmapped already; jobs end here, whatever they were at. */
static void vtpu_exit(PCIDevice *pdev)
{
	VtpuState *s = VTPU(pdev);

	vtpu_absent_fini(s);
	memory_region_del_subregion(&s->regs_bar, &s->regs);
	memory_region_del_subregion(&s->hbm_bar, s->hbm);
	vtpu_chip_fini(s);
	vtpu_host_fini(s);
	vtpu_shared_pool_put(s->pool);
	msix_uninit(pdev, &s->msix_bar, &s->msix_bar);
	vtpu_capabilities_fini(s);
	vtpu_hbm_detach(s);
}

static void vtpu_finalize(Object *obj)
{
	g_free(VTPU(obj)->inject);
}

static const VMStateDescription vtpu_vmstate = {
	.name = TYPE_VTPU,
	.unmigratable = 1,
};

static void vtpu_class_init(ObjectClass *oc, VTPU_QOM_CONST void *data)
{
	DeviceClass *dc = DEVICE_CLASS(oc);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);
	ResettableClass *rc = RESETTABLE_CLASS(oc);

	pc->realize = vtpu_realize;
	pc->exit = vtpu_exit;
	pc->config_read = vtpu_config_read;
	pc->config_write = vtpu_config_write;
	pc->vendor_id = VTPU_PCI_VENDOR_ID;
	pc->device_id = VTPU_PCI_DEVICE_ID;
	pc->subsystem_vendor_id = VTPU_PCI_VENDOR_ID;
	pc->subsystem_id = VTPU_PCI_DEVICE_ID;
	pc->revision = VTPU_PCI_REVISION;
	pc->class_id = VTPU_PCI_CLASS;
	rc->phases.enter = vtpu_reset_enter;
	rc->phases.hold = vtpu_reset_hold;
	rc->phases.exit = vtpu_reset_exit;
	dc->desc = "virtual TPU (processing accelerator)";
	dc->vmsd = &vtpu_vmstate;
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
	vtpu_props_class_init(oc);
	vtpu_qom_class_init(oc);
}

static const TypeInfo vtpu_types[] = {
	{
		.name = TYPE_VTPU,
		.parent = TYPE_PCI_DEVICE,
		.instance_size = sizeof(VtpuState),
		.instance_finalize = vtpu_finalize,
		.class_init = vtpu_class_init,
		.interfaces =
			(VTPU_QOM_CONST InterfaceInfo[]){
				{ INTERFACE_PCIE_DEVICE },
				{},
			},
	},
};

DEFINE_TYPES(vtpu_types)
