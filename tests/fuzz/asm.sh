#!/bin/sh
# SPDX-License-Identifier: MIT
# Hostile text for the assembler and hostile images for its reader, for a short while, from the programs
# of the tests on.
seeds=${XDG_CACHE_HOME:-$HOME/.cache}/vtpu/fuzz/fuzz_asm
mkdir -p "$seeds"
for text in tests/programs/hello.vtpu tests/programs/race.vtpu tests/programs/deadlock.vtpu; do
	name=$(basename "$text" .vtpu)
	cp "$text" "$seeds/$name" && build/bin/vtpu-asm "$text" -o "$seeds/$name.img" || exit 1
done
exec tests/fuzz/run.sh "${FUZZ_SECONDS:-10}" fuzz_asm
