# SPDX-License-Identifier: GPL-2.0-only
"""Deters' analysis of variance, by statsmodels: of a factorial design, plain or of the natural logarithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import pandas as pd

MIN_RESIDUAL_DF = 4
ROUNDING = 1e-12  # of the total sum of squares: an error no larger is that of the computation
TOO_FEW = "too few observations"


@dataclass(frozen=True)
class Model:
    """Holds a fit of a response by factors and their interactions."""

    pooled: bool  # interactions of many factors are in the error, because there are too few repeats
    fit: Any      # of statsmodels


@dataclass(frozen=True)
class Term:
    name: str
    sum_sq: float
    df: float
    f: float | None  # None of the error
    p: float | None
    share: float     # of the total sum of squares


def fit_model(frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: Sequence[str] = (),
              log: bool = False) -> Model | str:
    """Fits ordinary least squares of a response, or its logarithm, by factors and their interactions, and by blocks, which have none;
    returns the model, or why the data allows none. Columns of one level are left out."""
    factors = [f for f in factors if frame[f].nunique() > 1]
    blocks = [b for b in blocks if frame[b].nunique() > 1]
    if not factors:
        return "nothing was varied"
    for order in range(len(factors), 0, -1):
        found = _fit_order(frame, response, factors, blocks, order, log)
        if not isinstance(found, str) or TOO_FEW not in found:
            break
    return found if isinstance(found, str) else Model(pooled=order < len(factors), fit=found)


def _fit_order(frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: Sequence[str], order: int, log: bool) -> Any:
    """Fits interactions of up to `order` factors by statsmodels; returns its fit, or why the data allows none."""
    from statsmodels.formula.api import ols

    if log and not (frame[response] > 0).all():
        return "a value is not above 0, so it has no logarithm"
    data = pd.DataFrame({f: frame[f].astype(str) for f in [*factors, *blocks]})
    data["response"] = numpy.log(frame[response]) if log else frame[response]
    terms = " + ".join(_code_factor(f) for f in factors)
    model = ols(f"response ~ ({terms})**{order}" + "".join(f" + {_code_factor(b)}" for b in blocks), data)
    if numpy.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        return "a combination has no clean observation"
    found = model.fit()
    if found.df_resid < MIN_RESIDUAL_DF:
        return f"{TOO_FEW} ({len(frame)}): degrees of freedom for the error {int(found.df_resid)}, wanted {MIN_RESIDUAL_DF}"
    if found.ssr <= ROUNDING * max(found.centered_tss, 1e-300):
        return "repeats do not differ: no error to compare with"
    return found


def _code_factor(factor: str) -> str:
    return f"C(Q('{factor}'), Sum)"


def compute_anova(model: Model) -> list[Term]:
    """Computes the terms of a Type II table, the error last: named 'Residual', an interaction 'A × B'."""
    from statsmodels.stats.anova import anova_lm

    def name_term(text: str) -> str:
        return " × ".join(part.split("'")[1] if "'" in part else part for part in text.split(":"))

    def convert_number(value: float) -> float | None:
        return None if math.isnan(value) else float(value)

    return [Term(name_term(text), float(row["sum_sq"]), float(row["df"]), convert_number(row["F"]), convert_number(row["PR(>F)"]),
                 float(row["sum_sq"] / model.fit.centered_tss)) for text, row in anova_lm(model.fit, typ=2).iterrows()]
