// SPDX-License-Identifier: MIT
/*
 * bench_model.c - row model-mm1024, and a table of modelled products to compare with.
 *
 * The right column of each table was computed before this model was written, by
 * another simulator of the same formulas (a prototype, not hardware): 1024^3 in
 * bf16 on one v3 core, in several ways to cut and buffer it, and a sweep over
 * sizes. Rows say how far the model is from it; the notes say why.
 *
 * Exits with 1 when the bar is missed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mm_program.h"
#include "preset.h"
#include "program.h"
#include "row.h"

#define BAR 0.91

static uint64_t modelled_cycles(const struct mm *mm)
{
	static struct vtpu_load_record records[VTPU_MAX_RECORDS];
	struct vtpu_hw_geometry geometry;
	struct vtpu_load_result result;
	struct vtpu_program *program;
	char err[128];
	size_t bytes;
	void *image = mm_image(mm, &bytes);
	struct vtpu_load_request req = {
		.image = image,
		.bytes = bytes,
		.geometry = &geometry,
		.caps = VTPU_CAP_F32 | VTPU_CAP_BF16,
		.flags = VTPU_LOAD_STRICT,
	};

	vtpu_preset_geometry("v3", 8, NULL, &geometry, err, sizeof(err));
	if (mm_place(mm).end > geometry.vmem_bytes ||
	    vtpu_program_load(&req, &program, &result, records)) {
		fprintf(stderr,
			"load failed: status %#x, record kind %u unit %u index %u field %u, vmem %u\n",
			result.status, records[0].kind, records[0].unit, records[0].index,
			records[0].field, mm_place(mm).end);
		exit(1);
	}
	vtpu_program_put(program);
	free(image);
	return result.cycles;
}

static double ideal_cycles(const struct mm *mm)
{
	return (double)mm->m * mm->n * mm->k / (2 * 128 * 128);
}

/** struct row - a way to compute 1024^3, and what the table says */
struct row {
	const char *name;
	uint32_t bm, bn, buffers, split, width;
	bool f32_out;
	uint64_t table;
};

static const struct row rows[] = {
	{ "single buffer", 1024, 256, 1, 1, 1, false, 60541 },
	{ "2 buffers", 1024, 256, 2, 1, 1, false, 37751 },
	{ "2 buffers, result in 4 pieces", 1024, 256, 2, 4, 1, false, 36374 },
	{ "3 buffers, 4 pieces", 1024, 256, 3, 4, 1, false, 35831 },
	{ "3 buffers, 4 pieces, f32 result", 1024, 256, 3, 4, 1, true, 37368 },
	{ "3 buffers, 4 pieces, bn=128", 1024, 128, 3, 4, 1, false, 68079 },
	{ "3 buffers, 4 pieces, bm=256", 256, 256, 3, 4, 1, false, 43358 },
	{ "2 cores, rows split, 3 buffers", 512, 256, 3, 4, 2, false, 18577 },
};

static struct mm product(uint32_t m, uint32_t n, uint32_t k, uint32_t bm, uint32_t bn, uint32_t bk)
{
	return (struct mm){ .m = m,
			    .n = n,
			    .k = k,
			    .bm = bm,
			    .bn = bn,
			    .bk = bk,
			    .buffers = 3,
			    .split = 4,
			    .keep_a = k <= 1024,
			    .width = 1 };
}

static uint64_t print_ways(void)
{
	uint64_t best = UINT64_MAX;

	printf("# 1024^3 bf16, v3 core, ideal 32768 cycles\n");
	printf("# %-34s %8s %6s %8s %6s %8s %9s %8s\n", "", "EW", "MXU%", "fused", "MXU%", "table",
	       "EW-table", "rows");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct mm mm = product(1024 / r->width, 1024, 1024, r->bm, r->bn, 128);
		uint64_t separate, fused, plain;
		double ideal;

		mm.buffers = r->buffers;
		mm.split = r->split;
		mm.width = r->width;
		mm.f32_out = r->f32_out;
		ideal = ideal_cycles(&mm);
		separate = modelled_cycles(&mm);
		mm.fused = true;
		fused = modelled_cycles(&mm);
		mm.row_major = true;
		plain = modelled_cycles(&mm);
		printf("# %-34s %8" PRIu64 " %6.1f %8" PRIu64 " %6.1f %8" PRIu64
		       " %+8.1f%% %8" PRIu64 "\n",
		       r->name, separate, 100 * ideal / separate, fused, 100 * ideal / fused,
		       r->table, 100.0 * separate / r->table - 100, plain);
		if (r->width == 1 && !r->f32_out && fused < best)
			best = fused;
	}
	return best;
}

static void print_sizes(void)
{
	/* size, bm, bn, bk, and the table's use of the array in tenths of a percent */
	static const uint32_t size[][5] = {
		{ 128, 128, 128, 128, 38 },    { 256, 256, 256, 128, 225 },
		{ 512, 512, 256, 128, 651 },   { 1024, 1024, 256, 128, 915 },
		{ 2048, 1024, 512, 256, 988 }, { 4096, 1024, 512, 512, 999 },
	};

	printf("# sizes, 3 buffers, 4 pieces, fused\n# %-10s %10s %6s %8s\n", "", "cycles", "MXU%",
	       "table");
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		const uint32_t *s = size[i];
		struct mm mm = product(s[0], s[0], s[0], s[1], s[2], s[3]);
		uint64_t cycles;

		mm.fused = true;
		cycles = modelled_cycles(&mm);
		printf("# %-10u %10" PRIu64 " %6.1f %8.1f\n", s[0], cycles,
		       100 * ideal_cycles(&mm) / cycles, s[4] / 10.0);
	}
}

static void print_notes(void)
{
	static const char *const notes[] = {
		"EW: epilogue as an instruction of the VPU, as in the table; fused: in the MATMUL; rows: fused, with",
		"A, B and C as plain matrices in HBM, where each row of a tile is a run and costs a cycle more.",
		"Where the model differs from the table by more than half a percent:",
		"- single buffer, bm=256: an instruction signals when its result is there. So a buffer is free 262 cycles",
		"  (2 x 128 - 2 + 8) after the array has taken its last row; in the table, at once. With one buffer each of",
		"  32 steps shows it: + 8384, and - 4384 for 8 tiles of A that are fetched ahead. With bm=256 a step is 256",
		"  cycles, and the ring of three buffers takes (16 + 138 + 376 + 128 + 256 + 262) / 3 = 392 a step; without",
		"  the 262, 305 as in the table. (128: an array that had to wait loads its weights in the open.)",
		"- 2 buffers: A's tiles have a place of their own here and are fetched ahead; in the table A and B of a",
		"  step come as one transfer into one buffer, and 53 cycles leak in each step of the first column.",
		"- sizes: 128 leaves one tile for two arrays; its rest is latency, here with the bias fetched first. From",
		"  512 up the fused epilogue saves what the table's epilogue instruction takes at the end.",
		"All else: one cycle a contiguous run and a second setup (A and B are two transfers here).",
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		printf("# %s\n", notes[i]);
}

int main(void)
{
	uint64_t cycles = print_ways();

	print_sizes();
	print_notes();
	return bench_row(&(struct bench_row){
		       .id = "model-mm1024",
		       .what = "modelled 1024^3 bf16, one v3 core, against the ideal",
		       .unit = "cycles",
		       .ours = (double)cycles,
		       .peer = 32768,
		       .ratio = 32768.0 / (double)cycles,
		       .bar = BAR,
		       .runs = 1,
	       }) ?
		       0 :
		       1;
}
