#!/bin/bash
# SPDX-License-Identifier: MIT
# The demo's training gives the same bits everywhere: an epoch on 8 cores in a VM and in process, with one and two
# worker threads; two steps with scalar code and by the reference executor, which are too slow for an epoch. The file
# that training saves holds weights, moments, losses and counts.
set -uo pipefail

out=build/train
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")
mkdir -p "$out/two"
rm -f "$out"/*.* "$out"/two/*
export MNIST_DIR=$dir

echo 'TAP version 13'
echo '1..12'
n=0

# result NAME STATUS [LOG]
result()
{
	n=$((n + 1))
	[ "$2" = 0 ] || sed 's/^/# /' "${3:-/dev/null}"
	[ "$2" = 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}

# same NAME FILE FILE [LOG]: both are there and hold the same bytes
same()
{
	cmp "$out/$2.safetensors" "$out/$3.safetensors" >"$out/cmp.log" 2>&1
	result "$1" $? "${4:-$out/cmp.log}"
}

# train NAME OPTIONS ARGS...: in process; the accuracy is in $accuracy
train()
{
	local name=$1 device=model:v3,cores=8,$2 status
	shift 2
	build/bin/mnist -d "$device" -e 1 -o "$out/$name.safetensors" "$@" >"$out/$name.log" 2>&1
	status=$?
	accuracy=$(sed -n 's/^Test accuracy: //p' "$out/$name.log")
	return $status
}

# subset PART COUNT: the first COUNT images of PART, of 28x28, and their labels, as idx files in $out/two
subset()
{
	local bytes
	bytes=$(printf '\\x%02x' $(($2 >> 24)) $(($2 >> 16 & 255)) $(($2 >> 8 & 255)) $(($2 & 255)))
	{
		printf '\0\0\10\3%b\0\0\0\34\0\0\0\34' "$bytes"
		unpack "$1-images-idx3-ubyte" | tail -c +17 | head -c $(($2 * 784))
	} >"$out/two/$1-images-idx3-ubyte"
	{
		printf '\0\0\10\1%b' "$bytes"
		unpack "$1-labels-idx1-ubyte" | tail -c +9 | head -c "$2"
	} >"$out/two/$1-labels-idx1-ubyte"
}
unpack()
{
	if [ -e "$dir/$1.gz" ]; then
		gzip -dc "$dir/$1.gz" 2>/dev/null
	else
		cat "$dir/$1"
	fi
}

for threads in 1 2; do
	train "t$threads" "threads=$threads"
	result "an epoch in process, $threads threads: $accuracy" $? "$out/t$threads.log"
done
same 'the same bits with one thread and with two' t1 t2
begin=$(date +%s)
tools/vtpu-vm --cores 8 --timeout 400 --share "$out" --file "$dir" --file build/bin/mnist -- \
	sh -c "dmesg -c >/dev/null; MNIST_DIR=$dir mnist -e 1 -o /share/vm.safetensors; dmesg >/share/kernel.log" \
	</dev/null >"$out/vm.log" 2>&1
echo "# an epoch in a virtual machine, with its boot: $(($(date +%s) - begin)) s"
same 'the same bits in a virtual machine' t1 vm "$out/vm.log"

# The log is there, and says nothing of the device since the driver came up.
echo 'no log came out of the guest' >"$out/kernel.bad"
[ -e "$out/kernel.log" ] && ! grep -E 'vtpu|BUG:|WARNING:|Oops' "$out/kernel.log" >"$out/kernel.bad"
result "and the guest's kernel has nothing to complain about" $? "$out/kernel.bad"

# An epoch is enough to know that it learns.
right=$(sed -n 's/^Test accuracy: \([0-9]*\) of 10000.*/\1/p' "$out/vm.log")
[ "${right:-0}" -gt 8000 ]
result "and it learns: ${right:-none} of 10000 images right after an epoch" $?

# Two steps of 1,024 images.
subset train 2048
subset t10k 256
export MNIST_DIR=$out/two
train two 'isa=auto'
result "two steps, the host's vector instructions: $accuracy" $? "$out/two.log"
[ "$(sed -n 's/.* epochs, \([0-9]*\) steps, \([0-9]*\) samples.*/\1 \2/p' "$out/two.log")" = '2 2048' ]
result 'that were two steps, of 2,048 images' $? "$out/two.log"
for how in isa=scalar executor=reference; do
	begin=$(date +%s)
	train "two-$how" "$how"
	result "two steps, $how" $? "$out/two-$how.log"
	echo "# $(($(date +%s) - begin)) s"
	same "$how: the same bits" two "two-$how"
done
