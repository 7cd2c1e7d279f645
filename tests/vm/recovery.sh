#!/bin/sh
# SPDX-License-Identifier: MIT
# A device that hangs, loses an interrupt or fails a DMA, and what the driver makes of it.
exec tests/vm/with-faults.sh build/kselftest/vtpu/recovery "timeout_ms=${VTPU_BACKSTOP_MS:-500}" "$@"
