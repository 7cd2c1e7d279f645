/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_device.h - private state of the PCIe shell.
 *
 * The shell puts a chip (model/) behind a PCI function: it owns the BARs, the
 * interrupts, guest DMA and everything that QEMU can ask about the device. What
 * registers and queues mean is the chip's business alone.
 *
 * Threads. Everything here runs in the main loop or a vCPU thread with the BQL
 * held, except the host operations that vtpu_model.h lets any thread call; none
 * of those ever takes the BQL, so that a reset may wait for them while holding
 * it.
 */
#ifndef VTPU_DEVICE_H
#define VTPU_DEVICE_H

#include "qemu/thread.h"
#include "qemu/timer.h"
#include "qemu/main-loop.h"
#include "qom/object.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "system/hostmem.h"
#include "vtpu_compat.h"
#include "vtpu_model.h"

#define TYPE_VTPU "vtpu"
OBJECT_DECLARE_SIMPLE_TYPE(VtpuState, VTPU)

/** struct vtpu_props - properties as the user gave them; vtpu_props.c has their meaning */
struct vtpu_props {
	char *preset;
	char *isa;
	char *executor;
	char *pace;
	bool dense;
	uint32_t cores;
	uint32_t vectors;
	uint32_t threads;
	uint32_t watchdog_ms;
	uint64_t serial;
	uint32_t custom_clock_khz;
	uint32_t custom_mxu_per_core;
	uint32_t custom_hbm_gbps;
	uint32_t custom_pcie_gbps;
	uint64_t custom_vmem_bytes;
};

/** struct vtpu_dma_queue - requests that wait for the main loop; see vtpu_dma.c */
struct vtpu_dma_queue {
	QemuMutex lock;
	QEMUBH *bh;
	/** @head: oldest request, @tail: where the next one is hung in; under @lock */
	struct vtpu_dma *head, **tail;
	/** @moved: bytes of the oldest request that are done; main loop only */
	size_t moved;
	/** @closed: refuse everything, under @lock */
	bool closed;
	/** @iommu: a guest-visible IOMMU translates our addresses */
	bool iommu;
};

struct VtpuState {
	PCIDevice parent_obj;

	struct vtpu_props props;
	/** @inject: the text last given to property inject */
	char *inject;

	/** @backend: HBM; @hbm is its memory, all of BAR2 */
	HostMemoryBackend *backend;
	MemoryRegion *hbm;
	/** @hbm_discard: pages can be given back and then read as zero */
	bool hbm_discard;
	/** @hbm_pristine: nothing can have written to HBM since it was zeroed */
	bool hbm_pristine;

	MemoryRegion regs;
	MemoryRegion regs_bar, hbm_bar, msix_bar;
	/** @absent: taken off the bus by injection; what then lies over the BARs. See vtpu_absent.c */
	bool absent;
	MemoryRegion absent_regs, absent_hbm, absent_msix;
	QEMUBH *vanish_bh;

	struct vtpu_pool *pool;
	struct vtpu_chip *chip;

	/** @bh: control context; @timer_due: it shall run vtpu_chip_timer() first */
	QEMUBH *bh;
	QEMUTimer *timer;
	bool timer_due;

	struct vtpu_dma_queue dma;
	/** @model_errors: sentences of the chip about itself that were shown */
	unsigned int model_errors;
};

/** vtpu_name() - what messages call the device */
static inline const char *vtpu_name(VtpuState *s)
{
	return DEVICE(s)->id ?: TYPE_VTPU;
}

/* vtpu_props.c */
void vtpu_props_class_init(ObjectClass *oc);
bool vtpu_props_config(VtpuState *s, struct vtpu_chip_config *config, Error **errp);

/* vtpu_host.c */
extern const struct vtpu_host_ops vtpu_host_ops;
void vtpu_host_init(VtpuState *s);
void vtpu_host_fini(VtpuState *s);
void vtpu_thread_start(void *unused);
void vtpu_thread_stop(void *unused);

/* vtpu_dma.c */
void vtpu_dma_init(VtpuState *s);
void vtpu_dma_fini(VtpuState *s);
void vtpu_dma_open(VtpuState *s);
void vtpu_dma_close(VtpuState *s);
void vtpu_dma(void *host, struct vtpu_dma *dma);

/* vtpu_hbm.c */
bool vtpu_hbm_attach(VtpuState *s, Error **errp);
void vtpu_hbm_detach(VtpuState *s);
bool vtpu_hbm_discard(void *host, uint64_t offset, uint64_t bytes);
void vtpu_hbm_dirty(void *host, uint64_t offset, uint64_t bytes);

/* vtpu_absent.c */
void vtpu_absent_init(VtpuState *s);
void vtpu_absent_fini(VtpuState *s);
void vtpu_vanish_soon(void *host);
uint32_t vtpu_config_read(PCIDevice *pdev, uint32_t addr, int bytes);

/* vtpu_pool.c */
struct vtpu_pool *vtpu_shared_pool_get(uint32_t threads, Error **errp);
void vtpu_shared_pool_put(struct vtpu_pool *pool);

/* vtpu_qom.c */
void vtpu_qom_class_init(ObjectClass *oc);
bool vtpu_inject(VtpuState *s, const char *text, Error **errp);

#endif /* VTPU_DEVICE_H */
