#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The first program of the lab's machine, in its initramfs: mounts the host's files as the root and starts virtme-ng's init
# there. A machine that is to be restored later waits before, without any of the host's files. What differs from run to
# run is in the file `environment` of the run's folder, which has a mount tag and no known path.
log() {
	echo "<6>numaplace lab: $*" >/dev/kmsg
}

mount -t proc none /proc
. /modules/load_all.sh
for driver in /drivers/*; do
	[ ! -e "$driver" ] || insmod "$driver"
done

if [ -n "$numaplace_lab_waits" ]; then
	# Again and again: a message of the kernel's may come in the middle of it.
	# shellcheck disable=SC3045 # busybox has -t
	until echo "numaplace lab: waits" && read -r -t 1 _; do :; done
fi
unset numaplace_lab_waits

log 'mounting the host'
mkdir /run
mount -n -t 9p -o ro,version=9p2000.L,trans=virtio virtme.initmount1 /run || exit
. /run/environment
[ ! -e /run/now ] || busybox date -s "@$(cat /run/now)" >/dev/null # which is not that of the snapshot
umount /run

# The guest keeps what it has read of the root, which it cannot write: without, each read asks the host, and each answer
# wakes a CPU of the guest.
mount -n -t 9p -o ro,version=9p2000.L,trans=virtio,access=any,cache=loose,msize=524288 /dev/root /newroot || exit
umount /proc
exec switch_root /newroot "${lab_init:?}"
