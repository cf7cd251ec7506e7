# SPDX-License-Identifier: GPL-2.0-only
# What `numaplace trace migrations` prints of two moves.
build/np-mem chase --size 16M --mem 0 --pages small >/dev/null < <(sleep 1000) &
pid=$!
until [ "$(numastat -p $pid 2>/dev/null | awk '/^Total/ { print int($2 + $3) }')" -ge 16 ]; do sleep 0.2; done
PATH=$PWD/build:$PATH
numaplace trace migrations >/tmp/traced &
tracer=$!
until grep -q TIME /tmp/traced; do sleep 0.2; done
job() { numaplace migrate $pid --from "$1" --to "$2" >/dev/null; }
job 0 1
job 1 0
until [ "$(grep -c ends: /tmp/traced)" -ge 2 ]; do sleep 0.2; done
kill -INT $tracer
wait $tracer
kill $pid
cat /tmp/traced
