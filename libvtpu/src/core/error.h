/* SPDX-License-Identifier: MIT */
/*
 * error.h - how the library's own code reports failures and logs.
 *
 * Inside libvtpu only. The public half is <vtpu/core.h>.
 */
#ifndef VTPU_SRC_CORE_ERROR_H
#define VTPU_SRC_CORE_ERROR_H

#include <stdbool.h>

#include <vtpu/core.h>

#define VTPU_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Room for a sentence; longer ones are cut. Load reports have several lines. */
#define VTPU_ERROR_BYTES 8192

/**
 * vtpu_fail() - set this thread's error sentence and return @status
 *
 * `return vtpu_fail(VTPU_ERROR_X, "tensor '%s': ...", name);` The arguments may
 * point into the present sentence: it is replaced after formatting.
 */
enum vtpu_status vtpu_fail(enum vtpu_status status, const char *fmt, ...) VTPU_PRINTF(2, 3);
enum vtpu_status vtpu_vfail(enum vtpu_status status, const char *fmt, va_list ap) VTPU_PRINTF(2, 0);

/** vtpu_fail_in() - put "context: " before the present sentence; returns @status */
enum vtpu_status vtpu_fail_in(enum vtpu_status status, const char *fmt, ...) VTPU_PRINTF(2, 3);

/** vtpu_fail_nomem() - out of host memory, wanted for @what */
enum vtpu_status vtpu_fail_nomem(const char *what);

/** vtpu_message() - send a line to the user's log function, if there is one */
void vtpu_message(enum vtpu_message level, const char *fmt, ...) VTPU_PRINTF(2, 3);

/**
 * vtpu_options() - copy a caller's option struct
 * @dst: of @known bytes, gets the caller's fields; the rest zero
 * @src: the caller's struct, or NULL for all defaults
 * @known: size of the struct in this library
 * @what: name of the struct, for the sentence
 *
 * Applies the struct_size rule of <vtpu/core.h>.
 */
enum vtpu_status vtpu_options(void *dst, const void *src, size_t known, const char *what);

#endif /* VTPU_SRC_CORE_ERROR_H */
