# SPDX-License-Identifier: MIT
# libFuzzer targets. Each runs on its own, e.g. build/tests/fuzz/fuzz_asm -max_total_time=60.
$(eval $(call program,tests/fuzz/fuzz_asm,tests/fuzz/fuzz_asm.c,libvtpu.a libmodel.a,fuzz))
CHECK_HOST_VM += tests/fuzz/asm.sh
CHECK_DEPS += build/tests/fuzz/fuzz_asm build/bin/vtpu-asm
include tests/fuzz/chip.mk
include tests/fuzz/load.mk
include tests/fuzz/mmu.mk
