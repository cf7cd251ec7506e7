# SPDX-License-Identifier: GPL-2.0-only
"""--repeat-until-ci: intervals against a textbook's, and what is repeated."""

import random
from dataclasses import replace
from statistics import fmean

import numpy
import pytest
from scipy import stats

from experiments.host import host_nodes
from experiments.runner.records import results
from experiments.runner.repeats import bootstrap, precision
from experiments.runner.run import Request, Runner
from experiments.runner.suite import designs, schedule
from experiments.runner.suite import suite as suites


@pytest.fixture
def suite() -> suites.Suite:
    found = designs.expand_suite(suites.load_suite("sort"), host_nodes.list_lab_nodes("demo-2s"))
    return replace(found, workloads=found.workloads[:3])


def records(suite: suites.Suite, values: list[list[float]], **more) -> list[dict]:
    rows = [(w.name, k, v) for w, row in zip(suite.workloads, values) for k, v in enumerate(row)]
    return [{"workload": name, "policy": "none", "repeat": k, "order": order, "marks": [], "check": "ok",
             "metrics": [{"name": "seconds", "unit": "s", "value": v}]} | more
            for order, (name, k, v) in enumerate(rows)]


def test_half_width_is_that_of_students_t() -> None:
    """1 to 10: mean 5.5, standard deviation 3.0277; 2.262 x 3.0277 / sqrt(10) = 2.1658, 39.38 % of the mean."""
    assert precision.compute_half_width(list(range(1, 11))) == pytest.approx(39.38, abs=0.01)
    assert precision.compute_half_width([10] * (precision.LEAST - 1)) is None
    assert precision.compute_half_width([1.0] * 50) == 0 and precision.compute_half_width([0.0] * 50) == 0
    assert precision.compute_half_width([0.0] * 50 + [1e-9]) > 100


def test_a_fraction_near_0_is_judged_by_its_difference() -> None:
    near = [0.001, 0.0] * 10
    assert precision.compute_half_width(near) > 40 and precision.compute_half_width(near, "fraction") < 0.03


def test_bootstrap_is_that_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """BCa of the same values; both draw at random."""
    values = [random.Random(4).lognormvariate(0, 0.7) for _ in range(20)]
    theirs = stats.bootstrap((values,), fmean, n_resamples=20000, method="BCa", vectorized=False,
                             rng=numpy.random.default_rng(1)).confidence_interval
    assert bootstrap.compute_interval([3.0] * 12) == (3.0, 3.0) and bootstrap.compute_interval([5.0]) == (5.0, 5.0)
    monkeypatch.setattr(bootstrap, "RESAMPLES", 20000)
    assert bootstrap.compute_interval(values) == pytest.approx((theirs.low, theirs.high), rel=0.01)


def test_the_bootstrap_asks_for_more_where_values_lie_to_one_side() -> None:
    lopsided = [100.0] * 19 + [120.0]
    width = precision.compute_half_width(lopsided)
    low, high = bootstrap.compute_interval(lopsided)
    assert high - fmean(lopsided) > 1.3 * (fmean(lopsided) - low)
    assert 100 * (high - fmean(lopsided)) / fmean(lopsided) > width
    assert not precision.is_precise(lopsided, "s", 1.01 * width) and precision.compute_half_width(lopsided) < 1.01 * width


STEADY, LOOSE = [10, 10.01, 9.99, 10, 10] * 2, [10, 12, 8, 10, 9] * 2


def test_only_what_is_not_precise_is_repeated(suite) -> None:
    made = records(suite, [STEADY, LOOSE, [10, 10]])
    block = precision.plan_block(suite, made, 2, 30)
    assert {(trial.workload.name, trial.repeat) for trial in block} == {
        (suite.workloads[1].name, 10), (suite.workloads[2].name, 2)}
    assert [trial.order for trial in block] == [22, 23]


def test_a_workload_is_repeated_under_every_placement(suite) -> None:
    """What is compared with a mean that is not precise is compared in the same blocks."""
    two = replace(suite, policies=("none", "maximum-local"))
    made = records(suite, [STEADY, LOOSE, STEADY])
    made += [record | {"policy": "maximum-local", "order": 30 + k} for k, record in enumerate(records(suite, [STEADY] * 3))]
    loose = suite.workloads[1].name
    block = precision.plan_block(two, made, 2, 30)
    assert sorted((trial.workload.name, trial.policy, trial.repeat) for trial in block) == [
        (loose, "maximum-local", 10), (loose, "none", 10)]
    ended = [*made, next(r for r in made if r["workload"] == loose) | {"repeat": 10, "order": 90}]  # in the block, after none
    assert [(trial.policy, trial.repeat) for trial in precision.plan_block(two, ended, 2, 30)] == [("maximum-local", 10)]


def test_every_response_of_the_suite_must_be_precise(suite) -> None:
    made = records(suite, [STEADY] * 3)
    for record in made:
        value = LOOSE[record["repeat"]] if record["workload"] == suite.workloads[1].name else 1
        record["metrics"].append({"name": "misses", "unit": "misses", "value": value})
    assert precision.plan_block(suite, made, 2, 30) == []  # no response of the suite
    asked = replace(suite, responses=("seconds", "misses"))
    assert [trial.workload for trial in precision.plan_block(asked, made, 2, 30)] == [suite.workloads[1]]


def test_it_ends(suite) -> None:
    wild = records(suite, [[1, 100] * 6] * 3)
    assert precision.plan_block(suite, wild, 2, 12) == []
    assert len(precision.plan_block(suite, wild, 2, 13)) == 3


def test_marked_observations_and_warmups_count_for_nothing(suite) -> None:
    made = records(suite, [STEADY] * 3)
    assert precision.plan_block(suite, made, 2, 30) == []
    for more in ({"marks": ["late"]}, {"check": "wrong"}, {"warmup": True}):
        assert len(precision.plan_block(suite, records(suite, [STEADY[:5]] * 3, **more), 2, 30)) == 3


def test_a_cell_that_is_always_marked_is_given_up(suite) -> None:
    made = records(suite, [STEADY, STEADY, LOOSE])
    bad = [made[-1] | {"marks": ["late"], "repeat": 10 + k // 2, "order": 40 + k} for k in range(precision.GIVE_UP)]
    assert len(precision.plan_block(suite, made + bad[:-1], 2, 30)) == 1
    assert precision.plan_block(suite, made + bad, 2, 30) == []


def test_what_is_not_precise_is_named(suite) -> None:
    cells = [f"{w.name} / none" for w in suite.workloads]
    assert precision.list_imprecise((), records(suite, [STEADY, LOOSE, [10, 10]]), 2) == cells[1:]
    marked = records(suite, [STEADY])[:1] + records(suite, [STEADY] * 2, marks=["late"])
    assert precision.list_imprecise((), marked, 2) == cells[:2], "without a clean observation nothing is known"
    assert precision.describe_imprecise((), records(suite, [STEADY]), 2) == ""


def test_a_resumed_run_does_not_forget_what_was_given_up(suite, tmp_path) -> None:
    """Every observation was tried as often as it may be: none is made, and the run does not end well."""
    suite = replace(suite, repeats=1, warmups=0)
    marked = records(suite, [[10]] * 3, marks=["late"]) * schedule.ATTEMPTS
    writer = results.Writer(tmp_path)
    try:
        assert Runner(Request(suite, tmp_path), None, writer, lambda *_: None, marked).make_all() == 3
        marked += records(suite, [[10]])
        assert Runner(Request(suite, tmp_path), None, writer, lambda *_: None, marked).make_all() == 2
    finally:
        writer.close()
