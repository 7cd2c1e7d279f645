#!/bin/sh
# SPDX-License-Identifier: MIT
# The device is pulled out while clients work: the driver gives it up, and can be unloaded.
exec tests/vm/with-faults.sh build/kselftest/vtpu/removal "timeout_ms=1000 reset_ms=1000" "$@"
