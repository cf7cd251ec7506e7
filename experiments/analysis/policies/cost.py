# SPDX-License-Identifier: GPL-2.0-only
"""The migration's price: how long a task must run until it has paid."""

import math
from dataclasses import dataclass

from ..runs.results import Results
from ..stats.intervals import Interval, compute_t_interval
from .decision import Decision
from .speedup import decide_cells

NEVER = math.inf


@dataclass(frozen=True)
class Cost:
    """Of one workload under one policy. Seconds are those in which pages moved: starting the program, reading and
    planning are none of a placement's price, as the baseline's tasks would have waited for them too."""

    speedup: Decision
    seconds: Interval
    bytes: float  # moved, mean of the observations

    @property
    def break_even(self) -> tuple[float, float | None, float | None]:
        """Returns the seconds of the baseline's work after which both have done as much, with limits from both intervals' ends."""
        price, gain = self.seconds, self.speedup
        if None in (price.low, price.high, gain.low, gain.high):
            return compute_break_even(price.mean, gain.value), None, None
        return (compute_break_even(price.mean, gain.value), compute_break_even(max(0.0, price.low), gain.high),
                compute_break_even(price.high, gain.low))


def compute_break_even(seconds: float, speedup: float) -> float:
    """Computes the seconds t with t = seconds + t / speedup; NEVER where nothing is faster."""
    if seconds <= 0:
        return 0.0 if speedup >= 1 else NEVER
    return seconds / (1 - 1 / speedup) if speedup > 1 else NEVER


def list_costs(results: Results) -> dict[tuple[str, str], Cost | None]:
    """Returns the costs by workload and policy; None where the run did not record it, as older runs do not."""
    return {key: _compute_cost(results, speedup) for key, speedup in decide_cells(results).items()}


def _compute_cost(results: Results, speedup: Decision) -> Cost | None:
    """Computes the mean seconds and bytes of moving, of a workload under a policy; None where the run did not record them."""
    costs = [o.raw["cost"] for o in results.select_independent(speedup.workload, speedup.policy)
             if isinstance(o.raw.get("cost"), dict)]
    if not costs:
        return None
    seconds = compute_t_interval([float(c["move_s"]) for c in costs])
    return Cost(speedup, seconds, sum(float(c["moved_bytes"]) for c in costs) / len(costs))
