# SPDX-License-Identifier: MIT
# The chip model's sources, one a line, read by make and by QEMU's meson.
MODEL_SOURCES := \
	crc32c.c \
	preset.c
