# SPDX-License-Identifier: GPL-2.0-only
"""Whether an observation had come to its steady state: its first samples against its last ones.

Of each observation, the mean of the first tenth of each thread's samples over that of the last half, as Geweke has them
(Bayesian Statistics 4, 1992). Student's t tests over the observations of a cell, which are independent where samples are
not, whether the ratio's logarithm is 0; Holm's correction is over the cells. Where they
differ, the mean has samples of another state in it: a longer warm-up leaves them out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..runs.boots import boot_means
from ..runs.results import Observation, Results
from ..stats.intervals import holm, paired

FIRST, LAST = 0.1, 0.5  # parts of the samples
LEAST = 20              # samples of a thread
REJECT = 0.01
MATTERS = 0.01          # of the ratio: a smaller difference is hardly in the mean, of which a tenth is the first part


@dataclass(frozen=True)
class Cell:
    workload: str
    policy: str
    ratio: float     # first over last
    n: int           # observations, or boots
    p: float | None  # Holm's

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p < REJECT and abs(self.ratio - 1) > MATTERS


def of(o: Observation) -> float | None:
    """The logarithm of an observation's ratio; None without enough samples."""
    threads = [samples for task in o.tasks for samples in _samples(task) if len(samples) >= LEAST]
    if not threads:
        return None
    first = fmean(fmean(samples[:math.ceil(FIRST * len(samples))]) for samples in threads)
    last = fmean(fmean(samples[-math.floor(LAST * len(samples)):]) for samples in threads)
    return math.log(first / last) if first > 0 and last > 0 else None


def _samples(task: dict[str, Any]) -> Iterable[list[float]]:
    details = task.get("details")
    return (details.get("samples_ns") or []) if isinstance(details, dict) else []


def cells(results: Results) -> list[Cell]:
    """Those that have samples."""
    known: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for o in results.clean:
        if (found := of(o)) is not None:
            known.setdefault((o.workload, o.policy), []).append((found, o.boot))
    logs = {cell: _independent(found) for cell, found in known.items()}
    ps = holm([paired([0.0] * len(values), values).p for values in logs.values()])
    return [Cell(*cell, math.exp(fmean(values)), len(values), p)
            for (cell, values), p in zip(logs.items(), ps, strict=True)]


def _independent(found: list[tuple[float, str]]) -> list[float]:
    values, boots = zip(*found, strict=True)
    means = boot_means(values, boots)
    return list(means.values()) if len(means) > 1 else list(values)


def notes(results: Results) -> list[str]:
    """The cells that had not come to their steady state."""
    differ = [cell for cell in cells(results) if cell.differs]
    if not differ:
        return []
    told = ", ".join(f"{c.workload} / {c.policy} {100 * (c.ratio - 1):+.1f} % (n {c.n}, p {c.p:.2g})" for c in differ)
    return [f"the first tenth of the samples within an observation takes another time than the last half, so the "
            f"warm-up may be too short: {told}"]
