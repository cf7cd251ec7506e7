# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Shared by check-package, check-installed and image-root, which run in a bare Debian root, by check-image and check-fleet:
# each step says how long it took, and the first failure ends it. Sourced, not run.

export DEBIAN_FRONTEND=noninteractive
NAME=$(basename "$0")
LOG=/var/tmp/$NAME
# shellcheck disable=SC2034
PACKAGES=$HOME/.cache/numaplace/packages # in the cache, which outlives the root

# step WHAT COMMAND..
step() {
	what=$1
	shift
	begin=$(date +%s)
	set +e # the commands of a step in a condition would all but the last be allowed to fail
	(set -ex && "$@") >"$LOG" 2>&1 </dev/null
	status=$?
	set -e
	if [ "$status" -ne 0 ]; then
		tail -n 25 "$LOG" >&2
		echo "$NAME: failed: $what" >&2
		exit 1
	fi
	printf '%s: %4d s  %s\n' "$NAME" $(($(date +%s) - begin)) "$what"
}

install() {
	apt-get -o DPkg::Lock::Timeout=120 install -y "$@"
}

# packages FOLDER: those in it
packages() {
	find "$1" -name '*.deb' ! -name '*dbgsym*'
}

# needed FOLDER: what the packages in it need and recommend, without them
needed() {
	for field in Depends Recommends; do
		packages "$1" | while read -r deb; do
			dpkg-deb -f "$deb" "$field" | tr ',' '\n' | sed 's/^ *//' | grep -vE '^(lib)?numaplace' | grep . || true
		done
	done | sort -u | paste -sd ,
}
