# SPDX-License-Identifier: MIT
# Small programs, each a lesson; they see nothing but libvtpu's public headers.
$(eval $(call program,bin/hello,samples/hello.c,libvtpu.so.0))
$(eval $(call program,bin/mlp_classify,samples/mlp_classify.c samples/common/sample.c samples/common/dataset.c,\
	libvtpu.so.0 -lz))
$(eval $(call program,bin/two_clients,samples/two_clients.c samples/common/sample.c,libvtpu.so.0))
$(foreach s,mnist cifar_cnn custom_loop,\
	$(eval $(call program,bin/$s,samples/$s.c samples/common/sample.c,libvtpu.so.0)))
SAMPLES += $(addprefix build/bin/,hello mlp_classify two_clients mnist cifar_cnn custom_loop)

build/demo: ; @mkdir -p $@
demo: build/tests/reference/train_mlp
DEMO := scripts/demo.sh
##@ Run
demo-classify: all build/demo/weights.bin build/tests/reference/check_mlp ## Another: 10,000 images as one 8-core job, right to the last bit
	$(Q)scripts/demo-classify.sh
##@ Build
weights: build/demo/weights.bin ## Train the demo's weights in plain C, or take them from the cache
.PHONY: demo-classify weights
