# SPDX-License-Identifier: MIT
# Page tables against the walker alone, with an oracle.
$(eval $(call program,tests/fuzz/fuzz_mmu,tests/fuzz/fuzz_mmu.c,libmodel.a,fuzz))
CHECK_HOST_VM += tests/fuzz/mmu.sh
CHECK_DEPS += build/tests/fuzz/fuzz_mmu
