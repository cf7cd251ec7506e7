#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sends a redis-server the requests that memtier_benchmark would send, and writes JSON of its form
(version 2). Standard library only.

$STAND_IN names a fault: lazy (half of the requests), forgets (a key), misses, old (no percentiles), silent (no JSON).
"""

import json
import os
import socket
import sys

words = sys.argv[1:]
given = {a: b for a, b in zip(words, words[1:]) if a.startswith("-")}
fault = os.environ.get("STAND_IN")
sets, gets = map(int, given["--ratio"].split(":"))
requests = int(given["--requests"]) * int(given["--clients"])
keys, value = int(given["--key-maximum"]), "x" * int(given["--data-size"])
with socket.socket(socket.AF_UNIX) as server:
    server.connect(given["-S"])
    with server.makefile("rb") as answers:
        for n in range(requests // 2 if fault == "lazy" and gets else requests):
            key = f"memtier-{n % keys + 1}"
            ask = f"SET {key} {value}" if n % (sets + gets) < sets else f"GET {key}"
            server.sendall(f"{ask}\r\n".encode())
            head = answers.readline()
            if head[:1] == b"$" and head != b"$-1\r\n":
                answers.read(int(head[1:]) + 2)
        if fault == "forgets" and gets:
            server.sendall(b"DEL memtier-1\r\n")
            answers.readline()


def compute_part(share: float) -> dict:
    found = {"Ops/sec": 1000.0 * share, "Misses/sec": 5.0 if fault == "misses" else 0.0}
    percentiles = {"p50.00": 0.1, "p99.00": 0.2, "p99.90": 0.3}
    return found if fault == "old" else found | {"Percentile Latencies": percentiles}


whole = sets + gets
stats = {"Sets": compute_part(sets / whole), "Gets": compute_part(gets / whole), "Totals": compute_part(1)}
if fault != "silent":
    with open(given["--json-out-file"], "w", encoding="utf-8") as file:
        json.dump({"ALL STATS": stats}, file)
