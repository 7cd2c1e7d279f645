/* SPDX-License-Identifier: MIT */
/**
 * @file core.h
 * What every other header of libvtpu builds on: status codes, error sentences,
 * version, log.
 *
 * Rules of the whole library:
 * - Every call that can fail returns enum vtpu_status; results go through the
 *   last pointer arguments, which are left alone on failure.
 * - After a failure vtpu_last_error() has a sentence, in the same thread.
 * - The library never prints, never ends the process and installs no signal handlers.
 * - Option structs start with struct_size; VTPU_INIT() sets it.
 *   Zero is the default of every other field. A struct from a newer header is
 *   accepted as long as the fields this library does not know are zero.
 * - Since 0.1 unless a comment says otherwise.
 */
#ifndef VTPU_CORE_H
#define VTPU_CORE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
template <class T> static inline T vtpu_init()
{
	T t = T();

	t.struct_size = sizeof(T);
	return t;
}
extern "C" {
#endif

/**
 * Initialises a struct that starts with struct_size, and further fields by name:
 *
 *     struct vtpu_buffer_options host = VTPU_INIT(host, .memory = VTPU_MEMORY_HOST);
 *
 * In C++ only VTPU_INIT(host); set the fields after it.
 */
#ifdef __cplusplus
#define VTPU_INIT(variable) vtpu_init<decltype(variable)>()
#else
/* clang-format off */
#define VTPU_INIT(variable, ...) { .struct_size = sizeof(variable), __VA_ARGS__ }
/* clang-format on */
#endif

/** Marks what the shared library exports. */
#define VTPU_API __attribute__((visibility("default")))

/** Version of these headers. */
#define VTPU_VERSION_MAJOR 0
#define VTPU_VERSION_MINOR 1
#define VTPU_VERSION_PATCH 0

/** Status codes: X(NAME, value, words). Values never change; new ones are appended. */
#define VTPU_STATUS_CODES(X) \
	X(OK, 0, "success") \
	X(ERROR_INVALID_ARGUMENT, 1, "invalid argument") \
	X(ERROR_SHAPE_MISMATCH, 2, "shapes do not fit together") \
	X(ERROR_UNSUPPORTED, 3, "not supported by this device or library") \
	X(ERROR_OUT_OF_HOST_MEMORY, 4, "out of host memory") \
	X(ERROR_OUT_OF_DEVICE_MEMORY, 5, "out of device memory") \
	X(ERROR_NO_DEVICE, 6, "no such device") \
	X(ERROR_NO_MODULE, 7, "kernel module is not loaded") \
	X(ERROR_PERMISSION, 8, "permission denied") \
	X(ERROR_BUSY, 9, "still in use") \
	X(ERROR_DEVICE_LOST, 10, "device is gone or was reset") \
	X(ERROR_TIMEOUT, 11, "time is over") \
	X(ERROR_NUMERIC, 12, "a value is not a finite number") \
	X(ERROR_DEADLOCK, 13, "program can never end") \
	X(ERROR_RACE, 14, "program has unordered accesses to the same bytes") \
	X(ERROR_VERSION, 15, "versions do not fit together") \
	X(ERROR_IO, 16, "input or output failed") \
	X(ERROR_CANCELLED, 17, "cancelled before it ran") \
	X(ERROR_QUOTA, 18, "over a quota") \
	X(ERROR_FAULT, 19, "job reached memory that it may not") \
	X(ERROR_NOT_FOUND, 20, "no such object") \
	X(ERROR_TOO_LARGE, 21, "over a limit") \
	X(ERROR_EXISTS, 22, "exists already") \
	X(ERROR_BAD_PROGRAM, 23, "program image is malformed") \
	X(ERROR_SYNTAX, 24, "text cannot be read") \
	X(ERROR_FORKED, 25, "device was opened before fork()") \
	X(ERROR_INTERNAL, 26, "fault inside the library or device")

/** How a call ended. */
enum vtpu_status {
#define VTPU_STATUS_ENUM(name, value, words) VTPU_##name = value,
	VTPU_STATUS_CODES(VTPU_STATUS_ENUM)
#undef VTPU_STATUS_ENUM
};

/**
 * Words for a status code.
 * @return a constant string, also for values that are no status code
 */
VTPU_API const char *vtpu_status_string(enum vtpu_status status);

/**
 * Identifier of a status code: "VTPU_ERROR_TIMEOUT".
 * @return a constant string, also for values that are no status code
 */
VTPU_API const char *vtpu_status_id(enum vtpu_status status);

/**
 * The sentence of this thread's last failed call: what was wrong, what was
 * expected, what came instead, and what to do.
 *
 * @return a string that lives until the thread's next failed call; empty
 *         before the first. Successful calls leave it alone.
 */
VTPU_API const char *vtpu_last_error(void);

/**
 * Version of the library that runs, which may differ from these headers.
 * @return major << 16 | minor << 8 | patch
 */
VTPU_API uint32_t vtpu_version(void);

/** The same as "0.1.0". */
VTPU_API const char *vtpu_version_string(void);

/** Importance of a log message. */
enum vtpu_message {
	VTPU_MESSAGE_ERROR = 0,	  /**< something failed that no call reports */
	VTPU_MESSAGE_WARNING = 1, /**< works, but not as the user may think */
	VTPU_MESSAGE_INFO = 2,	  /**< what was chosen, and why */
	VTPU_MESSAGE_DEBUG = 3,	  /**< each step */
};

/**
 * Receives log messages.
 * @param arg    as given to vtpu_set_log()
 * @param level  importance
 * @param text   a line without newline; valid during the call
 *
 * Called from any thread, one call at a time. Must not call the library.
 */
typedef void (*vtpu_log_fn)(void *arg, enum vtpu_message level, const char *text);

/**
 * Choose who gets log messages.
 * @param fn     receiver; NULL (the default) drops all messages
 * @param arg    handed to it
 * @param level  the least important messages that are wanted
 *
 * For the whole process; any thread, any time. On return no call to the former
 * receiver is in progress.
 */
VTPU_API void vtpu_set_log(vtpu_log_fn fn, void *arg, enum vtpu_message level);

#ifdef __cplusplus
}
#endif

#endif /* VTPU_CORE_H */
