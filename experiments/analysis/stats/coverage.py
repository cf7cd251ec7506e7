# SPDX-License-Identifier: GPL-2.0-only
"""In how many runs of --repeat-until-ci the interval that was waited for holds the mean."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import fmean

from experiments.runner.repeats import precision

PERCENT, MOST = 2.0, 30


def slow(share: float, factor: float) -> Callable[[random.Random], float]:
    """Normal, 1 %, and a share of the values is slower."""
    return lambda draw: draw.gauss(100, 1) * (factor if draw.random() < share else 1)


# How a value is drawn, and the mean of such values.
MADE_BY: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "normal, 3 %": (lambda draw: draw.gauss(100, 3), 100),
    "normal, 4 %": (lambda draw: draw.gauss(100, 4), 100),
    "1 in 10 is 10 % more": (slow(0.10, 1.1), 101),
    "1 in 10 is 20 % more": (slow(0.10, 1.2), 102),
    "1 in 20 is 20 % more": (slow(0.05, 1.2), 101),
}


def of(made_by: str, runs: int, seed: int = 1) -> tuple[float, float]:
    """The share of the runs whose interval holds the mean, and their mean number of values."""
    make, true = MADE_BY[made_by]
    draw, covered, made = random.Random(seed), 0, 0
    for _ in range(runs):
        values = [make(draw) for _ in range(precision.LEAST)]
        while len(values) < MOST and not precision.precise(values, "", PERCENT):
            values.append(make(draw))
        covered += abs(fmean(values) - true) <= precision.half_width(values) / 100 * fmean(values)
        made += len(values)
    return covered / runs, made / runs
