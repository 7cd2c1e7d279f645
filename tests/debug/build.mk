# SPDX-License-Identifier: MIT
# The driver on the debug kernel (KASAN, lockdep, kmemleak, planted failures), in check-long.
CFLAGS_tests/debug += -std=gnu11 $(shell pkg-config --cflags libdrm)
DEBUG_SHARED := tests/debug/plant.c tests/kselftest/kst.c tests/kselftest/kst_client.c
$(eval $(call program,tests/debug/fail_nth,tests/debug/fail_nth.c tests/debug/fail_cases.c $(DEBUG_SHARED),libmodel.a -static))
$(eval $(call program,tests/debug/fail_probe,tests/debug/fail_probe.c $(DEBUG_SHARED),libmodel.a -static))

build/debug-kernel/release: FORCE | build/.deps
	$(Q)scripts/debug-kernel.sh
build/debug-kernel/vtpu.ko: build/debug-kernel/release FORCE
	$(call say,KBUILD,$@)
	+$(Q)MODULE_DIR=build/debug-module scripts/module.sh build/debug-kernel/headers
	$(Q)cmp -s build/debug-module/vtpu.ko $@ || cp build/debug-module/vtpu.ko $@

CHECK_LONG += tests/debug/run.sh
TIMEOUT_tests/debug/run.sh := 7200
##@ Build
debug-kernel: build/debug-kernel/vtpu.ko ## Build the kernel with KASAN, lockdep and others, once
.PHONY: debug-kernel

check-long: build/debug-kernel/vtpu.ko build/tests/debug/fail_nth build/tests/debug/fail_probe kselftests
