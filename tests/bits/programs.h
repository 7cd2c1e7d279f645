/* SPDX-License-Identifier: MIT */
/*
 * programs.h - the known-answer programs: images whose results must be the same bits everywhere.
 */
#ifndef TESTS_BITS_PROGRAMS_H
#define TESTS_BITS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct bits_program - one program */
struct bits_program {
	const char *name;
	/** @build: its image, to free() */
	void *(*build)(size_t *bytes);
	/** @racy: its accesses are not all ordered, so it is not loaded strict */
	bool racy;
	/** @golden: XXH3 of all written bases in order, for inputs from bits_input() on the preset v3 */
	uint64_t golden;
};

/* programs_conv.c, programs_train.c */
void *bits_convolutions(size_t *bytes);
void *bits_training(size_t *bytes);
void *bits_all_reduce(size_t *bytes);
void *bits_send_race(size_t *bytes);

extern const struct bits_program bits_programs[];
extern const size_t bits_count;

/**
 * bits_input() - element @i of the input that fills base @base: a number by counter, not by state
 *
 * Ordinary f32; every 61st is zero, denormal, infinite or NaN in bases whose name
 * starts with "odd". Bases named "bf16" take the upper halves.
 */
uint32_t bits_input(uint32_t base, uint64_t i, bool odd);

#endif /* TESTS_BITS_PROGRAMS_H */
