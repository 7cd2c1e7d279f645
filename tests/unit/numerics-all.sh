#!/bin/sh
# SPDX-License-Identifier: MIT
# The errors of exp, log and their kin over all floats: about 10 minutes of CPU time.
exec nice build/tests/unit/test_numerics all
