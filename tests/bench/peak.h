/* SPDX-License-Identifier: MIT */
/*
 * peak.h - the FMA peak of this host, now: the gate around measurements.
 *
 * Hosts throttle; a measurement with two threads counts only while both run at
 * full speed. Registers only, so that nothing but the clock and the host decide.
 */
#ifndef TESTS_BENCH_PEAK_H
#define TESTS_BENCH_PEAK_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/** bench_median() - sorts @x */
static inline double bench_median(double *x, int n)
{
	qsort(x, n, sizeof(*x), bench_by_value);
	return n & 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Ten independent accumulators, 8 lanes, a multiplication and an addition each. */
static inline void *peak_thread(void *arg)
{
	double *gflops = arg, start = bench_now();
	uint64_t n = 20000000, left = n;

#define PEAK_FMA(i) "vfmadd231ps %%ymm15, %%ymm15, %%ymm" #i "\n"
	__asm__ volatile("vxorps %%ymm15, %%ymm15, %%ymm15\n1:\n" PEAK_FMA(0) PEAK_FMA(1)
				 PEAK_FMA(2) PEAK_FMA(3) PEAK_FMA(4) PEAK_FMA(5) PEAK_FMA(6)
					 PEAK_FMA(7) PEAK_FMA(8) PEAK_FMA(9) "dec %0\njnz 1b\n"
			 : "+r"(left)
			 :
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm9", "xmm15", "cc");
	*gflops = (double)n * 10 * 16 / (bench_now() - start) / 1e9;
	return NULL;
}

/** bench_peak() - GF/s of @threads threads together; AVX2 and FMA must be there */
static inline double bench_peak(int threads)
{
	pthread_t thread[64];
	double gflops[64], sum = 0;

	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, peak_thread, &gflops[i]);
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += gflops[i];
	}
	return sum;
}

#endif /* TESTS_BENCH_PEAK_H */
