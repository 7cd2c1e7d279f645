#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the driver in build/module (or in $MODULE_DIR), a folder of links to kernel/ and uapi/, because kbuild
# puts its objects beside the sources. Words after the folder of kernel headers go to kbuild's make.
#
# usage: module.sh HEADERS [W=1 C=2 ...]
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
cd "$TOP"

headers=$1 dir=${MODULE_DIR:-build/module}
shift
mkdir -p "$dir"
find "$dir" -maxdepth 1 -type l -delete
ln -s "$TOP"/kernel/*.[ch] "$TOP/kernel/Kbuild" "$TOP/uapi" "$dir/"
if [ -e kernel/compat-probe.sh ]; then
	kernel/compat-probe.sh "$headers" >"$dir/.compat"
	put "$dir/vtpu_compat_gen.h" <"$dir/.compat"
fi

# Messages name the file that a person edits.
make -s -C "$headers" M="$TOP/$dir" "$@" modules 2>&1 | sed "s|$TOP/$dir/uapi/|uapi/|; s|$TOP/$dir/|kernel/|"
