# SPDX-License-Identifier: GPL-2.0-only
"""Speed-ups, geometric means, ranks and break-even times, worked out by hand."""

import math
import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.analysis.policies import cost, decision, matrix, placed, speedup
from experiments.analysis.runs import results as reader
from experiments.analysis.stats.intervals import Interval, compute_ratio
from experiments.analysis.tests import synthetic

TIMED = synthetic.MANIFEST | {"platform": "real", "responses": ["bandwidth", "seconds"]}


def records(values: dict[tuple[str, str], list[float]], **changes: Any) -> list[dict[str, Any]]:
    return [synthetic.observation(workload, policy, i, **{"platform": "real"} | changes, value=value)
            for (workload, policy), found in values.items() for i, value in enumerate(found, 1)]


def read(directory: Path, lines: list[dict[str, Any]]) -> reader.Results:
    return reader.read_results(synthetic.write(directory, lines, TIMED))


def test_speedups_by_hand(tmp_path: Path) -> None:
    """More MB/s is faster: 15 against 10 is 1.5. Fewer seconds are faster: 2 against 4 is 2."""
    lines = records({("cross", "none"): [9.0, 10.0, 11.0], ("cross", "n-mass"): [14.0, 15.0, 16.0]})
    for policy, seconds in (("none", 4.0), ("n-mass", 2.0)):
        for line in records({("redis-lists", policy): [1.0, 1.0]}):
            line["metrics"][2]["value"] = seconds
            lines.append(line)
    results = read(tmp_path, lines)
    assert speedup.find_response(results, "redis-lists") == ("seconds", "s")
    found = speedup.decide_cells(results)
    assert found["cross", "n-mass"].value == pytest.approx(1.5)
    assert found["redis-lists", "n-mass"].value == pytest.approx(2.0)
    # Fieller of blocks: va = vb = covariance = 1/3, a = 15, b = 10, 2 degrees of freedom.
    t = stats.t.ppf(0.975, 2)
    g = (t / 10) ** 2 / 3
    half, middle = t / 10 * math.sqrt(1 / 3 - 2 * 1.5 / 3 + 1.5**2 / 3), 1.5 - g
    assert found["cross", "n-mass"].low == pytest.approx((middle - half) / (1 - g))
    assert found["cross", "n-mass"].high == pytest.approx((middle + half) / (1 - g))
    total, = speedup.compute_totals(results)
    assert total.ratio.value == pytest.approx(math.sqrt(statistics.geometric_mean([14 / 9, 15 / 10]) * 2.0))
    assert total.ranks == (1, 1)


def test_without_common_blocks_the_means_are_independent(tmp_path: Path) -> None:
    """Fieller's interval has Welch's degrees of freedom."""
    lines = records({("cross", "none"): [9.0, 10.0, 11.0, 10.0], ("cross", "n-mass"): [14.0, 15.0, 16.0]})
    for line in lines:
        line["repeat"] += 10 * (line["policy"] == "n-mass")
    found = speedup.decide_cells(read(tmp_path, lines))["cross", "n-mass"]
    expected = compute_ratio([14.0, 15.0, 16.0], [9.0, 10.0, 11.0, 10.0])
    assert (found.low, found.high) == (expected.low, expected.high)


def test_geometric_mean_has_the_coverage_that_it_says() -> None:
    """Two workloads, true ratios 2 and 1/2, blocks that differ by 20 %: in 95 of 100 runs the interval has 1 in it."""
    random, inside, runs = np.random.default_rng(1), 0, 4000
    for _ in range(runs):
        block = random.normal(1, 0.2, (2, 5))
        ours, base = random.normal([[20], [5]], 0.5, (2, 5)) * block, random.normal(10, 0.5, (2, 5)) * block
        found = speedup.compute_mean_of_logs(dict(enumerate(np.log(ours / base).mean(axis=0))))
        inside += found.low <= 1.002 <= found.high  # of the ratio of two values with noise
    assert 0.93 < inside / runs < 0.97


