# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# TAP for shell tests: `check NAME CONDITION...` after each case, `finish` at the end. Sourced.
tests=0 failures=0

# check NAME COMMAND...: one test; it passes when COMMAND succeeds
check()
{
	local name=$1
	shift
	tests=$((tests + 1))
	if "$@"; then
		echo "ok $tests - $name"
	else
		failures=$((failures + 1))
		echo "not ok $tests - $name"
		echo "# failed: $*"
		[ -z "${output:-}" ] || printf '%s\n' "$output" | sed 's/^/# output: /'
	fi
}
equal() { [ "$1" = "$2" ]; }
contains() { [[ $1 == *"$2"* ]]; }
finish()
{
	echo "1..$tests"
	[ $failures = 0 ]
}
