// SPDX-License-Identifier: MIT
/*
 * core.c - the private memories of a core.
 *
 * Mapped when a job first needs the core, so that a board of 64 cores costs no
 * memory until it is used. Linux (and QEMU's other hosts) give zeroed pages.
 */
#include <string.h>
#include <sys/mman.h>

#include "chip.h"

#define VMEM_SLACK 4096 /* kernels may read a vector beyond the last byte */

bool vtpu_core_map(struct vtpu_chip *chip, struct vtpu_core *core)
{
	size_t vmem = chip->geometry.vmem_bytes, smem = chip->geometry.smem_bytes;
	uint8_t *map, *aligned;

	if (core->map)
		return true;
	core->map_bytes = vmem + VMEM_SLACK + smem + VTPU_LARGE_BYTES;
	map = mmap(NULL, core->map_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return false;
	/* Huge pages spare the kernels most TLB misses; without them all works as well. */
	aligned = map + (-(uintptr_t)map & (VTPU_LARGE_BYTES - 1));
#ifdef MADV_HUGEPAGE
	madvise(aligned, vmem, MADV_HUGEPAGE);
#endif
	core->map = map;
	core->mem.vmem = aligned;
	core->mem.smem = (uint32_t *)(aligned + vmem + VMEM_SLACK);
	return true;
}

void vtpu_core_unmap(struct vtpu_core *core)
{
	if (core->map)
		munmap(core->map, core->map_bytes);
	core->map = NULL;
	core->mem = (struct vtpu_core_mem){ 0 };
	core->vmem_dirty = 0;
	core->smem_dirty = 0;
}

/* No job may be on it. Its memory is mapped anew, zeroed, by the next one. */
void vtpu_core_reset(struct vtpu_core *core)
{
	vtpu_core_unmap(core);
}
