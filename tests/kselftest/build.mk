# SPDX-License-Identifier: MIT
# Programs for the real kselftest harness and runner, static, with raw ioctls. They run in a VM in a folder
# that looks like tools/testing/selftests: build/kselftest/{kselftest/runner.sh,vtpu/<programs>}.
KSELFTESTS := ioctl_matrix hostile memory queue syncobj quota unplug recovery ladder removal bus_error soak
KST_HEADERS := build/kernel-source/tools/testing/selftests

CFLAGS_tests/kselftest += -std=gnu11 -isystem $(KST_HEADERS) $(shell pkg-config --cflags libdrm)
$(foreach t,$(KSELFTESTS),$(eval $(call program,kselftest/vtpu/$t,\
	tests/kselftest/$t.c tests/kselftest/kst.c tests/kselftest/kst_client.c,libmodel.a -static)))

$(patsubst %,build/obj/tests/kselftest/%.o,$(KSELFTESTS)): | $(KST_HEADERS)/kselftest_harness.h
$(KST_HEADERS)/kselftest_harness.h: | build/.deps
	$(Q)scripts/guest-kernel.sh source

KST_FILES := build/kselftest/kselftest/runner.sh build/kselftest/vtpu/settings
build/kselftest/kselftest/runner.sh: | $(KST_HEADERS)/kselftest_harness.h
	$(Q)mkdir -p $(@D) && cp $(KST_HEADERS)/kselftest/{runner.sh,prefix.pl} $(@D)
build/kselftest/vtpu/settings: tests/kselftest/settings
	$(Q)mkdir -p $(@D) && cp $< $@

##@ Build
kselftests: $(KSELFTESTS:%=build/kselftest/vtpu/%) $(KST_FILES) ## The kernel's self-tests
.PHONY: kselftests

CHECK_DEPS += $(KSELFTESTS:%=build/kselftest/vtpu/%) $(KST_FILES)
CHECK_VM += tests/kselftest/run.sh
TIMEOUT_tests/kselftest/run.sh := 900
CHECK_HOST_VM += tests/vm/recovery.sh tests/vm/ladder.sh tests/vm/removal.sh tests/vm/bus-error.sh tests/vm/soak.sh
CHECK_LONG += tests/vm/soak-long.sh
TIMEOUT_tests/vm/recovery.sh := 300
TIMEOUT_tests/vm/ladder.sh := 600
TIMEOUT_tests/vm/removal.sh := 300
TIMEOUT_tests/vm/bus-error.sh := 300
TIMEOUT_tests/vm/soak.sh := 300
TIMEOUT_tests/vm/soak-long.sh := 2700
