#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# 'numaplace calibrate-machine': runs the tree this stands in (build/).
set -eu
root=$(dirname "$(dirname "$(readlink -f "$0")")")
# The system's Python will do; inside a lab machine it starts faster.
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} exec python3 -m experiments.calibrate "$@"
