# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Shared by the scripts of this folder: where things are kept, and how they speak. Sourced, not run.

TOP=$(cd "$(dirname "$0")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:?HOME is not set, so there is no place for downloads: set XDG_CACHE_HOME}/.cache}/numaplace
LOG=$CACHE/setup.log
# shellcheck disable=SC2034
DEMO_SERIES=6.12 # the kernel that make demo boots, as in experiments/lab/kernels.py
PATH=$PATH:/usr/sbin:/sbin # a user's own may lack them: chroot, depmod

# set_up_of SERIES: the target that fetches its kernel
set_up_of() {
	if [ "$1" = "$DEMO_SERIES" ]; then
		echo setup
	else
		echo setup-check
	fi
}

say() {
	printf 'setup: %s\n' "$*"
}

# die STATUS MESSAGE: 1 it failed, 3 this machine cannot do that
die() {
	status=$1
	shift
	printf 'setup: %s\n' "$*" >&2
	exit "$status"
}

# The most likely cause that a log gives, with what to do about it.
cause() {
	if grep -q 'No space left on device' "$1"; then
		echo "the disk is full ($(df -h --output=avail,target "$CACHE" | tail -n 1 | xargs) left): free some space and run this again"
	elif grep -q 'CERTIFICATE_VERIFY_FAILED' "$1"; then
		echo "the package index shows a certificate that is not trusted here: point PIP_CERT to the right authority's file"
	elif grep -qE 'resolv|[Cc]onnect|unreachable|timed out|NewConnectionError' "$1"; then
		echo "no network or the package source is down: run this again when it is reachable"
	else
		{ grep -E '^(E|ERROR|error|dpkg|tar)[: ]' "$1" || tail -n 1 "$1"; } | tail -n 1 | cut -c 1-200
	fi
}

need_cache() {
	if mkdir -p "$CACHE" 2>/dev/null && [ -w "$CACHE" ]; then
		return 0
	fi
	die 1 "cannot write to $CACHE, where downloads are kept:" \
		"set XDG_CACHE_HOME to a folder of your own"
}

# attempt WHAT COMMAND..: runs it silently; where it fails, one line says what, why and where the log is.
attempt() {
	what=$1
	shift
	need_cache
	"$@" >"$LOG" 2>&1 </dev/null || die 1 "cannot $what: $(cause "$LOG") (log: $LOG)"
}

# download FOLDER [OPTION..] PACKAGE..: into FOLDER, as the apt.conf in $apt says
download() {
	mkdir -p "$1"
	(cd "$1" && shift && apt-get -c "${apt:?}/apt.conf" download "$@")
}

# unpack FOLDER-OF-DEBS ROOT
unpack() {
	mkdir -p "$2"
	for deb in "$1"/*.deb; do
		dpkg -x "$deb" "$2" || return 1
	done
}

host_version() {
	(. /etc/os-release && echo "${VERSION_ID:-99}")
}

# kernel_series: "series debian suite" of each line of KERNELS, as this machine takes it
kernel_series() {
	awk -v host="$(host_version)" '
	/^[0-9]/ {
		n = split($2, suites, ",")
		for (i = 1; i <= n; i++) {
			split(suites[i], part, ":")
			if (part[1] <= host + 0)
				break
		}
		print $1, part[1], part[2]
	}' "$TOP/KERNELS"
}

# kernel_root SERIES: the root to build in, or nothing where this machine's own programs will do
kernel_root() {
	kernel_series | while read -r series debian suite; do
		[ "$series" = "$1" ] || continue
		[ "$debian" -le "$(host_version)" ] || echo "$CACHE/roots/${suite%-backports}"
	done
}
