#!/bin/sh
# SPDX-License-Identifier: MIT
# Eight clients work while faults come, SOAK_SECONDS long (default 20).
seconds=${SOAK_SECONDS:-20}
VTPU_FAULTS_SECONDS=$((seconds + 200)) exec tests/vm/with-faults.sh build/kselftest/vtpu/soak timeout_ms=1000 "$seconds" "$@"
