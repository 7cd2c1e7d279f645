// SPDX-License-Identifier: MIT
/*
 * test_hazard.c - hazard graph and race reports against a slow, plain answer.
 *
 * The plain answer marks every byte that an instruction reads or writes, takes
 * each pair of instructions whose bytes conflict, and asks whether the graph
 * has a path between them and whether the rule for semaphores orders them on
 * every core. Random small programs, and the cases that are easy to get wrong.
 */
#include "clock.h"
#include "plain_hazards.h"
#include "preset.h"
#include "tap.h"

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;

static struct vtpu_program *load(const void *image, size_t bytes, uint32_t flags)
{
	struct vtpu_load_request req = { .image = image,
					 .bytes = bytes,
					 .geometry = &geometry,
					 .caps = VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV |
						 VTPU_CAP_ICI,
					 .flags = flags };
	struct vtpu_program *program;

	vtpu_program_load(&req, &program, &result, records);
	return program;
}

/* ---- Comparison --------------------------------------------------------------------- */

struct verdict {
	uint32_t missing; /* conflicts without a path */
	uint32_t excess;  /* paths that no chain of conflicts explains, in graphs without joins */
	uint32_t races;	  /* conflicting pairs without order */
	uint32_t far;	  /* of these, on different cores; of all programs */
	uint32_t wrong;	  /* reports that are not one of them */
	bool mismatch;	  /* racy, and not reported, or the other way round */
};

static uint32_t instance_of(const struct vtpu_program *p, uint32_t n, uint32_t node)
{
	return p->instance[node].core * n +
	       text_of(p, p->instance[node].unit, p->instance[node].index);
}

static void compare_paths(const struct vtpu_program *p, uint32_t n, struct verdict *v)
{
	static bool chain[MOST][MOST];

	memset(chain, 0, sizeof(chain));
	for (uint32_t i = 0; i < p->instances; i++)
		for (uint32_t j = i + 1; j < p->instances; j++)
			if (conflict[instance_of(p, n, i)][instance_of(p, n, j)]) {
				chain[i][j] = true;
				v->missing += !path[i][j];
			}
	if (p->nodes > p->instances)
		return;
	close_over(&chain[0][0], p->instances, MOST);
	for (uint32_t i = 0; i < p->instances; i++)
		for (uint32_t j = 0; j < p->instances; j++)
			v->excess += path[i][j] && !chain[i][j];
}

static void compare_races(const struct vtpu_program *p, uint32_t n, struct verdict *v)
{
	for (uint32_t i = 0; i < p->instances; i++)
		for (uint32_t j = i + 1; j < p->instances; j++) {
			uint32_t a = instance_of(p, n, i), b = instance_of(p, n, j);

			v->races += conflict[a][b] && !before[a][b];
			v->far += conflict[a][b] && !before[a][b] &&
				  p->instance[i].core != p->instance[j].core;
		}
	v->mismatch = (v->races != 0) != (result.races != 0);
	for (uint32_t r = 0; r < result.records; r++) {
		uint32_t a = records[r].other_core * n +
			     text_of(p, records[r].other_unit, records[r].other_index);
		uint32_t b = records[r].core * n + text_of(p, records[r].unit, records[r].index);

		if (records[r].kind != VTPU_REC_RACE || !conflict[a][b] || before[a][b])
			v->wrong++;
	}
}

/* The graph is one, whatever it says: counts agree, edges point forward in time. */
static bool well_formed(const struct vtpu_program *p)
{
	static uint32_t preds[2 * MOST];

	memset(preds, 0, sizeof(preds));
	for (uint32_t i = 0; i < p->nodes; i++) {
		if (p->succ_start[i + 1] < p->succ_start[i])
			return false;
		for (uint32_t s = p->succ_start[i]; s < p->succ_start[i + 1]; s++) {
			if (p->succ[s] >= p->nodes ||
			    (i < p->instances && p->succ[s] < p->instances && p->succ[s] <= i))
				return false;
			preds[p->succ[s]]++;
		}
	}
	for (uint32_t i = 0; i < p->nodes; i++)
		if (preds[i] != p->preds[i] || path[i][i])
			return false;
	return p->succ_start[p->nodes] == p->edges;
}

