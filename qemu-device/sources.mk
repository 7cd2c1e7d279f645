# SPDX-License-Identifier: GPL-2.0-or-later
# The shell's sources; make and QEMU's meson.build both read this list (model/sources.mk has the chip's).
QEMU_DEVICE_SOURCES := vtpu_pci.c vtpu_props.c vtpu_host.c vtpu_dma.c vtpu_hbm.c vtpu_pool.c vtpu_qom.c vtpu_absent.c
