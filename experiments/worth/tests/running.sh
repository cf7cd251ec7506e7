#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# running.sh OUT: in the lab, a program that runs on node 0 with its memory on node 1, and numaplace worth of it.
set -eu
taskset -c 2 build/np-mem chase --size 24M --seconds 86400 --cpus 0-3 >"$1.said" &
pid=$!
until [ -s "$1.said" ]; do kill -0 "$pid" && sleep 0.01; done
taskset -acp 0 "$pid" >&2
build/numaplace worth --measure --out "$1" --window 50ms --settle 20ms --precision 20 --placements maximum-local:pages=follow,interleave "$pid"
kill -0 "$pid"
kill "$pid"
