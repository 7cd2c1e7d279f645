/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_hbm.c - the memory backend that is the chip's HBM and BAR2.
 *
 * HBM reads as zero at power-on, and nothing of it is left for whoever uses the
 * backend next.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/host-utils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "exec/cpu-common.h"
#include "exec/ramblock.h"
#include "vtpu_device.h"

/*
 * Pages of anonymous private memory go with madvise(), those of a shared file
 * or memfd with a hole. A private mapping of a file would show the file again
 * instead of zeros, and preallocated memory would lose what it was
 * preallocated for.
 */
static bool can_discard(HostMemoryBackend *backend, RAMBlock *rb)
{
	if (backend->prealloc || qemu_ram_pagesize(rb) > VTPU_LARGE_BYTES)
		return false;
	if (qemu_ram_get_fd(rb) < 0)
		return !qemu_ram_is_shared(rb) &&
		       qemu_ram_pagesize(rb) == qemu_real_host_page_size();
	return qemu_ram_is_shared(rb);
}

static void clear(VtpuState *s)
{
	uint64_t bytes = memory_region_size(s->hbm), at;
	uint8_t *hbm = memory_region_get_ram_ptr(s->hbm);

	if (vtpu_hbm_discard(s, 0, bytes))
		return;
	for (at = 0; at < bytes; at += VTPU_LARGE_BYTES) {
		/* Only read what nobody wrote: it stays unallocated. */
		if (!buffer_is_zero(hbm + at, VTPU_LARGE_BYTES))
			memset(hbm + at, 0, VTPU_LARGE_BYTES);
	}
}

/**
 * vtpu_hbm_attach() - take the backend that property hbm names
 *
 * Checks all that would make QEMU's PCI code assert later.
 */
bool vtpu_hbm_attach(VtpuState *s, Error **errp)
{
	g_autofree char *name = NULL;
	MemoryRegion *mr;
	uint64_t bytes;

	if (!s->backend) {
		error_setg(
			errp,
			"property hbm is missing: it names the memory backend that becomes HBM, as in "
			"-object memory-backend-ram,id=hbm0,size=1G,reserve=off -device vtpu,hbm=hbm0");
		return false;
	}
	name = g_strdup(object_get_canonical_path_component(OBJECT(s->backend)));
	if (host_memory_backend_is_mapped(s->backend)) {
		error_setg(errp,
			   "property hbm=%s: this memory backend is in use already, each vtpu needs its own",
			   name);
		return false;
	}
	mr = host_memory_backend_get_memory(s->backend);
	bytes = memory_region_size(mr);
	if (!is_power_of_2(bytes) || bytes < 32 * MiB || bytes > 64 * GiB) {
		error_setg(errp,
			   "property hbm=%s: the backend has %" PRIu64
			   " bytes, expected a power of two "
			   "from 32 MiB to 64 GiB",
			   name, bytes);
		return false;
	}
	if (memory_region_is_rom(mr)) {
		error_setg(errp, "property hbm=%s: the backend is read-only, HBM must be writable",
			   name);
		return false;
	}
	host_memory_backend_set_mapped(s->backend, true);
	s->hbm = mr;
	s->hbm_discard = can_discard(s->backend, mr->ram_block);
	if (object_dynamic_cast(OBJECT(s->backend), TYPE_MEMORY_BACKEND_FILE))
		clear(s);
	s->hbm_pristine = true;
	return true;
}

/** vtpu_hbm_detach() - leave the backend clean for its next user */
void vtpu_hbm_detach(VtpuState *s)
{
	if (!s->hbm_pristine)
		clear(s);
	host_memory_backend_set_mapped(s->backend, false);
	s->hbm = NULL;
}

/**
 * vtpu_hbm_discard() - vtpu_host_ops.discard
 *
 * From any thread, without the BQL: madvise() and fallocate() need no lock of
 * QEMU's. If VFIO starts to pin memory between the check and the call, a peer
 * device may keep seeing the page that was given back, until its driver maps
 * HBM anew; nobody else's memory is involved.
 */
bool vtpu_hbm_discard(void *host, uint64_t offset, uint64_t bytes)
{
	VtpuState *s = host;

	if (s->hbm_pristine)
		return true;
	if (!s->hbm_discard || ram_block_discard_is_disabled())
		return false;
	return ram_block_discard_range(s->hbm->ram_block, offset, bytes) == 0;
}

/** vtpu_hbm_dirty() - vtpu_host_ops.dirty: only somebody who logs writes cares */
void vtpu_hbm_dirty(void *host, uint64_t offset, uint64_t bytes)
{
	VtpuState *s = host;

	if (memory_region_get_dirty_log_mask(s->hbm) & ~(1 << DIRTY_MEMORY_CODE))
		memory_region_set_dirty(s->hbm, offset, bytes);
}
