# SPDX-License-Identifier: GPL-2.0-only
"""Observations of several boots: intervals of means and of ratios are those of the boots' means."""

import random
from pathlib import Path
from statistics import fmean

import pytest

from experiments.analysis.pages import summary
from experiments.analysis.papers.cells import Cells
from experiments.analysis.policies.speedup import decide_cells
from experiments.analysis.runs.boots import compute_boot_means
from experiments.analysis.runs.results import Results, list_values, read_results
from experiments.analysis.stats.compare import compare_runs
from experiments.analysis.stats.intervals import compute_ratio, compute_t_interval
from experiments.analysis.tests import synthetic

TIMED = synthetic.TIMED | {"platform": "real"}  # in the lab the model's error is in an interval too
MEAN, BOOTS, EACH = 1000.0, 5, 4


def records(seed: int, boots: int = BOOTS, each: int = EACH, factor: float = 1.0, policy: str = "none",
            between: float = 0.03) -> list[dict]:
    """Boots differ by 3 %, repeats of one boot by 1 %."""
    draw = random.Random(f"{seed}/{policy}")
    found = []
    for boot in range(boots):
        level = MEAN * factor * draw.gauss(1, between)
        found += [synthetic.observation("cross", policy, boot * each + k, value=draw.gauss(level, 0.01 * MEAN),
                                        platform="real", boot_id=f"boot {boot}") for k in range(each)]
    return found


def run(folder: Path, made: list[dict]) -> Results:
    return read_results(synthetic.write(folder, made, TIMED))


def bandwidth(results: Results) -> dict:
    return next(row for row in summary.make_rows(results) if row["metric"] == "bandwidth")


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says(tmp_path: Path) -> None:
    """300 runs. Of the observations themselves, as if they were independent, about two thirds do."""
    found, naive = 0, 0
    for seed in range(300):
        results = run(tmp_path, records(seed))
        row = bandwidth(results)
        found += row["ci95_low"] <= MEAN <= row["ci95_high"]
        plain = compute_t_interval([o.get_value("bandwidth") for o in results.clean])
        naive += plain.low <= MEAN <= plain.high
    assert row["n"] == BOOTS and plain.n == BOOTS * EACH
    assert 0.92 < found / 300 < 0.98
    assert naive / 300 < 0.75


def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says(tmp_path: Path) -> None:
    found, naive = 0, 0
    for seed in range(200):
        results = run(tmp_path, records(seed) + records(seed, factor=1.2, policy="n-mass"))
        times = decide_cells(results)["cross", "n-mass"]
        found += times.low <= 1.2 <= times.high
        plain = compute_ratio(*([o.get_value("bandwidth") for o in results.select("cross", policy)] for policy in ("n-mass", "none")))
        naive += plain.low <= 1.2 <= plain.high
    assert 0.91 < found / 200 < 0.99
    assert naive / 200 < 0.75


def test_two_runs_are_compared_by_their_boots(tmp_path: Path) -> None:
    """Both of the same machine: a test of observations finds a difference in far more than 5 % of such pairs."""
    significant = 0
    for seed in range(100):
        a = synthetic.write(tmp_path / "a", records(seed), TIMED)
        b = synthetic.write(tmp_path / "b", records(seed + 1000), TIMED)
        row = next(row for row in compare_runs(a, b)["pairs"][0]["rows"] if row["metric"] == "bandwidth")
        significant += row["p"] < 0.05
    assert (row["n_a"], row["n_b"]) == (BOOTS, BOOTS) and significant <= 12
    paired = next(row for row in compare_runs(a, b, in_blocks=True)["pairs"][0]["rows"] if row["metric"] == "bandwidth")
    assert paired["blocks"] == BOOTS


def test_one_boot_and_none_named_are_as_before(tmp_path: Path) -> None:
    for number, boot in enumerate(({"boot_id": "one"}, {})):
        made = [{k: v for k, v in record.items() if k != "boot_id"} | boot for record in records(1)]
        results = run(tmp_path / str(number), made)
        assert results.independent == results.clean and bandwidth(results)["n"] == BOOTS * EACH
        assert not any("boots" in note for note in summary.list_notes(results))


def test_means_are_those_of_the_boots(tmp_path: Path) -> None:
    assert compute_boot_means([1, 2, 6, 10], ["a", "a", "b", "a"]) == {"a": pytest.approx(13 / 3), "b": 6}
    results = run(tmp_path, records(3))
    values = list_values(results.select_independent("cross", "none"), "bandwidth")
    assert len(values) == BOOTS and fmean(values) == pytest.approx(fmean(o.get_value("bandwidth") for o in results.clean))
    assert values[0] == pytest.approx(fmean(o.get_value("bandwidth") for o in results.clean[:EACH]))
    assert [o.is_mean for o in results.independent] == [True] * BOOTS and results.boots == [f"boot {k}" for k in range(BOOTS)]


def test_boots_are_blocks(tmp_path: Path) -> None:
    results = run(tmp_path, records(4) + records(4, policy="n-mass"))
    assert sorted(o.repeat for o in results.select_independent("cross")) == sorted(2 * [-1 - k for k in range(BOOTS)])


def test_boots_that_made_parts_of_one_repeat_are_one_block(tmp_path: Path) -> None:
    """The first was interrupted, so that a boot of its own has the rest of its repeat."""
    made = [record | {"boot_id": f"{record['boot_id']} {record['policy'] if not record['repeat'] else ''}"}
            for record in records(4, each=1) + records(4, each=1, policy="n-mass")]
    results = run(tmp_path, made)
    assert len(results.boots) == BOOTS + 1
    assert sorted(o.repeat for o in results.select_independent("cross")) == sorted(2 * [-1 - k for k in range(BOOTS)])


def test_presentations_of_papers_have_the_boots_means(tmp_path: Path) -> None:
    made = [record | {"factors": {"local": 1}} for record in records(5)]
    assert len(Cells(run(tmp_path, made), ("local",)).values("bandwidth", local=1)) == BOOTS


def test_what_the_intervals_are_made_from_is_said(tmp_path: Path) -> None:
    told, = (note for note in summary.list_notes(run(tmp_path, records(6))) if "boots" in note)
    assert told.startswith("observations of 5 boots: ") and "not exact" not in told
    told, = (note for note in summary.list_notes(run(tmp_path, records(6)[:-1])) if "boots" in note)
    assert told.endswith("; 1 cell not as often in each boot: there they are not exact")
