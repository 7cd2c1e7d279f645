/* SPDX-License-Identifier: MIT */
/*
 * plant.h - the kernel's fault injection: the n-th allocation or copy from or to the program, from now on, fails.
 */
#ifndef TESTS_DEBUG_PLANT_H
#define TESTS_DEBUG_PLANT_H

#include <stdbool.h>

/** plant_setup() - allocations that may sleep and single pages fail too, and quietly. Ends a program that cannot */
void plant_setup(void);
/** plant_fault() - the calling thread's @n-th chance to fail, from 1, is taken */
void plant_fault(unsigned int n);
/** plant_was_hit() - has the fault happened? It will not any more */
bool plant_was_hit(void);

#endif /* TESTS_DEBUG_PLANT_H */
