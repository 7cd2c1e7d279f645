// SPDX-License-Identifier: MIT
/*
 * bench_load.c - how long a load takes for each instance.
 *
 * A double-buffered bf16 product of about 60,000 instructions, loaded for one
 * core and for eight. Prints a row each, of medians of CPU time. Exits
 * with 1 when a bar is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mm_program.h"
#include "preset.h"
#include "program.h"
#include "row.h"

#define RUNS 9

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool measure(const char *name, const struct mm *mm, double bar)
{
	static struct vtpu_load_record records[VTPU_MAX_RECORDS];
	struct vtpu_hw_geometry geometry;
	struct vtpu_load_result result;
	struct vtpu_program *program;
	double run[RUNS], median;
	char id[32], err[128];
	size_t bytes;
	void *image = mm_image(mm, &bytes);

	vtpu_preset_geometry("v3", 8, NULL, &geometry, err, sizeof(err));
	for (int i = 0; i < RUNS; i++) {
		struct vtpu_load_request req = {
			.image = image,
			.bytes = bytes,
			.geometry = &geometry,
			.caps = VTPU_CAP_F32 | VTPU_CAP_BF16,
			.flags = VTPU_LOAD_STRICT,
		};
		double start = now_us();

		if (vtpu_program_load(&req, &program, &result, records)) {
			printf("# load failed: status %#x, first record: kind %u, unit %u, index %u, field %u\n",
			       result.status, records[0].kind, records[0].unit, records[0].index,
			       records[0].field);
			exit(1);
		}
		run[i] = (now_us() - start) / result.instances;
		if (i == RUNS - 1)
			printf("# %s: %u instances, %.2f edges each, %.1f host bytes each\n", name,
			       result.instances, (double)result.edges / result.instances,
			       (double)program->host_bytes / result.instances);
		vtpu_program_put(program);
	}
	free(image);
	qsort(run, RUNS, sizeof(run[0]), by_value);
	median = run[RUNS / 2];
	printf("# load-%s: %.3f us an instance (best %.3f, worst %.3f), bar %.2f: %s\n", name,
	       median, run[0], run[RUNS - 1], bar, median <= bar ? "ok" : "MISSED");
	snprintf(id, sizeof(id), "load-%s", name);
	return bench_row(&(struct bench_row){
		.id = id,
		.what = "load of a program: validate, time, hazards, races; CPU time, against the allowance",
		.unit = "us/instance",
		.ours = median,
		.peer = bar,
		.bar = 1,
		.at_most = true,
		.runs = RUNS,
	});
}

int main(void)
{
	struct mm mm = { .m = 8192,
			 .n = 4096,
			 .k = 4096,
			 .bm = 256,
			 .bn = 256,
			 .bk = 128,
			 .buffers = 2,
			 .split = 4,
			 .width = 1 };
	bool ok;

	ok = measure("width1", &mm, 1.0);
	mm.fused = true;
	ok &= measure("width1-fused", &mm, 1.0);
	mm.row_major = true;
	ok &= measure("width1-rows", &mm, 1.0);
	mm.row_major = mm.fused = false;
	mm.width = 8;
	ok &= measure("width8", &mm, 0.4);
	return ok ? 0 : 1;
}
