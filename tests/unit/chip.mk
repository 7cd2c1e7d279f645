# SPDX-License-Identifier: MIT
# The chip's front end, driven register by register. Sanitized builds of the same programs are long tests.
CFLAGS_tests/unit += $(shell pkg-config --cflags libdrm 2>/dev/null)

CHIP_TESTS := admin arbiter copy faults inject memory queue recovery threads
CHIP_HOST := tests/unit/chip_host.c tests/unit/chip_driver.c
$(foreach t,$(CHIP_TESTS),$(eval $(call test,tests/unit/chip_$t,tests/unit/test_chip_$t.c $(CHIP_HOST),libmodel.a)))
$(foreach v,asan tsan,$(foreach t,$(CHIP_TESTS),\
	$(eval $(call program,tests/unit/chip_$t_$v,tests/unit/test_chip_$t.c $(CHIP_HOST),libmodel.a,$v))\
	$(eval CHECK_LONG += build/tests/unit/chip_$t_$v)))
