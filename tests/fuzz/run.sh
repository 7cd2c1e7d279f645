#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs libFuzzer targets for a while and prints TAP.
#
# usage: run.sh SECONDS TARGET...     names of programs in build/tests/fuzz
#
# Finds are kept between runs in the cache folder, so that each run starts from what earlier ones
# learned. A crashing input is left in build/fuzz/NAME-crash-*; give it to the program to see it again.
seconds=$1
shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/vtpu/fuzz
echo "1..$#"
number=0
failed=0
for target; do
	number=$((number + 1))
	corpus=$cache/$target
	log=build/fuzz/$target.log
	mkdir -p "$corpus" build/fuzz
	if build/tests/fuzz/"$target" -max_total_time="$seconds" -max_len=2048 -len_control=0 \
		-timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix="build/fuzz/$target-" "$corpus" >"$log" 2>&1; then
		echo "ok $number - $target: $(awk '/number_of_executed_units/ { print $2 }' "$log") inputs in $seconds s"
	else
		failed=1
		echo "not ok $number - $target"
		tail -n 40 "$log" | sed 's/^/# /'
	fi
done
exit "$failed"
