/* SPDX-License-Identifier: MIT */
/*
 * dataset.h - finds and reads the images that samples and tests run on.
 *
 * MNIST or Fashion-MNIST in idx files, gzip'd or not. Nothing here knows of
 * the TPU; a general input pipeline is libvtpu's business.
 */
#ifndef VTPU_SAMPLES_DATASET_H
#define VTPU_SAMPLES_DATASET_H

#include <stddef.h>
#include <stdint.h>

#define DATASET_PIXELS	(28 * 28)
#define DATASET_CLASSES 10

/** struct dataset - images and labels, both the caller's until dataset_free() */
struct dataset {
	/** @name: "MNIST" or "Fashion-MNIST" */
	const char *name;
	/** @images: [count][28 * 28], 0 is background */
	uint8_t *images;
	/** @labels: [count], 0..9 */
	uint8_t *labels;
	size_t count;
};

/**
 * dataset_dir() - which folder to read from, and why
 * @name: set to the data set's name
 * @why: set to a phrase that tells how it was chosen
 *
 * MNIST_DIR, else $VTPU_DATA/mnist (VTPU_DATA is "../shared" when unset), else
 * the Debian package dataset-fashion-mnist.
 * Return: a folder that lives for the process, or NULL when there is none.
 */
const char *dataset_dir(const char **name, const char **why);

/**
 * dataset_load() - read the "train" or "t10k" part of a folder
 * @err: gets a sentence with the file's name and what is wrong with it
 *
 * Return: 0, or -1 with @err filled in.
 */
int dataset_load(const char *dir, const char *part, struct dataset *out, char *err,
		 size_t err_bytes);

/** dataset_free() - give both arrays back */
void dataset_free(struct dataset *data);

#endif /* VTPU_SAMPLES_DATASET_H */
