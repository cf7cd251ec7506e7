# SPDX-License-Identifier: GPL-2.0-only
# The metrics of a daemon that has brought two programs to their memory.
for node in 0 1; do
	numactl --cpunodebind=$((1 - node)) --membind=$node build/np-mem triad --size 8M < <(echo run 1000) >/dev/null &
	pids="$pids $!"
done
# shellcheck disable=SC2086
build/numaplace daemon --policy maximum-local --override --metrics /tmp/metrics.prom $pids >/dev/null &
daemon=$!
until grep -qs '^numaplace_daemon_placed_tasks 2' /tmp/metrics.prom; do sleep 0.2; done
cat /tmp/metrics.prom
kill $daemon
wait $daemon
# shellcheck disable=SC2086
kill $pids
