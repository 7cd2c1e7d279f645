#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts/run-tests counts right, and lets no suite pass that crashed, stopped early, hung, or broke its plan.
. "$(dirname "$0")/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export VTPU_TAP=$work/tap

suite() { printf '#!/bin/sh\n%s\n' "$2" >"$work/$1" && chmod +x "$work/$1"; }

suite good 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
suite bad 'echo 1..2; echo ok 1 - a; echo not ok 2 - b; echo "# expected 3, got 4"; exit 1'
suite crash 'echo 1..2; echo ok 1 - a; kill -SEGV $$'
suite noplan 'echo ok 1 - a'
suite early 'echo 1..3; echo ok 1 - a'
suite exit 'echo 1..1; echo ok 1 - a; exit 3'
suite hang 'echo 1..1; sleep 30; echo ok 1 - a'
suite skip 'echo 1..2; echo "ok 1 - a # SKIP no reason"; echo ok 2 - b'
suite todo 'echo 1..1; echo "not ok 1 - a # TODO later"; exit 0'
suite bail 'echo 1..2; echo ok 1 - a; echo "Bail out! no more"'

# expect NAME TOTAL CODE WORDS: run one suite; last line, exit code, and words that must be shown
expect()
{
	local code
	output=$(scripts/run-tests "host:$work/$1${5:-}" 2>&1)
	code=$?
	check "$1: closing line is '$2'" equal "$(tail -n 1 <<<"$output")" "$2"
	check "$1: exit code" equal "$code" "$3"
	check "$1: says '$4'" contains "$output" "$4"
}
expect good '2 passed, 0 failed' 0 '2 ok'
expect bad '1 passed, 1 failed' 1 '# expected 3, got 4'
expect crash '1 passed, 1 failed' 1 'died of signal 11'
expect noplan '1 passed, 1 failed' 1 'ended without its plan'
expect early '1 passed, 1 failed' 1 'planned 3 tests, ran 1'
expect exit '1 passed, 1 failed' 1 'exit code 3 though no test failed'
expect hang '0 passed, 1 failed' 1 'ran out of time' @1
expect skip '1 passed, 0 failed, 1 skipped' 0 'no reason'
expect todo '0 passed, 1 failed' 1 'not ok 1 - a'
expect bail '1 passed, 1 failed' 1 'no more'
expect absent '0 passed, 1 failed' 1 'no such suite'

output=$(scripts/run-tests "host:$work/good" "host:$work/bad" "host:$work/skip" 2>&1)
check "totals over suites" equal "$(tail -n 1 <<<"$output")" '4 passed, 1 failed, 1 skipped'
check "what a suite printed is kept" grep -q 'expected 3' -r "$VTPU_TAP"
output=$(scripts/run-tests 2>&1)
check "no suite at all is an error" equal $? 1
finish
