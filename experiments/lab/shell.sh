#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shell.sh SHELL: in the machine, a shell on a terminal that has the size of the user's. /run/size says the sizes.
terminal=$(tty) || exit
exec 3</run/size
until read -r rows columns <&3; do :; done # an end: the channel is not open yet
stty rows "$rows" columns "$columns"
# It must not hold the terminal, which ends with the shell.
while read -r rows columns; do
	stty -F "$terminal" rows "$rows" columns "$columns"
done <&3 >/dev/null 2>&1 &
exec 3<&-
[ -x "$1" ] || set -- /bin/sh
exec "$1"
