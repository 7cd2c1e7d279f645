// SPDX-License-Identifier: MIT
/*
 * bench_conv.c - convolutions and products on one thread, against the FMA peak of the same moment.
 *
 * Each row is one instruction as the executor runs it, with operands in VMEM. The
 * reference workload's kernels are measured on data as training has it: after a
 * maximum over 2 x 2, most of a gradient is zero; "dense" forms all products.
 * Time is the thread's own, so that neighbours on the host count less; the peak is taken
 * before and after each row.
 *
 *	bench_conv [-k WORD] [images...]	default 8 32 128; WORD: only rows whose name has it
 *	bench_conv -r				rows of `make bench`: the kernels of a training step
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cost.h"
#include "numerics.h"
#include "peak.h"
#include "row.h"
#include "unit.h"
#include "unit/hand.h"

#define ROUNDS 7
#define VMEM   ((size_t)128 << 20)

enum kind {
	FORWARD,
	POOLED,	 /* forward with 2 x 2 maximum */
	DGRAD,	 /* of a gradient that is all there */
	DGRAD_0, /* of one that is mostly zero */
	WGRAD,
	WGRAD_0,
	PRODUCT,   /* of an image a row */
	PRODUCT_B, /* the same, B transposed */
	PRODUCT_A, /* A transposed: images are contracted */
};

/* The prototypes' FMA peak, GF/s */
#define PROTOTYPE_PEAK 117.0

/** struct figure - row kernel-@id: us an image that a prototype of the kernel alone took, for @images at once */
struct figure {
	const char *id;
	double avx2, avx512;
	uint32_t images;
};

struct shape {
	const char *name;
	enum kind kind;
	uint32_t images; /* 0: as the command line says */
	uint16_t in;
	uint8_t ker, pad;
	uint32_t k, n;
	struct figure figure;
};

static const struct shape shapes[] = {
	{ "conv1 + bias + relu + pool", POOLED, 0, 26, 3, 0, 1, 32, { "conv1", 5.2, 3.5, 32 } },
	{ "conv2 + bias + relu + pool", POOLED, 0, 12, 3, 0, 32, 64, { "conv2", 34.0, 32.8, 32 } },
	{ "conv2 dgrad, dense", DGRAD, 0, 12, 3, 0, 32, 64, { "conv2-dgrad-dense", 38.1, 38.6, 32 } },
	{ "conv2 dgrad, zeros", DGRAD_0, 0, 12, 3, 0, 32, 64, { "conv2-dgrad", 14.9, 14.3, 32 } },
	{ "conv2 wgrad, dense", WGRAD, 0, 12, 3, 0, 32, 64, { "conv2-wgrad-dense", 35.2, 34.0, 32 } },
	{ "conv2 wgrad, zeros", WGRAD_0, 0, 12, 3, 0, 32, 64, { "conv2-wgrad", 11.6, 10.1, 32 } },
	{ "conv1 wgrad, dense", WGRAD, 0, 26, 3, 0, 1, 32, { "conv1-wgrad", 8.8, 3.34, 32 } },
	{ "conv1 wgrad, zeros", WGRAD_0, 0, 26, 3, 0, 1, 32, { 0 } },
	{ "3x3 56x56x64->64 + bias + relu", FORWARD, 8, 56, 3, 1, 64, 64, { 0 } },
	{ "3x3 14x14x256->256 + bias + relu", FORWARD, 8, 14, 3, 1, 256, 256, { 0 } },
	{ "1x1 56x56x256->64 + bias + relu", FORWARD, 8, 56, 1, 0, 256, 64, { 0 } },
	{ "dense1", PRODUCT, 0, 1, 1, 0, 1600, 64, { "dense1", 2.5, 1.9, 128 } },
	{ "dense1 dgrad", PRODUCT_B, 0, 1, 1, 0, 64, 1600, { "dense1-dgrad", 2.5, 2.3, 128 } },
	{ "dense1 wgrad", PRODUCT_A, 0, 1, 1, 0, 1600, 64, { "dense1-wgrad", 2.5, 2.3, 128 } },
};

