#!/bin/sh
# SPDX-License-Identifier: MIT
# vm: --initramfs --cores 8 --file build/bin/mlp_classify --file build/demo/weights.bin --file /usr/bin/jq --file /usr/share/datasets/fashion-mnist
# shellcheck disable=SC2016,SC2034  # check() evaluates its words itself
# What vtpu-smi shows of an idle device, of a busy one, and when it may not or cannot look.
export MNIST_DIR=/usr/share/datasets/fashion-mnist
n=0
echo 'TAP version 13'
echo '1..17'

check()
{
	n=$((n + 1))
	if eval "$2"; then
		echo "ok $n - $1"
	else
		echo "# $(eval "echo \"$3\"" | head -n 5 | tr '\n' '|')"
		echo "not ok $n - $1"
	fi
}

list=$(vtpu-smi -L)
check 'lists one device in one line' 'echo "$list" | grep -Eq "^TPU 0: vTPU v3, 8 cores, .* GiB HBM \(PCI 0000:.*, serial [0-9a-f]{16}, /dev/accel/accel0\)$"' '$list'

table=$(vtpu-smi)
check 'prints a table' 'echo "$table" | grep -q "vTPU v3"' '$table'
check 'is at most 80 columns wide' '[ -z "$(echo "$table" | grep -E "^.{81}")" ]' '$table'
check 'says that nobody uses the device' 'echo "$table" | grep -q "no process"' '$table'

json=$(vtpu-smi --json)
is()
{
	echo "$json" | jq -e "$1" >/dev/null
}
check 'prints JSON that parses, schema 1' 'is ".schema == 1"' '$json'
check 'counts 8 cores, idle' 'is "(.devices[0].cores | length == 8) and all(.devices[0].cores[]; .utilization == 0)"' '$json'
check 'gives numbers as numbers' 'is ".devices[0].hbm_total_bytes > 1e8 and (.devices[0].duty_cycle | type == \"number\")"' '$json'

mlp_classify -n 1000000 build/demo/weights.bin >/dev/null 2>&1 &
load=$!
sleep 2
json=$(vtpu-smi --json --sample 500)
check 'sees all cores of a busy device at work' 'is "all(.devices[0].cores[]; .utilization > 0.05)"' '$json'
check 'sees the job as it runs: duty and used HBM' 'is ".devices[0].duty_cycle > 0.05 and .devices[0].hbm_used_bytes > 7840000"' '$json'
check 'names the process, its HBM and its share' "is '.processes | length == 1 and .[0].pid == $load and .[0].name == \"mlp_classify\" and .[0].hbm_bytes > 7840000 and .[0].utilization > 0.05'" '$json'
dmon=$(vtpu-smi dmon -c 2 -d 0.2)
check 'dmon prints a header and as many lines as asked for' '[ "$(echo "$dmon" | grep -c "^#")" = 2 ] && [ "$(echo "$dmon" | grep -c "^ *0 ")" = 2 ]' '$dmon'
check 'the table names the process' 'vtpu-smi | grep -q "$load  mlp_classify"' '$(vtpu-smi)'
kill $load
wait $load 2>/dev/null

echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
chmod 600 /dev/accel/accel0
text=$(su -s /bin/sh nobody -c 'vtpu-smi' 2>&1)
code=$?
check 'without permission: exit code 4 and a sentence that names the node' '[ $code = 4 ] && echo "$text" | grep -qi "permission.*/dev/accel/accel0\|/dev/accel/accel0.*permission"' '$code: $text'
text=$(vtpu-smi --lop 2>&1)
code=$?
check 'wrong usage: exit code 2' '[ $code = 2 ]' '$code: $text'
text=$(vtpu-smi dmon -d 0 2>&1)
code=$?
check 'wrong number: exit code 2 and what is allowed' '[ $code = 2 ] && echo "$text" | grep -q "between"' '$code: $text'
rmmod vtpu
text=$(vtpu-smi 2>&1)
code=$?
check 'without the driver: exit code 9 and a sentence' '[ $code = 9 ] && echo "$text" | grep -qi "modprobe\|module\|driver"' '$code: $text'
dmesg_bad=$(dmesg | grep -E 'BUG|WARNING|Oops|Call Trace')
check 'the kernel has nothing to complain about' '[ -z "$dmesg_bad" ]' '$dmesg_bad'
