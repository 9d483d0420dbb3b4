#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Have the kernel's own kselftest build, install and run the selftests, or those named:
# with Debian's kernel, to which farswap attaches, and with one that calls it. Prints the results
# that differ at the end; fails if there are any, or if a test failed. First runs the kernel's "make
# run_tests" on this machine, as an unprivileged user: each test must report that it cannot run.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$top/out/kselftest

here_skipped() {
	make -s -C "$source/tools/testing/selftests" TARGETS=farswap all
	unshare --map-user=65534 --map-group=65534 \
		make -s -C "$source/tools/testing/selftests" TARGETS=farswap run_tests |
		tee "$out/run_tests.log" |
		sed -n 's/^ok [0-9]* selftests: farswap: \(.*\.sh\) # SKIP.*/\1/p' | sort
}

source=$("$here/kernel.sh" --source)
kernel=$("$here/kernel.sh")
rm -rf "$out"
mkdir -p "$out/build"
make -s -C "$source/tools/testing/selftests" TARGETS=farswap "O=$out/build" \
	"INSTALL_PATH=$out/installed" install
sed -n 's/^farswap:\(.*\.sh\)$/\1/p' "$out/installed/kselftest-list.txt" | sort >"$out/listed"

failed=0
if ! here_skipped | diff "$out/listed" - >"$out/not_run"; then
	echo "the tests there are (<) and those that make run_tests has run here (>):"
	cat "$out/not_run" "$out/run_tests.log"
	failed=1
fi
for way in attach direct; do
	echo "== $way"
	[ "$way" = attach ] || set -- --client-kernel "$kernel" "$@"
	{
		"$top/tools/testing/qemu/run-selftests.py" --kselftest "$out/installed" \
			--results "$out/$way.said" "$@" || echo failed >"$out/failed"
	} | tee "$out/$way.log"
	sort "$out/$way.said" >"$out/$way"
done
[ ! -e "$out/failed" ] || failed=1
# Some tests or results are for one hook mode only, and the other skips them.
cut -d' ' -f1 "$out/attach" | sort -u >"$out/both"
grep -h ' # SKIP' "$out/attach" "$out/direct" | cut -d' ' -f1-3 | sed 's/$/ /' >"$out/skipped"
for way in attach direct; do
	grep -wFf "$out/both" "$out/$way" | grep -vFf "$out/skipped" >"$out/$way.both" || :
done
if ! diff "$out/attach.both" "$out/direct.both" >"$out/differences"; then
	echo "other results, attached (<) and called (>):"
	cat "$out/differences"
	failed=1
fi
exit $failed
