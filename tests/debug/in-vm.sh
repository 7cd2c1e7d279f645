#!/bin/sh
# SPDX-License-Identifier: MIT
# In a VM with the debug kernel: runs samples, conformance table, kselftest programs and planted failures, and after
# each looks at what the kernel's checkers said. Lines are TAP without numbers and plan; tests/debug/run.sh adds them.
#
# usage: in-vm.sh PART...    PART: checkers samples conformance kselftest fail-nth reload planted
all=/tmp/dmesg.all
new=/tmp/dmesg.new
allowed=
. "$(dirname "$0")/reports.sh"

report()
{
	if [ "$1" = 0 ]; then
		echo "ok - $2"
	else
		[ ! -s "$3" ] || sed 's/^/# /' "$3"
		echo "not ok - $2"
	fi
}

# log NAME: what the kernel said since the last look is free of reports, but for lines that match $allowed
log()
{
	dmesg -c >"$new"
	cat "$new" >>"$all"
	if grep -vE "${allowed:-^$}" "$new" | grep -qE "$reports"; then
		grep -E -m 3 -B 2 -A 45 "$reports" "$new" | head -n 150 >/tmp/excerpt
		report 1 "$1: nothing from the kernel's checkers" /tmp/excerpt
	else
		report 0 "$1: nothing from the kernel's checkers"
	fi
}

# run NAME SECONDS COMMAND...: ends well in that time, and in silence as to the kernel
run()
{
	name=$1 limit=$2
	shift 2
	read -r begin _ </proc/uptime
	timeout "$limit" "$@" >/tmp/out 2>&1 </dev/null
	code=$?
	read -r end _ </proc/uptime
	seconds=$(echo "$end $begin" | awk '{ printf "%.0f", $1 - $2 }')
	count=$(grep -c '^ok ' /tmp/out)
	{ grep -B 12 '^not ok ' /tmp/out || tail -n 15 /tmp/out; } | head -n 200 >/tmp/short
	echo "# exit code $code" >>/tmp/short
	# Not 0 is also kselftest's 4, "skipped", which would hide that nothing ran.
	report "$code" "$name ($count tests, $seconds s)" /tmp/short
	log "$name"
}

# Leaks: a young object may still be on its way to where it is kept, so look, wait, and look again.
leaks()
{
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak >/tmp/leaks
	dmesg -c >>"$all"
}

no_leaks()
{
	leaks
	head -n 150 /tmp/leaks >/tmp/excerpt
	report "$(grep -c 'unreferenced object' /tmp/leaks)" "$1: no memory is lost" /tmp/excerpt
}

part_checkers()
{
	dmesg -c >"$all"
	cp "$all" "$new"
	report "$(grep -cE "$reports" "$all")" 'boot and probe: nothing from the kernel'\''s checkers' "$new"
	grep -q 'KernelAddressSanitizer initialized' "$all"
	report $? 'KASAN is on'
	grep -q 'debug_locks: *1' /proc/lockdep_stats
	report $? 'lockdep is on'
	[ "$(cat /sys/kernel/debug/dma-api/disabled)" = N ]
	report $? 'DMA mappings are followed'
	[ -e /sys/kernel/debug/kmemleak ] && echo clear >/sys/kernel/debug/kmemleak
	report $? 'memory leaks are followed'
	: >"$new"
}

part_samples()
{
	run hello 300 hello
	run two_clients 300 two_clients
	run mlp_classify 600 mlp_classify build/demo/weights.bin
	run vtpu-smi 60 vtpu-smi
}

part_conformance() { run conformance 1500 build/tests/conformance/conformance accel0; }

# All but those that need the host (tests/vm/with-faults.sh).
part_kselftest()
{
	export KST_MODULE=/vtpu-vm/vtpu.ko
	for program in build/kselftest/vtpu/*; do
		case ${program##*/} in
		recovery | ladder | removal | bus_error | soak) continue ;;
		esac
		[ ! -x "$program" ] || run "kselftest ${program##*/}" 1200 "$program"
	done
}

part_fail_nth()
{
	run 'planted failures in system calls' 1200 build/tests/debug/fail_nth
	sed -n 's/^ok /# /p' /tmp/out
	# Linux takes an interrupt's files out of /proc, also those that it could not make for want of memory.
	allowed='WARNING: .* at remove_proc_entry\+'
	run 'planted failures in probe' 1200 build/tests/debug/fail_probe
	allowed=
	sed -n 's/^ok /# /p' /tmp/out
	# What is in force when one of them has ended, for those who plant.
	echo Y >/sys/kernel/debug/failslab/ignore-gfp-wait
	echo Y >/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait
}

# Unbind and unload while jobs run, and all of it again.
part_reload()
{
	for round in 1 2 3; do
		mlp_classify -n 1000000 build/demo/weights.bin >/dev/null 2>&1 &
		load=$!
		sleep 5
		case $round in
		1) kill -9 $load ;;
		*)
			for device in /sys/bus/pci/drivers/vtpu/0*; do
				echo "${device##*/}" >/sys/bus/pci/drivers/vtpu/unbind
			done
			;;
		esac
		wait $load 2>/dev/null
		log "round $round: $([ $round = 1 ] && echo killed || echo unbound) with jobs running"
		run "round $round: unload" 120 rmmod vtpu
		run "round $round: load" 120 insmod /vtpu-vm/vtpu.ko
		run "round $round: hello" 120 hello
	done
}

# Would the checkers have seen it?
planted()
{
	insmod build/planted/planted.ko what="$1"
	rmmod planted
	dmesg -c >"$new"
	cat "$new" >>"$all"
	grep -q "$2" "$new"
	report $? "the log shows a planted $1" "$new"
}

part_planted()
{
	# First: what KASAN says ends lockdep. So lockdep was awake until here.
	planted lock-order 'possible circular locking'
	planted use-after-free 'KASAN: slab-use-after-free'
	planted shift 'UBSAN: shift-out-of-bounds'
	planted sleep 'BUG: sleeping function called'
	planted refcount 'refcount_t: '
	planted timer 'ODEBUG: free active'
	planted dma 'DMA-API: .*different size'
	insmod build/planted/planted.ko what=leak && rmmod planted
	leaks
	grep -q 'unreferenced object' /tmp/leaks
	report $? 'the scan shows a planted leak' /tmp/leaks
}

export MNIST_DIR=/usr/share/datasets/fashion-mnist
for part; do
	case $part in
	checkers) part_checkers ;;
	samples) part_samples ;;
	conformance) part_conformance ;;
	kselftest) part_kselftest ;;
	reload) part_reload ;;
	planted) part_planted ;;
	fail-nth) part_fail_nth ;;
	leaks) no_leaks 'all of that' ;;
	*) echo "not ok - there is no part $part" ;;
	esac
done
:
