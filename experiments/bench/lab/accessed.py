# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel sees of accesses by the pages' accessed bits: DAMON's regions, MGLRU's generations."""

from statistics import median

from experiments.bench.lab import inside
from experiments.bench.lab.accessed_inside import MIB, PAGE
from experiments.bounds import Outcome
from experiments.lab import kernels

MACHINE = "demo-2s"
PROGRAM = "experiments/bench/lab/accessed_inside.py"
HOT_MIB = (1, 4, 16)
WITH_DAMON = ("6.12", "7")  # Debian's 6.1 is built without it
APART = 0.05


def run_program(series: str, what: str, *mib: int) -> dict[int, list[dict]]:
    """Returns what the program says, by the bytes in use."""
    lines = inside.run_program(MACHINE, "python3", PROGRAM, what, *map(str, mib), timeout=1500, kernel=series)
    return {size * MIB: [line for line in lines if line["hot"] == size * MIB] for size in mib}


def count_by_ageing(lines: list[dict]) -> int:
    """Returns the bytes in use by generations: the last round's generation before the youngest, which was made after them."""
    pages = {int(number): count for number, count in lines[-1]["pages"].items()}
    return pages[max(pages) - 1] * PAGE


def count_by_damon(lines: list[dict]) -> float:
    """Returns the bytes in use by DAMON, median of the later half of the aggregations: by then the regions have found their borders."""
    return median(line["used"] for line in lines[len(lines) // 2:])


def measure_accessed() -> Outcome:
    """Measures the memory in use as MGLRU and DAMON find it, on each kernel."""
    out, data = Outcome(), []
    ways = {"ageing": count_by_ageing, "damon": count_by_damon}
    out.say(f"{'kernel':8}{'by':10}" + "".join(f"{size:>10} MiB" for size in HOT_MIB) + "   used, of 64 MiB")
    for series in kernels.known_series():
        for what in ways if series in WITH_DAMON else ("ageing",):
            found = {hot: ways[what](lines) for hot, lines in run_program(series, what, *HOT_MIB).items()}
            out.say(f"{series:8}{what:10}" + "".join(f"{seen / MIB:10.2f} MiB" for seen in found.values()))
            worst = max(abs(seen / hot - 1) for hot, seen in found.items())
            out.at_most(f"{series}: memory in use as {what} finds it, apart from what is used", worst, APART)
            data.append({"kernel": series, "by": what, "found": found})
    out.data = {"found": data}
    return out
