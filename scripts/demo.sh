#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make demo` shows: a VM with a virtual TPU boots, its driver loads, vtpu-smi lists it, and a small program trains
# a convolutional network on 8 cores with 60,000 real images. The same training then runs in process: the files that
# both save hold the same bits.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/lib/demo.sh
epochs=${EPOCHS:-5}
seed=${SEED:-1}
mkdir -p "$out"
rm -f "$out"/{vm,inproc}.{safetensors,log}

rate()
{
	sed -n 's/.* samples in .* s: \([0-9]*\) samples.*/\1/p' "$1"
}

title '1. A virtual machine with an 8-core virtual TPU boots, and trains a network on it'
begin=$(date +%s%N)
tools/vtpu-vm --cores 8 --memory 1G --timeout 900 --share "$out" --file "$dir" --file build/bin/mnist \
	--file scripts/demo-guest.sh -- sh scripts/demo-guest.sh "$dir" "$epochs" "$seed"
echo "virtual machine, from start to power-off: $(seconds "$begin")"

title '2. The same training in process, without a virtual machine'
begin=$(date +%s%N)
MNIST_DIR=$dir build/bin/mnist -d model:v3,cores=8 -e "$epochs" -s "$seed" -o "$out/inproc.safetensors" >"$out/inproc.log"
sed -n '/^Epoch/p;/^Test accuracy/p' "$out/inproc.log"
echo "in process: $(seconds "$begin")"

title '3. Checks'
cmp "$out/vm.safetensors" "$out/inproc.safetensors"
echo "ok - weights, optimiser and scores of both runs are the same, bit for bit ($(sha256sum <"$out/vm.safetensors" | cut -c1-16))"
diff <(grep '^Test accuracy' "$out/vm.log") <(grep '^Test accuracy' "$out/inproc.log")
echo "ok - $(sed -n 's/^Test accuracy: //p' "$out/vm.log")"
vm=$(rate "$out/vm.log") inproc=$(rate "$out/inproc.log")
echo "samples/s: $vm in the virtual machine, $inproc in process, ratio $(awk "BEGIN { printf \"%.2f\", $vm / $inproc }")"
