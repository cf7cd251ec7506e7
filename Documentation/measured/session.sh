# SPDX-License-Identifier: GPL-2.0-only
# The session that README.md begins with. A program runs on node 1 with its memory on node 0.
cd "$(mktemp -d)"
cat > busy.py <<'END'
keep = bytearray(b"1") * (64 << 20)
open("ready", "w").close()
while True:
    sum(keep[::4096])
END
numactl --cpunodebind=1 --membind=0 /usr/bin/python3 busy.py &
pid=$!
until [ -e ready ]; do sleep 0.1; done
PATH=$OLDPWD/build:$PATH
say() { echo "# $*"; "$@"; }
say numaplace ps $pid
say numaplace migrate $pid --to 1
say numaplace ps $pid
say numaplace place $pid --cpus 2
say numaplace restore --all
kill $pid
