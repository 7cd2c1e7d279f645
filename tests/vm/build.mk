# SPDX-License-Identifier: MIT
# Tests that boot virtual machines.
CHECK_HOST_VM += tests/vm/classify.sh
CHECK_LONG += tests/vm/classify-all.sh
CHECK_DEPS += build/demo/weights.bin build/tests/reference/check_mlp
TIMEOUT_tests/vm/classify.sh := 600
TIMEOUT_tests/vm/classify-all.sh := 1800

CHECK_HOST_VM += tests/vm/smi-none.sh
CHECK_VM += tests/vm/smi.sh

CHECK_HOST_VM += tests/vm/train.sh
CHECK_LONG += tests/vm/train-all.sh
CHECK_DEPS += build/bin/mnist build/tests/reference/train_mlp
TIMEOUT_tests/vm/train.sh := 600
TIMEOUT_tests/vm/train-all.sh := 3600
