// SPDX-License-Identifier: MIT
/*
 * test_exec.c - executors: hazard graphs, split instructions, faults, cancel, hang.
 *
 * Random programs whose edges are worked out here by comparing bytes, on both
 * executors and several numbers of threads; built by hand, without the loader.
 */
#include <time.h>

#include "gen.h"
#include "hand.h"
#include "kernels/kernels.h"
#include "tap.h"

#define REGION 64

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

static void run_once(struct hand_run *r, struct vtpu_pool *pool)
{
	hand_start(r, pool);
	hand_wait(r);
}

/* ---- Random hazard graphs ------------------------------------------------- */

static struct vtpu_insn *copy(struct hand *h, uint32_t core, uint64_t src, uint64_t dst,
			      uint32_t bytes)
{
	struct vtpu_insn *insn = hand_insn(h, VTPU_OP_COPY, core);
	struct vtpu_insn_dma *x = &insn->payload.dma;

	x->src = src;
	x->dst = dst;
	x->src_type = VTPU_TYPE_U8;
	x->dst_type = VTPU_TYPE_U8;
	x->ndim = 1;
	x->count[0] = bytes;
	x->src_stride[0] = 1;
	x->dst_stride[0] = 1;
	return insn;
}

/* dst = src + dst * 3, as EW on f32: the order of two of them on one region shows. */
static void mix(struct hand *h, uint32_t core, uint32_t src, uint32_t dst)
{
	struct vtpu_insn_ew *x = &hand_insn(h, VTPU_OP_EW, core)->payload.ew;

	x->nin = 2;
	x->nout = 1;
	x->nops = 1;
	x->rows = 1;
	x->cols = REGION / 4;
	x->in[0].addr = dst;
	x->in[1].addr = src;
	x->in[0].pitch = x->in[1].pitch = x->out[0].pitch = REGION;
	x->in_type[0] = x->in_type[1] = x->out_type[0] = VTPU_TYPE_F32;
	x->out[0].addr = dst;
	x->op[0].op = VTPU_EW_FMA;
	x->op[0].args = VTPU_EW_ARGS(0, 1, VTPU_EW_IMM0);
	x->imm[0] = 0x3f000000;
}

struct access {
	uint32_t core, src, dst;
};

static bool conflict(const struct access *a, const struct access *b)
{
	return a->core == b->core && (a->dst == b->src || a->dst == b->dst || a->src == b->dst);
}

/* A program of @n instructions over few regions, with exactly the edges that it needs, some through joins. */
static void random_program(struct hand *h, struct gen *g, uint32_t n, uint32_t cores)
{
	struct access *access = hand_alloc(n * sizeof(*access));

	hand_begin(h, cores, 2 * n);
	for (uint32_t i = 0; i < n; i++) {
		struct access *a = &access[i];

		*a = (struct access){ gen_below(g, cores), gen_below(g, 12), gen_below(g, 12) };
		if (a->src == a->dst)
			a->dst = (a->dst + 1) % 12;
		if (gen_below(g, 3))
			mix(h, a->core, a->src * REGION, a->dst * REGION);
		else
			copy(h, a->core, VTPU_ADDR(VTPU_SPACE_VMEM, 0, a->src * REGION),
			     VTPU_ADDR(VTPU_SPACE_VMEM, 0, a->dst * REGION), REGION);
	}
	for (uint32_t j = 0; j < n; j++) {
		/* An odd instruction gets its edges through a join of its own. */
		uint32_t to = j;

		if (j & 1) {
			to = h->p.nodes++;
			hand_edge(h, to, j);
		}
		for (uint32_t i = j > 60 ? j - 60 : 0; i < j; i++) {
			if (conflict(&access[i], &access[j]))
				hand_edge(h, i, to);
		}
	}
	hand_end(h);
	free(access);
}

static void fill_regions(struct hand_run *r, uint64_t seed)
{
	struct gen g = { .state = seed, .tame = true };

	for (uint32_t c = 0; c < r->run.program->width; c++)
		gen_fill(&g, r->run.core[c].vmem, 12 * REGION, VTPU_TYPE_F32);
}

