# SPDX-License-Identifier: GPL-2.0-only
"""Whether observations depend on when they were made: drift over the run, and each on the one before it.

Of every metric, relative to the mean of its cell in that boot, in the order of time. Drift: Kendall's rank correlation
with time (Mann, Econometrica 13, 1945). Dependence: Ljung and Box, Biometrika 65, 1978, at lag 1. Holm's correction is
over the metrics.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from ..runs.results import PLACEMENT_METRICS, Results
from ..runs.text_format import label
from .intervals import holm

LEAST = 20  # observations; fewer show nothing
REJECT = 0.01


@dataclass(frozen=True)
class Order:
    n: int
    tau: float      # of Kendall
    drift_p: float
    box: float      # of Ljung and Box
    dependence_p: float


def of(residuals: Sequence[float]) -> Order | None:
    """None where there are too few, or nothing varies."""
    from statsmodels.stats.diagnostic import acorr_ljungbox

    if len(residuals) < LEAST or len(set(residuals)) < 2:
        return None
    tau = stats.kendalltau(residuals, range(len(residuals)), method="asymptotic")
    box = acorr_ljungbox(residuals, lags=[1])
    return Order(len(residuals), float(tau.statistic), float(tau.pvalue), float(box["lb_stat"].iloc[0]),
                 float(box["lb_pvalue"].iloc[0]))


def residuals(results: Results) -> dict[str, list[float]]:
    """By metric; a metric that is a multiple of one before it is left out."""
    cells: dict[str, dict[Any, list[tuple[Any, float]]]] = defaultdict(lambda: defaultdict(list))
    for o in results.clean:
        for m in o.metrics:
            if m.name not in PLACEMENT_METRICS:
                cells[m.name][o.workload, o.policy, o.boot].append((o.time, m.value))
    found = {name: _relative(list(of_cell.values())) for name, of_cell in cells.items()}
    seen = {tuple(round(value, 9) for value in values): name for name, values in reversed(found.items())}
    return {name: found[name] for name in found if name in seen.values()}


def _relative(cells: list[list[tuple[Any, float]]]) -> list[float]:
    found = []
    for values in cells:
        mean = statistics.fmean(v for _, v in values)
        if len(values) > 1 and mean:
            found += [(time, v / mean - 1) for time, v in values]
    return [value for _, value in sorted(found)]


def notes(results: Results) -> list[str]:
    """What a reader of intervals should know."""
    orders = {name: order for name, values in residuals(results).items() if (order := of(values))}
    drift = [f"{label(name)} {'grows' if orders[name].tau > 0 else 'falls'} (Kendall's tau {orders[name].tau:+.2f}, p {p:.2g})"
             for name, p in _rejected({name: order.drift_p for name, order in orders.items()})]
    dependent = [f"{label(name)} (p {p:.2g})"
                 for name, p in _rejected({name: order.dependence_p for name, order in orders.items()})]
    found = []
    if drift:
        found.append(f"observations drift over the run: {', '.join(drift)}: blocks take a slow change out of comparisons "
                     "within the run, not out of the means")
    if dependent:
        found.append(f"observations depend on the one before them, by Ljung and Box at lag 1: {', '.join(dependent)}: "
                     "intervals take them as independent")
    return found


def _rejected(ps: dict[str, float]) -> list[tuple[str, float]]:
    return [(name, p) for name, p in zip(ps, holm(list(ps.values())), strict=True) if p < REJECT]
