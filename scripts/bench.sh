#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the benchmarks one after the other and gathers their rows (tests/bench/row.h): a table for people, build/bench.json for programs.
# A row that misses its bar is shown as such and is no error; a benchmark that gives no row at all is.
#	scripts/bench.sh PROGRAM...
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f build/bench.json
failed=0
for program in "$@"; do
	printf '# %s\n' "$program"
	"$program" | tee "$work/said"
	rc=${PIPESTATUS[0]}
	if ! grep '^{' "$work/said" >>"$work/rows"; then
		echo "bench: $program gave no row (exit code $rc)" >&2
		failed=1
	fi
done
jq -s . "$work/rows" >build/bench.json || exit 1
echo
jq -r '["row", "ours", "peer", "unit", "ratio", "bar", ""],
	(.[] | [.id, .ours, .peer, .unit, .ratio, .bar, if .ok then "ok" else "MISSED" end])
	| map(tostring) | join("\t")' build/bench.json | column -t -s "$(printf '\t')"
echo
echo "rows are in build/bench.json"
exit $failed
