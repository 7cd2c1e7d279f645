// SPDX-License-Identifier: MIT
/*
 * test_safetensors.c - files of tensors: what is written can be read, by the
 * format's own rules; a file that is damaged in any byte is refused; a good
 * file survives every failed write.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/safetensors.h"
#include "unit/status.h"
#include "unit/temp_dir.h"

static char path[256];

static float weights[5][3];
static const uint8_t bytes[7] = { 1, 2, 3, 4, 5, 6, 255 };
static const int32_t step = -12345;

static void fill(struct safetensors *file, float first)
{
	for (int i = 0; i < 15; i++)
		weights[i / 3][i % 3] = first + i;
	safetensors_add(file, "conv1/weights", VTPU_DTYPE_F32, &VTPU_SHAPE(5, 3), weights,
			sizeof(weights));
	safetensors_add(file, "odd", VTPU_DTYPE_U8, &VTPU_SHAPE(7), bytes, sizeof(bytes));
	safetensors_add(file, "step", VTPU_DTYPE_S32, &VTPU_SHAPE_SCALAR, &step, sizeof(step));
	safetensors_set(file, "note", "a \"quoted\" line\nand \\ %d more", 2);
}

static void put(const char *to, const void *data, size_t count)
{
	FILE *f = fopen(to, "wb");

	if (!f || fwrite(data, 1, count, f) != count || fclose(f))
		abort();
}

static uint8_t *get(const char *from, size_t *count)
{
	uint8_t *data = malloc(1 << 20);
	FILE *f = fopen(from, "rb");

	*count = f ? fread(data, 1, 1 << 20, f) : 0;
	if (f)
		fclose(f);
	return data;
}

static void round_trip(void)
{
	struct safetensors out = { 0 }, in;
	const struct safetensor *t;
	size_t count;
	uint8_t *raw;

	fill(&out, 0.5f);
	ok_call(safetensors_write(path, &out), "a file is written");
	if (ok_call(safetensors_read(path, &in), "and read")) {
		t = safetensors_find(&in, "conv1/weights");
		tap_ok(t && t->type == VTPU_DTYPE_F32 && t->shape.rank == 2 &&
			       t->shape.dim[0] == 5 && t->bytes == sizeof(weights) &&
			       !memcmp(t->data, weights, sizeof(weights)),
		       "a matrix");
		t = safetensors_find(&in, "step");
		tap_ok(t && !t->shape.rank && !memcmp(t->data, &step, 4), "a single number");
		t = safetensors_find(&in, "odd");
		tap_ok(t && t->bytes == 7 && !memcmp(t->data, bytes, 7), "seven bytes");
		tap_ok(!safetensors_find(&in, "conv2/weights"), "nothing else");
		tap_ok(!strcmp(safetensors_value(&in, "note"), "a \"quoted\" line\nand \\ 2 more"),
		       "metadata with quotes and lines");
		safetensors_free(&in);
	}
	raw = get(path, &count);
	tap_ok(count == 8 + raw[0] + raw[1] * 256u + 60 + 7 + 4 && raw[8] == '{' &&
		       (8 + raw[0] + raw[1] * 256u) % 64 == 0,
	       "length, header, data, as the format says");
	tap_ok(access(strcat(strcpy((char[300]){ 0 }, path), ".tmp"), F_OK),
	       "no other file is left");
	free(raw);
	safetensors_free(&out);
}

/* What other programs write: no checksum, no padding, any order of the entries. */
static void foreign(void)
{
	static const char header[] =
		"{\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
		"\"a\":{\"shape\":[1,2],\"data_offsets\":[0,4],\"dtype\":\"BF16\"}}";
	uint8_t file[8 + sizeof(header) - 1 + 12] = { sizeof(header) - 1 };
	const float two[2] = { 1.5f, -2 };
	struct safetensors in;

	memcpy(file + 8, header, sizeof(header) - 1);
	memcpy(file + sizeof(file) - 8, two, 8);
	put(path, file, sizeof(file));
	if (ok_call(safetensors_read(path, &in), "a file of another program")) {
		const struct safetensor *t = safetensors_find(&in, "b");

		tap_ok(in.tensors == 2 && t && !memcmp(t->data, two, 8), "has its tensors");
		safetensors_free(&in);
	}
}

