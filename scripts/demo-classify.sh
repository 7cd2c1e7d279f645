#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make demo-classify` shows: a VM with a virtual TPU boots, its driver loads, vtpu-smi lists it, and a trained network
# classifies 10,000 real images as one 8-core job. The same job then runs in process, and both are checked: against
# each other to the last bit, and against plain double precision.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/lib/demo.sh
weights=$out/weights.bin
case $dir in */fashion-mnist) percent=85 ;; *) percent=95 ;; esac

title '1. A virtual machine with an 8-core virtual TPU boots; driver, monitor and a job of 10,000 images'
begin=$(date +%s%N)
tools/vtpu-vm --cores 8 --memory 1G --timeout 300 --share "$out" --file "$weights" --file "$dir" \
	--file scripts/demo-classify-guest.sh -- sh scripts/demo-classify-guest.sh "$weights" "$dir"
echo "virtual machine, from start to power-off: $(seconds "$begin")"

title '2. The same job in process, without a virtual machine'
MNIST_DIR=$dir build/bin/mlp_classify -d model:v3,cores=8 -o "$out/inproc" "$weights"

title '3. Checks'
cmp "$out/vm.logits" "$out/inproc.logits" && cmp "$out/vm.classes" "$out/inproc.classes"
echo "ok - logits and classes of both runs are the same, bit for bit ($(sha256sum <"$out/vm.logits" | cut -c1-16))"
build/tests/reference/check_mlp "$dir" "$weights" "$out/vm.logits" "$out/vm.classes" $percent | grep -v '^TAP\|^1\.\.'
