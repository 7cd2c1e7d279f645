// SPDX-License-Identifier: MIT
/*
 * test_sim.c - the event simulation against a slow one of every core.
 *
 * The simulation steps through one core for all. The one here has each core's
 * queues, semaphores and HBM share, and moves time forward one cycle by one.
 * Then cycle-exact cases, deadlock, overflow, and that more bandwidth is never
 * slower.
 */
#include "cost.h"
#include "preset.h"
#include "program.h"
#include "random_program.h"
#include "tap.h"

#define CORES 4
#define MOST  64 /* instructions of a unit */

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;

static struct vtpu_program *load(const void *image, size_t bytes)
{
	struct vtpu_load_request req = { .image = image,
					 .bytes = bytes,
					 .geometry = &geometry,
					 .caps = VTPU_CAP_F32 | VTPU_CAP_BF16 | VTPU_CAP_CONV |
						 VTPU_CAP_ICI };
	struct vtpu_program *program;

	vtpu_program_load(&req, &program, &result, records);
	return program;
}

static struct vtpu_program *finish(struct image_builder *b)
{
	size_t bytes;
	void *image = ib_finish(b, &bytes);
	struct vtpu_program *p = load(image, bytes);

	free(image);
	return p;
}

/* ---- Every core, cycle by cycle ------------------------------------------------- */

struct slow {
	uint32_t head[CORES][VTPU_UNITS], next[CORES][VTPU_UNITS];
	uint64_t done[CORES][VTPU_UNITS][MOST];
	uint64_t free[CORES][VTPU_UNITS], hbm_free[CORES], link_free[CORES][3];
	uint64_t sem[CORES][256];
	struct {
		uint64_t at;
		uint32_t core, sem, inc;
	} flying[CORES * VTPU_UNITS * MOST * 2];
	uint32_t nflying;
	uint64_t finished; /* cycle of the last completion */
};

static void slow_start(struct slow *s, const struct vtpu_image_header *h,
		       const struct vtpu_insn *insn, uint32_t core, uint32_t unit, uint64_t now)
{
	struct vtpu_cost cost = vtpu_cost_insn(&geometry, insn, h->width);
	uint32_t i = s->head[core][unit]++;
	uint64_t from = now;

	if (unit == VTPU_UNIT_DMA || unit == VTPU_UNIT_ICI) {
		from += geometry.dma_setup;
		s->free[core][unit] = from;
		if (cost.hbm && s->hbm_free[core] > from)
			from = s->hbm_free[core];
		if (cost.hbm)
			s->hbm_free[core] = from + cost.busy;
		if (cost.link && s->link_free[core][cost.link] > from)
			from = s->link_free[core][cost.link];
		if (cost.link)
			s->link_free[core][cost.link] = from + cost.busy;
		s->done[core][unit][i] = from + cost.busy + cost.latency;
	} else {
		if (unit == VTPU_UNIT_MXU && (!i || now > s->free[core][unit]))
			from += cost.fill;
		s->free[core][unit] = from + cost.busy;
		s->done[core][unit][i] = from + cost.busy + cost.latency;
	}
	if (i && s->done[core][unit][i] < s->done[core][unit][i - 1])
		s->done[core][unit][i] = s->done[core][unit][i - 1];
}

static void slow_complete(struct slow *s, const struct vtpu_image_header *h,
			  const struct vtpu_insn *insn, uint32_t core, uint64_t now)
{
	for (int i = 0; i < 2; i++) {
		bool here = !insn->signal[i].core ||
			    (insn->opcode == VTPU_OP_SEND &&
			     insn->signal[i].core == insn->payload.dma.core);

		if (!(insn->flags & VTPU_INSN_SIGNAL0 << i))
			continue;
		s->flying[s->nflying].at = now + (here ? 0 : geometry.ici_hop);
		s->flying[s->nflying].core = (core + insn->signal[i].core) % h->width;
		s->flying[s->nflying].sem = insn->signal[i].sem;
		s->flying[s->nflying++].inc = insn->signal[i].inc;
	}
}

static bool slow_ready(const struct slow *s, const struct vtpu_insn *insn, uint32_t core)
{
	for (int i = 0; i < 2; i++)
		if (insn->flags & VTPU_INSN_WAIT0 << i &&
		    s->sem[core][insn->wait[i].sem] < insn->wait[i].value)
			return false;
	return true;
}

