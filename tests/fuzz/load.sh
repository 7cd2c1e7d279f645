#!/bin/sh
# SPDX-License-Identifier: MIT
# The loader against hostile images, for a short while, starting from valid ones.
corpus=${XDG_CACHE_HOME:-$HOME/.cache}/vtpu/fuzz/fuzz_load
mkdir -p "${corpus%/*}" && build/tests/fuzz/fuzz_load -seeds="$corpus" || exit 1
exec tests/fuzz/run.sh "${FUZZ_SECONDS:-20}" fuzz_load
