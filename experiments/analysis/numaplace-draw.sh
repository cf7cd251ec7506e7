#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# numaplace-draw FILE: the picture of what `numaplace predict --json` printed, read from standard input.
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")
if ! [ -x "$root/.venv/bin/python" ]; then
	echo "numaplace-draw: there is no $root/.venv/bin/python: run 'make setup' there" >&2
	exit 3
fi
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} exec "$root/.venv/bin/python" -m experiments.analysis.prediction_plot "$@"
