// SPDX-License-Identifier: MIT
/*
 * bits.c - every known-answer program on every way to run it: the same bits.
 *
 * {executor} x {instruction set} x {threads}, in process. Prints the XXH3 of
 * each written tensor, compares everything with the scalar kernels on the
 * reference executor, and that with the golden hash in programs.c. The first
 * difference is named by tensor and index.
 */
#include <xxhash.h>

#include "kernels/kernels.h"

#include "preset.h"
#include "programs.h"
#include "unit/hand.h"
#include "unit/tap.h"

extern const struct vtpu_kernels vtpu_kernels_avx512_portable;

/** struct job - a program and its memory */
struct job {
	const struct bits_program *what;
	struct vtpu_program *program;
	struct vtpu_hw_geometry geometry;
	struct hand_run run;
	uint64_t bytes[VTPU_MAX_BASES];
	uint8_t *want[VTPU_MAX_BASES]; /* what the first way gave */
};

static bool written(const struct job *j, uint32_t base)
{
	return j->program->base[base].flags & VTPU_BASE_WRITE;
}

static bool job_load(struct job *j)
{
	static struct vtpu_load_record records[VTPU_MAX_RECORDS];
	struct vtpu_load_request req = {
		.geometry = &j->geometry,
		.caps = VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV | VTPU_CAP_ICI,
		.flags = j->what->racy ? 0 : VTPU_LOAD_STRICT,
	};
	struct vtpu_load_result result;
	size_t bytes;
	void *image = j->what->build(&bytes);
	char err[128];

	vtpu_preset_geometry("v3", 8, NULL, &j->geometry, err, sizeof(err));
	req.image = image;
	req.bytes = bytes;
	if (vtpu_program_load(&req, &j->program, &result, records)) {
		tap_ok(false, "%s loads", j->what->name);
		printf("# status %#x, record kind %u, unit %u, index %u, field %u, have %#" PRIx64
		       ", need %#" PRIx64 "\n",
		       result.status, records[0].kind, records[0].unit, records[0].index,
		       records[0].field, (uint64_t)records[0].have, (uint64_t)records[0].need);
		free(image);
		return false;
	}
	if (j->what->racy)
		tap_ok(result.races > 0, "%s: the loader finds its races (%u)", j->what->name,
		       result.races);
	free(image);
	return true;
}

static void job_fill(struct job *j)
{
	for (uint32_t b = 0; b < j->program->nbases; b++) {
		const struct vtpu_image_base *base = &j->program->base[b];
		bool odd = !strncmp(base->name, "odd", 3);
		uint32_t size = strstr(base->name, "bf16") ? 2 : 4;

		j->bytes[b] = (j->program->width - 1) * base->core_stride + base->extent;
		j->run.run.base[b] = hand_alloc(j->bytes[b] + 64);
		j->want[b] = hand_alloc(j->bytes[b] + 64);
		for (uint64_t i = 0; i < j->bytes[b] / size; i++) {
			uint32_t bits = bits_input(b, i, odd) >> (32 - 8 * size);

			memcpy(j->run.run.base[b] + size * i, &bits, size);
		}
	}
}

static bool same_tensor(const struct job *j, const char *way, uint32_t b)
{
	const uint8_t *got = j->run.run.base[b], *want = j->want[b];

	for (uint64_t i = 0; i < j->bytes[b]; i++) {
		if (got[i] == want[i])
			continue;
		printf("# %s on %s: tensor %s differs first at byte %" PRIu64
		       " (f32 element %" PRIu64 ")\n",
		       j->what->name, way, j->program->base[b].name, i, i / 4);
		return false;
	}
	return true;
}

static uint64_t hash_all(const struct job *j, bool print)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t hash;

	XXH3_64bits_reset(state);
	for (uint32_t b = 0; b < j->program->nbases; b++) {
		if (!written(j, b))
			continue;
		if (print)
			printf("# %-12s %-14s %016" PRIx64 "\n", j->what->name,
			       j->program->base[b].name,
			       (uint64_t)XXH3_64bits(j->run.run.base[b], j->bytes[b]));
		XXH3_64bits_update(state, j->run.run.base[b], j->bytes[b]);
	}
	hash = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return hash;
}

