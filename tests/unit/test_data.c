// SPDX-License-Identifier: MIT
/*
 * test_data.c - data sets of files: good and bad ones, and where they are looked for.
 */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <vtpu/vtpu.h>

#include "unit/status.h"
#include "unit/temp_dir.h"

#define COUNT 1000
#define SIDE  6
#define BYTES (SIDE * SIDE)

/* ---- Files ------------------------------------------------------------------ */

enum pack {
	PLAIN,
	GZIP,
	XZ
};

static const char *put(const char *name, const void *data, size_t bytes, enum pack pack)
{
	static char path[8][256];
	static int n;
	char *p = path[n++ % 8];
	uint8_t *out = malloc(bytes + 4096);
	size_t done = 0;
	FILE *f;

	snprintf(p, 256, "%s/%s", dir, name);
	if (pack == GZIP) {
		gzFile gz = gzopen(p, "wb");

		gzwrite(gz, data, bytes);
		gzclose(gz);
	} else {
		f = fopen(p, "wb");
		if (pack == XZ) {
			if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, bytes, out,
						    &done, bytes + 4096) != LZMA_OK)
				abort();
			fwrite(out, 1, done, f);
		} else {
			fwrite(data, 1, bytes, f);
		}
		fclose(f);
	}
	free(out);
	return p;
}

static size_t header(uint8_t *p, uint32_t magic, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t word[4] = { magic, a, b, c };
	size_t n = (magic & 0xff) == 3 ? 4 : 2;

	for (size_t i = 0; i < 4 * n; i++)
		p[i] = (uint8_t)(word[i / 4] >> (24 - i % 4 * 8));
	return 4 * n;
}

/* Pixel @at of image @index */
static uint8_t pixel(uint64_t index, uint64_t at)
{
	return (uint8_t)(index * 37 + at * 11 + (index >> 8));
}

static int32_t label_of(uint64_t index)
{
	return (int32_t)((index * 7 + index / 10) % 10);
}

static uint8_t images[16 + COUNT * BYTES], labels[8 + COUNT];

static void make_set(void)
{
	size_t n = header(images, 0x803, COUNT, SIDE, SIDE);
	size_t m = header(labels, 0x801, COUNT, 0, 0);

	for (uint64_t i = 0; i < COUNT; i++) {
		labels[m + i] = (uint8_t)label_of(i);
		for (uint64_t k = 0; k < BYTES; k++)
			images[n + i * BYTES + k] = pixel(i, k);
	}
}

static bool set_is_right(const struct vtpu_data *data)
{
	uint8_t sample[BYTES];
	int32_t label;

	for (uint64_t i = 0; i < COUNT; i++) {
		if (vtpu_data_read(data, i, sample, &label) || label != label_of(i))
			return false;
		for (uint64_t k = 0; k < BYTES; k++)
			if (sample[k] != pixel(i, k))
				return false;
	}
	return true;
}

static void good_files(void)
{
	static const char *const name[] = { "plain", "gzip", "xz" };
	struct vtpu_data_info info = VTPU_INIT(info);
	struct vtpu_data *data;

	for (int pack = PLAIN; pack <= XZ; pack++) {
		const char *x = put("x", images, sizeof(images), pack);
		const char *y = put("y", labels, sizeof(labels), pack);

		data = NULL;
		if (ok_call(vtpu_data_idx("small", x, y, 0, &data), name[pack]))
			tap_ok(set_is_right(data), "%s: every pixel and label", name[pack]);
		vtpu_data_info(data, &info);
		tap_ok(info.count == COUNT && info.classes == 10 && info.type == VTPU_DTYPE_U8 &&
			       info.shape.rank == 3 && info.shape.dim[0] == SIDE &&
			       info.shape.dim[2] == 1 && info.label_type == VTPU_DTYPE_U8 &&
			       info.bytes == COUNT * BYTES,
		       "%s: count, shape, classes", name[pack]);
		tap_ok(strstr(vtpu_data_describe(data),
			      "small: 1000 samples u8[6,6,1] in 10 classes"),
		       "%s: described: %s", name[pack], vtpu_data_describe(data));
		vtpu_data_destroy(data);
	}
}

static void bad_file(const char *what, const void *x, size_t x_bytes, const void *y, size_t y_bytes,
		     enum vtpu_status status, const char *words)
{
	struct vtpu_data *data = NULL;
	char name[128];

