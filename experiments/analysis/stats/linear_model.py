# SPDX-License-Identifier: GPL-2.0-only
"""Full-factorial linear models: analysis of variance, effects, contrasts, residuals.

Tested against NIST's certified SiRstv, Moore and Krupat's data, and Jain's worked 2x2 designs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy
import pandas as pd
from scipy import stats

from ..runs.results import natural
from .intervals import Ratio, fieller, holm

MIN_RESIDUAL_DF = 4
MIN_TEST_DF = 20  # of the error, before tests of the residuals tell anything: with fewer they reject hardly ever
TOO_FEW = "too few observations"
REJECT = 0.05
LEVELS = (0.90, 0.95)


@dataclass(frozen=True)
class Model:
    """A fit of `response` (or of its natural logarithm) on the interactions of `factors`.

    Up to `order` factors: of all of them, where there are enough repeats to tell an error.
    """

    response: str
    factors: tuple[str, ...]
    blocks: tuple[str, ...]
    log: bool
    order: int
    fit: Any
    normal_p: float  # Shapiro and Wilk
    even_p: float    # Breusch and Pagan
    plain: tuple[float, float]  # the two of the untransformed response

    @property
    def pooled(self) -> bool:
        """Interactions are the error, because there are too few repeats."""
        return self.order < len(self.factors)

    @property
    def tests_tell(self) -> bool:
        return self.fit.df_resid >= MIN_TEST_DF

    @property
    def formula(self) -> str:
        left = f"ln({self.response})" if self.log else self.response
        right = " * ".join(self.factors)
        if self.order == 1:
            right = " + ".join(self.factors)
        elif self.order < len(self.factors):
            right = f"({' + '.join(self.factors)})^{self.order}"
        return f"{left} ~ {right}" + "".join(f" + {b}" for b in self.blocks)


def fit(
    frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: Sequence[str] = (), log: bool | None = None
) -> Model | str:
    """Ordinary least squares; on logarithms where the plain residuals ask for it, or as `log` says.

    They ask where Shapiro and Wilk (1965) reject that they are normal, or Breusch and Pagan, in
    Koenker's form (1981), that their variance is the same along the fitted values, at 0.05; and
    the logarithm stays where the smaller of its two p values is the better one.
    Without enough repeats the interactions of most factors are the error (Jain 1991, section 21.1).
    Returns the reason where the data does not allow a model.
    """
    factors = tuple(f for f in factors if frame[f].nunique() > 1)
    blocks = tuple(b for b in blocks if frame[b].nunique() > 1)
    if not factors:
        return "nothing was varied"
    for order in range(len(factors), 0, -1):
        found = _fit(frame, response, factors, blocks, order, log=False)
        if not isinstance(found, str) or TOO_FEW not in found:
            break
    if isinstance(found, str):
        return found
    plain, positive = _tests(found), bool((frame[response] > 0).all())
    if log and not positive:
        return "a value is not above 0, so it has no logarithm"
    if log or (log is None and min(plain) < REJECT and positive):
        other = _fit(frame, response, factors, blocks, order, log=True)
        if log and isinstance(other, str):
            return other
        if not isinstance(other, str) and (log or min(_tests(other)) > min(plain)):
            return Model(response, factors, blocks, True, order, other, *_tests(other), plain)
    return Model(response, factors, blocks, False, order, found, *plain, plain)


def _fit(
    frame: pd.DataFrame, response: str, factors: Sequence[str], blocks: Sequence[str], order: int,
    log: bool,
) -> Any:
    from statsmodels.formula.api import ols

    data = pd.DataFrame({f: frame[f].astype(str) for f in [*factors, *blocks]})
    data["response"] = numpy.log(frame[response]) if log else frame[response]
    terms = " + ".join(f"C(Q('{f}'), Sum)" for f in factors)
    terms = f"({terms})**{order}"
    terms += "".join(f" + C(Q('{b}'), Sum)" for b in blocks)
    model = ols(f"response ~ {terms}", data)
    if numpy.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
        return "a combination has no clean observation"
    found = model.fit()
    if found.df_resid < MIN_RESIDUAL_DF:
        return (
            f"{TOO_FEW} ({len(frame)}): degrees of freedom for the error "
            f"{int(found.df_resid)}, wanted {MIN_RESIDUAL_DF}"
        )
    if found.ssr <= 1e-12 * max(found.centered_tss, 1e-300):
        return "repeats do not differ: no error to compare with"
    return found


def _tests(found: Any) -> tuple[float, float]:
    from statsmodels.stats.diagnostic import het_breuschpagan

    normal = float(stats.shapiro(found.resid).pvalue)
    fitted = numpy.asarray(found.fittedvalues)
    if numpy.ptp(fitted) <= 1e-9 * max(1e-300, abs(fitted).max()):
        return normal, 1.0
    design = numpy.column_stack([numpy.ones(len(fitted)), fitted])
    return normal, float(het_breuschpagan(numpy.asarray(found.resid), design)[1])


@dataclass(frozen=True)
class Term:
    name: str
    sum_sq: float
    df: float
    f: float | None
    p: float | None
    share: float


def anova(model: Model) -> tuple[Term, ...]:
    """Type II: each term is adjusted for all others that do not contain it.

    Yates 1934; Langsrud, Statistics and Computing 13, 2003. Share, the percentage of variation:
    sum of squares / total sum of squares (Jain 1991, chapters 17 to 22).
    """
    from statsmodels.stats.anova import anova_lm

    table = anova_lm(model.fit, typ=2)
    total = model.fit.centered_tss
    return tuple(
        Term(
            _plain(name),
            float(row["sum_sq"]),
            float(row["df"]),
            _number(row["F"]),
            _number(row["PR(>F)"]),
            float(row["sum_sq"] / total),
        )
        for name, row in table.iterrows()
    )


def additive_p(model: Model) -> float | None:
    """Whether what was left out of the model is like a product of its terms; None where nothing is left to tell.

    Tukey, "One degree of freedom for non-additivity", Biometrics 5, 1949: the square of the fitted values.
    """
    fitted = numpy.asarray(model.fit.fittedvalues)
    design = numpy.column_stack([model.fit.model.exog, (fitted - fitted.mean()) ** 2])
    df = model.fit.df_resid - 1
    if df < 1 or numpy.linalg.matrix_rank(design) <= numpy.linalg.matrix_rank(model.fit.model.exog):
        return None
    (_, left, _, _) = numpy.linalg.lstsq(design, numpy.asarray(model.fit.model.endog), rcond=None)
    rest = float(left[0]) if len(left) else 0.0
    return float(stats.f.sf((model.fit.ssr - rest) / (rest / df), 1, df)) if rest else 0.0


def _plain(name: str) -> str:
    """C(Q('policy'), Sum):C(Q('workload'), Sum) -> policy x workload."""
    parts = [part.split("'")[1] if "'" in part else part for part in name.split(":")]
    return " × ".join(parts)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


@dataclass(frozen=True)
class Estimate:
    """A linear function of the model's parameters, with its limits at each of LEVELS."""

    value: float
    error: float
    limits: dict[float, tuple[float, float]]
    p: float

    def apart(self, level: float) -> bool:
        """The interval does not hold 0."""
        low, high = self.limits[level]
        return low > 0 or high < 0


