# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# What a report of the kernel's checkers looks like in its log, for grep -E. Sourced.
reports='KASAN: |UBSAN: |WARNING: |BUG: |kernel BUG at|Oops|general protection|ODEBUG: |refcount_t: '
reports="$reports|DMA-API: [^ ]+ [^ ]+: |(list_add|list_del) corruption|detected buffer overflow|usercopy: "
reports="$reports|INFO: (trying|possible|inconsistent|suspicious|task )|unreferenced object|Memory manager not clean"
reports="$reports|kobject.*(tried to init|not initialized)"
# lockdep gives up, and would see nothing more
reports="$reports|turning off the locking correctness validator"
