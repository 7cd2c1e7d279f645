# SPDX-License-Identifier: MIT
# Independent answers: plain double-precision C, and the trainer that makes the demo's weights.
CFLAGS_tests/reference += -O3 -Isamples/common

$(eval $(call program,tests/reference/train_mlp,tests/reference/train_mlp.c samples/common/dataset.c,-lz))
$(eval $(call program,tests/reference/check_mlp,tests/reference/check_mlp.c samples/common/dataset.c,-lz))

build/demo/weights.bin: build/tests/reference/train_mlp tests/reference/weights.sh
	$(Q)tests/reference/weights.sh $< $@
