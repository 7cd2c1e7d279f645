#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the benchmarks one after the other and gathers their rows: a table for people, build/bench.json for programs.
# A row that misses its bar is shown as such and is no error; a benchmark that gives no row at all is.
#	scripts/bench.sh PROGRAM...
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

export VTPU_BENCH_JSON=build/bench.lines
rm -f build/bench.json $VTPU_BENCH_JSON
touch $VTPU_BENCH_JSON
failed=0
for program in "$@"; do
	rows=$(wc -l <$VTPU_BENCH_JSON)
	printf '# %s\n' "$program"
	"$program"
	rc=$?
	if [ "$(wc -l <$VTPU_BENCH_JSON)" = "$rows" ]; then
		echo "bench: $program gave no row (exit code $rc)" >&2
		failed=1
	fi
done
jq -s . $VTPU_BENCH_JSON >build/bench.json || exit 1
rm -f $VTPU_BENCH_JSON
echo
jq -r '["row", "ours", "peer", "unit", "ratio", "bar", ""],
	(.[] | [.id, .ours, .peer, .unit, .ratio, .bar, if .ok then "ok" else "MISSED" end])
	| map(tostring) | join("\t")' build/bench.json | column -t -s "$(printf '\t')"
echo
echo "rows are in build/bench.json"
exit $failed
