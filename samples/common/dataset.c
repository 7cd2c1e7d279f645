// SPDX-License-Identifier: MIT
/*
 * dataset.c - idx files: a big-endian header of 8 (labels) or 16 (images)
 * bytes, then one byte for each label or pixel. zlib reads plain files too.
 */
#include "dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define FASHION_DIR "/usr/share/datasets/fashion-mnist"
#define MAX_ITEMS   1000000

static int has_images(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/t10k-images-idx3-ubyte.gz", dir);
	if (!access(path, R_OK))
		return 1;
	snprintf(path, sizeof(path), "%s/t10k-images-idx3-ubyte", dir);
	return !access(path, R_OK);
}

const char *dataset_dir(const char **name, const char **why)
{
	static char shared[4096];
	const char *dir = getenv("MNIST_DIR");
	const char *root = getenv("VTPU_DATA");

	*name = "MNIST";
	*why = "MNIST_DIR";
	if (dir)
		return dir;
	snprintf(shared, sizeof(shared), "%s/mnist", root ? root : "../shared");
	*why = root ? "VTPU_DATA" : "default folder";
	if (has_images(shared))
		return shared;
	*name = "Fashion-MNIST";
	*why = "package dataset-fashion-mnist";
	return has_images(FASHION_DIR) ? FASHION_DIR : NULL;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads one idx file of @dims dimensions into *@data; returns items or 0 with @err. */
static size_t read_idx(const char *dir, const char *part, const char *kind, uint32_t dims,
		       uint8_t **data, char *err, size_t err_bytes)
{
	size_t head = 4 + 4 * dims, item = dims == 3 ? DATASET_PIXELS : 1;
	char path[4096];
	uint8_t h[16];
	size_t items;
	gzFile f;
	int got;

	snprintf(path, sizeof(path), "%s/%s-%s-idx%u-ubyte.gz", dir, part, kind, dims);
	if (access(path, R_OK))
		path[strlen(path) - 3] = '\0';
	f = gzopen(path, "rb");
	if (!f) {
		snprintf(err, err_bytes, "%s: cannot be opened; is the folder right?", path);
		return 0;
	}
	got = gzread(f, h, head);
	if (got != (int)head || be32(h) != (0x800 | dims)) {
		snprintf(err, err_bytes,
			 "%s: not an idx file of %u dimensions (magic 0x%x expected)", path, dims,
			 0x800 | dims);
		goto fail;
	}
	items = be32(h + 4);
	if (!items || items > MAX_ITEMS ||
	    (dims == 3 && (be32(h + 8) != 28 || be32(h + 12) != 28))) {
		snprintf(err, err_bytes, "%s: %zu items%s; expected 1..%d of 28x28", path, items,
			 dims == 3 ? " of another shape" : "", MAX_ITEMS);
		goto fail;
	}
	*data = malloc(items * item);
	if (!*data) {
		snprintf(err, err_bytes, "%s: no memory for %zu bytes", path, items * item);
		goto fail;
	}
	if (gzread(f, *data, items * item) != (int)(items * item)) {
		snprintf(err, err_bytes, "%s: truncated: %zu bytes of data expected", path,
			 items * item);
		free(*data);
		*data = NULL;
		goto fail;
	}
	gzclose(f);
	return items;
fail:
	gzclose(f);
	return 0;
}

int dataset_load(const char *dir, const char *part, struct dataset *out, char *err,
		 size_t err_bytes)
{
	size_t labels;

	*out = (struct dataset){ 0 };
	out->count = read_idx(dir, part, "images", 3, &out->images, err, err_bytes);
	if (!out->count)
		return -1;
	labels = read_idx(dir, part, "labels", 1, &out->labels, err, err_bytes);
	if (!labels)
		goto fail;
	if (labels != out->count) {
		snprintf(err, err_bytes, "%s: %zu labels for %zu images of part %s", dir, labels,
			 out->count, part);
		goto fail;
	}
	for (size_t i = 0; i < labels; i++) {
		if (out->labels[i] >= DATASET_CLASSES) {
			snprintf(err, err_bytes, "%s: label %zu of part %s is %u; expected 0..9",
				 dir, i, part, out->labels[i]);
			goto fail;
		}
	}
	return 0;
fail:
	dataset_free(out);
	return -1;
}

void dataset_free(struct dataset *data)
{
	free(data->images);
	free(data->labels);
	*data = (struct dataset){ 0 };
}