	for (int pack = PLAIN; pack <= XZ; pack++) {
		const char *px = put("bad-x", x, x_bytes, pack);
		const char *py = put("bad-y", y, y_bytes, pack);

		snprintf(name, sizeof(name), "%s (%s)", what,
			 pack == XZ ? "xz" :
			 pack	    ? "gzip" :
				      "plain");
		refused(vtpu_data_idx(NULL, px, py, 10, &data), status, words, name);
	}
	tap_ok(!data, "%s: no data set", what);
}

static void bad_files(void)
{
	static uint8_t x[sizeof(images) + 1], y[sizeof(labels)];
	struct vtpu_data *data = NULL;
	const char *path;

	memcpy(x, images, sizeof(images));
	memcpy(y, labels, sizeof(labels));
	bad_file("truncated images", x, 16 + 5000, y, sizeof(y), VTPU_ERROR_IO,
		 "truncated: the data that its header announces should have 36000 bytes, and 5000");
	bad_file("truncated header", x, 9, y, sizeof(y), VTPU_ERROR_IO, "truncated");
	bad_file("empty file", x, 0, y, sizeof(y), VTPU_ERROR_IO, "truncated");
	bad_file("more than announced", x, sizeof(x), y, sizeof(y), VTPU_ERROR_IO, "more bytes");
	bad_file("images and labels swapped", y, sizeof(y), x, sizeof(images), VTPU_ERROR_IO,
		 "magic number 0x00000801; expected 0x00000803");
	y[8 + 421] = 12;
	bad_file("label out of range", x, sizeof(images), y, sizeof(y), VTPU_ERROR_INVALID_ARGUMENT,
		 "the label of sample 421 is 12; expected 0..9");
	header(y, 0x801, COUNT - 1, 0, 0);
	bad_file("one label short", x, sizeof(images), y, sizeof(y) - 1, VTPU_ERROR_SHAPE_MISMATCH,
		 "999 labels");
	memcpy(y, labels, sizeof(labels));
	header(x, 0x803, 0, SIDE, SIDE);
	bad_file("no images", x, 16, y, sizeof(y), VTPU_ERROR_IO, "dimension 0 is 0");
	header(x, 0x803, 0xffffffff, 0xffff, 0xffff);
	bad_file("2^64 bytes announced", x, sizeof(images), y, sizeof(y), VTPU_ERROR_TOO_LARGE,
		 "announces more than");
	header(x, 0x803, 1000000, 180, 180);
	bad_file("32 GB announced, not there", x, sizeof(images), y, sizeof(y), VTPU_ERROR_IO,
		 "truncated");
	refused(vtpu_data_idx(NULL, "build/none/x", "build/none/y", 10, &data),
		VTPU_ERROR_NOT_FOUND, "build/none/x", "no such file");
	refused(vtpu_data_idx(NULL, dir, "y", 10, &data), VTPU_ERROR_IO, dir, "a folder");
	for (int pack = GZIP; pack <= XZ; pack++) {
		path = put("cut", images, sizeof(images), pack);
		if (truncate(path, 200))
			abort();
		refused(vtpu_data_idx(NULL, path, put("y", labels, sizeof(labels), PLAIN), 10,
				      &data),
			VTPU_ERROR_IO, path, pack == GZIP ? "gzip cut in two" : "xz cut in two");
	}
	path = put("damaged", images, sizeof(images), XZ);
	FILE *f = fopen(path, "r+b");
	fseek(f, 150, SEEK_SET);
	fwrite("damaged!", 1, 8, f);
	fclose(f);
	refused(vtpu_data_idx(NULL, path, "y", 10, &data), VTPU_ERROR_IO, "xz", "damaged xz");
}

