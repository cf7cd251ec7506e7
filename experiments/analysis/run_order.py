# SPDX-License-Identifier: GPL-2.0-only
"""Whether observations depend on when they were made: drift over the run, and each on the one before it.

Of each cell's first metric, relative to the cell's mean, in the order of the run. Drift: Kendall's rank correlation
with time (Mann, Econometrica 13, 1945). Dependence: Ljung and Box, Biometrika 65, 1978, at lag 1.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from .results import Results

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


def residuals(results: Results) -> list[float]:
    cells = defaultdict(list)
    for o in results.clean:
        if o.metrics:
            cells[o.workload, o.policy].append((o.order, o.metrics[0].value))
    found = []
    for values in cells.values():
        mean = statistics.fmean(v for _, v in values)
        if len(values) > 1 and mean:
            found += [(order, v / mean - 1) for order, v in values]
    return [value for _, value in sorted(found)]


def notes(results: Results) -> list[str]:
    """What a reader of intervals should know."""
    order = of(residuals(results))
    found = []
    if order and order.drift_p < REJECT:
        found.append(f"observations {'grow' if order.tau > 0 else 'fall'} over the run (Kendall's tau "
                     f"{order.tau:+.2f}, p {order.drift_p:.2g}): blocks take a slow change out of comparisons within "
                     "the run, not out of the means")
    if order and order.dependence_p < REJECT:
        found.append(f"observations depend on the one before them (Ljung and Box at lag 1, p {order.dependence_p:.2g}): "
                     "intervals take them as independent")
    return found
