# SPDX-License-Identifier: GPL-2.0-only
"""The statistics of too few or equal values, and Fieller's interval by its definition; the rest is in test_reference_r.py."""

import math
import statistics

import pytest
from scipy import stats as scipy_stats

from experiments.analysis.stats.intervals import adjust_p_values, compare_means, compute_ratio, compute_t_interval


def test_interval_of_equal_values_is_a_point() -> None:
    interval = compute_t_interval([4.0, 4.0, 4.0])
    assert (interval.low, interval.high) == (4, 4)


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([2.0, 2.0], [3.0, 3.0])])
def test_welch_without_spread_has_no_p(a: list[float], b: list[float]) -> None:
    test = compare_means(a, b)
    assert test.p is None and test.t is None
    assert test.difference == pytest.approx(sum(b) / len(b) - sum(a) / len(a))


def test_holm_ignores_missing_tests_and_stops_at_one() -> None:
    assert adjust_p_values([None, 0.02, 0.9, None]) == [None, pytest.approx(0.04), pytest.approx(0.9), None]
    assert adjust_p_values([0.8, 0.9]) == [1.0, 1.0]


def exact(mean: float, deviation: float, n: int) -> list[float]:
    """n values with just that mean and standard deviation."""
    raw = [float(i) for i in range(n)]
    middle, spread = statistics.fmean(raw), statistics.stdev(raw)
    return [mean + deviation * (v - middle) / spread for v in raw]


def test_fieller_limits_are_where_the_test_turns() -> None:
    """A limit r is where mean(a) - r mean(b) is just t standard errors from 0."""
    a, b = exact(30, 2.0, 6), exact(20, 1.5, 4)
    found = compute_ratio(a, b)
    va, vb = 4 / 6, 2.25 / 4
    df = (va + found.value**2 * vb) ** 2 / (va**2 / 5 + (found.value**2 * vb) ** 2 / 3)
    t = float(scipy_stats.t.ppf(0.975, df))
    assert found.value == pytest.approx(1.5) and found.low < 1.5 < found.high
    for r in (found.low, found.high):
        assert abs(30 - r * 20) / math.sqrt(va + r**2 * vb) == pytest.approx(t)


def test_fieller_with_a_certain_denominator_is_students_interval() -> None:
    a = exact(30, 2.0, 6)
    found, student = compute_ratio(a, [20.0, 20.0]), compute_t_interval(a)
    assert (found.low, found.high) == pytest.approx((student.low / 20, student.high / 20))


def test_fieller_without_a_bound() -> None:
    assert compute_ratio([1.0], [2.0, 3.0]) == compute_ratio([1.0], [2.5])  # one value: no interval
    noisy = compute_ratio([1.0, 2.0, 3.0], [-1.0, 0.5, 2.0])  # the denominator may be 0
    assert noisy.value == pytest.approx(4) and noisy.low is None
    assert compute_ratio([1.0, 2.0], [0.0, 0.0]) is None
