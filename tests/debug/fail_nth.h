/* SPDX-License-Identifier: MIT */
/*
 * fail_nth.h - what the list of cases (fail_cases.c) and its runner (fail_nth.c) share.
 */
#ifndef TESTS_DEBUG_FAIL_NTH_H
#define TESTS_DEBUG_FAIL_NTH_H

#include "kselftest/kst.h"

/** struct scene - what a case works with; new for each fault */
struct scene {
	int fd;	   /* a new file, or -1 once the case has closed it */
	int extra; /* another descriptor, or -1 */
	uint32_t bo, queue, program, wait, sync, line;
	struct vtpu_copy_desc desc[2];
	void *image;
	size_t image_bytes;
	void *map; /* mapped part of bo, or NULL */
	size_t map_bytes;
	uint32_t *words; /* points into map */
};

/** struct fail_case - one system call */
struct fail_case {
	const char *name;
	/** @prepare: without faults; ends the program if something is wrong. May be NULL */
	void (*prepare)(struct scene *s);
	/** @call: one system call, in which the fault is; 0 or negative errno */
	int (*call)(struct scene *s);
	/** @check: after @call has succeeded: does it have its effect? May be NULL */
	bool (*check)(struct scene *s);
};

/** fail_cases - ended by an entry without a name */
extern const struct fail_case fail_cases[];

#endif /* TESTS_DEBUG_FAIL_NTH_H */
