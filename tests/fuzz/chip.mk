# SPDX-License-Identifier: MIT
CFLAGS_tests/fuzz += -Itests/unit $(shell pkg-config --cflags libdrm 2>/dev/null)
$(eval $(call program,tests/fuzz/fuzz_chip,tests/fuzz/fuzz_chip.c tests/unit/chip_host.c tests/unit/chip_driver.c,libmodel.a,fuzz))
