# SPDX-License-Identifier: MIT
# The driver, built with W=1 against the headers of the guest's kernel (scripts/guest-kernel.sh), out of the tree.
#
#   make module                      build/vtpu.ko
#   make module KERNEL_HEADERS=DIR   against other headers
#
# kernel/compat-probe.sh HEADERS, if it is there, prints the #defines that say which shims this kernel needs;
# they are compiled in as vtpu_compat_gen.h.
KERNEL_HEADERS := build/kernel/headers

module: build/kernel/release
ifneq ($(wildcard kernel/*.c),)
module: build/vtpu.ko
endif

build/kernel/release: FORCE | build/.deps
	$(Q)scripts/guest-kernel.sh

build/vtpu.ko: build/kernel/release FORCE
	$(call say,KBUILD,$@)
	+$(Q)scripts/module.sh $(KERNEL_HEADERS) W=1
	$(Q)cmp -s build/module/vtpu.ko $@ || cp build/module/vtpu.ko $@
