#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Have the kernel's own kunit.py build and run farswap's KUnit suites, in a kernel that is
# a process on this machine. The last line of its output is the verdict.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$("$here/kernel.sh" --source)
cd "$source"
exec tools/testing/kunit/kunit.py run --kunitconfig=mm/farswap/.kunitconfig \
	--build_dir="${source%/*}/build-kunit" --jobs="$(nproc)" "$@"
