// SPDX-License-Identifier: MIT
/*
 * test_send.c - sends between cores, from load to bytes.
 *
 * Random programs give the same memories on the parallel executor as one instance after
 * the other; then cases that are known: an all-reduce, displaced boxes, a send to oneself that
 * overlaps, a receiver that does not wait, one that waits for ever, and time to the cycle.
 */
#include "bits/programs.h"
#include "cost.h"
#include "hand.h"
#include "preset.h"
#include "random_program.h"
#include "tap.h"

static struct vtpu_hw_geometry geometry;
static struct vtpu_load_record records[VTPU_MAX_RECORDS];
static struct vtpu_load_result result;

static struct vtpu_program *load(void *image, size_t bytes, uint32_t flags)
{
	struct vtpu_load_request req = { .image = image,
					 .bytes = bytes,
					 .geometry = &geometry,
					 .caps = VTPU_CAP_ICI,
					 .flags = flags };
	struct vtpu_program *program;

	vtpu_program_load(&req, &program, &result, records);
	free(image);
	return program;
}

static struct vtpu_program *finish(struct image_builder *b, uint32_t flags)
{
	size_t bytes;
	void *image = ib_finish(b, &bytes);

	return load(image, bytes, flags);
}

/* ---- Random programs, both executors ------------------------------------------------- */

/* Memories of a run: VMEM and SMEM of each core, base 0 of all */
static void start_memories(struct hand_run *r, uint8_t *base, uint32_t bytes)
{
	for (uint32_t c = 0; c < r->run.program->width; c++) {
		for (uint32_t i = 0; i < RANDOM_BYTES; i++)
			r->run.core[c].vmem[i] = (uint8_t)(i * 7 + c * 13);
		memset(r->run.core[c].smem, 0, 2048);
	}
	for (uint32_t i = 0; i < bytes; i++)
		base[i] = (uint8_t)(i * 5 + 3);
}

static void test_random(uint32_t width, uint32_t span, uint32_t rounds)
{
	struct random_program knobs = { .geometry = &geometry,
					.width = width,
					.instructions = 24,
					.span = span,
					.chain = 60,
					.far_signals = true,
					.sends = 35 };
	struct vtpu_pool *pool = vtpu_pool_create(4, NULL, NULL, NULL);
	struct rng rng = { 77 + width };
	uint32_t wrong = 0, ran = 0;
	static uint8_t base[2][8 * RANDOM_BYTES], end[8 * RANDOM_BYTES];

	for (uint32_t i = 0; i < rounds; i++) {
		struct hand_run r;
		struct vtpu_program *p;
		size_t bytes;
		void *image = random_image(&rng, &knobs, &bytes);

		p = load(image, bytes, 0);
		if (!p)
			continue;
		ran++;
		hand_run_init(&r, p, vtpu_kernels_select(VTPU_ISA_AUTO));
		r.run.base[0] = base[0];
		r.run.base[1] = base[1];
		for (int reference = 1; reference >= 0; reference--) {
			r.run.reference = reference;
			start_memories(&r, base[0], width * RANDOM_BYTES);
			hand_start(&r, pool);
			hand_wait(&r);
			wrong += r.run.status != VTPU_ST_OK;
			for (uint32_t c = 0; c < width; c++) {
				uint8_t *kept = r.run.core[c].vmem + 8 * RANDOM_BYTES;

				if (reference)
					memcpy(kept, r.run.core[c].vmem, RANDOM_BYTES);
				else
					wrong += memcmp(kept, r.run.core[c].vmem, RANDOM_BYTES) !=
						 0;
			}
			if (reference)
				memcpy(end, base[0], sizeof(end));
			else
				wrong += memcmp(end, base[0], sizeof(end)) != 0;
		}
		hand_run_free(&r);
		vtpu_program_put(p);
	}
	vtpu_pool_destroy(pool);
	tap_ok(ran > rounds / 2 && !wrong,
	       "%u random programs of %u cores: both executors leave the same bytes", ran, width);
}

/* ---- Known answers ---------------------------------------------------------------------- */

#define ALL (8 * 1003)