def test_equal_policies_share_their_ranks(tmp_path: Path) -> None:
    """By point means one of three equal policies was the first in each run of one observation each."""
    random, runs = np.random.default_rng(2), 40
    told = 0
    for run in range(runs):
        values = {("cross", p): list(random.normal(10, 0.1, 5)) for p in ("none", "maximum-local", "n-mass", "measured")}
        told += any(t.ranks != (1, 3) for t in speedup.compute_totals(read(tmp_path / str(run), records(values))))
    assert told <= 5  # 5 % of 40, and three more: of a binomial 99 %
    clear = {("cross", p): [v, v * 1.01, v * 0.99] for p, v in (("none", 10.0), ("maximum-local", 15.0), ("n-mass", 20.0))}
    assert [t.ranks for t in speedup.compute_totals(read(tmp_path / "clear", records(clear)))] == [(2, 2), (1, 1)]
    one = {key: found[:1] for key, found in clear.items()}
    assert [t.ranks for t in speedup.compute_totals(read(tmp_path / "one", records(one)))] == [(1, 2), (1, 2)]


def test_in_the_lab_a_speed_up_holds_on_every_machine_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By where pages and tasks were: all remote under none, all local under n-mass, on demo-2s with other links too."""
    lines = records({("cross", "none"): [10.0, 10.01, 9.99], ("cross", "n-mass"): [10.2, 10.21, 10.19]}, platform="lab-timed")
    results = reader.read_results(synthetic.write(tmp_path, lines, synthetic.TIMED))
    found = speedup.decide_cells(results)["cross", "n-mass"]
    assert found.low < 0.95 and found.high > 1.05 and not found.significant
    monkeypatch.setattr(placed, "list_runs", lambda results: [results])
    alone = speedup.decide_cells(results)["cross", "n-mass"]
    assert 1.01 < alone.low and alone.significant and alone.value == found.value


def test_a_block_that_one_of_both_lacks_is_left_out(tmp_path: Path) -> None:
    """A repeat is marked, in which the baseline was twice as fast."""
    lines = records({("cross", "none"): [10.0, 10.2, 10.1, 20.0], ("cross", "n-mass"): [11.0, 11.2, 11.1]})
    found = speedup.decide_cells(read(tmp_path, lines))["cross", "n-mass"]
    assert found.value == pytest.approx(1.1, abs=0.01) and found.high < 1.2 and found.blocks == 3


def test_a_policy_without_all_workloads_has_no_rank(tmp_path: Path) -> None:
    lines = records({(w, p): [v, v + 1] for w in ("cross", "contention-1L1R")
                     for p, v in (("none", 10.0), ("maximum-local", 12.0), ("n-mass", 20.0))})
    lines = [line for line in lines if (line["workload"], line["policy"]) != ("cross", "maximum-local")]
    first, second = speedup.compute_totals(read(tmp_path, lines))
    assert (first.policy, first.workloads, first.ratio, first.ranks) == ("maximum-local", 1, None, None)
    assert (second.policy, second.workloads, second.ranks) == ("n-mass", 2, (1, 1))


def test_chance_is_adjusted_for(tmp_path: Path) -> None:
    """One of eight tests has p 0.03: alone it would count, among eight it must not."""
    values = {(w, "none"): [10.0, 10.2, 9.8, 10.1] for w in synthetic.WORKLOADS if w != "redis-lists"}
    values |= {(w, p): [10.2, 10.0, 10.1, 9.8] for w, _ in list(values) for p in ("maximum-local", "n-mass")}
    values["cross", "n-mass"] = [10.1, 10.4, 9.9, 10.4]
    found = speedup.decide_cells(read(tmp_path, records(values)))["cross", "n-mass"]
    assert found.low > 1 and not found.significant


def priced(value: float, low: float, high: float, seconds: Interval) -> cost.Cost:
    return cost.Cost(decision.Decision("w", "p", value, low, high), seconds, 0.0)


def test_break_even_by_hand() -> None:
    """2 s of migration, twice as fast: after 4 s of the baseline's work both have done as much."""
    found = priced(2.0, 1.25, 4.0, Interval(2.0, 1.5, 2.5, 3))
    assert found.break_even == pytest.approx((4.0, 1.5 / 0.75, 2.5 / 0.2))


