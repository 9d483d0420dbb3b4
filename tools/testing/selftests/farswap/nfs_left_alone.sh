#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A swap file that its file system writes (NFS, from this machine's own server) is not served, and
# the log says so; it works as without farswap.
# cluster: donors=2 mem=384 disks=1 nfs=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

EXPORT=/run/nfs-export
MOUNT=/run/nfs-mount
RPC=/proc/net/rpc

# The server's own pages must not go to the swap file that it serves. These are the answers of
# mountd: the client, the export (number 0, without root squash), and the directory of that number.
nfs_serve() {
	modprobe nfsd && modprobe nfsv4 || return 1
	mount_if_missing /proc/fs/nfsd nfsd
	mkdir -p "$EXPORT" "$MOUNT" && mount -t tmpfs -o size=32m,noswap none "$EXPORT" || return 1
	echo "-3 +4" >/proc/fs/nfsd/versions
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo "nfsd 127.0.0.1 2147483647 here" >"$RPC/auth.unix.ip/channel" &&
		echo "here $EXPORT 2147483647 9234 0 0 0" >"$RPC/nfsd.export/channel" &&
		printf 'here 1 \\x00000000 2147483647 %s\n' "$EXPORT" >"$RPC/nfsd.fh/channel" &&
		echo "tcp 2049" >/proc/fs/nfsd/portlist && echo 2 >/proc/fs/nfsd/threads
}

nfs_mount() {
	mount -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2,sec=sys \
		127.0.0.1:/ "$MOUNT"
}

# Remount, so that the client queries the number of blocks of the file, which swapon does not do.
nfs_file() {
	nfs_mount && dd if=/dev/zero of="$MOUNT/swap" bs=1M count=24 2>&1 &&
		umount "$MOUNT" && nfs_mount
}

nfs_swap() {
	mkswap "$MOUNT/swap" && "$HERE/swapon_at" 10 "$MOUNT/swap"
}

pages_out() {
	awk '/^pswpout / { print $2 }' /proc/vmstat
}

nfs_end() {
	swapoff "$MOUNT/swap" && umount "$MOUNT" && echo 0 >/proc/fs/nfsd/threads &&
		umount /proc/fs/nfsd "$EXPORT"
}

test_begin 9
farswap_up 2
ip link set lo up
check "an NFS server runs" nfs_serve || skip_rest "no NFS server in this kernel"
# The server answers only after its grace period.
check "a file on it can be made" nfs_file
make_cgroup nfs 8M
log_mark
before=$(pages_out)
check "swapon succeeds" nfs_swap
check "the log says that it is not served" log_has farswap NFS "left alone"
check --data "memory contents are right" in_cgroup nfs "$LOAD" -m 16 -p 2 -n 1000
check "its pages went out there" [ "$(pages_out)" -gt $((before + 1000)) ]
check "none of its pages went to donors" same store_remote load_remote store_device
check "swapoff and the server's end succeed" nfs_end
check --data "no page is lost" same load_lost
test_end
