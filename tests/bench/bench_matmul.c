// SPDX-License-Identifier: MIT
/*
 * bench_matmul.c - row mm-exact: exact products through whole programs, against OpenBLAS.
 *
 * Plain matrices in HBM; a program that streams tiles into VMEM, multiplies and
 * sends results back, loaded as any other. OpenBLAS's sgemm runs in a process of
 * its own, whose threads sleep in between, alternating with ours. A group counts only if the
 * FMA peak of all its threads, just before and just after, is at least 90 % of that many
 * times one thread's; otherwise it is run again.
 *
 *	bench_matmul [size...]		default 1024 2048 4096
 */
#include <cblas.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peak.h"
#include "preset.h"
#include "row.h"
#include "unit/hand.h"
#include "unit/image_builder.h"

#define RUNS  7
#define TRIES 5
#define BAR   0.95

void openblas_set_num_threads(int threads);
char *openblas_get_config(void);
char *openblas_get_corename(void);

/* ---- Our program ---------------------------------------------------------- */

enum {
	FULL = 0,
	FREE = 2,
	OUT = 4,
	OUT_FREE = 5
};

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/* C = A * B, square, in blocks of 1024 x 1024 with two buffers of everything. */
static void *matmul_image(uint32_t n, uint8_t type, uint32_t width, size_t *bytes)
{
	uint32_t bm = at_most(n / width, 1024), bn = at_most(n, 1024), bk = at_most(n, 512);
	uint32_t size = ib_type_bytes(type), a_bytes = bm * bk * size, b_bytes = bk * bn * size;
	uint32_t a_at = 0, b_at = 2 * a_bytes, c_at = b_at + 2 * b_bytes, c_bytes = bm * bn * 4;
	uint32_t ks = n / bk, ns = n / bn, steps = n / width / bm * ns * ks, stored = 0;
	uint64_t a_core = (uint64_t)n / width * n * size, c_core = (uint64_t)n / width * n * 4;
	struct image_builder b;
	struct vtpu_insn *insn;

	ib_begin(&b, width);
	b.caps = type == VTPU_TYPE_BF16 ? VTPU_CAP_BF16 : VTPU_CAP_F32;
	ib_base(&b, "a", a_core, a_core, VTPU_BASE_READ);
	ib_base(&b, "b", (uint64_t)n * n * size, 0, VTPU_BASE_READ);
	ib_base(&b, "c", c_core, c_core, VTPU_BASE_WRITE);
	for (uint32_t step = 0; step <= steps + 1; step++) {
		uint32_t slot = step % 2, block = step / ks, kb = step % ks, mb = block / ns,
			 nb = block % ns;

		if (step < steps) {
			insn = ib_copy2d(&b,
					 VTPU_ADDR(VTPU_SPACE_HBM, 0,
						   ((uint64_t)mb * bm * n + kb * bk) * size),
					 VTPU_ADDR(VTPU_SPACE_VMEM, 0, a_at + slot * a_bytes), type,
					 type, bm, bk, n * size, bk * size);
			if (step >= 2)
				ib_wait(insn, FREE + slot, step / 2);
			insn = ib_copy2d(&b,
					 VTPU_ADDR(VTPU_SPACE_HBM, 1,
						   ((uint64_t)kb * bk * n + nb * bn) * size),
					 VTPU_ADDR(VTPU_SPACE_VMEM, 0, b_at + slot * b_bytes), type,
					 type, bk, bn, n * size, bn * size);
			ib_signal(insn, FULL + slot, 0, 1);
			insn = ib_matmul(&b, a_at + slot * a_bytes, b_at + slot * b_bytes,
					 c_at + block % 2 * c_bytes, type, VTPU_TYPE_F32, bm, bn,
					 bk);
			ib_wait(insn, FULL + slot, step / 2 + 1);
			if (kb) {
				insn->payload.mxu.mode |= VTPU_MXU_ACCUMULATE;
				insn->payload.mxu.c = insn->payload.mxu.d;
				insn->payload.mxu.ldc = bn * 4;
			} else if (block >= 2) {
				ib_wait(insn, OUT_FREE, block - 1);
			}
			ib_signal(insn, FREE + slot, 0, 1);
			if (kb == ks - 1)
				ib_signal(insn, OUT, 0, 1);
		}
		/* A result leaves behind the loads of the next two steps. */
		if (step >= 2 && (step - 1) / ks > stored) {
			insn = ib_copy2d(&b,
					 VTPU_ADDR(VTPU_SPACE_VMEM, 0, c_at + stored % 2 * c_bytes),
					 VTPU_ADDR(VTPU_SPACE_HBM, 2,
						   ((uint64_t)(stored / ns) * bm * n +
						    stored % ns * bn) *
							   4),
					 VTPU_TYPE_F32, VTPU_TYPE_F32, bm, bn, bn * 4, n * 4);
			ib_wait(insn, OUT, stored + 1);
			ib_signal(insn, OUT_FREE, 0, 1);
			stored++;
		}
	}
	ib_insn(&b, VTPU_OP_HALT);
	return ib_finish(&b, bytes);
}

