#!/bin/sh
# SPDX-License-Identifier: MIT
# The part of the demo that runs inside the virtual machine.
#	demo-guest.sh IMAGES EPOCHS SEED
set -eu
export MNIST_DIR="$1"

dmesg | grep -i 'vtpu' | tail -n 3
echo '$ vtpu-smi -L'
vtpu-smi -L
echo "\$ mnist -e $2 -s $3 -o mnist.safetensors"
# As in a second terminal, once training is under way: the table of layers is what is printed before.
(
	until grep -q '^trainable' /share/vm.log 2>/dev/null || [ -e /tmp/ended ]; do
		sleep 1
	done
	sleep 5
	[ ! -e /tmp/ended ] || exit 0
	echo '$ vtpu-smi dmon -c 2    (meanwhile)'
	vtpu-smi dmon -c 2
	echo
) &
{
	status=0
	mnist -e "$2" -s "$3" -o /share/vm.safetensors || status=$?
	echo $status >/tmp/ended
} | tee /share/vm.log
wait
exit "$(cat /tmp/ended)"
