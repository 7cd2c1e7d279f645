# SPDX-License-Identifier: MIT
# QEMU with the device in it; scripts/qemu.sh knows how. ninja decides what is to be done, so it always runs.
qemu: build/qemu/qemu-system-x86_64

build/qemu/qemu-system-x86_64: FORCE | build/.deps
	$(Q)scripts/qemu.sh build

# The device's qtest programs; tests/qtest registers them.
##@ Build
qtest: build/qemu/qemu-system-x86_64 ## Programs that drive the device without a guest, in build/qemu/qtest
	$(Q)scripts/qemu.sh qtest
.PHONY: qtest
