#!/bin/sh
# SPDX-License-Identifier: MIT
# The part of the classification that runs inside the virtual machine.
#	demo-classify-guest.sh WEIGHTS IMAGES
set -eu
weights=$1
export MNIST_DIR="$2"

dmesg | grep -i 'vtpu' | tail -n 4
echo '$ vtpu-smi -L'
vtpu-smi -L
echo "\$ mlp_classify $weights"
mlp_classify -o /share/vm "$weights"
echo '$ vtpu-smi dmon -c 3    (while the same job runs over and over)'
mlp_classify -n 1000000 "$weights" >/dev/null 2>&1 &
load=$!
sleep 1
vtpu-smi dmon -c 3
echo '$ vtpu-smi'
vtpu-smi
kill $load
