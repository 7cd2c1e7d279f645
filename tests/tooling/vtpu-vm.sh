#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/vtpu-vm: what goes in and out, and the exit codes that it promises. No device and no driver are needed.
. "$(dirname "$0")/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# vm OPTION... COMMAND: run; sets output (both streams apart), code
vm()
{
	tools/vtpu-vm --no-device --no-module --kernel-log "$work/log" "$@" >"$work/out" 2>"$work/err"
	code=$?
	output=$(tr -d "\\000" <"$work/out")$(cat "$work/err")
}

head -c 300000 /dev/urandom >"$work/data"
vm 'cat; echo oops >&2; exit 42' <"$work/data"
check "input and output pass whole" cmp -s "$work/data" "$work/out"
check "errors come apart" contains "$(cat "$work/err")" oops
check "the exit code is the command's" equal "$code" 42
check "the kernel's messages are kept after a failure" grep -q 'Linux version' "$work/log"

vm -- printf '%s|' "it's" "\$HOME" 'a b' </dev/null
check "words arrive as they are" equal "$(cat "$work/out")" "it's|\$HOME|a b|"
check "exit code 0" equal "$code" 0

mkdir "$work/share" && echo hello >"$work/share/in"
vm --share "$work/share" --share "$work/share:ro" 'cat /share/in; echo back >/share/out; echo no >/share1/no' </dev/null
check "a share can be read" contains "$output" hello
check "and written" equal "$(cat "$work/share/out")" back
check "a read-only one cannot" test ! -e "$work/share/no"

vm --host-root 'test -x /usr/bin/gcc && pwd && touch /vtpu-vm-was-here && id -u' </dev/null
check "host-root: this machine's files, the same folder" contains "$output" "$PWD"
check "host-root: what is written is gone afterwards" test ! -e /vtpu-vm-was-here
check "host-root: exit code 0" equal "$code" 0

vm 'echo c >/proc/sysrq-trigger; sleep 60' </dev/null
check "255 when the kernel panics" equal "$code" 255
check "and it says so" contains "$output" 'kernel panicked'

vm --timeout 15 'sleep 600' </dev/null
check "124 when out of time" equal "$code" 124

vm --qemu-arg '-device no-such-device' true </dev/null
check "125 when QEMU refuses" equal "$code" 125
vm --smp many true </dev/null
check "125 for a bad option" equal "$code" 125
check "which names what was expected" contains "$output" "--smp takes a number, got 'many'"
VTPU_VM_OPTIONS="--smp 3 --append 'a=1 b=2'" vm --smp 5 --print true </dev/null
check "options from the environment" contains "$output" 'a=1 b=2'
check "come before those of the command line" contains "$output" "'-smp' '5'"
VTPU_QEMU=/nonexistent vm true </dev/null
check "77 without QEMU" equal "$code" 77

# scripts/run-tests: suites in a VM share a boot, and one that takes the VM down fails alone with those after it.
for name in first dies never; do
	printf '#!/bin/sh\n# vm: --no-device --no-module\necho 1..1\n%s\necho ok 1 - %s\n' \
		"$([ $name != dies ] || echo 'echo c >/proc/sysrq-trigger; sleep 60')" $name >"$work/$name.sh"
done
output=$(VTPU_TAP=$work/tap scripts/run-tests vm:"$work/first.sh" vm:"$work/dies.sh" vm:"$work/never.sh" 2>&1)
check "suites of one boot are counted one by one" equal "$(tail -n 1 <<<"$output")" '1 passed, 2 failed'
check "a VM that ended is named" contains "$output" 'the VM ended before this suite did'
check "and what its kernel said" contains "$output" 'sysrq triggered crash'
finish
