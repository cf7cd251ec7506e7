#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What a fast and an exact run of demo-2s are compared by: programs that know nothing of the lab, as "NAME NUMBER" lines.
programs=build/lab/programs
for memory in 0 1; do
	echo "chase$memory" "$(numactl -C 2 -m $memory $programs/chase 32 0.004)"
done
for threads in 1 2; do
	echo "triad$threads" "$(numactl -N 0 -m 0 $programs/triad 16 $threads 0.03)"
done
echo "triad-remote" "$(numactl -N 0 -m 1 $programs/triad 16 2 0.03)"
