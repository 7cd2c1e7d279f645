# SPDX-License-Identifier: MIT
# Tests of what all other tests rest on: the runner, the checks of the source, and vtpu-vm.
CHECK_QUICK += tests/tooling/run-tests.sh tests/tooling/include-rule.sh
CHECK_HOST_VM += tests/tooling/vtpu-vm.sh
TIMEOUT_tests/tooling/vtpu-vm.sh := 600
