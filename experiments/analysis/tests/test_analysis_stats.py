# SPDX-License-Identifier: GPL-2.0-only
"""The statistics against published worked examples.

* Student's sleep data (Student, "The probable error of a mean", Biometrika 6, 1908; `sleep` in R):
  R's documented output of t.test() gives the paired interval and Welch's test.
* Fieller's interval: by its definition, and where it must reduce to Student's.
* Holm: four p values, worked by hand below.
"""

import math
import statistics

import pytest
from scipy import stats as scipy_stats

from experiments.analysis.stats.intervals import adjust_p_values, compare_means, compute_ratio, compute_t_interval

SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_interval_by_hand() -> None:
    # mean 10, s = sqrt(((-2)^2 + 0 + 2^2) / 2) = 2, t(0.975, 2) = 4.302653 (tables), n = 3
    interval = compute_t_interval([8.0, 10.0, 12.0])
    half = 4.302653 * 2 / math.sqrt(3)
    assert (interval.mean, interval.n) == (10, 3)
    assert interval.low == pytest.approx(10 - half, abs=1e-6)
    assert interval.high == pytest.approx(10 + half, abs=1e-6)


def test_interval_published_sleep() -> None:
    interval = compute_t_interval([b - a for a, b in zip(SLEEP_1, SLEEP_2)])
    assert interval.mean == pytest.approx(1.58)
    assert (interval.low, interval.high) == pytest.approx((0.7001142, 2.4598858), abs=5e-8)


def test_interval_of_one_value_has_no_limits() -> None:
    interval = compute_t_interval([5.0])
    assert (interval.mean, interval.low, interval.high, interval.n) == (5, None, None, 1)


def test_interval_of_equal_values_is_a_point() -> None:
    interval = compute_t_interval([4.0, 4.0, 4.0])
    assert (interval.low, interval.high) == (4, 4)


def test_welch_published_sleep() -> None:
    test = compare_means(SLEEP_2, SLEEP_1)  # R: group 1 minus group 2
    assert test.t == pytest.approx(-1.8608, abs=5e-5)
    assert test.df == pytest.approx(17.776, abs=5e-4)
    assert test.p == pytest.approx(0.07939, abs=5e-6)
    assert (test.low, test.high) == pytest.approx((-3.3654832, 0.2054832), abs=5e-8)


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([2.0, 2.0], [3.0, 3.0])])
def test_welch_without_spread_has_no_p(a: list[float], b: list[float]) -> None:
    test = compare_means(a, b)
    assert test.p is None and test.t is None
    assert test.difference == pytest.approx(sum(b) / len(b) - sum(a) / len(a))


def test_holm_by_hand() -> None:
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 = 0.02, 0.03, 0.06, 0.04; the last may not
    # be smaller than the one before: 0.06
    assert adjust_p_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


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
