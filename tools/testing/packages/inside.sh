#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# inside.sh TREE COMMAND...: runs COMMAND with $root, a copy of the directory TREE whose changes are
# discarded at the end. chroot works there. Needs root.
set -eu

if [ "${space:-}" = "" ]; then
	space=$(mktemp -d)
	export space
	status=0
	# The mounts end with the namespace.
	unshare -m "$0" "$@" || status=$?
	rmdir "$space"
	exit $status
fi
tree=$1
shift
mount -t tmpfs -o size=4g tmpfs "$space"
mkdir "$space/upper" "$space/work" "$space/root"
root=$space/root
mount -t overlay -o "lowerdir=$tree,upperdir=$space/upper,workdir=$space/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind /dev "$root/dev"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
export root
"$@"
