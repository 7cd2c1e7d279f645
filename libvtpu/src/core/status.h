/* SPDX-License-Identifier: MIT */
/*
 * status.h - what an errno or a device's status is in status codes.
 */
#ifndef VTPU_SRC_CORE_STATUS_H
#define VTPU_SRC_CORE_STATUS_H

#include "core/error.h"
#include "vtpu_hw.h"

/** vtpu_status_of_errno() - @err: negative errno of an ioctl */
enum vtpu_status vtpu_status_of_errno(int err);

/** vtpu_status_of_hw() - @status: enum vtpu_hw_status of a load or job */
enum vtpu_status vtpu_status_of_hw(uint32_t status);

/** vtpu_fail_errno() - "<what>: <why>", for an errno that needs no better sentence */
enum vtpu_status vtpu_fail_errno(int err, const char *fmt, ...) VTPU_PRINTF(2, 3);

#endif /* VTPU_SRC_CORE_STATUS_H */
