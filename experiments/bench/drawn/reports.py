# SPDX-License-Identifier: GPL-2.0-only
"""Ranks, geometric means and regrets of placements whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

from ...analysis.policies import regret, speedup
from . import draw
from .draw import Cells
from .tally import HOLDS, Bound, Case, Event, bound_false, holds_truth

STATIC = ("none", "start-interleave", "maximum-local")
ACTING = ("numa-balancing", "tiering", "demotion", "damon", "daemon")
WORKLOADS = tuple(f"w{k}" for k in range(8))
BIAS = Bound("mean regret - truth", least=-0.003, most=0.003)
CELL_BIAS = Bound("regret of a cell - truth", least=-0.003, most=0.003)


def build_cases() -> Iterator[Case]:
    """Builds the cases of ranks of equal placements, and of regrets where the best placement is known."""
    for n in (3, 10):
        yield Case("ranks", f"eight equal placements, eight workloads, 3 %, {n} blocks", 90, partial(check_ranks, blocks=n))
    for n, deviation, runs in ((3, 0.03, 120), (3, 0.1, 200), (10, 0.03, 60)):
        yield Case("regret", f"eight equal placements, eight workloads, {100 * deviation:g} %, {n} blocks", runs,
                   partial(check_regret, blocks=n, deviation=deviation, gain=0.0))
    for n, deviation, runs in ((3, 0.03, 60), (3, 0.1, 100)):
        yield Case("regret", f"a static placement is 1.5 times as fast, {100 * deviation:g} %, {n} blocks", runs,
                   partial(check_regret, blocks=n, deviation=deviation, gain=0.5))


def _build_cells(deviation: float, gain: float = 0.0) -> Cells:
    """Builds the cells. `gain`: of the last static placement."""
    return Cells({(w, p): 1 + gain * (p == STATIC[-1]) for w in WORKLOADS for p in STATIC + ACTING}, draw.make_normal(deviation))


def check_ranks(source: Random, blocks: int) -> Iterator[Event]:
    """Draws equal placements and yields whether any two are ordered, and whether each interval of a total holds 1."""
    totals = speedup.compute_totals(_build_cells(0.03).draw_run(source, blocks))
    yield Event(bound_false("an order of two placements"), any(total.ranks != (1, len(totals)) for total in totals))
    yield from (Event(HOLDS, total.ratio.low <= 1 <= total.ratio.high) for total in totals)


def check_regret(source: Random, blocks: int, deviation: float, gain: float) -> Iterator[Event]:
    """Yields how far regrets of placements that are no reference are off the truth; `gain` is the best static placement's, a share."""
    regrets = regret.compute_regrets(_build_cells(deviation, gain).draw_run(source, blocks))
    true = 1 - 1 / (1 + gain)
    for policy in ACTING:
        mean = regrets.mean[policy]
        yield Event(BIAS, mean.value - true)
        yield Event(HOLDS, mean.low <= true <= mean.high)
        yield from (Event(CELL_BIAS, regrets.static[w, policy].value - true) for w in WORKLOADS)
        yield from (Event(Bound("a cell's interval holds the truth", HOLDS.least), holds_truth(regrets.static[w, policy], true))
                    for w in WORKLOADS)