/* Return: true when all ended. */
static bool slow_run(const uint8_t *image, struct slow *s)
{
	const struct vtpu_image_header *h = (const void *)image;
	const struct vtpu_image_section *section = (const void *)(h + 1);
	const struct vtpu_insn *text[VTPU_UNITS] = { 0 };
	uint32_t count[VTPU_UNITS] = { 0 }, left = 0;
	uint64_t idle = 0;

	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < h->nsections; i++)
		if (section[i].type == VTPU_SECTION_QUEUE) {
			text[section[i].unit] = (const void *)(image + section[i].offset);
			count[section[i].unit] = section[i].count;
			left += section[i].count * h->width;
		}
	for (uint64_t now = 0; left && idle < 100000; now++, idle++) {
		for (uint32_t c = 0; c < h->width; c++)
			for (uint32_t u = 0; u < VTPU_UNITS; u++)
				while (s->next[c][u] < s->head[c][u] &&
				       s->done[c][u][s->next[c][u]] == now) {
					slow_complete(s, h, &text[u][s->next[c][u]++], c, now);
					s->finished = now;
					left--;
					idle = 0;
				}
		for (uint32_t i = 0; i < s->nflying; i++)
			if (s->flying[i].at == now)
				s->sem[s->flying[i].core][s->flying[i].sem] += s->flying[i].inc;
		for (uint32_t c = 0; c < h->width; c++)
			for (uint32_t u = 0; u < VTPU_UNITS; u++)
				if (s->head[c][u] < count[u] && s->free[c][u] <= now &&
				    slow_ready(s, &text[u][s->head[c][u]], c))
					slow_start(s, h, &text[u][s->head[c][u]], c, u, now);
	}
	return !left;
}

/* The program's instances must be ordered by the slow simulation's (cycle, core, unit, index). */
static bool same_order(const struct vtpu_program *p, const struct slow *s)
{
	for (uint32_t i = 1; i < p->instances; i++) {
		const struct vtpu_instance *a = &p->instance[i - 1], *b = &p->instance[i];
		uint64_t x = s->done[a->core][a->unit][a->index],
			 y = s->done[b->core][b->unit][b->index];

		if (x != y	       ? x > y :
		    a->core != b->core ? a->core > b->core :
		    a->unit != b->unit ? a->unit > b->unit :
					 a->index >= b->index)
			return false;
	}
	return true;
}

static void test_random(uint32_t width, bool far, uint32_t rounds)
{
	struct random_program knobs = { .geometry = &geometry,
					.width = width,
					.instructions = 40,
					.span = 1024,
					.sync = 50,
					.sems = 5,
					.far_signals = far };
	struct rng rng = { 99 + width };
	static struct slow slow;
	uint32_t ended = 0, stuck = 0, wrong = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		size_t bytes;
		void *image;
		struct vtpu_program *p;

		knobs.chain = i % 2 ? 90 : 0;
		knobs.sends = far && i % 3 ? 30 : 0;
		image = random_image(&rng, &knobs, &bytes);
		p = load(image, bytes);
		if (slow_run(image, &slow)) {
			ended++;
			wrong += !p || p->cycles != slow.finished || !same_order(p, &slow);
		} else {
			stuck++;
			wrong += p || result.status != VTPU_ST_DEADLOCK ||
				 records[0].kind != VTPU_REC_DEADLOCK;
		}
		vtpu_program_put(p);
		free(image);
	}
	printf("# width %u: %u ended, %u deadlocked\n", width, ended, stuck);
	tap_ok(ended > 10 && stuck > 10, "width %u: programs of both kinds", width);
	tap_is(wrong, 0,
	       "same cycles, same order, same deadlocks as core by core and cycle by cycle");
}

/* ---- Cases to the cycle -------------------------------------------------------------- */

#define VMEM(at)      VTPU_ADDR(VTPU_SPACE_VMEM, 0, at)
#define HBM(base, at) VTPU_ADDR(VTPU_SPACE_HBM, base, at)

static void begin(struct image_builder *b, uint32_t width)
{
	ib_begin(b, width);
	ib_base(b, "data", 4 << 20, 4 << 20, VTPU_BASE_READ | VTPU_BASE_WRITE);
}

static uint64_t cycles_of(struct image_builder *b)
{
	struct vtpu_program *p = finish(b);
	uint64_t cycles = p ? p->cycles : 0;

	vtpu_program_put(p);
	return cycles;
}

