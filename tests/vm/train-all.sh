#!/bin/bash
# SPDX-License-Identifier: MIT
# How well the demo's training does, five epochs each: five seeds on MNIST and one on Fashion-MNIST, fewer cores, bf16.
# What is not there is skipped by name.
set -uo pipefail

out=build/train-all
fashion=/usr/share/datasets/fashion-mnist
mnist=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
mkdir -p "$out"

echo 'TAP version 13'
echo '1..6'
n=0

# ok CONDITION NAME: CONDITION is an expression of awk
ok()
{
	n=$((n + 1))
	awk "BEGIN { exit !($1) }" && echo "ok $n - $2" || echo "not ok $n - $2"
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# percent NAME ARGS...: test accuracy of a run in process
percent()
{
	local name=$1 device=$2
	shift 2
	build/bin/mnist -d "$device" "$@" >"$out/$name.log" 2>&1 || sed 's/^/# /' "$out/$name.log" >&2
	sed -n 's/^Test accuracy: .* right, \([0-9.]*\) %.*/\1/p' "$out/$name.log"
}

device=model:v3,cores=8
case $mnist in
*/fashion-mnist)
	skip 'five seeds of MNIST' "no MNIST here: see docs/data.md"
	one=$(MNIST_DIR=$mnist percent one $device -s 1)
	;;
*)
	sum=0
	for seed in 1 2 3 4 5; do
		p=$(MNIST_DIR=$mnist percent "seed$seed" $device -s $seed)
		echo "# seed $seed: $p %"
		sum=$(awk "BEGIN { print $sum + ${p:-0} }")
		[ $seed = 1 ] && one=$p
	done
	mean=$(awk "BEGIN { printf \"%.3f\", $sum / 5 }")
	ok "$mean >= 98.7" "MNIST, five seeds: mean $mean %, at least 98.7"
	;;
esac
if [ -d "$fashion" ]; then
	p=$(MNIST_DIR=$fashion percent fashion $device -s 1)
	ok "${p:-0} >= 89" "Fashion-MNIST: ${p:-none} %, at least 89"
else
	skip 'Fashion-MNIST' 'package dataset-fashion-mnist is not installed'
fi

# A step is 1,024 images, whatever cores share it.
for cores in 1 2 4; do
	p=$(MNIST_DIR=$mnist percent "cores$cores" "model:v3,cores=$cores" -s 1 -b 1024)
	ok "${p:-0} - ${one:-0} <= 0.3 && ${one:-0} - ${p:-0} <= 0.3" "$cores cores: ${p:-none} %, 8 cores ${one:-none} %: within 0.3"
done

p=$(MNIST_DIR=$mnist percent bf16 $device -s 1 -p bf16)
ok "${p:-0} - ${one:-0} <= 0.2 && ${one:-0} - ${p:-0} <= 0.2" "bf16: ${p:-none} %, f32 ${one:-none} %: within 0.2"
