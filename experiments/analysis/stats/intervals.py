# SPDX-License-Identifier: GPL-2.0-only
"""The statistics of the report. Each function names the source of its formula.

Tested beside R's results of its data sets: see tests/test_reference_r.py.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special, stats

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Holds a mean and its confidence limits; the limits are None where there is only one value."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def half_width(self) -> float | None:
        return None if self.high is None else self.high - self.mean


def compute_t_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Computes mean +- t(1-a/2, n-1) s / sqrt(n). StatisticsError: there are no values.

    Student 1908; NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.5.2.
    """
    n, mean = len(values), statistics.fmean(values)
    if n < 2:
        return Interval(mean, None, None, n)
    half = stats.t.ppf((1 + level) / 2, n - 1) * statistics.stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


@dataclass(frozen=True)
class Difference:
    """Holds mean(b) - mean(a). t, df, p and the limits are None where no test is possible."""

    difference: float
    low: float | None = None
    high: float | None = None
    t: float | None = None
    df: float | None = None
    p: float | None = None


def compare_means(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Difference:
    """Compares two means whose variances may differ; without a test where one has fewer than two values, or nothing varies.

    Welch 1947, with Satterthwaite's degrees of freedom; NIST e-Handbook, section 1.3.5.3.
    """
    difference = statistics.fmean(b) - statistics.fmean(a)
    if len(a) < 2 or len(b) < 2:
        return Difference(difference)
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    if va + vb == 0:
        return Difference(difference)
    error = math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    half = stats.t.ppf((1 + level) / 2, df) * error
    p = 2 * stats.t.sf(abs(difference) / error, df)
    return Difference(difference, difference - half, difference + half, difference / error, df, float(p))


def compare_pairs(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Difference:
    """Compares two means of values that belong together, a block each: Student's t of the differences, None where these do not vary.

    Student 1908; NIST e-Handbook, section 7.3.1.1.
    """
    of = compute_t_interval([y - x for x, y in zip(a, b, strict=True)], level)
    if not of.half_width:
        return Difference(of.mean)
    df = of.n - 1
    t = of.mean / of.half_width * float(stats.t.ppf((1 + level) / 2, df))
    return Difference(of.mean, of.low, of.high, t, df, float(2 * stats.t.sf(abs(t), df)))


@dataclass(frozen=True)
class Ratio:
    """Holds mean(a) / mean(b). The limits are None where there is one value of either, or no bound."""

    value: float
    low: float | None = None
    high: float | None = None

    def excludes(self, value: float) -> bool:
        """Checks whether it has both limits and they do not hold the value."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def compute_ratio(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Ratio | None:
    """Computes mean(a) / mean(b) of independent values, with Fieller's interval by Welch's and Satterthwaite's degrees of freedom.

    Fieller, J. Royal Statistical Society B 16, 1954. None where one has no values, or mean(b) is 0.
    """
    if not (a and b):
        return None
    ma, mb = statistics.fmean(a), statistics.fmean(b)
    if mb == 0:
        return None
    value = ma / mb
    if len(a) < 2 or len(b) < 2:
        return Ratio(value)
    va, vb = _compute_variance(a, ma) / len(a), _compute_variance(b, mb) / len(b)
    scaled = value**2 * vb
    if va + scaled == 0:
        return Ratio(value, value, value)
    df = (va + scaled) ** 2 / (va**2 / (len(a) - 1) + scaled**2 / (len(b) - 1))
    return compute_fieller_ratio(ma, mb, va, vb, 0.0, float(special.stdtrit(df, (1 + level) / 2)))


def _compute_variance(values: Sequence[float], mean: float) -> float:
    """Computes the variance of floats, with one rounding: a report has a hundred thousand, and statistics.variance() is exact and slow."""
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)


def compute_paired_ratio(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Ratio | None:
    """Computes mean(a) / mean(b) of values that belong together, with Fieller's interval; None where mean(b) is 0."""
    n, ma, mb = len(a), statistics.fmean(a), statistics.fmean(b)
    if mb == 0:
        return None
    if n < 2:
        return Ratio(ma / mb)
    va, vb, covariance = (v / n for v in (statistics.variance(a), statistics.variance(b), statistics.covariance(a, b)))
    return compute_fieller_ratio(ma, mb, va, vb, covariance, float(stats.t.ppf((1 + level) / 2, n - 1)))


def compute_fieller_ratio(a: float, b: float, va: float, vb: float, covariance: float, t: float) -> Ratio:
    """Computes a / b of two estimates with their variances and covariance, at the quantile `t` of Student's t; no limits: unbounded."""
    value, scale = a / b, (t / b) ** 2
    g = scale * vb
    if g >= 1:  # the denominator may be 0: nothing bounds the ratio
        return Ratio(value)
    spread = va - 2 * value * covariance + value**2 * vb - scale * (va * vb - covariance**2)
    half, middle = t / abs(b) * math.sqrt(max(0.0, spread)), value - scale * covariance
    return Ratio(value, (middle - half) / (1 - g), (middle + half) / (1 - g))


def adjust_p_values(ps: Sequence[float | None]) -> list[float | None]:
    """Adjusts p values; None stays None and is not counted as a test. Holm 1979."""
    order = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    floor = 0.0
    for rank, (p, i) in enumerate(order):
        floor = max(floor, min(1.0, (len(order) - rank) * p))
        adjusted[i] = floor
    return adjusted