static void random_programs(const char *name, struct random_program knobs, uint32_t rounds,
			    uint64_t seed, uint32_t least_racy, uint32_t least_clean,
			    uint32_t least_joined)
{
	struct verdict v = { 0 };
	struct rng rng = { seed };
	uint32_t loaded = 0, racy = 0, clean = 0, clean_joined = 0, joined = 0, malformed = 0,
		 mismatches = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		size_t bytes;
		void *image = random_image(&rng, &knobs, &bytes);
		struct vtpu_program *p = load(image, bytes, 0);

		if (p) {
			v.races = 0;
			loaded++;
			joined += p->nodes > p->instances;
			find_conflicts(p, knobs.instructions);
			find_paths(p);
			find_order(p, knobs.instructions);
			compare_paths(p, knobs.instructions, &v);
			compare_races(p, knobs.instructions, &v);
			malformed += !well_formed(p);
			mismatches += v.mismatch;
			racy += v.races != 0;
			clean += v.races == 0;
			clean_joined += v.races == 0 && p->nodes > p->instances;
			vtpu_program_put(p);
		}
		free(image);
	}
	printf("# %s: %u programs loaded, %u racy, %u clean, %u with joins, %u of these clean; %u races between cores\n",
	       name, loaded, racy, clean, joined, clean_joined, v.far);
	tap_ok(racy >= least_racy && clean >= least_clean && joined >= least_joined,
	       "%s: enough programs of each kind to say something", name);
	tap_is(malformed, 0, "graphs are well formed and have no cycle");
	tap_is(v.missing, 0, "every conflict is a path");
	tap_is(v.excess, 0, "without joins, every path is a chain of conflicts");
	tap_is(mismatches, 0, "a race is reported exactly when there is one");
	tap_is(v.wrong, 0, "every report is a race");
	if (knobs.sends && knobs.width > 1)
		tap_ok(v.far > 20, "some races are between cores");
}

/* ---- Particular cases ------------------------------------------------------------------ */

#define VMEM(at)      VTPU_ADDR(VTPU_SPACE_VMEM, 0, at)
#define HBM(base, at) VTPU_ADDR(VTPU_SPACE_HBM, base, at)

static struct vtpu_program *finish(struct image_builder *b, uint32_t flags)
{
	size_t bytes;
	void *image = ib_finish(b, &bytes);
	struct vtpu_program *p = load(image, bytes, flags);

	free(image);
	return p;
}

static void begin(struct image_builder *b)
{
	ib_begin(b, 1);
	ib_base(b, "in", 1 << 20, 0, VTPU_BASE_READ);
	ib_base(b, "out", 1 << 20, 0, VTPU_BASE_READ | VTPU_BASE_WRITE);
}

static void test_planted_race(void)
{
	struct image_builder b;
	struct vtpu_program *p;
	struct vtpu_insn *insn;

	begin(&b);
	ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, 1024);
	insn = ib_matmul(&b, 0, 2048, 8192, VTPU_TYPE_F32, VTPU_TYPE_F32, 16, 16, 16);
	insn->op_id = 77;
	p = finish(&b, 0);
	tap_ok(p != NULL, "a racy program loads when not strict");
	tap_is(result.races, 1, "and has one race");
	tap_is(records[0].kind, VTPU_REC_RACE, "reported as one");
	tap_ok(records[0].start == 0 && records[0].bytes == 1024, "with the bytes that both touch");
	tap_ok(records[0].op_id == 77 || records[0].other_op_id == 77, "with the operation's id");
	vtpu_program_put(p);

	begin(&b);
	ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, 1024);
	ib_matmul(&b, 0, 2048, 8192, VTPU_TYPE_F32, VTPU_TYPE_F32, 16, 16, 16);
	p = finish(&b, VTPU_LOAD_STRICT);
	tap_ok(!p && result.status == VTPU_ST_RACE, "strict refuses it");
	vtpu_program_put(p);
}

