// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_trace.c - the bodies of the trace events of vtpu_trace.h, nothing else.
 */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vtpu_trace.h"
#endif
