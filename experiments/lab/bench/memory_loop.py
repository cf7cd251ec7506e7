# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: triads without end on the CPUs named, while the host looks. Standard library only.

    memory_loop.py CPUS SECONDS TIMES KIB     says "started", and so many times "begin", with arrays of so many KiB
                                              that are filled, and "end" with the accesses
"""

import json
import subprocess
import sys

ACCESSES = 1.5  # of an element: SSE2 takes two at once, two loads and a store


def main():
    print(json.dumps({"event": "started"}), flush=True)
    cpus, seconds, times = [int(cpu) for cpu in sys.argv[1].split(",")], sys.argv[2], int(sys.argv[3])
    arrays = ["--size", f"{sys.argv[4]}K", "--pages", "small"]
    triads = [subprocess.Popen(["build/np-mem", "triad", "--kernel", "plain", *arrays, "--cpus", str(cpu)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for cpu in cpus]
    for triad in triads:
        triad.stdout.readline()
    for _ in range(times):
        print(json.dumps({"event": "begin"}), flush=True)
        for triad in triads:
            triad.stdin.write(f"run {seconds}\n")
        results = [json.loads(triad.stdout.readline()) for triad in triads]
        accesses = ACCESSES * sum(result["operations"] for result in results)
        print(json.dumps({"event": "end", "accesses": accesses}), flush=True)
    for triad in triads:
        triad.communicate("quit\n")


if __name__ == "__main__":
    main()
