// SPDX-License-Identifier: MIT
/*
 * library.c - libvtpu's device layer through its public interface.
 *
 *	library [DEVICE]	default: a model
 */
#include <pthread.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"
#include "unit/tap.h"

#define MIB (1u << 20)

static const char *device_name = "model:v3,hbm=512M";

bool library_status(enum vtpu_status got, enum vtpu_status want, const char *words,
		    const char *name, ...)
{
	bool ok = got == want && (!words || strstr(vtpu_last_error(), words));
	char text[256];
	va_list args;

	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	tap_ok(ok, "%s", text);
	if (!ok)
		printf("# got %s: %s\n# want %s, with '%s'\n", vtpu_status_id(got),
		       vtpu_last_error(), vtpu_status_id(want), words ? words : "");
	return ok;
}

bool library_ok(bool ok, const char *name, ...)
{
	char text[256];
	va_list args;

	va_start(args, name);
	vsnprintf(text, sizeof(text), name, args);
	va_end(args);
	return tap_ok(ok, "%s", text);
}

bool library_is(uint64_t got, uint64_t want, const char *name)
{
	return tap_is(got, want, name);
}

static uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 7 + (i >> 9) + (i >> 17));
}

static uint8_t *pattern_bytes(uint64_t bytes)
{
	uint8_t *data = malloc(bytes);
	uint64_t i;

	for (i = 0; i < bytes; i++)
		data[i] = pattern(i);
	return data;
}

/* ---- Structs that grow ------------------------------------------------------------ */

static void structs(struct vtpu_device *device)
{
	struct {
		struct vtpu_buffer_options options;
		uint64_t more;
	} newer = { .options = VTPU_INIT(newer) };
	struct vtpu_buffer_options none = { 0 },
				   older = VTPU_INIT(older, .label = (const char *)16);
	struct vtpu_device_info info = { 0 }, first = VTPU_INIT(first);
	struct vtpu_buffer *buffer = NULL;

	refused(vtpu_buffer_alloc(device, 64, &none, &buffer), VTPU_ERROR_INVALID_ARGUMENT,
		"VTPU_INIT", "struct_size 0");
	ok_call(vtpu_buffer_alloc(device, 64, &newer.options, &buffer),
		"a newer struct, new field unused");
	vtpu_buffer_free(buffer);
	newer.more = 1;
	refused(vtpu_buffer_alloc(device, 64, &newer.options, &buffer), VTPU_ERROR_VERSION,
		"newer libvtpu", "a newer struct, new field used");
	/* The label lies beyond an older struct's end: it must not be looked at. */
	older.struct_size = offsetof(struct vtpu_buffer_options, label);
	ok_call(vtpu_buffer_alloc(device, 64, &older, &buffer), "an older struct");
	vtpu_buffer_free(buffer);
	refused(vtpu_device_info(device, &info), VTPU_ERROR_INVALID_ARGUMENT, "VTPU_INIT",
		"info without struct_size");
	first.struct_size = offsetof(struct vtpu_device_info, serial);
	first.serial = 0x1122334455667788;
	ok_call(vtpu_device_info(device, &first), "an older info");
	tap_ok(*first.preset && first.serial == 0x1122334455667788, "gets what it has room for");
}

static void information(struct vtpu_device *device)
{
	struct vtpu_core_counters counters = VTPU_INIT(counters);
	struct vtpu_memory_info memory = VTPU_INIT(memory);
	struct vtpu_device_info info = VTPU_INIT(info);

	ok_call(vtpu_device_info(device, &info), "device info");
	tap_ok(info.cores && info.vmem_bytes && info.flops && info.hbm_bandwidth &&
		       strstr(info.features, "f32"),
	       "says what the device is");
	tap_ok(*info.driver && info.health == VTPU_HEALTH_OK, "and that it is well");
	ok_call(vtpu_device_counters(device, info.cores - 1, &counters),
		"counters of the last core");
	refused(vtpu_device_counters(device, info.cores, &counters), VTPU_ERROR_INVALID_ARGUMENT,
		"no core", "there is none behind it");
	ok_call(vtpu_device_memory(device, VTPU_MEMORY_HBM, &memory), "memory");
	tap_ok(memory.size == info.hbm_bytes && memory.largest_free, "HBM has a size, and room");
	refused(vtpu_device_memory(device, (enum vtpu_memory)7, &memory),
		VTPU_ERROR_INVALID_ARGUMENT, "no memory 7", "no such memory");
	refused(vtpu_device_info(NULL, &info), VTPU_ERROR_INVALID_ARGUMENT, "NULL", "no device");
}

