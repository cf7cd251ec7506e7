# SPDX-License-Identifier: GPL-2.0-only
"""How precise the means are, and which observations would make them more so."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, stdev

from ..records.record import Record
from ..suite import schedule
from ..suite.schedule import ATTEMPTS, Trial, is_clean
from ..suite.suite import Suite
from . import bootstrap

# Student's t, two-sided 95 %, of 1, 2, .. degrees of freedom; beyond the table its last value,
# which is at most 4 % too wide. Any table of the distribution has them.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
       2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
       2.045, 2.042)
# Observations before an interval is believed. A run that stops once it looks narrow enough has intervals that are too
# narrow, and of runs that are slow now and then few observations have seen no slow one: see make check-statistics.
LEAST = 10
GIVE_UP = 3 * ATTEMPTS  # observations of a cell in a row that came out marked

Cell = tuple[str, str]


def compute_half_width(values: list[float], unit: str = "") -> float | None:
    """Returns half the 95 % interval of the mean, Student's, in percent: of the mean, and of 1 for a fraction, which may be 0. None: fewer
    than LEAST values, or different ones whose mean is 0."""
    if len(values) < LEAST:
        return None
    degrees = min(len(values) - 1, len(T95))
    half = T95[degrees - 1] * stdev(values) / sqrt(len(values))
    scale = 1.0 if unit == "fraction" else abs(fmean(values))
    return 100 * half / scale if scale else (0.0 if not half else None)


def is_precise(values: list[float], unit: str, percent: float) -> bool:
    """Checks that the interval is at most `percent` each way, as compute_half_width() has it and by the bootstrap, which sees skew."""
    width = compute_half_width(values, unit)
    if width is None or width > percent:
        return False
    low, high = bootstrap.compute_interval(values)
    mean = fmean(values)
    return 100 * max(mean - low, high - mean) <= percent * (1.0 if unit == "fraction" else abs(mean))


def collect_responses(names: Sequence[str], records: Iterable[Record]) -> dict[Cell, dict[tuple[str, str], list[float]]]:
    """Returns the values of clean observations, by cell and by metric's name and unit: of the metrics named, else of the first one."""
    values_by_cell: dict[Cell, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if is_clean(record) and not record.get("warmup"):
            cell = values_by_cell[record["workload"], record["policy"]]
            responses = [m for m in record["metrics"] if m["name"] in names] or record["metrics"][:1]
            for metric in responses:
                cell[metric["name"], metric["unit"]].append(metric["value"])
    return values_by_cell


def plan_block(suite: Suite, records: list[Record], percent: float, most_repeats: int) -> list[Trial]:
    """Returns one more observation of every cell of a workload with a cell that is not precise enough, in random order: policies are
    compared by the blocks that both have. percent: half the interval. None of a cell that has most_repeats, or that comes out marked again
    and again."""
    made: dict[Cell, int] = defaultdict(int)    # repeats
    marked: dict[Cell, int] = defaultdict(int)  # observations in a row, the last included
    for record in records:
        if not record.get("warmup"):
            cell = (record["workload"], record["policy"])
            made[cell] = max(made[cell], record["repeat"] + 1)
            marked[cell] = 0 if is_clean(record) else marked[cell] + 1
    values_by_cell = collect_responses(suite.responses, records)
    cells = [(w, p) for w, p in schedule.list_cells(suite) if made[w.name, p] < most_repeats and marked[w.name, p] < GIVE_UP]
    imprecise = {w.name for w, p in cells if not _is_enough(values_by_cell[w.name, p], percent)}
    # A run may have ended within a block: first those placements of a workload that have the fewest repeats.
    fewest = {w.name: min(made[v.name, p] for v, p in cells if v.name == w.name) for w, _ in cells}
    cells = [(w, p) for w, p in cells if w.name in imprecise and made[w.name, p] == fewest[w.name]]
    if not cells:
        return []
    repeat, order = min(made[w.name, p] for w, p in cells), get_next_order(records)
    random.Random(f"{suite.seed}/{repeat}").shuffle(cells)
    return [Trial(w, p, made[w.name, p], order + k, False) for k, (w, p) in enumerate(cells)]


def list_imprecise(names: Sequence[str], records: Iterable[Record], percent: float) -> list[str]:
    """Names the cells whose metrics `names` are not precise to `percent`; also those without a clean observation."""
    records = [record for record in records if not record.get("warmup")]
    values_by_cell = collect_responses(names, records)
    cells = dict.fromkeys((record["workload"], record["policy"]) for record in records)
    return [f"{workload} / {policy}" for workload, policy in cells if not _is_enough(values_by_cell[workload, policy], percent)]


def describe_imprecise(names: Sequence[str], records: Iterable[Record], percent: float) -> str:
    """Returns a sentence for the end of a run; "" where every cell is precise enough."""
    cells = list_imprecise(names, records, percent)
    return f"the precision of {percent:g} % was not reached in {len(cells)} cells: {', '.join(cells)}" if cells else ""


def get_next_order(records: list[Record]) -> int:
    """Returns the order of the next observation of a run: one more than its last, 0 without any."""
    return 1 + max((record["order"] for record in records), default=-1)


def _is_enough(metrics: dict[tuple[str, str], list[float]], percent: float) -> bool:
    """Checks whether a cell has metrics, whose values are by name and unit, and each of them is precise to `percent`."""
    return bool(metrics) and all(is_precise(values, unit, percent) for (_, unit), values in metrics.items())
