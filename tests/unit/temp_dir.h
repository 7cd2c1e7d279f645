/* SPDX-License-Identifier: MIT */
/*
 * temp_dir.h - a folder for the files of a test.
 */
#ifndef TESTS_UNIT_TEMP_DIR_H
#define TESTS_UNIT_TEMP_DIR_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static char dir[] = "build/tests/files-XXXXXX";

/** make_dir() - make @dir; false without it */
static inline bool make_dir(void)
{
	mkdir("build", 0755);
	mkdir("build/tests", 0755);
	return mkdtemp(dir);
}

static inline void remove_dir(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	tap_ok(!system(command), "the files are removed");
}

#endif /* TESTS_UNIT_TEMP_DIR_H */
