# SPDX-License-Identifier: GPL-2.0-only
"""--repeat-until-ci: intervals against a textbook's, and what is repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.runner import designs, machine, precision, suite as suites


@pytest.fixture
def suite() -> suites.Suite:
    found = designs.expand(suites.load("sort"), machine.of_lab("demo-2s"))
    return replace(found, workloads=found.workloads[:3])


def records(suite: suites.Suite, values: list[list[float]], **more) -> list[dict]:
    return [{"workload": w.name, "policy": "none", "repeat": k, "marks": [], "check": "ok",
             "metrics": [{"name": "seconds", "unit": "s", "value": v}]} | more
            for w, row in zip(suite.workloads, values) for k, v in enumerate(row)]


def test_half_width_is_that_of_students_t() -> None:
    """Five values of mean 10 and standard deviation sqrt(2.5): 2.776 x sqrt(2.5 / 5) = 1.963."""
    assert precision.half_width([8, 9, 10, 11, 12]) == pytest.approx(19.63, abs=0.01)
    assert precision.half_width([10, 10]) is None
    assert precision.half_width([1.0] * 50) == 0


def test_only_what_is_not_precise_is_repeated(suite) -> None:
    made = records(suite, [[10, 10.01, 9.99, 10], [10, 12, 8, 10], [10, 10]])
    block = precision.next_block(suite, made, 2, 30, 100)
    assert {(item.workload.name, item.repeat) for item in block} == {
        (suite.workloads[1].name, 4), (suite.workloads[2].name, 2)}
    assert [item.order for item in block] == [100, 101]


def test_it_ends(suite) -> None:
    wild = records(suite, [[1, 100] * 3] * 3)
    assert precision.next_block(suite, wild, 2, 6, 0) == []
    assert len(precision.next_block(suite, wild, 2, 7, 0)) == 3


def test_marked_observations_and_warmups_count_for_nothing(suite) -> None:
    made = records(suite, [[10, 10, 10]] * 3)
    assert precision.next_block(suite, made, 2, 30, 0) == []
    for more in ({"marks": ["late"]}, {"check": "wrong"}, {"warmup": True}):
        assert len(precision.next_block(suite, records(suite, [[10, 10, 10]] * 3, **more), 2, 30, 0)) == 3