static struct vtpu_program *load(uint32_t n, uint8_t type, uint32_t width,
				 const struct vtpu_hw_geometry *geometry)
{
	static struct vtpu_load_record records[VTPU_MAX_RECORDS];
	struct vtpu_load_result result;
	struct vtpu_program *program;
	size_t bytes;
	void *image = matmul_image(n, type, width, &bytes);
	struct vtpu_load_request req = {
		.image = image,
		.bytes = bytes,
		.geometry = geometry,
		.caps = VTPU_CAP_F32 | VTPU_CAP_BF16,
		.flags = VTPU_LOAD_STRICT,
	};

	if (vtpu_program_load(&req, &program, &result, records)) {
		fprintf(stderr,
			"bench_matmul: load failed: status %#x, record kind %u, unit %u, index %u, field %u\n",
			result.status, records[0].kind, records[0].unit, records[0].index,
			records[0].field);
		exit(1);
	}
	free(image);
	return program;
}

/* ---- OpenBLAS, in its own process ----------------------------------------- */

struct order {
	uint32_t n;
	int threads;
};

static void *big(size_t bytes)
{
	void *p = aligned_alloc(2u << 20, (bytes + (2u << 20) - 1) >> 21 << 21);

	if (!p) {
		fprintf(stderr, "bench_matmul: out of memory\n");
		exit(1);
	}
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	return p;
}

static void fill(float *x, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (float)(int32_t)seed * 0x1p-31f;
	}
}

static void blas_process(int in, int out, uint32_t most)
{
	size_t elements = (size_t)most * most;
	float *a = big(elements * 4), *b = big(elements * 4), *c = big(elements * 4);
	struct order o;

	fill(a, elements, 1);
	fill(b, elements, 2);
	while (read(in, &o, sizeof(o)) == sizeof(o)) {
		double start;

		openblas_set_num_threads(o.threads);
		start = bench_now();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, o.n, o.n, o.n, 1, a, o.n, b,
			    o.n, 0, c, o.n);
		start = bench_now() - start;
		if (write(out, &start, sizeof(start)) != sizeof(start))
			break;
	}
	_exit(0);
}

static int to_blas, from_blas;

static double blas_run(uint32_t n, int threads)
{
	struct order o = { n, threads };
	double seconds;

	if (write(to_blas, &o, sizeof(o)) != sizeof(o) ||
	    read(from_blas, &seconds, sizeof(seconds)) != sizeof(seconds)) {
		fprintf(stderr, "bench_matmul: OpenBLAS's process is gone\n");
		exit(1);
	}
	return seconds;
}

static void blas_start(uint32_t most)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back)) {
		perror("pipe");
		exit(1);
	}
	if (!fork()) {
		close(there[1]);
		close(back[0]);
		blas_process(there[0], back[1], most);
	}
	close(there[0]);
	close(back[1]);
	to_blas = there[1];
	from_blas = back[0];
}

