#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/vm/classify.sh with all ways of running it in a VM.
exec tests/vm/classify.sh all
