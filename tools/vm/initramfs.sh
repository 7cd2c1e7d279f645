#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the guest's first file system for tools/vtpu-vm: busybox, init, kernel modules in the order in which they
# load, and the files asked for with the libraries that they need. Not compressed: an emulated processor unpacks
# slower than it reads. The part that does not change between runs is kept in build/vm.
#
# usage: initramfs.sh KERNEL WORK MODULES FILE...
#   KERNEL   folder with modules (a tree for modprobe -d) and release
#   WORK     folder with conf and command for init; gets the result, initramfs
#   MODULES  names, or a path of a .ko of ours, one a line
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
kernel=$1 work=$2
mapfile -t modules < <(printf '%s' "$3" | sort -u)
shift 3
PATH=$PATH:/usr/sbin:/sbin
release=$(cat "$kernel/release")

pack() { (cd "$1" && find . | sort | cpio -o -H newc --quiet -R 0:0); }

# Our own modules are loaded by init; what they depend on comes from the kernel's tree.
own=() names=()
for module in ${modules[@]+"${modules[@]}"}; do
	case $module in
	*.ko)
		own+=("$module")
		mapfile -t -O ${#names[@]} names < <(modinfo -F depends "$module" | tr , '\n' | sed '/^$/d')
		;;
	?*) names+=("$module") ;;
	esac
done

# base FOLDER: all that depends on the kernel, the modules' names and init alone
base()
{
	local to=$1 number=100 applet file
	mkdir -p "$to"/{bin,dev,proc,sys,tmp,run,root,etc,new,vtpu-vm/modules,vtpu}
	cp "$(command -v busybox)" "$to/bin/busybox"
	for applet in $(busybox --list); do
		[ "$applet" = busybox ] || ln -s busybox "$to/bin/$applet"
	done
	ln -s bin "$to/sbin"
	mkdir -p "$to/usr" && ln -s ../bin "$to/usr/bin" && ln -s ../bin "$to/usr/sbin"
	ln -s /proc/self/mounts "$to/etc/mtab"
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$to/etc/passwd"
	printf 'root:x:0:\nrender:x:106:\nnogroup:x:65534:\n' >"$to/etc/group"
	install -m 755 "$top/tools/vm/init" "$to/init"
	[ ${#names[@]} -gt 0 ] || return 0
	for applet in "${names[@]}"; do
		modprobe -d "$kernel/modules" -S "$release" -D "$applet"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
		number=$((number + 1))
		case $file in
		*.xz) xz -dc "$file" >"$to/vtpu-vm/modules/$number-$(basename "$file" .xz)" ;;
		*) cp "$file" "$to/vtpu-vm/modules/$number-${file##*/}" ;;
		esac
	done
}

key=$({ echo "$release" "${names[@]}"; cat "$top/tools/vm/init" "$0"; stat -L -c '%s %Y' "$(command -v busybox)" "$kernel/modules"; } |
	sha256sum | cut -c1-12)
cached=$top/build/vm/base-$key.cpio
if [ ! -e "$cached" ]; then
	mkdir -p "$top/build/vm" "$work/base"
	base "$work/base"
	pack "$work/base" >"$work/base.cpio"
	mv "$work/base.cpio" "$cached.$$" && mv "$cached.$$" "$cached"
	rm -rf "$work/base"
fi

# place PATH: where the guest finds it: the tree is at /vtpu there, and at its own path
place()
{
	case $1 in
	"$top"/*) echo "/vtpu/${1#"$top"/}" ;;
	*) echo "$1" ;;
	esac
}

extra=$work/extra
mkdir -p "$extra/vtpu-vm" "$extra/vtpu"
cp "$work/conf" "$work/command" "$extra/vtpu-vm/"
for module in ${own[@]+"${own[@]}"}; do
	cp "$module" "$extra/vtpu-vm/"
done

# take PATH: copy it, and the libraries of a program
take()
{
	local path to library
	path=$(realpath -s "$1")
	to=$extra$(place "$path")
	[ ! -e "$to" ] || return 0
	mkdir -p "${to%/*}"
	cp -rL "$path" "$to"
	[ -x "$path" ] && [ -f "$path" ] || return 0
	{ ldd "$path" 2>/dev/null || :; } | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' |
		while read -r library; do
			to=$extra$(place "$library")
			[ -e "$to" ] || { mkdir -p "${to%/*}" && cp -L "$library" "$to"; }
		done
}
for file; do
	[ -e "$file" ] || { echo "vtpu-vm: there is no file '$file' to take along" >&2 && exit 1; }
	take "$file"
done
if [ "$top" != /vtpu ]; then
	mkdir -p "$extra${top%/*}"
	[ -e "$extra$top" ] || ln -s /vtpu "$extra$top"
fi

{ cat "$cached" && pack "$extra"; } >"$work/initramfs"
rm -rf "$extra"
