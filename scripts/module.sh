#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the driver in build/module, a folder of links to kernel/ and uapi/, because kbuild puts its objects
# beside the sources. Words after the folder of kernel headers go to kbuild's make.
#
# usage: module.sh HEADERS [W=1 C=2 ...]
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
cd "$TOP"

headers=$1
shift
mkdir -p build/module
find build/module -maxdepth 1 -type l -delete
ln -s "$TOP"/kernel/*.[ch] "$TOP/kernel/Kbuild" "$TOP/uapi" build/module/
if [ -e kernel/compat-probe.sh ]; then
	kernel/compat-probe.sh "$headers" >build/module/.compat
	put build/module/vtpu_compat_gen.h <build/module/.compat
fi

# Messages name the file that a person edits.
make -s -C "$headers" M="$TOP/build/module" "$@" modules 2>&1 | sed "s|$TOP/build/module/uapi/|uapi/|; s|$TOP/build/module/|kernel/|"
