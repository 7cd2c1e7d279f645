#!/bin/sh
# SPDX-License-Identifier: MIT
# vm: --initramfs --cores 8 --file build/tests/library/train_bits
# The same training on the driver's device and on a model in process, both in the VM: the same bits.
exec build/tests/library/train_bits accel0 model:v3,cores=8,hbm=256M
