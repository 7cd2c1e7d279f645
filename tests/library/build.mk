# SPDX-License-Identifier: MIT
# libvtpu as an application sees it: on a model in `make check-quick`, on the driver in a VM.
$(eval $(call test,tests/library/library,tests/library/library.c tests/library/model.c,libvtpu.so.0))
$(eval $(call test,tests/library/range,tests/library/range.c,libvtpu.a))
$(eval $(call test,tests/library/train_bits,tests/library/train_bits.c,libvtpu.so.0))
CHECK_DEPS += build/tests/library/library build/tests/library/train_bits
CHECK_VM += tests/library/in-vm.sh tests/library/train-in-vm.sh

# Against PyTorch, which only make bench installs
$(eval $(call program,tests/library/losses,tests/library/losses.c samples/common/sample.c,libvtpu.so.0))
CHECK_DEPS += build/tests/library/losses build/tests/reference/train_mlp
CHECK_LONG += tests/library/torch-losses.sh
TIMEOUT_tests/library/torch-losses.sh := 1800
