# SPDX-License-Identifier: MIT
# libvtpu as an application sees it: on a model in `make check-quick`, on the driver in a VM.
$(eval $(call test,tests/library/library,tests/library/library.c tests/library/model.c,libvtpu.so.0))
$(eval $(call test,tests/library/range,tests/library/range.c,libvtpu.a))
CHECK_DEPS += build/tests/library/library
CHECK_VM += tests/library/in-vm.sh
