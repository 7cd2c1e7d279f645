# SPDX-License-Identifier: MIT
# Unit tests of the chip model: executors, units, kernels.
CFLAGS_tests/unit/avx512_portable.c += -mavx2 -mfma -O2 -Wno-psabi

$(eval $(call test,tests/unit/test_pool,tests/unit/test_pool.c,libmodel.a))
$(eval $(call test,tests/unit/test_exec,tests/unit/test_exec.c,libmodel.a))
$(eval $(call test,tests/unit/test_kernels,tests/unit/test_kernels.c tests/unit/avx512_portable.c,libmodel.a))
$(eval $(call test,tests/unit/test_vpu,tests/unit/test_vpu.c tests/unit/avx512_portable.c tests/reference/ref_ops.c tests/reference/ref_vpu.c,libmodel.a))
$(eval $(call test,tests/unit/test_conv,tests/unit/test_conv.c tests/unit/avx512_portable.c tests/reference/ref_ops.c tests/reference/ref_conv.c,libmodel.a))
include tests/unit/chip.mk
include tests/unit/loader.mk

# libvtpu's program layer: text form, reports, builders
$(eval $(call test,tests/unit/test_asm,tests/unit/test_asm.c,libvtpu.a libmodel.a,asan))
$(eval $(call test,tests/unit/test_reports,tests/unit/test_reports.c,libvtpu.a libmodel.a,asan))
$(eval $(call test,tests/unit/test_numerics,tests/unit/test_numerics.c,libmodel.a))
CHECK_LONG += tests/unit/numerics-all.sh
TIMEOUT_tests/unit/numerics-all.sh := 5400
$(eval $(call test,tests/unit/test_ref_bounds,tests/unit/test_ref_bounds.c tests/reference/ref_ops.c,libmodel.a))
$(eval $(call test,tests/unit/test_ops,tests/unit/test_ops.c,libvtpu.a libmodel.a -ldrm -lnuma))

include tests/unit/train.mk

CHECK_HOST_VM += tests/unit/vtpu-asm.sh
CHECK_DEPS += build/bin/vtpu-asm