/* ---- Buffers ------------------------------------------------------------------------- */

static void buffers(struct vtpu_device *device)
{
	struct vtpu_buffer_options mappable =
		VTPU_INIT(mappable, .flags = VTPU_BUFFER_MAPPABLE, .label = "mapped");
	struct vtpu_buffer_options host = VTPU_INIT(host, .memory = VTPU_MEMORY_HOST);
	struct vtpu_buffer_options flags = VTPU_INIT(flags, .flags = 1u << 20);
	struct vtpu_buffer_options memory = VTPU_INIT(memory, .memory = (enum vtpu_memory)9);
	struct vtpu_buffer *a = NULL, *b = NULL, *c = NULL, *d = NULL;
	uint64_t address;
	char label[100];
	void *p, *q;

	refused(vtpu_buffer_alloc(device, 0, NULL, &a), VTPU_ERROR_INVALID_ARGUMENT,
		"at least 1 byte", "no bytes");
	refused(vtpu_buffer_alloc(device, 64, &flags, &a), VTPU_ERROR_INVALID_ARGUMENT, "0x100000",
		"unknown flags");
	refused(vtpu_buffer_alloc(device, 64, &memory, &a), VTPU_ERROR_INVALID_ARGUMENT, "memory 9",
		"unknown memory");
	refused(vtpu_buffer_alloc(device, 1ULL << 45, NULL, &a), VTPU_ERROR_OUT_OF_DEVICE_MEMORY,
		"largest free", "more than there is");
	ok_call(vtpu_buffer_alloc(device, 100, NULL, &a), "a small buffer");
	ok_call(vtpu_buffer_alloc(device, 5 * MIB, &mappable, &b), "a large one");
	ok_call(vtpu_buffer_alloc(device, 100, &host, &c), "one in host memory");
	tap_is(vtpu_buffer_size(a), 100, "size as asked for");
	tap_ok(vtpu_buffer_address(a) && !(vtpu_buffer_address(b) % (2 * MIB)),
	       "large ones start at 2 MiB");
	tap_ok(vtpu_buffer_address(c) >= 1ULL << 46, "host memory has addresses of its own");
	tap_ok(!strcmp(vtpu_buffer_label(b), "mapped") && !*vtpu_buffer_label(a), "labels");
	memset(label, 'x', 99);
	label[99] = '\0';
	refused(vtpu_buffer_set_label(a, label), VTPU_ERROR_INVALID_ARGUMENT, "99",
		"a label too long");
	ok_call(vtpu_buffer_set_label(a, "short"), "a shorter one");
	refused(vtpu_buffer_map(a, &p), VTPU_ERROR_INVALID_ARGUMENT, "'short'",
		"mapping what is not mappable");
	ok_call(vtpu_buffer_map(b, &p), "mapping");
	ok_call(vtpu_buffer_map(b, &q), "mapping again");
	tap_ok(p == q, "gives the same pointer");
	((uint8_t *)p)[3 * MIB + 5] = 0x42;
	ok_call(vtpu_buffer_read(b, 3 * MIB + 5, label, 1), "reading");
	tap_is((uint8_t)label[0], 0x42, "sees what the CPU wrote");
	address = vtpu_buffer_address(a);
	vtpu_buffer_free(a);
	ok_call(vtpu_buffer_alloc(device, 4096, NULL, &d), "another one");
	tap_is(vtpu_buffer_address(d), address, "first fit");
	vtpu_buffer_free(b);
	vtpu_buffer_free(c);
	vtpu_buffer_free(d);
	vtpu_buffer_free(NULL);
}

