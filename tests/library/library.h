/* SPDX-License-Identifier: MIT */
/*
 * library.h - what the library's tests share.
 */
#ifndef TESTS_LIBRARY_LIBRARY_H
#define TESTS_LIBRARY_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <vtpu/vtpu.h>

/* tap.h counts in one file only: these are its tap_ok() and tap_is() for the others */
__attribute__((format(printf, 2, 3))) bool library_ok(bool ok, const char *name, ...);
bool library_is(uint64_t got, uint64_t want, const char *name);

/** ok_call() - a call must return VTPU_OK; shows its sentence if not */
#define ok_call(call, ...) library_status(call, VTPU_OK, NULL, __VA_ARGS__)

/** refused() - a call must return @status, with @words in its sentence */
#define refused(call, status, words, ...) library_status(call, status, words, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) bool library_status(enum vtpu_status got,
							  enum vtpu_status want, const char *words,
							  const char *name, ...);

/* model.c: what needs a device inside the process */
void test_models(void);

#endif /* TESTS_LIBRARY_LIBRARY_H */
