# SPDX-License-Identifier: MIT
# The compiler: networks and single operations, compiled and run, against the interpreter.
COMPILE_HARNESS := tests/compile/harness.c tests/compile/models.c $(wildcard tests/reference/ref_graph*.c)

$(eval $(call test,tests/compile/test_models,tests/compile/test_models.c $(COMPILE_HARNESS),libvtpu.so.0))
$(eval $(call test,tests/compile/test_ops,tests/compile/test_ops.c $(COMPILE_HARNESS),libvtpu.so.0))
$(eval $(call test,tests/compile/test_errors,tests/compile/test_errors.c tests/compile/models.c,\
	libvtpu.a libmodel.a -ldrm -lnuma -lz -llzma -ljson-c -lm,asan))
$(eval $(call test,tests/compile/test_cache,tests/compile/test_cache.c tests/compile/models.c,libvtpu.a libmodel.a -ldrm -lnuma -lz -llzma -ljson-c -lm))
TIMEOUT_build/tests/compile/test_models := 600
$(eval $(call test,tests/compile/test_random,tests/compile/test_random.c $(COMPILE_HARNESS),\
	libvtpu.a libmodel.a -ldrm -lnuma -lz -llzma -ljson-c -lm,asan))
