# SPDX-License-Identifier: GPL-2.0-only
# The table that a run ends with: `demo`, or `run SUITE` of its quick levels under six placements, three boots. A run that was
# ended goes on.
set -o pipefail

placements=none,maximum-local:pages=follow,n-mass:pages=stay,measured:pages=move,interleave,weighted
case $1 in
demo) words=(demo) ;;
run)
	out=results/measured/$2
	words=(run "$2" --quick --repeats 3 --lab --placements "$placements" --out "$out")
	[ -e "$out/results.jsonl" ] && words+=(--resume)
	;;
esac
build/numaplace experiment "${words[@]}" | sed -n '/^ *$/,$p' | sed "s|$PWD|/home/you/numaplace|"
