#!/bin/sh
# SPDX-License-Identifier: MIT
# vtpu-asm as a person uses it: files, standard input, words and exit codes.
asm=build/bin/vtpu-asm
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
count=0
failed=0

# result STATUS NAME: the next test's line
result() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		sed 's/^/# /' "$dir/out"
		failed=1
	fi
}

# expect CODE WORDS NAME COMMAND...: the command exits with CODE and says WORDS
expect() {
	code=$1 words=$2 name=$3
	shift 3
	"$@" >"$dir/out" 2>&1 </dev/null
	[ $? -eq "$code" ] && grep -qF -- "$words" "$dir/out"
	result $? "$name"
}

for text in tests/programs/*.vtpu; do
	name=$(basename "$text" .vtpu)
	$asm "$text" -o "$dir/1.img" >"$dir/out" 2>&1 && $asm -d "$dir/1.img" -o "$dir/2.vtpu" >>"$dir/out" 2>&1 &&
		$asm "$dir/2.vtpu" -o - 2>>"$dir/out" | cmp - "$dir/1.img" >>"$dir/out" 2>&1
	result $? "$name: file, image, text, image are the same"
done

expect 0 "good: " "--check of a good program prints its time" $asm --check tests/programs/hello.vtpu
expect 0 "on 2 cores of a custom" "--device chooses the model" \
	$asm --check --device model:custom,cores=2 tests/programs/hello.vtpu
expect 1 "waits for semaphore 1 to reach 1, which stays at 0" "a deadlock is explained" $asm -c tests/programs/deadlock.vtpu
expect 1 "would take semaphore 0 to 2147516415" "an overflow is explained" $asm -c tests/programs/overflow.vtpu
expect 1 "bytes 0x1000000 to 0x13fffff of VMEM" "a tile that does not fit is explained" \
	$asm -c tests/programs/vmem_overflow.vtpu
expect 0 "race: mxu instruction 0 (matmul, op 'product')" "a race is a warning" $asm -c tests/programs/race.vtpu
expect 1 "race: mxu instruction 0 (matmul, op 'product')" "a race is a fault with --strict" \
	$asm -c -s tests/programs/race.vtpu
expect 1 "expected 'program width=N' first" "an empty text is refused" $asm -
expect 1 "text.vtpu:2:1: unknown instruction or statement 'cpoy'" "a mistake has its line and column" \
	sh -c "printf 'program width=1\ncpoy src=x\n' >$dir/text.vtpu; $asm $dir/text.vtpu"
head -c 200 "$dir/1.img" >"$dir/short.img"
expect 1 "the file is truncated" "a truncated image is refused" $asm -d "$dir/short.img"
{ head -c 300 "$dir/1.img"; printf 'X'; tail -c +302 "$dir/1.img"; } >"$dir/bad.img"
expect 1 "the image was changed or damaged" "a damaged image is refused" $asm -c "$dir/bad.img"
expect 3 "cannot read" "a missing file" $asm "$dir/none"
expect 3 "cannot write" "a file that cannot be written" $asm tests/programs/hello.vtpu -o "$dir/none/x"
expect 3 "cannot open" "a device that is not there" $asm -c --device nix tests/programs/hello.vtpu
expect 2 "which FILE?" "no file is wrong usage" $asm
expect 2 "leave out -o and -d" "--check writes no file" $asm -c -o "$dir/x" tests/programs/hello.vtpu
echo "1..$count"
exit "$failed"
