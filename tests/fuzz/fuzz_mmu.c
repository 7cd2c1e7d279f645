// SPDX-License-Identifier: MIT
/*
 * fuzz_mmu.c - libFuzzer target: page tables, hostile in every way, against the walker.
 *
 * The input writes entries into a few tables, which may name each other, memory, or nothing
 * that there is, and asks for ranges. An oracle that knows the rules of vtpu_hw.h and nothing
 * else translates page by page; both must agree on where each range leads, how far it is
 * contiguous, and on what is refused. Nothing outside HBM may be read (AddressSanitizer).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "script.h"

#define TABLES	  8
#define HBM_BYTES (4 * VTPU_LARGE_BYTES)
#define MAX_PAGES 2048 /* that a range may have */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Oracle ------------------------------------------------------------------- */

struct page {
	enum vtpu_hw_status status;
	uint64_t addr;
	bool system, write;
};

/* One page, by the table in vtpu_hw.h: level, leaf, what else may be set. */
static struct page translate(const struct vtpu_chip *chip, uint64_t root, uint64_t va)
{
	struct page page = { .status = VTPU_ST_UNMAPPED };
	uint64_t table = root, addr, pte;
	int level;

	if (va < VTPU_LARGE_BYTES || va >> 48)
		return page;
	for (level = 3; level >= 0; level--) {
		memcpy(&pte, chip->hbm + table + (va >> (12 + 9 * level) & 511) * 8, 8);
		if (!(pte & VTPU_PTE_VALID))
			return page;
		page.status = VTPU_ST_BAD_PTE;
		addr = pte & 0x000ffffffffff000ULL;
		if (pte & 0xfff0000000000ff0ULL)
			return page;
		if (level && !(pte & VTPU_PTE_LEAF)) {
			if (pte & (VTPU_PTE_WRITE | VTPU_PTE_SYSTEM) || addr > HBM_BYTES - 4096)
				return page;
			table = addr;
			page.status = VTPU_ST_UNMAPPED;
			continue;
		}
		if (!level == !!(pte & VTPU_PTE_LEAF) || level > 1)
			return page;
		if (level && addr & (VTPU_LARGE_BYTES - 1))
			return page;
		if (!(pte & VTPU_PTE_SYSTEM) && addr >= HBM_BYTES)
			return page;
		page.status = VTPU_ST_OK;
		page.addr = addr + (va & (level ? VTPU_LARGE_BYTES - 1 : 4095));
		page.system = pte & VTPU_PTE_SYSTEM;
		page.write = pte & VTPU_PTE_WRITE;
		return page;
	}
	return page;
}

/* Bytes from @va on that lie together, up to @want and the end of its page */
static uint64_t reach(const struct vtpu_chip *chip, uint64_t root, uint64_t va, uint64_t want,
		      const struct page *first)
{
	uint64_t done = 4096 - va % 4096;

	while (done < want) {
		struct page next = translate(chip, root, va + done);

		if (next.status != VTPU_ST_OK || next.addr != first->addr + done ||
		    next.system != first->system || next.write != first->write)
			break;
		done += 4096;
	}
	return done;
}

/* ---- Script --------------------------------------------------------------------- */

/* Mostly what the skeleton below maps, else what the few tables may lead to, or anything */
static uint64_t some_va(struct script *s)
{
	uint8_t how = take(s, 1);

	if (how < 160)
		return VTPU_LARGE_BYTES + take(s, 3) % (3 * VTPU_LARGE_BYTES);
	if (how < 240)
		return (take(s, 1) & 1) << 39 | (take(s, 1) & 3) << 30 | (take(s, 1) & 7) << 21 |
		       (take(s, 2) & 511) << 12 | (take(s, 2) & 4095);
	return take(s, 6) & (VTPU_VA_END - 1);
}

static uint64_t some_entry(struct script *s)
{
	uint64_t flags = take(s, 1) & 15, number = take(s, 1);

	switch (take(s, 1) % 8) {
	case 0:
	case 1:
	case 2:
		return (1 + number % TABLES) * 4096 | VTPU_PTE_VALID;
	case 3:
	case 4:
		return number * 4096 | flags | VTPU_PTE_VALID;
	case 5:
		return number % 6 * VTPU_LARGE_BYTES | flags | VTPU_PTE_VALID;
	case 6:
		return take(s, 8) | VTPU_PTE_VALID;
	default:
		return take(s, 8);
	}
}