static void cifar(void)
{
	static uint8_t record[3 * 3073];
	struct vtpu_data *data = NULL;
	const char *path[2];
	uint8_t x[3072];
	int32_t label = -1;

	for (int i = 0; i < 3; i++) {
		record[i * 3073] = (uint8_t)(9 - i);
		for (int k = 0; k < 3072; k++)
			record[i * 3073 + 1 + k] = (uint8_t)(k / 1024 * 64 + k % 60 + i);
	}
	path[0] = put("batch-1", record, sizeof(record), XZ);
	path[1] = put("batch-2", record, 3073, PLAIN);
	if (ok_call(vtpu_data_cifar10_files(NULL, path, 2, &data), "two CIFAR files")) {
		bool right = !vtpu_data_read(data, 2, x, &label) && label == 7;

		for (int p = 0; p < 1024; p++)
			for (int c = 0; c < 3; c++)
				right &= x[p * 3 + c] ==
					 (uint8_t)(c * 64 + (c * 1024 + p) % 60 + 2);
		tap_ok(right, "planes became channels");
		tap_ok(strstr(vtpu_data_describe(data), "4 samples u8[32,32,3] in 10"), "%s",
		       vtpu_data_describe(data));
		tap_ok(!vtpu_data_read(data, 3, NULL, &label) && label == 9,
		       "the second file comes after the first");
	}
	vtpu_data_destroy(data);
	data = NULL;
	path[1] = put("batch-2", record, 5000, PLAIN);
	refused(vtpu_data_cifar10_files(NULL, path, 2, &data), VTPU_ERROR_IO,
		"1927 bytes left over", "a CIFAR file cut in two");
	record[3073] = 10;
	path[1] = put("batch-2", record, sizeof(record), GZIP);
	refused(vtpu_data_cifar10_files(NULL, path, 2, &data), VTPU_ERROR_INVALID_ARGUMENT,
		"the label of sample 1 is 10", "a CIFAR label out of range");
}

static void folders(void)
{
	struct vtpu_data *data = NULL;
	char sub[300];

	snprintf(sub, sizeof(sub), "%s/mnist", dir);
	mkdir(sub, 0755);
	put("mnist/t10k-images-idx3-ubyte", images, sizeof(images), PLAIN);
	put("mnist/t10k-labels-idx1-ubyte.gz", labels, sizeof(labels), GZIP);
	setenv("VTPU_DATA", dir, 1);
	unsetenv("MNIST_DIR");
	if (ok_call(vtpu_data_mnist(VTPU_DATA_TEST, &data), "VTPU_DATA has MNIST"))
		tap_ok(strstr(vtpu_data_describe(data), "MNIST test: 1000 samples") &&
			       strstr(vtpu_data_describe(data), "/mnist (VTPU_DATA)"),
		       "and it says so: %s", vtpu_data_describe(data));
	vtpu_data_destroy(data);
	data = NULL;
	setenv("MNIST_DIR", sub, 1);
	setenv("VTPU_DATA", "build/none", 1);
	if (ok_call(vtpu_data_mnist(VTPU_DATA_TEST, &data), "MNIST_DIR comes first"))
		tap_ok(strstr(vtpu_data_describe(data), "(MNIST_DIR)"), "and it says so");
	vtpu_data_destroy(data);
	data = NULL;
	refused(vtpu_data_mnist(VTPU_DATA_TRAIN, &data), VTPU_ERROR_NOT_FOUND,
		"MNIST_DIR=", "MNIST_DIR without the training images is no reason to take others");
	unsetenv("MNIST_DIR");
	if (!access("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz", R_OK)) {
		if (ok_call(vtpu_data_mnist(VTPU_DATA_TEST, &data), "else Fashion-MNIST"))
			tap_ok(strstr(vtpu_data_describe(data),
				      "Fashion-MNIST test: 10000 samples u8[28,28,1]"),
			       "and it says so: %s", vtpu_data_describe(data));
		vtpu_data_destroy(data);
		data = NULL;
		setenv("MNIST_DIR", "/usr/share/datasets/fashion-mnist", 1);
		if (ok_call(vtpu_data_mnist(VTPU_DATA_TEST, &data), "MNIST_DIR names its folder"))
			tap_ok(strstr(vtpu_data_describe(data), "Fashion-MNIST test: 10000"),
			       "which says what it holds: %s", vtpu_data_describe(data));
		unsetenv("MNIST_DIR");
		vtpu_data_destroy(data);
		data = NULL;
	}
	refused(vtpu_data_cifar10(VTPU_DATA_TEST, &data), VTPU_ERROR_NOT_FOUND,
		"build/none/cifar10 (VTPU_DATA)", "no CIFAR: where it was looked for");
	unsetenv("VTPU_DATA");
}

int main(void)
{
	if (!make_dir())
		return 1;
	make_set();
	good_files();
	bad_files();
	cifar();
	folders();
	remove_dir();
	return tap_done();
}
