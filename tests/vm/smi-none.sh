#!/bin/sh
# SPDX-License-Identifier: MIT
# vtpu-smi in a machine that has no vTPU at all.
echo 'TAP version 13'
echo '1..2'
text=$(tools/vtpu-vm --no-device --no-module --timeout 120 vtpu-smi 2>&1)
code=$?
[ $code = 6 ] || echo "# exit code $code"
[ $code = 6 ] && echo 'ok 1 - exit code 6' || echo 'not ok 1 - exit code 6'
if echo "$text" | grep -qi 'no vtpu'; then
	echo 'ok 2 - the sentence says that there is no device'
else
	echo "# $text"
	echo 'not ok 2 - the sentence says that there is no device'
fi
