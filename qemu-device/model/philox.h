/* SPDX-License-Identifier: MIT */
/*
 * philox.h - Philox4x32-10, a random number generator without state.
 *
 * Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC11,
 * doi:10.1145/2063384.2063405): ten rounds of multiplications and exclusive ors turn a
 * counter and a key into four words.
 */
#ifndef VTPU_PHILOX_H
#define VTPU_PHILOX_H

#include <stdint.h>

#define VTPU_PHILOX_ROUNDS 10

/** vtpu_philox() - replace the four words of a counter by the numbers that belong to it */
static inline void vtpu_philox(uint32_t x[4], uint32_t key0, uint32_t key1)
{
	for (int round = 0; round < VTPU_PHILOX_ROUNDS; round++) {
		const uint64_t a = (uint64_t)0xd2511f53 * x[0], b = (uint64_t)0xcd9e8d57 * x[2];

		x[0] = (uint32_t)(b >> 32) ^ x[1] ^ key0;
		x[1] = (uint32_t)b;
		x[2] = (uint32_t)(a >> 32) ^ x[3] ^ key1;
		x[3] = (uint32_t)a;
		key0 += 0x9e3779b9; /* golden ratio */
		key1 += 0xbb67ae85; /* sqrt(3) - 1 */
	}
}

#endif /* VTPU_PHILOX_H */
