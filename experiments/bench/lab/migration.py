# SPDX-License-Identifier: GPL-2.0-only
"""A task's pages move while it runs: its bandwidth before and after."""

from statistics import fmean

from experiments.bench.lab import inside
from experiments.bounds import Outcome

MACHINE = "demo-2s"
SECONDS = "0.4"
ENDS = 0.2  # part of the stretches at the beginning and at the end that are compared
APART = 0.05
SHOWN = 20


def measure_migration() -> Outcome:
    """Measures the MB/s of a triad before and after its pages move, and checks the gain; returns the outcome.

    RuntimeError: not all pages moved, or the triad's result is wrong."""
    out = Outcome()
    (result,) = inside.run_program(MACHINE, "python3", "experiments/bench/lab/moved.py", SECONDS)
    if result["move"] or not result["verified"] or set(result["pages"]) != {"1"}:
        raise RuntimeError(f"the pages did not all move, or the triad went wrong: {result}")
    values = result["stretches"]
    out.say("MB/s of a triad on node 1, in the order of time; its pages move from node 0 to 1 in the middle")
    shown_together = max(1, len(values) // SHOWN)
    out.say("  " + " ".join(f"{fmean(values[first:first + shown_together]):.0f}" for first in range(0, len(values), shown_together)))
    compared = max(1, int(ENDS * len(values)))  # stretches at either end
    before, after = fmean(values[:compared]), fmean(values[-compared:])
    out.say(f"before {before:.0f}, after {after:.0f}; local from the start {result['local']:.0f}")
    out.at_least("migration: gain in bandwidth", after / before - 1, 0.10)
    out.at_most("migration: afterwards, against local from the start", abs(after / result["local"] - 1), APART)
    out.data = {"stretches": values, "seconds": float(SECONDS), "local": result["local"]}
    return out
