#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# prepare-guest.sh ROOT KERNEL: in a machine of the lab, as the machine that check-prepare prepares: the Debian root ROOT with
# the files of a kernel of the lab. What is written stays in memory. sshd speaks on the standard input and output.
set -eu
root=$1
kernel=$2
machine=/run/machine
written=/run/written

# over PLACE LOWER: a folder that can be written, over one that cannot
over() {
	at=$written/$(echo "$1" | tr / _)
	mkdir -p "$at/upper" "$at/work" "$machine$1"
	mount -t overlay "over$1" -o "lowerdir=$2,upperdir=$at/upper,workdir=$at/work" "$machine$1"
}

mkdir -p "$written"
mount -t tmpfs -o size=80% tmpfs "$written"
over / "$root"
over /usr/lib/modules "$kernel/lib/modules"
over /usr/src "$kernel/usr/src:$root/usr/src"
for folder in "$kernel"/usr/lib/linux-kbuild-*; do
	over "/usr/lib/${folder##*/}" "$folder"
done
# They lead from /lib, which is a link here.
for link in "$machine"/usr/lib/modules/*/build "$machine"/usr/lib/modules/*/source; do
	to=$(readlink "$link")
	ln -sfn "/usr/src/${to##*/}" "$link"
done
for folder in /dev /sys /proc; do
	mount --rbind "$folder" "$machine$folder"
done
mount -t tmpfs tmpfs "$machine/tmp"
mount -t tmpfs tmpfs "$machine/run"
mkdir "$machine/run/sshd"
echo 1 >/proc/sys/kernel/numa_balancing # as a machine has it that nobody has prepared
exec chroot "$machine" /usr/sbin/sshd -i -o UsePAM=no
