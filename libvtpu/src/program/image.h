/* SPDX-License-Identifier: MIT */
/*
 * image.h - a parsed image, as the other files of this folder see it.
 */
#ifndef VTPU_SRC_PROGRAM_IMAGE_H
#define VTPU_SRC_PROGRAM_IMAGE_H

#include <vtpu/program.h>

#include "vtpu_hw.h"

/** struct vtpu_image - the bytes, and where what is in them */
struct vtpu_image {
	uint8_t *data; /* owned */
	size_t bytes;
	const struct vtpu_image_header *header;
	const struct vtpu_image_base *base;
	const struct vtpu_insn *insn[VTPU_UNITS];
	const struct vtpu_image_opname *op;	/* names are relative to this */
	const struct vtpu_image_tensor *tensor; /* names are relative to this */
	const uint8_t *constants;
	uint32_t bases;
	uint32_t count[VTPU_UNITS];
	uint32_t ops;
	uint32_t tensors;
	uint32_t const_bytes;
};

/** vtpu_image_adopt() - as vtpu_image_parse(), of malloc()ed @data that becomes the image's, also on failure */
enum vtpu_status vtpu_image_adopt(uint8_t *data, size_t bytes, struct vtpu_image **image);

#endif /* VTPU_SRC_PROGRAM_IMAGE_H */
