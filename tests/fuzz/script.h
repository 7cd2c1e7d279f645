/* SPDX-License-Identifier: MIT */
/*
 * script.h - a fuzzer's input as a script: numbers, taken one after the other.
 */
#ifndef VTPU_FUZZ_SCRIPT_H
#define VTPU_FUZZ_SCRIPT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** struct script - what is left of the input */
struct script {
	const uint8_t *at;
	size_t left;
};

/** take() - a number of @bytes; what is missing at the end is zero */
static inline uint64_t take(struct script *s, unsigned int bytes)
{
	uint64_t v = 0;

	if (bytes > s->left)
		bytes = s->left;
	if (!bytes)
		return 0;
	memcpy(&v, s->at, bytes);
	s->at += bytes;
	s->left -= bytes;
	return v;
}

#endif /* VTPU_FUZZ_SCRIPT_H */
