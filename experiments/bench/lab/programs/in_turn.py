# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: programs on CPU 0 in turn, while the host looks. Standard library only.

    in_turn.py TIMES PROGRAMS     so many times, for each program of an object of names and commands, "begin", and "end" with
                                  its name, the seconds of the machine's own time that it took and, where they are counted,
                                  CPU 0's instructions
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

COUNTERS = Path("/sys/kernel/debug/numaplace_lab/counters")


def read_instructions() -> int | None:
    """Reads CPU 0's instructions; None where they are not counted."""
    if not COUNTERS.exists():
        return None
    words = COUNTERS.read_text(encoding="ascii").splitlines()[0].split()
    return int(dict(word.split("=") for word in words)["instructions"])


def run_program(name: str, command: list[str]):
    """Runs a command and prints its begin and its end, with seconds and instructions. CalledProcessError: it fails."""
    print(json.dumps({"event": "begin"}), flush=True)
    before, start = read_instructions(), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    end = {"event": "end", "program": name, "seconds": time.monotonic() - start}
    if before is not None:
        end["instructions"] = read_instructions() - before
    print(json.dumps(end), flush=True)


def main():
    """Runs each program of the command line on CPU 0, as the head of this file says."""
    os.sched_setaffinity(0, {0})
    print(json.dumps({"event": "started"}), flush=True)
    for _ in range(int(sys.argv[1])):
        for name, command in json.loads(sys.argv[2]).items():
            run_program(name, command)


if __name__ == "__main__":
    main()
