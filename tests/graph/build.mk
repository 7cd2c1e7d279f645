# SPDX-License-Identifier: MIT
# Graphs of tensor operations: building, errors, gradients against the interpreter, random use.
REF_GRAPH := tests/reference/ref_graph.c tests/reference/ref_graph_basic.c tests/reference/ref_graph_layer.c

$(eval $(call test,tests/graph/test_graph,tests/graph/test_graph.c,libvtpu.a libmodel.a,asan))
$(eval $(call test,tests/graph/test_errors,tests/graph/test_errors.c,libvtpu.a libmodel.a,asan))
$(eval $(call test,tests/graph/test_gradient,tests/graph/test_gradient.c tests/graph/cases.c $(REF_GRAPH),libvtpu.so.0))
$(eval $(call test,tests/graph/test_step,tests/graph/test_step.c $(REF_GRAPH),libvtpu.so.0))
# The linker sends the library's allocations to the test, which lets them fail.
$(eval $(call test,tests/graph/test_fuzz,tests/graph/test_fuzz.c,libvtpu.a libmodel.a \
	-Wl$(comma)--wrap=malloc -Wl$(comma)--wrap=calloc,asan))
