// SPDX-License-Identifier: MIT
/*
 * random.c - random sequences, and the order of samples.
 *
 * All from the counter generator of core/random.h, so that nothing depends on
 * threads or on what was drawn before.
 */
#include "core/random.h"
#include "data/data.h"

struct vtpu_random vtpu_random_make(uint32_t seed, uint32_t stream, uint64_t index, uint32_t epoch)
{
	return (struct vtpu_random){
		.key = { seed, stream },
		.counter = { 0, (uint32_t)index, (uint32_t)(index >> 32), epoch },
	};
}

uint32_t vtpu_random_bits(struct vtpu_random *random)
{
	struct random_block block;

	if (!random->left) {
		block = random_block(random->key[0], random->key[1],
				     (struct random_block){ {
					     random->counter[0],
					     random->counter[1],
					     random->counter[2],
					     random->counter[3],
				     } });
		for (int i = 0; i < 4; i++)
			random->word[i] = block.word[i];
		random->counter[0]++;
		random->left = 4;
	}
	return random->word[4 - random->left--];
}

uint32_t vtpu_random_below(struct vtpu_random *random, uint32_t limit)
{
	return (uint32_t)((uint64_t)vtpu_random_bits(random) * limit >> 32);
}

float vtpu_random_float(struct vtpu_random *random)
{
	return (float)(vtpu_random_bits(random) >> 8) * 0x1p-24f;
}

void data_order(uint32_t seed, uint32_t epoch, bool shuffle, uint32_t *order, uint64_t count)
{
	struct vtpu_random random = vtpu_random_make(seed, random_name("order"), 0, epoch);
	uint32_t swap, j;

	for (uint64_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (!shuffle)
		return;
	for (uint64_t i = count - 1; i > 0; i--) {
		j = vtpu_random_below(&random, (uint32_t)i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}
