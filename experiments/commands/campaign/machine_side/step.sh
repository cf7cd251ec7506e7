# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# step.sh FOLDER NAME PROGRAM SUITE OPTION..: on a campaign's machine, one suite; a file of the user's is standard input. The
# results stay in FOLDER/NAME, where the same step goes on when it was ended. They go to standard output as an archive, with
# the run's status in the file `status`.
set -u
folder=$1 name=$2 program=$3 suite=$4
shift 4
cd && mkdir -p "$folder" && cd "$folder" && exec 3>&1 >&2 || exit
# Two steps would disturb each other, and one whose connection was lost may still run: the same lock is for all of them.
exec 9>>.lock
flock 9
mkdir -p "$name" || exit
case $suite in
*.toml)
	cat >"$name.toml" || exit
	suite=$PWD/$name.toml
	;;
esac
[ ! -e "$name/results.jsonl" ] || set -- "$@" --resume
if command -v "$program" >/dev/null; then
	# In a session of its own, with SIGTERM when this script ends, in whichever way: who ends it kills its group soon, and the
	# run may need longer to undo what it did. Its output goes to a file, as a run that writes to a lost connection would end.
	setsid setpriv --pdeathsig TERM "$program" experiment run "$suite" --out "$name" "$@" >"$name/run.log" 2>&1 </dev/null 3>&-
else
	echo "$program is not on this machine: its path is the machine's 'program'" >"$name/run.log"
	false
fi
echo $? >"$name/status"
tar -c -C "$name" . >&3
