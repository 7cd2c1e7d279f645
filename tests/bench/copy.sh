#!/bin/bash
# SPDX-License-Identifier: MIT
# Row copy: the device's copies in a VM and memcpy on this host take turns; each waits for the other to end.
set -euo pipefail

rounds=${1:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=build/tests/bench/bench_copy

coproc VM { exec tools/vtpu-vm --timeout 600 --smp 2 --hbm 1G -- $bench accel0; }
vm=$VM_PID
exec 4<&"${VM[0]}" 5>&"${VM[1]}"
eval "exec ${VM[1]}>&-"
read -r run <&4
for ((i = 0; i < rounds; i++)); do
	echo go >&5
	read -r to from <&4
	echo "$to $from $($bench memcpy)" >>"$work/times"
done
exec 5>&-
wait "$vm"
$bench row "$run" <"$work/times"