/* ---- Rows ----------------------------------------------------------------- */

struct bench {
	uint8_t *hbm_a, *hbm_b, *hbm_c;
	struct vtpu_hw_geometry geometry;
};

static double our_run(struct hand_run *r, struct vtpu_pool *pool)
{
	double start = bench_now();

	hand_start(r, pool);
	hand_wait(r);
	start = bench_now() - start;
	if (r->run.status) {
		fprintf(stderr, "bench_matmul: run ended with status %#x\n", r->run.status);
		exit(1);
	}
	return start;
}

static bool gate(int threads, double *share)
{
	double one = bench_peak(1);

	*share = bench_peak(threads) / (one * threads);
	return *share >= 0.9;
}

static void emit(const char *id, const char *what, const char *unit, double ours, double peer,
		 double bar)
{
	bench_row(&(struct bench_row){ id, what, unit, ours, peer, .bar = bar, .runs = RUNS });
}

static void row(struct bench *b, uint32_t n, uint8_t type, int threads)
{
	const struct vtpu_kernels *k = vtpu_kernels_select(VTPU_ISA_AUTO);
	struct vtpu_program *program = load(n, type, 1, &b->geometry);
	struct vtpu_pool *pool = vtpu_pool_create(threads, NULL, NULL, NULL);
	double ours[RUNS], peer[RUNS], before, after, gflop = 2.0 * n * n * n / 1e9;
	static struct hand_run r;
	char what[128];

	hand_run_init(&r, program, k);
	/* As the chip maps it. */
	free(r.run.core[0].vmem);
	r.run.core[0].vmem = big(HAND_VMEM + 64);
	r.run.base[0] = b->hbm_a;
	r.run.base[1] = b->hbm_b;
	r.run.base[2] = b->hbm_c;
	snprintf(what, sizeof(what), "%s %u^3, %d thread%s, %s",
		 type == VTPU_TYPE_F32 ? "f32" : "bf16 in", n, threads, threads > 1 ? "s" : "",
		 vtpu_isa_name(vtpu_kernels_isa(k)));
	for (int try = 0;; try++) {
		bool valid = gate(threads, &before);

		our_run(&r, pool);
		blas_run(n, threads);
		for (int i = 0; i < RUNS; i++) {
			ours[i] = gflop / our_run(&r, pool);
			peer[i] = gflop / blas_run(n, threads);
		}
		valid &= gate(threads, &after);
		if (valid || try == TRIES - 1) {
			double o = bench_median(ours, RUNS), p = bench_median(peer, RUNS);

			printf("%-12s %-34s ours %6.1f  OpenBLAS %6.1f GF/s  ratio %.3f%s\n",
			       "mm-exact", what, o, p, o / p,
			       valid ? "" : "  INVALID: throttled host, not recorded");
			snprintf(what + strlen(what), sizeof(what) - strlen(what),
				 ", against sgemm of OpenBLAS for %s", openblas_get_corename());
			if (valid)
				emit("mm-exact", what, "GF/s", o, p, BAR);
			break;
		}
	}
	fflush(stdout);
	vtpu_pool_destroy(pool);
	hand_run_free(&r);
	vtpu_program_put(program);
}