static void test_graphs(void)
{
	static const unsigned int threads[] = { 1, 2, 4 };
	static struct hand_run want, got;
	unsigned int wrong = 0, programs = 0;

	for (unsigned int t = 0; t < 3; t++) {
		struct vtpu_pool *pool = vtpu_pool_create(threads[t], NULL, NULL, NULL);

		for (uint64_t seed = 1; seed <= 12; seed++, programs++) {
			struct gen g = { .state = seed };
			struct hand h;

			random_program(&h, &g, 60, 1 + seed % 3);
			hand_run_init(&want, &h.p, &vtpu_kernels_scalar);
			want.run.reference = true;
			fill_regions(&want, seed);
			run_once(&want, pool);
			hand_run_init(&got, &h.p, &vtpu_kernels_scalar);
			for (int i = 0; i < 20; i++) {
				fill_regions(&got, seed);
				run_once(&got, pool);
				for (uint32_t c = 0; c < h.p.width; c++)
					wrong += memcmp(want.run.core[c].vmem, got.run.core[c].vmem,
							12 * REGION) != 0;
				wrong += got.done != 1 || atomic_load(&got.run.retired) != 60;
			}
			hand_run_free(&want);
			hand_run_free(&got);
			hand_free(&h);
		}
		vtpu_pool_destroy(pool);
	}
	tap_ok(!wrong,
	       "%u random programs with joins, 1, 2 and 4 threads: what the reference executor gives",
	       programs);
}

/* ---- Split instructions --------------------------------------------------- */

static void big_matmul(struct hand *h, uint32_t m, uint32_t n, uint32_t k)
{
	struct vtpu_insn_mxu *x;

	hand_begin(h, 1, 4);
	x = &hand_insn(h, VTPU_OP_MATMUL, 0)->payload.mxu;
	x->a = 0;
	x->b = m * k * 4;
	x->d = x->b + k * n * 4;
	x->a_type = x->b_type = x->d_type = VTPU_TYPE_F32;
	x->m = m;
	x->n = n;
	x->k = k;
	x->g = 1;
	x->lda = k * 4;
	x->ldb = x->ldd = n * 4;
	x->epi_op[0] = VTPU_EPI_RELU;
}

static void test_split(void)
{
	const uint32_t m = 333, n = 451, k = 270, bytes = (m * k + k * n + m * n) * 4;
	const struct vtpu_kernels *k2 = vtpu_kernels_select(VTPU_ISA_AVX2);
	uint8_t *want = hand_alloc(bytes);
	static struct hand_run r;
	int wrong = 0;
	struct hand h;

	big_matmul(&h, m, n, k);
	hand_end(&h);
	hand_run_init(&r, &h.p, k2);
	for (unsigned int threads = 1; threads <= 4; threads++) {
		struct vtpu_pool *pool = vtpu_pool_create(threads, NULL, NULL, NULL);
		struct gen g = { .state = 7 };

		for (int i = 0; i < 10; i++) {
			g.state = 7;
			gen_fill(&g, r.run.core[0].vmem, (m * k + k * n) * 4, VTPU_TYPE_F32);
			memset(r.run.core[0].vmem + (m * k + k * n) * 4, 0, m * n * 4);
			r.run.reference = threads == 1 && i == 0;
			run_once(&r, pool);
			if (r.run.reference)
				memcpy(want, r.run.core[0].vmem, bytes);
			wrong += memcmp(want, r.run.core[0].vmem, bytes) != 0;
		}
		vtpu_pool_destroy(pool);
	}
	tap_is(wrong, 0, "one product, 1 to 4 threads: the same bits as in one piece");
	hand_run_free(&r);
	hand_free(&h);
	free(want);
}

/* ---- Small things --------------------------------------------------------- */

static void test_empty(struct vtpu_pool *pool)
{
	static struct hand_run r;
	struct hand h;

	for (int reference = 0; reference < 2; reference++) {
		hand_begin(&h, 2, 4);
		hand_end(&h);
		hand_run_init(&r, &h.p, &vtpu_kernels_scalar);
		r.run.reference = reference;
		run_once(&r, pool);
		tap_is(r.run.status, VTPU_ST_OK, "a program without instructions ends");
		hand_run_free(&r);
		hand_free(&h);
	}
}

