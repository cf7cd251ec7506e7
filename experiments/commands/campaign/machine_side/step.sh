#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# step.sh FOLDER NAME PROGRAM SUITE OPTION..: on a campaign's machine, one suite. The results stay in FOLDER/NAME, where the
# same step goes on when it was ended. A copy of what there is comes into the current folder as `result`, and into the file
# `verdict` one line: done, skipped or failed, the seconds, and why.
set -u
here=$PWD
folder=$1 name=$2 program=$3 suite=$4
shift 4
cd && mkdir -p "$folder" && cd "$folder" || exit
# Two steps would disturb each other, and one whose connection was lost may still run: the same lock is for all of them.
exec 9>>.lock
flock 9
begin=$(date +%s)

# verdict WORD WHY
verdict() {
	[ ! -e "$name" ] || cp -R "$name" "$here/result" || exit
	printf '%s %s %s\n' "$1" $(($(date +%s) - begin)) "$2" >"$here/verdict"
	exit 0
}

case $suite in
*.toml)
	cp "$here/$suite" "$name.toml" || exit
	suite=$PWD/$name.toml
	;;
esac
command -v "$program" >/dev/null || verdict failed "$program is not on this machine: its path is the machine's 'program'"
[ ! -e "$name/results.jsonl" ] || set -- "$@" --resume
# In a session of its own, with SIGTERM when this script ends, in whichever way: who ends it kills its group soon, and the run
# may need longer to undo what it did. Its output goes to a file, as a run that writes to a lost connection would end.
setsid setpriv --pdeathsig TERM "$program" experiment run "$suite" --out "$name" "$@" >"$name.log" 2>&1 </dev/null
status=$?
case $status in
0) verdict "done" "" ;;
3) verdict skipped "$(tail -n 1 "$name.log")" ;;
*) verdict failed "status $status: $(tail -n 1 "$name.log")" ;;
esac
