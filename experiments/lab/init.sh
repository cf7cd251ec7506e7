#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The first program of the lab's machine, in its initramfs: mounts the host's files as the root and starts virtme-ng's init
# there. A machine that is to be restored later waits before, without any of the host's files. What differs from run to
# run is in the file `environment` of the run's folder, which has a mount tag and no known path.
log() {
	echo "<6>numaplace lab: $*" >/dev/kmsg
}

# Once in some hundred starts QEMU 10.0.2 leaves the timer's interrupt of a CPU in service for good: what sleeps there never
# wakes. The clock of /proc/uptime needs no timer.
now() {
	read -r now _ </proc/uptime
	now=${now%.*}
}

check_timers() {
	cpus=$(nproc)
	for cpu in $(seq 0 $((cpus - 1))); do
		(taskset -c "$cpu" usleep 1000 && : >"/has_timer.$cpu") &
	done
	now
	end=$((now + 10))
	for cpu in $(seq 0 $((cpus - 1))); do
		until [ -e "/has_timer.$cpu" ]; do
			now
			[ "$now" -lt "$end" ] || { log "CPU $cpu has no timer" && echo b >/proc/sysrq-trigger; }
		done
	done
}

mount -t proc none /proc
check_timers
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
