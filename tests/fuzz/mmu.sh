#!/bin/sh
# SPDX-License-Identifier: MIT
# The translation of addresses against hostile page tables, for a short while.
exec tests/fuzz/run.sh "${FUZZ_SECONDS:-20}" fuzz_mmu