/* Something valid to begin with: 512 small pages that touch, then two large ones that do */
static void skeleton(struct vtpu_chip *chip)
{
	uint64_t *table = (uint64_t *)chip->hbm;
	uint32_t i;

	memset(table, 0, (1 + TABLES) * 4096);
	table[1 * 512] = 2 * 4096 | VTPU_PTE_VALID;
	table[2 * 512] = 3 * 4096 | VTPU_PTE_VALID;
	table[3 * 512 + 1] = 4 * 4096 | VTPU_PTE_VALID;
	for (i = 0; i < 512; i++)
		table[4 * 512 + i] = i * 4096 | VTPU_PTE_VALID | VTPU_PTE_WRITE;
	for (i = 1; i < 3; i++)
		table[3 * 512 + 1 + i] = i * VTPU_LARGE_BYTES | VTPU_PTE_VALID | VTPU_PTE_LEAF |
					 VTPU_PTE_WRITE;
}

static void write_entries(struct vtpu_chip *chip, struct script *s)
{
	uint64_t *table = (uint64_t *)(chip->hbm + (1 + take(s, 1) % TABLES) * 4096);
	uint64_t entry = some_entry(s), step = (take(s, 1) & 3) * 4096;
	uint32_t at = take(s, 2) & 511, n = 1 + (take(s, 1) & 1 ? take(s, 2) & 511 : 0);

	if (take(s, 1) & 1)
		at &= 7;
	while (n-- && at < 512) {
		table[at++] = entry;
		entry += step;
	}
}

/* Change one bit of an entry that may be good. */
static void flip(struct vtpu_chip *chip, struct script *s)
{
	uint64_t *table = (uint64_t *)(chip->hbm + (1 + take(s, 1) % TABLES) * 4096);
	uint32_t at = take(s, 2) & 511, bit = take(s, 1) & 63;

	table[take(s, 1) & 1 ? at & 7 : at] ^= 1ULL << (take(s, 1) & 1 ? bit & 3 : bit);
}

static void wrong(const char *what, uint64_t va, uint64_t got, uint64_t want)
{
	fprintf(stderr, "va 0x%llx: %s is 0x%llx, expected 0x%llx\n", (unsigned long long)va, what,
		(unsigned long long)got, (unsigned long long)want);
	abort();
}

static void ask(const struct vtpu_chip *chip, struct script *s)
{
	uint64_t pages = take(s, 1) & 15 ? 16 : MAX_PAGES, covered, bytes;
	uint64_t va = some_va(s), want = 1 + take(s, 3) % (pages * 4096);
	unsigned int budget = take(s, 1), *limit = take(s, 1) & 1 ? &budget : NULL;
	struct vtpu_extent got = { 0 };
	enum vtpu_hw_status st;
	struct page page;

	if (want > VTPU_VA_END - va)
		want = VTPU_VA_END - va;
	st = vtpu_mmu_extent(chip, 4096, va, want, limit, &got);
	page = translate(chip, 4096, va);
	if (st != page.status)
		wrong("status", va, st, page.status);
	if (st != VTPU_ST_OK)
		return;
	if (got.addr != page.addr)
		wrong("address", va, got.addr, page.addr);
	if (got.system != page.system || got.write != page.write)
		wrong("right", va, got.system * 2u + got.write, page.system * 2u + page.write);
	bytes = reach(chip, 4096, va, want, &page);
	covered = got.bytes < want ? got.bytes : want;
	if (!got.bytes || covered > bytes)
		wrong("length", va, got.bytes, bytes);
	/* Cut short only by a budget that is used up */
	if (covered < want && covered < bytes && !(limit && !budget))
		wrong("length", va, got.bytes, bytes);
	if (!page.system && got.addr + got.bytes > HBM_BYTES)
		wrong("end in HBM", va, got.addr + got.bytes, HBM_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vtpu_chip *chip;
	struct script s = { data, size };

	if (!chip) {
		chip = calloc(1, sizeof(*chip));
		if (!chip)
			abort();
		chip->hbm = aligned_alloc(4096, HBM_BYTES);
		chip->hbm_bytes = HBM_BYTES;
	}
	if (!chip->hbm)
		abort();
	skeleton(chip);
	while (s.left) {
		switch (take(&s, 1) % 4) {
		case 0:
			write_entries(chip, &s);
			break;
		case 1:
			flip(chip, &s);
			break;
		default:
			ask(chip, &s);
			break;
		}
	}
	return 0;
}
