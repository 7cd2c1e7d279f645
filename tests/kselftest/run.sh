#!/bin/sh
# SPDX-License-Identifier: MIT
# vm: --host-root --hbm 2G
# The kselftest programs under the kernel's own runner, except those that need the host (tests/vm/with-faults.sh).
BASE_DIR=$PWD/build/kselftest
KST_MODULE=$PWD/build/vtpu.ko
export BASE_DIR KST_MODULE
cd "$BASE_DIR/vtpu" || exit 1
# The runner opens /dev/stdout again for each program, which only a pipe allows.
# shellcheck source=/dev/null
(. "$BASE_DIR/kselftest/runner.sh" && run_many ioctl_matrix hostile memory queue syncobj quota unplug) | cat
