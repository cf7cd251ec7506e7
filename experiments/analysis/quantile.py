# SPDX-License-Identifier: GPL-2.0-only
"""Quantile regression beside ordinary least squares: does a factor act on the tail as on the mean?

Koenker and Bassett, Econometrica 46, 1978. Tested against Engel's data as R's quantreg prints it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

TAUS = (0.1, 0.25, 0.5, 0.75, 0.9)
MAX_ITERATIONS = 400  # of reweighted least squares; where a solution is not unique it never settles
MIN_SPARE = 10  # observations more than parameters
LEVEL = 0.95


@dataclass(frozen=True)
class Slope:
    """What the response changes by; tau is None for least squares."""

    tau: float | None
    value: float
    low: float | None  # None where too few observations are near the quantile
    high: float | None


@dataclass(frozen=True)
class Comparison:
    response: str
    change: str  # "memory: local -> remote", or "income, for each 1"
    n: int
    slopes: tuple[Slope, ...]


def beside_ols(
    frame: pd.DataFrame, response: str, focus: str, others: Sequence[str] = (),
    base: str | None = None,
) -> Comparison | str:
    """The coefficient of `focus` in response ~ focus + others, for each tau and for the mean.

    A numeric focus gives the change for each 1, one with two levels from `base`, or the first
    by name, to the other.
    """
    others = [o for o in others if frame[o].nunique() > 1]
    levels = list(dict.fromkeys(frame[focus]))
    if pd.api.types.is_numeric_dtype(frame[focus]) and len(levels) > 1:
        column, change = frame[focus], f"{focus}, for each 1"
    elif len(levels) == 2:
        first, second = sorted(levels, key=lambda level: (level != base, level))
        column, change = (frame[focus] == second).astype(float), f"{focus}: {first} → {second}"
    else:
        return f"{focus} has {len(levels)} levels: a slope needs two, or numbers"
    data = pd.DataFrame({"response": frame[response], "focus": column})
    for other in others:
        data[other] = frame[other].astype(str)
    formula = "response ~ focus" + "".join(f" + C(Q('{o}'))" for o in others)
    spare = len(data) - 2 - sum(frame[o].nunique() - 1 for o in others)
    if spare < MIN_SPARE:
        return f"too few observations ({len(data)}): {MIN_SPARE} more than parameters are needed"
    return Comparison(response, change, len(data), _slopes(formula, data))


def _slopes(formula: str, data: pd.DataFrame) -> tuple[Slope, ...]:
    from statsmodels.formula.api import ols, quantreg

    model = quantreg(formula, data)
    found = [_slope(None, ols(formula, data).fit())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a solution that is not unique
        found += [_slope(tau, model.fit(q=tau, max_iter=MAX_ITERATIONS)) for tau in TAUS]
    return tuple(found)


def _slope(tau: float | None, fit: Any) -> Slope:
    low, high = fit.conf_int(alpha=1 - LEVEL).loc["focus"]
    low, high = (float(end) if math.isfinite(end) else None for end in (low, high))
    return Slope(tau, float(fit.params["focus"]), low, high)
