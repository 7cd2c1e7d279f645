#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the demo's weights once and keeps them in the cache, keyed by trainer and images.
#	tests/reference/weights.sh TRAINER OUTPUT
set -eu
trainer=$1 output=$2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/vtpu/weights
dir=${DATASET:-$("$trainer" -w)}
key=$(cat tests/reference/train_mlp.c samples/common/dataset.c samples/common/mlp_file.h "$dir"/train-* | sha256sum | cut -c1-16)
if ! [ -s "$cache/$key.bin" ]; then
	mkdir -p "$cache"
	echo "Training the demo's weights in plain C, once (images: $dir)"
	"$trainer" "$dir" "$cache/$key.bin"
fi
mkdir -p "$(dirname "$output")"
cp "$cache/$key.bin" "$output"
