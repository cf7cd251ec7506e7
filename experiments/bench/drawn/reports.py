# SPDX-License-Identifier: GPL-2.0-only
"""Ranks, geometric means and regrets of placements whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from . import answers, draw
from .draw import Cells
from .tally import HOLDS, Bound, Case, Event, false

STATIC = ("none", "start-interleave", "maximum-local")
ACTING = ("numa-balancing", "tiering", "demotion", "damon", "daemon")
WORKLOADS = tuple(f"w{k}" for k in range(8))
BIAS = Bound("mean regret - truth", least=-0.003, most=0.003)
CELL_BIAS = Bound("regret of a cell - truth", least=-0.003, most=0.003)


def cases() -> Iterator[Case]:
    for n in (3, 10):
        yield Case("ranks", f"eight equal placements, eight workloads, 3 %, {n} blocks", 90, lambda d, n=n: ranks(d, n))
    for n, deviation, runs in ((3, 0.03, 120), (3, 0.1, 200), (10, 0.03, 60)):
        yield Case("regret", f"eight equal placements, eight workloads, {100 * deviation:g} %, {n} blocks", runs,
                   lambda d, n=n, deviation=deviation: regret(d, n, deviation, 0.0))
    for n, deviation, runs in ((3, 0.03, 60), (3, 0.1, 100)):
        yield Case("regret", f"a static placement is 1.5 times as fast, {100 * deviation:g} %, {n} blocks", runs,
                   lambda d, n=n, deviation=deviation: regret(d, n, deviation, 0.5))


def _cells(deviation: float, gain: float = 0.0) -> Cells:
    """`gain`: of the last static placement."""
    return Cells({(w, p): 1 + gain * (p == STATIC[-1]) for w in WORKLOADS for p in STATIC + ACTING}, draw.normal(deviation))


def ranks(source: Random, n: int) -> Iterator[Event]:
    found = answers.totals(_cells(0.03).run(source, n))
    yield Event(false("an order of two placements"), any(total.ranks != (1, len(found)) for total in found))
    yield from (Event(HOLDS, total.ratio.low <= 1 <= total.ratio.high) for total in found)


def regret(source: Random, n: int, deviation: float, gain: float) -> Iterator[Event]:
    """Of the placements that are no reference; to the best one that is known to be it."""
    found = answers.regrets(_cells(deviation, gain).run(source, n))
    true = 1 - 1 / (1 + gain)
    for policy in ACTING:
        mean = found.mean[policy]
        yield Event(BIAS, mean.value - true)
        yield Event(HOLDS, mean.low <= true <= mean.high)
        yield from (Event(CELL_BIAS, found.static[w, policy].value - true) for w in WORKLOADS)
        yield from (Event(Bound("a cell's interval holds the truth", HOLDS.least), _holds(found.static[w, policy], true)) for w in WORKLOADS)


def _holds(found: object, true: float) -> bool:
    return found.low is None or found.high is None or found.low <= true <= found.high
