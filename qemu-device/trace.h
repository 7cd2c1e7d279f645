/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace events of this folder, made by QEMU's build from trace-events. */
#include "trace/trace-hw_misc_vtpu.h"
