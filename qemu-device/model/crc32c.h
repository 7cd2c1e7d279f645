/* SPDX-License-Identifier: MIT */
/*
 * crc32c.h - the checksum of program images.
 */
#ifndef VTPU_CRC32C_H
#define VTPU_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * vtpu_crc32c() - CRC-32C (Castagnoli, reflected, initial value and final xor ~0)
 * @crc: 0 to begin, or the result for the bytes before
 * @data: bytes
 * @bytes: how many
 */
uint32_t vtpu_crc32c(uint32_t crc, const void *data, size_t bytes);

/**
 * vtpu_image_crc32c() - checksum of an image, its own field taken as zero
 * @image: at least a struct vtpu_image_header
 * @bytes: of the image
 */
uint32_t vtpu_image_crc32c(const void *image, size_t bytes);

#endif /* VTPU_CRC32C_H */
