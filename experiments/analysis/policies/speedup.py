# SPDX-License-Identifier: GPL-2.0-only
"""Speed-ups of workloads under policies against the baseline, their geometric mean and the policies' ranks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy import stats as distributions

from ..results import Results, higher_is_better
from ..stats import LEVEL, Ratio, holm, ratio, welch

BASELINE = "none"
ALPHA = 0.05


@dataclass(frozen=True)
class Speedup:
    """Above 1 is faster. low and high are Fieller's limits, of this one ratio alone."""

    workload: str
    policy: str
    value: float
    low: float | None
    high: float | None
    p_holm: float | None = None  # Welch's test, adjusted over all speed-ups of the run

    @property
    def significant(self) -> bool:
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True)
class Total:
    """A policy over all workloads; ratio and rank are None where it lacks one of them."""

    policy: str
    workloads: int
    ratio: Ratio | None
    rank: int | None = None


def told(results: Results) -> bool:
    """Whether times mean anything here, and there is a baseline to compare with."""
    return "lab-functional" not in results.platforms and BASELINE in results.policies and len(results.policies) > 1


def response(results: Results, workload: str) -> tuple[str, str] | None:
    """Name and unit of what tells the workload's speed: the suite's first response of a known direction."""
    listed = [str(name) for name in results.manifest.get("responses") or []]
    found = [m for m in results.performance_metrics(workload) if higher_is_better(m[1]) is not None]
    return min(found, key=lambda m: listed.index(m[0]) if m[0] in listed else len(listed), default=None)


def values(results: Results, workload: str, policy: str) -> list[float]:
    metric = response(results, workload)
    found = (o.value(metric[0]) for o in results.select_independent(workload, policy)) if metric else ()
    return [value for value in found if value is not None and value > 0]


def speedups(results: Results) -> dict[tuple[str, str], Speedup]:
    """By workload and policy; the baseline itself is not among them."""
    found, ps = [], []
    for workload in results.workloads:
        base = values(results, workload, BASELINE)
        for policy in results.policies:
            ours = values(results, workload, policy)
            if not base or not ours or policy == BASELINE:
                continue
            times = ratio(ours, base) if _more_is_better(results, workload) else ratio(base, ours)
            found.append(Speedup(workload, policy, times.value, times.low, times.high))
            ps.append(welch(base, ours).p)
    return {(s.workload, s.policy): replace(s, p_holm=p) for s, p in zip(found, holm(ps), strict=True)}


def _more_is_better(results: Results, workload: str) -> bool:
    metric = response(results, workload)
    return bool(metric and higher_is_better(metric[1]))


def totals(results: Results) -> list[Total]:
    """In the order of the policies, the baseline left out."""
    workloads = [w for w in results.workloads if values(results, w, BASELINE)]
    found = []
    for policy in results.policies:
        pairs = [(values(results, w, policy), values(results, w, BASELINE), _more_is_better(results, w))
                 for w in workloads if values(results, w, policy)]
        whole = pairs and len(pairs) == len(workloads)
        if policy != BASELINE:
            found.append(Total(policy, len(pairs), geometric_mean(pairs) if whole else None))
    order = sorted((t.ratio.value for t in found if t.ratio), reverse=True)
    return [replace(t, rank=order.index(t.ratio.value) + 1) if t.ratio else t for t in found]


def geometric_mean(pairs: Sequence[tuple[Sequence[float], Sequence[float], bool]], level: float = LEVEL) -> Ratio:
    """Of mean(ours) / mean(base) over these workloads, or of the inverse where less is better.

    Of the logarithms' mean, whose variance is the delta method's, with Satterthwaite's degrees of freedom. The
    workloads are fixed: nothing is said about other ones.
    """
    logs = [math.log(statistics.fmean(ours) / statistics.fmean(base)) * (1 if more else -1)
            for ours, base, more in pairs]
    middle = statistics.fmean(logs)
    if any(len(side) < 2 for ours, base, _ in pairs for side in (ours, base)):
        return Ratio(math.exp(middle))
    parts = [(statistics.variance(side) / len(side) / statistics.fmean(side) ** 2, len(side) - 1)
             for ours, base, _ in pairs for side in (ours, base)]
    total = sum(part for part, _ in parts)
    if total == 0:
        return Ratio(math.exp(middle), math.exp(middle), math.exp(middle))
    df = total**2 / sum(part**2 / free for part, free in parts)
    half = float(distributions.t.ppf((1 + level) / 2, df)) * math.sqrt(total) / len(pairs)
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
