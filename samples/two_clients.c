// SPDX-License-Identifier: MIT
/*
 * two_clients.c - two clients on one device, one of which goes wrong.
 *
 * Each open device is a client with an address space of its own. Both clients
 * here run the same program at once, on different data; then one of them submits a
 * job that must fail. Its stream ends with a sentence that says why; the other
 * client does not notice, and a new stream is all that the first one needs.
 *
 *	two_clients [DEVICE]
 */
#include <stdio.h>

#include <vtpu/vtpu.h>

#include "common/sample.h"

#define ROWS  64
#define COLS  256
#define BYTES (ROWS * COLS * sizeof(float))
#define JOBS  50

struct client {
	const char *name;
	struct vtpu_device *dev;
	struct vtpu_program *program;
	struct vtpu_stream *stream;
	struct vtpu_binding bindings[2]; /* x and y */
};

static void start(struct client *c, const char *name, const char *device, float value)
{
	struct vtpu_program_options strict =
		VTPU_INIT(strict, .flags = VTPU_PROGRAM_STRICT, .name = "softmax");
	struct vtpu_softmax_options opts = VTPU_INIT(opts, .m = ROWS, .n = COLS);
	struct vtpu_image *image;
	static float x[ROWS * COLS];

	c->name = name;
	CHECK(vtpu_open(device, &c->dev));
	opts.geometry = vtpu_device_geometry(c->dev);
	CHECK(vtpu_softmax_build(&opts, &image, NULL));
	CHECK(vtpu_program_create(c->dev, image, &strict, &c->program));
	vtpu_image_destroy(image);
	/* Equal inputs: each of a row's outputs is 1/256, whatever the value. */
	for (int i = 0; i < ROWS * COLS; i++)
		x[i] = value;
	c->bindings[0].buffer = sample_buffer(c->dev, BYTES, x, BYTES);
	c->bindings[1].buffer = sample_buffer(c->dev, BYTES, NULL, 0);
	CHECK(vtpu_stream_create(c->dev, NULL, &c->stream));
	printf("%s: device address of its input is 0x%llx\n", name,
	       (unsigned long long)vtpu_buffer_address(c->bindings[0].buffer));
}

/* Enters one good job. */
static enum vtpu_status submit(struct client *c, struct vtpu_event **event)
{
	return vtpu_run(c->stream, c->program, c->bindings, 2, NULL, 0, event);
}

static void check(struct client *c)
{
	static float y[ROWS * COLS];
	int wrong = 0;

	CHECK(vtpu_stream_sync(c->stream, VTPU_FOREVER));
	CHECK(vtpu_buffer_read(c->bindings[1].buffer, 0, y, BYTES));
	for (int i = 0; i < ROWS * COLS; i++)
		wrong += y[i] != 1.0f / COLS;
	printf("%s: %d jobs done, %d of %d values wrong\n", c->name, JOBS, wrong, ROWS * COLS);
	if (wrong)
		sample_fail("a value is wrong");
}

static void stop(struct client *c)
{
	vtpu_stream_destroy(c->stream);
	vtpu_program_destroy(c->program);
	vtpu_buffer_free(c->bindings[0].buffer);
	vtpu_buffer_free(c->bindings[1].buffer);
	vtpu_close(c->dev);
}

int main(int argc, char **argv)
{
	struct client a = { 0 }, b = { 0 };
	struct vtpu_event *event;

	/* 1. Two clients, the same device addresses, different memory behind them. */
	start(&a, "client A", argc > 1 ? argv[1] : NULL, 1);
	start(&b, "client B", argc > 1 ? argv[1] : NULL, -3);
	for (int i = 0; i < JOBS; i++) {
		CHECK(submit(&a, NULL));
		CHECK(submit(&b, NULL));
	}
	check(&a);
	check(&b);

	/* 2. Client A allows itself one cycle. The device knows a job's cycles before it starts. */
	struct vtpu_stream_options limit = VTPU_INIT(limit, .max_cycles = 1);

	vtpu_stream_destroy(a.stream);
	CHECK(vtpu_stream_create(a.dev, &limit, &a.stream));
	CHECK(submit(&a, &event));
	for (int i = 0; i < JOBS; i++)
		CHECK(submit(&b, NULL));
	if (vtpu_event_wait(event, VTPU_FOREVER) == VTPU_OK)
		sample_fail("the job should have failed");
	printf("client A: as it should be, its job failed: %s\n", vtpu_last_error());
	vtpu_event_destroy(event);
	check(&b);

	/* 3. A failed job ends its stream, nothing else. */
	if (submit(&a, NULL) == VTPU_OK)
		sample_fail("the stream should have ended");
	vtpu_stream_destroy(a.stream);
	CHECK(vtpu_stream_create(a.dev, NULL, &a.stream));
	for (int i = 0; i < JOBS; i++)
		CHECK(submit(&a, NULL));
	check(&a);
	stop(&a);
	stop(&b);
	return 0;
}
