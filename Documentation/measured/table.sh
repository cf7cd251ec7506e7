# SPDX-License-Identifier: GPL-2.0-only
# The table that a run ends with: `demo`, or `run SUITE [WORKLOADS [MACHINE]]` of its quick levels under six placements, each cell
# in three boots; np-llm, np-buffers and np-postgres have placements of their own. WORKLOADS are some of the suite's, and MACHINE a smaller
# one than its own, where these take hours. A run that was ended goes on; one that is whole is made again where the code that
# makes observations has changed since.
set -o pipefail

placements=none,maximum-local:pages=follow,n-mass:pages=stay,measured:pages=move,interleave,weighted
runner=experiments/runner
uses=($runner/observe.py $runner/observe_static.py $runner/pilot.py $runner/active_mechanism.py $runner/locality.py $runner/workloads
	$runner/kinds $runner/suite $runner/calibration.py experiments/host/topology.py experiments/host/distance.py
	experiments/workloads experiments/lab policies userspace/lib kmod ':(exclude)*/tests/*')
case $1 in
demo) out=results/demo words=(demo) ;;
run) out=results/measured/$2 words=(run "$2" --quick --repeats 3 --lab ${4:+"$4"} ${3:+--workloads "$3"} --out "$out") ;;
esac
case $1$2 in runnp-*) ;; run*) words+=(--placements "$placements") ;; esac

# Of the run in $out, where its tree had no changes.
commit() {
	.venv/bin/python -c '
import json, sys
tool = json.load(open(sys.argv[1]))["tool"]
print("" if tool["changed_since"] else tool["commit"])' "$out/manifest.json" 2>/dev/null
}

# Whether the code of the run in $out is that of the tree.
same() {
	[ -n "$(commit)" ] && git diff --quiet "$(commit)" -- "${uses[@]}"
}

if same; then
	[ "$1" = run ] && words+=(--resume)
elif [ "$1" = run ]; then
	words+=(--force)
fi
if ! same || ! [ -e "$out/whole" ]; then
	build/numaplace experiment "${words[@]}" >&2 || exit 2
	touch "$out/whole"
fi
.venv/bin/python -c '
import sys
from experiments.analysis.pages import placement_table
from experiments.analysis.runs.results import read_results
placement_table.show_run(read_results(sys.argv[1]))' "$out" | sed -n '/^ *$/,$p'
echo "observations by commit $(commit | cut -c1-12)"
