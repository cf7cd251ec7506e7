# SPDX-License-Identifier: GPL-2.0-only
"""The migration's price: time to solution with it, and how long a task must run until it has paid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..results import Results
from ..stats import Interval, t_interval
from .speedup import Speedup, speedups

WORK_S = (1, 10, 100)  # seconds that the work takes under the baseline
NEVER = math.inf


@dataclass(frozen=True)
class Cost:
    """Of one workload under one policy. Seconds are those in which pages moved: starting the program, reading and
    planning are none of a placement's price, as the baseline's tasks would have waited for them too."""

    speedup: Speedup
    seconds: Interval
    bytes: float

    @property
    def break_even(self) -> tuple[float, float | None, float | None]:
        """Seconds of the baseline's work after which both have done as much; the limits are those of the
        seconds and of the speed-up taken together at their ends."""
        c, s = self.seconds, self.speedup
        if None in (c.low, c.high, s.low, s.high):
            return paid(c.mean, s.value), None, None
        return paid(c.mean, s.value), paid(max(0.0, c.low), s.high), paid(c.high, s.low)

    def time_to_solution(self, work: float) -> Interval:
        """Of work that takes so many seconds under the baseline: its time here and the migration's.

        Limits of the sum: MOVER, Zou and Donner, Statistics in Medicine 27, 2008, equation 6.
        """
        c, s, mean = self.seconds, self.speedup, work / self.speedup.value + self.seconds.mean
        if None in (c.low, c.high, s.low, s.high) or s.low <= 0:
            return Interval(mean, None, None, c.n)
        below = math.hypot(work / s.value - work / s.high, c.mean - c.low)
        above = math.hypot(work / s.low - work / s.value, c.high - c.mean)
        return Interval(mean, mean - below, mean + above, c.n)


def paid(seconds: float, speedup: float) -> float:
    """t with t = seconds + t / speedup."""
    if seconds <= 0:
        return 0.0
    return seconds / (1 - 1 / speedup) if speedup > 1 else NEVER


def costs(results: Results) -> dict[tuple[str, str], Cost | None]:
    """By workload and policy; None where the run did not record it, as older runs do not."""
    return {key: _cost(results, speedup) for key, speedup in speedups(results).items()}


def _cost(results: Results, speedup: Speedup) -> Cost | None:
    found = [o.raw["cost"] for o in results.select_independent(speedup.workload, speedup.policy)
             if isinstance(o.raw.get("cost"), dict)]
    if not found:
        return None
    seconds = t_interval([float(c["move_s"]) for c in found])
    return Cost(speedup, seconds, sum(float(c["moved_bytes"]) for c in found) / len(found))
