# SPDX-License-Identifier: GPL-2.0-only
"""Heard & Shafiee: how much slower a walk is with remote memory, by pattern and size of the set."""

from experiments.bench.lab import inside
from experiments.bounds import Outcome

MACHINE = "opteron-sixcore-4s"
SECONDS = "0.01"
PATTERNS = ("sequential", "uniform")
SIZES = ("500K", "2M", "4M", "5M", "6M", "7M", "8M", "10M")
PASSED = ("7M", "8M", "10M")  # the last level has 6 MB


def measure_slowdown() -> Outcome:
    """Measures how much slower walks are with remote memory, by pattern and size, and checks that beside the paper."""
    out = Outcome()
    results = inside.run_program(MACHINE, "python3", "experiments/bench/lab/sets.py", SECONDS, ",".join(PATTERNS),
                                 ",".join(SIZES))
    by_cell = {(result["pattern"], result["size"]): result for result in results}
    out.say("pattern        set   local ns  remote ns  slower by")
    change = {}
    for (pattern, size), result in by_cell.items():
        change[pattern, size] = result["remote"] / result["local"] - 1
        out.say(f"{pattern:11}{size:>7}{result['local']:11.2f}{result['remote']:11.2f}{change[pattern, size]:+11.1%}")
    for pattern in PATTERNS:
        out.at_most(f"cachetest: {pattern}, 500 KB, either way", abs(change[pattern, "500K"]), 0.10)
    # A uniform walk finds a part of its lines in the cache, less the larger the set is.
    out.at_least("cachetest: sequential, past 6 MB", min(change["sequential", size] for size in PASSED), 0.60)
    out.at_least("cachetest: uniform, past 6 MB, most", max(change["uniform", size] for size in PASSED), 0.40)
    out.data = {"results": results}
    return out
