// SPDX-License-Identifier: MIT
/*
 * status.c - what an errno or a device's status is in status codes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"

enum vtpu_status vtpu_status_of_errno(int err)
{
	switch (-err) {
	case 0:
		return VTPU_OK;
	case E2BIG:
		return VTPU_ERROR_TOO_LARGE;
	case ENOENT:
		return VTPU_ERROR_NOT_FOUND;
	case ENOSPC:
		return VTPU_ERROR_OUT_OF_DEVICE_MEMORY;
	case ENOMEM:
		return VTPU_ERROR_OUT_OF_HOST_MEMORY;
	case EDQUOT:
		return VTPU_ERROR_QUOTA;
	case EPERM:
	case EACCES:
		return VTPU_ERROR_PERMISSION;
	case EBUSY:
		return VTPU_ERROR_BUSY;
	case ECANCELED:
		return VTPU_ERROR_CANCELLED;
	case ENODEV:
	case EIO:
		return VTPU_ERROR_DEVICE_LOST;
	case EFAULT:
		return VTPU_ERROR_FAULT;
	case ENOTTY:
	case EOPNOTSUPP:
		return VTPU_ERROR_UNSUPPORTED;
	case EPROTO:
		return VTPU_ERROR_VERSION;
	case EBADMSG:
		return VTPU_ERROR_BAD_PROGRAM;
	case EEXIST:
		return VTPU_ERROR_EXISTS;
	case ETIME:
	case ETIMEDOUT:
		return VTPU_ERROR_TIMEOUT;
	default:
		return VTPU_ERROR_INVALID_ARGUMENT;
	}
}

enum vtpu_status vtpu_status_of_hw(uint32_t status)
{
	switch ((enum vtpu_hw_status)status) {
	case VTPU_ST_OK:
		return VTPU_OK;
	case VTPU_ST_BAD_IMAGE:
	case VTPU_ST_IMAGE_CHECKSUM:
	case VTPU_ST_BAD_INSN:
	case VTPU_ST_OUT_OF_BOUNDS:
	case VTPU_ST_SEM_OVERFLOW:
		return VTPU_ERROR_BAD_PROGRAM;
	case VTPU_ST_IMAGE_VERSION:
		return VTPU_ERROR_VERSION;
	case VTPU_ST_TOO_LARGE:
	case VTPU_ST_CYCLE_LIMIT:
		return VTPU_ERROR_TOO_LARGE;
	case VTPU_ST_UNSUPPORTED:
	case VTPU_ST_TOO_WIDE:
		return VTPU_ERROR_UNSUPPORTED;
	case VTPU_ST_DEADLOCK:
	case VTPU_ST_TIMEOUT:
	case VTPU_ST_ABORTED:
		return VTPU_ERROR_DEADLOCK;
	case VTPU_ST_RACE:
		return VTPU_ERROR_RACE;
	case VTPU_ST_NO_MEMORY:
		return VTPU_ERROR_OUT_OF_HOST_MEMORY;
	case VTPU_ST_CANCELLED:
	case VTPU_ST_QUEUE_HALTED:
		return VTPU_ERROR_CANCELLED;
	case VTPU_ST_NOT_FOUND:
	case VTPU_ST_NO_PROGRAM:
		return VTPU_ERROR_NOT_FOUND;
	case VTPU_ST_EXISTS:
		return VTPU_ERROR_EXISTS;
	case VTPU_ST_BUSY:
		return VTPU_ERROR_BUSY;
	case VTPU_ST_UNMAPPED:
	case VTPU_ST_READ_ONLY:
	case VTPU_ST_NOT_CONTIGUOUS:
	case VTPU_ST_BAD_PTE:
	case VTPU_ST_SYSTEM_MEMORY:
	case VTPU_ST_WRAPS:
	case VTPU_ST_INDEX:
		return VTPU_ERROR_FAULT;
	case VTPU_ST_DMA_ERROR:
		return VTPU_ERROR_IO;
	case VTPU_ST_BAD_OPCODE:
	case VTPU_ST_BAD_FIELD:
	case VTPU_ST_BAD_ADDRESS:
	case VTPU_ST_BAD_ENTRY:
	case VTPU_ST_BAD_ARGS:
	case VTPU_ST_MASK:
	case VTPU_ST_ALIAS:
	case VTPU_ST_MISALIGNED:
		return VTPU_ERROR_INVALID_ARGUMENT;
	case VTPU_ST_RESET:
	case VTPU_ST_RING_OVERRUN:
	case VTPU_ST_ECC:
	case VTPU_ST_LINK:
		return VTPU_ERROR_DEVICE_LOST;
	case VTPU_ST_INTERNAL:
		break;
	}
	return VTPU_ERROR_INTERNAL;
}

enum vtpu_status vtpu_fail_errno(int err, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (err == -ENODEV || err == -EIO)
		return vtpu_fail(
			VTPU_ERROR_DEVICE_LOST,
			"%s: the device is gone, or a reset of it failed; open it again, and see dmesg",
			what);
	return vtpu_fail(vtpu_status_of_errno(err), "%s: %s", what, strerror(-err));
}