static void transfers(struct vtpu_device *device)
{
	static const uint64_t sizes[] = { 1,	       4095,	4 * MIB - 1, 4 * MIB,
					  4 * MIB + 1, 8 * MIB, 9 * MIB + 77 };
	struct vtpu_buffer *buffer = NULL;
	uint8_t *data = pattern_bytes(12 * MIB), *back = malloc(12 * MIB);
	uint32_t word = 0;
	size_t i;

	ok_call(vtpu_buffer_alloc(device, 12 * MIB, NULL, &buffer), "12 MiB");
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t at = 13 * i;

		memset(back, 0, 12 * MIB);
		if (vtpu_buffer_write(buffer, at, data + 5, sizes[i]) ||
		    vtpu_buffer_read(buffer, at, back, sizes[i]))
			tap_ok(false, "%llu bytes: %s", (unsigned long long)sizes[i],
			       vtpu_last_error());
		else
			tap_ok(!memcmp(data + 5, back, sizes[i]) && !back[sizes[i]],
			       "%llu bytes there and back", (unsigned long long)sizes[i]);
	}
	ok_call(vtpu_buffer_write(buffer, 12 * MIB, data, 0), "nothing, at the end");
	refused(vtpu_buffer_write(buffer, 12 * MIB, data, 1), VTPU_ERROR_INVALID_ARGUMENT,
		"12582912", "beyond the end");
	refused(vtpu_buffer_read(buffer, UINT64_MAX, back, 2), VTPU_ERROR_INVALID_ARGUMENT,
		"offset", "an offset that wraps");
	refused(vtpu_buffer_read(buffer, 1, NULL, 2), VTPU_ERROR_INVALID_ARGUMENT, "NULL",
		"no data");
	ok_call(vtpu_buffer_fill(buffer, 8, 12 * MIB - 8, 0xfeedf00d), "fill");
	ok_call(vtpu_buffer_read(buffer, 12 * MIB - 4, &word, 4), "read the last word");
	tap_is(word, 0xfeedf00d, "it is filled");
	refused(vtpu_buffer_fill(buffer, 2, 8, 0), VTPU_ERROR_INVALID_ARGUMENT, "multiples of 4",
		"half a word");
	vtpu_buffer_free(buffer);
	free(data);
	free(back);
}

/* ---- Streams and events ----------------------------------------------------------------- */

