// SPDX-License-Identifier: MIT
/*
 * bench_latency.c - row job-latency: from submission to the end of a job that does nothing.
 *
 *	bench_latency DEVICE [BLOCK-DEVICE]
 *
 * A program of one HALT, one job in flight, submitted and awaited with the library's calls; and, in turn with it,
 * 4 KiB reads of a block device with O_DIRECT, which is what the peer is: QEMU's nvme over null-co in the same VM.
 * Prints what it found as comments, and the row as a line of JSON when there is a peer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vtpu/vtpu.h>

#include "row.h"

#define JOBS  10000
#define BLOCK 250 /* jobs, then as many reads */
#define BAR   0.8 /* at most this many times the peer's latency */

#define CHECK(call) \
	do { \
		if ((call) != VTPU_OK) { \
			fprintf(stderr, "bench_latency: %s\n", vtpu_last_error()); \
			exit(1); \
		} \
	} while (0)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double percentile(uint64_t *sorted, int n, double p)
{
	return (double)sorted[(int)((n - 1) * p)] / 1e3;
}

static void show(const char *what, uint64_t *ns)
{
	qsort(ns, JOBS, sizeof(*ns), by_value);
	printf("# %s: median %.1f us, 10 %% below %.1f, 90 %% below %.1f, 99 %% below %.1f\n", what,
	       percentile(ns, JOBS, 0.5), percentile(ns, JOBS, 0.1), percentile(ns, JOBS, 0.9),
	       percentile(ns, JOBS, 0.99));
}

static struct vtpu_program *halt_program(struct vtpu_device *device)
{
	struct vtpu_builder *builder;
	struct vtpu_program *program;
	struct vtpu_image *image;

	CHECK(vtpu_builder_create(1, &builder));
	vtpu_emit_halt(builder, NULL, 0);
	CHECK(vtpu_builder_finish(builder, &image));
	CHECK(vtpu_program_create(device, image, NULL, &program));
	vtpu_image_destroy(image);
	vtpu_builder_destroy(builder);
	return program;
}

static uint64_t job(struct vtpu_stream *stream, struct vtpu_program *program)
{
	uint64_t start = now_ns(), end;
	struct vtpu_event *event;

	CHECK(vtpu_run(stream, program, NULL, 0, NULL, 0, &event));
	CHECK(vtpu_event_wait(event, VTPU_FOREVER));
	end = now_ns();
	vtpu_event_destroy(event);
	return end - start;
}

static uint64_t block_read(int fd, void *buffer, int i)
{
	uint64_t start = now_ns();

	if (pread(fd, buffer, 4096, (off_t)(i % 1000) * 4096) != 4096) {
		perror("bench_latency: read");
		exit(1);
	}
	return now_ns() - start;
}

int main(int argc, char **argv)
{
	static uint64_t ours[JOBS], peer[JOBS];
	struct vtpu_program *program;
	struct vtpu_stream *stream;
	struct vtpu_device *device;
	double a, b;
	void *buffer;
	int fd = -1;

	CHECK(vtpu_open(argc > 1 ? argv[1] : NULL, &device));
	if (argc > 2) {
		fd = open(argv[2], O_RDONLY | O_DIRECT);
		if (fd < 0) {
			perror(argv[2]);
			return 1;
		}
	}
	buffer = aligned_alloc(4096, 4096);
	if (!buffer)
		return 1;
	program = halt_program(device);
	CHECK(vtpu_stream_create(device, NULL, &stream));
	for (int i = 0; i < BLOCK; i++) {
		job(stream, program);
		if (fd >= 0)
			block_read(fd, buffer, i);
	}
	for (int block = 0; block < JOBS; block += BLOCK) {
		for (int i = block; i < block + BLOCK; i++)
			ours[i] = job(stream, program);
		for (int i = block; fd >= 0 && i < block + BLOCK; i++)
			peer[i] = block_read(fd, buffer, i);
	}
	show(vtpu_device_name(device), ours);
	if (fd >= 0) {
		show(argv[2], peer);
		a = percentile(ours, JOBS, 0.5);
		b = percentile(peer, JOBS, 0.5);
		bench_row(&(struct bench_row){
			.id = "job-latency",
			.what = "a job of one HALT, submission to end, depth 1, against a 4 KiB O_DIRECT read "
				"of QEMU's nvme over null-co",
			.unit = "us",
			.ours = a,
			.peer = b,
			.bar = BAR,
			.at_most = true,
			.runs = JOBS,
		});
		close(fd);
	}
	free(buffer);
	vtpu_stream_destroy(stream);
	vtpu_program_destroy(program);
	vtpu_close(device);
	return 0;
}
