# SPDX-License-Identifier: GPL-2.0-only
"""The statistics of the report. Each function names the source of its formula.

Tested against published worked examples: see tests/test_analysis_stats.py.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from scipy import stats

LEVEL = 0.95
MIN_RESIDUAL_DF = 4


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence limits; the limits are None where there is only one value."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        return None if self.high is None else self.high - self.mean


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """mean +- t(1-a/2, n-1) s / sqrt(n).

    Student 1908; NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.2.
    """
    n, mean = len(values), statistics.fmean(values)
    if n < 2:
        return Interval(mean, None, None, n)
    half = stats.t.ppf((1 + level) / 2, n - 1) * statistics.stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


@dataclass(frozen=True)
class Welch:
    """mean(b) - mean(a). t, df, p and the limits are None where no test is possible."""

    difference: float
    low: float | None = None
    high: float | None = None
    t: float | None = None
    df: float | None = None
    p: float | None = None


def welch(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Welch:
    """Two means whose variances may differ.

    Welch 1947, with Satterthwaite's degrees of freedom; NIST e-Handbook, section 1.3.5.3.
    """
    difference = statistics.fmean(b) - statistics.fmean(a)
    if len(a) < 2 or len(b) < 2:
        return Welch(difference)
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    if va + vb == 0:
        return Welch(difference)
    error = math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    half = stats.t.ppf((1 + level) / 2, df) * error
    p = 2 * stats.t.sf(abs(difference) / error, df)
    return Welch(difference, difference - half, difference + half, difference / error, df, float(p))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values; None stays None and is not counted as a test. Holm 1979."""
    order = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    floor = 0.0
    for rank, (p, i) in enumerate(order):
        floor = max(floor, min(1.0, (len(order) - rank) * p))
        adjusted[i] = floor
    return adjusted


@dataclass(frozen=True)
class Term:
    name: str
    sum_sq: float
    df: float
    f: float | None
    p: float | None
    share: float


@dataclass(frozen=True)
class Anova:
    terms: tuple[Term, ...]
    n: int
    log: bool
    shapiro_p: float
    model: str


def anova(
    frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: Sequence[str] = ()
) -> Anova | str:
    """Type II analysis of variance: full factorial in `factors`, `blocks` added to it.

    Type II: each term is adjusted for all others that do not contain it (Yates 1934; Langsrud,
    Statistics and Computing 13, 2003). Share: sum of squares / total (Jain 1991, chapter 20).
    Returns the reason where the data does not allow it.
    """
    factors = [f for f in factors if frame[f].nunique() > 1]
    blocks = [b for b in blocks if frame[b].nunique() > 1]
    if not factors:
        return "nothing was varied"
    model = " * ".join(factors) + "".join(f" + {b}" for b in blocks)
    fit = _fit(frame, response, factors, blocks, log=False)
    if isinstance(fit, str):
        return fit
    log, shapiro_p = False, _normality(fit)
    if shapiro_p < 0.05 and (frame[response] > 0).all():
        other = _fit(frame, response, factors, blocks, log=True)
        if _normality(other) > shapiro_p:
            fit, log, shapiro_p = other, True, _normality(other)
    return Anova(_terms(fit), len(frame), log, shapiro_p, f"{response} ~ {model}")


def _fit(
    frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: Sequence[str], log: bool
):
    import numpy
    from statsmodels.formula.api import ols

    data = pd.DataFrame({f: frame[f].astype(str) for f in [*factors, *blocks]})
    data["response"] = numpy.log(frame[response]) if log else frame[response]
    terms = " * ".join(f"C(Q('{f}'), Sum)" for f in factors)
    terms += "".join(f" + C(Q('{b}'), Sum)" for b in blocks)
    model = ols(f"response ~ {terms}", data)
    if numpy.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        return "a combination has no clean observation"
    fit = model.fit()
    if fit.df_resid < MIN_RESIDUAL_DF:
        return (
            f"too few observations ({len(frame)}): degrees of freedom for the error "
            f"{int(fit.df_resid)}, wanted {MIN_RESIDUAL_DF}"
        )
    if fit.ssr <= 1e-12 * max(fit.centered_tss, 1e-300):
        return "repeats do not differ: no error to compare with"
    return fit


def _normality(fit) -> float:
    """Shapiro and Wilk 1965, on the residuals."""
    return float(stats.shapiro(fit.resid).pvalue)


def _terms(fit) -> tuple[Term, ...]:
    from statsmodels.stats.anova import anova_lm

    table = anova_lm(fit, typ=2)
    total = fit.centered_tss
    return tuple(
        Term(
            _plain(name),
            row["sum_sq"],
            row["df"],
            _number(row["F"]),
            _number(row["PR(>F)"]),
            row["sum_sq"] / total,
        )
        for name, row in table.iterrows()
    )


def _plain(name: str) -> str:
    """C(Q('policy'), Sum):C(Q('workload'), Sum) -> policy x workload."""
    parts = [part.split("'")[1] if "'" in part else part for part in name.split(":")]
    return " × ".join(parts)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