static void test_all_reduce(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(4, NULL, NULL, NULL);
	struct hand_run r;
	struct vtpu_program *p;
	size_t bytes;
	void *image = bits_all_reduce(&bytes);
	static float in[8][16384], out[8][16384];
	uint32_t wrong = 0;

	p = load(image, bytes, VTPU_LOAD_STRICT);
	if (!tap_ok(p && !result.races, "an all-reduce of eight cores is free of races"))
		return;
	tap_ok(!p->reads_cold_vmem, "and reads only what was written or sent");
	hand_run_init(&r, p, vtpu_kernels_select(VTPU_ISA_AUTO));
	for (int c = 0; c < 8; c++)
		for (int i = 0; i < ALL; i++)
			in[c][i] = (float)((i * 31 + c * 17) % 1001) * 0.37f;
	r.run.base[0] = (uint8_t *)in;
	r.run.base[1] = (uint8_t *)out;
	hand_start(&r, pool);
	hand_wait(&r);
	for (int i = 0; i < ALL; i++) {
		float sum = in[0][i];

		for (int c = 1; c < 8; c++)
			sum += in[c][i];
		for (int c = 0; c < 8; c++)
			wrong += out[c][i] != sum;
	}
	tap_is(wrong, 0, "every core has the sums, added in the order of the cores");
	hand_run_free(&r);
	vtpu_program_put(p);
	vtpu_pool_destroy(pool);
}

static struct vtpu_insn *send(struct image_builder *b, uint32_t src, uint32_t dst, uint32_t count,
			      uint16_t core)
{
	struct vtpu_insn *insn = ib_insn(b, VTPU_OP_SEND);

	insn->payload.dma = (struct vtpu_insn_dma){
		.src = src,
		.dst = dst,
		.src_type = VTPU_TYPE_S32,
		.dst_type = VTPU_TYPE_S32,
		.ndim = 1,
		.count = { count, 1, 1, 1, 1 },
		.src_stride = { 4 },
		.dst_stride = { 4 },
		.core = core,
	};
	return insn;
}

static void test_self(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(2, NULL, NULL, NULL);
	struct image_builder b;
	struct hand_run r;
	struct vtpu_program *p;
	struct vtpu_insn *insn;
	uint32_t *word, wrong = 0;

	ib_begin(&b, 3);
	insn = send(&b, 0, 8, 100, 0); /* repeats the first two */
	ib_signal(insn, 0, 0, 1);
	insn = send(&b, 4096, 8192, 10, 0);
	insn->payload.dma.src_stride[4] = 40;
	insn->payload.dma.dst_stride[4] = 80;
	p = finish(&b, VTPU_LOAD_STRICT);
	if (!tap_ok(p != NULL, "sends to oneself load"))
		return;
	hand_run_init(&r, p, vtpu_kernels_select(VTPU_ISA_AUTO));
	for (uint32_t c = 0; c < 3; c++) {
		word = (uint32_t *)r.run.core[c].vmem;
		for (uint32_t i = 0; i < 4096; i++)
			word[i] = 10000 * c + i;
	}
	hand_start(&r, pool);
	hand_wait(&r);
	for (uint32_t c = 0; c < 3; c++) {
		word = (uint32_t *)r.run.core[c].vmem;
		for (uint32_t i = 0; i < 102; i++)
			wrong += word[i] != 10000 * c + i % 2;
		for (uint32_t i = 0; i < 10; i++)
			wrong += word[2048 + 20 * c + i] != 10000 * c + 1024 + 10 * c + i;
	}
	tap_is(wrong, 0, "elements move in order, from and to each core's own place");
	hand_run_free(&r);
	vtpu_program_put(p);
	vtpu_pool_destroy(pool);
}

/* ---- Order ------------------------------------------------------------------------------- */

static struct vtpu_program *exchange(uint32_t wait, bool tell, uint32_t flags)
{
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, 4);
	ib_base(&b, "out", 4096, 4096, VTPU_BASE_WRITE);
	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, 4096),
		       VTPU_TYPE_S32, 16);
	ib_signal(insn, 0, 0, 1);
	insn = send(&b, 4096, 8192, 16, 1);
	insn->op_id = 70;
	ib_wait(insn, 0, 1);
	if (tell)
		ib_signal(insn, 1, 1, 1);
	insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 8192), VTPU_ADDR(VTPU_SPACE_HBM, 0, 0),
		       VTPU_TYPE_S32, 16);
	insn->op_id = 71;
	if (wait)
		ib_wait(insn, 1, wait);
	return finish(&b, flags);
}

