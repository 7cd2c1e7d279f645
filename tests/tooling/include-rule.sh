#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts/lint/include-rule names the line that breaks the rule of who may include whom, and no other.
. "$(dirname "$0")/tap.sh"

headers='uapi/vtpu_hw.h
qemu-device/model/vtpu_model.h
qemu-device/model/cost.h
qemu-device/vtpu_device.h
libvtpu/include/vtpu/core.h
libvtpu/src/core/error.h
tools/vtpu-smi/smi.h'

# verdict FILE LINE: what the rule says to that line in that file
verdict()
{
	printf '%s:7:%s\n' "$1" "$2" | awk -v headers="$headers" -f scripts/lint/include-rule.awk scripts/rooms.txt -
}
fine() { output=$(verdict "$1" "#include $2"); check "$1 may include $2" equal "$output" ""; }
wrong() { output=$(verdict "$1" "#include $2"); check "$1 may not include $2" contains "$output" "$1:7: "; }

fine qemu-device/model/chip.c '"vtpu_hw.h"'
fine qemu-device/model/chip.c '<stdint.h>'
wrong qemu-device/model/chip.c '<glib.h>'
wrong qemu-device/model/chip.c '"qemu/osdep.h"'
wrong qemu-device/model/chip.c '"vtpu_device.h"'
fine qemu-device/vtpu_pci.c '"vtpu_model.h"'
fine qemu-device/vtpu_pci.c '"qemu/osdep.h"'
wrong kernel/vtpu_drv.c '"vtpu_model.h"'
fine kernel/vtpu_drv.c '<linux/pci.h>'
wrong uapi/vtpu_hw.h '<stdint.h>'
wrong uapi/vtpu_hw.h '"vtpu_model.h"'
wrong libvtpu/src/core/error.c '"vtpu_model.h"'
fine libvtpu/src/device/inproc/chip.c '"vtpu_model.h"'
fine libvtpu/src/program/sched.c '"cost.h"'
fine tools/vtpu-smi/main.c '<vtpu/core.h>'
fine tools/vtpu-smi/main.c '"smi.h"'
wrong tools/vtpu-smi/main.c '"core/error.h"'
wrong tools/vtpu-smi/main.c '"vtpu_hw.h"'
wrong samples/hello.c '"../uapi/vtpu_hw.h"'
fine tests/unit/x.c '"vtpu_model.h"'
finish