static void streams(struct vtpu_device *device)
{
	struct vtpu_stream_options depth = VTPU_INIT(depth, .depth = 5),
				   mask = VTPU_INIT(mask, .core_mask = 1ULL << 63);
	struct vtpu_stream *stream = NULL, *second = NULL;
	struct vtpu_event *event = NULL, *other = NULL;
	struct vtpu_buffer *buffer = NULL;
	uint8_t *data = pattern_bytes(MIB), *back = calloc(1, MIB);
	bool done = false;
	int i;

	refused(vtpu_stream_create(device, &depth, &stream), VTPU_ERROR_INVALID_ARGUMENT,
		"power of two", "depth 5");
	refused(vtpu_stream_create(device, &mask, &stream), VTPU_ERROR_INVALID_ARGUMENT, "cores",
		"a core that is not there");
	ok_call(vtpu_stream_create(device, NULL, &stream), "a stream");
	ok_call(vtpu_stream_sync(stream, 0), "nothing to wait for");
	ok_call(vtpu_buffer_alloc(device, MIB, NULL, &buffer), "a buffer");
	/* In order: written, overwritten in part, read */
	ok_call(vtpu_write(stream, buffer, 0, data, MIB, NULL), "write");
	ok_call(vtpu_fill(stream, buffer, 4096, 4096, 0, NULL), "fill");
	memset(data, 0xee, MIB); /* taken already */
	refused(vtpu_read(stream, buffer, 0, back, MIB, NULL), VTPU_ERROR_INVALID_ARGUMENT, "event",
		"read without event");
	ok_call(vtpu_read(stream, buffer, 0, back, MIB, &event), "read");
	ok_call(vtpu_fill(stream, buffer, 0, MIB, 0, NULL), "fill after it");
	while (!done) {
		if (vtpu_event_query(event, &done)) {
			tap_ok(false, "query: %s", vtpu_last_error());
			break;
		}
	}
	tap_ok(back[1] == pattern(1) && back[4095] == pattern(4095) && !back[4096] && !back[8191] &&
		       back[8192] == pattern(8192) && back[MIB - 1] == pattern(MIB - 1),
	       "all in order");
	memset(back, 0x77, MIB);
	ok_call(vtpu_event_wait(event, 0), "waiting again is fine");
	tap_is(back[0], 0x77, "and copies nothing a second time");
	vtpu_event_destroy(event);

	/* Across streams, by events */
	ok_call(vtpu_stream_create(device, NULL, &second), "another stream");
	for (i = 0; i < 200; i++) {
		struct vtpu_stream *from = i & 1 ? second : stream, *to = i & 1 ? stream : second;

		if (vtpu_fill(from, buffer, 0, MIB, (uint32_t)i, &event) ||
		    vtpu_stream_wait(to, event))
			break;
		vtpu_event_destroy(event);
	}
	tap_is((uint64_t)i, 200, "200 fills in two streams, each after the other");
	ok_call(vtpu_read(stream, buffer, MIB - 4, back, 4, &event), "read what the last left");
	ok_call(vtpu_event_wait(event, VTPU_FOREVER), "wait");
	tap_is(back[0], 199, "it was the last");
	vtpu_event_destroy(event);
	ok_call(vtpu_read(stream, buffer, 0, back, MIB, &event), "a read");
	vtpu_event_destroy(event);
	ok_call(vtpu_stream_sync(stream, VTPU_FOREVER), "whose event was dropped");
	ok_call(vtpu_marker(stream, &other), "a marker");
	vtpu_stream_destroy(stream);
	ok_call(vtpu_event_wait(other, VTPU_FOREVER), "an event outlives its stream");
	vtpu_event_destroy(other);
	vtpu_stream_destroy(second);
	vtpu_buffer_free(buffer);
	free(data);
	free(back);
}

static void time_outs(struct vtpu_device *device)
{
	struct vtpu_stream *stream = NULL;
	struct vtpu_buffer *buffer = NULL;
	struct vtpu_event *event = NULL;
	bool done = true;
	int i;

	ok_call(vtpu_stream_create(device, NULL, &stream), "a stream");
	ok_call(vtpu_buffer_alloc(device, 64 * MIB, NULL, &buffer), "64 MiB");
	for (i = 0; i < 60; i++)
		vtpu_fill(stream, buffer, 0, 64 * MIB, 1 + (uint32_t)i, NULL);
	ok_call(vtpu_marker(stream, &event), "a marker behind much work");
	ok_call(vtpu_event_query(event, &done), "query");
	tap_ok(!done, "not yet");
	refused(vtpu_event_wait(event, 0), VTPU_ERROR_TIMEOUT, "not ended", "a look");
	refused(vtpu_event_wait(event, 1000000), VTPU_ERROR_TIMEOUT, "1000000 ns", "a millisecond");
	refused(vtpu_stream_sync(stream, 1000), VTPU_ERROR_TIMEOUT, "go on", "the whole stream");
	ok_call(vtpu_event_wait(event, VTPU_FOREVER), "as long as it takes");
	vtpu_event_destroy(event);
	vtpu_stream_destroy(stream);
	vtpu_buffer_free(buffer);
}