static uint8_t *vmem;
static struct vtpu_program program = { .width = 1 };
static struct vtpu_run run = { .program = &program };
static struct vtpu_scratch scratch;
static bool rows;

static float any(uint64_t i)
{
	uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
	return (float)(int32_t)(h >> 32) / 2147483648.0f;
}

/* @live of 100 elements of each window of four are not zero; two at once never are. */
static uint32_t place(uint32_t *top, size_t count, uint32_t live)
{
	float *x = (float *)(vmem + *top);
	uint32_t at = *top;

	for (size_t i = 0; i < count; i++)
		x[i] = live < 100 && (any(i + 77) + 1) * 50 >= (float)live ? 0.0f : any(i);
	*top += (uint32_t)((count * sizeof(float) + 63) / 64 * 64);
	if (*top > VMEM) {
		fprintf(stderr, "bench_conv: too many images\n");
		exit(1);
	}
	return at;
}

static void build(const struct shape *s, uint32_t images, struct vtpu_insn *insn)
{
	struct vtpu_insn_mxu *x = &insn->payload.mxu;
	const uint32_t out = s->in + 2 * s->pad - s->ker + 1,
		       live = s->kind == DGRAD_0 || s->kind == WGRAD_0 ? 18 : 100;
	const size_t input = (size_t)images * s->in * s->in * s->k;
	const size_t output = (size_t)images * out * out * s->n;
	const size_t weights = (size_t)s->ker * s->ker * s->k * s->n;
	uint32_t top = 0;

	memset(insn, 0, sizeof(*insn));
	insn->unit = VTPU_UNIT_MXU;
	*x = (struct vtpu_insn_mxu){
		.a_type = VTPU_TYPE_F32,
		.b_type = VTPU_TYPE_F32,
		.d_type = VTPU_TYPE_F32,
		.m = images,
		.n = s->n,
		.k = s->k,
		.g = 1,
		.in_h = s->in,
		.in_w = s->in,
		.ker_h = s->ker,
		.ker_w = s->ker,
		.stride_h = 1,
		.stride_w = 1,
		.pad_top = s->pad,
		.pad_left = s->pad,
		.pad_bottom = s->pad,
		.pad_right = s->pad,
		.dil_h = 1,
		.dil_w = 1,
	};
	x->lda = x->ldd = s->k * 4;
	x->ldb = s->n * 4;
	switch (s->kind) {
	case FORWARD:
	case POOLED:
		insn->opcode = VTPU_OP_CONV;
		x->a = place(&top, input, 100);
		x->b = place(&top, weights, 100);
		x->ldd = s->n * 4;
		x->epi_op[0] = VTPU_EPI_BIAS;
		x->epi_op[1] = VTPU_EPI_RELU;
		x->epi_arg[0] = place(&top, s->n, 100);
		x->d = place(&top, output, 100);
		if (s->kind == FORWARD)
			break;
		x->epi_op[2] = VTPU_EPI_MAXPOOL;
		x->epi_arg[1] = place(&top, output / 4, 100);
		x->epi_arg[2] = VTPU_EPI_WINDOW(2, 2);
		break;
	case DGRAD:
	case DGRAD_0:
		insn->opcode = VTPU_OP_CONV_DGRAD;
		x->lda = s->n * 4;
		x->a = place(&top, output, live);
		x->b = place(&top, weights, 100);
		x->d = place(&top, input, 100);
		break;
	case PRODUCT:
	case PRODUCT_B:
		insn->opcode = VTPU_OP_MATMUL;
		x->a = place(&top, input, 100);
		x->b = place(&top, weights, 100);
		x->d = place(&top, output, 100);
		x->ldd = s->n * 4;
		if (s->kind == PRODUCT_B) {
			x->mode = VTPU_MXU_TRANS_B;
			x->ldb = s->k * 4;
		}
		break;
	case PRODUCT_A:
		insn->opcode = VTPU_OP_MATMUL;
		x->mode = VTPU_MXU_TRANS_A;
		x->m = s->k;
		x->k = images;
		x->a = place(&top, input, 100);
		x->b = place(&top, output, 100);
		x->d = place(&top, weights, 100);
		x->ldd = s->n * 4;
		break;
	default:
		insn->opcode = VTPU_OP_CONV_WGRAD;
		x->ldd = s->n * 4;
		x->a = place(&top, input, 100);
		x->b = place(&top, output, live);
		x->d = place(&top, weights, 100);
	}
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The peak by the thread's own time, as the rows are */
static double peak(void)
{
	double gflops, start = cpu_now(), wall = bench_now();

	peak_thread(&gflops);
	return gflops * (bench_now() - wall) / (cpu_now() - start);
}

static void measure(const struct shape *s, uint32_t images)
{
	struct vtpu_insn insn;
	struct vtpu_op op = { .run = &run, .insn = &insn };
	const uint32_t out = s->in + 2 * s->pad - s->ker + 1;
	const double flops = 2.0 * images * out * out * s->ker * s->ker * s->k * s->n;
	double seconds[ROUNDS], best[ROUNDS], gflops;

	build(s, images, &insn);
	for (int round = 0; round < ROUNDS; round++) {
		double start, top = peak();
		int times = (int)(2e9 / flops) + 1;

		vtpu_op_run(&op, 0, 1, &scratch);
		start = cpu_now();
		for (int i = 0; i < times; i++)
			vtpu_op_run(&op, 0, 1, &scratch);
		seconds[round] = (cpu_now() - start) / times;
		best[round] = (top + peak()) / 2;
	}
	seconds[0] = bench_median(seconds, ROUNDS);
	best[0] = bench_median(best, ROUNDS);
	gflops = flops / seconds[0] / 1e9;
	printf("%s%-34s %4u  %8.2f us/image  %6.1f GF/s  %5.2f of peak\n", rows ? "# " : "",
	       s->name, images, seconds[0] / images * 1e6, gflops, gflops / best[0]);
	fflush(stdout);
	if (rows) {
		const bool wide = vtpu_kernels_isa(run.kernels) == VTPU_ISA_AVX512;
		char id[32], what[128];

		snprintf(id, sizeof(id), "kernel-%s", s->figure.id);
		snprintf(what, sizeof(what),
			 "%s, %u images, %s, one thread: share of the FMA peak against a prototype's",
			 s->name, images, vtpu_isa_name(vtpu_kernels_isa(run.kernels)));
		bench_row(&(struct bench_row){
			.id = id,
			.what = what,
			.unit = "of peak",
			.ours = gflops / best[0],
			.peer = flops / images / PROTOTYPE_PEAK /
				((wide ? s->figure.avx512 : s->figure.avx2) * 1e3),
			.bar = 0.9,
			.runs = ROUNDS,
		});
	}
}

int main(int argc, char **argv)
{
	static const uint32_t usual[] = { 8, 32, 128 };
	const char *word = "";
	int counts;

	if (argc > 2 && !strcmp(argv[1], "-k")) {
		word = argv[2];
		argc -= 2;
		argv += 2;
	}
	rows = argc == 2 && !strcmp(argv[1], "-r");
	counts = argc > 1 ? argc - 1 : 3;

	vmem = hand_alloc(VMEM);
	if (!vtpu_scratch_init(&scratch))
		return 1;
	run.kernels = vtpu_kernels_select(VTPU_ISA_AUTO);
	run.core[0].vmem = vmem;
	printf("# convolutions and products, %s, one thread\n",
	       vtpu_isa_name(vtpu_kernels_isa(run.kernels)));
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (!strstr(shapes[i].name, word))
			continue;
		if (rows) {
			if (shapes[i].figure.id)
				measure(&shapes[i], shapes[i].figure.images);
			continue;
		}
		if (shapes[i].images) {
			measure(&shapes[i], shapes[i].images);
			continue;
		}
		for (int c = 0; c < counts; c++)
			measure(&shapes[i], argc > 1 ? (uint32_t)atoi(argv[c + 1]) : usual[c]);
	}
	vtpu_scratch_free(&scratch);
	free(vmem);
	return 0;
}
