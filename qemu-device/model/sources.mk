# SPDX-License-Identifier: MIT
# The chip model's sources, one a line, read by make and by QEMU's meson.
MODEL_SOURCES := \
	admin.c \
	arbiter.c \
	bind.c \
	chip.c \
	copy.c \
	copy_check.c \
	core.c \
	crc32c.c \
	inject.c \
	job.c \
	load_job.c \
	mmu.c \
	preset.c \
	queue.c \
	regs.c \
	request.c \
	reset.c \
	ring.c \
	stats.c \
	watchdog.c \
	box.c \
	clock.c \
	expand.c \
	far.c \
	fold.c \
	hazard.c \
	image.c \
	insn.c \
	insn_boxes.c \
	insn_conv.c \
	insn_shape.c \
	insn_table.c \
	insn_train.c \
	load.c \
	race.c \
	segment.c \
	sim.c \
	written.c \
	conv.c \
	conv_pack.c \
	conv_sparse.c \
	conv_wgrad_sparse.c \
	epilogue.c \
	exec.c \
	kernels/scalar.c \
	kernels/select.c \
	pool.c \
	ref_exec.c \
	unit.c \
	unit_conv.c \
	unit_dma.c \
	unit_mxu.c \
	unit_opt.c \
	unit_pool.c \
	unit_rng.c \
	unit_rows.c \
	unit_vpu.c \
	unit_wgrad.c \
	unit_xent.c \
	unit_xlu.c

# Host kernels that need an instruction set of their own, and its flags.
MODEL_AVX2_SOURCES := \
	kernels/avx2.c
MODEL_AVX2_FLAGS := -mavx2 -mfma
MODEL_AVX512_SOURCES := \
	kernels/avx512.c
MODEL_AVX512_FLAGS := -mavx512f
