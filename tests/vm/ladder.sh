#!/bin/sh
# SPDX-License-Identifier: MIT
# Each rung of the driver's recovery: abort, reset of the queue, reset of the device, a device that is given up.
exec tests/vm/with-faults.sh build/kselftest/vtpu/ladder "timeout_ms=1000 reset_ms=1000" "$@"