/* Column tiles of one matrix interleave, but do not meet: no edge, no race. */
static void test_column_tiles(void)
{
	struct image_builder b;
	struct vtpu_program *p;
	struct vtpu_insn *insn;

	begin(&b);
	for (uint32_t i = 0; i < 4; i++) {
		insn = ib_insn(&b, i % 2 ? VTPU_OP_EW : VTPU_OP_TRANSPOSE);
		if (i % 2) {
			insn->payload.ew.nout = 1;
			insn->payload.ew.rows = 16;
			insn->payload.ew.cols = 8;
			insn->payload.ew.out[0].addr = 4096 + i * 32;
			insn->payload.ew.out[0].pitch = 128;
			insn->payload.ew.out_type[0] = VTPU_TYPE_F32;
		} else {
			insn->payload.rows.in = 0;
			insn->payload.rows.out = 4096 + i * 32;
			insn->payload.rows.rows = 8;
			insn->payload.rows.cols = 16;
			insn->payload.rows.in_pitch = 64;
			insn->payload.rows.out_pitch = 128;
			insn->payload.rows.in_type = insn->payload.rows.out_type = VTPU_TYPE_F32;
		}
	}
	p = finish(&b, VTPU_LOAD_STRICT);
	tap_ok(p && result.edges == 0 && result.races == 0,
	       "column tiles of one matrix are independent");
	vtpu_program_put(p);
}

/* A predicated write may not happen: older writes stay ordered, and it does not warm memory. */
static void test_predicated(void)
{
	struct image_builder b;
	struct vtpu_program *p;
	struct vtpu_insn *insn;

	begin(&b);
	insn = ib_insn(&b, VTPU_OP_FILL);
	insn->payload.dma.dst = VMEM(0);
	insn->payload.dma.dst_type = VTPU_TYPE_F32;
	insn->payload.dma.ndim = 1;
	for (int d = 0; d < 5; d++)
		insn->payload.dma.count[d] = d ? 1 : 64;
	insn->payload.dma.dst_stride[0] = 4;
	insn->flags |= VTPU_INSN_PRED;
	insn->wait[0].pad = 3;
	ib_copy(&b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, 64);
	p = finish(&b, 0);
	tap_ok(p && p->reads_cold_vmem, "memory that only a predicated instruction wrote is cold");
	vtpu_program_put(p);
}

static void test_cold(void)
{
	struct image_builder b;
	struct vtpu_program *p;

	begin(&b);
	ib_copy2d(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, VTPU_TYPE_F32, 8, 16, 64, 128);
	ib_copy2d(&b, HBM(0, 0), VMEM(64), VTPU_TYPE_F32, VTPU_TYPE_F32, 8, 16, 64, 128);
	ib_copy(&b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, 8 * 32);
	p = finish(&b, VTPU_LOAD_STRICT);
	tap_ok(p && !p->reads_cold_vmem, "two interleaved halves warm the whole");
	tap_is(p ? p->vmem_bytes : 0, 1024, "highest byte used");
	vtpu_program_put(p);

	begin(&b);
	ib_copy2d(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, VTPU_TYPE_F32, 8, 16, 64, 128);
	ib_copy2d(&b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, VTPU_TYPE_F32, 8, 16, 128, 64);
	p = finish(&b, VTPU_LOAD_STRICT);
	tap_ok(p && !p->reads_cold_vmem, "rows with gaps, read as written, are warm");
	vtpu_program_put(p);

	begin(&b);
	ib_copy2d(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, VTPU_TYPE_F32, 8, 16, 64, 128);
	ib_copy(&b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, 17);
	p = finish(&b, VTPU_LOAD_STRICT);
	tap_ok(p && p->reads_cold_vmem, "a byte between rows is cold");
	vtpu_program_put(p);
}

