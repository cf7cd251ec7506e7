#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The lab's program in the machine, run by busybox, whose own tools start much sooner than the host's. $lab_run, a folder of
# the host, holds `settings` and `command`; `step` and `status` say there how far it came. What this script itself says
# goes to the console. The command has an input where `settings` has lab_input.
run=${lab_run:?}
group=/sys/fs/cgroup/numaplace-lab
unset lab_run lab_guest lab_init
exec </dev/null

step() {
	echo "$1" >"$run/step"
}

# port NAME: the device that leads to the host; udev, which would name it, need not be there
port() {
	for device in /sys/class/virtio-ports/*; do
		read -r name <"$device/name"
		[ "$name" != "numaplace.$1" ] || echo "/dev/${device##*/}"
	done
}

# A port takes one writer at a time and no second opening: programs get a pipe.
connect() {
	device=$(port "$1")
	[ -n "$device" ] || { echo "the channel '$1' to the host is missing" && return 1; }
	cat "/run/$1" >"$device" &
}

# feed: the host's input into a pipe. An end before the first line, which is empty, is that of a channel that is not open
# yet.
feed() {
	device=$(port in)
	[ -n "$device" ] || { echo "the channel 'in' to the host is missing" && return 1; }
	mkfifo /run/in || return
	(
		until read -r _; do :; done
		exec cat
	) <"$device" >/run/in &
	feeder=$!
	input=/run/in
}

step machine
. "$run/settings"
[ ! -d /sys/kernel/debug ] || grep -q ' /sys/kernel/debug ' /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug || exit
[ ! -e /proc/sys/kernel/numa_balancing ] || echo 0 >/proc/sys/kernel/numa_balancing || exit
# Compaction in the background moves pages too, and keeps an emulated CPU busy for seconds.
[ ! -e /proc/sys/vm/compaction_proactiveness ] || echo 0 >/proc/sys/vm/compaction_proactiveness || exit
mkfifo /run/out /run/err
connect out && connect err || exit
input=/dev/null
[ -z "$lab_input" ] || feed || exit
unset lab_input
ln -s "$(port size)" /run/size

if [ -n "$NUMAPLACE_KO" ]; then
	step module
	insmod "$NUMAPLACE_KO" || exit
fi

if [ -n "$NUMAPLACE_LAB_KO" ]; then
	step simulation
	insmod "$NUMAPLACE_LAB_KO" "tasks=${NUMAPLACE_LAB_TASKS:-0}" || exit # ends the untimed start: last
fi

mkdir "$group" || exit
step command
exec 2>/dev/null # where this shell reports the signal that ends a command
(exec /bin/sh -c 'echo $$ >"$1/cgroup.procs"; exec sh "$2"' sh "$group" "$run/command" <"$input" >/run/out 2>/run/err)
echo $? >"$run/status"
[ -z "$feeder" ] || kill "$feeder" # where the host's input has not ended
echo 1 >"$group/cgroup.kill" # what the command left behind may hold the pipes open
wait