def _estimate(model: Model, weights: numpy.ndarray) -> Estimate:
    test = model.fit.t_test(weights)
    limits = {}
    for level in LEVELS:
        low, high = numpy.atleast_2d(test.conf_int(alpha=1 - level))[0]
        limits[level] = (float(low), float(high))
    return Estimate(
        float(numpy.squeeze(test.effect)), float(numpy.squeeze(test.sd)), limits,
        float(numpy.squeeze(test.pvalue)),
    )


class _Cells:
    """The design rows of all combinations of levels, each with the same weight, blocks averaged."""

    def __init__(self, model: Model) -> None:
        from patsy import dmatrix

        data = model.fit.model.data
        names = [*model.factors, *model.blocks]
        levels = {name: _levels(data.frame[name]) for name in names}
        grid = pd.MultiIndex.from_product(levels.values(), names=names).to_frame(index=False)
        self.levels, self.grid = levels, grid
        # statsmodels before 0.15, as in Debian 12 and 13, has it by the name that patsy gives it.
        spec = data.model_spec if hasattr(data, "model_spec") else data.design_info
        self.rows = numpy.asarray(dmatrix(spec, grid))

    def mean(self, **chosen: str) -> numpy.ndarray:
        keep = numpy.ones(len(self.grid), bool)
        for name, level in chosen.items():
            keep &= (self.grid[name] == level).to_numpy()
        return self.rows[keep].mean(axis=0)


def _levels(column: pd.Series) -> list[str]:
    return sorted(column.unique(), key=natural)


