# SPDX-License-Identifier: GPL-2.0-only
"""--repeat-until-ci: intervals against a textbook's, and what is repeated."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import fmean

import pytest

from experiments.runner import designs, host_nodes, precision
from experiments.runner import suite as suites


@pytest.fixture
def suite() -> suites.Suite:
    found = designs.expand(suites.load("sort"), host_nodes.of_lab("demo-2s"))
    return replace(found, workloads=found.workloads[:3])


def records(suite: suites.Suite, values: list[list[float]], **more) -> list[dict]:
    rows = [(w.name, k, v) for w, row in zip(suite.workloads, values) for k, v in enumerate(row)]
    return [{"workload": name, "policy": "none", "repeat": k, "order": order, "marks": [], "check": "ok",
             "metrics": [{"name": "seconds", "unit": "s", "value": v}]} | more
            for order, (name, k, v) in enumerate(rows)]


def test_half_width_is_that_of_students_t() -> None:
    """Five values of mean 10 and standard deviation sqrt(2.5): 2.776 x sqrt(2.5 / 5) = 1.963."""
    assert precision.half_width([8, 9, 10, 11, 12]) == pytest.approx(19.63, abs=0.01)
    assert precision.half_width([10, 10, 10, 10]) is None
    assert precision.half_width([1.0] * 50) == 0


def test_an_interval_that_was_waited_for_covers_nearly_what_it_says() -> None:
    """Of normal values with a standard deviation of 3 %, until 2 % are reached: 93 % instead of 95."""
    draw, covered, runs = random.Random(1), 0, 600
    for _ in range(runs):
        values = [draw.gauss(100, 3) for _ in range(precision.LEAST)]
        while (width := precision.half_width(values)) > 2:
            values.append(draw.gauss(100, 3))
        covered += abs(fmean(values) - 100) <= width / 100 * fmean(values)
    assert 0.92 < covered / runs < 0.95


STEADY, LOOSE = [10, 10.01, 9.99, 10, 10], [10, 12, 8, 10, 9]


def test_only_what_is_not_precise_is_repeated(suite) -> None:
    made = records(suite, [STEADY, LOOSE, [10, 10]])
    block = precision.next_block(suite, made, 2, 30)
    assert {(trial.workload.name, trial.repeat) for trial in block} == {
        (suite.workloads[1].name, 5), (suite.workloads[2].name, 2)}
    assert [trial.order for trial in block] == [12, 13]


def test_it_ends(suite) -> None:
    wild = records(suite, [[1, 100] * 3] * 3)
    assert precision.next_block(suite, wild, 2, 6) == []
    assert len(precision.next_block(suite, wild, 2, 7)) == 3


def test_marked_observations_and_warmups_count_for_nothing(suite) -> None:
    made = records(suite, [STEADY] * 3)
    assert precision.next_block(suite, made, 2, 30) == []
    for more in ({"marks": ["late"]}, {"check": "wrong"}, {"warmup": True}):
        assert len(precision.next_block(suite, records(suite, [STEADY] * 3, **more), 2, 30)) == 3


def test_a_cell_that_is_always_marked_is_given_up(suite) -> None:
    made = records(suite, [STEADY, STEADY, LOOSE])
    bad = [made[-1] | {"marks": ["late"], "repeat": 5 + k // 2, "order": 20 + k} for k in range(precision.GIVE_UP)]
    assert len(precision.next_block(suite, made + bad[:-1], 2, 30)) == 1
    assert precision.next_block(suite, made + bad, 2, 30) == []
