// SPDX-License-Identifier: MIT
/*
 * fuzz_asm.c - hostile text for the assembler, hostile bytes for the image reader.
 *
 * Images begin with their magic number. Whatever is accepted must survive both round trips
 * and be put into words, and the loader must take it without harm.
 */
#include <stdlib.h>
#include <string.h>

#include <vtpu/program.h>

#include "crc32c.h"
#include "preset.h"
#include "vtpu_hw.h"

#define MAX_TEXT 8192 /* repeats make a lot of a little */

static void words(const struct vtpu_image *image)
{
	static struct vtpu_hw_geometry geometry;
	char error[64];

	if (!geometry.cores)
		vtpu_preset_geometry("v3", 8, NULL, &geometry, error, sizeof(error));
	vtpu_image_validate(image, &geometry, true, NULL);
}

static void round_trip(const struct vtpu_image *image)
{
	struct vtpu_image *again, *third;
	size_t n, m;
	const void *a, *b;
	char *text, *text2;

	if (vtpu_disassemble(image, &text))
		abort();
	if (vtpu_assemble("fuzz", text, strlen(text), &again))
		abort();
	if (vtpu_disassemble(again, &text2) || strcmp(text, text2))
		abort();
	if (vtpu_assemble("fuzz", text2, strlen(text2), &third))
		abort();
	a = vtpu_image_data(again, &n);
	b = vtpu_image_data(third, &m);
	if (n != m || memcmp(a, b, n))
		abort();
	vtpu_image_destroy(again);
	vtpu_image_destroy(third);
	free(text);
	free(text2);
}

/* A repeat of thousands only costs time. */
static bool repeats_much(const uint8_t *data, size_t bytes)
{
	size_t digits = 0;

	if (!memmem(data, bytes, "repeat", 6))
		return false;
	for (size_t i = 0; i < bytes && digits < 4; i++)
		digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
	return digits == 4 || memmem(data, bytes, "0x", 2);
}

static void fuzz_text(const uint8_t *data, size_t bytes)
{
	struct vtpu_image *image;

	if (repeats_much(data, bytes))
		return;

	if (vtpu_assemble("fuzz", (const char *)data, bytes, &image)) {
		if (!*vtpu_last_error())
			abort();
		return;
	}
	if (vtpu_image_bases(image) < 64)
		round_trip(image);
	words(image);
	vtpu_image_destroy(image);
}

static void fuzz_image(const uint8_t *data, size_t bytes)
{
	struct vtpu_image_header *h;
	struct vtpu_image *image;
	uint8_t *copy;

	bytes -= bytes % VTPU_IMAGE_ALIGN;
	copy = aligned_alloc(64, bytes ? bytes : 64);
	if (!copy)
		return;
	memcpy(copy, data, bytes);
	if (bytes >= sizeof(*h)) {
		/* Else nearly nothing would get past these three. */
		h = (struct vtpu_image_header *)copy;
		h->version = VTPU_ISA_VERSION;
		h->bytes = bytes;
		h->crc32c = vtpu_image_crc32c(copy, bytes);
	}
	if (!vtpu_image_parse(copy, bytes, &image)) {
		round_trip(image);
		words(image);
		vtpu_image_destroy(image);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!bytes || bytes > MAX_TEXT)
		return 0;
	if (bytes >= 4 && !memcmp(data, "VTPI", 4))
		fuzz_image(data, bytes);
	else
		fuzz_text(data, bytes);
	return 0;
}