static void failures(struct vtpu_device *device)
{
	struct vtpu_buffer_options options =
		VTPU_INIT(options, .flags = VTPU_BUFFER_READONLY, .label = "constants");
	struct vtpu_event *bad = NULL, *after = NULL, *before = NULL;
	struct vtpu_buffer *readonly = NULL, *buffer = NULL;
	struct vtpu_stream *stream = NULL;
	uint32_t word = 0;

	ok_call(vtpu_buffer_alloc(device, 4096, &options, &readonly), "a read-only buffer");
	ok_call(vtpu_buffer_alloc(device, 4096, NULL, &buffer), "another");
	ok_call(vtpu_stream_create(device, NULL, &stream), "a stream");
	ok_call(vtpu_marker(stream, &before), "a good job");
	ok_call(vtpu_fill(stream, readonly, 128, 64, 1, &bad), "a bad one");
	if (vtpu_fill(stream, buffer, 0, 64, 1, &after))
		after = NULL; /* refused at once, if the failure was seen by then */
	ok_call(vtpu_event_wait(before, VTPU_FOREVER), "the good one ended well");
	refused(vtpu_event_wait(bad, VTPU_FOREVER), VTPU_ERROR_FAULT,
		"byte 128 of buffer 'constants'", "the bad one says where");
	refused(vtpu_event_wait(bad, VTPU_FOREVER), VTPU_ERROR_FAULT, "read-only",
		"as often as one asks");
	if (after)
		refused(vtpu_event_wait(after, VTPU_FOREVER), VTPU_ERROR_CANCELLED, "'constants'",
			"the one behind was cancelled");
	refused(vtpu_marker(stream, NULL), VTPU_ERROR_CANCELLED, "new stream",
		"the stream has ended");
	refused(vtpu_stream_sync(stream, VTPU_FOREVER),
		after ? VTPU_ERROR_CANCELLED : VTPU_ERROR_FAULT, "read-only", "so says sync");
	refused(vtpu_buffer_fill(readonly, 0, 4, 1), VTPU_ERROR_FAULT, "'constants'",
		"a synchronous call fails the same way");
	ok_call(vtpu_buffer_fill(buffer, 0, 4, 5), "and the next one works");
	ok_call(vtpu_buffer_read(buffer, 0, &word, 4), "read");
	tap_is(word, 5, "right");
	vtpu_event_destroy(before);
	vtpu_event_destroy(bad);
	vtpu_event_destroy(after);
	vtpu_stream_destroy(stream);
	vtpu_buffer_free(readonly);
	vtpu_buffer_free(buffer);
}

