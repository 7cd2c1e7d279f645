# SPDX-License-Identifier: MIT
# Unit tests of libvtpu's data, file and training layers; loaders' threads are watched once more by themselves.
TRAIN_TEST_LIBS := libvtpu.a libmodel.a -ldrm -lnuma -lz -llzma -ljson-c

$(foreach t,data loader safetensors model step train train_errors,\
	$(eval $(call test,tests/unit/test_$t,tests/unit/test_$t.c,$(TRAIN_TEST_LIBS),asan)))
$(eval $(call test,tests/unit/test_loader_threads,tests/unit/test_loader.c,$(TRAIN_TEST_LIBS),tsan))
