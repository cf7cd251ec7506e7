#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The first program of a machine that runs exactly: everything is in its memory, and no device has a time of the host's.
# The command's output comes when it has ended, as a serial port's interrupts would be part of its run.
say() {
	echo "numaplace lab: $*" >/dev/kmsg
}

# end STATUS: what the host reads, by lines that say how many bytes follow
end() {
	say ends
	{
		for stream in out err counters; do
			echo "$stream $(wc -c <"/$stream")"
			cat "/$stream"
		done
		echo "status $1"
	} >/dev/ttyS1
	poweroff -f
	exit 1
}

/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox --install -s /bin
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mount -t devtmpfs none /dev
mount -t debugfs none /sys/kernel/debug
mount -t cgroup2 none /sys/fs/cgroup
stty -F /dev/ttyS1 raw
touch /out /err /counters
. /settings
echo 0 >/proc/sys/kernel/numa_balancing
echo 0 >/proc/sys/vm/compaction_proactiveness
[ ! -e /numaplace.ko ] || insmod /numaplace.ko || exit
insmod /numaplace_lab.ko "tasks=${lab_tasks:?}" || exit # ends the untimed start: last
cd "${lab_cwd:?}" || exit
say begins
sh /command </dev/null >/out 2>/err
status=$?
cat /sys/kernel/debug/numaplace_lab/counters >/counters
end "$status"
