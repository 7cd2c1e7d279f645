#!/bin/bash
# SPDX-License-Identifier: MIT
# An epoch of the demo's training gives the same bits everywhere: on 8 cores in a VM and in process, with one and two
# worker threads. The file that training saves holds weights, moments, losses and counts.
set -uo pipefail

out=build/train
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
mkdir -p "$out"
rm -f "$out"/*
export MNIST_DIR=$dir

echo 'TAP version 13'
echo '1..5'
n=0

# result NAME STATUS [LOG]
result()
{
	n=$((n + 1))
	[ "$2" = 0 ] || sed 's/^/# /' "${3:-/dev/null}"
	[ "$2" = 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}

for threads in 1 2; do
	build/bin/mnist -d "model:v3,cores=8,threads=$threads" -e 1 -o "$out/t$threads.safetensors" >"$out/t$threads.log" 2>&1
	result "in process, $threads threads: $(sed -n 's/^Test accuracy: //p' "$out/t$threads.log")" $? "$out/t$threads.log"
done
cmp "$out/t1.safetensors" "$out/t2.safetensors" >"$out/cmp.log" 2>&1
result 'the same bits with one thread and with two' $? "$out/cmp.log"
tools/vtpu-vm --cores 8 --timeout 400 --share "$out" --file "$dir" --file build/bin/mnist -- \
	sh -c "MNIST_DIR=$dir mnist -e 1 -o /share/vm.safetensors" </dev/null >"$out/vm.log" 2>&1
cmp "$out/t1.safetensors" "$out/vm.safetensors" >"$out/cmp.log" 2>&1
result 'the same bits in a virtual machine' $? "$out/vm.log"

# An epoch is enough to know that it learns.
right=$(sed -n 's/^Test accuracy: \([0-9]*\) of 10000.*/\1/p' "$out/vm.log")
[ "${right:-0}" -gt 8000 ]
result "and it learns: ${right:-none} of 10000 images right after an epoch" $?
