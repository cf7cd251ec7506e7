#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# running.sh OUT: in the lab, a program that runs on node 0 with its memory on node 1, and numaplace worth of it.
set -eu
port=8099
echo 0 >/proc/sys/kernel/numa_balancing  # which would move the memory before worth switches it off
taskset -c 2 python3 experiments/commands/worth/tests/scanner.py $port >"$1.said" &
pid=$!
until [ -s "$1.said" ]; do kill -0 "$pid" && sleep 0.01; done
taskset -acp 0 "$pid" >&2
build/numaplace worth --measure 12 --out "$1" --window 200ms --settle 20ms \
	--placements maximum-local:pages=follow,interleave --url "http://127.0.0.1:$port/" --metric 'scans ([0-9]+)' "$pid"
kill -0 "$pid"
kill "$pid"
