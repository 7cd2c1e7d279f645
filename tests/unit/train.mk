# SPDX-License-Identifier: MIT
# Unit tests of libvtpu's data, file and training layers; threads are watched once more by themselves.
TRAIN_TEST_LIBS := libvtpu.a libmodel.a -ldrm -lnuma -lz -llzma -ljson-c

$(eval $(call test,tests/unit/test_data,tests/unit/test_data.c,$(TRAIN_TEST_LIBS),asan))
$(eval $(call test,tests/unit/test_data_threads,tests/unit/test_data.c,$(TRAIN_TEST_LIBS),tsan))
$(eval $(call test,tests/unit/test_safetensors,tests/unit/test_safetensors.c,$(TRAIN_TEST_LIBS),asan))
