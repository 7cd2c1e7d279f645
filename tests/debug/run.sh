#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on the debug kernel: the same programs as elsewhere, with KASAN, lockdep, kmemleak and others watching, and
# with each allocation failing once. One boot, and one for each program whose faults the device brings about.
#
# usage: run.sh [PART...]      only these parts of in-vm.sh
#        run.sh faults NAME    only kselftest/vtpu/NAME, recovery, ladder, removal or bus-error
set -uo pipefail
. "$(dirname "$0")/reports.sh"
cd "$(dirname "$0")/../.." || exit 1

log=build/log/debug
mkdir -p build/log build/planted
cp tests/debug/planted/* build/planted/
make -s -C build/debug-kernel/headers M="$PWD/build/planted" modules >"$log-planted.log" 2>&1 || {
	cat "$log-planted.log"
	echo 'Bail out! the module with planted bugs does not build'
	exit 1
}

# A checker that ends after its first report would hide the second.
options="--kernel build/debug-kernel --memory 4G --append 'kasan_multi_shot log_buf_len=16M'"

main()
{
	VTPU_VM_OPTIONS=$options tools/vtpu-vm --hbm 2G --timeout 6600 --kernel-log "$log-main.kernel" \
		--file tests/debug/in-vm.sh --file tests/debug/reports.sh --file build/demo/weights.bin \
		--file /usr/share/datasets/fashion-mnist --file build/tests/conformance/conformance \
		--file build/tests/debug/fail_nth --file build/tests/debug/fail_probe --file build/kselftest \
		--file build/planted/planted.ko -- sh tests/debug/in-vm.sh "$@" </dev/null
	local code=$?
	[ $code = 0 ] && echo 'ok - the machine lived to the end' && return
	tail -n 100 "$log-main.kernel" | sed 's/^/# /'
	echo "not ok - the machine lived to the end (vtpu-vm's exit code: $code)"
}

# faults NAME: a kselftest program whose faults the host brings about, in a machine of its own
faults()
{
	# All is slow there, so what is to happen before the driver looks needs more time.
	VTPU_BACKSTOP_MS=3000 VTPU_FAULTS_SECONDS=1500 VTPU_VM_OPTIONS="$options --kernel-log $log-$1.kernel" tests/vm/"$1".sh >"$log-$1.tap" 2>&1
	sed 's/^/# /' "$log-$1.tap"
	if grep -q '^ok ' "$log-$1.tap" && ! grep -q '^not ok ' "$log-$1.tap"; then
		echo "ok - kselftest $1"
	else
		echo "not ok - kselftest $1"
	fi
	if ! grep -qE "$reports" "$log-$1.kernel"; then
		echo "ok - kselftest $1: nothing from the kernel's checkers"
	else
		grep -E -m 3 -B 2 -A 45 "$reports" "$log-$1.kernel" | sed 's/^/# /'
		echo "not ok - kselftest $1: nothing from the kernel's checkers"
	fi
}

{
	if [ $# = 2 ] && [ "$1" = faults ]; then
		faults "$2"
	elif [ $# -gt 0 ]; then
		main "$@"
	else
		main checkers samples conformance kselftest fail-nth reload leaks planted
		faults recovery
		faults ladder
		faults removal
		faults bus-error
	fi
} | awk '
	sub(/^ok - /, "")     { print "ok " ++n " - " $0; fflush(); next }
	sub(/^not ok - /, "") { print "not ok " ++n " - " $0; fflush(); bad++; next }
			      { print; fflush() }
	END		      { print "1.." n; exit bad > 0 }'
