# SPDX-License-Identifier: MIT
# Rows of `make bench`. Each program or script prints its row and appends it, a line of JSON, to build/bench.json.
$(eval $(call program,tests/bench/bench_latency,tests/bench/bench_latency.c,libvtpu.so.0))
$(eval $(call program,tests/bench/bench_copy,tests/bench/bench_copy.c,libvtpu.so.0))
bench: build/tests/bench/bench_latency build/tests/bench/bench_copy
BENCH += tests/bench/latency.sh tests/bench/copy.sh

# The loader alone, and the modelled time of one product
$(eval $(call program,tests/bench/bench_load,tests/bench/bench_load.c,libmodel.a))
$(eval $(call program,tests/bench/bench_model,tests/bench/bench_model.c,libmodel.a))
BENCH += build/tests/bench/bench_load build/tests/bench/bench_model

# The kernels of a training step, as shares of the FMA peak
$(eval $(call program,tests/bench/bench_conv,tests/bench/bench_conv.c,libmodel.a))
bench: build/tests/bench/bench_conv
BENCH += tests/bench/kernels.sh

# The executor and its kernels against OpenBLAS
$(eval $(call program,tests/bench/bench_matmul,tests/bench/bench_matmul.c,libmodel.a -lopenblas))
BENCH += build/tests/bench/bench_matmul

# Training: the sample in a VM and in process, PyTorch, a program without a TPU, the FMA peak
$(eval $(call program,tests/bench/bench_peak,tests/bench/bench_peak.c,-lpthread))
$(eval $(call program,tests/bench/guest_train,tests/bench/guest_train.c,-lm -lpthread))
bench: build/tests/bench/bench_peak build/tests/bench/guest_train build/bin/mnist build/tests/reference/train_mlp
BENCH += tests/bench/train.sh

# Peers are not needed by anything else.
build/.deps-bench: scripts/deps.txt scripts/deps.sh
	$(Q)scripts/deps.sh bench
	$(Q)mkdir -p build && touch $@
$(filter build/%,$(BENCH)): | build/.deps-bench
bench: build/.deps-bench