static void test_operands(struct vtpu_pool *pool)
{
	uint8_t hbm[256], constant[64];
	static struct hand_run r;
	struct vtpu_insn *insn;
	struct hand h;
	uint32_t word;

	hand_begin(&h, 2, 16);
	h.p.nscalars = 2;
	h.base[3].core_stride = 128;
	/* Each core: its part of base 3 to VMEM, a constant behind it, then back to the upper half. */
	for (uint32_t core = 0; core < 2; core++) {
		copy(&h, core, VTPU_ADDR(VTPU_SPACE_HBM, 3, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, 64),
		     32);
		copy(&h, core, VTPU_ADDR(VTPU_SPACE_HBM, VTPU_BASE_CONST, 8),
		     VTPU_ADDR(VTPU_SPACE_VMEM, 0, 96), 8);
		copy(&h, core, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 64), VTPU_ADDR(VTPU_SPACE_HBM, 3, 64),
		     40);
	}
	/* Suppressed by scalar 1, which is 0; not suppressed by scalar 0. */
	for (int i = 0; i < 2; i++) {
		insn = hand_insn(&h, VTPU_OP_FILL, 0);
		insn->flags = VTPU_INSN_PRED | VTPU_INSN_ARG_SMEM(0);
		insn->wait[0].pad = i;
		insn->payload.dma.dst = VTPU_ADDR(VTPU_SPACE_VMEM, 0, 1024 + 4 * i);
		insn->payload.dma.dst_type = VTPU_TYPE_S32;
		insn->payload.dma.ndim = 1;
		insn->payload.dma.count[0] = 1;
		insn->payload.dma.dst_stride[0] = 4;
		insn->payload.dma.imm = 0;
	}
	/* VMEM to SMEM and on from there. */
	copy(&h, 1, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 64), VTPU_ADDR(VTPU_SPACE_SMEM, 0, 2048), 4);
	hand_chain(&h);
	hand_end(&h);

	for (int reference = 0; reference < 2; reference++) {
		bool ok = true;

		for (int i = 0; i < 256; i++)
			hbm[i] = (uint8_t)(i * 7);
		for (int i = 0; i < 64; i++)
			constant[i] = (uint8_t)(200 + i);
		hand_run_init(&r, &h.p, &vtpu_kernels_scalar);
		r.run.reference = reference;
		r.run.base[3] = hbm;
		r.run.base[VTPU_BASE_CONST] = constant;
		r.run.scalar[0] = 0xabcd1234;
		run_once(&r, pool);
		for (int core = 0; core < 2; core++) {
			for (int i = 0; i < 40; i++)
				ok &= hbm[core * 128 + 64 + i] ==
				      (i < 32 ? (uint8_t)((core * 128 + i) * 7) : 200 + 8 + i - 32);
		}
		tap_ok(ok, "HBM addresses count the core in, constants do not");
		memcpy(&word, r.run.core[0].vmem + 1024, 4);
		ok = word == 0xabcd1234;
		memcpy(&word, r.run.core[0].vmem + 1028, 4);
		tap_ok(ok && word == 0,
		       "arguments come from SMEM; a false predicate suppresses the write");
		tap_ok(!memcmp((uint8_t *)r.run.core[1].smem + 2048, hbm + 128, 4),
		       "VMEM reaches SMEM");
		hand_run_free(&r);
	}
	hand_free(&h);
}

/* ---- Faults, cancel, hang ------------------------------------------------- */

