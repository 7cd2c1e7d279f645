# SPDX-License-Identifier: MIT
# The conformance table on both backends, and whether the library exports what its headers promise.
CFLAGS_tests/conformance += $(shell pkg-config --cflags libdrm)
CONFORMANCE_LIBS := libvtpu.a libmodel.a -ldrm -lnuma
$(eval $(call test,tests/conformance/conformance,$(sort $(wildcard tests/conformance/*.c)),$(CONFORMANCE_LIBS)))
CHECK_DEPS += build/tests/conformance/conformance
CHECK_VM += tests/conformance/in-vm.sh

CHECK_QUICK += tests/conformance/linkage.sh
check check-quick: build/lib/libvtpu.so.0
