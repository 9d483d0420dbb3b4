#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Have the kernel's own kselftest build, install and run the selftests, or those named:
# with Debian's kernel, to which farswap attaches itself, and with one that calls it. Ends
# with the tests that gave other results there; fails if there are any, or one failed.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$top/out/kselftest

results() {
	sed -nE 's/^(ok|FAIL|skip) +([^ ]*\.sh) \([^)]*\): (.*)/\2 \3/p' "$1" | sort
}

source=$("$here/kernel.sh" --source)
kernel=$("$here/kernel.sh")
rm -rf "$out"
mkdir -p "$out/build"
make -s -C "$source/tools/testing/selftests" TARGETS=farswap "O=$out/build" \
	"INSTALL_PATH=$out/installed" install

failed=0
for way in attach direct; do
	echo "== $way"
	[ "$way" = attach ] || set -- --client-kernel "$kernel" "$@"
	{
		"$top/tools/testing/qemu/run-selftests.py" --kselftest "$out/installed" "$@" ||
			echo failed >"$out/failed"
	} | tee "$out/$way.log"
	results "$out/$way.log" >"$out/$way"
done
[ ! -e "$out/failed" ] || failed=1
# Some are for one way only.
cut -d' ' -f1 "$out/attach" | sort >"$out/both"
if ! grep -wFf "$out/both" "$out/direct" | diff "$out/attach" - >"$out/differences"; then
	echo "other results, attached (<) and called (>):"
	cat "$out/differences"
	failed=1
fi
exit $failed
