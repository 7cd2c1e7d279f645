// SPDX-License-Identifier: MIT
/*
 * find.c - which folder a well-known data set is in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

#define DEFAULT_ROOT "../shared"
#define FASHION_DIR  "/usr/share/datasets/fashion-mnist"
#define MAX_PATH     4096

/* $VTPU_DATA or its default, and in words which of them */
static const char *data_root(const char **why)
{
	const char *root = getenv("VTPU_DATA");

	*why = root ? "VTPU_DATA" : "default folder";
	return root ? root : DEFAULT_ROOT;
}

static enum vtpu_status set_origin(struct vtpu_data *data, const char *folder, const char *why)
{
	char origin[MAX_PATH + 64];

	snprintf(origin, sizeof(origin), "%s (%s)", folder, why);
	return data_set_origin(data, origin);
}

static bool mnist_paths(const char *folder, const char *part, char *images, char *labels)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-labels-idx1-ubyte", part);
	if (!data_path(folder, name, labels, MAX_PATH))
		snprintf(labels, MAX_PATH, "%s/%s", folder,
			 name); /* reading it says what is wrong */
	snprintf(name, sizeof(name), "%s-images-idx3-ubyte", part);
	return data_path(folder, name, images, MAX_PATH);
}

/* What was found goes to the caller, and says where from. */
static enum vtpu_status hand_over(struct vtpu_data *made, const char *folder, const char *why,
				  struct vtpu_data **data)
{
	enum vtpu_status status = set_origin(made, folder, why);

	if (status)
		vtpu_data_destroy(made);
	else
		*data = made;
	return status;
}

enum vtpu_status vtpu_data_mnist(enum vtpu_data_part part, struct vtpu_data **data)
{
	const char *file = part == VTPU_DATA_TEST ? "t10k" : "train", *folder, *why;
	char images[MAX_PATH], labels[MAX_PATH], shared[MAX_PATH], name[64];
	struct vtpu_data *made;
	enum vtpu_status status;

	if (!data || (part != VTPU_DATA_TRAIN && part != VTPU_DATA_TEST))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_data_mnist: %s",
				 data ? "no such part" : "NULL");
	snprintf(shared, sizeof(shared), "%s/mnist", data_root(&why));
	folder = getenv("MNIST_DIR");
	if (folder) {
		why = "MNIST_DIR";
		if (!mnist_paths(folder, file, images, labels))
			return vtpu_fail(
				VTPU_ERROR_NOT_FOUND,
				"MNIST_DIR=%s has no %s-images-idx3-ubyte[.gz|.xz] that can be read",
				folder, file);
	} else if (mnist_paths(shared, file, images, labels)) {
		folder = shared;
	} else if (mnist_paths(FASHION_DIR, file, images, labels)) {
		folder = FASHION_DIR;
		why = "package dataset-fashion-mnist";
	} else {
		return vtpu_fail(
			VTPU_ERROR_NOT_FOUND,
			"no %s-images-idx3-ubyte[.gz|.xz] in %s (%s) nor in %s; install the package "
			"dataset-fashion-mnist, or set MNIST_DIR to a folder that has MNIST's files",
			file, shared, why, FASHION_DIR);
	}
	/* Both sets have the same file names and shapes: the folder says which it is. */
	snprintf(name, sizeof(name), "%s %s",
		 strcasestr(folder, "fashion") ? "Fashion-MNIST" : "MNIST",
		 part == VTPU_DATA_TEST ? "test" : "train");
	status = vtpu_data_idx(name, images, labels, 10, &made);
	return status ? status : hand_over(made, folder, why, data);
}

enum vtpu_status vtpu_data_cifar10(enum vtpu_data_part part, struct vtpu_data **data)
{
	char folder[MAX_PATH], path[5][MAX_PATH], name[32];
	const char *list[5], *why;
	struct vtpu_data *made;
	enum vtpu_status status;
	size_t count = 0;

	if (!data || (part != VTPU_DATA_TRAIN && part != VTPU_DATA_TEST))
		return vtpu_fail(VTPU_ERROR_INVALID_ARGUMENT, "vtpu_data_cifar10: %s",
				 data ? "no such part" : "NULL");
	snprintf(folder, sizeof(folder), "%s/cifar10", data_root(&why));
	for (int i = 1; i <= (part == VTPU_DATA_TEST ? 1 : 5); i++) {
		if (part == VTPU_DATA_TEST)
			snprintf(name, sizeof(name), "test_batch.bin");
		else
			snprintf(name, sizeof(name), "data_batch_%d.bin", i);
		list[count] = path[count];
		count += data_path(folder, name, path[count], MAX_PATH);
	}
	if (!count)
		return vtpu_fail(
			VTPU_ERROR_NOT_FOUND,
			"no %s[.gz|.xz] in %s (%s); set VTPU_DATA to the folder that has cifar10/",
			part == VTPU_DATA_TEST ? "test_batch.bin" : "data_batch_1.bin", folder,
			why);
	snprintf(name, sizeof(name), "CIFAR-10 %s", part == VTPU_DATA_TEST ? "test" : "train");
	status = vtpu_data_cifar10_files(name, list, count, &made);
	return status ? status : hand_over(made, folder, why, data);
}
