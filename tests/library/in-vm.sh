#!/bin/sh
# SPDX-License-Identifier: MIT
# vm: --initramfs --hbm 1G --file build/tests/conformance/conformance --file build/tests/library/library
# The library's own tests with the kernel driver below it.
exec build/tests/library/library accel0