static void test_fault(void)
{
	static struct hand_run r;

	for (unsigned int threads = 1; threads <= 4; threads += 3) {
		struct vtpu_pool *pool = vtpu_pool_create(threads, NULL, NULL, NULL);

		for (int reference = 0; reference < 2; reference++) {
			int wrong = 0;
			struct hand h;

			/* 40 instructions without order, of which no unit knows numbers 9, 12 and 30. */
			hand_begin(&h, 2, 40);
			for (uint32_t i = 0; i < 40; i++) {
				if (i == 9 || i == 12 || i == 30)
					hand_insn(&h, VTPU_OP_CUMSUM, 1);
				else
					copy(&h, 0, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 4096),
					     VTPU_ADDR(VTPU_SPACE_VMEM, 0, 8192 + i * 4096), 4096);
			}
			hand_end(&h);
			hand_run_init(&r, &h.p, &vtpu_kernels_scalar);
			r.run.reference = reference;
			memset(r.run.core[0].vmem + 4096, 0x5a, 4096);
			for (int i = 0; i < 50; i++) {
				run_once(&r, pool);
				wrong += r.run.status != VTPU_ST_INTERNAL || r.run.op_id != 10 ||
					 r.run.where != VTPU_WHERE(VTPU_UNIT_VPU, 1, 0);
				for (uint32_t j = 0; j < 9; j++)
					wrong += r.run.core[0].vmem[8192 + j * 4096] != 0x5a;
			}
			tap_is(wrong, 0,
			       reference ? "the reference executor stops at the first fault" :
					   "the first fault in semantic order is the one reported");
			hand_run_free(&r);
			hand_free(&h);
		}
		vtpu_pool_destroy(pool);
	}
}

/* Ends a run of a second and more after @ms, and measures what the workers still did. */
static void cancel_case(const char *name, struct hand *h, unsigned int threads, bool reference)
{
	struct vtpu_pool *pool = vtpu_pool_create(threads, NULL, NULL, NULL);
	static struct hand_run r;
	uint64_t cpu, wall;

	hand_run_init(&r, &h->p, &vtpu_kernels_scalar);
	r.run.reference = reference;
	hand_start(&r, pool);
	sleep_ms(30);
	cpu = vtpu_pool_cpu_ns(pool);
	wall = now_ns();
	atomic_store(&r.run.cancel, true);
	hand_wait(&r);
	wall = now_ns() - wall;
	cpu = vtpu_pool_cpu_ns(pool) - cpu;
	tap_ok(r.run.status == VTPU_ST_ABORTED && r.done == 1,
	       "%s, %u threads%s: ends once, as aborted", name, threads,
	       reference ? ", reference" : "");
	tap_ok(cpu < threads * 2000000ULL + 500000,
	       "%s: within 2 ms of work a thread (%" PRIu64 " us)", name, cpu / 1000);
	printf("# wall time %" PRIu64 " us\n", wall / 1000);
	hand_run_free(&r);
	vtpu_pool_destroy(pool);
}

static void test_cancel(void)
{
	struct vtpu_insn_rows *rows;
	struct hand h;

	big_matmul(&h, 1000, 1000, 1000);
	hand_end(&h);
	for (unsigned int threads = 1; threads <= 2; threads++)
		for (int reference = 0; reference < 2; reference++)
			cancel_case("scalar product", &h, threads, reference);
	hand_free(&h);

	hand_begin(&h, 1, 200);
	for (int i = 0; i < 100; i++) {
		rows = &hand_insn(&h, VTPU_OP_SOFTMAX, 0)->payload.rows;
		rows->rows = 1;
		rows->cols = 1 << 20;
		rows->in_type = rows->out_type = VTPU_TYPE_F32;
		rows->in_pitch = rows->out_pitch = 4 << 20;
		rows->out = 4 << 20;
	}
	hand_chain(&h);
	hand_end(&h);
	cancel_case("softmax of one long row", &h, 1, false);
	hand_free(&h);

	hand_begin(&h, 1, 2000);
	for (int i = 0; i < 2000; i++) {
		struct vtpu_insn_dma *x = &copy(&h, 0, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0),
						VTPU_ADDR(VTPU_SPACE_VMEM, 0, 1), 8 << 20)
						   ->payload.dma;

		/* Overlaps itself, so it goes byte by byte. */
		x->count[0] = 8 << 20;
	}
	hand_chain(&h);
	hand_end(&h);
	cancel_case("copy onto itself", &h, 2, false);
	hand_free(&h);
}

