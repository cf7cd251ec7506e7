# SPDX-License-Identifier: GPL-2.0-only
"""Speed-ups, geometric means, ranks and break-even times, worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from experiments.analysis import results as reader
from experiments.analysis.policies import cost, speedup
from experiments.analysis.stats import Interval
from experiments.analysis.tests import synthetic

TIMED = synthetic.MANIFEST | {"platform": "lab-timed", "responses": ["bandwidth", "seconds"]}


def records(values: dict[tuple[str, str], list[float]], **changes: Any) -> list[dict[str, Any]]:
    return [synthetic.observation(workload, policy, i, value=value, platform="lab-timed", **changes)
            for (workload, policy), found in values.items() for i, value in enumerate(found, 1)]


def read(directory: Path, lines: list[dict[str, Any]]) -> reader.Results:
    return reader.read(synthetic.write(directory, lines, TIMED))


def test_speedups_by_hand(tmp_path: Path) -> None:
    """More MB/s is faster: 15 against 10 is 1.5. Fewer seconds are faster: 2 against 4 is 2."""
    lines = records({("cross", "none"): [9.0, 10.0, 11.0], ("cross", "n-mass"): [14.0, 15.0, 16.0]})
    for policy, seconds in (("none", 4.0), ("n-mass", 2.0)):
        for line in records({("redis-lists", policy): [1.0, 1.0]}):
            line["metrics"][2]["value"] = seconds
            lines.append(line)
    results = read(tmp_path, lines)
    assert speedup.response(results, "redis-lists") == ("seconds", "s")
    found = speedup.speedups(results)
    assert found["cross", "n-mass"].value == pytest.approx(1.5)
    assert found["redis-lists", "n-mass"].value == pytest.approx(2.0)
    # Fieller with va = vb = 1/3, scaled vb 0.75: a = 15, b = 10.
    df = (1 / 3 + 0.75) ** 2 / ((1 / 3) ** 2 / 2 + 0.75**2 / 2)
    t = stats.t.ppf(0.975, df)
    g = t**2 / 100 / 3
    half = t / 10 * math.sqrt(1 / 3 + 0.75 - g / 3)
    assert found["cross", "n-mass"].low == pytest.approx((1.5 - half) / (1 - g))
    assert found["cross", "n-mass"].high == pytest.approx((1.5 + half) / (1 - g))
    total, = speedup.totals(results)
    assert total.ratio.value == pytest.approx(math.sqrt(1.5 * 2.0)) and total.rank == 1


def test_geometric_mean_has_the_coverage_that_it_says() -> None:
    """Two workloads, true ratios 2 and 1/2: in 95 of 100 runs the interval has 1 in it, give or take 2 %."""
    import numpy as np

    random, inside, runs = np.random.default_rng(1), 0, 4000
    for _ in range(runs):
        pairs = [(random.normal(20, 1, 5), random.normal(10, 1, 5), True),
                 (random.normal(20, 1, 5), random.normal(10, 1, 5), False)]
        found = speedup.geometric_mean(pairs)
        inside += found.low <= 1 <= found.high
    assert 0.93 < inside / runs < 0.97


def test_a_policy_without_all_workloads_has_no_rank(tmp_path: Path) -> None:
    lines = records({(w, p): [v, v + 1] for w in ("cross", "contention-1L1R")
                     for p, v in (("none", 10.0), ("maximum-local", 12.0), ("n-mass", 20.0))})
    lines = [line for line in lines if (line["workload"], line["policy"]) != ("cross", "maximum-local")]
    first, second = speedup.totals(read(tmp_path, lines))
    assert (first.policy, first.workloads, first.ratio, first.rank) == ("maximum-local", 1, None, None)
    assert (second.policy, second.workloads, second.rank) == ("n-mass", 2, 1)


def test_functional_times_are_no_speed(tmp_path: Path) -> None:
    assert speedup.told(read(tmp_path / "timed", records({("cross", p): [1.0] for p in ("none", "n-mass")})))
    functional = reader.read(synthetic.write(tmp_path / "functional", synthetic.full()))
    assert not speedup.told(functional)


def test_chance_is_adjusted_for(tmp_path: Path) -> None:
    """One of eight tests has p 0.03: alone it would count, among eight it must not."""
    values = {(w, "none"): [10.0, 10.2, 9.8, 10.1] for w in synthetic.WORKLOADS if w != "redis-lists"}
    values |= {(w, p): [10.0, 10.2, 9.8, 10.1] for w, _ in list(values) for p in ("maximum-local", "n-mass")}
    values["cross", "n-mass"] = [10.3, 10.5, 10.1, 10.4]
    found = speedup.speedups(read(tmp_path, records(values)))["cross", "n-mass"]
    assert found.low > 1 and not found.significant


def priced(value: float, low: float, high: float, seconds: Interval) -> cost.Cost:
    return cost.Cost(speedup.Speedup("w", "p", value, low, high), seconds, 0.0)


def test_break_even_by_hand() -> None:
    """2 s of migration, twice as fast: after 4 s of the baseline's work both have done as much."""
    found = priced(2.0, 1.25, 4.0, Interval(2.0, 1.5, 2.5, 3))
    assert found.break_even == pytest.approx((4.0, 1.5 / 0.75, 2.5 / 0.2))
    assert found.time_to_solution(4.0).mean == pytest.approx(4.0)
    # 4 s of work: 1 to 3.2 s of it, 1.5 to 2.5 s of migration.
    assert found.time_to_solution(4.0).low == pytest.approx(4 - math.hypot(1.0, 0.5))
    assert found.time_to_solution(4.0).high == pytest.approx(4 + math.hypot(1.2, 0.5))


def test_what_is_not_faster_never_pays() -> None:
    assert priced(0.9, 0.8, 1.1, Interval(2.0, 1.0, 3.0, 3)).break_even == (math.inf, pytest.approx(11.0), math.inf)
    assert priced(1.5, 1.2, 1.8, Interval(0.0, 0.0, 0.0, 3)).break_even[0] == 0


def test_the_price_is_that_of_moving_and_older_runs_have_none(tmp_path: Path) -> None:
    price = {"apply_s": 1.5, "watched_s": 0.5, "move_s": 0.25, "moved_bytes": 4096}
    lines = records({("cross", "none"): [10.0, 10.1], ("cross", "n-mass"): [20.0, 20.1]}, cost=price)
    found = cost.costs(read(tmp_path / "new", lines))["cross", "n-mass"]
    assert (found.seconds.mean, found.bytes) == (0.25, 4096)
    for line in lines:
        del line["cost"]
    assert cost.costs(read(tmp_path / "old", lines)) == {("cross", "n-mass"): None}


def test_a_policy_that_moved_nothing_costs_nothing(tmp_path: Path) -> None:
    """As fast as none, after an apply whose 41 ms are those of starting a program: none has them as well."""
    price = {"apply_s": 0.041, "watched_s": 0.0, "move_s": 0.0, "moved_bytes": 0}
    lines = records({("cross", policy): [10.0, 10.1, 10.2] for policy in ("none", "n-mass")}, cost=price)
    found = cost.costs(read(tmp_path, lines))["cross", "n-mass"]
    assert found.break_even[0] == 0 and found.time_to_solution(1.0).mean == pytest.approx(1.0)
