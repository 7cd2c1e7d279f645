# SPDX-License-Identifier: MIT
# Program images, hostile in every way.
$(eval $(call program,tests/fuzz/fuzz_load,tests/fuzz/fuzz_load.c,libmodel.a,fuzz))
CHECK_HOST_VM += tests/fuzz/load.sh
CHECK_DEPS += build/tests/fuzz/fuzz_load
