#!/bin/sh
# SPDX-License-Identifier: MIT
# Twenty losses of the reference network against PyTorch's in float64, where PyTorch is.
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	echo '1..0 # SKIP no PyTorch: package python3-torch has it'
	exit
fi
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
out=build/losses
mkdir -p $out
if ! MNIST_DIR=$dir build/tests/library/losses model:v3,cores=8 20 1024 1e-3 $out/start.safetensors >$out/losses; then
	echo 'Bail out! no losses'
	exit 1
fi
images=$(find "$dir/" -name 'train-images*' | head -n 1) labels=$(find "$dir/" -name 'train-labels*' | head -n 1)
/usr/bin/python3 tests/library/torch_losses.py "$images" "$labels" $out/start.safetensors 1024 1e-3 <$out/losses
