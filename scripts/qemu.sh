#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds QEMU with the vtpu device. Debian's QEMU source is fetched and built once into the cache; our device
# is an overlay on it, copied by content, so that a later run compiles our own objects only.
#
# usage: qemu.sh build    build/qemu/qemu-system-x86_64
#        qemu.sh qtest    build/qemu/qtest/*, one program for each tests/qtest/*-test.c
#        qemu.sh source   print the folder of QEMU's source with the device in it
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/apt.sh"
cd "$TOP"

home=$CACHE/qemu
out=build/qemu
log=$TOP/build/log

configure_options=(
	--python=/usr/bin/python3 --prefix=/opt/vtpu
	--firmwarepath=/usr/share/seabios:/usr/share/qemu
	--target-list=x86_64-softmmu
	--without-default-features --without-default-devices --with-devices-x86_64=vtpu
	--enable-system --enable-tcg --enable-kvm --enable-numa --enable-virtfs --enable-attr
	--enable-trace-backends=log
	--disable-install-blobs --disable-tools --disable-docs --disable-download
	--disable-debug-info --disable-guest-agent
)

# fetch: the newest 10.0 source of the release, unless the cache has one; prints its .dsc
fetch()
{
	local dsc version
	dsc=$(find "$home/dsc" -name 'qemu_10.0*.dsc' 2>/dev/null | sort -V | tail -n 1)
	if [ -z "$dsc" ]; then
		apt_refresh >&2
		version=$(apt_cache showsrc --only-source qemu | awk '$1 == "Version:" && $2 ~ /^1:10\.0\./ { print $2 }' |
			sort -V | tail -n 1)
		[ -n "$version" ] || die "no QEMU 10.0 source in $QEMU_RELEASE"
		note FETCH "QEMU $version" >&2
		mkdir -p "$home/dsc"
		(cd "$home/dsc" && apt_get source --download-only --only-source "qemu=$version") >&2 ||
			die "could not fetch QEMU's source"
		dsc=$(find "$home/dsc" -name 'qemu_10.0*.dsc' | sort -V | tail -n 1)
	fi
	echo "$dsc"
}

# patched SRC: the files that our patches touch, made anew from their originals, which are kept beside the tree
patched()
{
	local keep=$1/../pristine new=$1/../patched file
	sed -n "s|^+++ b/||p" qemu-device/patches/*.patch | sort -u | while read -r file; do
		[ -e "$keep/$file" ] || { mkdir -p "$(dirname "$keep/$file")" && cp -p "$1/$file" "$keep/$file"; }
	done
	rm -rf "$new"
	cp -rp "$keep" "$new"
	for file in qemu-device/patches/*.patch; do
		quietly "$log/qemu-patch.log" patch -d "$new" -p1 --fuzz=3 -i "$TOP/$file" ||
			die "$file does not apply to this QEMU"
	done
	rsync -rc --exclude='*.orig' "$new/" "$1/"
}

# overlay SRC: our changes and our files into the source tree, each only if its content differs, so that ninja
# builds what they touch and no more
overlay()
{
	local to=$1/hw/misc/vtpu
	patched "$1"
	mkdir -p "$to/uapi" "$1/tests/qtest/vtpu"
	rsync -rc --delete --exclude=/patches --exclude='build.mk' --exclude=/devices.mak --exclude=/lists.txt \
		--exclude=/uapi --filter='P /trace-events' qemu-device/ "$to/"
	rsync -rc --delete uapi/ "$to/uapi/"
	rsync -rc --delete --exclude=/list.txt tests/qtest/ "$1/tests/qtest/vtpu/"
	[ -e "$to/trace-events" ] || : >"$to/trace-events"
	env -u MAKEFLAGS make -s -f scripts/make/lists.mk | put "$to/lists.txt"
	(cd tests/qtest && find . -maxdepth 1 -name '*-test.c' | sed 's|^\./||; s|\.c$||' | sort) |
		put "$1/tests/qtest/vtpu/list.txt"
	put "$1/configs/devices/x86_64-softmmu/vtpu.mak" <qemu-device/devices.mak
}

# prepare DSC TREE: unpack
prepare()
{
	note UNPACK "$(basename "$1" .dsc)"
	rm -rf "$2" && mkdir -p "$2"
	quietly "$log/qemu-unpack.log" dpkg-source --no-check -x "$1" "$2/src"
}

run_configure() { (cd "$1/build" && ../src/configure "${configure_options[@]}"); }

# name: of the cached tree, by all that went into it except the overlay
name()
{
	local dsc
	dsc=$(fetch)
	echo "$(basename "$dsc" .dsc)-$(cat "$dsc" qemu-device/devices.mak - <<<"${configure_options[*]}" | key)"
}

# tree: the cached tree with the overlay of this checkout, configured
tree()
{
	local dsc=$home/dsc/${tree%-*}.dsc
	tree=$home/$tree
	[ -e "$tree/src/.prepared" ] || { prepare "$dsc" "$tree" && touch "$tree/src/.prepared"; }
	overlay "$tree/src"
	if [ ! -e "$tree/build/build.ninja" ]; then
		note CONFIG "QEMU"
		mkdir -p "$tree/build"
		quietly "$log/qemu-configure.log" run_configure "$tree"
	fi
}

# ninja TARGET...: says beforehand when it will take long
run_ninja()
{
	local steps
	steps=$(ninja -C "$tree/build" -n "$@" 2>/dev/null | sed -n 's|^\[1/\([0-9]*\)\].*|\1|p' | head -n 1)
	[ "${steps:-0}" -lt 200 ] || note BUILD "QEMU: $steps steps, about 5 minutes on 2 cores"
	quietly "$log/qemu-build.log" ninja -C "$tree/build" "$@"
}

# Copies, not links: another checkout may put its own device into the same cached tree next.
build()
{
	tree
	run_ninja qemu-system-x86_64
	mkdir -p $out
	cmp -s "$tree/build/qemu-system-x86_64" $out/qemu-system-x86_64 ||
		install -m 755 "$tree/build/qemu-system-x86_64" $out/qemu-system-x86_64
	# Warnings in our own files are ours to mend, so they are always seen.
	grep -A6 '\(hw/misc\|tests/qtest\)/vtpu/.*: warning:' "$log/qemu-build.log" || :
}

qtest()
{
	local test tests
	tree
	mapfile -t tests < <(sed '/^$/d' "$tree/src/tests/qtest/vtpu/list.txt")
	[ ${#tests[@]} -gt 0 ] || return 0
	run_ninja qemu-system-x86_64 "${tests[@]/#/tests/qtest/vtpu/}"
	mkdir -p $out/qtest
	for test in "${tests[@]}"; do
		cmp -s "$tree/build/tests/qtest/vtpu/$test" "$out/qtest/$test" ||
			install -m 755 "$tree/build/tests/qtest/vtpu/$test" "$out/qtest/$test"
	done
	grep -A6 'tests/qtest/vtpu/.*: warning:' "$log/qemu-build.log" || :
}

source_folder()
{
	tree
	echo "$tree/src"
}

case ${1:-} in
build | qtest | source)
	tree=$(with_lock qemu-source name | tail -n 1)
	case $1 in
	build) with_lock "$tree" build ;;
	qtest) with_lock "$tree" qtest ;;
	source) with_lock "$tree" source_folder ;;
	esac
	;;
*) sed -n '3,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
