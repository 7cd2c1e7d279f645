/* SPDX-License-Identifier: MIT */
/*
 * image.h - the parts of a program image, found and checked.
 */
#ifndef VTPU_IMAGE_H
#define VTPU_IMAGE_H

#include "load.h"

/** struct vtpu_image_parts - where what is; pointers go into the image */
struct vtpu_image_parts {
	const struct vtpu_image_header *header;
	const struct vtpu_image_base *base;
	uint32_t nbases;
	const struct vtpu_insn *text[VTPU_UNITS];
	uint32_t count[VTPU_UNITS];
	/** @instructions: of all units */
	uint32_t instructions;
	/** @far_signals: some signal, or send, goes to another core; for who checks the instructions to set */
	bool far_signals;
	/** @sends: some instruction is a SEND; likewise */
	bool sends;
	const uint8_t *constants;
	uint64_t const_bytes;
};

/**
 * vtpu_image_check() - header, checksum, section table, bases, names
 *
 * Looks at all of the image but the instructions. Each refusal leaves one record.
 */
enum vtpu_hw_status vtpu_image_check(struct vtpu_load *load, struct vtpu_image_parts *parts);

#endif /* VTPU_IMAGE_H */