/* Many readers, then a writer; many small writers, then readers: joins keep it small. */
static void test_hostile(void)
{
	const uint32_t many = 20000;
	struct image_builder b;
	struct vtpu_program *p;

	begin(&b);
	for (uint32_t i = 0; i < many; i++)
		ib_copy(&b, HBM(0, 0), VMEM(i * 8), VTPU_TYPE_F32, 1);
	for (uint32_t i = 0; i < many; i++)
		ib_copy(&b, VMEM(0), HBM(1, 0), VTPU_TYPE_F32, 2 * many);
	p = finish(&b, 0);
	tap_ok(p && result.edges < 8ull * 2 * many, "big reads over many small writes: %u edges",
	       result.edges);
	vtpu_program_put(p);

	begin(&b);
	for (uint32_t i = 0; i < many; i++) {
		ib_copy2d(&b, HBM(0, 0), VMEM(i % 16 * 4), VTPU_TYPE_F32, VTPU_TYPE_F32, 64, 1, 4,
			  64 + i % 3 * 4);
		ib_copy2d(&b, VMEM(i % 64 * 4), HBM(1, 0), VTPU_TYPE_F32, VTPU_TYPE_F32, 64, 1, 60,
			  4);
	}
	p = finish(&b, 0);
	tap_ok(p && result.edges < 16ull * 2 * many, "combs of different pitch: %u edges",
	       result.edges);
	vtpu_program_put(p);
}

static void random_sends(struct random_program knobs)
{
	knobs.sends = 40;
	knobs.far_signals = true;
	knobs.dense = false;
	knobs.span = 512;
	knobs.chain = 90;
	knobs.width = 3;
	knobs.instructions = 14;
	random_programs("sends between three cores", knobs, 300, 21, 20, 0, 5);
	knobs.span = 128;
	random_programs("sends between three cores, crowded", knobs, 200, 22, 20, 0, 20);
	knobs.span = 2048;
	knobs.instructions = 5;
	random_programs("sends between three cores, short", knobs, 600, 23, 20, 20, 0);
	knobs.dense = true;
	knobs.instructions = 7;
	random_programs("sends between three cores, without strides", knobs, 600, 24, 20, 20, 0);
	knobs.width = 4;
	knobs.serial = true;
	knobs.chain = 100;
	knobs.instructions = 6;
	random_programs("sends between four cores, nearly serial", knobs, 600, 25, 20, 20, 0);
	knobs.width = 1;
	knobs.serial = knobs.dense = false;
	knobs.chain = 70;
	random_programs("sends to oneself", knobs, 300, 26, 20, 20, 0);
}

int main(void)
{
	struct random_program knobs = { .geometry = &geometry,
					.width = 1,
					.instructions = 24,
					.span = 256,
					.sync = 60,
					.sems = 4 };
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	random_programs("one core, crowded", knobs, 300, 1, 20, 0, 20);
	knobs.span = 2048;
	random_programs("one core, roomy", knobs, 300, 2, 20, 0, 0);
	knobs.width = 3;
	knobs.instructions = 18;
	knobs.far_signals = true;
	knobs.span = 512;
	random_programs("three cores that signal each other", knobs, 300, 4, 20, 0, 0);
	knobs.chain = 90;
	random_programs("three cores, nearly ordered", knobs, 100, 10, 20, 0, 0);
	knobs.instructions = 8;
	knobs.span = 1024;
	random_programs("three cores, short, nearly ordered", knobs, 400, 11, 20, 20, 0);
	knobs.width = 1;
	knobs.far_signals = false;
	knobs.instructions = 12;
	knobs.chain = 80;
	knobs.span = 1024;
	random_programs("nearly ordered", knobs, 400, 5, 20, 20, 0);
	knobs.dense = true;
	random_programs("nearly ordered, without strides", knobs, 400, 3, 20, 20, 0);
	knobs.instructions = 24;
	knobs.chain = 100;
	knobs.span = 128;
	random_programs("nearly ordered, crowded, without strides", knobs, 300, 6, 20, 0, 20);
	knobs.dense = false;
	knobs.width = 2;
	random_programs("nearly ordered, crowded, two cores", knobs, 300, 7, 20, 0, 20);
	random_sends(knobs);
	knobs.width = 1;
	knobs.serial = true;
	knobs.chain = 95;
	random_programs("nearly serial, crowded", knobs, 300, 9, 20, 20, 20);
	knobs.serial = false;
	knobs.chain = 100;
	knobs.instructions = 200;
	random_programs("long and crowded", knobs, 20, 8, 20, 0, 20);
	test_planted_race();
	test_column_tiles();
	test_predicated();
	test_cold();
	test_hostile();
	return tap_done();
}
