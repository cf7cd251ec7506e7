#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# 'numaplace lab': runs the lab of the tree this stands in (build/).
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")
if ! [ -x "$root/.venv/bin/python" ]; then
	echo "numaplace lab: there is no $root/.venv/bin/python: run 'make setup' there" >&2
	exit 3
fi
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} exec "$root/.venv/bin/python" -m experiments.lab "$@"
