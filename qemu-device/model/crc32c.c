// SPDX-License-Identifier: MIT
/*
 * crc32c.c - the checksum of program images: eight table look-ups for eight
 * bytes, or one instruction where the CPU has it.
 */
#include <stdbool.h>
#include <string.h>

#include "crc32c.h"
#include "vtpu_isa.h"

#define POLY 0x82f63b78u

#ifdef __x86_64__
#include <immintrin.h>

static bool have_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t crc_instruction(uint32_t crc, const uint8_t *p,
								  size_t bytes)
{
	uint64_t wide = crc, word;

	for (; bytes >= 8; p += 8, bytes -= 8) {
		memcpy(&word, p, 8);
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	while (bytes--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}
#else
static bool have_instruction(void)
{
	return false;
}

static uint32_t crc_instruction(uint32_t crc, const uint8_t *p, size_t bytes)
{
	(void)p;
	(void)bytes;
	return crc;
}
#endif

/* table[i][b]: what byte b does to the checksum when i more bytes follow */
static void make_table(uint32_t table[8][256])
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLY : 0);
		table[0][b] = crc;
	}
	for (int i = 1; i < 8; i++)
		for (uint32_t b = 0; b < 256; b++)
			table[i][b] = table[i - 1][b] >> 8 ^ table[0][table[i - 1][b] & 0xff];
}

static uint32_t crc_tables(uint32_t crc, const uint8_t *p, size_t bytes)
{
	uint32_t table[8][256];
	uint64_t word;

	make_table(table);
	for (; bytes >= 8; p += 8, bytes -= 8) {
		memcpy(&word, p, 8);
		word ^= crc;
		crc = 0;
		for (int i = 0; i < 8; i++)
			crc ^= table[7 - i][word >> 8 * i & 0xff];
	}
	while (bytes--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint32_t vtpu_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	if (have_instruction())
		return ~crc_instruction(~crc, data, bytes);
	return ~crc_tables(~crc, data, bytes);
}

uint32_t vtpu_image_crc32c(const void *image, size_t bytes)
{
	const size_t field = offsetof(struct vtpu_image_header, crc32c);
	const uint32_t zero = 0;
	uint32_t crc = vtpu_crc32c(0, image, field);

	crc = vtpu_crc32c(crc, &zero, sizeof(zero));
	return vtpu_crc32c(crc, (const uint8_t *)image + field + 4, bytes - field - 4);
}
