# SPDX-License-Identifier: MIT
# Registers, entries and page tables: a hostile driver against the bare chip.
CFLAGS_tests/fuzz += -Itests/unit $(shell pkg-config --cflags libdrm 2>/dev/null)
$(eval $(call program,tests/fuzz/fuzz_chip,tests/fuzz/fuzz_chip.c tests/unit/chip_host.c tests/unit/chip_driver.c,libmodel.a,fuzz))
CHECK_HOST_VM += tests/fuzz/chip.sh
CHECK_DEPS += build/tests/fuzz/fuzz_chip
