// SPDX-License-Identifier: MIT
/*
 * version.c - which library this is. The build checks the headers against the
 * file VERSION, from which VTPU_BUILD_VERSION comes.
 */
#include <vtpu/core.h>

uint32_t vtpu_version(void)
{
	return VTPU_VERSION_MAJOR << 16 | VTPU_VERSION_MINOR << 8 | VTPU_VERSION_PATCH;
}

const char *vtpu_version_string(void)
{
	return VTPU_BUILD_VERSION;
}
