// SPDX-License-Identifier: MIT
/*
 * version.c - which library this is. VTPU_BUILD_VERSION comes from the file
 * VERSION; the headers must say the same.
 */
#include <vtpu/core.h>

#define TEXT(x)	      #x
#define DOTS(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

/* Lengths and characters of two literals can be compared at compile time. */
_Static_assert(__builtin_strcmp(DOTS(VTPU_VERSION_MAJOR, VTPU_VERSION_MINOR, VTPU_VERSION_PATCH),
				VTPU_BUILD_VERSION) == 0,
	       "<vtpu/core.h> and the file VERSION name different versions");

uint32_t vtpu_version(void)
{
	return VTPU_VERSION_MAJOR << 16 | VTPU_VERSION_MINOR << 8 | VTPU_VERSION_PATCH;
}

const char *vtpu_version_string(void)
{
	return VTPU_BUILD_VERSION;
}
