/* SPDX-License-Identifier: MIT */
/*
 * status.h - checks of libvtpu's calls, as TAP lines.
 */
#ifndef TESTS_UNIT_STATUS_H
#define TESTS_UNIT_STATUS_H

#include <string.h>

#include <vtpu/core.h>

#include "unit/tap.h"

/** ok_call() - the call must return VTPU_OK; shows its sentence if not */
static inline bool ok_call(enum vtpu_status status, const char *name)
{
	if (!tap_ok(status == VTPU_OK, "%s", name))
		printf("# %s: %s\n", vtpu_status_id(status), vtpu_last_error());
	return status == VTPU_OK;
}

/** refused() - the call must return @want, with @words in its sentence */
static inline void refused(enum vtpu_status got, enum vtpu_status want, const char *words,
			   const char *name)
{
	if (!tap_ok(got == want && strstr(vtpu_last_error(), words), "%s", name))
		printf("# got %s: %s\n# want %s with '%s'\n", vtpu_status_id(got),
		       vtpu_last_error(), vtpu_status_id(want), words);
}

#endif /* TESTS_UNIT_STATUS_H */