/* How much of two CPUs' time the workers use in a job of eight cores. */
static void busy_row(struct bench *b, uint32_t n)
{
	enum {
		THREADS = 2,
		WIDTH = 8
	};
	struct vtpu_program *program = load(n, VTPU_TYPE_F32, WIDTH, &b->geometry);
	struct vtpu_pool *pool = vtpu_pool_create(THREADS, NULL, NULL, NULL);
	double share[RUNS], ignored;
	static struct hand_run r;
	bool valid = false;
	char what[128];

	hand_run_init(&r, program, vtpu_kernels_select(VTPU_ISA_AUTO));
	r.run.base[0] = b->hbm_a;
	r.run.base[1] = b->hbm_b;
	r.run.base[2] = b->hbm_c;
	our_run(&r, pool);
	for (int try = 0; !valid && try < TRIES; try++) {
		valid = gate(THREADS, &ignored);
		for (int i = 0; i < RUNS; i++) {
			uint64_t cpu = vtpu_pool_cpu_ns(pool);
			double wall = our_run(&r, pool);

			share[i] = (double)(vtpu_pool_cpu_ns(pool) - cpu) / 1e9 / wall;
		}
		valid &= gate(THREADS, &ignored);
	}
	snprintf(what, sizeof(what), "workers' CPU time of %u threads, f32 %u^3 on %u cores",
		 THREADS, n, WIDTH);
	printf("%-12s %-34s %.3f of %u CPUs%s\n", "mm-busy", what,
	       bench_median(share, RUNS) / THREADS, THREADS,
	       valid ? "" : "  INVALID: throttled host, not recorded");
	if (valid)
		emit("mm-busy", what, "CPUs", bench_median(share, RUNS), THREADS, 0.9);
	vtpu_pool_destroy(pool);
	hand_run_free(&r);
	vtpu_program_put(program);
}

/* A bf16 matrix in the same bytes: the upper halves of the f32 ones. */
static void to_bf16(uint8_t *x, size_t elements)
{
	for (size_t i = 0; i < elements; i++)
		memmove(x + 2 * i, x + 4 * i + 2, 2);
}

int main(int argc, char **argv)
{
	uint32_t sizes[16] = { 1024, 2048, 4096 }, nsizes = 3, most = 0;
	struct bench b;
	char err[128];

	if (vtpu_kernels_isa(vtpu_kernels_select(VTPU_ISA_AVX2)) != VTPU_ISA_AVX2) {
		printf("bench_matmul: this CPU has no AVX2: mm-exact is not measured\n");
		return 0;
	}
	if (argc > 1) {
		for (nsizes = 0; nsizes < 16 && (int)nsizes < argc - 1; nsizes++)
			sizes[nsizes] = (uint32_t)atoi(argv[nsizes + 1]);
	}
	for (uint32_t i = 0; i < nsizes; i++) {
		if (sizes[i] < 512 || sizes[i] > 8192 || (sizes[i] > 1024 && sizes[i] % 1024) ||
		    sizes[i] % 512) {
			fprintf(stderr,
				"bench_matmul: size %u is not 512, 1024 or a multiple of 1024 up to 8192\n",
				sizes[i]);
			return 1;
		}
		most = sizes[i] > most ? sizes[i] : most;
	}
	/* Idle threads of the library must not spin beside ours. */
	setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1);
	blas_start(most);
	if (!vtpu_preset_geometry("v3", 8, NULL, &b.geometry, err, sizeof(err))) {
		fprintf(stderr, "bench_matmul: %s\n", err);
		return 1;
	}
	printf("# peer: %s\n", openblas_get_config());
	for (int type = 0; type < 2; type++) {
		for (uint32_t i = 0; i < nsizes; i++) {
			size_t elements = (size_t)sizes[i] * sizes[i];

			b.hbm_a = big(elements * 4);
			b.hbm_b = big(elements * 4);
			b.hbm_c = big(elements * 4);
			fill((float *)b.hbm_a, elements, 1);
			fill((float *)b.hbm_b, elements, 2);
			if (type) {
				to_bf16(b.hbm_a, elements);
				to_bf16(b.hbm_b, elements);
			}
			for (int threads = 1; threads <= 2; threads++)
				row(&b, sizes[i], type ? VTPU_TYPE_BF16 : VTPU_TYPE_F32, threads);
			if (!type && i == nsizes - 1)
				busy_row(&b, sizes[i]);
			free(b.hbm_a);
			free(b.hbm_b);
			free(b.hbm_c);
		}
	}
	close(to_blas);
	wait(NULL);
	return 0;
}
