/* SPDX-License-Identifier: MIT */
/*
 * sample.h - what every sample after hello needs and none is about: end with
 * a sentence, take options, open a device, measure time, put bytes into a new buffer,
 * write a file.
 */
#ifndef VTPU_SAMPLES_SAMPLE_H
#define VTPU_SAMPLES_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vtpu/vtpu.h>

/** CHECK() - end the program with the library's sentence unless a call succeeds */
#define CHECK(call) \
	do { \
		if ((call) != VTPU_OK) \
			sample_fail(vtpu_last_error()); \
	} while (0)

/** sample_fail() - print the program's name and @why, and exit with 1 */
void __attribute__((noreturn)) sample_fail(const char *why);

/** sample_seconds() - a clock that only goes forward */
double sample_seconds(void);

/**
 * sample_option() - take -d DEVICE, -c CORES or -e EPOCHS, which all samples that train have
 * @opt: what getopt() returned
 *
 * Return: false if it is another option.
 */
bool sample_option(int opt, const char **device, uint32_t *cores, uint32_t *epochs);

/**
 * sample_open() - open a device and say with how many cores; @cores 0 becomes all that it has
 */
struct vtpu_device *sample_open(const char *device, uint32_t *cores);

/**
 * sample_buffer() - a new HBM buffer of @room bytes, the first @bytes copied from @data, the rest
 * zero
 */
struct vtpu_buffer *sample_buffer(struct vtpu_device *dev, uint64_t room, const void *data,
				  uint64_t bytes);

/** sample_read() - a whole file of exactly @bytes bytes */
void sample_read(const char *path, void *data, size_t bytes);

/** sample_write() - write @data to the file @prefix.@what */
void sample_write(const char *prefix, const char *what, const void *data, size_t bytes);

#endif /* VTPU_SAMPLES_SAMPLE_H */
