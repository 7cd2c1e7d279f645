#!/bin/bash
# SPDX-License-Identifier: MIT
# The training rows: samples/mnist.c in a VM and in process against PyTorch on this host, against a plain C program in
# the VM, and against the FMA peak. Sides take turns; medians of ROUNDS rounds (default 3) of 2 epochs each.
set -euo pipefail

rounds=${ROUNDS:-3}
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MNIST_DIR=$dir
model=model:v3,cores=8

in_vm()
{
	tools/vtpu-vm --cores 8 --timeout 600 --file "$dir" --file build/bin/mnist -- sh -c "MNIST_DIR=$dir mnist $*"
}

# field LOG EXPRESSION: a number out of the sample's report
field()
{
	sed -nE "s/$2/\1/p" "$1" | head -n 1
}
rate() { field "$1" '.* samples in .* s: ([0-9]+) samples.*'; }

median()
{
	sort -g | awk '{ x[NR] = $1 } END { print NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'
}

# row ID WHAT UNIT OURS PEER BAR COMPARE [RUNS]: COMPARE is >= or <=
row()
{
	awk -v id="$1" -v what="$2" -v unit="$3" -v ours="$4" -v peer="$5" -v bar="$6" -v compare="$7" -v runs="${8:-$rounds}" 'BEGIN {
		ratio = ours / peer
		printf "{\"id\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"ours\": %g, \"peer\": %g, \"ratio\": %.4g, \"bar\": %g, \"ok\": %s, \"runs\": %d}\n",
			id, what, unit, ours, peer, ratio, bar, (compare == ">=" ? ratio >= bar : ratio <= bar) ? "true" : "false", runs
	}'
}

torch=none
/usr/bin/python3 -c 'import torch' 2>/dev/null && torch=yes

for ((i = 0; i < rounds; i++)); do
	read -r one all < <(build/tests/bench/bench_peak)
	in_vm -e 2 >"$work/vm.log"
	rm -rf "$work/cache"
	XDG_CACHE_HOME=$work/cache build/bin/mnist -d $model -e 2 >"$work/in.log"
	build/bin/mnist -d $model,dense=on -e 1 >"$work/dense.log"
	rate "$work/vm.log" >>"$work/vm"
	rate "$work/in.log" >>"$work/in"
	macs=$(field "$work/dense.log" '.*multiply-adds: ([0-9.]+) G a second.*')
	awk "BEGIN { print 2 * $macs / $all }" >>"$work/peak"
	echo "# round $((i + 1)): FMA peak $one GF/s one thread, $all all; VM $(tail -n1 "$work/vm"), in process $(tail -n1 "$work/in")," \
		"dense $(rate "$work/dense.log") samples/s"
	[ $torch = yes ] || continue
	/usr/bin/python3 tests/bench/torch_mnist.py 2 >"$work/torch"
	MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_TOP_PAD_=268435456 \
		/usr/bin/python3 tests/bench/torch_mnist.py 2 >"$work/tuned"
	cat "$work/torch" "$work/tuned" | sed '/^#/!s/^/#   /'
	awk '$2 == "f32" && $1 > most { most = $1 } END { print most }' "$work/torch" >>"$work/torch-best"
	awk '$2 == "f32" && $1 > most { most = $1 } END { print most }' "$work/tuned" >>"$work/tuned-best"
	awk '$2 == "bf16" && $1 > most { most = $1 } END { print most }' "$work/tuned" >>"$work/bf16-best"
done
vm=$(median <"$work/vm") in=$(median <"$work/in")

if [ $torch = yes ]; then
	version=$(sed -n 's/# PyTorch \([^ ]*\).*/\1/p' "$work/torch")
	row train-torch "training in the VM, against PyTorch $version out of the box, its best layout and batch" samples/s "$vm" "$(median <"$work/torch-best")" 4.5 '>='
	row train-tuned "the same, against PyTorch with channels_last and malloc tuned" samples/s "$vm" "$(median <"$work/tuned-best")" 2.7 '>='
	echo "# against PyTorch's bf16 autocast, tuned: $(awk "BEGIN { printf \"%.2f\", $vm / $(median <"$work/bf16-best") }")"
else
	echo '# no PyTorch: train-torch and train-tuned are left out; package python3-torch has it'
fi
row train-peak "multiply-adds of training in process, dense, all threads, against the FMA peak" "of peak" "$(median <"$work/peak")" 1 0.8 '>='
row train-inproc "training in the VM, against in process" samples/s "$vm" "$in" 0.9 '>='
guest=$(tools/vtpu-vm --cores 8 --timeout 600 -- build/tests/bench/guest_train 2)
row train-guest "training in the VM, against a plain C program on the VM's processors" samples/s "$vm" "$guest" 100 '>=' 1
row train-input "a step waits for input, of its time, in the VM" "%" "$(field "$work/vm.log" '.*waiting for input +([0-9.]+) %.*')" 100 0.05 '<=' 1
row train-host "the host between steps, of their time, in the VM" "%" "$(field "$work/vm.log" '.*host between steps +([0-9.]+) %.*')" 100 0.05 '<=' 1
row train-compile "compiling the training step, without a cache, in process" s "$(field "$work/in.log" '.*compiling ([0-9.]+) s.*')" 1 0.1 '<=' 1
