/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_compat.h - what differs between the QEMU versions that this device
 * builds on (10.0 and later), and nothing else.
 */
#ifndef VTPU_COMPAT_H
#define VTPU_COMPAT_H

/* hw/core headers moved in 11.0, memory headers in 10.1. */
#if __has_include("hw/core/qdev-properties.h")
#include "hw/core/qdev-properties.h"
#else
#include "hw/qdev-properties.h"
#endif

#if __has_include("system/memory.h")
#include "system/memory.h"
#include "system/address-spaces.h"
#else
#include "exec/memory.h"
#include "exec/address-spaces.h"
#endif

/* Class data and interface lists became const in 10.1. */
#if QEMU_VERSION_MAJOR > 10 || (QEMU_VERSION_MAJOR == 10 && QEMU_VERSION_MINOR >= 1)
#define VTPU_QOM_CONST const
#else
#define VTPU_QOM_CONST
#endif

#endif /* VTPU_COMPAT_H */
