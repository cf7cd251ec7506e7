#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# step.sh FOLDER NAME PROGRAM SUITE OPTION..: on a campaign's machine, one suite. The results stay in FOLDER/NAME, where the
# same step goes on when it was ended; a copy of what is finished comes into the current folder as `result`.
set -u
here=$PWD
folder=$1 name=$2 program=$3 suite=$4
shift 4
case $folder in
/*) ;;
*) folder=$HOME/$folder ;;
esac
mkdir -p "$folder" && cd "$folder" || exit 2
# In the lab nothing of this machine's own nodes matters.
case " $* " in
*" --lab "*) ;;
*)
	if ! said=$("$program" experiment check-machine --out "$name" 2>&1); then
		reason=$(printf '%s\n' "$said" | sed -n 's/^obstacle  *//p' | head -n 1)
		echo "skip: ${reason:-$(printf '%s\n' "$said" | tail -n 1)}" >"$here/verdict"
		exit 0
	fi
	;;
esac
[ ! -e "$name/results.jsonl" ] || set -- "$@" --resume
"$program" experiment run "$suite" --out "$name" "$@"
status=$?
cp -r "$name" "$here/result" || exit
echo "status: $status" >"$here/verdict"
