#!/bin/bash
# SPDX-License-Identifier: MIT
# The demo's classification gives the same bits everywhere: in a VM and in process, with each set of host kernels,
# any number of worker threads, both executors, 1 and 8 cores; and they are the right bits by plain double precision.
#	classify.sh		all ways in process, three VMs
#	classify.sh all		all ways in a VM too
set -uo pipefail

out=build/classify
weights=build/demo/weights.bin
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
case $dir in */fashion-mnist) percent=85 ;; *) percent=95 ;; esac
mkdir -p "$out"
rm -f "$out"/*

isas='scalar avx2 avx512'
has()
{
	case $1 in
	avx2) grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo ;;
	avx512) grep -qw avx512f /proc/cpuinfo ;;
	*) true ;;
	esac
}

vm_ways()
{
	if [ "$1" = all ]; then
		for isa in $isas; do
			for threads in 1 4; do
				for executor in parallel reference; do
					echo "$isa $threads $executor 1" "$isa $threads $executor 8" | xargs -n4
				done
			done
		done
	else
		printf '%s\n' 'scalar 4 parallel 8' 'avx2 1 reference 8' 'avx512 4 parallel 8'
	fi
}

in_process_ways()
{
	for isa in $isas; do
		for threads in 1 4; do
			for executor in parallel reference; do
				for cores in 1 8; do
					echo "$isa $threads $executor $cores"
				done
			done
		done
	done
}

tests=$(($(in_process_ways | wc -l) + $(vm_ways "${1:-three}" | wc -l)))
echo 'TAP version 13'
echo "1..$((tests + 2))"
n=0

# One way of running it: compares with the first way of all.
judge()
{
	local name=$1 prefix=$2

	n=$((n + 1))
	if ! [ -s "$prefix.logits" ]; then
		sed 's/^/# /' "$prefix.log"
		echo "not ok $n - $name: no result"
	elif cmp -s "$prefix.logits" "$out/first.logits" && cmp -s "$prefix.classes" "$out/first.classes"; then
		echo "ok $n - $name: the same bits"
	else
		echo "# $(cmp "$prefix.logits" "$out/first.logits" 2>&1 | head -n 1)"
		echo "not ok $n - $name: other bits"
	fi
	rm -f "$prefix".*
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP this CPU has no $2"
}

run_in_process()
{
	MNIST_DIR=$dir build/bin/mlp_classify -c "$4" -d "model:v3,cores=8,isa=$1,threads=$2,executor=$3" -o "$5" \
		"$weights" >"$5.log" 2>&1
}

run_in_vm()
{
	tools/vtpu-vm --cores 8 --device-opts "isa=$1,threads=$2,executor=$3" --timeout 240 --share "$out" --file "$weights" \
		--file "$dir" -- sh -c "MNIST_DIR=$dir mlp_classify -c $4 -o /share/${5##*/} $weights" >"$5.log" 2>&1
}

run_in_process scalar 1 reference 1 "$out/first"
n=$((n + 1))
if [ -s "$out/first.logits" ]; then
	echo "ok $n - runs in process, one instruction after the other ($(tail -n 1 "$out/first.log"))"
else
	sed 's/^/# /' "$out/first.log"
	echo "not ok $n - runs in process, one instruction after the other"
fi

build/tests/reference/check_mlp "$dir" "$weights" "$out/first.logits" "$out/first.classes" "$percent" >"$out/check.log" 2>&1
right=$?
n=$((n + 1))
sed 's/^/# /' "$out/check.log"
[ $right = 0 ] && echo "ok $n - agrees with plain double precision" || echo "not ok $n - agrees with plain double precision"

while read -r isa threads executor cores; do
	name="in process, $isa, $threads threads, $executor executor, $cores cores"
	if ! has "$isa"; then
		skip "$name" "$isa"
		continue
	fi
	run_in_process "$isa" "$threads" "$executor" "$cores" "$out/way"
	judge "$name" "$out/way"
done < <(in_process_ways)

while read -r isa threads executor cores; do
	name="in a VM, $isa, $threads threads, $executor executor, $cores cores"
	if ! has "$isa"; then
		skip "$name" "$isa"
		continue
	fi
	run_in_vm "$isa" "$threads" "$executor" "$cores" "$out/way" </dev/null
	judge "$name" "$out/way"
done < <(vm_ways "${1:-three}")
