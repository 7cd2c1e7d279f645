# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034  # who sources it uses out and dir
# What the demos share: where their images and results are, titles, times. Sourced, never run.

out=build/demo
dir=$(realpath "${DATASET:-$(build/tests/reference/train_mlp -w)}")

title()
{
	# Escape sequences are for terminals.
	if [ -t 1 ]; then
		printf '\n\033[1m%s\033[0m\n' "$*"
	else
		printf '\n%s\n' "$*"
	fi
}

# seconds BEGIN: since then, of date +%s%N
seconds()
{
	printf '%d.%d s' $((($(date +%s%N) - $1) / 1000000000)) $((($(date +%s%N) - $1) / 100000000 % 10))
}
