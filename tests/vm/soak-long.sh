#!/bin/sh
# SPDX-License-Identifier: MIT
# The same for half an hour.
SOAK_SECONDS=${SOAK_SECONDS:-1800} exec tests/vm/soak.sh "$@"
