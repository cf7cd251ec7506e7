# SPDX-License-Identifier: GPL-2.0-only
"""Whether the first samples of observations differ from the last ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from experiments.analysis.pages import summary
from experiments.analysis.runs.results import Results, read
from experiments.analysis.samples import steady
from experiments.analysis.tests import synthetic


def samples(draw: random.Random, first: float, count: int = 100) -> list[float]:
    """ns of each stretch, each with half of the deviation of the one before; the first tenth is `first` times as long."""
    found, last = [], 0.0
    for k in range(count):
        last = 0.5 * last + draw.gauss(0, 0.02)
        found.append(100 * (1 + last) * (first if k < count // 10 else 1))
    return found


def run(folder: Path, seed: int, first: float = 1.0, repeats: int = 10, **more) -> Results:
    draw = random.Random(seed)
    made = [synthetic.observation("cross", "none", k, value=draw.gauss(1000, 1), **more) for k in range(repeats)]
    for record in made:
        record["tasks"][0]["details"] = {"samples_ns": [samples(draw, first), samples(draw, first)]}
    return read(synthetic.write(folder, made))


def test_a_first_part_that_takes_longer_is_told(tmp_path: Path) -> None:
    results = run(tmp_path, 1, 1.2)
    cell, = steady.cells(results)
    assert cell.ratio == pytest.approx(1.2, rel=0.02) and cell.differs and cell.n == 10
    told, = steady.notes(results)
    assert "cross / none +" in told and told in summary.notes(results)


def test_steady_observations_are_seldom_told(tmp_path: Path) -> None:
    """At 0.01, though samples depend on those before them: of 200 runs, 2 are to be expected."""
    ps = [steady.cells(run(tmp_path, seed))[0].p for seed in range(200)]
    assert sum(p < steady.REJECT for p in ps) <= 7
    assert 2 <= sum(p < 0.05 for p in ps) <= 20


def test_a_difference_of_less_than_a_percent_is_not_told(tmp_path: Path) -> None:
    cell, = steady.cells(run(tmp_path, 3, 1.006, repeats=200))
    assert cell.p < 0.01 and not cell.differs


def test_one_observation_and_few_samples_say_nothing(tmp_path: Path) -> None:
    assert [cell.p for cell in steady.cells(run(tmp_path, 4, 1.5, repeats=1))] == [None]
    results = run(tmp_path, 5)
    for o in results.clean:
        o.tasks[0]["details"]["samples_ns"] = [[1.0] * (steady.LEAST - 1)]
    assert steady.cells(results) == [] and steady.notes(results) == []


def test_boots_are_what_is_independent(tmp_path: Path) -> None:
    made = [run(tmp_path / str(k), k, 1.2, boot_id=f"boot {k}") for k in range(3)]
    records = [o.raw | {"repeat": 10 * k + o.repeat} for k, results in enumerate(made) for o in results.clean]
    cell, = steady.cells(read(synthetic.write(tmp_path / "all", records)))
    assert cell.n == 3 and cell.ratio == pytest.approx(1.2, rel=0.02)
