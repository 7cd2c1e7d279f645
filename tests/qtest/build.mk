# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that drive the device by register accesses on our QEMU, without a guest; scripts/qemu.sh builds them.
QTESTS := $(patsubst tests/qtest/%.c,build/qemu/qtest/%,$(wildcard tests/qtest/*-test.c))
$(QTESTS): qtest ;
CHECK_HOST_VM += $(QTESTS)
