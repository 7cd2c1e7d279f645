#!/bin/bash
# SPDX-License-Identifier: MIT
# How well the demo's training does, five epochs each: five seeds on MNIST and on Fashion-MNIST, fewer cores, bf16.
# What is not there is skipped by name.
set -uo pipefail

out=build/train-all
fashion=/usr/share/datasets/fashion-mnist
mnist=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
case $mnist in */fashion-mnist) fashion=$mnist ;; esac
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

# seeds NAME FOLDER BAR: the mean of five seeds; the first one's is in $first
seeds()
{
	local seed p sum=0 got=0 mean
	for seed in 1 2 3 4 5; do
		p=$(MNIST_DIR=$2 percent "$1-seed$seed" $device -s $seed)
		echo "# $1, seed $seed: ${p:-none} %"
		sum=$(awk "BEGIN { print $sum + ${p:-0} }")
		[ -z "$p" ] || got=$((got + 1))
		[ $seed != 1 ] || first=$p
	done
	mean=$(awk "BEGIN { printf \"%.3f\", $sum / 5 }")
	ok "$got == 5 && $mean >= $3" "$1, five seeds: mean $mean %, at least $3"
}

device=model:v3,cores=8
if [ -d "$fashion" ]; then
	seeds Fashion-MNIST "$fashion" 89
else
	skip 'Fashion-MNIST' 'package dataset-fashion-mnist is not installed'
fi
case $mnist in
*/fashion-mnist) skip 'five seeds of MNIST' "no MNIST here: see docs/data.md" ;;
*) seeds MNIST "$mnist" 98.7 ;;
esac
one=$first

# A step is 1,024 images, whatever cores share it.
for cores in 1 2 4; do
	p=$(MNIST_DIR=$mnist percent "cores$cores" "model:v3,cores=$cores" -s 1 -b 1024)
	ok "${p:-0} > 0 && ${p:-0} - ${one:-0} <= 0.3 && ${one:-0} - ${p:-0} <= 0.3" "$cores cores: ${p:-none} %, 8 cores ${one:-none} %: within 0.3"
done

p=$(MNIST_DIR=$mnist percent bf16 $device -s 1 -p bf16)
ok "${p:-0} > 0 && ${p:-0} - ${one:-0} <= 0.2 && ${one:-0} - ${p:-0} <= 0.2" "bf16: ${p:-none} %, f32 ${one:-none} %: within 0.2"
sed -nE 's/^ +(a step needs HBM|and of each VMEM): +/# \1: /p' "$out/bf16.log"
