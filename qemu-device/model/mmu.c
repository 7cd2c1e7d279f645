// SPDX-License-Identifier: MIT
/*
 * mmu.c - from virtual addresses to extents of memory.
 *
 * Walks page tables in HBM. The guest may write them at any time, so each entry
 * is read once, and nothing it says is believed before it is checked.
 */
#include "chip.h"

#define PTE_RSVD (~(uint64_t)(VTPU_PTE_FLAGS | VTPU_PTE_ADDR_MASK))

/* Tables are page aligned and inside HBM: vtpu_chip_create() and table_valid() see to it. */
static uint64_t pte_read(const struct vtpu_chip *chip, uint64_t table, uint64_t va,
			 unsigned int level)
{
	unsigned int shift = VTPU_PAGE_SHIFT + level * VTPU_PT_INDEX_BITS;
	const uint64_t *entry = (const uint64_t *)(chip->hbm + table);

	return __atomic_load_n(&entry[va >> shift & (VTPU_PT_ENTRIES - 1)], __ATOMIC_RELAXED);
}

/* May @pte, valid, of @level above 0 and without the leaf bit, name a table? */
static bool table_valid(const struct vtpu_chip *chip, uint64_t pte)
{
	return !(pte & (PTE_RSVD | VTPU_PTE_WRITE | VTPU_PTE_SYSTEM)) &&
	       vtpu_in_hbm(chip, pte & VTPU_PTE_ADDR_MASK, VTPU_PAGE_BYTES, VTPU_PAGE_BYTES);
}

/* May @pte, valid, map @bytes of memory? */
static bool leaf_valid(const struct vtpu_chip *chip, uint64_t pte, uint64_t bytes)
{
	uint64_t addr = pte & VTPU_PTE_ADDR_MASK;

	if ((pte & PTE_RSVD) || addr % bytes)
		return false;
	return (pte & VTPU_PTE_SYSTEM) || vtpu_in_hbm(chip, addr, bytes, bytes);
}

/* Where the walk for one page ended. */
struct walk {
	bool small;	/* in a level-0 table */
	uint64_t table; /* which one, to go on in it */
	uint64_t pte, bytes;
};

static enum vtpu_hw_status walk_down(const struct vtpu_chip *chip, uint64_t root, uint64_t va,
				     unsigned int *reads, struct walk *w)
{
	uint64_t table = root;
	unsigned int level;

	for (level = VTPU_PT_LEVELS - 1; level; level--) {
		w->pte = pte_read(chip, table, va, level);
		++*reads;
		if (!(w->pte & VTPU_PTE_VALID))
			return VTPU_ST_UNMAPPED;
		if (w->pte & VTPU_PTE_LEAF) {
			w->small = false;
			w->bytes = VTPU_LARGE_BYTES;
			return level == 1 && leaf_valid(chip, w->pte, w->bytes) ? VTPU_ST_OK :
										  VTPU_ST_BAD_PTE;
		}
		if (!table_valid(chip, w->pte))
			return VTPU_ST_BAD_PTE;
		table = w->pte & VTPU_PTE_ADDR_MASK;
	}
	w->small = true;
	w->table = table;
	w->bytes = VTPU_PAGE_BYTES;
	return VTPU_ST_OK;
}

static enum vtpu_hw_status walk_page(const struct vtpu_chip *chip, uint64_t va, unsigned int *reads,
				     struct walk *w)
{
	w->pte = pte_read(chip, w->table, va, 0);
	++*reads;
	if (!(w->pte & VTPU_PTE_VALID))
		return VTPU_ST_UNMAPPED;
	if ((w->pte & VTPU_PTE_LEAF) || !leaf_valid(chip, w->pte, VTPU_PAGE_BYTES))
		return VTPU_ST_BAD_PTE;
	return VTPU_ST_OK;
}

enum vtpu_hw_status vtpu_mmu_extent(const struct vtpu_chip *chip, uint64_t root, uint64_t va,
				    uint64_t want, unsigned int *budget, struct vtpu_extent *out)
{
	struct walk w = { 0 };
	unsigned int reads = 0;
	uint64_t done = 0;

	out->pte = 0;
	if (va < VTPU_VA_HBM_START)
		return VTPU_ST_UNMAPPED;
	while (done < want && !(done && budget && reads >= *budget)) {
		uint64_t at = va + done;
		enum vtpu_hw_status st = VTPU_ST_OK;
		uint64_t in_page, addr;
		bool system, write;

		/* Stay in a level-0 table up to its end. */
		if (!w.small || !(at % VTPU_LARGE_BYTES))
			st = walk_down(chip, root, at, &reads, &w);
		if (st == VTPU_ST_OK && w.small)
			st = walk_page(chip, at, &reads, &w);
		if (st != VTPU_ST_OK) {
			/* The caller meets it when it comes there. */
			if (done)
				break;
			out->pte = w.pte;
			return st;
		}
		in_page = at % w.bytes;
		addr = (w.pte & VTPU_PTE_ADDR_MASK) + in_page;
		system = w.pte & VTPU_PTE_SYSTEM;
		write = w.pte & VTPU_PTE_WRITE;
		if (!done) {
			out->addr = addr;
			out->system = system;
			out->write = write;
		} else if (addr != out->addr + done || system != out->system ||
			   write != out->write) {
			break;
		}
		done += w.bytes - in_page;
	}
	out->bytes = done;
	if (budget)
		*budget = reads < *budget ? *budget - reads : 0;
	return VTPU_ST_OK;
}
