// SPDX-License-Identifier: MIT
/*
 * hello.c - one fused operation on the TPU: y = relu(x * w + b).
 *
 * The whole way of a job: open a device, make a program, put data into device
 * memory, run, fetch the result. Error handling is one macro: every call
 * returns a status, and vtpu_last_error() has the sentence.
 *
 *	hello [DEVICE]		accel0 (default), model:v3, ...
 */
#include <stdio.h>
#include <stdlib.h>

#include <vtpu/vtpu.h>

#define M 4 /* rows of x and y */
#define K 8 /* columns of x, rows of w */
#define N 5 /* columns of w and y */

#define CHECK(call) \
	do { \
		if ((call) != VTPU_OK) { \
			fprintf(stderr, "hello: %s\n", vtpu_last_error()); \
			exit(1); \
		} \
	} while (0)

/* A buffer in HBM with these floats in it. */
static struct vtpu_buffer *upload(struct vtpu_device *dev, const float *data, size_t count)
{
	struct vtpu_buffer *buffer;

	CHECK(vtpu_buffer_alloc(dev, count * sizeof(float), NULL, &buffer));
	CHECK(vtpu_buffer_write(buffer, 0, data, count * sizeof(float)));
	return buffer;
}

int main(int argc, char **argv)
{
	struct vtpu_device_info info = VTPU_INIT(info);
	struct vtpu_program_stats stats = VTPU_INIT(stats);
	struct vtpu_program_options strict =
		VTPU_INIT(strict, .flags = VTPU_PROGRAM_STRICT, .name = "hello");
	struct vtpu_layer layer = { .name = "hello", .n = N, .bias = true, .act = VTPU_ACT_RELU };
	struct vtpu_dense_options opts = VTPU_INIT(opts);
	struct vtpu_device *dev;
	struct vtpu_image *image;
	struct vtpu_program *program;
	struct vtpu_stream *stream;
	struct vtpu_event *done;
	float x[M * K], w[K * N], b[N], y[M * N];
	int wrong = 0;

	/* 1. Which device? NULL asks the environment (VTPU_DEVICE), then takes accel0. */
	CHECK(vtpu_open(argc > 1 ? argv[1] : NULL, &dev));
	CHECK(vtpu_device_info(dev, &info));
	printf("TPU %s: %s with %u cores and %.1f GiB of HBM\n", vtpu_device_name(dev), info.preset,
	       info.cores, (double)info.hbm_bytes / (1 << 30));

	/* 2. A program: matrix product, bias and ReLU in one pass over the data. */
	opts.geometry = vtpu_device_geometry(dev);
	opts.m = M;
	opts.k = K;
	opts.layers = &layer;
	opts.layer_count = 1;
	CHECK(vtpu_dense_build(&opts, &image, NULL));

	/* 3. Loading checks every instruction and computes the time of a run. */
	CHECK(vtpu_program_create(dev, image, &strict, &program));
	CHECK(vtpu_program_stats(program, &stats));
	printf("program: %u instructions, %llu cycles (%.2f us at %u MHz)\n", stats.instances,
	       (unsigned long long)stats.cycles, stats.cycles * 1e3 / info.clock_khz,
	       info.clock_khz / 1000);

	/* 4. Data. HBM is dense and row-major, like the arrays here. */
	for (int i = 0; i < M * K; i++)
		x[i] = (float)(i % 7) - 3;
	for (int i = 0; i < K * N; i++)
		w[i] = (float)(i % 5) - 2;
	for (int i = 0; i < N; i++)
		b[i] = (float)i / 2;
	struct vtpu_binding bindings[] = {
		{ .buffer = upload(dev, x, M * K) },
		{ .buffer = upload(dev, w, K * N) },
		{ .buffer = upload(dev, b, N) },
		{ .buffer = upload(dev, y, M * N) },
	};

	/* 5. Run. The call returns at once; the event tells when the job has ended, and how. */
	CHECK(vtpu_stream_create(dev, NULL, &stream));
	CHECK(vtpu_run(stream, program, bindings, 4, NULL, 0, &done));
	CHECK(vtpu_event_wait(done, VTPU_FOREVER));
	CHECK(vtpu_buffer_read(bindings[3].buffer, 0, y, sizeof(y)));

	/* 6. These numbers are small integers and halves, so the answer is exact. */
	for (int i = 0; i < M; i++) {
		for (int j = 0; j < N; j++) {
			float want = b[j];

			for (int k = 0; k < K; k++)
				want += x[i * K + k] * w[k * N + j];
			want = want > 0 ? want : 0;
			wrong += y[i * N + j] != want;
			printf("%7.1f", y[i * N + j]);
		}
		printf("\n");
	}
	printf("%d of %d values are right\n", M * N - wrong, M * N);

	/* 7. Everything goes back; order does not matter, objects keep what they need. */
	vtpu_event_destroy(done);
	vtpu_stream_destroy(stream);
	for (int i = 0; i < 4; i++)
		vtpu_buffer_free(bindings[i].buffer);
	vtpu_program_destroy(program);
	vtpu_image_destroy(image);
	vtpu_close(dev);
	return wrong != 0;
}
