// SPDX-License-Identifier: MIT
/*
 * bench_copy.c - row copy: copy jobs of 64 MiB between host memory and HBM.
 *
 *	bench_copy DEVICE	for each line of input: a copy each way; prints the mean contiguous run, then both times in ns
 *	bench_copy memcpy	the peer, on the host: one thread's memcpy; prints the time in ns
 *	bench_copy row RUN	lines "to from memcpy" of these times on input; prints the row as JSON
 *
 * Device and memcpy take turns, which tests/bench/copy.sh arranges, since one runs in the VM and the other outside.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vtpu/device.h>

#include "row.h"

#define BYTES	 (64ULL << 20)
#define MAX_RUNS 1000
#define BAR	 0.8 /* of memcpy's speed */
#define LEAST_RUN \
	(64 << 10) /* bytes on end; host memory in smaller pieces measures something else */

#define CHECK(call) \
	do { \
		if ((call) != VTPU_OK) { \
			fprintf(stderr, "bench_copy: %s\n", vtpu_last_error()); \
			exit(1); \
		} \
	} while (0)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Mean length of the physically contiguous pieces of our one host buffer, as the driver tells it; 0: not told */
static double mean_run(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	unsigned long long pieces = 0;
	struct dirent *entry;
	char line[256];

	while (dir && (entry = readdir(dir))) {
		char path[300];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			sscanf(line, "vtpu-host-pieces: %llu", &pieces);
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return pieces ? (double)BYTES / (double)pieces : 0;
}

static uint64_t copy(struct vtpu_stream *stream, struct vtpu_buffer *dst, struct vtpu_buffer *src)
{
	uint64_t start = now_ns(), end;
	struct vtpu_event *event;

	CHECK(vtpu_copy(stream, dst, 0, src, 0, BYTES, &event));
	CHECK(vtpu_event_wait(event, VTPU_FOREVER));
	end = now_ns();
	vtpu_event_destroy(event);
	return end - start;
}

static int device_side(const char *name)
{
	struct vtpu_buffer_options options =
		VTPU_INIT(options, .memory = VTPU_MEMORY_HOST, .label = "host");
	struct vtpu_buffer *host, *hbm;
	struct vtpu_stream *stream;
	struct vtpu_device *device;
	char line[64];
	uint8_t *data;
	void *pointer;
	double run;

	CHECK(vtpu_open(name, &device));
	CHECK(vtpu_buffer_alloc(device, BYTES, &options, &host));
	CHECK(vtpu_buffer_alloc(device, BYTES, NULL, &hbm));
	CHECK(vtpu_buffer_map(host, &pointer));
	CHECK(vtpu_stream_create(device, NULL, &stream));
	data = pointer;
	for (uint64_t i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 13));
	copy(stream, hbm, host);
	run = mean_run();
	printf("%.0f\n", run);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t to = copy(stream, hbm, host);

		printf("%" PRIu64 " %" PRIu64 "\n", to, copy(stream, host, hbm));
		fflush(stdout);
	}
	for (uint64_t i = 0; i < BYTES; i++) {
		if (data[i] != (uint8_t)(i * 7 + (i >> 13))) {
			fprintf(stderr, "bench_copy: byte %" PRIu64 " came back wrong\n", i);
			return 1;
		}
	}
	vtpu_stream_destroy(stream);
	vtpu_buffer_free(host);
	vtpu_buffer_free(hbm);
	vtpu_close(device);
	return 0;
}

static int memcpy_side(void)
{
	uint8_t *from = malloc(BYTES), *to = malloc(BYTES);
	uint64_t best[5], i;

	if (!from || !to)
		return 1;
	memset(from, 0x5a, BYTES);
	memset(to, 0xa5, BYTES);
	for (i = 0; i < 5; i++) {
		uint64_t start = now_ns();

		memcpy(to, from, BYTES);
		best[i] = now_ns() - start;
		if (to[i * 4099] != 0x5a)
			return 1;
	}
	/* The middle one: the first may still meet cold tables. */
	for (i = 1; i < 5; i++) {
		uint64_t value = best[i], j = i;

		for (; j && best[j - 1] > value; j--)
			best[j] = best[j - 1];
		best[j] = value;
	}
	printf("%" PRIu64 "\n", best[2]);
	free(from);
	free(to);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof(*x), by_value);
	return n & 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static int row(double run)
{
	static double to[MAX_RUNS], from[MAX_RUNS], peer[MAX_RUNS];
	double a, b, p, ours;
	int n = 0;

	while (n < MAX_RUNS && scanf("%lf %lf %lf", &to[n], &from[n], &peer[n]) == 3)
		n++;
	if (!n)
		return 1;
	a = (double)BYTES / median(to, n);
	b = (double)BYTES / median(from, n);
	p = (double)BYTES / median(peer, n);
	printf("# copy: to HBM %.2f GB/s, from HBM %.2f GB/s, memcpy %.2f GB/s; host memory in runs of %.0f KiB on the mean\n",
	       a, b, p, run / 1024);
	if (run < LEAST_RUN) {
		printf("# copy: INVALID, the runs are shorter than %d KiB\n", LEAST_RUN >> 10);
		return 1;
	}
	ours = a < b ? a : b;
	bench_row(&(struct bench_row){
		.id = "copy",
		.what = "COPY job of 64 MiB between host memory and HBM, the slower direction, against one "
			"thread's memcpy on the host",
		.unit = "GB/s",
		.ours = ours,
		.peer = p,
		.bar = BAR,
		.runs = n,
	});
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "memcpy"))
		return memcpy_side();
	if (argc == 3 && !strcmp(argv[1], "row"))
		return row(atof(argv[2]));
	if (argc == 2)
		return device_side(argv[1]);
	fprintf(stderr, "usage: bench_copy DEVICE | memcpy | row MEAN-RUN\n");
	return 2;
}