static void test_exact(void)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	begin(&b, 1);
	tap_is(cycles_of(&b), 0, "an empty program takes no time");
	begin(&b, 1);
	ib_insn(&b, VTPU_OP_HALT);
	tap_is(cycles_of(&b), 1, "HALT takes a cycle");

	begin(&b, 1);
	ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_U8, 64);
	tap_is(cycles_of(&b), 16 + 1 + 1 + 376,
	       "64 bytes: setup, a cycle of bandwidth, a run, latency");
	begin(&b, 1);
	ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, 65536);
	tap_is(cycles_of(&b), 16 + 548 + 1 + 376, "256 KiB: 547.6 cycles of bandwidth");
	begin(&b, 1);
	ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_F32, 65536);
	ib_copy(&b, HBM(0, 1 << 20), VMEM(1 << 20), VTPU_TYPE_F32, 65536);
	tap_is(cycles_of(&b), 16 + 2 * 549 + 376, "two transfers share bandwidth and hide latency");

	begin(&b, 1);
	ib_matmul(&b, 0, 4 << 20, 8 << 20, VTPU_TYPE_BF16, VTPU_TYPE_F32, 1024, 256, 128);
	tap_is(cycles_of(&b), 128 + 1024 + 262, "a cold product loads weights, streams, drains");
	begin(&b, 1);
	for (int i = 0; i < 3; i++)
		ib_matmul(&b, 0, 4 << 20, 8 << 20, VTPU_TYPE_BF16, VTPU_TYPE_F32, 1024, 256, 128);
	tap_is(cycles_of(&b), 128 + 3 * 1024 + 262, "back to back, only the first is cold");
	begin(&b, 1);
	ib_matmul(&b, 0, 4 << 20, 8 << 20, VTPU_TYPE_BF16, VTPU_TYPE_F32, 8, 1024, 1024);
	tap_is(cycles_of(&b), 128 + 8 * 4 * 128 + 262, "a short stream waits for weights");

	begin(&b, 1);
	insn = ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_U8, 64);
	ib_signal(insn, 9, 0, 3);
	insn = ib_insn(&b, VTPU_OP_NOP);
	ib_wait(insn, 9, 3);
	tap_is(cycles_of(&b), 394 + 1, "a waiting instruction starts in the cycle of the signal");
	begin(&b, 2);
	insn = ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_U8, 64);
	ib_signal(insn, 9, 1, 1);
	insn = ib_insn(&b, VTPU_OP_NOP);
	ib_wait(insn, 9, 1);
	tap_is(cycles_of(&b), 394 + 940 + 1, "from another core, a hop later");
	begin(&b, 2);
	ib_insn(&b, VTPU_OP_BARRIER)->payload.ctl.core_mask = 3;
	tap_is(cycles_of(&b), 1 + 940, "a barrier of two cores takes a hop");
}

/* ---- What cannot end --------------------------------------------------------------------- */

static void test_failures(void)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	begin(&b, 1);
	insn = ib_copy(&b, HBM(0, 0), VMEM(0), VTPU_TYPE_U8, 64);
	insn->op_id = 11;
	ib_wait(insn, 3, 1);
	ib_signal(insn, 4, 0, 1);
	insn = ib_insn(&b, VTPU_OP_NOP);
	insn->op_id = 12;
	ib_wait(insn, 4, 2);
	ib_signal(insn, 3, 0, 1);
	tap_ok(!finish(&b) && result.status == VTPU_ST_DEADLOCK,
	       "two units that wait for each other");
	tap_is(result.found, 2, "a record for each blocked queue");
	tap_ok(records[0].kind == VTPU_REC_DEADLOCK && records[0].unit == VTPU_UNIT_CTL &&
		       records[0].op_id == 12 && records[0].sem == 4 && records[0].have == 0 &&
		       records[0].need == 2,
	       "what CTL waits for");
	tap_ok(records[1].unit == VTPU_UNIT_DMA && records[1].op_id == 11 && records[1].sem == 3 &&
		       records[1].need == 1,
	       "what DMA waits for");

	begin(&b, 8);
	ib_wait(ib_insn(&b, VTPU_OP_NOP), 0, 1);
	tap_ok(!finish(&b) && result.found == 8 && records[7].core == 7,
	       "each core's queue is reported");

	begin(&b, 1);
	for (uint32_t i = 0; i < 32769; i++)
		ib_signal(ib_insn(&b, VTPU_OP_NOP), 5, 0, 65535);
	tap_ok(!finish(&b) && result.status == VTPU_ST_SEM_OVERFLOW,
	       "2^31 - 1 is the most that a semaphore holds");
	tap_ok(records[0].kind == VTPU_REC_OVERFLOW && records[0].sem == 5 &&
		       records[0].index == 32768 && records[0].have == 32769ull * 65535,
	       "the signal that passes it");
}

/* ---- Monotone --------------------------------------------------------------------------------- */

static void test_bandwidth(void)
{
	struct random_program knobs = {
		.geometry = &geometry, .width = 1, .instructions = 40, .span = 1024, .chain = 70
	};
	const uint32_t hbm = geometry.hbm_q16;
	struct rng rng = { 5 };
	uint32_t slower = 0, short_of = 0;

	for (int i = 0; i < 100; i++) {
		size_t bytes;
		void *image = random_image(&rng, &knobs, &bytes);
		struct vtpu_program *p = load(image, bytes);
		uint64_t cycles = p->cycles;

		short_of += p->core_hbm_bytes[0] * 65536 / hbm > cycles;
		vtpu_program_put(p);
		geometry.hbm_q16 = 2 * hbm;
		p = load(image, bytes);
		slower += p->cycles > cycles;
		geometry.hbm_q16 = hbm;
		vtpu_program_put(p);
		free(image);
	}
	tap_is(slower, 0, "twice the bandwidth is never slower");
	tap_is(short_of, 0, "no program moves more than bandwidth allows");
}

int main(void)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	test_exact();
	test_failures();
	test_bandwidth();
	test_random(1, false, 60);
	test_random(3, true, 60);
	test_random(4, true, 60);
	return tap_done();
}
