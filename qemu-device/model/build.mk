# SPDX-License-Identifier: MIT
# The chip model: one static library that QEMU's shell, libvtpu's in-process backend and tests link.
include qemu-device/model/sources.mk

MODEL_FLAGS := $(shell sed 's/\#.*//' qemu-device/model/flags)
CFLAGS_qemu-device/model += $(MODEL_FLAGS)
$(foreach s,$(MODEL_AVX2_SOURCES),$(eval CFLAGS_qemu-device/model/$s += $(MODEL_AVX2_FLAGS)))
$(foreach s,$(MODEL_AVX512_SOURCES),$(eval CFLAGS_qemu-device/model/$s += $(MODEL_AVX512_FLAGS)))

$(eval $(call static_library,libmodel,$(addprefix qemu-device/model/,\
	$(MODEL_SOURCES) $(MODEL_AVX2_SOURCES) $(MODEL_AVX512_SOURCES))))