static void test_hang(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(1, NULL, NULL, NULL);
	static struct hand_run stuck, other;
	struct hand h;

	hand_begin(&h, 1, 4);
	hand_insn(&h, VTPU_OP_NOP, 0);
	hand_end(&h);
	hand_run_init(&stuck, &h.p, &vtpu_kernels_scalar);
	hand_run_init(&other, &h.p, &vtpu_kernels_scalar);
	stuck.run.fault = VTPU_FAULT_HANG;
	hand_start(&stuck, pool);
	run_once(&other, pool);
	tap_is(other.run.status, VTPU_ST_OK, "a run beside one that hangs ends");
	sleep_ms(20);
	tap_ok(!stuck.done && !atomic_load(&stuck.run.retired),
	       "the one that hangs retires nothing");
	atomic_store(&stuck.run.cancel, true);
	hand_wait(&stuck);
	tap_is(stuck.run.status, VTPU_ST_ABORTED, "until it is cancelled");
	hand_run_free(&stuck);
	hand_run_free(&other);
	hand_free(&h);
	vtpu_pool_destroy(pool);
}

/* Of two cores with six copies each one stands still: the other's end, and where the run stands is said. */
static void test_hang_of_core(void)
{
	static struct hand_run r;
	struct vtpu_pool *pool = vtpu_pool_create(2, NULL, NULL, NULL);

	for (int reference = 0; reference < 2; reference++) {
		struct hand h;

		hand_begin(&h, 2, 12);
		for (uint32_t i = 0; i < 12; i++)
			copy(&h, i >= 6, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0),
			     VTPU_ADDR(VTPU_SPACE_VMEM, 0, 8192 + i * 4096), 4096);
		hand_end(&h);
		hand_run_init(&r, &h.p, &vtpu_kernels_scalar);
		r.run.reference = reference;
		r.run.fault = VTPU_FAULT_HANG;
		r.run.fault_core = 1;
		hand_start(&r, pool);
		sleep_ms(20);
		tap_ok(!r.done && atomic_load(&r.run.retired) == 6,
		       "a core stands still, the other does not%s",
		       reference ? " (reference)" : "");
		atomic_store(&r.run.cancel, true);
		hand_wait(&r);
		tap_ok(r.run.status == VTPU_ST_ABORTED && r.run.op_id == 7 &&
			       r.run.where == VTPU_WHERE(VTPU_UNIT_DMA, 1, 0),
		       "and where it stood is told");
		hand_run_free(&r);
		hand_free(&h);
	}
	vtpu_pool_destroy(pool);
}

/* Two stores to HBM of each of two cores: of the chosen core's last one, both are as large, a bit is wrong, and nothing else. */
static void test_wrong_bit(void)
{
	static uint8_t hbm[16384], want[16384];
	static struct hand_run r;
	struct vtpu_pool *pool = vtpu_pool_create(2, NULL, NULL, NULL);

	for (int reference = 0; reference < 2; reference++) {
		struct hand h;

		hand_begin(&h, 2, 5);
		for (uint32_t i = 0; i < 4; i++)
			copy(&h, i & 1, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0),
			     VTPU_ADDR(VTPU_SPACE_HBM, 0, i * 4096), 4096);
		copy(&h, 1, VTPU_ADDR(VTPU_SPACE_VMEM, 0, 0), VTPU_ADDR(VTPU_SPACE_VMEM, 0, 8192),
		     4096);
		hand_end(&h);
		hand_run_init(&r, &h.p, &vtpu_kernels_scalar);
		r.run.base[0] = hbm;
		r.run.reference = reference;
		r.run.fault = VTPU_FAULT_WRONG_BIT;
		r.run.fault_core = 1;
		for (uint32_t c = 0; c < 2; c++)
			memset(r.run.core[c].vmem, 0x5a, 4096);
		memset(want, 0x5a, sizeof(want));
		want[3 * 4096] ^= 1;
		run_once(&r, pool);
		tap_ok(r.run.status == VTPU_ST_OK && !memcmp(hbm, want, sizeof(want)),
		       "a wrong bit in what a core stored last, and nowhere else%s",
		       reference ? " (reference)" : "");
		hand_run_free(&r);
		hand_free(&h);
	}
	vtpu_pool_destroy(pool);
}

int main(void)
{
	struct vtpu_pool *pool = vtpu_pool_create(2, NULL, NULL, NULL);

	test_empty(pool);
	test_operands(pool);
	vtpu_pool_destroy(pool);
	test_graphs();
	test_split();
	test_fault();
	test_cancel();
	test_hang();
	test_hang_of_core();
	test_wrong_bit();
	return tap_done();
}
