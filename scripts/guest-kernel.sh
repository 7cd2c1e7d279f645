#!/bin/bash
# SPDX-License-Identifier: MIT
# Fetches the guest's kernel: Debian's newest 6.12 image of this machine's own release together with its
# headers (another release's build tools need another C library), unpacked into the cache and not installed.
#
# usage: guest-kernel.sh          make build/kernel: links vmlinuz, vmlinux, headers, modules (a tree for
#                                 modprobe -d) and the file release
#        guest-kernel.sh source   make build/kernel-source: the named files of linux-source of the same version
#                                 (checkpatch, kselftest's harness), out of Debian's package
#
# The newest pair is looked up once a week; when the archive cannot be reached, the cached one is taken and said.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/apt.sh"
. "$(dirname "$0")/lib/linux-source.sh"
cd "$TOP"

home=$CACHE/guest-kernel
newest=$home/newest

# Files that tests and lint take from the kernel's own tree.
source_members=(
	scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch
	tools/testing/selftests/kselftest.h tools/testing/selftests/kselftest_harness.h
	tools/testing/selftests/lib.mk tools/testing/selftests/kselftest/runner.sh
	tools/testing/selftests/kselftest/prefix.pl tools/testing/selftests/kselftest/ktap_helpers.sh
)

# pair: "RELEASE VERSION" of the newest image whose headers exist in that very version
pair()
{
	local image release version
	for image in $(apt_cache pkgnames linux-image-6.12 | grep -E '^linux-image-6\.12\.[0-9.]+\+deb[0-9.]+-amd64$' | sort -rV); do
		release=${image#linux-image-}
		for version in $(apt_cache show "$image" | sed -n 's/^Version: //p' | sort -rV); do
			if apt_cache show "linux-headers-$release=$version" 2>/dev/null | grep -q '^Package:'; then
				echo "$release $version"
				return 0
			fi
		done
	done
	return 1
}

# number FILE OFFSET BYTES: little endian
number() { od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# plain VMLINUZ: the kernel without its wrapping. QEMU can start it (PVH), which spares an emulated processor the
# unpacking. The offsets are the Linux boot protocol's.
plain()
{
	local setup offset length
	setup=$((($(number "$1" $((0x1f1)) 1) + 1) * 512))
	offset=$(number "$1" $((0x248)) 4)
	length=$(number "$1" $((0x24c)) 4)
	tail -c "+$((setup + offset + 1))" "$1" | head -c $((length - 4)) | zstd -dcq
}

# unpack_pair RELEASE VERSION: into $home/RELEASE
unpack_pair()
{
	local release=$1 version=$2 root=$home/$1 tmp=$home/tmp.$$ needs deb path
	needs=$(apt_cache show "linux-headers-$release=$version" | sed -n 's/^Depends: //p' | head -n 1 |
		tr -d ' ' | tr ',' '\n' | sed 's/(.*//' | grep -E '^linux-(headers-.*-common|kbuild-)')
	note FETCH "guest kernel $release (image and headers)"
	rm -rf "$tmp" && mkdir -p "$tmp/debs" "$tmp/root"
	# shellcheck disable=SC2046,SC2086  # words
	apt_fetch "$tmp/debs" $(printf "%s=$version " "linux-image-$release" "linux-headers-$release" $needs) >&2 || return 1
	for deb in "$tmp"/debs/*.deb; do
		dpkg-deb -x "$deb" "$tmp/root" || return 1
	done
	# The headers name each other by absolute paths; from here on they live below the cache.
	for path in "$tmp/root/usr/src/linux-headers-$release"/{Makefile,.kernelvariables}; do
		[ ! -e "$path" ] || sed -i "s|/usr/src/|$root/usr/src/|g; s|/usr/lib/linux-kbuild|$root/usr/lib/linux-kbuild|g" "$path"
	done
	find "$tmp/root/usr/src" -type l -lname '/*' | while read -r path; do
		ln -sfn "$root$(readlink "$path")" "$path"
	done
	# Debian 13 and later merge /lib into /usr.
	[ -d "$tmp/root/lib/modules" ] || { mkdir -p "$tmp/root/lib" && mv "$tmp/root/usr/lib/modules" "$tmp/root/lib/modules"; }
	rm -f "$tmp/root/lib/modules/$release/build" "$tmp/root/lib/modules/$release/source"
	depmod -b "$tmp/root" "$release" || return 1
	rm -rf "$root" && mv "$tmp/root" "$root" && rm -rf "$tmp"
	echo "$version" >"$root/version"
}

# resolve: make sure that $newest names a release that is unpacked; sets release
resolve()
{
	local found
	mkdir -p "$home"
	if [ -z "$(find "$newest" -mtime -7 2>/dev/null)" ]; then
		if apt_refresh >&2 && found=$(pair) && { [ -e "$home/${found% *}/version" ] || unpack_pair "${found% *}" "${found#* }"; }; then
			echo "${found% *}" >"$newest"
		elif [ -s "$newest" ]; then
			note KERNEL "no newer pair to be had; using the cached $(cat "$newest")"
		else
			die "no Debian 6.12 kernel image with its headers to be had for $(apt_release)"
		fi
	fi
	release=$(cat "$newest")
	[ -e "$home/$release/version" ] || { rm -f "$newest" && resolve; }
}

kernel()
{
	local root
	resolve
	root=$home/$release
	mkdir -p build/kernel
	ln -sfn "$root/boot/vmlinuz-$release" build/kernel/vmlinuz
	if [ ! -e "$root/boot/vmlinux" ]; then
		# Another packing than zstd is no fault: vmlinuz then has to do.
		(plain "$root/boot/vmlinuz-$release" >"$root/boot/vmlinux.tmp") 2>/dev/null || : >"$root/boot/vmlinux.tmp"
		mv "$root/boot/vmlinux.tmp" "$root/boot/vmlinux"
	fi
	ln -sfn "$root/boot/vmlinux" build/kernel/vmlinux
	ln -sfn "$root/usr/src/linux-headers-$release" build/kernel/headers
	ln -sfn "$root" build/kernel/modules
	echo "$release" | put build/kernel/release
}

source_files()
{
	local version root
	resolve
	version=$(cat "$home/$release/version")
	root=$home/source-$version
	if [ ! -e "$root/.complete" ]; then
		linux_source "$version" "$root" "${source_members[@]}"
		touch "$root/.complete"
	fi
	ln -sfn "$root" build/kernel-source
}

mkdir -p build
case ${1:-kernel} in
kernel) with_lock guest-kernel kernel ;;
source) with_lock guest-kernel source_files ;;
*) sed -n '3,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
