# SPDX-License-Identifier: MIT
# Prints the source lists and flags of the device and its model, a name, a colon and its words a line, for QEMU's build:
# make is the one reader of these files.
include $(wildcard qemu-device/sources.mk qemu-device/model/sources.mk)
MODEL_FLAGS := $(MODEL_FLAGS) $(shell sed 's/\#.*//' qemu-device/model/flags 2>/dev/null)
$(foreach v,$(sort $(filter MODEL_%SOURCES MODEL_%FLAGS QEMU_DEVICE_SOURCES,$(.VARIABLES))),$(info $v: $($v)))
all: ;
.SILENT:
