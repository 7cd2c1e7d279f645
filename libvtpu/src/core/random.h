/* SPDX-License-Identifier: MIT */
/*
 * random.h - random bits by counter: Philox4x32 with 10 rounds.
 *
 * A pure function of key and counter, so that element i of a tensor has the same
 * bits wherever and in whatever order it is computed. Integers only.
 */
#ifndef VTPU_SRC_CORE_RANDOM_H
#define VTPU_SRC_CORE_RANDOM_H

#include <stdint.h>

/** struct random_block - a counter, and the four words that it gives */
struct random_block {
	uint32_t word[4];
};

/** random_block() - the words of @counter under the key {@key0, @key1} */
static inline struct random_block random_block(uint32_t key0, uint32_t key1,
					       struct random_block counter)
{
	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)counter.word[0] * 0xd2511f53u;
		uint64_t b = (uint64_t)counter.word[2] * 0xcd9e8d57u;

		counter = (struct random_block){ {
			(uint32_t)(b >> 32) ^ counter.word[1] ^ key0,
			(uint32_t)b,
			(uint32_t)(a >> 32) ^ counter.word[3] ^ key1,
			(uint32_t)a,
		} };
		key0 += 0x9e3779b9u;
		key1 += 0xbb67ae85u;
	}
	return counter;
}

/** random_name() - a key made of a name (FNV-1a) */
static inline uint32_t random_name(const char *name)
{
	uint32_t hash = 0x811c9dc5u;

	while (*name)
		hash = (hash ^ (unsigned char)*name++) * 0x01000193u;
	return hash;
}

#endif /* VTPU_SRC_CORE_RANDOM_H */
