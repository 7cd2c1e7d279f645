#!/bin/bash
# SPDX-License-Identifier: MIT
# Row job-latency: in one VM with two processors, jobs of the TPU and reads of an nvme disk that QEMU makes of nothing.
set -euo pipefail

exec tools/vtpu-vm --timeout 600 --smp 2 --hbm 1G --modprobe nvme \
	--qemu-arg '-blockdev driver=null-co,node-name=null0,size=1073741824,read-zeroes=off' \
	--qemu-arg '-device nvme,serial=peer,drive=null0' \
	-- build/tests/bench/bench_latency accel0 /dev/nvme0n1