static void test_order(void)
{
	struct vtpu_program *p = exchange(1, true, VTPU_LOAD_STRICT);
	const struct vtpu_load_record *r = &records[0];

	tap_ok(p != NULL, "a receiver that waits for the sender's signal is ordered");
	vtpu_program_put(p);
	p = exchange(0, true, 0);
	tap_ok(p && result.races == 4, "one that does not wait is a race, on each core");
	tap_ok(r->kind == VTPU_REC_RACE && r->space == VTPU_SPACE_VMEM && r->start == 8192 &&
		       r->bytes == 64 &&
		       ((r->op_id == 70 && r->other_op_id == 71 &&
			 (r->core + 1u) % 4 == r->other_core) ||
			(r->op_id == 71 && r->other_op_id == 70 &&
			 (r->other_core + 1u) % 4 == r->core)),
	       "with both instructions, their cores and the bytes");
	vtpu_program_put(p);
	p = exchange(0, true, VTPU_LOAD_STRICT);
	tap_ok(!p && result.status == VTPU_ST_RACE, "and refuses a strict load");
	p = exchange(1, false, 0);
	tap_ok(!p && result.status == VTPU_ST_DEADLOCK && records[0].op_id == 71 &&
		       records[0].sem == 1,
	       "one that nobody tells waits for ever");
	p = exchange(2, true, 0);
	tap_ok(!p && result.status == VTPU_ST_DEADLOCK && result.found == 4,
	       "as does one that waits for two");
}

/* Sending on before the receiver has taken the first: sender's next one needs its word. */
static void test_reuse(void)
{
	for (int answer = 0; answer < 2; answer++) {
		struct image_builder b;
		struct vtpu_insn *insn;
		struct vtpu_program *p;

		ib_begin(&b, 2);
		ib_base(&b, "out", 4096, 4096, VTPU_BASE_WRITE);
		for (uint32_t i = 0; i < 2; i++) {
			insn = send(&b, 4096 + 64 * i, 8192, 16, 1);
			ib_signal(insn, 1, 1, 1);
			if (answer && i)
				ib_wait(insn, 2, 1);
			insn = ib_copy(&b, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 8192),
				       VTPU_ADDR(VTPU_SPACE_HBM, 0, 64 * i), VTPU_TYPE_S32, 16);
			ib_wait(insn, 1, i + 1);
			if (answer && !i)
				ib_signal(insn, 2, 1, 1);
		}
		p = finish(&b, 0);
		tap_ok(p && (result.races != 0) == !answer,
		       answer ? "an inbox that is given back is ordered" :
				"an inbox that is sent to twice is a race");
		vtpu_program_put(p);
	}
}

/* ---- Time --------------------------------------------------------------------------------- */

static uint64_t cycles(uint32_t width, uint32_t n, const uint16_t *core, uint32_t count)
{
	struct image_builder b;
	struct vtpu_program *p;
	uint64_t all;

	ib_begin(&b, width);
	for (uint32_t i = 0; i < n; i++)
		send(&b, 0, 65536 + i * 65536, count, core[i]);
	p = finish(&b, 0);
	all = p ? p->cycles : 0;
	vtpu_program_put(p);
	return all;
}

static void test_time(void)
{
	const uint64_t hop = geometry.ici_hop, setup = geometry.dma_setup;
	const uint64_t busy = vtpu_cost_div(16384 * 4 * 65536ULL, geometry.ici_q16);
	const uint64_t two = vtpu_cost_div(2 * 16384 * 4 * 65536ULL, geometry.ici_q16);

	tap_is(cycles(8, 1, (uint16_t[]){ 1 }, 16384), setup + busy + hop,
	       "a neighbour: setup, bytes over the link, a hop");
	tap_is(cycles(8, 1, (uint16_t[]){ 7 }, 16384), setup + busy + hop, "the other neighbour");
	tap_is(cycles(8, 1, (uint16_t[]){ 6 }, 16384), setup + two + 2 * hop,
	       "two further: both links are busy for it");
	tap_is(cycles(8, 2, (uint16_t[]){ 1, 1 }, 16384), setup + 2 * busy + hop,
	       "one link takes one after the other");
	tap_is(cycles(8, 2, (uint16_t[]){ 1, 7 }, 16384), 2 * setup + busy + hop,
	       "each way has its own");
	tap_is(cycles(1, 1, (uint16_t[]){ 0 }, 16384), setup + 16 + 20,
	       "to oneself: as a copy inside the core");
}

int main(void)
{
	char err[128];

	vtpu_preset_geometry(NULL, 8, NULL, &geometry, err, sizeof(err));
	test_random(2, 1024, 60);
	test_random(3, 256, 60);
	test_random(5, 2048, 40);
	test_random(8, 700, 20);
	test_all_reduce();
	test_self();
	test_order();
	test_reuse();
	test_time();
	return tap_done();
}
