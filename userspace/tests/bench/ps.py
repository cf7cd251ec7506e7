# SPDX-License-Identifier: GPL-2.0-only
"""ps.py NUMAPLACE CROWD: what `numaplace ps` takes over 10,000 processes of 20 touched pages."""

import resource
import subprocess
import sys
import time

PROCESSES, PAGES, ROUNDS = 10000, 20, 5


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(tool: str, crowd: str) -> None:
    with subprocess.Popen([crowd, str(PROCESSES), str(PAGES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as people:
        print(people.stdout.readline().strip().replace("ready", "processes:"))
        print("elapsed s   CPU s   lines")
        for _ in range(ROUNDS):
            start, before = time.monotonic(), cpu_seconds()
            lines = subprocess.run([tool, "ps", "--sample", "0"], check=True, capture_output=True).stdout.count(b"\n")
            print(f"{time.monotonic() - start:9.2f} {cpu_seconds() - before:7.2f} {lines:7d}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
