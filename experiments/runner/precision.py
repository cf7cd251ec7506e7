# SPDX-License-Identifier: GPL-2.0-only
"""How precise the means are, and which observations would make them more so."""

from __future__ import annotations

import random
from collections import defaultdict
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from .schedule import ATTEMPTS, Trial, is_clean
from .suite import Suite

# Student's t, two-sided 95 %, of 1, 2, .. degrees of freedom; beyond the table its last value,
# which is at most 4 % too wide. Any table of the distribution has them.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
       2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
       2.045, 2.042)
# Observations before an interval is believed. A run that stops once it looks narrow enough has intervals
# that are too narrow: see test_an_interval_that_was_waited_for_covers_nearly_what_it_says.
LEAST = 5
GIVE_UP = 3 * ATTEMPTS  # observations of a cell in a row that came out marked

Cell = tuple[str, str]


def half_width(values: list[float]) -> float | None:
    """Half the 95 % interval of the mean in percent of the mean; None where there is none yet."""
    if len(values) < LEAST or not fmean(values):
        return None
    t = T95[min(len(values) - 2, len(T95) - 1)]
    return 100 * t * stdev(values) / sqrt(len(values)) / abs(fmean(values))


def widths(records: list[dict[str, Any]]) -> dict[Cell, float | None]:
    """Of each cell's first metric, from its clean observations."""
    values: dict[Cell, list[float]] = defaultdict(list)
    for record in records:
        if is_clean(record) and not record.get("warmup") and record["metrics"]:
            values[record["workload"], record["policy"]].append(record["metrics"][0]["value"])
    return {cell: half_width(found) for cell, found in values.items()}


def next_block(suite: Suite, records: list[dict[str, Any]], percent: float, most: int) -> list[Trial]:
    """One more observation of every cell that is not precise enough, in random order; none of a
    cell that was repeated as often as it may be, or that comes out marked again and again."""
    made: dict[Cell, int] = defaultdict(int)
    marked: dict[Cell, int] = defaultdict(int)
    for record in records:
        if not record.get("warmup"):
            cell = (record["workload"], record["policy"])
            made[cell] = max(made[cell], record["repeat"] + 1)
            marked[cell] = 0 if is_clean(record) else marked[cell] + 1
    found = widths(records)
    cells = [(w, p) for w in suite.workloads for p in suite.policies
             if made[w.name, p] < most and marked[w.name, p] < GIVE_UP
             and not _enough(found.get((w.name, p)), percent)]
    if not cells:
        return []
    repeat, order = min(made[w.name, p] for w, p in cells), next_order(records)
    random.Random(f"{suite.seed}/{repeat}").shuffle(cells)
    return [Trial(w, p, made[w.name, p], order + k, False) for k, (w, p) in enumerate(cells)]


def next_order(records: list[dict[str, Any]]) -> int:
    return 1 + max((record["order"] for record in records), default=-1)


def _enough(width: float | None, percent: float) -> bool:
    return width is not None and width <= percent
