#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A Python program of pyproject.toml, for the tree in whose build/ this stands or for an installation.
set -eu
top=$(dirname "$(dirname "$(readlink -f "$0")")")
code=$top/lib/numaplace/python
[ -d "$code" ] || code=$top
python=$top/.venv/bin/python
[ -x "$python" ] || python=/usr/bin/python3
# -P: a folder `experiments` of the user's is not taken for this one.
PYTHONPATH=$code${PYTHONPATH:+:$PYTHONPATH} exec "$python" -P -m experiments.start @ENTRY@ "$@"
