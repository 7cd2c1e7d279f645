#!/bin/sh
# SPDX-License-Identifier: MIT
# Five epochs of the reference network against PyTorch's in float64, where PyTorch is: the first losses, the final accuracy.
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	echo '1..0 # SKIP no PyTorch: package python3-torch has it'
	exit
fi
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
out=build/losses
mkdir -p $out
if ! MNIST_DIR=$dir build/tests/library/losses model:v3,cores=8 295 1024 1e-3 $out/start.safetensors >$out/losses; then
	echo 'Bail out! no losses'
	exit 1
fi
# Else each tensor is memory that the kernel clears first.
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_TOP_PAD_=268435456
/usr/bin/python3 tests/library/torch_losses.py "$dir" $out/start.safetensors 1024 1e-3 <$out/losses