static void bad_header(const char *header, size_t data, enum vtpu_status status, const char *words)
{
	size_t n = strlen(header);
	uint8_t file[1024] = { n & 255, n >> 8 };
	struct safetensors in;

	memcpy(file + 8, header, n);
	put(path, file, 8 + n + data);
	refused(safetensors_read(path, &in), status, words, words);
}

static void bad_headers(void)
{
	struct safetensors in;

	put(path, "", 0);
	refused(safetensors_read(path, &in), VTPU_ERROR_IO, "0 bytes: empty", "an empty file");
	put(path, "PK\3\4 this is no such file", 26);
	refused(safetensors_read(path, &in), VTPU_ERROR_IO, "not a safetensors file",
		"another file");
	refused(safetensors_read("build/none", &in), VTPU_ERROR_NOT_FOUND, "build/none", "no file");
	refused(safetensors_read(dir, &in), VTPU_ERROR_IO, "no regular file", "a folder");
	bad_header("{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		   VTPU_ERROR_UNSUPPORTED, "tensor 'a': dtype 'F16'");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
		   VTPU_ERROR_IO, "its shape needs 8 bytes");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4,
		   VTPU_ERROR_IO, "half written or cut off");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
		   VTPU_ERROR_IO, "starts at byte 4 of the data; expected 0");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
		   "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
		   4, VTPU_ERROR_IO, "starts at byte 0 of the data; expected 4");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8,
		   VTPU_ERROR_IO, "the file has 8 behind its header");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
		   VTPU_ERROR_IO, "dimension 0 is malformed");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,8],\"data_offsets\":[0,0]}}",
		   0, VTPU_ERROR_IO, "is malformed");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", 8,
		   VTPU_ERROR_IO, "at bytes 8..4");
	bad_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, VTPU_ERROR_IO, "is missing");
	bad_header("{\"a\":[1,2]}", 4, VTPU_ERROR_IO, "'a' is no object");
	bad_header("{\"a\":{", 0, VTPU_ERROR_IO, "the JSON header is malformed");
	bad_header("{\"__metadata__\":{\"k\":3}}", 0, VTPU_ERROR_IO, "metadata 'k' is no string");
}

/* Every truncation and a change of every byte must be noticed. */
static void damage(void)
{
	struct safetensors out = { 0 }, in;
	size_t count, kept = 0, changed = 0;
	uint8_t *raw;

	fill(&out, 3);
	safetensors_write(path, &out);
	safetensors_free(&out);
	raw = get(path, &count);
	for (size_t n = 0; n < count; n++) {
		put(path, raw, n);
		if (!safetensors_read(path, &in)) {
			safetensors_free(&in);
			kept++;
		}
	}
	tap_is(kept, 0, "no file that is cut off is taken, at any length");
	for (size_t n = 0; n < count; n++) {
		raw[n] ^= 0x10;
		put(path, raw, count);
		raw[n] ^= 0x10;
		if (!safetensors_read(path, &in)) {
			safetensors_free(&in);
			if (!changed++)
				printf("# byte %zu\n", n);
		}
	}
	tap_is(changed, 0, "no file with a changed byte is taken, at any place");
	raw[count - 1] ^= 1;
	put(path, raw, count);
	refused(safetensors_read(path, &in), VTPU_ERROR_IO, "the file is damaged",
		"and it says so");
	free(raw);
}

static bool is_whole(float first)
{
	struct safetensors in;
	const struct safetensor *t;
	bool good;

	if (safetensors_read(path, &in))
		return false;
	t = safetensors_find(&in, "conv1/weights");
	good = t && !memcmp(t->data, &first, sizeof(first));
	safetensors_free(&in);
	return good;
}