static void copies(struct vtpu_device *device)
{
	struct vtpu_rows rows = { .rows = 4, .row_bytes = 16, .dst_stride = 16, .src_stride = 32 };
	struct vtpu_buffer *src = NULL, *dst = NULL;
	struct vtpu_stream *stream = NULL;
	struct vtpu_event *event = NULL;
	uint8_t *data = pattern_bytes(256), back[256];

	ok_call(vtpu_buffer_alloc(device, 256, NULL, &src), "source");
	ok_call(vtpu_buffer_alloc(device, 64, NULL, &dst), "destination");
	ok_call(vtpu_buffer_write(src, 0, data, 256), "write");
	ok_call(vtpu_stream_create(device, NULL, &stream), "stream");
	rows.src = src;
	rows.dst = dst;
	ok_call(vtpu_copy_rows(stream, &rows, 1, &event), "rows");
	ok_call(vtpu_event_wait(event, VTPU_FOREVER), "wait");
	vtpu_event_destroy(event);
	ok_call(vtpu_buffer_read(dst, 0, back, 64), "read");
	tap_ok(!memcmp(back, data, 16) && !memcmp(back + 16, data + 32, 16) &&
		       !memcmp(back + 48, data + 96, 16),
	       "right");
	rows.rows = 5;
	refused(vtpu_copy_rows(stream, &rows, 1, NULL), VTPU_ERROR_INVALID_ARGUMENT, "destination",
		"a row too many");
	rows.rows = 4;
	rows.src_stride = -32;
	refused(vtpu_copy_rows(stream, &rows, 1, NULL), VTPU_ERROR_INVALID_ARGUMENT, "source",
		"backwards out of it");
	rows.src_stride = INT64_MIN;
	refused(vtpu_copy_rows(stream, &rows, 1, NULL), VTPU_ERROR_INVALID_ARGUMENT, "source",
		"a stride that wraps");
	rows.src_stride = 32;
	refused(vtpu_copy_rows(stream, &rows, 65, NULL), VTPU_ERROR_INVALID_ARGUMENT, "1..64",
		"65 of them");
	rows.index = src;
	refused(vtpu_copy_rows(stream, &rows, 1, NULL), VTPU_ERROR_INVALID_ARGUMENT, "index_limit",
		"an index without limit");
	refused(vtpu_copy(stream, dst, 0, src, 0, 65, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"64 bytes", "a byte too many");
	refused(vtpu_copy(stream, dst, 0, NULL, 0, 65, NULL), VTPU_ERROR_INVALID_ARGUMENT, "NULL",
		"no source");
	ok_call(vtpu_stream_sync(stream, VTPU_FOREVER), "the stream is as good as ever");
	vtpu_stream_destroy(stream);
	vtpu_buffer_free(src);
	vtpu_buffer_free(dst);
	free(data);
}

/* ---- Programs --------------------------------------------------------------------------------- */

static struct vtpu_image *dense_image(struct vtpu_device *device)
{
	struct vtpu_layer layer = { .name = "fc", .n = 8, .bias = true, .act = VTPU_ACT_RELU };
	struct vtpu_dense_options options = VTPU_INIT(options);
	struct vtpu_image *image = NULL;

	options.geometry = vtpu_device_geometry(device);
	options.m = 8;
	options.k = 8;
	options.layers = &layer;
	options.layer_count = 1;
	ok_call(vtpu_dense_build(&options, &image, NULL), "an image");
	return image;
}

static void programs(struct vtpu_device *device)
{
	struct vtpu_program_options strict =
		VTPU_INIT(strict, .flags = VTPU_PROGRAM_STRICT, .name = "dense");
	struct vtpu_buffer_options host = VTPU_INIT(host, .memory = VTPU_MEMORY_HOST);
	struct vtpu_program_stats stats = VTPU_INIT(stats);
	struct vtpu_image *image = dense_image(device);
	struct vtpu_buffer *buffer = NULL, *far = NULL;
	struct vtpu_program *program = NULL;
	struct vtpu_stream *stream = NULL;
	struct vtpu_binding bind[4];
	struct vtpu_event *event;
	float x[64], y[64];
	uint32_t i, base;
	size_t bytes;
	uint8_t *copy;

	if (!image)
		return;
	vtpu_image_data(image, &bytes);
	copy = malloc(bytes);
	memcpy(copy, vtpu_image_data(image, NULL), bytes);
	refused(vtpu_program_create_bytes(
			device, "not a program, but some text that is longer than a header is wide",
			66, NULL, &program),
		VTPU_ERROR_BAD_PROGRAM, "no program image", "text is no program");
	refused(vtpu_program_create_bytes(device, copy, bytes - 1, NULL, &program),
		VTPU_ERROR_BAD_PROGRAM, "not all", "nor is half of one");
	copy[bytes / 2] ^= 1;
	refused(vtpu_program_create_bytes(device, copy, bytes, &strict, &program),
		VTPU_ERROR_BAD_PROGRAM, "checksum", "nor one with a flipped bit");
	copy[bytes / 2] ^= 1;
	ok_call(vtpu_program_create_bytes(device, copy, bytes, NULL, &program), "its bytes are");
	vtpu_program_destroy(program);
	free(copy);
	program = NULL;
	ok_call(vtpu_program_create(device, image, &strict, &program), "a program");
	vtpu_image_destroy(image);
	if (!program)
		return;
	ok_call(vtpu_program_stats(program, &stats), "stats");
	tap_ok(stats.width == 1 && stats.bases == 4 && stats.cycles && stats.macs == 512, "of it");
	tap_ok(!*vtpu_program_report(program), "nothing to report");
	ok_call(vtpu_image_find_base(vtpu_program_image(program), "fc.w", &base), "a base by name");
	tap_is(base, 1, "its number");

	ok_call(vtpu_buffer_alloc(device, 4096, NULL, &buffer), "a buffer");
	vtpu_buffer_set_label(buffer, "arena");
	ok_call(vtpu_buffer_alloc(device, 4096, &host, &far), "one in host memory");
	ok_call(vtpu_stream_create(device, NULL, &stream), "a stream");
	for (i = 0; i < 4; i++)
		bind[i] = (struct vtpu_binding){ .buffer = buffer, .offset = i * 1024 };
	refused(vtpu_run(stream, program, bind, 3, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"4 bases", "3 bindings");
	refused(vtpu_run(stream, program, bind, 4, &base, 1, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"0 scalars", "a scalar");
	bind[1].buffer = NULL;
	refused(vtpu_run(stream, program, bind, 4, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"'fc.w'", "no buffer");
	bind[1].buffer = far;
	refused(vtpu_run(stream, program, bind, 4, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"host memory", "host memory");
	bind[1] = (struct vtpu_binding){ buffer, 4000 };
	refused(vtpu_run(stream, program, bind, 4, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"needs 256 bytes", "too short");
	bind[1].offset = 1028;
	refused(vtpu_run(stream, program, bind, 4, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"aligned", "misaligned");
	bind[1].offset = 3072;
	refused(vtpu_run(stream, program, bind, 4, NULL, 0, NULL), VTPU_ERROR_INVALID_ARGUMENT,
		"overlaps", "on the result");
	bind[1].offset = 1024;

	for (i = 0; i < 64; i++)
		x[i] = (float)(i % 5) - 1;
	ok_call(vtpu_write(stream, buffer, 0, x, sizeof(x), NULL), "x");
	for (i = 0; i < 64; i++)
		x[i] = i % 9 == 0 ? 2 : 0; /* twice the identity */
	ok_call(vtpu_write(stream, buffer, 1024, x, sizeof(x), NULL), "w");
	ok_call(vtpu_fill(stream, buffer, 2048, 32, 0x3f800000, NULL), "a bias of 1");
	ok_call(vtpu_run(stream, program, bind, 4, NULL, 0, NULL), "run");
	ok_call(vtpu_read(stream, buffer, 3072, y, sizeof(y), &event), "y");
	vtpu_program_destroy(program);
	ok_call(vtpu_event_wait(event, VTPU_FOREVER), "all of it in one stream");
	for (i = 0, base = 0; i < 64; i++) {
		float want = 2 * ((float)(i % 5) - 1) + 1;

		base += y[i] != (want > 0 ? want : 0);
	}
	tap_is(base, 0, "and right");
	vtpu_event_destroy(event);
	vtpu_stream_destroy(stream);
	vtpu_buffer_free(buffer);
	vtpu_buffer_free(far);
}

/* ---- Processes and threads ------------------------------------------------------------------------ */

static void forks(struct vtpu_device *device)
{
	struct vtpu_buffer *buffer = NULL;
	uint32_t word = 7;
	int status = -1;
	pid_t pid;

	ok_call(vtpu_buffer_alloc(device, 4096, NULL, &buffer), "a buffer");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct vtpu_device *own = NULL;
		int wrong = vtpu_buffer_write(buffer, 0, &word, 4) != VTPU_ERROR_FORKED;

		wrong += !strstr(vtpu_last_error(), "fork()");
		vtpu_buffer_free(buffer);
		vtpu_close(device);
		if (strncmp(device_name, "model", 5)) {
			wrong += vtpu_open(device_name, &own) != VTPU_OK;
			vtpu_close(own);
		}
		_exit(wrong);
	}
	waitpid(pid, &status, 0);
	tap_is((uint64_t)status, 0, "a child is told, and may open its own");
	ok_call(vtpu_buffer_write(buffer, 0, &word, 4), "the parent goes on");
	vtpu_buffer_free(buffer);
}

static void *worker(void *arg)
{
	struct vtpu_device *device = arg;
	struct vtpu_stream *stream = NULL;
	struct vtpu_buffer *buffer = NULL;
	uint8_t *data = pattern_bytes(MIB), *back = calloc(1, MIB);
	uintptr_t wrong = 0;
	int i;

	wrong += vtpu_stream_create(device, NULL, &stream) != VTPU_OK;
	for (i = 0; i < 10 && !wrong; i++) {
		struct vtpu_event *event = NULL;

		wrong += vtpu_buffer_alloc(device, MIB + 64 * (uint64_t)i, NULL, &buffer) !=
			 VTPU_OK;
		if (i & 1) {
			wrong += vtpu_buffer_write(buffer, 0, data, MIB) != VTPU_OK;
			wrong += vtpu_buffer_read(buffer, 0, back, MIB) != VTPU_OK;
		} else {
			wrong += vtpu_write(stream, buffer, 0, data, MIB, NULL) != VTPU_OK;
			wrong += vtpu_read(stream, buffer, 0, back, MIB, &event) != VTPU_OK;
			wrong += vtpu_event_wait(event, VTPU_FOREVER) != VTPU_OK;
			vtpu_event_destroy(event);
		}
		wrong += memcmp(data, back, MIB) != 0;
		memset(back, 0, MIB);
		vtpu_buffer_free(buffer);
	}
	vtpu_stream_destroy(stream);
	free(data);
	free(back);
	return (void *)wrong;
}

static void *other_thread(void *arg)
{
	return (void *)(uintptr_t)!strcmp(vtpu_last_error(), arg);
}

static void threads(struct vtpu_device *device)
{
	pthread_t thread[4];
	uintptr_t wrong = 0;
	void *result;
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, device);
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], &result);
		wrong += (uintptr_t)result;
	}
	tap_is(wrong, 0, "four threads, each with its own stream");
	vtpu_buffer_alloc(device, 0, NULL, NULL);
	pthread_create(&thread[0], NULL, other_thread, "");
	pthread_join(thread[0], &result);
	tap_is((uintptr_t)result, 1, "a sentence belongs to its thread");
}

struct log {
	char text[512];
	unsigned int lines;
};

static void keep_line(void *arg, enum vtpu_message level, const char *text)
{
	struct log *log = arg;

	(void)level;
	snprintf(log->text, sizeof(log->text), "%s", text);
	log->lines++;
}

static void logs_and_ownership(void)
{
	struct vtpu_device *device = NULL;
	struct vtpu_buffer *buffer = NULL;
	struct vtpu_stream *stream = NULL;
	struct vtpu_event *event = NULL;
	struct log log = { .lines = 0 };
	uint32_t word = 3;

	vtpu_set_log(keep_line, &log, VTPU_MESSAGE_INFO);
	ok_call(vtpu_open(device_name, &device), "open");
	vtpu_set_log(NULL, NULL, VTPU_MESSAGE_INFO);
	tap_ok(log.lines >= 1 && strstr(log.text, "took "), "the log tells what was taken");
	if (!device)
		return;
	ok_call(vtpu_buffer_alloc(device, 4096, NULL, &buffer), "a buffer");
	ok_call(vtpu_stream_create(device, NULL, &stream), "a stream");
	ok_call(vtpu_marker(stream, &event), "an event");
	vtpu_close(device);
	vtpu_stream_destroy(stream);
	ok_call(vtpu_buffer_write(buffer, 0, &word, 4), "a buffer keeps its device");
	ok_call(vtpu_event_wait(event, VTPU_FOREVER), "so does an event");
	vtpu_buffer_free(buffer);
	vtpu_event_destroy(event);
	vtpu_close(NULL);
}

int main(int argc, char **argv)
{
	struct vtpu_device *device = NULL;

	if (argc > 1)
		device_name = argv[1];
	printf("TAP version 13\n");
	tap_ok(!strcmp(vtpu_last_error(), ""), "no error yet");
	test_models();
	if (!ok_call(vtpu_open(device_name, &device), "open %s", device_name))
		return tap_done();
	structs(device);
	information(device);
	buffers(device);
	transfers(device);
	streams(device);
	time_outs(device);
	failures(device);
	copies(device);
	programs(device);
	forks(device);
	threads(device);
	vtpu_close(device);
	logs_and_ownership();
	return tap_done();
}
