# SPDX-License-Identifier: GPL-2.0-only
"""What a placement loses to the best that was decided before the work, and to one that knows the next accesses.

Regret is 1 - speed / speed of the reference: 0 is as good, below 0 is better. The best static placement of a workload is
that with the best mean of this run: among several it is a little too good by chance, so that regret is a little too high.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from ...mechanisms.registry import KNOWN
from ...runner.suite.schedule import CLAIRVOYANT
from ..runs.results import Results
from ..stats.intervals import Ratio
from .speedup import BASELINE, Logs, Speeds, compared, hull, mean_of_logs, runs_of


@dataclass(frozen=True)
class Regret:
    reference: str  # the level that it is compared with
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Regrets:
    """By workload and policy; a workload that has no clairvoyant has none of its regrets."""

    static: dict[tuple[str, str], Regret]
    clairvoyant: dict[tuple[str, str], Regret]
    mean: dict[str, Regret]  # by policy, to the best static one: of the geometric mean over the workloads


def told(results: Results) -> bool:
    """Whether the run has something that acts while programs work: else everything is static."""
    return "lab-functional" not in results.platforms and BASELINE in results.policies and any(
        not is_static(level) for level in results.policies)


def is_static(level: str) -> bool:
    """Decided once: no mechanism, or one of those that act as a program starts."""
    name = level.partition("#")[0].partition(":")[0]
    return not name.endswith(".py") and (name not in KNOWN or KNOWN[name].starts)


def regrets(results: Results) -> Regrets:
    speeds, *others = runs_of(results)
    best = {w: best_static(speeds, w) for w in speeds.workloads}
    clear = {w: CLAIRVOYANT for w in speeds.workloads if speeds.of(w, CLAIRVOYANT)}
    return Regrets(_all(speeds, others, best), _all(speeds, others, clear), _means(speeds, others, best))


def best_static(speeds: Speeds, workload: str) -> str:
    def speed(level: str) -> float:
        return speeds.sign(workload) * math.log(statistics.fmean(speeds.of(workload, level).values()))
    return max((level for level in (BASELINE, *speeds.policies) if is_static(level) and speeds.of(workload, level)), key=speed)


def _all(speeds: Speeds, others: list[Speeds], reference: dict[str, str]) -> dict[tuple[str, str], Regret]:
    found = {}
    for workload, level in reference.items():
        for policy in (BASELINE, *speeds.policies):
            if policy != level and speeds.of(workload, policy):
                times = hull(compared(speeds, workload, policy, level)[0],
                             [compared(other, workload, policy, level)[0] for other in others])
                found[workload, policy] = _regret(level, times)
    return found


def _means(speeds: Speeds, others: list[Speeds], best: dict[str, str]) -> dict[str, Regret]:
    found = {}
    for policy in (BASELINE, *speeds.policies):
        if all(speeds.of(w, policy) for w in speeds.workloads) and _logs(speeds, policy, best):  # of a run in parts, a whole block
            first, *rest = (mean_of_logs(_logs(one, policy, best)) for one in (speeds, *others))
            found[policy] = _regret("", hull(first, rest))
    return found


def _logs(speeds: Speeds, policy: str, best: dict[str, str]) -> dict[int, float]:
    """By block, the mean over the workloads of log(speed / the best static one's)."""
    each: Logs = {w: {block: speeds.sign(w) * math.log(value / speeds.of(w, level)[block])
                      for block, value in speeds.of(w, policy).items() if block in speeds.of(w, level)} for w, level in best.items()}
    blocks = set.intersection(*(set(logs) for logs in each.values()))
    return {block: statistics.fmean(logs[block] for logs in each.values()) for block in sorted(blocks)}


def _regret(reference: str, times: Ratio) -> Regret:
    """No speed is below 0, so that no regret is above 1."""
    low, high = (None if end is None else min(1.0, 1 - end) for end in (times.high, times.low))
    return Regret(reference, 1 - times.value, low, high)
