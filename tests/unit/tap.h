/* SPDX-License-Identifier: MIT */
/*
 * tap.h - a few lines of TAP for unit tests.
 *
 * A test program calls tap_ok() and friends for each check and ends with
 * `return tap_done();`, which prints the plan.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static int tap_count, tap_failed;

/** tap_ok() - one result line; the rest is the test's name, as printf() takes it. Return: @ok */
__attribute__((format(printf, 2, 3))) static inline bool tap_ok(bool ok, const char *format, ...)
{
	va_list args;

	tap_failed += !ok;
	printf("%sok %d - ", ok ? "" : "not ", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	return ok;
}

/** tap_is() - two integers are the same; prints both if not */
static inline bool tap_is(uint64_t got, uint64_t want, const char *name)
{
	if (!tap_ok(got == want, "%s", name))
		printf("# got %" PRIu64 " (%#" PRIx64 "), want %" PRIu64 " (%#" PRIx64 ")\n", got,
		       got, want, want);
	return got == want;
}

/** tap_done() - print the plan. Return: exit code */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif /* TESTS_UNIT_TAP_H */
