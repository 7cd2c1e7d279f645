#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a kselftest program in a VM whose device brings about what the program asks for: a line `INJECT <fault>` or
# `AER <error of the bus>` on its standard output goes to the device through QEMU's control socket, and a line of
# input says that it is done.
#
# usage: with-faults.sh PROGRAM MODULE-OPTIONS [ARG...]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

program=$1 module_opts=$2
shift 2
dir=$(mktemp -d)
trap 'exec 3>&-; rm -rf "$dir"' EXIT
mkfifo "$dir/answers"
exec 3<>"$dir/answers"

# qmp COMMAND: one command; prints the answer if it is an error. The socket stays open between commands.
qmp()
{
	local answer
	if [ -z "${QMP_PID:-}" ]; then
		coproc QMP { exec socat - "UNIX-CONNECT:$dir/qmp"; }
		qmp '{"execute":"qmp_capabilities"}'
	fi
	printf '%s\n' "$1" >&"${QMP[1]}"
	while IFS= read -r -t 20 answer <&"${QMP[0]}"; do
		case $answer in
		*'"return"'*) return ;;
		*'"error"'*) echo "# $answer" && return ;;
		esac
	done
	echo "# no answer to $1"
}

# The driver's backstop (timeout_ms) comes long before the device's own watchdog.
tools/vtpu-vm --hbm 1G --timeout "${VTPU_FAULTS_SECONDS:-500}" --qmp "$dir/qmp" --file "$program" \
	--module-opts "$module_opts" --device-opts watchdog-ms=60000 "$program" "$@" <&3 |
	while IFS= read -r line; do
		case $line in
		'INJECT '*)
			qmp "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"vtpu0\",\"property\":\"inject\",\"value\":\"${line#INJECT }\"}}"
			echo >&3
			;;
		'AER '*)
			qmp "{\"execute\":\"human-monitor-command\",\"arguments\":{\"command-line\":\"pcie_aer_inject_error vtpu0 ${line#AER }\"}}"
			echo >&3
			;;
		*) printf '%s\n' "$line" ;;
		esac
	done
