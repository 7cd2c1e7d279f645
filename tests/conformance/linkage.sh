#!/bin/bash
# SPDX-License-Identifier: MIT
# libvtpu exports what its public headers declare, no more and no less: the map names the same functions, a
# generated program that takes the address of each links against the library alone, the headers compile as C11
# and as C++, and nothing that ends the process or prints is called.
set -uo pipefail

lib=build/lib/libvtpu.so.0
dir=build/tests/linkage
headers=(libvtpu/include/vtpu/*.h)
n=0 bad=0
mkdir -p $dir

# ok NAME COMMAND...: one test; what the command says is shown when it fails
ok()
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >$dir/output 2>&1; then
		echo "ok $n - $name"
	else
		bad=$((bad + 1))
		echo "not ok $n - $name"
		sed 's/^/# /' $dir/output
	fi
}

awk '/^VTPU_API/,/;/' "${headers[@]}" | grep -o '\<vtpu_[a-z0-9_]*(' | tr -d '(' | sort -u >$dir/declared
sed -n 's/^\t\t\(vtpu_[a-z0-9_]*\);/\1/p' libvtpu/libvtpu.map | sort >$dir/map
nm -D --defined-only $lib | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >$dir/exported

program()
{
	local header name
	for header in "${headers[@]}"; do
		echo "#include <vtpu/$(basename "$header")>"
	done
	echo 'int main(void)'
	echo '{'
	echo '	void *volatile address;'
	while read -r name; do
		echo "	address = (void *)$name;"
	done <$dir/declared
	echo '	return address == 0;'
	echo '}'
}
program >$dir/all.c
cp $dir/all.c $dir/all.cc

forbidden()
{
	# Our own objects only; the model inside is held to the same by its own tests.
	! nm -u build/pic/obj/libvtpu/src/*/*.o build/pic/obj/libvtpu/src/*/*/*.o |
		grep -wE 'abort|exit|_exit|quick_exit|printf|puts|putchar|perror|stdout|stderr|signal|sigaction'
}
versioned()
{
	[ -z "$(nm -D --defined-only $lib | awk '$2 != "A" && $3 !~ /@@LIBVTPU_/ { print $3 }')" ]
}
alone()
{
	local header
	for header in "${headers[@]}"; do
		echo "#include <vtpu/$(basename "$header")>" |
			"$@" -Wall -Wextra -Werror -Ilibvtpu/include -fsyntax-only - || return 1
	done
}

echo 'TAP version 13'
ok 'the headers declare functions' [ "$(wc -l <$dir/declared)" -ge 60 ]
ok 'the map lists what the headers declare' diff $dir/declared $dir/map
ok 'the library exports what the headers declare' diff $dir/declared $dir/exported
ok 'every exported symbol has a version' versioned
ok 'a C program that uses all of them links' \
	cc -std=c11 -Wall -Wextra -Werror -Ilibvtpu/include -o $dir/all $dir/all.c $lib -Wl,-rpath,"$PWD/build/lib"
ok 'and runs' $dir/all
ok 'a C++ program that uses all of them links' \
	c++ -Wall -Wextra -Werror -Ilibvtpu/include -o $dir/all++ $dir/all.cc $lib -Wl,-rpath,"$PWD/build/lib"
ok 'each header compiles alone as C11' alone cc -x c -std=c11
ok 'each header compiles alone as C++' alone c++ -x c++
ok 'the library neither prints nor ends the process' forbidden
ok 'soname is libvtpu.so.0' grep -q 'SONAME.*\[libvtpu.so.0\]' <(readelf -d $lib)
echo "1..$n"
[ $bad = 0 ]