/* As on a full disk: no file may grow beyond a few bytes. */
static void disk_full(void)
{
	struct rlimit old, small = { 100, 100 };
	struct safetensors out = { 0 };
	enum vtpu_status status;
	char old_words[512];

	fill(&out, 1);
	ok_call(safetensors_write(path, &out), "a good file");
	safetensors_free(&out);
	fill(&out, 2);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	status = safetensors_write(path, &out);
	strncpy(old_words, vtpu_last_error(), sizeof(old_words) - 1);
	setrlimit(RLIMIT_FSIZE, &old);
	tap_ok(status == VTPU_ERROR_IO && strstr(old_words, "cannot be written") &&
		       strstr(old_words, "is as it was"),
	       "no room: %s", old_words);
	tap_ok(is_whole(1), "the good file is still there");
	tap_ok(access(strcat(strcpy((char[300]){ 0 }, path), ".tmp"), F_OK),
	       "and no rest of the other");
	ok_call(safetensors_write(path, &out), "with room again it is replaced");
	tap_ok(is_whole(2), "by the new one");
	refused(safetensors_write("build/none/x", &out), VTPU_ERROR_IO, "build/none/x",
		"a folder that is not there");
	refused(safetensors_write("/proc/version", &out), VTPU_ERROR_IO, "/proc/version",
		"a folder that takes no files");
	safetensors_free(&out);
	if (!access("/dev/full", W_OK)) {
		/* The temporary file is a link to a disk that is full. */
		char temporary[300];

		snprintf(temporary, sizeof(temporary), "%s.tmp", path);
		if (!symlink("/dev/full", temporary)) {
			fill(&out, 5);
			tap_ok(safetensors_write(path, &out) != VTPU_OK && is_whole(2),
			       "a disk that is full from the start: %s", vtpu_last_error());
			unlink(temporary);
			safetensors_free(&out);
		}
	}
}

/* A writer that is killed at any time leaves the old file or the new one. */
static void killed(void)
{
	int whole = 0, fresh = 0, runs = 60;

	for (int i = 0; i < runs; i++) {
		struct safetensors out = { 0 };
		pid_t pid = fork();

		if (!pid) {
			float *big = malloc(8 << 20);

			for (int round = 0;; round++) {
				struct safetensors file = { 0 };

				big[0] = 1000 + round;
				safetensors_add(&file, "conv1/weights", VTPU_DTYPE_F32,
						&VTPU_SHAPE(1 << 21), big, 8 << 20);
				safetensors_write(path, &file);
				safetensors_free(&file);
			}
		}
		usleep(1000 * (i % 20));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		whole += !safetensors_read(path, &out);
		safetensors_free(&out);
	}
	tap_is(whole, runs, "killed at any time, a whole file is there");
	for (int i = 0; i < 1; i++) {
		struct safetensors out = { 0 };

		fill(&out, 9);
		fresh += !safetensors_write(path, &out) && is_whole(9);
		safetensors_free(&out);
	}
	tap_is(fresh, 1, "and what a killed writer left does not disturb the next");
}

static void two_writers(void)
{
	struct safetensors out = { 0 };
	char temporary[300];
	int fd;

	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	fd = open(temporary, O_CREAT | O_RDWR, 0644);
	flock(fd, LOCK_EX);
	fill(&out, 11);
	refused(safetensors_write(path, &out), VTPU_ERROR_BUSY, "another program is writing it",
		"two writers do not mix");
	tap_ok(is_whole(9), "the file is as it was");
	close(fd);
	ok_call(safetensors_write(path, &out), "when the other is gone it is written");
	safetensors_free(&out);
	fill(&out, 1);
	safetensors_add(&out, "step", VTPU_DTYPE_S32, &VTPU_SHAPE_SCALAR, &step, sizeof(step));
	refused(safetensors_write(path, &out), VTPU_ERROR_EXISTS, "two tensors 'step'",
		"one name twice");
	safetensors_free(&out);
}

int main(void)
{
	if (!make_dir())
		return 1;
	snprintf(path, sizeof(path), "%s/model.safetensors", dir);
	round_trip();
	foreign();
	bad_headers();
	damage();
	disk_full();
	killed();
	two_writers();
	remove_dir();
	return tap_done();
}
