#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the debug kernel: the guest's kernel version again, from Debian's source of it, with scripts/debug-kernel.config
# (KASAN, lockdep, kmemleak and others). Built once for each version, configuration and compiler, into the cache: 10 to
# 20 minutes on two idle processors.
#
# usage: debug-kernel.sh     make build/debug-kernel, laid out as build/kernel is: for `tools/vtpu-vm --kernel` and
#                            `scripts/module.sh build/debug-kernel/headers`
#
# KEEP=1 in the environment keeps source and objects in the cache, for those who change the configuration.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/apt.sh"
. "$(dirname "$0")/lib/linux-source.sh"
cd "$TOP"

config=$TOP/scripts/debug-kernel.config
home=$CACHE/debug-kernel

# What vtpu.ko uses are helpers that Kconfig gives only to drivers of the kernel's own tree.
needs='
config DRM_ACCEL_VTPU_NEEDS
	bool "What vtpu.ko takes from DRM"
	depends on DRM_ACCEL
	select DRM_SCHED
	select DRM_EXEC
	select DRM_GEM_SHMEM_HELPER
'

# in_kernel TARGET...: the kernel's make, without what a surrounding make hands down
in_kernel()
{
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS nice make -s -C "$source" O="$objects" -j"$(nproc)" "$@"
}

# The steps run inside quietly(), where set -e does not hold.

configure()
{
	local line lost=''
	mkdir -p "$objects" && in_kernel KCONFIG_ALLCONFIG="$config" allnoconfig || return 1
	while read -r line; do
		grep -qxF -- "$line" "$objects/.config" || lost+=" $line"
	done < <(grep '^CONFIG_' "$config")
	[ -z "$lost" ] || { echo "Kconfig does not take these lines of ${config#"$TOP"/}:$lost" >&2 && return 1; }
}

# install_to RESULT: what a guest and a module build need, and nothing else
install_to()
{
	local release
	release=$(cat "$objects/include/config/kernel.release") && mkdir -p "$1/boot" || return 1
	cp "$objects/arch/x86/boot/bzImage" "$1/boot/vmlinuz" &&
		# Symbols for messages are inside; QEMU starts this file without unpacking (PVH).
		strip -o "$1/boot/vmlinux" "$objects/vmlinux" &&
		in_kernel INSTALL_MOD_PATH="$1" modules_install &&
		rm -f "$1/lib/modules/$release/build" "$1/lib/modules/$release/source" &&
		in_kernel run-command KBUILD_RUN_COMMAND="\$(srctree)/scripts/package/install-extmod-build $1/headers" &&
		cp "$objects/.config" "$1/headers/.config" &&
		echo "$release" >"$1/release"
}

make_all() { configure && in_kernel bzImage modules && install_to "$root"; }

build()
{
	local version root source objects
	version=$(cat build/kernel/modules/version)
	source=$home/source-$version objects=$home/objects-$version
	root=$home/$({ echo "$version $needs" && gcc --version && cat "$config"; } | key)
	if [ ! -e "$root/.complete" ]; then
		if [ ! -e "$source/.complete" ]; then
			linux_source "$version" "$source"
			echo "$needs" >>"$source/drivers/accel/Kconfig"
			touch "$source/.complete"
		fi
		note KERNEL "debug kernel $version (log: build/log/debug-kernel.log)"
		rm -rf "$root"
		quietly build/log/debug-kernel.log make_all
		touch "$root/.complete"
		[ "${KEEP:-}" = 1 ] || rm -rf "$source" "$objects"
	fi
	mkdir -p build/debug-kernel
	ln -sfn "$root/boot/vmlinuz" build/debug-kernel/vmlinuz
	ln -sfn "$root/boot/vmlinux" build/debug-kernel/vmlinux
	ln -sfn "$root/headers" build/debug-kernel/headers
	ln -sfn "$root" build/debug-kernel/modules
	put build/debug-kernel/release <"$root/release"
}

scripts/guest-kernel.sh
with_lock debug-kernel build
