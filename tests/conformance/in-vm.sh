#!/bin/sh
# SPDX-License-Identifier: MIT
# vm: --initramfs --hbm 1G --file build/tests/conformance/conformance --file build/tests/library/library
# The conformance table on the kernel driver: the same program that runs on the model in `make check-quick`.
exec build/tests/conformance/conformance accel0
