#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages of scripts/deps.txt that are missing. As root it does so by itself;
# otherwise it prints the one line to run, and stops. A package that this release has only in too old
# a version comes from the release's backports.
#
# usage: deps.sh [bench]        `bench` adds the peers that `make bench` measures against
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/apt.sh"

groups="core qemu vm kernel lint test ${1:-}"

# table: "package least-version" of the wanted groups
table()
{
	awk -v groups=" $groups " '!/^#/ && NF && index(groups, " " $3 " ") { print $1, $2 }' "$TOP/scripts/deps.txt"
}

installed()
{
	# shellcheck disable=SC2016  # dpkg's own placeholders
	dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\n' 2>/dev/null |
		awk '$2 == "installed" { print $1, $3 }'
}

# missing: lines of the table that are not installed, or too old
missing()
{
	local package least have
	local -A version
	while read -r package have; do version[$package]=$have; done < <(installed)
	while read -r package least; do
		have=${version[$package]:-}
		if [ -z "$have" ] || { [ "$least" != - ] && dpkg --compare-versions "$have" lt "$least"; }; then
			echo "$package $least"
		fi
	done < <(table)
}

candidate() { apt-cache policy "$1" | awk '$1 == "Candidate:" { print $2 }'; }

mapfile -t wanted < <(missing)
[ ${#wanted[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "vTPU needs ${#wanted[@]} more Debian packages: ${wanted[*]%% *}" >&2
	echo "Install them with this line, then try again:" >&2
	echo "    sudo $TOP/scripts/deps.sh ${1:-}" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
log=$TOP/build/log/deps.log
note DEPS "${wanted[*]%% *}"

# Lists are fetched only when apt does not know a package yet, or its idea of it is out of date.
for line in "${wanted[@]}"; do
	if [ "$(candidate "${line%% *}")" = "" ] || [ "$(candidate "${line%% *}")" = "(none)" ]; then
		quietly "$log" apt-get update
		break
	fi
done

install=()
for line in "${wanted[@]}"; do
	read -r package least <<<"$line"
	if [ "$least" != - ] && dpkg --compare-versions "$(candidate "$package")" lt "$least"; then
		apt_refresh
		rm -f "$APT/debs/${package}_"*.deb
		apt_fetch "$APT/debs" "$package/$(apt_release)-backports" ||
			die "$package $least or newer is neither in $(apt_release) nor in its backports"
		install+=("$(ls "$APT/debs/${package}_"*.deb)")
	else
		install+=("$package")
	fi
done

apt_install() { apt-get install -y -q --no-install-recommends "${install[@]}"; }
quietly "$log" apt_install || { quietly "$log" apt-get update && quietly "$log" apt_install; } ||
	die "apt-get could not install what is needed"

mapfile -t wanted < <(missing)
[ ${#wanted[@]} -eq 0 ] || die "still missing after installation: ${wanted[*]%% *}"