@dataclass(frozen=True)
class Effect:
    """How far a level, or a pair of levels beyond its two effects, is from the grand mean."""

    term: str
    level: str
    estimate: Estimate


def effects(model: Model, pairs: bool = True) -> tuple[Estimate, tuple[Effect, ...]]:
    """Grand mean and effects: marginal mean - grand mean (Jain 1991, sections 18.2 and 22.3).

    With `pairs`, the interactions of two factors too. On logarithms they are factors' logarithms.
    """
    cells = _Cells(model)
    grand = cells.mean()
    found = [
        Effect(f, level, _estimate(model, cells.mean(**{f: level}) - grand))
        for f in model.factors
        for level in cells.levels[f]
    ]
    for a, b in combinations(model.factors, 2) if pairs and model.order > 1 else ():
        for x in cells.levels[a]:
            for y in cells.levels[b]:
                weights = (
                    cells.mean(**{a: x, b: y}) - cells.mean(**{a: x}) - cells.mean(**{b: y}) + grand
                )
                found.append(Effect(f"{a} × {b}", f"{x}, {y}", _estimate(model, weights)))
    return _estimate(model, grand), tuple(found)


@dataclass(frozen=True)
class Contrast:
    """second - first, over all combinations of the other factors."""

    factor: str
    first: str
    second: str
    estimate: Estimate
    p_holm: float


def contrasts(model: Model, factor: str, base: str | None = None) -> tuple[Contrast, ...]:
    """Every pair of levels of a factor, or every level against `base`; p adjusted by Holm."""
    cells = _Cells(model)
    levels = cells.levels[factor]
    pairs = (
        [(base, level) for level in levels if level != base]
        if base in levels
        else list(combinations(levels, 2))
    )
    estimates = [
        _estimate(model, cells.mean(**{factor: b}) - cells.mean(**{factor: a})) for a, b in pairs
    ]
    adjusted = holm([e.p for e in estimates])
    return tuple(
        Contrast(factor, a, b, estimate, p)
        for (a, b), estimate, p in zip(pairs, estimates, adjusted, strict=True)
    )


def relative(model: Model, factor: str, level: str, base: str, confidence: float) -> Ratio | None:
    """Marginal mean of a level / of the base, with Fieller's interval; of logarithms, geometric
    means. None where one of them was not measured."""
    cells = _Cells(model)
    if not {level, base} <= set(cells.levels.get(factor, ())):
        return None
    rows = numpy.array([cells.mean(**{factor: name}) for name in (level, base)])
    a, b = (float(mean) for mean in rows @ numpy.asarray(model.fit.params))
    (va, both), (_, vb) = rows @ numpy.asarray(model.fit.cov_params()) @ rows.T
    t = float(stats.t.ppf((1 + confidence) / 2, model.fit.df_resid))
    if not model.log:
        return fieller(a, b, float(va), float(vb), float(both), t) if b else None
    half = t * math.sqrt(va - 2 * both + vb)
    return Ratio(math.exp(a - b), math.exp(a - b - half), math.exp(a - b + half))


def explained(model: Model, term: Term, confidence: float) -> Ratio:
    """The share of a factor of two levels, and what it would be at the ends of its contrast's
    interval, with all other variation as it is."""
    rest = (model.fit.centered_tss - term.sum_sq) / model.fit.mse_resid
    t, half = math.sqrt(term.f or 0), float(stats.t.ppf((1 + confidence) / 2, model.fit.df_resid))
    low, high = max(0.0, t - half) ** 2, (t + half) ** 2
    return Ratio(term.share, low / (low + rest), high / (high + rest))


@dataclass(frozen=True)
class Residuals:
    """For the two plots: residuals over fitted values, and ordered over normal quantiles."""

    fitted: tuple[float, ...]
    residuals: tuple[float, ...]
    normal: tuple[float, ...]
    ordered: tuple[float, ...]
    slope: float
    intercept: float


def residuals(model: Model) -> Residuals:
    """Normal quantiles at Filliben's median ranks (1975); the line is their least-squares fit."""
    (normal, ordered), (slope, intercept, _) = stats.probplot(numpy.asarray(model.fit.resid))
    return Residuals(
        tuple(map(float, model.fit.fittedvalues)), tuple(map(float, model.fit.resid)),
        tuple(map(float, normal)), tuple(map(float, ordered)), float(slope), float(intercept),
    )
