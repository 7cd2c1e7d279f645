#!/bin/sh
# SPDX-License-Identifier: MIT
# The bare chip against a hostile driver, for a short while.
exec tests/fuzz/run.sh "${FUZZ_SECONDS:-20}" fuzz_chip