def test_what_is_not_faster_never_pays() -> None:
    assert priced(0.9, 0.8, 1.1, Interval(2.0, 1.0, 3.0, 3)).break_even == (math.inf, pytest.approx(11.0), math.inf)
    assert priced(1.5, 1.2, 1.8, Interval(0.0, 0.0, 0.0, 3)).break_even[0] == 0
    assert priced(0.8, 0.7, 0.9, Interval(0.0, 0.0, 0.0, 3)).break_even == (math.inf, math.inf, math.inf)


def test_the_price_is_that_of_moving_and_older_runs_have_none(tmp_path: Path) -> None:
    price = {"apply_s": 1.5, "watched_s": 0.5, "move_s": 0.25, "moved_bytes": 4096}
    lines = records({("cross", "none"): [10.0, 10.1], ("cross", "n-mass"): [20.0, 20.1]}, cost=price)
    found = cost.list_costs(read(tmp_path / "new", lines))["cross", "n-mass"]
    assert (found.seconds.mean, found.bytes) == (0.25, 4096)
    for line in lines:
        del line["cost"]
    assert cost.list_costs(read(tmp_path / "old", lines)) == {("cross", "n-mass"): None}


def test_a_policy_that_moved_nothing_costs_nothing(tmp_path: Path) -> None:
    """As fast as none, after an apply whose 41 ms are those of starting a program: none has them as well."""
    price = {"apply_s": 0.041, "watched_s": 0.0, "move_s": 0.0, "moved_bytes": 0}
    lines = records({("cross", policy): [10.0, 10.1, 10.2] for policy in ("none", "n-mass")}, cost=price)
    found = cost.list_costs(read(tmp_path, lines))["cross", "n-mass"]
    assert found.break_even[0] == 0


def test_the_time_of_the_work_is_measured(tmp_path: Path) -> None:
    """10 s under none, 8 s with the policy: 1.25 times as fast, migration and all. Runs without such a work say so."""
    price = {"apply_s": 1.5, "watched_s": 0.5, "move_s": 0.25, "moved_bytes": 4096}
    lines = records({("cross", "none"): [10.0, 10.1], ("cross", "n-mass"): [20.0, 20.1]}, cost=price)
    assert speedup.decide_solutions(read(tmp_path / "old", lines)) == {}
    assert matrix.make_price_table(read(tmp_path / "old", lines))["rows"][0]["solution"][0][0] == "not measured"
    for line, seconds in zip(lines, (9.0, 11.0, 7.9, 8.1), strict=True):
        line["metrics"].append({"name": "time_to_solution", "unit": "s", "value": seconds})
    assert speedup.decide_solutions(read(tmp_path / "new", lines))["cross", "n-mass"].value == pytest.approx(1.25)
    row = matrix.make_price_table(read(tmp_path / "new", lines))["rows"][0]
    assert [value for _, value, _ in row["solution"]] == pytest.approx([8.0, 10.0, 1.25])
    assert row["speedup"][1] == pytest.approx(2.0, rel=0.01), "by the bandwidth, after the placement"


def test_the_model_says_it_of_each_size_of_data() -> None:
    """The same flows in data that the caches hold, and in data that they do not."""
    machine = SimpleNamespace(nodes=[SimpleNamespace(cpus=[0])], cache=[{"size": 4 << 20}])
    model = SimpleNamespace(solve_flows=lambda flows, _traffic: [(2.0, 1.0)] * len(flows))
    small, large = (SimpleNamespace(tasks=({"node_after": 0, "pages_after": {"0": pages}},)) for pages in (1024, 1 << 20))
    cells = placed.Placements(machine)
    found = [cells.predict_metric(model, o, "bandwidth", "MB/s", placed.compute_missed_share) for o in (small, large)]
    assert found[0] == 1 and found[1] > 1.9
