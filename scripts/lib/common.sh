# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the build scripts share: messages, the cache folder, locks. Sourced, never run.

# shellcheck disable=SC2034  # for those who source this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/vtpu

# One line of progress, in the shape of make's own lines.
note() { printf '  %-7s %s\n' "$1" "$2"; }

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# quietly LOG CMD...: keep the output in LOG, show its end only when the command fails.
quietly()
{
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	if [ "${V:-}" = 1 ]; then
		"$@" 2>&1 | tee "$log"
		return "${PIPESTATUS[0]}"
	fi
	"$@" >"$log" 2>&1 && return 0
	local rc=$?
	tail -n 30 "$log" >&2
	echo "${0##*/}: failed: $* (whole output: $log)" >&2
	return $rc
}

# with_lock NAME CMD...: one at a time over all checkouts that share the cache.
with_lock()
{
	local name=$1
	shift
	mkdir -p "$CACHE/lock"
	(
		flock -n 9 || { note WAIT "another build holds $name" && flock 9; }
		"$@"
	) 9>"$CACHE/lock/$name"
}

# Short content key of standard input.
key() { sha256sum | cut -c1-12; }

# put FILE: write standard input to FILE, but leave an equal FILE (and its time) alone.
put()
{
	local tmp
	mkdir -p "$(dirname "$1")"
	tmp=$(mktemp "$1.XXXXXX") && cat >"$tmp"
	if cmp -s "$tmp" "$1"; then
		rm -f "$tmp"
	else
		chmod 644 "$tmp" && mv "$tmp" "$1"
	fi
}
