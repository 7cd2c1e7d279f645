#!/bin/bash
# SPDX-License-Identifier: MIT
# Faults that the device brings about, and what the driver makes of them: runs kselftest/vtpu/recovery in a VM and
# injects what it asks for (a line `INJECT <what>`) through QEMU's control socket.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

dir=$(mktemp -d)
trap 'exec 3>&-; rm -rf "$dir"' EXIT
mkfifo "$dir/answers"
exec 3<>"$dir/answers"

qmp()
{
	printf '%s\n' '{"execute":"qmp_capabilities"}' \
		"{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"vtpu0\",\"property\":\"inject\",\"value\":\"$1\"}}" |
		socat -t 2 - "UNIX-CONNECT:$dir/qmp"
}

# The backstop (300 ms) comes long before the device's own watchdog.
tools/vtpu-vm --hbm 1G --timeout 200 --qmp "$dir/qmp" --module-opts timeout_ms=300 \
	--device-opts watchdog-ms=60000 build/kselftest/vtpu/recovery <&3 |
	while IFS= read -r line; do
		case $line in
		'INJECT '*)
			qmp "${line#INJECT }" | grep '"error"' | sed 's/^/# /'
			echo >&3
			;;
		*) printf '%s\n' "$line" ;;
		esac
	done
