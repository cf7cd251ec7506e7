# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside a lab machine: walks of growing sets, with memory local and remote. Standard library only.

    sets.py SECONDS PATTERN,.. SIZE,..     np-mem cachetest on CPU 0; ns of a step, one JSON object a line
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

PROCESSES = 3


def leave_only_cpu_0():
    """Takes all other CPUs offline: none uses the caches meanwhile."""
    for online in Path("/sys/devices/system/cpu").glob("cpu[1-9]*/online"):
        online.write_text("0", encoding="ascii")


def measure_step_ns(pattern: str, size: str, memory_node: int, seconds: str) -> float:
    """Measures the ns of a step of a walk on CPU 0, in a process of its own, in huge pages where that can be."""
    # Of small pages a set nearly as large as a cache has conflicts in it that depend on the node.
    argv = ["build/np-mem", "cachetest", "--pattern", pattern, "--size", size, "--pages", "thp",
            "--cpus", "0", "--mem", str(memory_node)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # The first run fills the caches, the second is measured.
    out, _ = process.communicate(f"run {seconds}\nrun {seconds}\nquit\n")
    result = json.loads(out.splitlines()[-1])
    assert result["verified"], result
    return result["ns_per_operation"]


def main():
    """Prints the ns of a step with local and with remote memory, means of PROCESSES, for each pattern and size."""
    seconds, patterns, sizes = sys.argv[1:]
    leave_only_cpu_0()
    for pattern in patterns.split(","):
        for size in sizes.split(","):
            pairs = [[measure_step_ns(pattern, size, memory_node, seconds) for memory_node in (0, 1)] for _ in range(PROCESSES)]
            local, remote = map(statistics.fmean, zip(*pairs))
            print(json.dumps({"pattern": pattern, "size": size, "local": local, "remote": remote, "all": pairs}),
                  flush=True)


if __name__ == "__main__":
    main()
