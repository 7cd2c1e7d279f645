# SPDX-License-Identifier: MIT
# The same bits from every executor, instruction set and number of threads.
$(eval $(call test,tests/bits/bits,tests/bits/bits.c tests/bits/programs.c tests/bits/programs_conv.c tests/bits/programs_train.c tests/unit/avx512_portable.c,libmodel.a -lxxhash))