/* Runs from the same start as any other: nothing left in VMEM, results cleared. */
static bool run_way(struct job *j, const char *way, const struct vtpu_kernels *k,
		    struct vtpu_pool *pool, bool reference, bool first)
{
	bool ok;

	j->run.run.kernels = k;
	j->run.run.reference = reference;
	/* The one that is plain forms all products; the other skips zeros where it may. */
	j->run.run.dense = reference;
	for (uint32_t c = 0; c < j->program->width; c++)
		memset(j->run.run.core[c].vmem, 0, j->program->vmem_bytes);
	for (uint32_t b = 0; b < j->program->nbases; b++) {
		if (written(j, b))
			memset(j->run.run.base[b], 0, j->bytes[b]);
	}
	hand_start(&j->run, pool);
	hand_wait(&j->run);
	ok = j->run.run.status == VTPU_ST_OK;
	for (uint32_t b = 0; b < j->program->nbases; b++) {
		if (!written(j, b))
			continue;
		if (first)
			memcpy(j->want[b], j->run.run.base[b], j->bytes[b]);
		ok &= same_tensor(j, way, b);
	}
	return ok;
}

static void job_ways(struct job *j)
{
	static const unsigned int threads[] = { 1, 4 };
	const struct {
		const char *name;
		const struct vtpu_kernels *kernels;
	} isa[] = {
		{ "scalar", vtpu_kernels_select(VTPU_ISA_SCALAR) },
		{ "avx2", vtpu_kernels_select(VTPU_ISA_AVX2) },
		{ "avx512", vtpu_kernels_select(VTPU_ISA_AVX512) },
		{ "avx512, portable", &vtpu_kernels_avx512_portable },
	};
	bool first = true;

	for (size_t i = 0; i < sizeof(isa) / sizeof(isa[0]); i++) {
		int have = vtpu_kernels_isa(isa[i].kernels);

		/* A CPU without the set selects a lesser one, which has its own rows. */
		if (i < 3 && strcmp(vtpu_isa_name(have), isa[i].name)) {
			tap_ok(true, "%s: %s # SKIP this CPU has no %s", j->what->name, isa[i].name,
			       isa[i].name);
			continue;
		}
		if (i == 3 && vtpu_kernels_isa(isa[1].kernels) != VTPU_ISA_AVX2) {
			tap_ok(true, "%s: %s # SKIP this CPU has no FMA", j->what->name,
			       isa[i].name);
			continue;
		}
		for (int t = 0; t < 2; t++) {
			struct vtpu_pool *pool = vtpu_pool_create(threads[t], NULL, NULL, NULL);

			for (int reference = 1; reference >= 0; reference--) {
				char way[64];

				snprintf(way, sizeof(way), "%s, %u thread%s, %s executor",
					 isa[i].name, threads[t], threads[t] > 1 ? "s" : "",
					 reference ? "reference" : "parallel");
				tap_ok(run_way(j, way, isa[i].kernels, pool, reference, first),
				       "%s: %s", j->what->name, way);
				if (first)
					tap_is(hash_all(j, true), j->what->golden, "golden hash");
				first = false;
			}
			vtpu_pool_destroy(pool);
		}
	}
}

int main(void)
{
	for (size_t i = 0; i < bits_count; i++) {
		static struct job j;

		memset(&j, 0, sizeof(j));
		j.what = &bits_programs[i];
		if (!job_load(&j))
			continue;
		hand_run_init(&j.run, j.program, &vtpu_kernels_scalar);
		j.run.run.geometry = &j.geometry;
		job_fill(&j);
		job_ways(&j);
		for (uint32_t b = 0; b < j.program->nbases; b++) {
			free(j.run.run.base[b]);
			free(j.want[b]);
		}
		hand_run_free(&j.run);
		vtpu_program_put(j.program);
	}
	return tap_done();
}
