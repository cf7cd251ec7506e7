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
MAX_ITERATIONS = 400  # of reweighted least squares; where a solution is not unique it never converges
MIN_BEYOND = 10  # observations beyond a quantile: with fewer its interval is missing or far too wide
MIN_SPARE = 10  # observations more than parameters
LEVEL = 0.95
MAX_CHANGES = 4


@dataclass(frozen=True)
class Slope:
    """The change of the response; tau is None for least squares."""

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
) -> tuple[Comparison, ...] | str:
    """The coefficients of `focus` in response ~ focus + others, for each tau and for the mean.

    A numeric focus gives the change for each 1; one of words the change from `base`, or the first
    by name, to each other level.
    """
    others = [o for o in others if frame[o].nunique() > 1]
    columns = _columns(frame[focus], base)
    if not 1 <= len(columns) <= MAX_CHANGES:
        return f"{focus} has {len(columns) + 1} levels, 2 to {MAX_CHANGES + 1} can be compared"
    data = pd.DataFrame({"response": frame[response]})
    for i, column in enumerate(columns.values()):
        data[f"focus{i}"] = column
    for other in others:
        data[other] = frame[other].astype(str)
    terms = [f"focus{i}" for i in range(len(columns))] + [f"C(Q('{o}'))" for o in others]
    spare = len(data) - 1 - len(columns) - sum(frame[o].nunique() - 1 for o in others)
    if spare < MIN_SPARE:
        return f"too few observations ({len(data)}): {MIN_SPARE} more than parameters are needed"
    fits = _fits(f"response ~ {' + '.join(terms)}", data)
    return tuple(
        Comparison(response, f"{focus}{change}", len(data),
                   tuple(_slope(tau, fit, f"focus{i}") for tau, fit in fits))
        for i, change in enumerate(columns)
    )


def _columns(focus: pd.Series, base: str | None) -> dict[str, pd.Series]:
    """What to regress on, named by the change that its coefficient is."""
    levels = sorted(set(focus), key=lambda level: (str(level) != base, level))
    if pd.api.types.is_numeric_dtype(focus):
        return {", for each 1": focus} if len(levels) > 1 else {}
    return {f": {levels[0]} → {level}": (focus == level).astype(float) for level in levels[1:]}


def _fits(formula: str, data: pd.DataFrame) -> list[tuple[float | None, Any]]:
    from statsmodels.formula.api import ols, quantreg

    model = quantreg(formula, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a solution that is not unique
        found = [(tau, model.fit(q=tau, max_iter=MAX_ITERATIONS)) for tau in TAUS
                 if round(len(data) * min(tau, 1 - tau), 9) >= MIN_BEYOND]
    return [(None, ols(formula, data).fit()), *found]


def _slope(tau: float | None, fit: Any, name: str) -> Slope:
    low, high = fit.conf_int(alpha=1 - LEVEL).loc[name]
    low, high = (float(end) if math.isfinite(end) else None for end in (low, high))
    return Slope(tau, float(fit.params[name]), low, high)
