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


def run_program(series: str, way: str, *sizes_mib: int) -> dict[int, list[dict]]:
    """Boots the kernel and returns the records of accessed_inside.py, by the bytes that its program uses. way: "damon" or "ageing"."""
    records = inside.run_program(MACHINE, "python3", PROGRAM, way, *map(str, sizes_mib), timeout=1500, kernel=series)
    return {size * MIB: [record for record in records if record["hot"] == size * MIB] for size in sizes_mib}


def count_by_ageing(records: list[dict]) -> int:
    """Returns the bytes in use by MGLRU: of the last round, the generation before the youngest, as the youngest was made after them."""
    pages = {int(generation): count for generation, count in records[-1]["pages"].items()}
    return pages[max(pages) - 1] * PAGE


def count_by_damon(records: list[dict]) -> float:
    """Returns the bytes in use by DAMON: the median of the later half of the aggregations, when the regions have found their borders."""
    return median(record["used"] for record in records[len(records) // 2:])


def measure_accessed() -> Outcome:
    """Measures the bytes in use as MGLRU and DAMON find them, on each kernel; returns the outcome."""
    out, records = Outcome(), []
    counts = {"ageing": count_by_ageing, "damon": count_by_damon}
    out.say(f"{'kernel':8}{'by':10}" + "".join(f"{size:>10} MiB" for size in HOT_MIB) + "   used, of 64 MiB")
    for series in kernels.known_series():
        for way in counts if series in WITH_DAMON else ("ageing",):
            found = {hot: counts[way](of_size) for hot, of_size in run_program(series, way, *HOT_MIB).items()}
            out.say(f"{series:8}{way:10}" + "".join(f"{bytes_in_use / MIB:10.2f} MiB" for bytes_in_use in found.values()))
            worst = max(abs(bytes_in_use / hot - 1) for hot, bytes_in_use in found.items())
            out.at_most(f"{series}: memory in use as {way} finds it, apart from what is used", worst, APART)
            records.append({"kernel": series, "by": way, "found": found})
    out.data = {"found": records}
    return out
