# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The kernel's own source, out of Debian's package linux-source of one version. Sourced after common.sh and apt.sh.

# linux_source VERSION DIR [MEMBER...]: unpack these files of the tree (none named: all of it) into DIR
linux_source()
{
	local version=$1 dir=$2 series name deb tar
	shift 2
	series=$(cut -d. -f1,2 <<<"$version") name=linux-source-$series
	note FETCH "$name $version"
	rm -rf "$dir" && mkdir -p "$dir/deb"
	apt_refresh >&2
	apt_fetch "$dir/deb" "$name=$version" >&2 || die "$name $version is not to be had"
	deb=$(ls "$dir"/deb/*.deb)
	tar=$(dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -E "/$name\.tar\.xz\$")
	# The last reader stops once it has all, and those before it then fail: its own success counts.
	(
		set +o pipefail
		dpkg-deb --fsys-tarfile "$deb" | tar -xO "$tar" 2>/dev/null | xz -dc -T0 2>/dev/null |
			tar -x -C "$dir" --strip-components=1 ${1:+--occurrence=1} "${@/#/$name/}"
	) || die "$name $version lacks files that we need (see above)"
	rm -rf "$dir/deb"
}
