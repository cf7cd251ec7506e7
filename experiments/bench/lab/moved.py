# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: a triad whose pages move to its node while it runs. Standard library only.

    moved.py SECONDS     one JSON object: MB/s of each stretch, and of a triad whose memory was local from the start
"""

import json
import os
import subprocess
import sys
import time

TRIAD = ["build/np-mem", "triad", "--kernel", "plain", "--size", "4M", "--cpus", "2"]
BYTES = 24  # that an element counts for
MOVE = ["build/numaplace", "migrate", "--from", "0", "--to", "1"]


def start_triad(memory_node: int) -> subprocess.Popen:
    return subprocess.Popen([*TRIAD, "--mem", str(memory_node)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            bufsize=1)


def read_answer(process: subprocess.Popen) -> dict:
    return json.loads(process.stdout.readline())


def compute_stretches(result: dict) -> list[float]:
    """Returns MB/s of each stretch of a result."""
    (samples,) = result["samples_ns"]
    return [BYTES * 1000 / ns for ns in samples]


def run_triad(process: subprocess.Popen, seconds: float) -> dict:
    process.stdin.write(f"run {seconds}\n")
    return read_answer(process)


def main():
    """Prints the MB/s of a triad whose pages move to its node in mid-run, by stretch, beside those of local memory."""
    seconds = float(sys.argv[1])
    os.sched_setaffinity(0, {0})
    local, remote = start_triad(1), start_triad(0)
    read_answer(local), read_answer(remote)
    local_result = run_triad(local, seconds / 4)
    local.communicate("quit\n")
    remote.stdin.write(f"run {seconds}\n")
    time.sleep(seconds / 2)
    move = subprocess.run([*MOVE, str(remote.pid)], capture_output=True, text=True)
    result = read_answer(remote)
    remote.communicate("quit\n")
    print(json.dumps({"local": local_result["mb_per_s"], "stretches": compute_stretches(result), "verified": result["verified"],
                      "pages": result["pages"], "move": move.returncode, "said": move.stdout + move.stderr}))


if __name__ == "__main__":
    main()
