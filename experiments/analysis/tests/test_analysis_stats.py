# SPDX-License-Identifier: GPL-2.0-only
"""The statistics against published worked examples.

* Student's sleep data (Student, "The probable error of a mean", Biometrika 6, 1908; `sleep` in R):
  R's documented output of t.test() gives the paired interval and Welch's test.
* Moore and Krupat's conformity data (`Moore` in R's carData; Fox and Weisberg, "An R Companion to
  Applied Regression"): unbalanced two-way Type II table as printed in statsmodels' ANOVA page and
  by car::Anova in R.
* Holm: four p values, worked by hand below.
"""

from __future__ import annotations

import math
import random

import pandas as pd
import pytest

from experiments.analysis.stats import Anova, anova, holm, t_interval, welch

SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

# conformity by partner's status and authoritarianism
MOORE = {
    ("low", "low"): [8, 7, 10, 6, 13, 12, 7, 6, 8, 12],
    ("low", "medium"): [12, 4, 4, 9],
    ("low", "high"): [4, 8, 13, 9, 24, 7, 23, 13],
    ("high", "low"): [21, 23, 15, 12, 16],
    ("high", "medium"): [12, 17, 14, 16, 20, 8, 14, 17, 7, 17, 15],
    ("high", "high"): [19, 9, 7, 11, 14, 13, 10],
}


def moore() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"partner": partner, "category": category, "conformity": float(y)}
            for (partner, category), ys in MOORE.items()
            for y in ys
        ]
    )


def test_interval_by_hand() -> None:
    # mean 10, s = sqrt(((-2)^2 + 0 + 2^2) / 2) = 2, t(0.975, 2) = 4.302653 (tables), n = 3
    interval = t_interval([8.0, 10.0, 12.0])
    half = 4.302653 * 2 / math.sqrt(3)
    assert (interval.mean, interval.n) == (10, 3)
    assert interval.low == pytest.approx(10 - half, abs=1e-6)
    assert interval.high == pytest.approx(10 + half, abs=1e-6)


def test_interval_published_sleep() -> None:
    interval = t_interval([b - a for a, b in zip(SLEEP_1, SLEEP_2)])
    assert interval.mean == pytest.approx(1.58)
    assert (interval.low, interval.high) == pytest.approx((0.7001142, 2.4598858), abs=5e-8)


def test_interval_of_one_value_has_no_limits() -> None:
    interval = t_interval([5.0])
    assert (interval.mean, interval.low, interval.high, interval.n) == (5, None, None, 1)


def test_interval_of_equal_values_is_a_point() -> None:
    interval = t_interval([4.0, 4.0, 4.0])
    assert (interval.low, interval.high) == (4, 4)


def test_welch_published_sleep() -> None:
    test = welch(SLEEP_2, SLEEP_1)  # R: group 1 minus group 2
    assert test.t == pytest.approx(-1.8608, abs=5e-5)
    assert test.df == pytest.approx(17.776, abs=5e-4)
    assert test.p == pytest.approx(0.07939, abs=5e-6)
    assert (test.low, test.high) == pytest.approx((-3.3654832, 0.2054832), abs=5e-8)


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([2.0, 2.0], [3.0, 3.0])])
def test_welch_without_spread_has_no_p(a: list[float], b: list[float]) -> None:
    test = welch(a, b)
    assert test.p is None and test.t is None
    assert test.difference == pytest.approx(sum(b) / len(b) - sum(a) / len(a))


def test_holm_by_hand() -> None:
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 = 0.02, 0.03, 0.06, 0.04; the last may not
    # be smaller than the one before: 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_ignores_missing_tests_and_stops_at_one() -> None:
    assert holm([None, 0.02, 0.9, None]) == [None, pytest.approx(0.04), pytest.approx(0.9), None]
    assert holm([0.8, 0.9]) == [1.0, 1.0]


def test_anova_published_moore() -> None:
    data = moore()
    assert len(data) == 45
    found = anova(data, "conformity", ["category", "partner"])
    assert isinstance(found, Anova) and not found.log
    table = {term.name: term for term in found.terms}
    published = {
        "category": (11.614700, 2, 0.276958, 0.759564),
        "partner": (212.213778, 1, 10.120692, 0.002874),
        "category × partner": (175.488928, 2, 4.184623, 0.022572),
    }
    for name, (sum_sq, df, f, p) in published.items():
        assert table[name].sum_sq == pytest.approx(sum_sq, abs=5e-7)
        assert table[name].df == df
        assert table[name].f == pytest.approx(f, abs=5e-7)
        assert table[name].p == pytest.approx(p, abs=5e-7)
    assert table["Residual"].sum_sq == pytest.approx(817.763961, abs=5e-7)
    assert table["Residual"].df == 39


def test_anova_by_hand_with_blocks() -> None:
    # Two policies, five blocks. Differences 4, 6, 5, 5, 5: SS(policy) = 10 * 2.5^2 = 62.5;
    # error = sum((d - 5)^2) / 2 = 1 with 4 degrees of freedom. Values below 0 have no logarithm.
    rows = [
        {"policy": policy, "repeat": i, "y": 2.0 * i - 20 + (d if policy == "b" else 0.0)}
        for i, d in enumerate((4.0, 6.0, 5.0, 5.0, 5.0), 1)
        for policy in "ab"
    ]
    found = anova(pd.DataFrame(rows), "y", ["policy"], ["repeat"])
    assert isinstance(found, Anova)
    table = {term.name: term for term in found.terms}
    assert table["policy"].sum_sq == pytest.approx(62.5)
    assert table["Residual"].sum_sq == pytest.approx(1.0)
    assert table["Residual"].df == 4
    assert table["policy"].f == pytest.approx(62.5 / (1.0 / 4))
    assert sum(term.share for term in found.terms) == pytest.approx(1)


def test_anova_takes_the_logarithm_when_residuals_ask() -> None:
    noise = random.Random(3)
    rows = [
        {"policy": p, "y": scale * math.exp(noise.gauss(0, 1))}
        for p, scale in (("a", 1.0), ("b", 20.0))
        for _ in range(20)
    ]
    found = anova(pd.DataFrame(rows), "y", ["policy"])
    assert isinstance(found, Anova) and found.log
    assert found.shapiro_p > 0.05


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("a", 1, 1.0), ("a", 2, 2.0)], "nothing was varied"),
        ([("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 1.5), ("b", 2, 2.5)], "too few observations"),
        (
            [(p, r, 5.0 if p == "a" else 6.0) for p in "ab" for r in range(1, 7)],
            "repeats do not differ",
        ),
    ],
)
def test_anova_says_why_not(rows: list, why: str) -> None:
    frame = pd.DataFrame(rows, columns=["policy", "repeat", "y"])
    assert why in anova(frame, "y", ["policy"], ["repeat"])


def test_anova_with_an_empty_cell_is_refused() -> None:
    rows = [(w, p, float(i)) for w in "vw" for p in "ab" for i in range(5) if (w, p) != ("w", "b")]
    frame = pd.DataFrame(rows, columns=["workload", "policy", "y"])
    assert "no clean observation" in anova(frame, "y", ["workload", "policy"])
